"""Ranking metrics straight from their definitions: plain loops over examples, and over all orders of tied labels."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

DIGITS = Context(prec=60)


@dataclass
class Ranked:
    """One example: true labels, the score of each ranked label, and labels that are hidden."""

    true: set
    scores: dict
    hidden: set = field(default_factory=set)
    weight: float = 1.0


class View:
    """An example among all labels, under one rule for ties; ``labels`` are in their order."""

    def __init__(self, example: Ranked, labels: list, ties: str) -> None:
        self.labels = [label for label in labels if label not in example.hidden]
        self.true = example.true - example.hidden
        self.false = set(self.labels) - self.true
        self.scores = {label: example.scores[label] for label in self.labels if label in example.scores}
        self.ties = ties
        self.place = {label: place for place, label in enumerate(labels)}
        self._times: dict[tuple[str, bool], Counter] = {}

    @property
    def judged(self) -> bool:
        return bool(self.true) and bool(self.false)

    def above(self, one: object, other: object) -> bool:
        """Whether one label ranks strictly above another."""
        if one not in self.scores or other not in self.scores:
            return one in self.scores and other not in self.scores
        if self.ties == "last" and self.scores[one] == self.scores[other]:
            return self.place[one] > self.place[other]
        return self.scores[one] > self.scores[other]

    def reaches(self, one: object, other: object) -> bool:
        """Whether one label ranks at least as high as another."""
        return one == other or not self.above(other, one)

    def rank(self, label: object) -> int:
        """The last rank that a label can have among its ties."""
        return sum(self.reaches(other, label) for other in self.labels)

    def wrong(self) -> int:
        return sum(self.reaches(false, true) for true in self.true for false in self.false)

    def orders(self, unranked: str) -> Iterator[list]:
        """All orders of the labels, equally likely."""
        groups = []
        for label in sorted(self.scores, key=lambda label: (-self.scores[label], -self.place[label])):
            if groups and self.ties == "shared" and self.scores[groups[-1][0]] == self.scores[label]:
                groups[-1].append(label)
            else:
                groups.append([label])
        rest = [label for label in self.labels if label not in self.scores]
        if unranked == "last" and rest:
            groups.append(rest)
        for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
            yield [label for part in parts for label in part]

    def expected(self, value: Callable[[list], Fraction], unranked: str, *, alike: bool = True) -> Fraction:
        """The mean over all orders; only the places of true labels matter, so all other labels are replaced by None.

        With ``alike`` all true labels have equal value, so one of them stands for all and fewer orders differ.
        """
        if (unranked, alike) not in self._times:
            names = dict.fromkeys(self.true, next(iter(self.true), None)) if alike else {n: n for n in self.true}
            self._times[unranked, alike] = Counter(tuple(map(names.get, order)) for order in self.orders(unranked))
        times = self._times[unranked, alike]
        return sum((value(list(order)) * n for order, n in times.items()), Fraction(0)) / times.total()


@cache
def discount(rank: int) -> Fraction:
    return Fraction(DIGITS.divide(DIGITS.ln(Decimal(2)), DIGITS.ln(Decimal(rank + 1))))


def hits(view: View, order: list, k: int) -> int:
    return sum(label in view.true for label in order[:k])


def gain(view: View, order: list, k: int) -> Fraction:
    return sum((discount(rank) for rank, label in enumerate(order[:k], 1) if label in view.true), Fraction(0))


def average_precision(view: View, order: list, k: int, divisor: str) -> Fraction:
    total, result = Fraction(0), 0
    for rank, label in enumerate(order[:k], 1):
        if label in view.true:
            result += 1
            total += Fraction(result, rank)
    share = {"min": min(len(view.true), k), "true": len(view.true), "hits": result}[divisor]
    return total / share if share else Fraction(0)


def reciprocal_rank(view: View, order: list, k: int) -> Fraction:
    ranks = [rank for rank, label in enumerate(order[:k], 1) if label in view.true]
    return Fraction(1, min(ranks)) if ranks else Fraction(0)


# -- definitions: the value of one example, and whether the metric is defined for it ----------------------------------


def one_error(view: View) -> tuple[Fraction, bool]:
    wrong = any(all(view.reaches(false, label) for label in view.true) for false in view.false)
    return Fraction(not view.true or wrong), bool(view.true)


def coverage_error(view: View, minus_one: bool = False) -> tuple[Fraction, bool]:
    ranks = [view.rank(label) for label in view.true]
    return Fraction(max(ranks) - minus_one if ranks else 0), bool(ranks)


def margin_loss(view: View) -> tuple[Fraction, bool]:
    if not view.judged:
        return Fraction(0), False
    first = min(1 + sum(view.above(other, false) for other in view.labels) for false in view.false)
    return Fraction(max(0, max(view.rank(label) for label in view.true) - first)), True


def label_ranking_average_precision(view: View, tied: str = "worst") -> tuple[Fraction, bool]:
    judged = view.judged if tied == "worst" else bool(view.true)
    if not judged:
        return Fraction(1), False
    result = Fraction(0)
    for label in view.true:
        rank = view.rank(label) if tied == "worst" else 1 + sum(view.above(other, label) for other in view.labels)
        result += Fraction(sum(view.reaches(other, label) for other in view.true), rank)
    return result / len(view.true), True


def of_pairs(value: Callable[[View], Fraction | int]) -> Callable[[View], tuple[Fraction, bool]]:
    return lambda view: (Fraction(value(view)), True) if view.judged else (Fraction(0), False)


def at(value: Callable[..., Fraction | int], empty: int = 0) -> Callable[..., tuple[Fraction, bool]]:
    """The mean of a value at ``k`` over all orders of tied labels; without ``k`` all ranks count."""

    def define(view: View, *, unranked: str, **parameters: object) -> tuple[Fraction, bool]:
        if not view.true:
            return Fraction(empty), False
        if "k" in parameters:
            parameters["k"] = parameters["k"] or len(view.labels) + 1
        return view.expected(lambda order: Fraction(value(view, order, **parameters)), unranked), True

    return define


def precision_at(view: View, order: list, k: int, divisor: str) -> Fraction:
    places = k if divisor == "k" else min(k, len(view.scores))
    return Fraction(hits(view, order, k), places) if places else Fraction(0)


def f1_at(view: View, order: list, k: int, divisor: str) -> Fraction:
    places = k if divisor == "k" else min(k, len(view.scores))
    return Fraction(2 * hits(view, order, k), places + len(view.true))


def ndcg(view: View, order: list, k: int) -> Fraction:
    ideal = sum((discount(rank) for rank in range(1, min(len(view.true), k) + 1)), Fraction(0))
    return gain(view, order, k) / ideal


def dcg(view: View, order: list, k: int, log_base: float = 2.0) -> Fraction:
    return gain(view, order, k) * log2(log_base)


@cache
def log2(number: float) -> Fraction:
    return Fraction(DIGITS.divide(DIGITS.ln(Decimal(number)), DIGITS.ln(Decimal(2))))


DEFINITIONS: dict[str, Callable[..., tuple[Fraction, bool]]] = {
    "one_error": one_error,
    "coverage_error": coverage_error,
    "ranking_loss": of_pairs(lambda view: Fraction(view.wrong(), len(view.true) * len(view.false))),
    "error_set_size": of_pairs(lambda view: view.wrong()),
    "is_error": of_pairs(lambda view: view.wrong() > 0),
    "margin_loss": margin_loss,
    "label_ranking_average_precision": label_ranking_average_precision,
    "precision_at": at(precision_at),
    "recall_at": at(lambda view, order, k: Fraction(hits(view, order, k), len(view.true))),
    "f1_at": at(f1_at),
    "hit_at": at(lambda view, order, k: hits(view, order, k) > 0),
    "abandonment_at": at(lambda view, order, k: hits(view, order, k) == 0, empty=1),
    "r_precision": at(lambda view, order: Fraction(hits(view, order, len(view.true)), len(view.true))),
    "map_at": at(average_precision),
    "mrr": at(reciprocal_rank),
    "dcg": at(dcg),
    "ndcg": at(ndcg),
}
"""The definitions of means over examples, by entry."""


def psp_at(
    views: list[tuple[View, Fraction]], labels: list, inverse: dict, k: int, normalize: bool
) -> tuple[Fraction, Fraction]:
    del labels
    sums, best = propensity_gains(views, inverse, k, lambda _: Fraction(1), lambda _: Fraction(1))
    return sums, best if normalize else k * sum((weight for _, weight in views), Fraction(0))


def psndcg_at(
    views: list[tuple[View, Fraction]], labels: list, inverse: dict, k: int, norm: str, normalize: bool
) -> tuple[Fraction, Fraction]:
    del labels

    def divisor(view: View) -> Fraction:
        most = k if norm == "k" else min(k, len(view.true))
        return sum((discount(rank) for rank in range(1, most + 1)), Fraction(0)) or Fraction(1)

    sums, best = propensity_gains(views, inverse, k, discount, divisor)
    return sums, best if normalize else sum((weight for _, weight in views), Fraction(0))


def propensity_gains(
    views: list[tuple[View, Fraction]],
    inverse: dict,
    k: int,
    weigh: Callable[[int], Fraction],
    divisor: Callable[[View], Fraction],
) -> tuple[Fraction, Fraction]:
    """The gain of the hits, and the gain of the hits of the best possible ranking."""
    sums = best = Fraction(0)
    for view, weight in views:

        def worth(order: list, view: View = view) -> Fraction:
            result = ((rank, label) for rank, label in enumerate(order[:k], 1) if label in view.true)
            return sum((inverse[label] * weigh(rank) for rank, label in result), Fraction(0))

        greatest = sorted((inverse[label] for label in view.true), reverse=True)[:k]
        sums += weight * view.expected(worth, "never", alike=False) / divisor(view)
        best += weight * sum(value * weigh(rank) for rank, value in enumerate(greatest, 1)) / divisor(view)
    return sums, best


def label_coverage_at(
    views: list[tuple[View, Fraction]], labels: list, inverse: dict, k: int, of: str
) -> tuple[Fraction, Fraction]:
    del inverse
    result = {t for view, _ in views for t in view.true if t in view.scores and view.rank(t) <= k}
    ever = {t for view, _ in views for t in view.true}
    return Fraction(len(result)), Fraction(len(labels if of == "all" else ever))


def lwlrap(views: list[tuple[View, Fraction]], label: object) -> tuple[Fraction, Fraction]:
    precisions = times = Fraction(0)
    for view, weight in views:
        if label in view.true:
            times += weight
            if label in view.scores:
                hits = sum(view.reaches(other, label) for other in view.true if other in view.scores)
                precisions += weight * Fraction(hits, sum(view.reaches(other, label) for other in view.scores))
    return precisions, times


BY_LABEL = {"lwlrap": lwlrap}
"""The definitions of ratios of sums over all examples, for each label."""

RATIOS: dict[str, Callable[..., tuple[Fraction, Fraction]]] = {
    "psp_at": psp_at,
    "psndcg_at": psndcg_at,
    "label_coverage_at": label_coverage_at,
}
"""The definitions of ratios of sums over all examples that also take the labels and their inverse propensities."""
