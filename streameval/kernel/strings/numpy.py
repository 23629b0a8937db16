"""Strings as codes, in numpy: what the compiled functions compute, and the fallback. Arrays are C-contiguous."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from streameval.kernel.types import Int32Array, IntArray, Places, UInt8Array


def text_codes(offsets: Places, data: UInt8Array) -> tuple[Int32Array, IntArray] | None:
    """Which texts are equal.

    Parameters
    ----------
    offsets
        Where texts begin and end, of int32 or int64: text ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    data
        The bytes of all texts, which need not be text at all.

    Returns
    -------
    tuple or None
        The code of each text, and where the text of each code stands first; codes count up in the order of first
        occurrence. None if the offsets do not bound texts within the data.
    """
    if not are_texts(offsets, data):
        return None
    whole = data.tobytes()
    return _numbered([whole[start:end] for start, end in pairwise(offsets.tolist())])


def are_texts(offsets: Places, data: UInt8Array) -> bool:
    """Whether offsets bound texts within the data."""
    return bool(len(offsets) and offsets[0] >= 0 and offsets[-1] <= len(data) and (offsets[1:] >= offsets[:-1]).all())


def _numbered(texts: list[bytes]) -> tuple[Int32Array, IntArray]:
    found: dict[bytes, int] = {}
    codes = np.array([found.setdefault(text, len(found)) for text in texts], np.int32)
    return codes, np.unique(codes, return_index=True)[1].astype(np.int64)


def view_codes(views: UInt8Array, buffers: list[UInt8Array]) -> tuple[Int32Array, IntArray] | None:
    """The same of texts that are given as views, as Arrow defines them.

    Parameters
    ----------
    views
        16 bytes for each text: its length as an int32, and the text if that is at most 12; else its first four bytes,
        the number of its buffer and where it stands there, as int32.
    buffers
        The bytes of longer texts.

    Returns
    -------
    tuple or None
        As of `text_codes`. None if a view is of no text within its buffer.
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
    """Whether all views are of texts within their buffers."""
    lengths, _, number, start = views.view(np.int32).reshape(-1, 4).astype(np.int64).T
    sizes = np.array([*map(len, buffers), 0], np.int64)
    outside = (number < 0) | (number >= len(buffers))
    outside |= (start < 0) | (start + lengths > sizes[np.where(outside, -1, number)])
    return not ((lengths < 0) | ((lengths > 12) & outside)).any()


def listed_codes(rows: list[Any]) -> tuple[IntArray, Int32Array, list[str]] | None:
    """Which texts are equal in many lists of them.

    Parameters
    ----------
    rows
        Lists, or arrays of objects with one dimension, of strings.

    Returns
    -------
    tuple or None
        Where the lists begin and end, the code of each text, and the text of each code; codes count up in the order of
        first occurrence. None if there is anything else: other rows, other objects in them, subclasses.
    """
    lists: list[list[Any]] = []
    for row in rows:
        if type(row) is np.ndarray and row.dtype == object and row.ndim == 1 and row.flags.aligned:
            lists.append(row.tolist())
        elif type(row) is list:
            lists.append(row)
        else:
            return None
    texts = list(chain.from_iterable(lists))
    if not set(map(type, texts)) <= {str}:
        return None
    found: dict[str, int] = {}
    codes = np.fromiter((found.setdefault(text, len(found)) for text in texts), np.int32, len(texts))
    ends = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(list(map(len, lists)), out=ends[1:])
    return ends, codes, list(found)
