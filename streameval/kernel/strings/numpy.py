"""Strings as codes, in numpy: what the compiled functions compute, and the fallback. Arrays are C-contiguous."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from streameval.kernel.types import Int32Array, IntArray, Places, UInt8Array


def string_codes(offsets: Places, data: UInt8Array) -> tuple[Int32Array, IntArray] | None:
    """The code of each string, in the order of first occurrence, and where the string of each code stands first.

    String ``i`` is ``data[offsets[i]:offsets[i + 1]]``, which need not be valid UTF-8. None if the offsets, of int32 or
    int64, do not bound strings within the data.
    """
    if not are_strings(offsets, data):
        return None
    whole = data.tobytes()
    return _numbered([whole[start:end] for start, end in pairwise(offsets.tolist())])


def are_strings(offsets: Places, data: UInt8Array) -> bool:
    """Whether offsets bound strings within the data."""
    return bool(len(offsets) and offsets[0] >= 0 and offsets[-1] <= len(data) and (offsets[1:] >= offsets[:-1]).all())


def _numbered(strings: list[bytes]) -> tuple[Int32Array, IntArray]:
    code_of: dict[bytes, int] = {}
    codes = np.array([code_of.setdefault(string, len(code_of)) for string in strings], np.int32)
    return codes, np.unique(codes, return_index=True)[1].astype(np.int64)


def view_codes(views: UInt8Array, buffers: list[UInt8Array]) -> tuple[Int32Array, IntArray] | None:
    """The same of strings in views, as Arrow defines them; None if a view is of no string within its buffer.

    A view has 16 bytes: the length as an int32, and the string if that is at most 12; else its first four bytes, the
    number of its buffer and where it stands there, as int32.
    """
    if not are_views(views, buffers):
        return None
    held = [buffer.tobytes() for buffer in buffers]
    within = views.reshape(-1, 16)[:, 4:].tobytes()
    return _numbered([
        within[12 * place : 12 * place + length] if length <= 12 else held[buffer][start : start + length]
        for place, (length, _, buffer, start) in enumerate(views.view(np.int32).reshape(-1, 4).tolist())
    ])  # fmt: skip


def are_views(views: UInt8Array, buffers: list[UInt8Array]) -> bool:
    """Whether all views are of strings within their buffers."""
    lengths, _, number, start = views.view(np.int32).reshape(-1, 4).astype(np.int64).T
    sizes = np.array([*map(len, buffers), 0], np.int64)
    outside = (number < 0) | (number >= len(buffers))
    outside |= (start < 0) | (start + lengths > sizes[np.where(outside, -1, number)])
    return not ((lengths < 0) | ((lengths > 12) & outside)).any()


def listed_codes(rows: list[Any]) -> tuple[IntArray, Int32Array, list[str]] | None:
    """Where lists of strings begin and end, the code of each string, and the string of each code, likewise.

    None if there is anything but lists, or arrays of objects with one dimension, of plain strings.
    """
    lists: list[list[Any]] = []
    for row in rows:
        plain = type(row) is list
        if not plain and not (type(row) is np.ndarray and row.dtype == object and row.ndim == 1 and row.flags.aligned):
            return None
        lists.append(row if plain else row.tolist())
    strings = list(chain.from_iterable(lists))
    if not set(map(type, strings)) <= {str}:
        return None
    code_of: dict[str, int] = {}
    codes = np.fromiter((code_of.setdefault(string, len(code_of)) for string in strings), np.int32, len(strings))
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), codes, list(code_of)
