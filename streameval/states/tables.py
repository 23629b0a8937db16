"""What metrics read: the counts of a state as exact integers, by label and by example."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from streameval.labels import Label
from streameval.states.decisions import Content

__all__ = ["Counts", "Integers", "Tables"]

Integers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of int64, or of Python integers where a sum or product could pass 64 bits."""

# Formulas multiply counts by at most 2**10 and add a few; up to here that stays within int64.
_SAFE = 2**50


@dataclass(frozen=True, slots=True)
class Counts:
    """The four outcomes, for each label, for each kind of example, or pooled (arrays of length 1)."""

    tp: Integers
    fp: Integers
    fn: Integers
    tn: Integers

    def wide(self) -> Counts:
        """The same in Python integers, whose products cannot overflow."""
        return Counts(*(part.astype(object) for part in (self.tp, self.fp, self.fn, self.tn)))

    def pooled(self) -> Counts:
        """The sums over all labels."""
        return Counts(*(np.array([total(part)], object) for part in (self.tp, self.fp, self.fn, self.tn)))


@dataclass(frozen=True)
class Tables:
    """The two marginals in units of ``unit`` examples: 1, or a power of two when examples are weighted."""

    content: Content

    @property
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then the others, sorted."""
        return self.content.labels

    @property
    def examples(self) -> int:
        """How many examples were counted, whatever their weights."""
        return self.content.examples

    @cached_property
    def unit(self) -> Fraction:
        """The weight of one unit of the counts."""
        return Fraction(1, 1 << (self.content.scale or 0))

    @cached_property
    def times(self) -> Integers:
        """How often each row key occurs, weighted, in units."""
        if self.content.key_weights is not None:
            return np.array(self.content.key_weights, object)
        return _safe(self.content.times, self.content.examples)

    @cached_property
    def weight(self) -> int:
        """The total weight of all examples, in units."""
        return total(self.times)

    @cached_property
    def by_label(self) -> Counts:
        """The outcomes of each label, weighted, in units; true negatives are what the other outcomes leave."""
        if self.content.cell_weights is not None:
            cells: Integers = np.array(self.content.cell_weights, object).reshape(-1, 5)
        else:
            cells = _safe(self.content.cells, self.content.examples)
        fn, fp, tp, masked = (cells[:, outcome] for outcome in range(1, 5))
        return Counts(tp, fp, fn, self.weight - tp - fp - fn - masked)

    @cached_property
    def by_example(self) -> Counts:
        """The outcomes of each row key, in cells."""
        true, pred, both, _ = self.content.keys.T
        return Counts(both, pred - both, true - both, self.known - true - pred + both)

    @cached_property
    def informative(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each row key, whether any cell is known: an example that is wholly masked tells nothing."""
        return np.asarray((self.known > 0) | (self.content.keys[:, 3] == 0))

    @cached_property
    def known(self) -> Integers:
        """For each row key, how many cells are not masked."""
        return len(self.labels) - self.content.keys[:, 3]


def _safe(array: Integers, examples: int) -> Integers:
    return array if examples < _SAFE else array.astype(object)


def total(array: Integers) -> int:
    """The exact sum, as a Python integer."""
    if array.dtype == object or (len(array) and int(np.abs(array).max()) >= 2**62 // len(array)):
        return int(sum(array.tolist()))
    return int(array.sum())
