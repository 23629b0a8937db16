"""What is noted of the first examples of an object, and of some later ones, for summaries and warnings."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from copy import copy, deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from streameval.errors import InputError, wording
from streameval.inputs.columns import Argument, Reader
from streameval.inputs.forms import form_of
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Dense, cells_of
from streameval.schema.config import Config
from streameval.schema.input_notes import InputNotes
from streameval.schema.labels import Key, Label, in_order, keys_of
from streameval.schema.recording import ExampleScores
from streameval.schema.text import label_text, number_of, python_value, quoted, type_text

_LABELS = 10_000  # how many labels of an argument are noted
_FIRST, _EXAMPLES = 3, 12  # examples that are described, and how many labels of each


class Sample:
    """What one argument held in the examples that were noted."""

    def __init__(self, value: object = None, *, many: bool = False) -> None:
        self.form, self.source = "" if value is None else _form(value, many), "the examples"  # source: of labels
        self.width = 0  # how many columns there are, 0 for examples that name their labels
        self.first: list[dict[str, Any]] = []  # examples as they were understood
        self.labels: dict[Key, Any] = {}  # those that were mentioned, even as false
        self.ignored: dict[Key, Any] = {}
        self.examples = self.numbers = 0
        self.low, self.high = math.inf, -math.inf  # the least and the greatest number
        self.booleans: set[bool] = set()  # they do not count as numbers
        self.lengths: set[int] = set()  # of lists of labels; -1 for mappings, 0 for anything else
        self.repeats = self.mixed = 0  # how many lists repeat a label; how many mix strings and integers
        self.binary = self.permuted = True  # whether all numbers were 0 or 1, each example a permutation of 0, 1, 2 ...
        self.distinct = True  # whether the numbers of each example were different integers of at least 0

    def add(self, labels: Iterable[Any], values: Iterable[Any] = (), *, length: int = 0) -> None:
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        self.booleans.update(value for value in plain if type(value) is bool)
        numbers = [value for value in plain if type(value) in (int, float) and abs(value) <= sys.float_info.max]
        self.add_rows(labels, np.array([numbers], np.float64), length=length)

    def add_rows(self, labels: Iterable[Any], rows: np.ndarray[Any, Any], *, length: int = 0) -> None:
        """Note rows of an array; booleans do not count as numbers."""
        if rows.dtype == object or type(rows) is not np.ndarray:  # it may be masked
            for row in rows.tolist():
                self.add(labels, row)
            return
        self.mention(labels)
        self.examples += len(rows)
        self.lengths.add(length)
        numeric = rows[:, : None if rows.dtype.kind in "iuf" and rows.dtype.itemsize <= 8 else 0].astype(np.float64)
        if not numeric.size:
            self.permuted, self.distinct = (each and len(rows) == 0 for each in (self.permuted, self.distinct))
            return
        ordered = np.sort(numeric)  # NaN stands last
        known = ordered == ordered
        numbers = ordered[known]
        self.numbers += numbers.size
        self.low, self.high = float(numbers.min(initial=self.low)), float(numbers.max(initial=self.high))
        self.binary &= bool(((numbers == 0) | (numbers == 1)).all())
        in_order = (ordered == np.arange(ordered.shape[1])) | ~known
        self.permuted = self.permuted and bool(in_order.all() and (known.sum(axis=1) > 2).all())
        differ = self.distinct and bool((ordered[:, 1:] > ordered[:, :-1]).all())
        self.distinct = differ and bool(((ordered >= 0) & (np.floor(ordered) == ordered)).all())

    def mention(self, labels: Iterable[Any]) -> None:
        few = [*map(python_value, islice(labels, max(0, _LABELS - len(self.labels))))]
        self.labels.update(zip(keys_of(few), few, strict=True))

    def add_example(self, example: Any) -> None:
        """Note an example of a common form; of any other form, note only that there was one."""
        kind = type(example)
        if kind is dict:
            self.add(example, example.values(), length=-1)
        elif isinstance(example, list | tuple):
            self.add(example, length=len(example))
            plain = [*map(python_value, example)]
            self.repeats += len({*keys_of(plain)}) < len(plain)
            self.mixed += {str, int}.issubset(map(type, plain))
        elif isinstance(example, AbstractSet):
            self.add(example)
        elif kind is np.ndarray and example.ndim == 1:
            self.width = len(example)
            self.add((), example.tolist())
        else:
            self.add(())

    def merged(self, other: Sample) -> Sample:
        """The notes of these examples, joined with those of further ones."""
        result = copy(self)
        result.examples, result.numbers = self.examples + other.examples, self.numbers + other.numbers
        result.lengths, result.repeats = self.lengths | other.lengths, self.repeats + other.repeats
        result.mixed = self.mixed + other.mixed
        result.low, result.high = min(self.low, other.low), max(self.high, other.high)
        result.booleans = self.booleans | other.booleans
        result.labels, result.ignored = self.labels | other.labels, self.ignored | other.ignored
        result.first, result.width = (self.first + other.first)[:_FIRST], max(self.width, other.width)
        for name in ("binary", "permuted", "distinct"):
            setattr(result, name, getattr(self, name) and getattr(other, name))
        return result

    def close(self, config: Config, width: int = 0, *, is_named: bool = False) -> None:
        """Note where labels come from, how many columns there are, if any, and which labels are ignored."""
        self.width = self.width or width
        if self.width:
            declared = f"{wording('labels=', '--labels')}, in the order of columns"
            unnamed = "the positions of columns" if config.labels is None else declared
            self.source = "the names of columns" if is_named else unnamed
            if not is_named:  # each column stands for a label
                self.mention(range(self.width) if config.labels is None else config.labels)
        if config.labels is not None and config.unknown == "ignore":
            ignored = self.labels.keys() - keys_of(config.labels)
            self.ignored = {key: label for key, label in self.labels.items() if key in ignored}

    def summary(self) -> dict[str, Any]:
        first = [label for example in self.first for label in example.get("labels", ())]
        own = (self.labels.keys() | keys_of(first)) - self.ignored.keys()
        content = {"form": self.form, "labels": self.width or len(own)}
        content |= {"labels_from": self.source, "examples": deepcopy(self.first)}
        return content | ({"ignored": sorted(self.ignored.values(), key=str)} if self.ignored else {})


def _form(value: Any, many: bool) -> str:
    form, kind = form_of(value), None
    shape = () if hasattr(value, "detach") else getattr(value, "shape", ())  # nested tensors have none
    if form in ("array", "arrow", "polars", "series", "sparse"):
        kind = getattr(value, "dtype", None) or (type_text(value.type) if hasattr(value, "type") else None)
    elif form == "list" and many and value:
        kind = type(value[0]).__name__
    columns = f", {number_of(shape[1], 'column')}" if type(shape) is tuple and len(shape) == 2 else ""
    name = "column" if form == "arrow" else type(value).__name__
    return f"{name}{'' if kind is None else f' of {kind}'}{columns}"


class InputSummary(dict[str, dict[str, Any]]):
    """How ``y_true`` and ``y_pred`` were read, by argument: form, labels, first examples, and what was ignored."""

    def __repr__(self) -> str:
        lines = list[str]()
        for name, side in self.items():
            lines.append(f"{name}: {side['form']}; {number_of(side['labels'], 'label')}, from {side['labels_from']}")
            for example in side["examples"]:
                parts = [f"{key} {_listed(values)}".removeprefix("labels ") for key, values in example.items()]
                lines.append(f"  {'; '.join(parts)}")
            lines += [f"  ignored: {_listed(side['ignored'])}"] if "ignored" in side else []
        return "\n".join(lines)


def _listed(values: list[Any]) -> str:
    pairs = [(v["label"], f" {v['score'] + 0.0:g}") if isinstance(v, dict) else (v, "") for v in values[:_EXAMPLES]]
    parts = [f"{label_text(label)}{score}" for label, score in pairs]
    return ", ".join([*parts, *(["..."] if len(values) > _EXAMPLES else [])]) or "no labels"


def start_samples(arguments: Sequence[Argument], values: Iterable[object]) -> None:
    """Begin to note the examples of ``y_true`` and ``y_pred``, if more are to be noted."""
    notes = arguments[0].reader.notes
    if notes.room:
        few = undescribed(notes)
        for argument, value in zip(arguments[:2], values, strict=True):
            sample = Sample(value if few else None, many=argument.many)
            argument.sample = argument.reader.samples[argument.name] = sample


def note_examples(
    reader: Reader, sides: Sequence[Any], slots: Sequence[IntArray], *, many: bool, read: Sequence[Any] | None = None
) -> None:
    """Note examples, if more are to be noted; ``slots`` are those of the first, ``read`` what ``sides`` became."""
    notes = reader.notes
    if notes.room:
        few = undescribed(notes)
        samples = [Sample(side if few else None, many=many) for side in sides]
        for sample, side in zip(samples, sides if read is None else read, strict=False):
            for example in side[: notes.room] if many else [side]:
                sample.add_example(example)
            sample.close(reader.config)
        for placed in slots[:few]:
            _note(samples, reader.labels.labels, placed.tolist())
        reader.samples = dict(zip(("y_true", "y_pred"), samples, strict=True))
        reader.noted = len(sides[0]) if many else 1


def undescribed(notes: InputNotes) -> int:
    """How many more examples are to be noted in full, as they are understood."""
    sample = notes.samples.get("y_true")
    return _FIRST if sample is None else _FIRST - len(sample.first)


def note_first(arguments: Sequence[Argument], batch: Batch) -> None:
    """Note how the first examples of a batch are understood."""
    reader, samples = arguments[0].reader, [argument.sample for argument in arguments[:2]]
    if samples[0].first or not (most := undescribed(reader.notes)):
        return
    few = batch.take(slice(0, most := min(most, batch.examples)))
    few = few.take(np.arange(most))  # a copy, as another thread may change arrays once they are checked
    if isinstance(few, Dense) and max(few.true.max(initial=0), 0 if few.pred is None else few.pred.max(initial=0)) > 1:
        return  # the kernel refuses them
    (rows, slots), names = cells_of(few, 0), reader.labels.labels
    ranked = ExampleScores.of(replace(few, mask=None)) if reader.keeps_scores else None
    for row in range(few.examples):
        _note(samples, names, slots[rows == row].tolist())
        if ranked is not None:
            _, columns, scores = ranked.taken(np.array([row]))
            numbers = zip(columns.tolist(), scores.tolist(), strict=True)
            described = {"scores": [{"label": names[column], "score": score} for column, score in numbers]}
            samples[1].first[-1] = (samples[1].first[-1] if reader.config.has_decisions else {}) | described


def _note(samples: Sequence[Sample], names: list[Label], slots: list[int]) -> None:
    cells = sorted(((names[slot // 5], slot % 5) for slot in slots if slot % 5), key=lambda cell: in_order(cell[0]))
    true, pred, masked = ([label for label, outcome in cells if outcome in one_of] for one_of in ((1, 3), (2, 3), (4,)))
    samples[0].first.append({"labels": true} | ({"masked": masked} if masked else {}))
    samples[1].first.append({"labels": pred})


def check_named_alike(frames: Sequence[list[Any]]) -> None:
    """Raise `InputError` if the columns of a data frame are numbered, and those of another have other names."""
    numbered = next((names for names in frames if names and names in (
        [*range(len(names))], [*map(str, range(len(names)))], [f"column_{number}" for number in range(len(names))]
    )), [])  # fmt: skip
    named = next((names for names in frames if names and numbered and {*names}.isdisjoint(numbered)), None)
    if named is not None:
        columns = f"the columns of one data frame are {quoted(named)}, and those of the other are numbered"
        raise InputError(f"{columns}, {quoted(numbered)}; name the columns alike")


def check_row_keys(values: Mapping[str, Any], notes: InputNotes) -> None:
    """Warn if a data frame or Series has the row keys of the first one in another order, or only most of them."""
    keys = [(name, each.index) for name, each in values.items() if hasattr(each, "iloc") and form_of(each) != "lazy"]
    for name, key in keys[1:]:
        if "rows" not in notes.warnings and (differ := _differing(keys[0][1], key)) is not None:
            first, order = keys[0][0], f"differ in {differ} keys" if differ else "hold the same keys in another order"
            matched = f"rows are matched by position, but the indexes of {first} and {name} {order}"
            way = "fill_value=0" if values[first].ndim == values[name].ndim == 2 else "join='inner'"  # for frames
            aligned = f"{first}, {name} = {first}.align({name}, axis=0, {way})"
            advice = aligned if differ else f"{name}.loc[{first}.index]"
            notes.warn("rows", f"{matched}; write {advice}")


def _differing(one: Any, other: Any) -> int | None:
    """How many keys of one index the other lacks; None if they are equal, differ in many, or one counts from 0."""
    try:
        if len(one) != len(other) or one.equals(other) or not other.isin(one[:: len(one) // 9 + 1]).any():  # usual
            return None
        from_0 = any((np.asarray(key) == np.arange(len(key))).all() for key in (one, other))
        # Sorting keys that have no order would warn; repeated keys come from groups or batches.
        differ = len(one.symmetric_difference(other, sort=False)) // 2
        return None if from_0 or differ > len(one) / 10 or not (one.is_unique and other.is_unique) else differ
    except (AttributeError, NotImplementedError, TypeError, ValueError, Warning):  # pandas cannot compare these keys
        return None
