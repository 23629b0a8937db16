"""What a single value, or an array of values, says: true, false, unknown, or nothing that can be understood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.inputs.reader import HIDDEN, NAMES, PRED, TRUE, Reader
from streameval.inputs.tensors import array_of
from streameval.kernel.types import FloatArray, UInt8Array
from streameval.schema.text import number_or_none, quoted

__all__ = ["bound_of", "checked_weight", "checked_weights", "decided", "decided_bit", "decided_block", "plain_array"]

_NUMBERS = (int, float, np.integer, np.floating)


def checked_weight(weight: object) -> float:
    """An example weight as a float64, or `InputError`."""
    number = weight if type(weight) is float else number_or_none(weight)
    if number is None:
        raise InputError(f"weight must be a number, not {quoted(weight)}")
    if not 0.0 <= number < math.inf:
        raise InputError(f"weight must be finite and not negative, not {quoted(weight)}")
    if number != weight:
        raise InputError(f"weight {quoted(weight)} has no exact float64; round it first, so that sums stay exact")
    return number


def checked_weights(weights: object) -> FloatArray:
    """Example weights as a float64 vector, or `InputError`."""
    if isinstance(weights, list | tuple):
        listed = []
        for position, weight in enumerate(weights):
            try:
                listed.append(checked_weight(weight))
            except InputError as error:
                raise InputError(f"weights[{position}]: {error}") from None
        return np.array(listed, np.float64)
    given = np.asarray(array_of(weights, "weights"))
    if given.ndim != 1 or given.dtype.kind not in "iuf" or np.ma.is_masked(weights):
        raise InputError(
            f"weights must be a 1-D array of numbers, one per example, not {quoted(weights)} "
            f"of shape {given.shape} and type {given.dtype}"
        )
    with np.errstate(over="ignore"):
        array = given.astype(np.float64)
    if not (np.isfinite(array) & (array >= 0)).all():
        worst = int(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[0])
        raise InputError(f"weights must be finite and not negative, but weights[{worst}] is {given[worst]}")
    if given.dtype != np.float64 and given.tolist() != array.tolist():
        raise InputError("weights holds numbers that no float64 equals; round them first, so that sums stay exact")
    return array


def decided(value: object, label: object, role: int, reader: Reader, threshold: float | None = None) -> bool | None:
    """What one value says of one cell; None where the truth is unknown. The threshold is by default the label's."""
    if value is True or value is False:
        return value
    if isinstance(value, np.timedelta64):
        value = str(value)  # numpy counts a duration among its integers
    if isinstance(value, np.number | np.bool_):
        value = value.item()
        if isinstance(value, bool):
            return value
    if role == TRUE and (value is None or _is_missing(value)):
        return None
    if isinstance(value, _NUMBERS):
        if value != value:
            if role == TRUE:
                return None
            if role == PRED and reader.reads_scores and reader.drops_nan:
                return False
            raise InputError(f"{NAMES[role]} is NaN for label {quoted(label)}; give a number, or leave the label out")
        if role == PRED and reader.reads_scores:
            if value in (math.inf, -math.inf):
                raise InputError(f"y_pred is infinite for label {quoted(label)}; scores must be finite")
            return bool(value >= (reader.threshold(label) if threshold is None else threshold))
        if value == 0 or value == 1:
            return bool(value)
    raise InputError(
        f"{NAMES[role]} is {quoted(value)} for label {quoted(label)}; {_expected(role, reader.reads_scores)}"
    )


def _is_missing(value: object) -> bool:
    """Whether a value is pandas' missing value, which compares to nothing."""
    return type(value).__name__ in ("NAType", "NaTType")


def decided_bit(value: object, label: object, role: int, reader: Reader) -> int:
    """What one value adds to the bits of its cell."""
    outcome = decided(value, label, role, reader)
    return HIDDEN if outcome is None else role if outcome else 0


def _expected(role: int, scores: bool = False) -> str:
    if role == PRED and not scores:
        return "decisions are 0 or 1; for scores, build with threshold=..."
    if role == PRED:
        return "scores are ints or floats, decisions booleans"
    if role == TRUE:
        return "truth is 0, 1, or None or NaN where unknown"
    return "a mask is 0 or 1"


def plain_array(values: Any, name: str) -> np.ndarray[Any, Any]:
    """An array of booleans, of numbers, or of objects; masked values have become NaN."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.where(np.ma.getmaskarray(values), math.nan, np.ma.getdata(values).astype(np.float64))
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        flat = array.reshape(-1).tolist()
        kinds = set(map(type, flat))
        if kinds <= {bool}:
            return array.astype(np.bool_)
        if kinds == {int} and all(-(2**53) <= value <= 2**53 for value in flat):
            return array.astype(np.int64)
        return array  # read value by value, since a common type could change what they say
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    raise InputError(f"{name} has type {array.dtype}; give booleans or numbers")


def decided_block(
    block: np.ndarray[Any, Any], role: int, reader: Reader, thresholds: float | FloatArray
) -> tuple[UInt8Array, UInt8Array | None]:
    """What the values of an array say: 1 where positive, and 1 where the truth is unknown (None if nowhere)."""
    kind = block.dtype.kind
    if kind == "O":
        return _decided_objects(block, role, reader, thresholds)
    if kind == "b":
        bits = np.ascontiguousarray(block).view(np.uint8)
        return (bits if bits.max(initial=0) <= 1 else (bits != 0).view(np.uint8)), None
    if role == PRED and reader.reads_scores:
        if kind == "f" and not (finite := np.isfinite(block)).all():
            bad = block[~finite & ~(np.isnan(block) & reader.drops_nan)]
            if len(bad):
                raise InputError(f"y_pred holds {bad[0]}; scores must be finite")
        return _at_least(block, thresholds).view(np.uint8), None
    if block.dtype == np.uint8:
        bits = np.ascontiguousarray(block)
        if bits.max(initial=0) > 1:
            raise _not_a_decision(block, role)
        return bits, None
    positive = block == 1
    if np.count_nonzero(positive) + np.count_nonzero(block == 0) == block.size:
        return np.ascontiguousarray(positive).view(np.uint8), None
    if kind == "f" and role == TRUE:
        unknown = np.isnan(block)
        if (positive | unknown | (block == 0)).all():
            return np.ascontiguousarray(positive).view(np.uint8), np.ascontiguousarray(unknown).view(np.uint8)
    raise _not_a_decision(block, role)


def _decided_objects(
    block: np.ndarray[Any, Any], role: int, reader: Reader, thresholds: float | FloatArray
) -> tuple[UInt8Array, UInt8Array | None]:
    bounds = np.broadcast_to(np.asarray(thresholds, np.float64), block.shape)
    outcomes = [
        decided(value, "at this place", role, reader, bound)
        for value, bound in zip(block.reshape(-1).tolist(), bounds.reshape(-1).tolist(), strict=True)
    ]
    bits = np.array([outcome is True for outcome in outcomes], np.bool_).reshape(block.shape)
    hidden = np.array([outcome is None for outcome in outcomes], np.bool_).reshape(block.shape)
    return bits.view(np.uint8), hidden.view(np.uint8) if hidden.any() else None


def _not_a_decision(block: np.ndarray[Any, Any], role: int) -> InputError:
    allowed = (block == 0) | (block == 1)
    if role == TRUE and block.dtype.kind == "f":
        allowed |= np.isnan(block)
    return InputError(f"{NAMES[role]} holds {block[~allowed][0]}; {_expected(role)}")


def _at_least(scores: np.ndarray[Any, Any], thresholds: float | FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """``scores >= thresholds`` as if both were real numbers: no score or threshold is rounded before comparing."""
    bound = bound_of(scores.dtype, thresholds)
    if scores.dtype.kind in "iu" and scores.size and (int(scores.max()) > 2**53 or int(scores.min()) < -(2**53)):
        return np.ascontiguousarray((scores.astype(object) >= bound.astype(object)).astype(np.bool_))
    return np.ascontiguousarray(scores >= bound)


def bound_of(dtype: np.dtype[Any], thresholds: float | FloatArray) -> np.ndarray[Any, Any]:
    """Thresholds in the type of the scores: the smallest number that is not below the threshold decides alike."""
    bound = np.asarray(thresholds, np.float64)
    if dtype.kind != "f" or dtype.itemsize >= 8:
        return bound
    narrow_type = dtype.newbyteorder("=")
    with np.errstate(over="ignore"):
        narrow = bound.astype(narrow_type)
        low = narrow.astype(np.float64) < bound
        return np.asarray(np.where(low, np.nextafter(narrow, narrow_type.type(np.inf)), narrow))
