"""Single examples: label collections, mappings, ranked lists and rows; and iterables of them."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet, Sized
from functools import partial
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError, LabelError, option, wording
from streameval.inputs.columns import EXAMPLES, IGNORED, MASK, Argument, named
from streameval.inputs.forms import Form, form_of
from streameval.inputs.lists import without_rows
from streameval.inputs.pieces import CELLS, Columns, Piece, Scores, Source, filtered, matrix_piece, unignored
from streameval.inputs.sparse import sparse_source, stacked_rows
from streameval.inputs.values import PIPELINES, bit_of, conversion, is_missing, no_scores, plain_array, score_of
from streameval.kernel import backend
from streameval.kernel.types import EITHER, FloatArray, IntArray, Lists
from streameval.schema.batch import offsets_of
from streameval.schema.input_notes import FEW
from streameval.schema.text import python_value, quoted

_COLLECTIONS = {set, frozenset, list, tuple}
_STRINGS = (str, bytes, bytearray)
_MAPPED_BIT = partial(bit_of, mapped=True)
_VALUES = 2**22  # Python objects that are read at a time, or those of `EXAMPLES` examples if these hold more

Cells: TypeAlias = Iterable[tuple[int, Any]]  # possibly repeated, some `IGNORED`; a score that is missing is NaN


def cells_in(example: object, argument: Argument) -> Cells:
    """One argument of one example as (column, bits) pairs; where a state reads scores, as (column, score) pairs."""
    try:
        return _CELLS.get(form_of(example), _refuse)(example, argument)
    except LabelError as error:
        raise named(error, argument.place) from None


def _of_labels(labels: Any, argument: Argument) -> Cells:
    if argument.scored and isinstance(labels, AbstractSet):
        raise no_scores(labels)
    columns = argument.reader.columns_in(labels, argument.place)
    if not argument.scored:
        return [(column, argument.role) for column in columns]
    known = dict.fromkeys(column for column in columns if column != IGNORED)
    return ((column, -float(place)) for place, column in enumerate(known))


def _of_mapping(mapping: Any, argument: Argument) -> Cells:
    column_of, value_of = argument.reader.column, score_of if argument.scored else _MAPPED_BIT
    if isinstance(mapping, Counter) and not argument.scored and max(mapping.values(), default=0) > 1:
        raise InputError(f"{argument.place} is a Counter that counts a label twice; give set(counter)")
    try:
        return [
            (column, value_of(value, label, argument))
            for label, value in mapping.items()
            if (column := column_of(label)) != IGNORED
        ]
    except LabelError:
        for key in PIPELINES.keys() & mapping.keys():  # the error about its value says more
            value_of(mapping[key], key, argument)
        raise


def _refuse_shape(example: Any, argument: Argument) -> Cells:
    if not example.shape:
        return _refuse(example, argument)
    shape = f"{argument.place} has {len(example.shape)} dimensions, shape {tuple(example.shape)}"
    many = f"an example is one row; {one_array(argument.name, example)}"
    raise InputError(f"{shape}; {many if argument.many else 'update takes one example: for many, use update_many'}")


_JOINS = {"pandas": "pandas.concat", "polars": "polars.concat", "pyarrow": "pyarrow.concat_tables"}
_JOINS |= {"scipy": "scipy.sparse.vstack", "torch": "torch.cat"}


def one_array(name: str, part: object) -> str:
    """Advice for a list of arrays where one array is needed."""
    one = "the first" if name == "y_pred" else "label_ids"
    join = _JOINS.get(type(part).__module__.partition(".")[0], "np.concatenate")
    return f"give one array, such as {join}({name}) of batches; of predictions, label_ids and other outputs give {one}"


def _refuse(example: object, argument: Argument) -> Cells:
    raise no_example(example, argument.name, argument.position if argument.many else None, argument.scored)


def no_example(example: object, name: str, position: int | None = None, scored: bool = False) -> InputError:
    """The error about a value that is no example, or has no scores; ``position`` is its place among many."""
    place = name if position is None else f"{name}[{position}]"
    example = python_value(example)
    if isinstance(example, _STRINGS) and not scored:
        if isinstance(example, str) and example.startswith(("[", "(", "{")):
            written = "give ast.literal_eval(string), if it holds labels"
            if not _is_literal(example):  # numpy prints no commas
                written = "give the list, not the string that was made of it"
            return InputError(f"{place} is the string {quoted(example)}; {written}")
        decoded = "" if isinstance(example, str) else ".decode()"
        advice = f"[{quoted(example)}{decoded}]" if position is None else f"[[label{decoded}] for label in {name}]"
        separator = next((mark for mark in (", ", "; ", *",;| ") if isinstance(example, str) and mark in example), None)
        more = "" if separator is None else f", for several split it with .split({separator!r})"
        return InputError(f"{place} is the string {quoted(example)}; for one label write {advice}{more}")
    if is_missing(example):
        ways = "or drop the example" if position is None else f"drop the row, or give {option('null', 'empty')}"
        missing = wording(f"is missing ({quoted(example)})", "is null")
        return InputError(f"{place} {missing}; give [] if there is no label, {ways}")
    forms = "a set, list or tuple of labels, a mapping label -> value, or a 1-D 0/1 array"
    forms = wording(forms, "a list of labels, or an object label: true or false")
    if scored:
        forms = "a mapping label -> score, a ranked list of labels or a row of scores"
        forms = wording(forms, "an object label: number, or a list of numbers")
    advice = conversion(example, place) or f"; give {'dict' if hasattr(example, 'keys') else 'list'}({place})" * (
        isinstance(example, Iterable) and not isinstance(example, _STRINGS)
    )
    if isinstance(example, int | float) and position is not None:
        classes = f", for one class per example [[label] for label in {name}]" * (type(example) is int)
        advice = f"; for one label write numpy.reshape({name}, (-1, 1)){classes}"
    advice = wording(advice, "; for a column for each label give 'true_*', for a row for each --example and --label")
    return InputError(f"{place} must be {forms}, not {type(example).__name__} ({quoted(example)}){advice}")


def _is_literal(string: Any) -> bool:
    from ast import literal_eval  # late, so that importing the package stays quick

    try:
        return not re.search(r"['\"]\s+['\"]", string) and literal_eval(string) is not None
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        return False


def _of_row(example: Any, argument: Argument) -> Cells:
    rows = example[None] if example.ndim == 1 else example
    if rows.ndim != 2 or len(rows) != 1:
        return _refuse_shape(rows, argument)
    rows = rows if argument.scored else plain_array(rows, argument.place)
    columns = argument.reader.positions(rows.shape[1], argument.name)
    row = matrix_piece(rows, columns, argument, argument.position or 0)
    values, missing = row.read()
    if isinstance(row, Scores):
        cells: Any = values if missing is None else np.where(missing, np.nan, values)
    else:
        cells = values * argument.role + (0 if missing is None else missing * MASK)
    return zip(columns.tolist(), cells[0].tolist(), strict=True)


_CELLS: dict[Form, Callable[[Any, Argument], Cells]] = {
    "list": _of_labels, "set": _of_labels, "mapping": _of_mapping, "array": _of_row,
    "frame": _refuse_shape, "table": _refuse_shape,
}  # fmt: skip
"""How an example of each form is read; any other is refused."""


# -- many of them -----------------------------------------------------------------------------------------------------


def examples_of(column: Iterable[object], argument: Argument) -> Source:
    examples, read = iter(column), _ranked if argument.scored else _labelled
    size = argument.reader.at_once
    if size > EXAMPLES:  # fewer if rows are wide
        first = list(islice(examples, 1))
        size = max(EXAMPLES, min(size, _VALUES // max(1, sum(map(_size_of, first)))))
        examples = chain(first, examples)

    def piece(start: int, stop: int) -> Piece:
        part = list(islice(examples, stop - start))
        if argument.null == "empty":
            part = [() if is_missing(example) else example for example in part]
        # Cells that sparse rows do not store have no score.
        if argument.scored and (matrix := stacked_rows(part, argument.name)) is not None:
            return sparse_source(matrix, argument, start).piece(0, len(part))
        part = without_rows(part, argument, start)
        cells = _stacked(part, argument, start) or read(part, argument, start)  # first, to refuse what cannot be noted
        for example in part[:FEW] if argument.sample is not None and not start else ():
            argument.sample.add_example(example)
        return cells

    # The width is such that pieces have ``size`` examples.
    return Source(len(column) if isinstance(column, Sized) else None, CELLS // size, piece)


def _size_of(example: object) -> int:
    """About how many values an example holds."""
    shape = getattr(example, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(part, int) for part in shape):
        return math.prod(shape)
    return len(example) if isinstance(example, list | tuple | dict | AbstractSet) else 1


def _labelled(examples: list[Any], argument: Argument, start: int) -> Piece:
    role = argument.role
    if set(map(type, examples)) <= _COLLECTIONS:
        columns = columns_among(chain.from_iterable(examples), examples, argument, start)
        return Columns(len(examples), unignored(Lists(_ends(examples), columns)))
    if plain := _plain_mappings(examples, argument) if argument.compared else None:
        mentioned, scores = plain
        above = scores >= argument.reader.threshold_row(mentioned.flat().astype(np.int64))
        return Columns(len(examples), filtered(mentioned, above), mentioned=mentioned)
    cells = [list(cells) for cells in _one_by_one(examples, argument, start)]
    numbers = np.fromiter(chain.from_iterable(chain.from_iterable(cells)), np.int64)
    columns, bits = np.ascontiguousarray(numbers[::2]), numbers[1::2]
    lists = Lists(_ends(cells), columns)
    positive, masked, mentioned = (filtered(lists, (bits == bit) & (columns != IGNORED)) for bit in (role, MASK, 0))
    return Columns(len(examples), positive, masked if role != MASK else None, mentioned)


def _ranked(examples: list[Any], argument: Argument, start: int) -> Piece:
    if plain := _plain_mappings(examples, argument):
        lists, scores = plain
        return Columns(len(examples), ranked=lists, scores=scores, numeric=np.ones(len(scores), np.uint8))
    entries = [dict(cells) for cells in _one_by_one(examples, argument, start)]
    lists = Lists(_ends(entries), np.fromiter(chain.from_iterable(entries), np.int64))
    scores = np.fromiter(chain.from_iterable(part.values() for part in entries), np.float64)
    numeric = np.repeat([not isinstance(example, list | tuple) for example in examples], np.diff(lists.offsets))
    scored = ~np.isnan(scores)
    mentioned, ranked = None if scored.all() else filtered(lists, ~scored), filtered(lists, scored)
    bits = numeric[scored].astype(np.uint8)
    return Columns(len(examples), mentioned=mentioned, ranked=ranked, scores=scores[scored], numeric=bits)


def columns_among(labels: Iterable[object], examples: Iterable[object], argument: Argument, start: int = 0) -> IntArray:
    """The columns of the labels of examples from the position ``start`` on; errors name the example that is wrong."""
    sample = argument.sample if argument.reader.config.unknown == "ignore" else None
    labels = labels if sample is None else [*labels]
    try:
        columns = np.array(argument.reader.columns_in(labels, argument.name), np.int64)
    except LabelError:
        deque(_one_by_one(examples, argument, start), 0)
        raise
    if sample is not None:
        sample.mention(islice(labels, FEW))  # also those that are ignored
    return columns


def _one_by_one(examples: Iterable[object], argument: Argument, start: int) -> Iterator[Cells]:
    for argument.position, example in enumerate(examples, start):
        yield cells_in(example, argument)
    argument.position = None


def _ends(parts: list[Any]) -> Any:
    return offsets_of(np.fromiter(map(len, parts), np.int64, len(parts)))


def _stacked(examples: list[Any], argument: Argument, start: int) -> Piece | None:
    """Rows of one length and type as a matrix; None if examples are anything else."""
    if set(map(type, examples)) != {np.ndarray} or len({(row.shape, row.dtype) for row in examples}) != 1:
        return None
    if examples[0].ndim != 1 or examples[0].dtype.kind not in "biuf":
        return None
    columns = argument.reader.positions(len(examples[0]), argument.name)
    return matrix_piece(np.stack(examples), columns, argument, start)


def string_lists(rows: list[Any], argument: Argument) -> Lists | None:
    """Collections or arrays of strings as lists of columns; None if there is anything else."""
    kinds = set(map(type, rows))
    lists = [[*row] for row in rows] if kinds <= _COLLECTIONS and kinds != {list} else rows
    coded = None if argument.rows == "indicator" else backend.strings.listed_codes(lists)
    if coded is None or not EITHER.isdisjoint(coded[2]):
        return None
    ends, codes, strings = coded
    columns = columns_among([*strings], ([*row] for row in rows), argument)
    kind: Any = np.int32 if len(codes) < 2**31 else np.int64
    return unignored(Lists(ends.astype(kind, copy=False), codes.astype(kind, copy=False), columns))


def _plain_mappings(examples: list[Any], argument: Argument) -> tuple[Lists, FloatArray] | None:
    """The columns and scores in dicts of plain labels and numbers; None if a dict holds anything else."""
    reader = argument.reader
    lists = backend.strings.score_lists(reader.labels.columns, examples)
    if lists is None and type(examples[0]) is dict and reader.config.unknown != "ignore":
        reader.register(examples)
        lists = backend.strings.score_lists(reader.labels.columns, examples)
    if lists is None:
        return None
    offsets, columns, scores, has_strings = lists
    reader.has_strings |= bool(has_strings)
    return Lists(offsets, columns), scores
