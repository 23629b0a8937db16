"""Both kernels agree on tables of counts as bytes, and on which tables some stream of examples can produce."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from streameval import kernel
from streameval.kernel.packing import numpy as _packed_numpy
from tests.support.effort import cases

TWINS = [_packed_numpy]
if kernel.BACKEND == "compiled":
    from streameval.kernel.packing import compiled as _packed

    TWINS.append(_packed)

POWERS = st.integers(1, 62).map(lambda power: 2**power)
COUNTS = st.integers(0, 3) | st.integers(0, 2**63 - 1) | POWERS | POWERS.map(lambda power: power - 1)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    rows, columns = draw(st.integers(0, 6)), draw(st.integers(0, 5))
    values = draw(st.lists(COUNTS, min_size=rows * columns, max_size=rows * columns))
    return np.array(values, np.int64).reshape(rows, columns)


def laid_out(table: np.ndarray) -> list[np.ndarray]:
    """The same table in every memory layout."""
    spread = np.full((2 * table.shape[0], 3 * table.shape[1]), -1, np.int64)
    spread[::2, ::3] = table
    return [table, np.asfortranarray(table), table[::-1].copy()[::-1], spread[::2, ::3]]


@settings(max_examples=cases(300))
@given(tables(), st.integers(0, 3), st.binary(max_size=3))
def test_tables_of_any_memory_layout_are_packed_alike_and_read_back(table: np.ndarray, least: int, before: bytes):
    written = {twin.pack_columns(each, least) for twin in TWINS for each in laid_out(table)}
    assert len(written) == 1
    data = before + written.pop()
    for twin in TWINS:
        for behind in (b"", b"\0", b"\xff" * 9):
            columns, at = twin.unpack_columns(data + behind, len(before), len(data), *table.shape, least)
            assert at == len(data)
            assert columns.shape == table.shape
            assert columns.tolist() == table.tolist()


@settings(max_examples=cases(500))
@given(tables(), st.integers(0, 2), st.data())
def test_damaged_tables_are_refused_for_the_same_reason_or_read_exactly_as_written(
    table: np.ndarray, least: int, data: st.DataObject
):
    raw = bytearray(_packed_numpy.pack_columns(table, least))
    for _ in range(data.draw(st.integers(0, 3))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.sampled_from([0, 1, 2, 7, 8, 9, 127, 128, 255]))
    shape = data.draw(st.sampled_from([table.shape, (table.shape[0] + 1, table.shape[1])]))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    for input_bytes in (bytes(raw), cut):
        tables = [twin.unpack_columns(input_bytes, 0, len(input_bytes), *shape, least) for twin in TWINS]
        assert len({at for _, at in tables}) == 1
        if tables[0][1] >= 0:
            assert len({str(values.tolist()) for values, _ in tables}) == 1
            assert _packed_numpy.pack_columns(tables[0][0], least) == input_bytes[: tables[0][1]]


@settings(max_examples=cases(300))
@given(st.integers(0, 16), st.integers(0, 5), st.integers(0, 127), st.data())
def test_integers_of_two_words_are_unpacked_alike(width: int, length: int, zeros: int, data: st.DataObject):
    raw = data.draw(st.binary(min_size=width * length, max_size=width * length))
    numbers = [int.from_bytes(raw[width * at : width * (at + 1)], "little") << zeros for at in range(length)]
    around = [number % 2**128 | number >> 128 for number in numbers]
    for twin in TWINS:
        assert [low | high << 64 for low, high in twin.unpack_words(raw, length, width, zeros).tolist()] == around
        with pytest.raises((IndexError, ValueError)):
            twin.unpack_words(raw + b"\0", length, width, zeros)


@pytest.mark.parametrize("length", [2**61, 2**62])
def test_lengths_beyond_the_bytes_are_reported_before_memory_for_columns_is_allocated(length: int):
    for twin in TWINS:
        with pytest.raises((MemoryError, ValueError)):
            twin.unpack_columns(b"\1" * 100, 0, 100, length, 2**10, 0)


@st.composite
def marginals(draw: st.DrawFn) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray]:
    """The counts of random examples, in which each label is absent or has one of five outcomes."""
    labels, times = draw(st.integers(0, 4)), draw(st.sampled_from([1, 1, 3, 2**20, 2**45, 2**59]))
    fixed = draw(st.integers(0, labels))
    rows = draw(st.lists(st.lists(st.integers(0, 5), min_size=labels, max_size=labels), max_size=4))
    cells, keys = np.zeros((labels, 5), np.int64), Counter()
    for row in rows:
        for label, outcome in enumerate(row):
            if outcome < 5 and not (outcome == 0 and label < fixed):
                cells[label, outcome] += times
        tp, fp, fn, masked = (row.count(outcome) for outcome in (3, 2, 1, 4))
        keys[tp + fn, tp + fp, tp, masked] += times
    fixed = (
        min(fixed, next((at for at in range(labels) if not cells[at].any()), labels)) if draw(st.booleans()) else fixed
    )
    ordered = sorted(keys)
    return (
        len(rows) * times, fixed, cells, np.array(ordered, np.int64).reshape(-1, 4),
        np.array([keys[key] for key in ordered], np.int64),
    )  # fmt: skip


def loop(examples: int, fixed: int, cells: np.ndarray, keys: np.ndarray, times: np.ndarray) -> bool:
    """The definition of possible counts, in Python integers."""
    rows, pairs = keys.tolist(), list(zip(keys.tolist(), times.tolist(), strict=True))
    if rows != sorted(rows) or len({*map(tuple, rows)}) < len(rows) or not all(times.tolist()):
        return False
    if any(b > min(t, p) or t + p - b + h > len(cells) for t, p, b, h in rows) or sum(times.tolist()) != examples:
        return False
    for label, outcomes in enumerate(cells.tolist()):
        if sum(outcomes) > examples or (outcomes[0] if label < fixed else not sum(outcomes)):
            return False
    _, fn, fp, tp, masked = (sum(column) for column in cells.T.tolist()) if len(cells) else (0,) * 5
    return [sum(key[part] * many for key, many in pairs) for part in range(4)] == [tp + fn, tp + fp, tp, masked]


@settings(max_examples=cases(1_000))
@given(marginals(), st.data())
def test_impossible_counts_are_reported(
    drawn: tuple[int, int, np.ndarray, np.ndarray, np.ndarray], data: st.DataObject
):
    examples, fixed, *arrays = drawn
    for _ in range(data.draw(st.integers(0, 3))):
        array = data.draw(st.sampled_from(arrays))
        if array.size:
            at = data.draw(st.integers(0, array.size - 1))
            change = data.draw(st.sampled_from([1, -1, 2**61]))
            array.reshape(-1)[at] = min(max(0, int(array.reshape(-1)[at]) + change), 2**63 - 1)
    if data.draw(st.integers(0, 5)) == 0:
        arrays[1], arrays[2] = arrays[1][::-1].copy(), arrays[2][::-1].copy()
    examples = data.draw(st.sampled_from([examples, examples, examples, examples + 1, 0]))
    wanted = loop(examples, fixed, *arrays)
    for twin in TWINS:
        assert twin.can_be(examples, fixed, *arrays) is wanted
        assert twin.can_be(examples, fixed, np.asfortranarray(arrays[0]), arrays[1][::1], arrays[2]) is wanted


@pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")
def test_marginals_of_other_shapes_are_refused():
    fine = np.zeros((2, 5), np.int64), np.zeros((1, 4), np.int64), np.ones(1, np.int64)
    for wrong in (
        (3, *fine), (-1, *fine), (0, fine[0][:, :4], *fine[1:]), (0, fine[0], fine[1][:, :3], fine[2]),
        (0, fine[0], fine[1], np.ones(2, np.int64)),
    ):  # fmt: skip
        with pytest.raises(IndexError, match="other shapes"):
            _packed.can_be(1, *wrong)
