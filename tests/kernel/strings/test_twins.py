"""Strings as codes, and rows by group: both kernels agree, with Arrow's dictionaries as an independent oracle."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval import kernel
from streameval.errors import InputError
from streameval.inputs.arrow import encoded
from streameval.kernel.commit.numpy import Root
from streameval.kernel.decisions import numpy as _numpy
from streameval.kernel.lists import grouped, taken
from streameval.kernel.strings import numpy as _codes_numpy
from streameval.kernel.types import Lists
from tests.kernel.decisions.test_twins import everything, needs_compiled
from tests.support.each import with_each
from tests.support.effort import cases, crossed
from tests.support.twins import merge

TWINS: list[Any] = [_codes_numpy]
if kernel.BACKEND == "compiled":
    from streameval.kernel.decisions import compiled as _compiled
    from streameval.kernel.strings import compiled as _codes

    TWINS.append(_codes)

TYPES = [pa.string(), pa.large_string()]
ALL_TYPES = [*TYPES, pa.string_view()]


def coded(twin: Any, array: pa.Array) -> Any:
    kind = np.int32 if array.type == pa.string() else np.int64
    _, bounds, data = array.buffers()
    offsets = np.frombuffer(bounds, kind, len(array) + 1, array.offset * np.dtype(kind).itemsize)
    return twin.string_codes(
        offsets, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    )


def agree(array: pa.Array) -> None:
    """Check that both kernels give the codes that Arrow gives."""
    wanted = array.dictionary_encode()
    for twin in TWINS if array.type in TYPES else []:
        codes, strings = coded(twin, array)
        assert codes.dtype == np.int32
        assert codes.tolist() == wanted.indices.to_pylist()
        assert strings == wanted.dictionary.to_pylist()
    codes, labels = encoded(array, "y_true")
    assert codes.tolist() == wanted.indices.to_pylist()
    assert labels == wanted.dictionary.to_pylist()


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
@settings(max_examples=cases(200))
@given(st.data())
def test_strings_have_the_codes_that_arrow_gives(kind: pa.DataType, data: st.DataObject):
    alphabet = data.draw(st.sampled_from(["a", "ab", "a\0", "ä€😀", "abcdefgh"]))
    few = data.draw(st.lists(st.text(alphabet, max_size=40), min_size=1, max_size=12))
    array = pa.array(data.draw(st.lists(st.sampled_from(few), min_size=1, max_size=60)), kind)
    start = data.draw(st.integers(0, len(array) - 1))
    agree(array.slice(start, data.draw(st.integers(1, len(array) - start))))


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
def test_strings_that_differ_in_one_byte_or_in_length_only_are_distinguished(kind: pa.DataType):
    strings = ["x" * length for length in range(41)]
    strings += ["x" * place + "y" + "x" * (length - place - 1) for length in range(41) for place in range(length)]
    strings += ["\0" * length for length in range(41)]
    rng = np.random.default_rng(0)
    for some in (strings, strings[:7], strings[-7:]):
        agree(pa.array([some[place] for place in rng.integers(0, len(some), 5_000)], kind))


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
@pytest.mark.parametrize("prefix", ["", "a prefix longer than sixteen bytes "])
def test_strings_are_distinguished_when_the_hash_table_grows(kind: pa.DataType, prefix: str):
    numbers = np.random.default_rng(1).permutation(np.tile(np.arange(17_000), 2))
    agree(pa.array([f"{prefix}{number}" for number in numbers.tolist()], kind).slice(3))


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
def test_no_strings_at_all_have_no_codes(kind: pa.DataType):
    for array in (pa.array([], kind), pa.array(["a", "b"], kind).slice(2), pa.array(["", ""], kind)):
        assert encoded(array, "y_true")[1] == array.dictionary_encode().dictionary.to_pylist()
    bare = pa.Array.from_buffers(
        kind, 0, [None, pa.py_buffer(b"")] if kind == pa.string_view() else [None] + [pa.py_buffer(b"")] * 2
    )
    assert encoded(bare, "y_true")[1] == []


@with_each("kind", [np.int32, np.int64])
@with_each("offsets", [[-1, 2], [0, 3, 2], [0, 4], [4], [-1], [0, 2**31 - 1], [2, 1, 3], []])
def test_offsets_that_do_not_bound_strings_are_reported(offsets: list[int], kind: type):
    for twin in TWINS:
        assert twin.string_codes(np.array(offsets, kind), np.zeros(3, np.uint8)) is None


def test_the_first_string_that_is_not_utf_8_is_refused():
    lone = [b"fine", *(b"x" * length + b"\xff" for length in range(40))]
    offsets = np.cumsum([0, *map(len, lone)])
    for twin in TWINS:
        with pytest.raises(UnicodeDecodeError, match="position 0: invalid start byte"):
            twin.string_codes(offsets, np.frombuffer(b"".join(lone), np.uint8))


def view(length: int, *rest: int | bytes) -> bytes:
    """The 16 bytes of a string view, from its fields."""
    parts = [part if isinstance(part, bytes) else struct.pack("<i", part) for part in (length, *rest)]
    return b"".join(parts).ljust(16, b"\0")


@pytest.mark.parametrize("wrong", [
    view(-1), view(-(2**31), b"abc"), view(13, b"abcd", 2, 0), view(13, b"abcd", -1, 0), view(13, b"abcd", 0, -1),
    view(13, b"abcd", 0, 8), view(21, b"abcd", 0, 0), view(13, b"abcd", 0, 2**31 - 1), view(2**31 - 1, b"abcd", 0, 0),
    view(13, b"abcd", 1, 0),
])  # fmt: skip
@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 19, reason="makes no views of several buffers")
def test_string_views_outside_of_their_buffers_are_reported(wrong: bytes):
    buffers = [pa.py_buffer(b"\0" * 20), pa.py_buffer(b"")]
    views = pa.py_buffer(view(13, b"\0" * 4, 0, 7) + wrong)
    strings = pa.Array.from_buffers(pa.string_view(), 2, [None, views, *buffers])
    ev = se.Evaluator()
    with pytest.raises(InputError, match=r"y_true is damaged: .*[Vv]iew at slot 1"):
        ev.update_many(pa.LargeListArray.from_arrays(pa.array([0, 1, 2], pa.int64()), strings), [["a"], ["a"]])
    assert ev == se.Evaluator()


def damaged(offsets: list[int], kind: pa.DataType, length: int) -> pa.Array:
    """Strings with damaged offsets; Arrow checks only the first and the last offset."""
    numbers = np.array(offsets, np.int32 if kind == pa.string() else np.int64)
    return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(numbers), pa.py_buffer(b"abcdef")])


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("offsets", [[0, 4, 2, 6], [0, 900, 2, 6], [0, -9, 2, 6]], ids=str)
def test_damaged_strings_are_refused_as_labels_and_as_slices(offsets: list[int], kind: pa.DataType):
    strings = damaged(offsets, kind, 3)
    lists = pa.LargeListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int64()), strings)
    ev, sliced = se.Evaluator(), se.Sliced(se.F1(), by="region")
    with pytest.raises(InputError, match="y_true is damaged: the offsets of its strings"):
        ev.update_many(lists, [["a"]] * 3)
    with pytest.raises(InputError, match=r"where\['region'\] is damaged: the offsets of its strings"):
        sliced.update_many([["a"]] * 3, [["a"]] * 3, where={"region": strings})
    assert ev == se.Evaluator()
    assert not sliced.examples


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_bytes_that_are_no_text_are_refused(kind: pa.DataType):
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32 if kind == pa.string() else np.int64))
    strings = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    with pytest.raises(InputError, match="y_true is damaged: it holds a string that is not UTF-8"):
        encoded(strings, "y_true")
    for array in (strings, pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), strings)):
        sliced = se.Sliced(se.F1(), by="region")
        with pytest.raises(InputError, match=r"where\['region'\] is damaged: it holds a string that is not UTF-8"):
            sliced.update_many([["a"]] * len(array), [["a"]] * len(array), where={"region": array})
        lists = pa.LargeListArray.from_arrays(pa.array([0, len(array)]), array)
        with pytest.raises(InputError, match="y_true is damaged: it holds a string that is not UTF-8"):
            se.Evaluator().update_many(lists, [["a"]])


def row_of(strings: list[str], form: int) -> Any:
    """Strings as a list, or as an array of objects that is contiguous, strided or reversed."""
    if form == 0:
        return strings
    row = np.empty(2 * len(strings), object)
    row[::2] = strings
    return row[::2].copy() if form == 1 else row[::2] if form == 2 else np.array([*strings[::-1]], object)[::-1]


@settings(max_examples=cases(200))
@given(st.lists(st.tuples(st.lists(st.sampled_from(["", "a", "b", "ä\0", "x" * 30, "\ud800"])), st.integers(0, 3))))
def test_lists_and_arrays_of_strings_have_the_codes_of_their_first_occurrences(input_rows: list[tuple[list[str], int]]):
    rows = [row_of(strings, form) for strings, form in input_rows]
    flat = [text for strings, _ in input_rows for text in strings]
    names = list(dict.fromkeys(flat))
    for twin in TWINS:
        ends, codes, result = twin.listed_codes(rows)
        assert (ends.dtype, codes.dtype) == (np.int64, np.int32)
        assert ends.tolist() == list(np.cumsum([0] + [len(strings) for strings, _ in input_rows]))
        assert result == names
        assert [names[code] for code in codes.tolist()] == flat


class Text(str):
    """A string whose class overrides equality."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("must not be asked")

    __hash__ = str.__hash__


@with_each("other", [
    None, "a", ("a",), {"a"}, 7, [7], [None], [b"a"], [["a"]], [np.str_("a")], [Text("a")], np.array(["a"]),
    np.zeros(0), np.array([7], object), np.empty(3, object), np.array([["a"]], object), np.array("a", object),
    np.array([(0, "a")], [("packed", "i1"), ("strings", "O")])["strings"],
])  # fmt: skip
def test_objects_other_than_lists_of_strings_have_no_codes(other: object):
    for twin in TWINS:
        assert twin.listed_codes([other]) is None
        assert twin.listed_codes([["a"], np.array(["a"], object), other]) is None


@pytest.mark.parametrize("times", [1, 16, 32])
def test_more_strings_than_codes_fit_in_memory_are_refused(times: int):
    endless = np.broadcast_to(np.array(["a"], object), (2**59,))
    ev = se.Evaluator()
    with pytest.raises(MemoryError):
        ev.update_many([endless] * times, [["a"]] * times)
    assert ev == se.Evaluator()


@pytest.mark.skipif(kernel.BACKEND != "compiled", reason="the compiled twin is not in use")
def test_rows_that_are_released_during_an_allocation_are_not_read():
    class Last:
        def __init__(self, rows: list[Any]) -> None:
            self.rows, self.itself = rows, self

        def __del__(self) -> None:
            self.rows.clear()

    before, cleared = gc.get_threshold(), []
    gc.freeze()  # restricts collections to objects made from now on
    try:
        for threshold in range(1, 12):
            rows: list[Any] = [["a"] for _ in range(10_000)]
            gc.collect()
            Last(rows)
            gc.set_threshold(threshold)
            result = _codes.listed_codes(rows)
            gc.set_threshold(*before)
            cleared.append(not rows)
            assert result is None or result[2] == ["a"]
    finally:
        gc.set_threshold(*before)
        gc.collect()
    assert any(cleared)
    assert not all(cleared)


def test_chunks_of_lists_count_as_one_column():
    rng = np.random.default_rng(2)
    lists = [[f"l{label}" for label in rng.integers(0, 9, rng.integers(0, 5))] for _ in range(300)]
    other = lists[100:] + lists[:100]
    whole, parts = se.Evaluator(), se.Evaluator()
    whole.update_many(lists, other)
    for kind in (
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ):
        columns = [
            pa.chunked_array([pa.array(side[a:b], kind) for a, b in ((0, 7), (7, 7), (7, 300))])
            for side in (lists, other)
        ]
        parts.reset()
        parts.update_many(*columns)
        assert parts == whole


# -- groups -----------------------------------------------------------------------------------------------------------


@settings(max_examples=cases(200))
@given(st.lists(st.integers(0, 6), max_size=60))
def test_rows_are_sorted_by_code_and_rows_of_one_code_stay_in_order(codes: list[int]):
    order, ends = grouped(np.array(codes, np.int64), 7)
    wanted = sorted(range(len(codes)), key=codes.__getitem__)
    assert (order is None) == (codes == sorted(codes))
    assert order is None or order.tolist() == wanted
    assert ends.tolist() == [sum(code <= group for code in codes) for group in range(7)]


def ragged(rng: np.random.Generator, rows: int, width: int, kind: type, longest: int = 12) -> Lists:
    """Lists of columns with repeats, which do not begin at the first entry."""
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest, rows))]) + 3
    return Lists(offsets.astype(kind), rng.integers(0, width, offsets[-1] + 2).astype(kind))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("rows", [1, 2, 50, 3_000])
def test_selected_lists_have_the_order_of_the_selected_rows(rows: int, kind: type):
    rng = np.random.default_rng(rows)
    for longest in (2, 5, 12, 40):
        lists = ragged(rng, rows, 9, kind, longest)
        for chosen in (rng.permutation(rows), rng.integers(0, rows, 2 * rows), np.zeros(0, np.int64)):
            wanted = [lists.places[lists.offsets[row] : lists.offsets[row + 1]].tolist() for row in chosen]
            offsets, places = taken(lists.offsets, lists.places, chosen)
            assert offsets.dtype == places.dtype == kind
            ends = offsets.tolist()
            assert [places[a:b].tolist() for a, b in pairwise(ends)] == wanted


def test_codes_rows_and_lists_out_of_range_are_refused():
    offsets, places, rows = np.array([0, 2]), np.array([1, 1]), np.array([0])
    for codes in ([3], [-1], [0, 9]):
        with pytest.raises(IndexError, match="out of range"):
            grouped(np.array(codes, np.int64), 3)
    for wrong in (
        (offsets, places, np.array([1])), (offsets, places, np.array([-1])), (np.array([0, 3]), places, rows),
        (np.array([-1, 1]), places, rows), (np.array([1, 0]), places, rows), (np.array([0]), places, rows),
    ):  # fmt: skip
        with pytest.raises(IndexError, match="out of range"):
            taken(*wrong)


@needs_compiled
@pytest.mark.parametrize(("kind", "groups"), crossed([np.int32, np.int64], [1, 2, 20, 700]))
def test_twins_count_each_group_like_a_batch_of_its_own(groups: int, kind: type):
    rng = np.random.default_rng(groups)
    for rows in (0, 1, 511, 513, 3_000) if groups < 700 else (3_000,):
        width = int(rng.integers(1, 60))
        true, pred = ragged(rng, rows, width, kind), ragged(rng, rows, width, kind)
        pred = pred._replace(columns=rng.integers(0, width, width))
        codes = rng.integers(0, groups, rows)
        made = [[kind_of(Root(), 0) for _ in range(groups)] for kind_of in (_compiled.Counts, _numpy.Counts)]
        for _ in range(2):  # the second time adds to existing counts
            _compiled.count_groups(made[0], codes, rows, width, true, pred)
            _numpy.count_groups(made[1], codes, rows, width, true, pred)
        assert [everything(one, width) for one in made[0]] == [everything(one, width) for one in made[1]]
        whole = _compiled.Counts(Root(), width)
        for one in made[0]:
            merge(whole, one)
        single = _compiled.Counts(Root(), width)
        for _ in range(2):
            single.count_lists(rows, 0, true, pred, None, None, np.zeros(0, np.int64))
        assert everything(whole, width) == everything(single, width)


@needs_compiled
def test_damaged_groups_and_lists_are_refused():
    fine = Lists(np.array([0, 1, 2]), np.array([0, 1]))
    for codes, true in (
        ([0, 2], fine), ([0, -1], fine), ([0], fine), ([0, 1, 1], fine),
        ([0, 1], Lists(np.array([0, 1, 3]), fine.places)),
        ([0, 1], Lists(np.array([0, 3, 2]), fine.places)), ([0, 1], Lists(fine.offsets, np.array([0, 2]))),
        ([0, 1], Lists(np.array([-1, 1, 2]), fine.places)),
    ):  # fmt: skip
        with pytest.raises(IndexError):
            _compiled.count_groups([_compiled.Counts(Root(), 0) for _ in range(2)], np.array(codes), 2, 2, true, fine)


GUARDED = """
import ctypes, mmap
import numpy as np
from streameval.kernel.lists import taken
from streameval.kernel.strings import compiled as _codes

protect = ctypes.CDLL(None).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page, room, areas = mmap.PAGESIZE, 16 * mmap.PAGESIZE, []


def between_guards(array, at_end):
    areas.append(mmap.mmap(-1, room + 2 * page))
    start = ctypes.addressof(ctypes.c_char.from_buffer(areas[-1]))
    for guard in (start, start + page + room):
        assert protect(guard, page, 0) == 0
    at = page + (room - array.nbytes if at_end else 0)
    held = np.frombuffer(areas[-1], array.dtype, len(array), at)
    held[:] = array
    return held


for length in range(41):
    for count in (1, 2, 7):
        for at_end in (False, True):
            data = between_guards((np.arange(length * count) % 127).astype(np.uint8), at_end)
            for kind in (np.int32, np.int64):
                offsets = between_guards(np.arange(count + 1, dtype=kind) * length, at_end)
                codes, strings = _codes.string_codes(offsets, data)
                assert len(codes) == count and len(strings) == (count if length else 1)
                places = between_guards(np.arange(length * count, dtype=kind), at_end)
                ends, entries = taken(offsets, places, np.arange(count)[::-1].copy())
                assert len(entries) == length * count
"""


@needs_compiled
@pytest.mark.skipif(sys.platform == "win32", reason="memory is guarded with mprotect")
def test_no_byte_is_read_before_or_after_strings_and_lists():
    subprocess.run([sys.executable, "-c", GUARDED], check=True, env={**os.environ, "STREAMEVAL_KERNEL": "compiled"})
