"""Both kernels count dense rows and scores alike, with every vector width of this machine, to the end of an array."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from streameval import kernel
from streameval.kernel.commit.numpy import Root
from streameval.kernel.decisions import numpy as _numpy
from streameval.kernel.types import DONE, OTHER
from tests.kernel.decisions.test_twins import FILLS, bits, everything, needs_compiled
from tests.support.each import with_each
from tests.support.effort import cases
from tests.support.twins import each_vector

if kernel.BACKEND == "compiled":
    from streameval.kernel.decisions import compiled as _compiled

# Columns next to the sizes of vectors and of strips of vectors; rows next to the sizes of groups and blocks, and at the
# limits from which the kernel uses a table of all row keys (1,024 rows of 7 columns, 8,192 of 14, 65,536 of 31), a
# table of recent row keys (512 rows), or packed bits (512 rows of 17 to 64 columns).
SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (3, 7), (2, 8), (9, 9), (9, 31), (9, 32), (9, 33), (4, 63), (4, 64), (4, 65),
    (239, 65), (240, 127), (241, 128), (242, 129), (254, 3), (255, 3), (256, 3), (511, 14), (512, 33), (513, 64),
    (600, 100), (9, 255), (17, 256), (16, 257), (15, 513), (3, 2041), (2, 4100), (8, 1), (7, 1), (17, 1), (15, 1),
    (480, 16), (481, 16), (479, 32), (959, 12), (961, 13), (1023, 7), (1024, 7), (1919, 8), (1927, 8), (1920, 5),
    (3375, 14), (4100, 14), (8191, 14), (8192, 14), (33000, 31), (65537, 31), (2000, 90),
    (511, 17), (512, 17), (639, 24), (641, 48), (1920, 63), (1921, 64), (3969, 20),
]  # fmt: skip
LONG = [(3, 65471), (9, 65472), (2, 65473), (3, 140000), (cases(250), 70000)]


@needs_compiled
def test_the_widest_vectors_are_in_use_and_words_are_always_available():
    assert _compiled.vectors()[-1] == 8
    assert list(_compiled.vectors()) == sorted(_compiled.vectors(), reverse=True)
    for columns in (0, 7, 16, 128, -1):
        with pytest.raises(ValueError, match="no vectors"):
            _compiled.use_vectors(columns)


Answers = tuple[object, tuple[object, ...]]


def agree(width: int, count: Callable[[Any], object]) -> Answers:
    """The result of counting and the counts, which must be equal with numpy and with every vector width."""
    wanted = answer(_numpy.Counts(Root(), width), width, count)
    for columns in each_vector():
        assert answer(_compiled.Counts(Root(), width), width, count) == wanted, f"{columns} columns at a time"
    return wanted


def answer(counts: Any, width: int, count: Callable[[Any], object]) -> Answers:
    return count(counts), everything(counts, width)


@needs_compiled
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_twins_count_dense_rows_alike(shape: tuple[int, int]):
    for number, fill in enumerate(FILLS):
        rng = np.random.default_rng([*shape, number])
        true, pred, mask = (bits(rng, shape, part) for part in (fill, "random", "rare"))
        for hidden, fixed in ((None, 0), (mask, shape[1] // 2), (None, shape[1])):
            columns = rng.permutation(shape[1] + 3)[: shape[1]].astype(np.int64)
            arguments = columns, fixed, true, pred, hidden
            assert agree(shape[1] + 3, lambda counts, some=arguments: counts.count_dense(*some))[0] <= 1


@needs_compiled
@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "i8", "f4", "f8"])
def test_numbers_of_any_type_are_counted_like_bytes_with_every_vector_width(kind: str):
    for shape in ((1, 1), (5, 14), (33, 64), (64, 65), (65, 100), (250, 17), (9000, 14), (3, 70000)):
        rng = np.random.default_rng(shape)
        true, pred, mask = bits(rng, shape, "random"), bits(rng, shape, "rare"), bits(rng, shape, "rare")
        columns, known = np.arange(shape[1]), {column: column for column in range(shape[1])}
        sides = true.astype(kind), np.asfortranarray(pred.astype(kind))
        wild = [side.copy(order) for side, order in zip(sides, "CF", strict=True)]
        for side, at in zip(wild, ((0, 0), (-1, -1)), strict=True):
            side[at] = 3
        masks = [(*sides, wrong) for wrong in (mask + 2, mask[1:], mask[:, 1:], mask[0], mask.astype("u2"), [])]
        for hidden in (None, mask.view(bool)):
            plain = _numpy.Counts(Root(), shape[1])
            plain.count_dense(columns, shape[1], true, pred, None if hidden is None else mask)
            for _ in each_vector():
                counts = _compiled.Counts(Root(), shape[1])
                for *refused, no in [(wild[0], sides[1], hidden), (sides[0], wild[1], hidden), *masks]:
                    assert counts.count_arrays(known, shape[1], *refused, None, no) == OTHER
                assert counts.count_arrays(known, shape[1], *sides, None, hidden) == DONE
                assert everything(counts, shape[1]) == everything(plain, shape[1])


@needs_compiled
@pytest.mark.parametrize("shape", LONG, ids=str)
def test_twins_count_rows_too_long_for_a_packed_key_alike(shape: tuple[int, int]):
    rng = np.random.default_rng(shape)
    true, pred, mask = (bits(rng, shape, part) for part in ("random", "ones", "rare"))
    for hidden in (None, mask):
        arguments = np.arange(shape[1]), 0, true, pred, hidden
        agree(shape[1], lambda counts, some=arguments: counts.count_dense(*some))


def in_memory(rng: np.random.Generator, rows: int, columns: int) -> Iterator[np.ndarray]:
    """Rows in every memory layout that ``count_dense`` accepts."""
    yield bits(rng, (rows, columns), "random")[::-1]
    yield bits(rng, (2 * rows, columns), "random")[::2]
    yield bits(rng, (rows, columns + 1), "random")[:, 1:]
    yield bits(rng, (rows, 5 * columns), "random")[:, columns : 2 * columns]
    yield np.broadcast_to(bits(rng, (1, columns), "random"), (rows, columns))
    yield np.lib.stride_tricks.as_strided(bits(rng, (1, rows + columns), "random"), (rows, columns), (1, 1))


@needs_compiled
@pytest.mark.parametrize("columns", [1, 5, 8, 11, 16, 20, 32, 45, 64, 100, 300])
@with_each("rows", [1, 7, 8, 16, 250, 1000])
def test_twins_count_rows_with_any_stride_alike(rows: int, columns: int):
    rng = np.random.default_rng([rows, columns])
    plain = bits(rng, (rows, columns), "random")
    for side in in_memory(rng, rows, columns):
        for parts in ((side, plain, None), (plain, side, None), (side, side, plain), (plain, plain, side)):
            arguments = np.arange(columns), columns, *parts
            agree(columns, lambda counts, some=arguments: counts.count_dense(*some))


@needs_compiled
@pytest.mark.parametrize("value", [2, 3, 128, 255])
@pytest.mark.parametrize("side", range(3))
def test_twins_refuse_every_byte_that_is_neither_0_nor_1(side: int, value: int):
    for columns in (1, 7, 8, 14, 16, 31, 32, 33, 64, 65, 100, 300):
        for row in (0, 239, 240, 254, 255, 511, 599):
            for column in (0, columns // 2, columns - 1):
                parts = [np.zeros((600, columns), np.uint8) for _ in range(3)]
                parts[side][row, column] = value
                for mask in (parts[2], None)[: 1 + (side < 2)]:
                    arguments = np.arange(columns), 0, *parts[:2], mask
                    assert _numpy.Counts(Root(), columns).count_dense(*arguments) > 1
                    for _ in each_vector():
                        assert _compiled.Counts(Root(), columns).count_dense(*arguments) > 1


@needs_compiled
@pytest.mark.parametrize(
    ("rows", "columns"), [(5000, 1), (5000, 4), (9000, 14), (70000, 31), (3000, 100), (600, 1000), (3, 70000)]
)
def test_rows_of_invalid_bytes_are_refused_without_access_outside_of_tables(rows: int, columns: int):
    """Keys of such bytes could index outside of a table; there are enough rows for each kind of table of keys."""
    wild = np.random.default_rng(columns).integers(0, 256, (rows, columns), np.uint8)
    tame = wild & 1
    for parts in ((wild, wild, None), (wild, wild, wild), (tame, wild, tame), (np.full_like(wild, 255),) * 3):
        for _ in each_vector():
            assert _compiled.Counts(Root(), columns).count_dense(np.arange(columns), 0, *parts) > 1


GUARDED = """
import ctypes, itertools, mmap
import numpy as np
from streameval.kernel.commit.numpy import Root
from streameval.kernel.decisions import compiled as _compiled

protect = ctypes.CDLL(None).mprotect
protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
page, room, areas = mmap.PAGESIZE, 64 * mmap.PAGESIZE, []
WIDTHS = (1, 3, 8, 9, 14, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130, 257, 1000)

def between_guards(rows, kind, at_end):
    areas.append(mmap.mmap(-1, room + 2 * page))
    start = ctypes.addressof(ctypes.c_char.from_buffer(areas[-1]))
    assert protect(start, page, 0) == protect(start + page + room, page, 0) == 0
    size = rows * columns * np.dtype(kind).itemsize
    assert size <= room
    offset = page + (room - size if at_end else 0)
    array = np.frombuffer(areas[-1], kind, rows * columns, offset).reshape(rows, columns)
    array[:] = 1
    return array

for vectors, columns, rows in itertools.product(_compiled.vectors(), WIDTHS, (1, 2, 7, 8, 9, 17, 100, 241, 500, 2000)):
    print(vectors, columns, rows, flush=True)
    _compiled.use_vectors(vectors)
    if rows * columns > room:
        continue
    for at_end in (False, True):
        true, pred, hidden = (between_guards(rows, np.uint8, at_end) for _ in range(3))
        for mask, outcome in ((None, 3), (hidden, 4)):
            counts = _compiled.Counts(Root(), columns)
            assert counts.count_dense(np.arange(columns), 0, true, pred, mask) == 1
            assert counts.outcomes(np.arange(columns))[outcome].tolist() == [rows] * columns
        for kind in (np.float32, np.float64):
            if rows * columns * np.dtype(kind).itemsize > room:
                continue
            scores, bounds = between_guards(rows, kind, at_end), between_guards(1, kind, at_end)[0]
            counts = _compiled.Counts(Root(), columns)
            assert counts.count_scores(np.arange(columns), 0, true, scores, bounds, hidden) == (1, True)
            assert counts.outcomes(np.arange(columns))[4].tolist() == [rows] * columns
"""


@needs_compiled
@pytest.mark.skipif(sys.platform == "win32", reason="memory is guarded with mprotect")
def test_no_byte_is_read_before_or_after_an_array():
    """The arrays end next to pages without access; a read from these would end the process with a traceback."""
    subprocess.run([sys.executable, "-c", GUARDED], check=True, env={**os.environ, "STREAMEVAL_KERNEL": "compiled"})


@needs_compiled
@with_each("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_twins_count_scores_alike(shape: tuple[int, int], kind: type):
    rng = np.random.default_rng(list(shape))
    true = bits(rng, shape, "random")
    most, nearly = np.finfo(kind).max, np.nextafter(kind(0.5), kind(0))
    scores = rng.choice(np.array([0.1, 0.5, nearly, 0.9, -3.0, -0.0, 0.0, most, -most], kind), shape)
    bounds = rng.choice(np.array([0.5, 0.1, 0.0, -0.0, most], kind), shape[1])
    for hidden in (None, bits(rng, shape, "rare")):
        arguments = np.arange(shape[1]), 0, true, scores, bounds, hidden
        counted = agree(shape[1], lambda counts, some=arguments: counts.count_scores(*some))[1]
        reference = _numpy.Counts(Root(), shape[1])
        reference.count_dense(np.arange(shape[1]), 0, true, (scores >= bounds).astype(np.uint8), hidden)
        assert counted == everything(reference, shape[1])


@needs_compiled
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_twins_report_scores_that_are_not_finite(bad: float, kind: type):
    for columns in (1, 3, 8, 14, 16, 24, 64, 65):
        for row in (0, 255, 399):
            for column in (0, columns // 2, columns - 1):
                scores = np.zeros((400, columns), kind)
                scores[row, column] = bad
                args = np.arange(columns), 0, np.zeros((400, columns), np.uint8), scores, np.ones(columns, kind), None
                assert _numpy.Counts(Root(), columns).count_scores(*args)[1] is False
                for _ in each_vector():
                    assert _compiled.Counts(Root(), columns).count_scores(*args)[1] is False
