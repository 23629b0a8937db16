"""Which lists hold labels, and which are rows of indicators or of scores in the order of the labels."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError, wording
from streameval.inputs.columns import LABELS, PRED, Argument
from streameval.inputs.forms import FRAMES, ONE, are_numbered, columns_of, form_of, resolved
from streameval.inputs.values import THRESHOLD, array_of, score_value
from streameval.kernel.types import EITHER, Places
from streameval.schema.text import python_value, quoted

_TURNED = [[1, 0], ["1", "0"]]  # labels usually ascend, so these are probably indicators
ROWS = (
    "for indicators give {0}rows='indicator', for labels {1}rows='labels'",
    "for indicators give --rows indicator, for labels --rows labels",
)  # the gaps are for other ways in Python
_SIGNS = "for signs give {0} > 0, for labels {1}rows='labels'", "for signs write 0 and 1, for labels --rows labels"
_LABELS, _VALUES = {int, str}, {bool, int, float, type(None)}
_COMMON = {list, tuple, dict, set, frozenset, np.ndarray}
_INTEGERS = {text: int(text) for text in EITHER if isinstance(text, str)}


def without_rows(examples: list[Any], argument: Argument, start: int) -> list[Any]:
    """Turn lists that are rows into arrays, and list-like objects of libraries into lists; leave the rest as it is.

    A list of booleans, or of numbers with a float among them, is a row, because labels are neither. A list of integers
    or strings is a list of labels, or refused if it may be a row as well: all members are in `EITHER`, and one is
    repeated. `check_pairs` checks lists of two. ``start`` is the position of the first example.
    """
    kinds = set(map(type, examples))
    if not kinds <= _COMMON:
        named = ((part, argument.at(position)) for position, part in enumerate(examples, start))
        read = [part if type(part) in _COMMON else unwrapped(part, name, argument.scored) for part, name in named]
        of_kind = dict(zip(map(type, examples), examples, strict=True))  # one per type, since `form_of` is slow
        framed = {kind for kind in kinds - _COMMON if form_of(of_kind[kind]) in (*FRAMES, "series")}
        rows = (row for part, row in zip(examples, read, strict=True) if type(part) in framed and isinstance(row, dict))
        if any(are_numbered([*row]) for row in rows):
            argument.reader.integers = argument.name
        examples = read
        kinds = set(map(type, examples))
    if any(issubclass(kind, np.ndarray) for kind in kinds):
        examples = [_labels_in(row) if isinstance(row, np.ndarray) else row for row in examples]
        kinds = set(map(type, examples))
        argument.twos |= {at for at, row in enumerate(examples, start) if getattr(row, "shape", 0) == (2,)}
    if list not in kinds and not any(issubclass(kind, tuple) for kind in kinds):
        return examples
    lists = examples if kinds <= {list, tuple} else [part for part in examples if isinstance(part, list | tuple)]
    if argument.rows != "indicator" and set(map(type, chain.from_iterable(lists))) <= _LABELS:
        if argument.rows is None and not EITHER.isdisjoint(chain.from_iterable(lists)):
            for position, example in enumerate(examples, start):
                if isinstance(example, list | tuple) and len(among := _either(example, example)) > 1:
                    note(example, among, argument, position)
        return examples
    return [
        _read(example, argument, position) if isinstance(example, list | tuple) else example
        for position, example in enumerate(examples, start)
    ]


def unwrapped(example: Any, name: str, scored: bool = False) -> Any:
    """The list, mapping or array that an object of a library stands for; anything else as it is."""
    example, form = resolved(example, name)
    if form in ONE:
        return ONE[form](example, name)
    if form == "polars":  # an element of a column, which holds lists
        return example.to_list()
    if form == "arrow":
        return example.to_pylist()
    if form == "scalar":
        return of_arrow(example.as_py(), example.type, name)
    if form in ("array", "buffer"):
        array = array_of(example, name)
        fields = array.dtype.names if array.ndim == 0 else None
        return array if fields is None else dict(zip(fields, array.tolist(), strict=True))
    if form == "series":
        return mapping_of(example.items(), name)
    if form in FRAMES and example.shape[0] == 1:
        names = mapping_of(((label, None) for label in columns_of(example, form)), name)  # refuses repeated names
        row = [example[name].to_list()[0] if form == "frame" else example.column(name)[0].as_py() for name in names]
        return dict(zip(names, row, strict=True))
    if form == "sparse" and scored and (1, *example.shape)[-2] == 1:  # in an array, unstored cells would have scores
        raise InputError(f"{name} is a sparse row, but not all are of its form and width; give one sparse matrix")
    if form == "sparse":
        return np.asarray(example.todense())
    return list(example) if isinstance(example, deque) else example


def _labels_in(row: np.ndarray[Any, Any]) -> Any:
    """The labels in an array of strings, none in an empty one; any other array is a row and returned as it is."""
    if row.ndim != 1 or (len(row) and row.dtype.kind not in "UOT"):
        return row
    values: list[Any] = row.tolist()
    if values and not any(issubclass(kind, str) for kind in set(map(type, values))):
        return row
    return values


def _read(example: Sequence[Any], argument: Argument, position: int) -> Any:
    if not example:
        return example
    kinds = set(map(type, example))
    if not kinds <= _LABELS:
        values = [*map(score_value if argument.compared or argument.scored else python_value, example)]
        kinds = set(map(type, values))
        pairs = pairs_of(values) if argument.role == PRED else None
        if pairs is not None and (argument.scored or argument.compared):
            return mapping_of(pairs, argument.at(position))
        if pairs is not None and float in {type(score) for _, score in pairs}:  # as pipelines of Hugging Face predict
            advice = "for scores " + wording(*THRESHOLD) + wording(", and to tables scores= in place of predicted=", "")
            raise LabelError(f"{argument.at(position)}: {quoted(values[0])} is a label with its score; {advice}")
        unscored = kinds == {type(None)} and len(values) > 1 and (argument.scored or argument.compared)
        if kinds <= _VALUES and (unscored or not kinds.isdisjoint((bool, float))):
            return _by_name(example, argument) or _row(values, kinds, argument, position)
        if not kinds <= _LABELS:
            return example
    else:
        values = [*example]
    if argument.rows == "indicator":
        return _by_name(example, argument) or np.array([_INTEGERS.get(value, value) for value in values], object)
    if argument.rows != "labels" and len(among := _either(values, example)) > 1:
        note(example, among, argument, position)
    return example


def _either(values: Sequence[Any], example: Any) -> list[Any]:
    """The values of a list that may be indicators: all or none; or some of a row with names, whose rest may be ids."""
    if EITHER.issuperset(values):
        return [*values]
    return [value for value in values if value in EITHER] if _fields_of(example) else []


def _fields_of(row: Any) -> str | None:
    """The call that makes a mapping of a row with names, as from a data frame or a database; None if it has none."""
    return next((f"row.{method}()" for method in ("asDict", "_asdict") if hasattr(row, method)), None)


def _by_name(row: Any, argument: Argument) -> dict[Any, Any] | None:
    """A tuple whose names are the labels as a mapping; names that begin with "_" are invented, as by `itertuples`."""
    names = getattr(row, "_fields", ())
    is_named = names and {*names} == {*(argument.reader.config.labels or names)} and "_" not in {n[0] for n in names}
    return dict(zip(names, row, strict=True)) if is_named else None


def _row(values: list[Any], kinds: set[type], argument: Argument, position: int) -> Any:
    name = argument.at(position)
    if bool in kinds and int in kinds:
        raise InputError(f"{name} is {quoted(values)}, which mixes booleans and integers; give one or the other")
    (first, *more) = values
    if not more and (first in (0, 1) or first != first) and len(argument.reader.config.labels or ()) != 1:
        kind = f"label that became a {type(first).__name__}"
        advice = wording("convert labels with int()", "write labels as strings or integers")
        if first != first:
            kind, advice = "missing label", "leave it out"
        either = f"{name} is {values}, which may be a row of one label, or hold a {kind}"
        raise LabelError(f"{either}; {advice}, or declare the one label with {wording(*LABELS)}")
    if len(values) == 2:
        argument.twos.add(position)
    return np.array(values, None if kinds <= {bool} or kinds <= {float} else object)


def pairs_of(values: list[Any]) -> list[Any] | None:
    """Pairs (label, score), also from mappings with a label and a score; None if values are neither."""
    if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in values):
        return values
    if all(isinstance(pair, dict) and pair.keys() == {"label", "score"} for pair in values):
        return [(pair["label"], pair["score"]) for pair in values]
    return None


def of_arrow(value: Any, kind: Any, name: str) -> Any:
    """An element of a column of Arrow: of maps a mapping, of lists of structs pairs of a label and its score."""
    if value is None:
        return None
    if str(kind).startswith("map<"):
        return mapping_of(value, name)
    if not str(getattr(kind, "value_type", "")).startswith("struct<"):
        return value
    return pairs_of(value) or [part if part is None else (*part.values(),) for part in value]


def mapping_of(pairs: Iterable[Any], name: str) -> dict[Any, Any]:
    """Pairs of a label and its value as a mapping; `LabelError` where a label has two."""
    listed = list(pairs)
    try:
        mapping = dict(listed)
    except TypeError:
        raise LabelError(f"{name} holds a label that cannot be hashed: {quoted(listed)}") from None
    if len(mapping) < len(listed):
        labels = [label for label, _ in listed]
        twice = next(label for label in labels if labels.count(label) > 1)
        raise LabelError(f"{name} has two values for label {quoted(twice)}; name each label once")
    return mapping


def note(example: Any, values: list[Any], argument: Argument, position: int) -> None:
    """Refuse a list of members of `EITHER` that is probably a row; note lists of two for `check_pairs`."""
    if len(set(values)) < len(values):
        raise _ambiguous(example, argument, position)
    if len(values) == 2 and argument.pairs:
        argument.twos.add(position)
        if values in _TURNED and not argument.scored:
            argument.turned.append((position, example))


def check_codes(offsets: Places, codes: Places, labels: list[Any], argument: Argument, start: int) -> None:
    """Apply `note` to lists of codes of labels; ``start`` is the position of the first list."""
    if argument.rows == "labels" or EITHER.isdisjoint(labels):
        return
    either = np.array([label in EITHER for label in labels], np.bool_)
    lengths, ends = np.diff(offsets), np.cumsum(np.concatenate([[0], either[codes]]))
    for row in np.flatnonzero((np.diff(ends[offsets]) == lengths) & (lengths > 1)).tolist():
        values = [labels[code] for code in codes[offsets[row] : offsets[row + 1]].tolist()]
        note(values, values, argument, start + row)


def check_pairs(arguments: Sequence[Argument], stop: int) -> None:
    """Refuse a list [1, 0] before ``stop`` if another argument has two indicators, or may have, in that example."""
    for argument in arguments:
        while argument.turned and argument.turned[0][0] < stop:
            position, example = argument.turned.popleft()
            if any(other.width == 2 or position in other.twos for other in arguments if other is not argument):
                raise _ambiguous(example, argument, position)


def _ambiguous(example: Any, argument: Argument, position: int) -> InputError:
    labels = sorted({*_either([*map(python_value, example)], example)}, key=int)
    named = f"label{'s' * (len(labels) > 1)} {' and '.join(map(quoted, labels))}"
    lists = argument.lists.format("rows" if argument.many else "row")
    array = f"np.asarray({lists}{', int' * (str in map(type, labels) or lists[0] == '[')})"
    either = f"{argument.at(position)} is {quoted(example)}, which may be indicators or the {named}"
    way, signs = _fields_of(example), {-1} <= {*map(int, labels)} <= {-1, 1}
    ways = wording(*ROWS).format(f"{way or array} or ", "sets or ")
    return InputError(f"{either}; {wording(*_SIGNS).format(array, 'sets or ') if signs and not way else ways}")
