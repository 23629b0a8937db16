"""Values, one by one and in arrays: which are positive, which are masked, and which are refused."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Set as AbstractSet
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError, option, wording
from streameval.inputs.columns import MASK, PRED, TRUE, Argument
from streameval.kernel.types import FloatArray, IntArray, Lists, ScoreArray, UInt8Array
from streameval.schema.text import number_or_none, python_value, quoted

_NUMBERS = (int, float, np.floating)
_UNQUOTED, _NAN = ": write it without quotes", ', or construct with nan="missing"'
THRESHOLD = "give threshold=0.5", "give --scores, not --predicted, and --threshold 0.5"
_EXPECTED = {
    TRUE: ("truth is 0, 1, or None or NaN where masked", "truth is 0 or 1, or null where masked"),
    PRED: tuple(f"binary predictions are 0 or 1; for scores {advice}" for advice in THRESHOLD),
    MASK: ("a mask is 0 or 1",) * 2,
}
_POSITIVES = {"0": "1", "0.0": "1.0", "n": "y", "N": "Y", "no": "yes", "No": "Yes", "NO": "YES"}
_POSITIVES |= {"false": "true", "False": "True", "FALSE": "TRUE"}


def checked_weight(weight: object) -> float:
    """An example weight as a float64, or `InputError`."""
    exact: Any = weight if type(weight) is float else score_value(weight)
    number = exact if type(exact) is float else number_or_none(exact)
    if number is None:
        raise InputError(f"weight must be an integer or a float, not {quoted(weight)}")
    if not 0.0 <= number < math.inf:
        raise InputError(f"weight must be finite and not negative, not {quoted(weight)}")
    if number != exact:
        raise InputError(f"weight {quoted(weight)} has no exact float64; round it first, so that sums stay exact")
    return number


def checked_weights(weights: object) -> FloatArray:
    """Example weights as a float64 vector, or `InputError`."""
    numbers: Any = weights
    if not isinstance(weights, list | tuple):
        array = np.asarray(array_of(weights, "weights"))
        if array.ndim != 1 or array.dtype.kind not in "iufO" or np.ma.is_masked(weights):
            raise InputError(
                f"weights has shape {array.shape} and type {array.dtype}; give a 1-D array of numbers, one per example "
                f"(not per cell){_weights_in(weights, array)}"
            )
        if array.dtype.kind != "O":
            with np.errstate(over="ignore"):
                exact = array.astype(np.float64)
            equal = array.dtype == np.float64 or array.tolist() == exact.tolist()
            if equal and (np.isfinite(exact) & (exact >= 0)).all():
                return exact
        numbers = array.tolist()
    checked = np.zeros(len(numbers))
    for position, weight in enumerate(numbers):
        try:
            checked[position] = checked_weight(weight)
        except InputError as error:
            raise InputError(f"weights[{position}]: {error}") from None
    return checked


def _weights_in(weights: object, array: np.ndarray[Any, Any]) -> str:
    """What to write for the weights that an object holds; ``array`` is what numpy makes of it."""
    kind, way = array.dtype.kind, ""
    if isinstance(weights, Mapping | Iterator):
        way = "list(weights.values())" if isinstance(weights, Mapping) else "list(weights)"
    elif array.ndim == 0:
        way = "[weight] * n" * (kind in "iuf")
    elif array.ndim == 1:
        way = {"U": "[*map(float, weights)]", "b": "weights.astype(int)"}.get(kind, "")
    elif array.ndim == 2 and 1 in array.shape:
        way = "np.ravel(weights)"
    return f"; write {way}" if way else ", none of them masked" * bool(np.ma.is_masked(weights))


def score_value(value: Any) -> Any:
    """As `python_value`, but a decimal becomes an integer if it is one that no float64 equals, else a float64."""
    value = python_value(value)
    if type(value).__name__ != "Decimal" or value.is_snan():  # importing its class takes time
        return value
    number = float(value)
    return int(value) if number != value == value.to_integral_value() and math.isfinite(number) else number


def is_nothing(value: object) -> bool:
    """Whether a value is None, or NA or NaT of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_missing(example: object) -> bool:
    """Whether an example is missing: None, NA, NaT or NaN, as Arrow, pandas and polars write it."""
    return is_nothing(example) or (isinstance(example, float) and example != example)


def bit_of(value: object, label: object, argument: Argument, mapped: bool = False) -> int:
    """The bits that one value, of a mapping or of an array, sets in its cell."""
    role, compared = argument.role, argument.compared
    value = value if type(value) is bool else score_value(value)
    if isinstance(value, bool):
        return role if value else 0
    if is_nothing(value) or (isinstance(value, _NUMBERS) and value != value):
        if role == TRUE:
            return MASK
        if compared and argument.reader.drops_nan:
            return 0
    if is_nothing(value):
        raise _nothing(value, label, argument)
    if isinstance(value, _NUMBERS):
        if compared:
            if value - value != 0:
                raise _not_finite(value, label, argument)
            return role if value >= argument.reader.threshold(label) else 0
        if value == 0 or value == 1:
            return role if value else 0
    expected = "scores are ints or floats, binary predictions booleans" if compared else wording(*_EXPECTED[role])
    raise _wrong(quoted(value), label, f"{expected}{_advice_about(value, argument, mapped)}", argument)


PIPELINES: dict[Any, str] = {
    "label": "if each is a label with its score, wrap each in a list: [{{'label': {0}, 'score': ...}}]",
    **dict.fromkeys(
        ("labels", "sequence"), "of each give its 'labels', or for scores dict(zip(each['labels'], each['scores']))"
    ),
}
"""What to write for the predictions of pipelines of Hugging Face, by a key that these have."""


def _wrong(value: str, label: object, advice: str, argument: Argument) -> InputError:
    if label in PIPELINES and value[0] in "'\"[" and argument.role == PRED:
        advice = wording(PIPELINES[label].format(value), "for scores write an object label: number")
    known = "" if label is None else f" for label {quoted(label)}"
    return InputError(f"{argument.place} is {value}{known}; {advice}")


def _nothing(value: object, label: object, argument: Argument) -> InputError:
    missing = wording(_NAN, ", or skip the row with --skip-bad")
    advice = f"give a number, or leave the label out{missing if argument.compared or argument.scored else ''}"
    return _wrong(wording(quoted(value), "null"), label, advice, argument)


def _not_finite(value: Any, label: object, argument: Argument) -> InputError:
    missing = wording(_NAN, "; leave the label out, or skip the row with --skip-bad")
    return _wrong(quoted(value), label, f"scores must be finite{missing if value != value else ''}", argument)


def _advice_about(value: Any, argument: Argument, mapped: bool = False) -> str:
    role, indicators = argument.role, argument.rows == "indicator"
    labels = f"leave {option('rows', 'indicator')} out" if indicators else ""
    if isinstance(value, str | bytes):
        if (argument.compared or argument.scored) and _is_number(value):
            return wording(": convert strings, with float(value) or .astype(float)", _UNQUOTED)
        text, mark = (value, "") if isinstance(value, str) else (value.decode("latin-1"), "b")
        if not argument.scored and (positive := _POSITIVES.get(text, text)) in _POSITIVES.values():
            way = f": convert strings, with value == {mark}{positive!r}{' or .astype(int)' * positive.isdigit()}"
            return wording(way, _UNQUOTED)
        return f": for labels {labels or 'give lists'}, and leave out columns that are no labels"
    if isinstance(value, list | tuple | AbstractSet):
        if str in map(type, value):
            return ": for labels give the list alone"
        return "" if argument.many else ": for many examples use update_many"
    number, listed = number_or_none(value), not mapped and not argument.width and (argument.many or indicators)
    y = "value" if mapped else "y"
    array = wording(f", with y = numpy.array([*{argument.name}], float)" * listed, "")
    positive, each = f"give {y} > 0", f"[row.tolist() for row in {argument.name}]" if listed else "y.tolist()"
    positive, each = wording(positive, "write 0 and 1"), wording(f"give {each}", "write lists of them")
    if number in (-1, -100):
        masked = "give None" if mapped else f"give numpy.where(y == {number:g}, numpy.nan, y)"
        masked = f"where {number:g} is masked {wording(masked, 'write null')}" if role == TRUE else ""
        ways = {TRUE: f"where -1 is false {positive}, ", PRED: f"for -1 and 1 {positive}"} if number == -1 else {}
        return f": {way}{array}" if (way := ways.get(role, "") + masked) else ""
    if number is not None and number % 1 == 0:
        other = f", where labels {labels or each}" * (not mapped and isinstance(value, int | np.integer))
        return f": where integers are counts {positive}{other}{array}; leave out columns that are no labels"
    swapped = f": are {wording('y_true and y_pred', '--actual and --predicted')} swapped?"
    gap = ", else 0 for what is not predicted" * (role == PRED and number != number)
    return swapped if role == TRUE and isinstance(value, float | np.floating) else gap


def _is_number(string: str | bytes) -> bool:
    try:
        float(string)
    except ValueError:
        return False
    return True


def plain_array(values: Any, name: str) -> np.ndarray[Any, Any]:
    """The values as an array of booleans, numbers or objects; masked values become NaN."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.names is None and np.ma.is_masked(values):
        present, data = values.compressed(), np.ma.getdata(values)
        holds = data.dtype.kind in "biuf" and data.dtype.itemsize <= 8 and not _is_big(present)
        return np.where(np.ma.getmaskarray(values), math.nan, data.astype(np.float64 if holds else object))
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        flat = array.reshape(-1).tolist()
        kinds = set(map(type, flat))
        if kinds <= {bool}:
            return array.astype(np.bool_)
        if kinds == {float}:
            return array.astype(np.float64)
        if kinds == {int} and min(flat) >= -(2**53) and max(flat) <= 2**53:
            return array.astype(np.int64)
        return array  # read value by value, since a common type could change some
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    first = str(array.flat[0]) if array.size else "1"
    number, word = "int" if first in "01" else "float", _POSITIVES.get(first, first)
    word = repr(word) if word in _POSITIVES.values() else "word, where word means true"
    way = f".astype({number})" if _is_number(first) else f" == {word}"
    strings = f"for labels give {name}.tolist(), for indicators or scores {name}{way}"
    advice = {"S": "write .astype(str)", "U": strings, "T": strings}.get(array.dtype.kind, "give booleans or numbers")
    raise InputError(f"{name} has type {array.dtype}; {advice}")


def _is_big(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds integers beyond those that float64 holds exactly."""
    kind, size = array.dtype.kind, array.size
    return kind in "iu" and size > 0 and (int(array.max()) > 2**53 or int(array.min()) < -(2**53))


Places: TypeAlias = Callable[[int], tuple[int, int]]
"""The position of the example and the column of each value of a flat array."""


def places_of(columns: IntArray, start: int) -> Places:
    """The places of the values of rows with these columns; the first row is the example ``start``."""
    return lambda index: (start + index // len(columns), int(columns[index % len(columns)]))


def places_in(lists: Lists, start: int) -> Places:
    """The places of the entries of lists; the first list is of the example ``start``."""
    return lambda index: (
        start + int(np.searchsorted(lists.offsets, index, "right")) - 1, int(lists.flat()[index])
    )  # fmt: skip


def refusal(
    values: Any, wrong: np.ndarray[Any, Any], argument: Argument, places: Places, advice: str = ""
) -> InputError:
    """The error about the first wrong value; without ``advice``: not finite. A column below 0 has no label."""
    index = int(np.flatnonzero(wrong)[0])
    argument.position, column = places(index)
    value, label = python_value(values.flat[index]), argument.reader.labels.labels[column] if column >= 0 else None
    return _wrong(quoted(value), label, advice, argument) if advice else _not_finite(value, label, argument)


def _each(
    block: np.ndarray[Any, Any], argument: Argument, places: Places, read: Callable[[Any, Any, Argument], Any]
) -> list[Any]:
    """The result of ``read`` for each value of an array of objects and its label, None if the label is not known."""
    cells, labels = list[Any](), argument.reader.labels.labels
    for index, value in enumerate(block.reshape(-1).tolist()):
        argument.position, column = places(index)
        cells.append(read(value, labels[column] if column >= 0 else None, argument))
    argument.position = None
    return cells


def binarize(
    block: np.ndarray[Any, Any], argument: Argument, thresholds: Any, places: Places
) -> tuple[UInt8Array, UInt8Array | None]:
    """1 where the values of an array are positive, and 1 where masked (None if nowhere)."""
    kind = block.dtype.kind
    if kind == "O":
        bits = np.array(_each(block, argument, places, bit_of), np.uint8).reshape(block.shape)
        positive = (bits == argument.role).astype(np.uint8)
        masked = (bits == MASK).astype(np.uint8) & ~positive
        return positive, masked if masked.any() else None
    if kind == "b":
        bits = np.ascontiguousarray(block).view(np.uint8)
        return (bits if bits.max(initial=0) <= 1 else (bits != 0).view(np.uint8)), None
    if argument.compared:
        if kind == "f" and not (finite := np.isfinite(block)).all():
            wrong = ~finite & ~(np.isnan(block) & argument.reader.drops_nan)
            if wrong.any():
                raise refusal(block, wrong, argument, places)
        return np.ascontiguousarray(reached(block, thresholds), np.bool_).view(np.uint8), None
    if block.dtype == np.uint8 and block.max(initial=0) <= 1:
        return np.ascontiguousarray(block, np.uint8), None
    ones = np.ascontiguousarray(block == 1)
    if np.count_nonzero(ones) + np.count_nonzero(block == 0) == block.size:
        return ones.view(np.uint8), None
    missing = np.ascontiguousarray(np.isnan(block) & (argument.role == TRUE))
    allowed = ones | missing | (block == 0)
    if not allowed.all():
        advice = _advice_about(block[~allowed][0], argument)
        raise refusal(block, ~allowed, argument, places, f"{wording(*_EXPECTED[argument.role])}{advice}")
    return ones.view(np.uint8), missing.view(np.uint8)


def reached(block: np.ndarray[Any, Any], thresholds: float | FloatArray) -> np.ndarray[Any, Any]:
    """Where scores are at or above their threshold. Neither is rounded before they are compared."""
    bound = bound_of(block.dtype, thresholds)
    result: np.ndarray[Any, Any] = block.astype(object) >= bound.astype(object) if _is_big(block) else block >= bound
    return result


def bound_of(dtype: np.dtype[Any], thresholds: float | FloatArray) -> np.ndarray[Any, Any]:
    """Thresholds in the type of the scores, rounded up, which changes no comparison with a score of that type."""
    bound = np.asarray(thresholds, np.float64)
    if dtype.kind != "f" or dtype.itemsize >= 8:
        return bound
    narrow_type = dtype.newbyteorder("=")
    with np.errstate(over="ignore"):
        narrow = bound.astype(narrow_type)
        np.nextafter(narrow, narrow_type.type(np.inf), out=narrow, where=narrow < bound)
    return narrow


def score_of(value: object, label: object, argument: Argument) -> float:
    """A score as a float64, NaN where it is missing."""
    value = score_value(value)
    if isinstance(value, bool):
        raise no_scores({label: value})
    number = math.nan if is_nothing(value) else number_or_none(value)
    if number is None:
        raise _wrong(quoted(value), label, f"scores are numbers{_advice_about(value, argument)}", argument)
    if math.isnan(number):
        if argument.reader.drops_nan:
            return number
        raise _nothing(value, label, argument) if is_nothing(value) else _not_finite(value, label, argument)
    if number != value:
        raise _wrong(quoted(value), label, "no float64 equals it: round it first", argument)
    if math.isinf(number):
        raise _not_finite(value, label, argument)
    return number


def checked_scores(
    values: Any, argument: Argument, places: Places, *, compared: bool = False
) -> tuple[ScoreArray, UInt8Array | None]:
    """Scores as float32 or float64, and 1 where one is missing; with ``compared`` they are checked later."""
    array = plain_array(values, "y_pred")
    kind = array.dtype.kind
    if kind == "b" and array.size:
        raise no_scores(array.dtype)
    if kind == "O" or _is_big(array) or array.dtype.itemsize > 8:  # may not fit float64
        array = np.array(_each(array, argument, places, score_of), np.float64).reshape(array.shape)
    narrow = kind == "f" and array.dtype.itemsize <= 4
    # A copy, because states read it one after the other, and another thread may change the array meanwhile.
    scores: ScoreArray = np.array(array, np.float32 if narrow else np.float64, order="C")  # type: ignore[assignment]  # one of the two
    if compared or (finite := np.isfinite(scores)).all():
        return scores, None
    missing = np.isnan(scores)
    wrong = ~finite & ~(missing & argument.reader.drops_nan)
    if wrong.any():
        raise refusal(scores, wrong, argument, places)
    return np.where(missing, scores.dtype.type(0), scores), missing.view(np.uint8)


def no_scores(value: object) -> InputError:
    """The error about binary predictions where scores are needed."""
    needed = "but rankings and curves need scores; give numbers, or for rankings alone ranked lists"
    return InputError(f"y_pred holds binary predictions ({quoted(value)}), {needed}")


def conversion(value: object, name: str) -> str:
    """What to write for an object that cannot be read, but has a method that converts it."""
    methods = ("to_list", "df", "todense", "toArray", "toPandas", "compute", "collect", "model_dump", "_asdict")
    return next((f"; write {name}.{method}()" for method in methods if hasattr(value, method)), "")


def array_of(value: object, name: str) -> np.ndarray[Any, Any]:
    """The values of an object with ``__array__``, in main memory; of a tensor without its gradient."""
    tensor: Any = value
    if not (hasattr(type(value), "detach") and hasattr(type(value), "numpy")):  # tensors of torch have both
        try:
            return np.asanyarray(value)
        except BaseException as error:  # such as rows of different lengths, or 128-bit integers
            of_polars = type(error).__module__.startswith(("polars", "pyo3_runtime"))  # old ones panic
            if not (of_polars or isinstance(error, RuntimeError | TypeError | ValueError)):
                raise
            raise InputError(f"{name} cannot be read as an array: {error}{conversion(value, name)}") from None
    device = getattr(tensor, "device", "cpu")
    if getattr(device, "type", str(device)) == "meta":
        raise InputError(f"{name} is a tensor on {device}, which has no values")
    if getattr(tensor, "is_nested", False):
        raise InputError(
            f"{name} is a nested tensor; write {name}.unbind(), and of each part .tolist() where it holds labels"
        )
    layout = str(getattr(tensor, "layout", "strided"))
    if not layout.endswith("strided"):
        raise InputError(f"{name} is a tensor of layout {layout}; write {name}.to_dense()")
    tensor = tensor.detach()
    if getattr(device, "type", str(device)) != "cpu":
        tensor = tensor.cpu()
    try:  # float32 holds every value of the types that numpy lacks
        rare = str(tensor.dtype).rpartition(".")[2].startswith(("bfloat", "float8", "float4"))
        return np.asarray((tensor.float() if rare else tensor).numpy())
    except (RuntimeError, TypeError) as error:  # such as one of quantized numbers, or nested
        raise InputError(f"{name} is a tensor that cannot be read: {error}; give one of booleans or numbers") from None


def array_within(value: object) -> object:
    """A tensor of torch in main memory as an array, without a copy; any other value as it is."""
    if type(value) is np.ndarray or type(value) is not getattr(sys.modules.get("torch"), "Tensor", None):
        return value
    tensor: Any = value
    try:
        return (tensor.detach() if tensor.requires_grad else tensor).numpy()
    except (RuntimeError, TypeError):  # `array_of` explains it
        return value
