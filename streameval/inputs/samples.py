"""What is noted of the first examples of an object, and of some later ones, to find what is legal and surely wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from streameval.inputs.columns import PRED, TRUE, Argument
from streameval.schema.record import Record

_LABELS = 10_000  # of one argument that are noted


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
    """

    __slots__ = ("binary", "examples", "high", "labels", "low", "numbers", "permuted", "single")

    def __init__(self) -> None:
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
        for name in ("binary", "permuted", "single"):
            setattr(self, name, getattr(self, name) and getattr(other, name))


def start_samples(arguments: Iterable[Argument]) -> None:
    """Let the examples of ``y_true`` and ``y_pred`` be noted, if some are to be."""
    for argument in arguments:
        if argument.role in (TRUE, PRED) and argument.reader.record.room:
            argument.sample = argument.reader.samples[argument.name] = Sample()


def note_examples(record: Record, y_true: Sequence[Any], y_pred: Sequence[Any]) -> None:
    """Note examples that the kernel has read, if some are to be noted."""
    if record.room:
        samples = {"y_true": Sample(), "y_pred": Sample()}
        for sample, examples in zip(samples.values(), (y_true, y_pred), strict=True):
            for example in examples[: record.room]:
                sample.add_example(example)
        record.take(samples, len(y_true))


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
