"""One example: label collections, mappings and 0/1 rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from streameval.batch import Example
from streameval.errors import InputError, LabelError, shown
from streameval.inputs.reader import HIDDEN, IGNORED, NAMES, PRED, TRUE, Reader
from streameval.inputs.values import decided_bit, decided_block, plain_array

__all__ = ["COLLECTIONS", "example_entries", "read_one"]

COLLECTIONS = (set, frozenset, list, tuple)


def read_one(y_true: object, y_pred: object, mask: object, weight: float, reader: Reader) -> Example:
    """Check one example and place its cells; may register labels, changes nothing else."""
    if type(y_true) is dict and type(y_pred) is dict and mask is None and not reader.reads_scores:
        example = _read_dicts(y_true, y_pred, weight, reader)
        if example is not None:
            return example
    cells: dict[int, int] = {}
    reader.begin()
    for given, role in ((y_true, TRUE), (y_pred, PRED), (mask, HIDDEN)):
        if role != HIDDEN or given is not None:
            for column, bits in example_entries(given, role, reader):
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
    return Example(slots, (false_neg + both, false_pos + both, both, masked), weight)


_ALLOWED = b"\0\1"


def _read_dicts(y_true: dict[object, Any], y_pred: dict[object, Any], weight: float, reader: Reader) -> Example | None:
    """The commonest form, and the one River uses: both sides name the same labels, every value is 0 or 1.

    Outcomes are computed for all labels at once, as the digits of two integers in base 256. None if it does not apply.
    """
    labels = tuple(y_true)
    if tuple(y_pred) == labels:
        guesses = y_pred.values()
    elif y_pred.keys() == y_true.keys():
        guesses = map(y_pred.__getitem__, labels)  # type: ignore[assignment]
    else:
        return None
    try:
        true, pred = bytes(y_true.values()), bytes(guesses)
    except (TypeError, ValueError):
        return None
    if true.translate(None, _ALLOWED) or pred.translate(None, _ALLOWED):
        return None
    first = reader.first_slots(labels)
    if first is None:
        return None
    both = int.from_bytes(true, "little") + 2 * int.from_bytes(pred, "little")
    outcomes = both.to_bytes(len(labels), "little")
    hits = outcomes.count(3)
    key = (hits + outcomes.count(1), hits + outcomes.count(2), hits, 0)
    offsets = np.frombuffer(outcomes, np.uint8)
    slots = first + offsets
    fixed = reader.labels.fixed
    if fixed:
        slots = slots[(offsets != 0) | (first >= 5 * fixed)]
    return Example(slots, key, weight)


def example_entries(given: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    """One side of one example as (column, bits) pairs, possibly repeated; ignored labels have column `IGNORED`."""
    if isinstance(given, COLLECTIONS):
        return _collection_entries(given, role, reader)
    if isinstance(given, Mapping):
        return [(reader.column(label), decided_bit(value, label, role, reader)) for label, value in given.items()]
    if isinstance(given, str | bytes):
        raise InputError(f"{NAMES[role]} is the string {shown(given)}; for one label write {{{shown(given)}}}")
    if isinstance(given, AbstractSet):
        return _collection_entries(given, role, reader)
    if hasattr(given, "items") and hasattr(given, "iloc"):  # a pandas Series: its index names the labels
        return example_entries(dict(given.items()), role, reader)
    if isinstance(given, np.ndarray) or hasattr(given, "__array__"):
        return _row_entries(np.asanyarray(given), role, reader)
    if given is None:
        raise InputError(f"{NAMES[role]} is None; give the empty set if there is no label")
    raise InputError(
        f"{NAMES[role]} must be a set, list or tuple of labels, a mapping label -> value, or a 1-D 0/1 array, "
        f"not {type(given).__name__} ({shown(given)})"
    )


def _collection_entries(labels: Iterable[object], role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    try:
        return [(column, role) for column in reader.columns(labels)]
    except TypeError:
        raise LabelError(f"{NAMES[role]} holds a label that cannot be hashed: {shown(labels)}") from None


def _row_entries(row: np.ndarray[Any, Any], role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    name = NAMES[role]
    if row.ndim != 1:
        raise InputError(
            f"{name} has {row.ndim} dimensions, shape {row.shape}; update takes one example: for many, use update_many"
        )
    if row.dtype.kind == "U" or (row.dtype.kind == "O" and any(isinstance(value, str) for value in row.tolist())):
        return _collection_entries(row.tolist(), role, reader)
    columns = reader.positions(len(row), name)
    thresholds = reader.threshold_row(columns) if role == PRED and reader.reads_scores else 0.0
    bits, hidden = decided_block(plain_array(row, name), role, reader, thresholds)
    entries = bits * np.uint8(role)
    if hidden is not None:
        entries |= hidden * np.uint8(HIDDEN)
    return zip(columns.tolist(), entries.tolist(), strict=True)
