"""One example: label collections, mappings and 0/1 rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.reader import HIDDEN, IGNORED, NAMES, PRED, TRUE, Reader
from streameval.inputs.tensors import array_of
from streameval.inputs.values import decided_bit, decided_block, plain_array
from streameval.schema.batch import Example
from streameval.schema.text import quoted

__all__ = ["COLLECTIONS", "labels_in", "named", "named_entries", "read_one"]

COLLECTIONS = (set, frozenset, list, tuple)


def read_one(y_true: object, y_pred: object, mask: object, weight: float, reader: Reader) -> Example:
    """Check one example and place its cells; may register labels, changes nothing else."""
    cells: dict[int, int] = {}
    reader.begin()
    for given, role in ((y_true, TRUE), (y_pred, PRED), (mask, HIDDEN)):
        if role != HIDDEN or given is not None:
            for column, bits in named_entries(given, role, reader):
                cells[column] = cells.get(column, 0) | bits
    reader.refuse_mixture()
    cells.pop(IGNORED, None)
    return _placed(cells, weight, reader)


def _placed(cells: dict[int, int], weight: float, reader: Reader) -> Example:
    fixed = reader.labels.fixed
    slots = []
    counts = [0, 0, 0, 0, 0]
    for column, bits in cells.items():
        outcome = min(HIDDEN, bits)
        counts[outcome] += 1
        if outcome or column >= fixed:
            slots.append(5 * column + outcome)
    _, false_neg, false_pos, both, masked = counts
    return Example(np.array(slots, np.int64), (false_neg + both, false_pos + both, both, masked), weight)


def named_entries(given: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    """`example_entries`, where an error about a label says which argument holds it."""
    try:
        return example_entries(given, role, reader)
    except LabelError as error:
        raise named(error, role) from None


def named(error: LabelError, role: int) -> LabelError:
    """The same error, which says which argument holds the label."""
    text = str(error)
    return error if text.startswith(NAMES[role]) else LabelError(f"{NAMES[role]}: {text}")


def example_entries(given: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    """One side of one example as (column, bits) pairs, possibly repeated; ignored labels have column `IGNORED`."""
    if isinstance(given, COLLECTIONS):
        return _collection_entries(given, role, reader)
    if hasattr(given, "shape") and hasattr(given, "columns"):  # a data frame, or a row of one kept as a frame
        raise _not_one(given.shape, role)
    if isinstance(given, Mapping):
        return [
            (column, decided_bit(value, label, role, reader))
            for label, value in given.items()
            if (column := reader.column(label)) != IGNORED
        ]
    if isinstance(given, str | bytes):
        raise InputError(f"{NAMES[role]} is the string {quoted(given)}; for one label write {{{quoted(given)}}}")
    if isinstance(given, AbstractSet):
        return _collection_entries(given, role, reader)
    if hasattr(given, "items") and hasattr(given, "iloc"):  # a pandas Series: its index names the labels
        pairs = list(given.items())
        if len(dict(pairs)) < len(pairs):
            names = [label for label, _ in pairs]
            twice = next(label for label in names if names.count(label) > 1)
            raise LabelError(f"{NAMES[role]} has two values for label {quoted(twice)}; name each label once")
        return example_entries(dict(pairs), role, reader)
    if isinstance(given, np.ndarray) or hasattr(given, "__array__"):
        return _row_entries(array_of(given, NAMES[role]), role, reader)
    if given is None:
        raise InputError(f"{NAMES[role]} is None; give the empty set if there is no label")
    raise InputError(
        f"{NAMES[role]} must be a set, list or tuple of labels, a mapping label -> value, or a 1-D 0/1 array, "
        f"not {type(given).__name__} ({quoted(given)})"
    )


def _collection_entries(labels: Iterable[object], role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    try:
        return [(column, role) for column in reader.columns(labels)]
    except TypeError:
        raise LabelError(f"{NAMES[role]} holds a label that cannot be hashed: {quoted(labels)}") from None


def _row_entries(row: np.ndarray[Any, Any], role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    name = NAMES[role]
    if row.ndim != 1:
        raise _not_one(row.shape, role)
    labels = labels_in(row)
    if labels is not None:
        return _collection_entries(labels, role, reader)
    columns = reader.positions(len(row), name)
    thresholds = reader.threshold_row(columns) if role == PRED and reader.reads_scores else 0.0
    bits, hidden = decided_block(plain_array(row, name), role, reader, thresholds)
    entries = bits * np.uint8(role)
    if hidden is not None:
        entries |= hidden * np.uint8(HIDDEN)
    return zip(columns.tolist(), entries.tolist(), strict=True)


def labels_in(row: np.ndarray[Any, Any]) -> list[Any] | None:
    """The labels that a row of texts or objects names; None if it holds decisions in the order of the labels."""
    if row.dtype.kind not in "UO" or row.ndim != 1:
        return None
    values: list[Any] = row.tolist()
    texts = row.dtype.kind == "U" or any(issubclass(kind, str) for kind in set(map(type, values)))
    return values if texts or not values else None


def _not_one(shape: tuple[int, ...], role: int) -> InputError:
    return InputError(
        f"{NAMES[role]} has {len(shape)} dimensions, shape {shape}; update takes one example: for many, use update_many"
    )
