"""Arrow columns of lists of labels, read as codes of the labels they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.reader import Reader, registered
from streameval.kernel.types import Lists

__all__ = ["lists_of_arrow"]


def lists_of_arrow(array: Any, name: str, reader: Reader) -> Lists:
    """The lists of an array or chunked array of lists; may lead to `IGNORED`."""
    chunks = [chunk for chunk in (array.chunks if hasattr(array, "chunks") else [array]) if len(chunk)]
    parts = [_arrow_lists(chunk, name, reader) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.places) for part in parts)])
    offsets = [part.offsets[1:].astype(np.int64) + end for part, end in zip(parts, ends.tolist(), strict=False)]
    found = [part.found() for part in parts]
    return Lists(np.concatenate([[0], *offsets]), np.concatenate([np.zeros(0, np.int64), *found]))


def _arrow_lists(chunk: Any, name: str, reader: Reader) -> Lists:
    """The lists of one chunk, as codes of its labels."""
    bounds = chunk.offsets.to_numpy()
    start, end = int(bounds[0]), int(bounds[-1])
    if start < 0 or end > len(chunk.values) or (bounds[1:] < bounds[:-1]).any():
        raise InputError(f"{name} is damaged: its offsets do not bound lists within its {len(chunk.values)} values")
    values = chunk.values.slice(start, end - start)
    if values.null_count:
        raise InputError(f"{name} holds null labels; drop them first")
    given = str(values.type).startswith("dictionary<")
    try:
        encoded = values if given else values.dictionary_encode()
    except NotImplementedError:
        raise LabelError(f"{name} holds lists of {values.type}; labels are strings or integers") from None
    codes, labels = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    columns = np.zeros(len(labels), np.int64)
    if given and len(codes):
        if codes.min() < 0 or codes.max() >= len(labels):
            raise InputError(f"{name} is damaged: its codes lie outside its dictionary of {len(labels)} labels")
        used = np.flatnonzero(np.bincount(codes.astype(np.int64)))  # a label that no list holds is not there
        columns[used] = registered([labels[code] for code in used.tolist()], name, reader)
    elif not given:
        columns[:] = registered(labels, name, reader)
    return Lists(bounds - bounds[0], np.ascontiguousarray(codes, bounds.dtype), columns)
