"""Arrow columns of lists of labels, read as codes of the labels they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.reader import Reader, registered
from streameval.kernel import BACKEND
from streameval.kernel.codes import are_texts, are_views, text_codes, view_codes
from streameval.kernel.types import IntArray, Lists, Places, UInt8Array

__all__ = ["arrow_of_polars", "encoded_texts", "lists_of_arrow", "no_text"]

_OFFSETS: dict[str, Any] = {"string": np.int32, "large_string": np.int64}
"""The types of text that have offsets, and how wide these are."""

_VIEW = 40
"""To get one view from Arrow takes as long as to have it encode so many."""

_NOTHING = np.zeros(0, np.int64)


def arrow_of_polars(frame: Any) -> Any:
    """A data frame or column of polars, or of what is like it, as Arrow; of polars the texts as the views they are."""
    if not type(frame).__module__.startswith("polars."):
        return frame.to_arrow()
    import polars as pl

    return frame.to_arrow(compat_level=pl.CompatLevel.newest())


def lists_of_arrow(array: Any, name: str, reader: Reader) -> Lists:
    """The lists of an array or chunked array of lists; may lead to `IGNORED`."""
    chunks = [chunk for chunk in (array.chunks if hasattr(array, "chunks") else [array]) if len(chunk)]
    read = [_arrow_lists(chunk, name, reader) for chunk in chunks]
    if len(read) == 1:
        return Lists(*read[0])
    entries, labels = (sum(len(part[position]) for part in read) for position in (1, 2))
    kind = np.int32 if max(entries, labels) < 2**31 else np.int64
    offsets, places, leads = [np.zeros(1, kind)], [np.zeros(0, kind)], [_NOTHING]
    entries = labels = 0
    for bounds, codes, columns in read:
        offsets.append((bounds[1:] + kind(entries)).astype(kind, copy=False))
        places.append((codes + kind(labels)).astype(kind, copy=False))
        leads.append(columns)
        entries, labels = entries + len(codes), labels + len(columns)
    return Lists(np.concatenate(offsets), np.concatenate(places), np.concatenate(leads))


def _arrow_lists(chunk: Any, name: str, reader: Reader) -> tuple[Places, Places, IntArray]:
    """The lists of one chunk: where they begin and end, the codes of their labels, and the column of each code."""
    bounds = chunk.offsets.to_numpy()
    start, end = int(bounds[0]), int(bounds[-1])
    if start < 0 or end > len(chunk.values) or (bounds[1:] < bounds[:-1]).any():
        raise InputError(f"{name} is damaged: its offsets do not bound lists within its {len(chunk.values)} values")
    values = chunk.values.slice(start, end - start)
    if values.null_count:
        raise InputError(f"{name} holds null labels; drop them first")
    given = str(values.type).startswith("dictionary<")
    try:
        codes, labels = _given_codes(values) if given else encoded_texts(values, name)
    except NotImplementedError:
        raise LabelError(f"{name} holds lists of {values.type}; labels are strings or integers") from None
    except UnicodeDecodeError as error:  # of a dictionary
        raise no_text(name, error) from None
    columns = np.zeros(len(labels), np.int64)
    if given and len(codes):
        if codes.min() < 0 or codes.max() >= len(labels):
            raise InputError(f"{name} is damaged: its codes lie outside its dictionary of {len(labels)} labels")
        used = np.flatnonzero(np.bincount(codes.astype(np.int64)))  # a label that no list holds is not there
        columns[used] = registered([labels[code] for code in used.tolist()], name, reader)
    elif not given:
        columns[:] = registered(labels, name, reader)
    # Where rows begin is narrowed rather than codes widened, since there are more codes than rows.
    kind: Any = np.int32 if max(end - start, len(labels)) < 2**31 else np.int64
    return (bounds - bounds[0]).astype(kind, copy=False), np.ascontiguousarray(codes, kind), columns


def _given_codes(values: Any) -> tuple[Any, list[Any]]:
    return values.indices.to_numpy(), values.dictionary.to_pylist()


def encoded_texts(values: Any, name: str) -> tuple[Any, list[Any]]:
    """Arrow values without nulls as codes, in the order of first occurrence, and what each code stands for.

    Parameters
    ----------
    values
        An array of a type that Arrow can encode, but not encoded.
    name
        What errors are about.

    Raises
    ------
    InputError
        If texts are damaged: their offsets do not bound texts within their data, or one is not UTF-8.
    NotImplementedError
        If Arrow does not encode this type.
    """
    try:
        return _encoded_texts(values, name)
    except UnicodeDecodeError as error:
        raise no_text(name, error) from None


def _encoded_texts(values: Any, name: str) -> tuple[Any, list[Any]]:
    kind = str(values.type)
    arrays: Any
    codes_of: Any
    are_bounded: Any
    if kind in _OFFSETS:
        arrays, codes_of, are_bounded = _texts(values, _OFFSETS[kind], name), text_codes, are_texts
    elif kind == "string_view":
        arrays, codes_of, are_bounded = _views(values, name), view_codes, are_views
    else:
        return _encoded(values)
    if BACKEND == "numpy":  # whose twins take longer than Arrow
        if not are_bounded(*arrays):
            raise _damaged(name)
        return _encoded(values)
    found = codes_of(*arrays)
    if found is None:
        raise _damaged(name)
    codes, firsts = found
    if kind != "string_view":
        return codes, values.take(firsts).to_pylist()
    if _VIEW * len(firsts) > len(values):  # Arrow can take none of these, and to get them one by one takes long
        return codes, _encoded(values)[1]
    return codes, [values[first].as_py() for first in firsts.tolist()]


def _encoded(values: Any) -> tuple[Any, list[Any]]:
    encoded = values.dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def _texts(values: Any, kind: Any, name: str) -> tuple[Places, UInt8Array]:
    """Where texts begin and end, and the bytes of all, without a copy."""
    _, bounds, data = values.buffers()
    size = np.dtype(kind).itemsize
    if bounds is None or bounds.size < (values.offset + len(values) + 1) * size:
        if len(values):
            raise _damaged(name)
        return np.zeros(1, kind), np.zeros(0, np.uint8)  # where there are no texts there need not be offsets
    offsets = np.frombuffer(bounds, kind, len(values) + 1, values.offset * size)
    return offsets, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)


def _views(values: Any, name: str) -> tuple[UInt8Array, list[UInt8Array]]:
    """The views of texts, and the bytes that they are of, without a copy."""
    _, views, *data = values.buffers()
    if not len(values):
        return np.zeros(0, np.uint8), []
    if views is None or views.size < 16 * (values.offset + len(values)):
        raise _damaged(name)
    held = [np.frombuffer(part, np.uint8) if part.size else np.zeros(0, np.uint8) for part in data]
    return np.frombuffer(views, np.uint8, 16 * len(values), 16 * values.offset), held


def no_text(name: str, error: UnicodeDecodeError) -> InputError:
    """What to say of bytes that should be text."""
    return InputError(f"{name} is damaged: it holds a text that is not UTF-8 ({error})")


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is damaged: the offsets of its texts do not bound texts within its data")
