"""One reader for each form of many examples. Each yields arrays, piece by piece."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from streameval.errors import InputError, LabelError, option, public, wording
from streameval.inputs.arrow import arrow_of, bits_of_columns, lists_of_arrow, rows_of_arrow
from streameval.inputs.columns import IGNORED, Argument
from streameval.inputs.examples import columns_among, examples_of, one_array, string_lists
from streameval.inputs.forms import Form, are_numbered, columns_of, enter, form_of
from streameval.inputs.lists import ROWS, of_arrow
from streameval.inputs.pieces import Columns, Piece, Source, bit_rows, booleans, filtered, matrix_piece, unignored
from streameval.inputs.sparse import sparse_source
from streameval.inputs.values import array_of, checked_scores, conversion, plain_array
from streameval.kernel.types import BitRows, IntArray, Lists
from streameval.schema.batch import offsets_of, part_of
from streameval.schema.input_notes import FEW
from streameval.schema.keywords import explain_methods
from streameval.schema.text import number_of, quoted


def source_of(value: object, form: Form, argument: Argument) -> Source:
    return _SOURCES.get(form, _refuse)(value, argument)


def _refuse(value: object, argument: Argument) -> Source:
    forms = "a matrix, a column of lists or an iterable of examples"
    raise InputError(f"{argument.name} must be {forms}, not {quoted(value)}{conversion(value, argument.name)}")


def _refuse_one(value: object, argument: Argument) -> Source:
    name, many = argument.name, "for many give a list of them"
    if isinstance(value, Mapping):
        many = f"for examples by key give list({name}.values()), for columns pd.DataFrame({name})"
        many = f"for the output of a model give {name}['logits']" if "logits" in value else many
    elif isinstance(value, str):
        many = "for a file evaluate_table"
    one = f"{name} must be many examples in order, not one {type(value).__name__}"
    raise InputError(f"{one}; for one example use update, {many}")


# -- matrices ---------------------------------------------------------------------------------------------------------


def _array(value: object, argument: Argument) -> Source:
    array = array_of(value, argument.name)
    if array.ndim == 2:
        if array.dtype.kind == "O" and array.size and isinstance(np.ma.getdata(array).flat[0], str | bytes):
            array = array.astype(type(np.ma.getdata(array).flat[0]))  # strings are refused later
        return _matrix(array, argument)
    if array.ndim == 1 and (array.dtype.kind == "O" or array.dtype.names is not None):
        return examples_of(list(array), argument)
    raise _no_matrix(array, argument.name)


def _no_matrix(array: np.ndarray[Any, Any], name: str) -> InputError:
    advice = f"for one example use update, for one label {name}[:, None]"
    if array.ndim == 1:
        advice += f", for one class per example [[c] for c in {name}]" * (name != "mask")
    elif array.ndim == 3:
        advice = f"give {name}.reshape(-1, {array.shape[1] if array.shape[2] == 1 else array.shape[2]})"
        if name == "y_pred" and 2 in array.shape[1:]:  # models predict such pairs for each label
            pair = "..., 1], with .T where labels come first" if array.shape[2] == 2 else ":, 1]"
            pairs = f"for pairs of no and yes give {name}[{pair}"
            advice = pairs if array.shape[2] == 2 < array.shape[1] else f"{advice}; {pairs}"
    shape = f"{name} has shape {array.shape} and type {array.dtype}"
    return InputError(f"{shape}; a batch is a 2-D array, examples x labels: {advice}")


def _matrix(rows: np.ndarray[Any, Any] | BitRows, argument: Argument, columns: IntArray | None = None) -> Source:
    """Rows of an array or of bits; ``columns`` is None if their columns have no names."""
    argument.width = rows.columns if isinstance(rows, BitRows) else rows.shape[1]
    columns = argument.columns(argument.width) if columns is None else columns
    ignores = argument.reader.config.unknown == "ignore" and bool((columns == IGNORED).any())
    if isinstance(rows, BitRows) and (argument.scored or ignores):
        rows = booleans(rows, argument.at)
    values = rows if isinstance(rows, BitRows) or argument.scored else plain_array(rows, argument.name)
    if argument.sample is not None:
        first = booleans(values.part(slice(FEW)), argument.at) if isinstance(values, BitRows) else values[:FEW]
        argument.sample.add_rows(argument.names(columns), first[:, :_WIDE])
    if ignores and not isinstance(values, BitRows):
        values, columns = values[:, columns != IGNORED], columns[columns != IGNORED]

    def piece(start: int, stop: int) -> Piece:
        part = values.part(slice(start, stop)) if isinstance(values, BitRows) else values[start:stop]
        return matrix_piece(part, columns, argument, start)

    return Source(values.examples if isinstance(values, BitRows) else len(values), len(columns), piece)


def _frame(frame: Any, argument: Argument) -> Source:
    form = form_of(frame)
    names = columns_of(frame, form)
    if len(names) == 1 and len(frame):
        first = frame.column(0)[0].as_py() if form == "table" else next(iter(frame[names[0]]))
        if not isinstance(first, str | bytes) and isinstance(first, Collection):
            column = f"{argument.name}[{quoted(names[0])}]"
            raise InputError(f"{argument.name} is a frame of one column of lists; give the column, {column}")
    if float in set(map(type, names)):
        kind = "int" if all(type(name) is float and name.is_integer() for name in names) else "str"
        floats = f"{argument.name} has columns named by floats, {quoted(names)}"
        raise LabelError(f"{floats}; write {argument.name}.rename(columns={kind})")
    if are_numbered(names):
        argument.reader.integers = argument.name
    argument.frames = [names]
    columns = columns_among(names, (), argument)
    for column, times in Counter(columns.tolist()).items():
        if times > 1 and column != IGNORED:
            label = names[int(np.flatnonzero(columns == column)[1])]
            raise LabelError(f"{argument.name} has two columns named {quoted(label)}; name each label once")
    if form == "frame":
        types = frame.dtypes if hasattr(frame, "dtypes") else frame.schema.values()  # narwhals has only a schema
        kinds, numeric = {str(kind).lower() for kind in types}, argument.scored or argument.compared
        if (numeric and len(kinds) > 1) or any(kind.startswith(("int128", "categor")) for kind in kinds):
            # A common type would round integers and turn booleans into scores; numpy has no 128-bit integers. Pandas
            # turns categories that differ into booleans or integers, and a missing value into another one of these.
            values = np.stack([np.array(frame[name].to_list(), object) for name in names], axis=1)
        else:
            values = np.asarray(frame.to_numpy())
    else:
        parts = [frame.column(position) for position in range(len(names))]
        if parts and all(part.type == "bool" and not part.null_count for part in parts):
            return _matrix(bits_of_columns(parts), argument, columns)
        parts = [*map(_plain, parts)]
        if len({part.dtype for part in parts}) > 1:
            parts = [part.astype(object) for part in parts]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0), np.uint8)
    return _matrix(values, argument, columns)


def _plain(column: Any) -> np.ndarray[Any, Any]:
    plain = not column.null_count and str(column.type).startswith(("int", "uint", "float", "double"))
    return column.to_numpy() if plain else np.asarray(column.to_pylist(), object)


# -- rows of bits -----------------------------------------------------------------------------------------------------


@public
@explain_methods
@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of indicators as bits, as `numpy.packbits` makes them: an eighth of the memory of bytes.

    Attributes
    ----------
    bits
        Bytes, shape (examples, bytes of a row), from ``np.packbits(rows, axis=1)``; for one example also 1-D.
    n_labels
        How many labels a row has, in the order of the declared labels. The bits after them must be 0.
    bitorder
        The order of the packed bits: ``"big"``, or ``"little"`` if the first label is the lowest bit of a byte.
    """

    bits: object
    n_labels: int
    bitorder: Literal["big", "little"] = "big"


# -- columns of lists -------------------------------------------------------------------------------------------------


def _lists(lists: Lists, argument: Argument) -> Source:
    if argument.sample is not None:
        first, _ = part_of(lists, 0, min(FEW, len(lists.offsets) - 1))
        for row in np.split(first.flat(), first.offsets[1:-1]):
            argument.sample.add_example(argument.names(np.asarray(row, np.int64)))

    def piece(start: int, stop: int) -> Piece:
        part, _ = part_of(lists, start, stop)
        return Columns(len(part.offsets) - 1, part)

    return Source(len(lists.offsets) - 1, 0, piece)


_WIDE = 1000  # how many cells of a row are noted
_VALUES = ("bool", "halffloat", "float", "double")  # types that are no labels, so lists of them are rows


def _arrow(array: Any, argument: Argument) -> Source:
    if hasattr(array.type, "storage_type") and len(getattr(array.type, "shape", "1")) == 1:  # e.g. rows of tensors
        array = array.cast(array.type.storage_type)
    name, kind, nulls = argument.name, str(array.type), array.null_count
    if nulls and argument.null == "error":
        advice = f"drop those rows, or give {option('null', 'empty')}, if they are rows without labels"
        raise InputError(f"{name} holds {number_of(nulls, 'null')}; {advice}")
    if kind.startswith("struct<") and not nulls:
        import pyarrow as pa

        return _frame(pa.table(array.flatten(), [field.name for field in array.type]), argument)
    values = str(getattr(array.type, "value_type", ""))
    if values in _VALUES and not nulls and (rows := rows_of_arrow(array)) is not None:
        return _matrix(rows, argument)
    no_labels = "list" not in kind.partition("<")[0] or values.startswith((*_VALUES, "struct<", "decimal"))
    if no_labels or argument.scored or argument.rows == "indicator":
        return examples_of([of_arrow(example, array.type, name) for example in array.to_pylist()], argument)
    if kind.startswith("fixed") and values.startswith(("int", "uint")) and argument.rows is None:
        both = "which may be indicators or the labels themselves"
        raise InputError(f"{name} holds {kind}, {both}; {wording(*ROWS).format('', '')}")
    return _lists(unignored(lists_of_arrow(array, argument)), argument)


def _list(examples: Any, argument: Argument) -> Source:
    first: Any = examples[0] if examples else None
    if getattr(first, "is_nested", False):  # nested tensors have no shape
        array_of(first, argument.at(0))
    shape = getattr(first, "shape", ())  # groups of pandas have none
    if argument.many and getattr(first, "ndim", 0) == 2 and shape[:1] not in ((), (1,)):
        name, advice = argument.name, one_array(argument.name, first)
        ways = {1: f"np.concatenate({name}, axis=1)", 2: f"np.stack([p[:, 1] for p in {name}], axis=1)"}
        if any(getattr(each, "shape", shape) != shape for each in examples):  # in training, a label had one class
            ways = dict.fromkeys(ways, f"np.stack([p @ (c == 1) for p, c in zip({name}, model.classes_)], axis=1)")
        if way := ways.get(first.shape[1]):
            advice = f"if these are of predict_proba of scikit-learn, one for each label, give {way}"
        arrays = f"{number_of(len(examples), 'array')} of shape {tuple(first.shape)}"
        raise InputError(f"{name} is a list of {arrays}; {advice}")
    return _strings(examples, argument)


def _strings(examples: Any, argument: Argument) -> Source:
    """Lists of strings, read at once; anything else is read piece by piece."""
    coded = type(examples) is list and not argument.scored
    lists = string_lists(examples, argument) if coded else None
    return examples_of(examples, argument) if lists is None else _lists(lists, argument)


def _polars(series: Any, argument: Argument) -> Source:
    column = arrow_of(series)
    return examples_of(series.to_list(), argument) if column is None else _arrow(column, argument)


def _awkward(array: Any, argument: Argument) -> Source:
    # Rows are those of a matrix only if their type says so: lists may have one length by chance.
    is_matrix = re.fullmatch(r"\d+ \* \d+ \* \w+", array.typestr)
    return _array(array, argument) if is_matrix else _list(array.to_list(), argument)


def _series(series: Any, argument: Argument) -> Source:
    if str(series.dtype).endswith("[pyarrow]"):
        return _arrow(series.array.__arrow_array__(), argument)
    return examples_of(series.to_list(), argument) if argument.scored else _strings(lists_in(series), argument)


def lists_in(series: Any) -> list[Any]:
    """The values of a Series of pandas; arrays, which pandas makes of the lists in files, become lists again."""
    values = series.tolist() if hasattr(series, "tolist") else [*series]
    if np.ndarray not in set(map(type, values)):
        return values
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


# -- the best labels --------------------------------------------------------------------------------------------------


@public
@explain_methods
@dataclass(frozen=True, eq=False)
class TopK:
    """The top-ranked labels of each example, as retrieval systems return them.

    Attributes
    ----------
    indices
        Shape (examples, k): columns in the order of the declared labels, or the labels 0, 1, 2 ... themselves, best
        first. Negative and masked ones are padding.
    scores
        The same shape; None if only their order is known.
    """

    indices: object
    scores: object = None


def _top_k(best: TopK, argument: Argument) -> Source:
    if not argument.scored:
        rankings = "metrics of rankings, such as 'precision_at(k=5)', and none is read"
        raise InputError(f"{argument.name} is a TopK, which is for {rankings}; for labels give lists of them")
    indices: Any = array_of(best.indices, "TopK.indices")
    if indices.ndim != 2 or indices.dtype.kind not in "iu":
        raise InputError(f"TopK.indices must be a 2-D array of integers, not shape {indices.shape} of {indices.dtype}")
    # Unsigned integers beyond int64 become negative: they were so before a cast. Masked ones are padding.
    indices = np.asarray(np.ma.filled(indices.astype(np.int64), -1))
    scores: Any = np.broadcast_to(-np.arange(indices.shape[1], dtype=np.float64), indices.shape)
    missing: Any = None
    if best.scores is not None:
        numbers = array_of(best.scores, "TopK.scores")
        if numbers.shape == indices.shape and (indices < 0).any():
            numbers = numbers.copy()
            numbers[indices < 0] = 0  # scores of padding are often -inf or NaN
        scores, missing = checked_scores(numbers, argument, lambda index: (index // max(1, numbers.shape[-1]), -1))
        if scores.shape != indices.shape:
            raise InputError(f"TopK.scores has shape {scores.shape} and TopK.indices {indices.shape}; give both")
    row, place = np.nonzero(indices >= 0)
    columns = _columns_at(indices[row, place], argument)
    cells = row * (int(columns.max(initial=0)) + 1) + columns
    if len(np.unique(cells)) != len(cells):
        raise InputError("TopK.indices names a label twice for one example; name each once")
    lists = Lists(offsets_of(np.bincount(row, minlength=len(indices))), columns)
    present = np.ones(len(row), np.bool_) if missing is None else missing[row, place] == 0
    ranked, values = filtered(lists, present), scores[row, place].astype(np.float64)[present]
    unscored = filtered(lists, ~present)
    by_all = np.arange(len(argument.reader.config.labels or ()))

    def piece(start: int, stop: int) -> Piece:
        part, span = part_of(ranked, start, stop)
        mentioned = part_of(unscored, start, stop)[0]
        numeric = np.zeros(len(part.places), np.uint8) if best.scores is None else None
        return Columns(len(part.offsets) - 1, None, None, mentioned, by_all, part, values[span], numeric)

    return Source(len(indices), 0, piece)


def _columns_at(indices: IntArray, argument: Argument) -> IntArray:
    reader, frames = argument.reader, argument.frames
    declared = reader.config.labels
    if declared is None and not frames:
        distinct, inverse = np.unique(indices, return_inverse=True)
        reader.integers = reader.integers or argument.name
        return np.array(reader.columns(distinct.tolist()), np.int64)[inverse.reshape(-1)]
    count = len(frames[0] if declared is None else declared)
    if len(indices) and int(indices.max()) >= count:
        what = f"{count} labels are declared" if declared is not None else f"the data frame has {count} columns"
        raise InputError(f"TopK.indices holds {indices.max()}, but {what}")
    return argument.columns(count)[indices]


enter("awkward", object, "typestr", "to_list", one=lambda array, _: array.to_list())
enter("top_k", TopK)
enter("bits", PackedRows, one=lambda packed, name: booleans(bit_rows(packed, name), lambda _: name))

_SOURCES: dict[Form, Callable[[Any, Argument], Source]] = {
    "array": _array, "buffer": _array, "table": _frame, "frame": _frame, "sparse": sparse_source, "arrow": _arrow,
    "polars": _polars, "series": _series, "list": _list, "iterable": examples_of,
    "batches": lambda reader, argument: examples_of(chain.from_iterable(each.to_pylist() for each in reader), argument),
    "string": _refuse_one, "mapping": _refuse_one, "set": _refuse_one, "top_k": _top_k, "awkward": _awkward,
    "bits": lambda packed, argument: _matrix(bit_rows(packed, argument.name), argument),
}  # fmt: skip
"""How an argument of each form is read; any other is refused."""
