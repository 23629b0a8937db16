"""Inputs of the benchmarks, and the expected results by plain loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import streameval as se

Sets = Iterable[AbstractSet[Hashable]]
Bits = np.ndarray[tuple[int, int], np.dtype[np.uint8]]

SIX = ("subset_accuracy", "f1_micro", "f1_macro", "f1_samples", "jaccard_samples", "hamming_loss")
"""Metrics of every kind of average: of whole rows, pooled cells, labels and examples."""


@dataclass(frozen=True)
class Counted:
    """Counts of a plain loop: the outcomes by label, and the number of examples by (true, predicted, both)."""

    tp: Counter[Hashable]
    fp: Counter[Hashable]
    fn: Counter[Hashable]
    rows: Counter[tuple[int, int, int]]

    def values(self, labels: Sequence[Hashable]) -> dict[str, float]:
        """The values of `SIX`, each straight from its definition; 0/0 is 0."""
        examples = sum(self.rows.values())
        hits, wrong = sum(self.tp.values()), sum(self.fp.values()) + sum(self.fn.values())
        per_label = (_share(2 * self.tp[x], 2 * self.tp[x] + self.fp[x] + self.fn[x]) for x in labels)
        rows = self.rows.items()
        return {
            "subset_accuracy": sum(times for (t, p, b), times in rows if t == p == b) / examples,
            "f1_micro": _share(2 * hits, 2 * hits + wrong),
            "f1_macro": math.fsum(per_label) / len(labels),
            "f1_samples": math.fsum(times * _share(2 * b, t + p) for (t, p, b), times in rows) / examples,
            "jaccard_samples": math.fsum(times * _share(b, t + p - b) for (t, p, b), times in rows) / examples,
            "hamming_loss": wrong / (examples * len(labels)),
        }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def counted(true: Sets, pred: Sets, weights: Iterable[float] | None = None) -> Counted:
    """The oracle. It is also the first solution that comes to mind, and therefore a peer in the table."""
    tp, fp, fn, rows = Counter(), Counter(), Counter(), Counter()
    if weights is None:
        for t, p in zip(true, pred, strict=True):
            both = t & p
            for label in both:
                tp[label] += 1
            for label in p - t:
                fp[label] += 1
            for label in t - p:
                fn[label] += 1
            rows[len(t), len(p), len(both)] += 1
    else:
        for t, p, weight in zip(true, pred, weights, strict=True):
            for label in t | p:
                (tp if label in t and label in p else fp if label in p else fn)[label] += weight
            rows[len(t), len(p), len(t & p)] += weight
    return Counted(tp, fp, fn, rows)


def assert_same(ev: se.Evaluator, expected: Counted, labels: Sequence[Hashable] | None = None) -> None:
    """Check that an evaluator has the same counts as the loop, and the same values to 12 digits."""
    table = ev.per_label()
    if labels is not None:
        assert set(table.labels) == set(labels)
    for column, counts in ((table.tp, expected.tp), (table.fp, expected.fp), (table.fn, expected.fn)):
        assert dict(zip(table.labels, column.tolist(), strict=True)) == {x: counts[x] for x in table.labels}
    assert sum(expected.tp.values()) == table.tp.sum()
    for name, value in expected.values(table.labels).items():
        assert math.isclose(ev.get(name), value, rel_tol=1e-12, abs_tol=1e-12), name


@dataclass(frozen=True)
class Examples:
    """Examples that can be had in various forms."""

    labels: tuple[str, ...]
    y_true: Bits
    y_pred: Bits

    @cached_property
    def sets(self) -> tuple[list[set[str]], list[set[str]]]:
        """The examples as sets of labels."""
        return self._sets(self.y_true), self._sets(self.y_pred)

    @cached_property
    def mappings(self) -> tuple[list[dict[str, bool]], list[dict[str, bool]]]:
        """The examples as mappings from all labels to bool."""
        return tuple(
            [dict(zip(self.labels, row, strict=True)) for row in side.astype(bool).tolist()]
            for side in (self.y_true, self.y_pred)
        )

    @cached_property
    def counted(self) -> Counted:
        """The counts of the examples by a plain loop."""
        return counted(*self.sets)

    def _sets(self, side: Bits) -> list[set[str]]:
        return [{self.labels[column] for column in np.flatnonzero(row)} for row in side]


def bits(examples: int, labels: int, share: float, *, seed: int = 0) -> tuple[Bits, Bits]:
    """Two 0/1 matrices with about ``share`` of ones; seven in ten predictions are right, the rest are random."""
    rng = np.random.default_rng(seed)
    shape = (examples, labels)
    y_true = rng.random(shape, np.float32) < share
    guess = rng.random(shape, np.float32) < share
    known = rng.random(shape, np.float32) < 0.7
    return y_true.view(np.uint8), np.where(known, y_true, guess).view(np.uint8)


def examples(count: int, labels: int, each: int, *, seed: int = 0) -> Examples:
    """Random examples with about ``each`` of ``labels`` labels."""
    return Examples(tuple(f"label {x}" for x in range(labels)), *bits(count, labels, each / labels, seed=seed))


def distinct_labels(count: int, *, each: int = 5) -> Iterable[list[str]]:
    """A generator of lists of labels in which no label occurs twice."""
    for start in range(0, count, each):
        yield [f"label number {x}" for x in range(start, min(count, start + each))]
