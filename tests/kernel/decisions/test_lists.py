"""Lists of true and of predicted columns, which compiled loops of their own count, against a plain loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from streameval import kernel
from streameval.kernel.commit.numpy import Root
from streameval.kernel.types import Lists
from tests.kernel.decisions.test_twins import everything
from tests.support.effort import crossed
from tests.support.twins import each_vector

pytestmark = pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")

if kernel.BACKEND == "compiled":
    from streameval.kernel.decisions import compiled as _compiled

NOTHING = np.zeros(0, np.int64)
ROOM = 512
"""The number of rows for whose keys the kernel reserves space at once."""
MANY = 2048
"""The number of rows from which the kernel counts rows of up to 64 columns as words of bits."""


def lists_of(rng: np.random.Generator, rows: int, width: int, longest: int, kind: type) -> Lists:
    """Lists with repeats that use only a part of the entries; the other entries are out of range."""
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, rows))]) + 2
    places = rng.integers(0, width, ends[-1] + int(rng.integers(0, 6)))
    places[: ends[0]] = places[ends[-1] :] = rng.choice([-1, width, np.iinfo(kind).max, np.iinfo(kind).min])
    columns = rng.integers(0, width, width) if rng.random() < 0.5 else None
    return Lists(ends.astype(kind), places.astype(kind), columns)


def by_hand(rows: Iterable[int], width: int, true: Lists, pred: Lists) -> tuple[object, ...]:
    cells, keys = np.zeros((width, 5), np.int64), Counter()
    ends, result = (
        [side.offsets.tolist() for side in (true, pred)],
        [
            (side.places if side.columns is None else side.columns[side.places % len(side.columns)]).tolist()
            for side in (true, pred)
        ],
    )
    for row in rows:
        t, p = (set(of[end[row] : end[row + 1]]) for of, end in zip(result, ends, strict=True))
        cells[list(t - p), 1] += 1
        cells[list(p - t), 2] += 1
        cells[list(t & p), 3] += 1
        keys[len(t), len(p), len(t & p), 0] += 1
    return keys.total(), cells.tolist(), sorted(keys.items())


@pytest.mark.parametrize(("rows", "width"), crossed([ROOM - 1, ROOM, ROOM + 1, MANY], [1, 8, 50, 63, 64, 65]))
def test_lists_are_counted_like_a_plain_loop_over_rows(rows: int, width: int):
    for longest in (0, 1, 4, 5, 70) if rows < 1_000 else (3, 9):
        wanted = None
        for kinds in ((np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64)):
            rng = np.random.default_rng([rows, width, longest])  # equal lists for each type of integer
            sides = [lists_of(rng, rows, width, longest, kind) for kind in kinds]
            wanted = wanted or by_hand(range(rows), width, *sides)
            for _ in each_vector():
                counts = _compiled.Counts(Root(), width)
                counts.count_lists(rows, 0, *sides, None, None, NOTHING)
                assert everything(counts, width) == wanted


def test_columns_in_every_row_are_not_lost():
    for rows in (ROOM, MANY, 8_217):
        full = Lists(np.arange(0, 64 * rows + 1, 64, np.int32), np.tile(np.arange(64, dtype=np.int32), rows))
        counts = _compiled.Counts(Root(), 64)
        counts.count_lists(rows, 0, full, full, None, None, NOTHING)
        assert everything(counts, 64) == (rows, [[0, 0, 0, rows, 0]] * 64, [((64, 64, 64, 0), rows)])


@pytest.mark.parametrize(("groups", "width"), crossed([1, 2, 7], [1, 50, 64, 65]))
def test_rows_are_counted_in_their_groups(width: int, groups: int):
    rng = np.random.default_rng([width, groups])
    for rows in (groups, ROOM + 1, 2_500):
        sides = [lists_of(rng, rows, width, 6, np.int32) for _ in range(2)]
        codes = rng.integers(0, groups, rows) if rows % 2 else np.zeros(rows, np.int64)
        wanted = [by_hand(np.flatnonzero(codes == group), width, *sides) for group in range(groups)]
        counted = [_compiled.Counts(Root(), width) for _ in range(groups)]
        _compiled.count_groups(counted, codes, rows, width, *sides)
        assert [everything(counts, width) for counts in counted] == wanted


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(("at", "rows"), [(0, 1_000), (1, 1_000), (ROOM, 1_000), (999, 1_000), (0, MANY), (999, MANY)])
def test_damage_in_any_of_many_rows_is_refused(at: int, rows: int, kind: type):
    fine = Lists(np.arange(rows + 1, dtype=kind), np.zeros(rows, kind))
    wrong = []
    for place in (9, -1, np.iinfo(kind).max, np.iinfo(kind).min, 16):
        places = fine.places.copy()
        places[at] = place
        wrong.append(Lists(fine.offsets, places))
        wrong.append(Lists(fine.offsets, places, np.zeros(9, np.int64)))
    for offset in (-1, at + 5, np.iinfo(kind).max, np.iinfo(kind).min):
        offsets = fine.offsets.copy()
        offsets[at + (offset == at + 5)] = offset
        wrong.append(Lists(offsets, fine.places))
    for lists in wrong:
        for sides in ((lists, fine), (fine, lists)):
            with pytest.raises(IndexError):
                _compiled.Counts(Root(), 9).count_lists(rows, 0, *sides, None, None, NOTHING)
            with pytest.raises(IndexError):
                _compiled.count_groups([_compiled.Counts(Root(), 9)] * 2, np.arange(rows) % 2, rows, 9, *sides)
    for code in (2, -1):
        codes = np.zeros(rows, np.int64)
        codes[at] = code
        with pytest.raises(IndexError):
            _compiled.count_groups([_compiled.Counts(Root(), 9)] * 2, codes, rows, 9, fine, fine)
