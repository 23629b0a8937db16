"""Packed rows of bits, which the compiled kernel counts without unpacking, against the same rows as bytes."""

from __future__ import annotations

import itertools
import tracemalloc
from importlib import import_module

import numpy as np
import pytest

import streameval as se
from streameval.kernel.types import DONE, BitRows
from tests.kernel.decisions.test_twins import everything
from tests.support.each import with_each
from tests.support.effort import crossed
from tests.support.twins import BACKENDS, each_vector, needs_compiled

LOAD = 240
"""The number of vectors that the kernel adds up before it updates the counts."""


def packed(cells: np.ndarray, bitorder: str) -> BitRows:
    data = np.packbits(cells, axis=1, bitorder=bitorder)
    return BitRows(data.reshape(-1), 0, 8 * data.shape[1], *cells.shape, bitorder == "big")


def close(cells: np.ndarray, first: int) -> BitRows:
    """Rows without padding, as in Arrow, after ``first`` bits that are 1; ones also fill the last byte."""
    flat = np.concatenate([np.ones(first, np.uint8), cells.reshape(-1)])
    data = np.packbits(np.concatenate([flat, np.ones(-len(flat) % 8, np.uint8)]), bitorder="little")
    return BitRows(data, first, cells.shape[1], *cells.shape, falls=False)


def counted(backend: str, width: int, true: BitRows, pred: BitRows) -> tuple[object, ...]:
    root = import_module(f"streameval.kernel.commit.{backend}").Root()
    counts = import_module(f"streameval.kernel.decisions.{backend}").Counts(root, width)
    assert counts.count_bits(np.arange(width), 0, true, pred) <= 1
    return everything(counts, width)


def by_bytes(true: np.ndarray, pred: np.ndarray) -> tuple[object, ...]:
    root = import_module("streameval.kernel.commit.numpy").Root()
    counts = import_module("streameval.kernel.decisions.numpy").Counts(root, true.shape[1])
    assert counts.count_dense(np.arange(true.shape[1]), 0, true, pred, None) <= 1
    return everything(counts, true.shape[1])


WIDTHS = (1, 7, 8, 9, 55, 56, 57, 63, 64, 65, 100, 128, 136, 150, 1_000)
ROWS = (1, 7, LOAD - 1, LOAD, LOAD + 1, 4 * LOAD + 1, 8 * LOAD + 1, 5_000)


@pytest.mark.parametrize(("width", "rows"), crossed(WIDTHS, ROWS))
def test_bits_are_counted_like_the_same_rows_as_bytes(width: int, rows: int):
    rng = np.random.default_rng([width, rows])
    true, pred = ((rng.random((rows, width)) < share).astype(np.uint8) for share in (0.3, 0.6))
    wanted = by_bytes(true, pred)
    forms = [
        *((packed(true, order), packed(pred, order)) for order in ("big", "little")),
        *((close(true, first), close(pred, other)) for first, other in ((0, 0), (3, 0), (7, 13))),
        (packed(true, "little"), close(pred, 5)),
    ]
    for sides in forms:
        if rows < 1_000:
            assert counted("numpy", width, *sides) == wanted
        if "compiled" in BACKENDS:
            for _ in each_vector():
                assert counted("compiled", width, *sides) == wanted


@needs_compiled
@pytest.mark.parametrize("width", [5, 14, 100, 255, 256])
def test_row_keys_of_many_packed_rows_are_counted_like_those_of_bytes(width: int):
    rng = np.random.default_rng(width)
    shares = np.linspace(0, 1, 20_000)[:, None]  # makes keys of all kinds collide in the table
    true, pred = ((rng.random((20_000, width)) < shares).astype(np.uint8) for _ in range(2))
    wanted = by_bytes(true, pred)
    for _ in each_vector():
        assert counted("compiled", width, packed(true, "big"), packed(pred, "big")) == wanted
        assert counted("compiled", width, close(true, 0), close(pred, 3)) == wanted


@needs_compiled
def test_the_kernel_counts_packed_rows_even_if_it_has_counted_no_arrays():
    decisions = import_module("streameval.kernel.decisions.compiled")
    root = import_module("streameval.kernel.commit.compiled").Root
    rows = packed(np.ones((5, 14), np.uint8), "big")
    counts = decisions.Counts(root(), 14)
    assert counts.count_packed({column: column for column in range(14)}, 14, rows, rows) == DONE
    assert counts.examples == 5


@pytest.mark.parametrize("rows", [3, 32, 1_000])
def test_packed_rows_are_counted_like_the_same_rows_as_arrays(rows: int):
    rng = np.random.default_rng(rows)
    true, pred = ((rng.random((rows, 14)) < 0.3).astype(np.uint8) for _ in range(2))
    wide = se.PackedRows(np.packbits(true, axis=1), 14), se.PackedRows(np.packbits(pred, axis=1), 14)
    little = se.PackedRows(np.packbits(pred, axis=1, bitorder="little"), 14, "little")
    plain = se.Evaluator(labels=range(14))
    plain.update_many(true, pred)
    for sides in (wide, (wide[0], little), (true, wide[1]), (wide[0], pred)):
        ev = se.Evaluator(labels=range(14))
        ev.update_many(*sides)
        assert ev.to_bytes() == plain.to_bytes()
        with pytest.raises(se.InputError):
            ev.update_many(wide[0], se.PackedRows(wide[1].bits[1:], 14))
        wrong = wide[1].bits.copy()
        wrong[-1, -1] |= 1
        with pytest.raises(se.InputError, match="bits set after"):
            ev.update_many(wide[0], se.PackedRows(wrong, 14))
        assert ev.to_bytes() == plain.to_bytes()


def test_columns_in_every_row_are_not_lost():
    for rows in (LOAD, 4 * LOAD, 16 * LOAD + 17):
        full = packed(np.ones((rows, 70), np.uint8), "big")
        wanted = rows, [[0, 0, 0, rows, 0]] * 70, [((70, 70, 70, 0), rows)]
        assert counted("numpy", 70, full, full) == wanted
        for _ in each_vector() if "compiled" in BACKENDS else ():
            assert counted("compiled", 70, full, full) == wanted


@with_each("backend", BACKENDS)
@with_each("order", ["big", "little"])
@with_each("width", [1, 3, 9, 63, 65, 100])
def test_a_bit_after_the_last_column_is_refused_in_any_row_of_either_side(width: int, order: str, backend: str):
    decisions = import_module(f"streameval.kernel.decisions.{backend}")
    root = import_module(f"streameval.kernel.commit.{backend}").Root
    fine = packed(np.zeros((1_000, width), np.uint8), order)
    size = fine.stride
    for row, bit in itertools.product((0, 500, 999), range(width, size)):
        cells = np.zeros((1_000, size), np.uint8)
        cells[row, bit] = 1
        wrong = packed(cells, order)._replace(columns=width)
        for sides in ((fine, wrong), (wrong, fine)):
            counts = decisions.Counts(root(), width)
            assert counts.count_bits(np.arange(width), 0, *sides) > 1
            assert not counts.examples


@needs_compiled
def test_rows_beyond_their_bytes_are_refused():
    decisions = import_module("streameval.kernel.decisions.compiled")
    root = import_module("streameval.kernel.commit.compiled").Root
    fine, falling = (packed(np.zeros((9, 20), np.uint8), order) for order in ("little", "big"))
    changes = {"examples": 10}, {"first": 1}, {"first": -1}, {"stride": 19}, {"stride": 28}, {"columns": 21}
    for change in (*changes, {"data": fine.data[:-1]}, {"data": fine.data[:0]}):
        for sides in ((fine, fine._replace(**change)), (fine._replace(**change), fine)):
            with pytest.raises(IndexError):
                decisions.Counts(root(), 20).count_bits(np.arange(20), 0, *sides)
    for sides in ((fine, falling), (falling._replace(first=1, examples=8), falling._replace(examples=8))):
        with pytest.raises(IndexError):
            decisions.Counts(root(), 20).count_bits(np.arange(20), 0, *sides)


def test_packed_rows_are_counted_without_unpacking():
    if "compiled" not in BACKENDS:
        pytest.skip("the numpy kernel makes bytes of bits")
    cells = np.zeros((100_000, 100), np.uint8)
    rows, ev = se.PackedRows(np.packbits(cells, axis=1), 100), se.Evaluator(labels=range(100))
    ev.update_many(rows, rows)
    tracemalloc.start()
    ev.update_many(rows, rows)
    assert tracemalloc.get_traced_memory()[1] < cells.size / 20
    tracemalloc.stop()
    assert ev.per_label().tn.tolist() == [200_000] * 100
