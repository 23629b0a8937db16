"""What is noted of the first examples of an object, and of some later ones: how they were read, what is odd."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.inputs.columns import PRED, TRUE, Argument
from streameval.inputs.forms import form_of
from streameval.schema.batch import Batch, Dense, cells_of
from streameval.schema.escaping import label_text
from streameval.schema.labels import Label
from streameval.schema.text import number_of, quoted

_LABELS = 10_000  # of one argument that are noted
_FIRST, _SHOWN = 3, 12  # examples that are described, and how many labels of each


class Sample:
    """What one argument held in the examples that were looked at.

    Attributes
    ----------
    labels
        Those that it mentioned, also as false ones.
    low, high, numbers
        Its least and greatest number, and how many numbers there were.
    binary, permuted
        Whether all numbers were 0 or 1; whether each example was a permutation of 0, 1, 2 ...
    single
        Whether each example was a list of one label.
    form, width, source
        What was given; how many columns it has, 0 for examples that name their labels; where labels come from.
    first, ignored
        The first examples as they were understood; labels that were ignored.
    """

    __slots__ = (
        "binary", "examples", "first", "form", "high", "ignored", "labels", "low", "numbers", "permuted", "single",
        "source", "width",
    )  # fmt: skip

    def __init__(self, value: object = None, *, many: bool = False) -> None:
        self.form, self.source, self.width = _form(value, many), "the examples", 0
        self.first: list[dict[str, Any]] = []
        self.ignored: set[Any] = set()
        self.examples = self.numbers = 0
        self.low, self.high = math.inf, -math.inf
        self.labels: set[Any] = set()
        self.binary = self.permuted = self.single = True

    def add(self, labels: Iterable[Any], values: Iterable[Any] = (), *, single: bool = False) -> None:
        """Note an example."""
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        numbers = [value for value in plain if type(value) in (int, float) and value == value]
        self.examples += 1
        self.single &= single
        self.labels.update(islice(labels, max(0, _LABELS - len(self.labels))))
        self.numbers += len(numbers)
        self.low, self.high = min([self.low, *numbers]), max([self.high, *numbers])
        self.binary &= {*numbers} <= {0, 1}
        self.permuted &= len(numbers) > 2 and sorted(numbers) == [*range(len(numbers))]

    def add_example(self, example: Any) -> None:
        """Note an example of a common form, and of any other that there was one."""
        kind = type(example)
        if kind is dict:
            self.add(example, example.values())
        elif kind in (set, frozenset, list, tuple):
            self.add(example, single=kind in (list, tuple) and len(example) == 1)
        elif kind is np.ndarray and example.ndim == 1:
            self.width = len(example)
            self.add(range(len(example)), example.tolist())
        else:
            self.add(())

    def merge(self, other: Sample) -> None:
        """Take over what was noted of further examples."""
        self.examples, self.numbers = self.examples + other.examples, self.numbers + other.numbers
        self.low, self.high, self.labels = (
            min(self.low, other.low),
            max(self.high, other.high),
            self.labels | other.labels,
        )
        self.first, self.width = (self.first + other.first)[:_FIRST], max(self.width, other.width)
        self.ignored |= other.ignored
        for name in ("binary", "permuted", "single"):
            setattr(self, name, getattr(self, name) and getattr(other, name))

    def summary(self) -> dict[str, Any]:
        """How the argument was read."""
        own = self.labels.union(*(example["labels"] for example in self.first if "labels" in example))
        content = {"form": self.form, "labels": self.width or len(own - self.ignored)}
        content |= {"labels_from": self.source, "examples": self.first}
        return content | ({"ignored": sorted(self.ignored, key=str)} if self.ignored else {})


def _form(value: Any, many: bool) -> str:
    """What was given, in a few words."""
    form, shape, kind = form_of(value), getattr(value, "shape", ()), None
    if form in ("array", "arrow", "polars", "series", "sparse"):
        kind = getattr(value, "dtype", None) or getattr(value, "type", None)
    elif form == "list" and many and value:
        kind = type(value[0]).__name__
    columns = f", {shape[1]} columns" if type(shape) is tuple and len(shape) == 2 else ""
    return f"{type(value).__name__}{'' if kind is None else f' of {kind}'}{columns}"


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
    pairs = [(v["label"], f" {v['score'] + 0.0:g}") if isinstance(v, dict) else (v, "") for v in values[:_SHOWN]]
    parts = [f"{label_text(label)}{score}" for label, score in pairs]
    return ", ".join([*parts, *(["..."] if len(values) > _SHOWN else [])]) or "no labels"


def start_samples(arguments: Sequence[Argument], values: Iterable[object]) -> None:
    """Let the examples of ``y_true`` and ``y_pred`` be noted, if some are to be."""
    for argument, value in zip(arguments, values, strict=False):
        if argument.role in (TRUE, PRED) and argument.reader.record.room:
            argument.sample = argument.reader.samples[argument.name] = Sample(value, many=argument.many)


def note_first(arguments: Sequence[Argument], batch: Batch) -> None:
    """Note how the first examples were understood."""
    true, reader = arguments[0].sample, arguments[0].reader
    if true is None or true.first or len(getattr(reader.record.samples.get("y_true"), "first", ())) >= _FIRST:
        return
    few = batch.take(slice(0, min(_FIRST, batch.examples)))
    if isinstance(few, Dense) and max(few.true.max(initial=0), 0 if few.pred is None else few.pred.max(initial=0)) > 1:
        return  # which the kernel refuses
    rows, slots = cells_of(few, 0)
    note_cells(arguments, rows.tolist(), slots.tolist(), _scores(few, reader.labels.labels, reader.keeps_scores))


def note_cells(
    arguments: Sequence[Argument], rows: list[int], slots: list[int], scored: list[list[dict[str, Any]] | None]
) -> None:
    """Note examples by the slots of their cells, the row of each, and the scores of each row."""
    (true, pred), reader = (argument.sample for argument in arguments[:2]), arguments[0].reader
    names = reader.labels.labels
    for row, scores in enumerate(scored):
        cells = [(names[slot // 5], slot % 5) for at, slot in zip(rows, slots, strict=True) if at == row]
        masked = [label for label, outcome in cells if outcome == 4]
        true.first.append({"labels": [label for label, outcome in cells if outcome in (1, 3)]})
        true.first[-1] |= {"masked": masked} if masked else {}
        labels = {"labels": [label for label, outcome in cells if outcome in (2, 3)]} if reader.config.decides else {}
        pred.first.append(labels | ({} if scores is None else {"scores": scores}))


def _scores(batch: Batch, names: Sequence[Label], kept: bool) -> list[list[dict[str, Any]] | None]:
    """The scores of each example; None where no state keeps any."""
    if batch.scores is None or not kept:
        return [None] * batch.examples
    if isinstance(batch, Dense):
        ranked = np.ones(batch.scores.shape) if batch.ranked is None else batch.ranked
        cells = [(batch.columns[row != 0], scores[row != 0]) for row, scores in zip(ranked, batch.scores, strict=True)]
    else:
        ends = batch.ranked.offsets if batch.ranked is not None else np.zeros(1, np.int64)
        places = batch.ranked.flat() if batch.ranked is not None else ends
        cells = [(places[a:b], batch.scores[a:b]) for a, b in pairwise(ends.tolist())]
    pairs = (zip(columns.tolist(), scores.tolist(), strict=True) for columns, scores in cells)
    return [[{"label": names[column], "score": score} for column, score in row] for row in pairs]


def close_samples(arguments: Sequence[Argument]) -> None:
    """Note where labels came from, and which were ignored."""
    for argument in arguments:
        sample, declared = argument.sample, argument.reader.config.labels
        if sample is None:
            continue
        sample.width = sample.width or argument.width
        if sample.width and argument.frame is not None:
            sample.source = "the names of columns"
        elif sample.width:
            sample.source = "the positions of columns" if declared is None else "labels=, in the order of columns"
        if declared is not None and argument.reader.config.unknown == "ignore":
            sample.ignored = sample.labels.difference(declared)


def check_named_alike(frames: Sequence[list[Any]]) -> None:
    """Raise `InputError` if the columns of a data frame have names, and those of another numbers."""
    named = [names for names in frames if names and names not in (
        [*range(len(names))], [*map(str, range(len(names)))], [f"column_{number}" for number in range(len(names))]
    )]  # fmt: skip
    other = next((names for names in frames if names and names not in named), None)
    if named and other:
        columns = f"the columns of one data frame are {quoted(named[0])}, and those of the other are numbered"
        raise InputError(f"{columns}, {quoted(other)}; name the columns alike")


def check_row_keys(y_true: Any, y_pred: Any) -> Iterator[tuple[str, str]]:
    """What is wrong where two data frames have the same row keys in another order."""
    keys: list[Any] = [getattr(value, "index", None) for value in (y_true, y_pred)]
    if not all(hasattr(key, "equals") and hasattr(key, "is_unique") for key in keys) or len(keys[0]) != len(keys[1]):
        return
    one, other = keys
    if one.equals(other) or any((np.asarray(key) == np.arange(len(key))).all() for key in keys):
        return
    if len(one.symmetric_difference(other)) == 0:
        yield (
            "rows",
            "rows are matched by position, but the indexes of y_true and y_pred hold the same keys in another order; "
            "write y_pred.loc[y_true.index]",
        )
