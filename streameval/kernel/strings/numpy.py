"""Codes of strings, and columns and scores of mappings, for readers of inputs: the fallback and the oracle.

Arrays are C-contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Any

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray, Places, UInt8Array


def string_codes(offsets: Places, data: UInt8Array) -> tuple[Int32Array, list[str]] | None:
    """The code of each string, in the order of first occurrence, and the string of each code.

    String ``i`` is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8 or `UnicodeDecodeError` is raised. None if the
    offsets, of int32 or int64, do not bound strings within the data.
    """
    if not are_strings(offsets, data):
        return None
    whole, code_of = data.tobytes(), dict[bytes, int]()
    strings = [whole[start:end] for start, end in pairwise(offsets.tolist())]
    codes = np.array([code_of.setdefault(string, len(code_of)) for string in strings], np.int32)
    return codes, [string.decode() for string in code_of]


def are_strings(offsets: Places, data: UInt8Array) -> bool:
    """Whether offsets bound strings within the data."""
    return bool(len(offsets) and offsets[0] >= 0 and offsets[-1] <= len(data) and (offsets[1:] >= offsets[:-1]).all())


def listed_codes(rows: list[Any]) -> tuple[IntArray, Int32Array, list[str]] | None:
    """Offsets of lists of plain strings, the code of each string, the string of each code; None for other entries."""
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


def score_lists(columns: Mapping[Any, int], examples: list[Any]) -> tuple[IntArray, IntArray, FloatArray, bool] | None:
    """Dicts label -> score as lists: their offsets, columns and scores, and whether a label is a string.

    None unless all are dicts, every label is a plain string or integer with a column, and every score is a finite float
    or an int within 2**53.
    """
    if not set(map(type, examples)) <= {dict}:
        return None
    labels: list[Any] = list(chain.from_iterable(examples))
    values: list[Any] = list(chain.from_iterable(map(dict.values, examples)))
    kinds = set(map(type, labels))
    if not kinds <= {str, int} or not set(map(type, values)) <= {float, int}:
        return None
    if not all(type(value) is float or -(2**53) <= value <= 2**53 for value in values):
        return None
    places, scores = np.array([columns.get(label, -1) for label in labels], np.int64), np.array(values, np.float64)
    if places.min(initial=0) < 0 or not np.isfinite(scores).all():
        return None
    return np.cumsum([0, *map(len, examples)], dtype=np.int64), places, scores, str in kinds
