"""Checks and selects lists of columns, and sorts rows by group, in numpy for both kernels, the schema and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.kernel.types import DAMAGED, DISTINCT, REPEATING, IntArray, Places


def list_order(offsets: Places, places: Places, limit: int) -> int:
    """``DAMAGED`` if an offset or place is out of range, ``REPEATING`` if a list repeats a place, else ``DISTINCT``."""
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(places) or (offsets[1:] < offsets[:-1]).any():
        return DAMAGED
    stored = places[offsets[0] : offsets[-1]]
    if stored.min(initial=0) < 0 or stored.max(initial=-1) >= limit:
        return DAMAGED
    rises = np.ones(len(stored) + 1, np.bool_)  # lists that ascend, as most do, need no sort
    np.greater(stored[1:], stored[:-1], out=rises[1:-1])
    rises[offsets.astype(np.intp) - offsets[0]] = True  # numpy indexes by intp three times as fast
    if rises.all():
        return DISTINCT
    cells = np.sort(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) * limit + stored)
    return REPEATING if (np.diff(cells) == 0).any() else DISTINCT


def grouped(codes: IntArray, groups: int) -> tuple[IntArray | None, IntArray]:
    """The rows sorted by code (None if they already are), and for each code the position where its rows end."""
    if len(codes) and (codes.min() < 0 or codes.max() >= groups):
        raise IndexError(f"a code is out of range: there are {groups} groups")
    ends = np.cumsum(np.bincount(codes, minlength=groups), dtype=np.int64)
    if not (codes[1:] < codes[:-1]).any():
        return None, ends
    return np.argsort(codes.astype(np.uint16) if groups < 2**16 else codes, kind="stable"), ends


def taken(offsets: Places, places: Places, rows: IntArray) -> tuple[Places, Places]:
    """The lists of these rows, as offsets and entries, both of int32 if the arguments are."""
    if len(rows) and (rows.min() < 0 or rows.max() >= len(offsets) - 1):
        raise IndexError("a row or a list is out of range")
    starts, stops = offsets[:-1][rows].astype(np.int64), offsets[1:][rows].astype(np.int64)
    if ((starts < 0) | (stops < starts) | (stops > len(places))).any():
        raise IndexError("a row or a list is out of range")
    kind: Any = np.int32 if offsets.dtype == places.dtype == np.int32 else np.int64
    lengths = stops - starts
    ends = np.append(0, np.cumsum(lengths))
    if kind is np.int32 and ends[-1] >= 2**31:
        raise IndexError("the lists are too long for 32 bits")
    entries = np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
    return ends.astype(kind), places[entries].astype(kind, copy=False)
