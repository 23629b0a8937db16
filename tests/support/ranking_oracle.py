"""Ranking metrics straight from their definitions: plain loops over examples, and over all orders of tied labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction

__all__ = ["DIGITS", "Ranked", "mean_over", "values"]

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
        """The last rank that a label can have."""
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

    def expected(self, value: Callable[[list], Fraction], unranked: str) -> Fraction:
        found = [value(order) for order in self.orders(unranked)]
        return Fraction(sum(found), len(found))


def discount(rank: int) -> Fraction:
    return Fraction(DIGITS.divide(DIGITS.ln(Decimal(2)), DIGITS.ln(Decimal(rank + 1))))


def hits(view: View, order: list, k: int) -> int:
    return sum(label in view.true for label in order[:k])


def gain(view: View, order: list, k: int) -> Fraction:
    return sum((discount(rank) for rank, label in enumerate(order[:k], 1) if label in view.true), Fraction(0))


def average_precision(view: View, order: list, k: int, divisor: str) -> Fraction:
    total, found = Fraction(0), 0
    for rank, label in enumerate(order[:k], 1):
        if label in view.true:
            found += 1
            total += Fraction(found, rank)
    share = {"min": min(len(view.true), k), "true": len(view.true), "hits": found}[divisor]
    return total / share if share else Fraction(0)


def reciprocal_rank(view: View, order: list, k: int) -> Fraction:
    ranks = [rank for rank, label in enumerate(order[:k], 1) if label in view.true]
    return Fraction(1, min(ranks)) if ranks else Fraction(0)


def values(view: View, k: int, unranked: str) -> dict[str, tuple[Fraction, bool]]:
    """The value of every metric for one example, and whether the example is one that it can judge."""
    true, m = view.true, len(view.true)
    far = len(view.labels) + 1
    some, both = m > 0, view.judged
    ranks = [view.rank(label) for label in true]
    ahead = [1 + sum(view.above(other, false) for other in view.labels) for false in view.false]
    found: dict[str, tuple[Fraction | int, bool]] = {
        "one_error": (
            int(not true or any(all(view.reaches(false, label) for label in true) for false in view.false)), some,
        ),
        "coverage_error": (max(ranks, default=0), some),
        "coverage_error minus one": (max(ranks, default=1) - 1, some),
        "ranking_loss": (Fraction(view.wrong(), m * len(view.false)) if both else 0, both),
        "error_set_size": (view.wrong(), both),
        "is_error": (int(view.wrong() > 0), both),
        "margin_loss": (max(0, max(ranks) - min(ahead)) if both else 0, both),
        "label_ranking_average_precision": (
            Fraction(sum(Fraction(sum(view.reaches(o, t) for o in true), view.rank(t)) for t in true), m)
            if both
            else Fraction(1),
            both,
        ),
    }  # fmt: skip

    def at(name: str, value: Callable[[list], Fraction], how: str = unranked, empty: int = 0) -> None:
        found[name] = (view.expected(value, how) if some else Fraction(empty), some)

    ranked = min(k, len(view.scores))
    at("precision_at", lambda order: Fraction(hits(view, order, k), k))
    at("precision_at ranked", lambda order: Fraction(hits(view, order, k), ranked) if ranked else Fraction(0), "never")
    at("recall_at", lambda order: Fraction(hits(view, order, k), m))
    at("f1_at", lambda order: Fraction(2 * hits(view, order, k), k + m))
    at("f1_at ranked", lambda order: Fraction(2 * hits(view, order, k), ranked + m), "never")
    at("r_precision", lambda order: Fraction(hits(view, order, m), m))
    at("hit_at", lambda order: Fraction(hits(view, order, k) > 0))
    at("abandonment_at", lambda order: Fraction(hits(view, order, k) == 0), empty=1)
    at("mrr", lambda order: reciprocal_rank(view, order, far))
    at("mrr k", lambda order: reciprocal_rank(view, order, k))
    at("map_at min", lambda order: average_precision(view, order, k, "min"))
    at("map_at true", lambda order: average_precision(view, order, k, "true"))
    at("map_at all", lambda order: average_precision(view, order, far, "true"))
    at("map_at hits", lambda order: average_precision(view, order, k, "hits"), "never")
    at("dcg", lambda order: gain(view, order, far))
    at("dcg k", lambda order: gain(view, order, k))
    ideal = [sum((discount(rank) for rank in range(1, min(m, size) + 1)), Fraction(0)) for size in (far, k)]
    at("ndcg", lambda order: gain(view, order, far) / ideal[0])
    at("ndcg k", lambda order: gain(view, order, k) / ideal[1])
    return {name: (Fraction(value), judged) for name, (value, judged) in found.items()}


def mean_over(
    examples: list[Ranked], labels: list, *, ties: str, k: int, unranked: str, degenerate: str
) -> dict[str, Fraction | None]:
    """The mean of every metric over examples that have a label that is not hidden; None if there are none."""
    sums: dict[str, Fraction] = {}
    whole: dict[str, Fraction] = {}
    for example in examples:
        view = View(example, labels, ties)
        if not view.labels and example.hidden:
            continue
        weight = Fraction(example.weight)
        for name, (value, judged) in values(view, k, unranked).items():
            sums.setdefault(name, Fraction(0))
            whole.setdefault(name, Fraction(0))
            if not judged and degenerate == "drop":
                continue
            constant = {"zero": 0, "one": 1}.get(degenerate) if not judged else None
            sums[name] += weight * (value if constant is None else constant)
            whole[name] += weight
    return {name: sums[name] / whole[name] if whole[name] else None for name in sums}
