"""Every class that counts examples, by name, with the kinds of state that it holds and the way to update it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import streameval as se
from streameval.evaluation.kinds import KINDS as KINDS_OF_STATE
from streameval.testing import LAWS
from tests.support.kinds import EACH, NAMES, SCORED, TRIALS

LABELS: tuple[Any, ...] = ("a", "b", "", "é", 3, 2**70)
LEVELS = (-1.0, -0.0, 0.0, 0.25, 0.5, 0.5000000001, 1.0, 1e-300, 7.0)
WEIGHTS = (1.0, 0.1, 2.5, 0.0, 1e-300, 1e300)


class Row(NamedTuple):
    """An example with a time and a region."""

    y_true: Any
    y_pred: Any
    mask: Any
    weight: float
    time: float
    region: str


@dataclass(frozen=True)
class Kind:
    """The configuration of an evaluator with states of some kind."""

    metrics: tuple[str, ...] = ("f1_macro", "recall_samples", "hamming_loss")
    options: tuple[tuple[str, Any], ...] = ()
    scored: bool = False
    missing: bool = False

    def evaluator(self) -> se.Evaluator:
        return se.Evaluator(list(self.metrics), **dict(self.options))

    def single(self) -> se.Metric:
        """A `Metric` of the first metric only."""
        spec = self.evaluator().metrics[0]
        choices = {name: value for name, value in self.options if name not in ("keep", "inverse_propensities")}
        return se.metric(spec.name, average=spec.average, **choices, **dict(spec.parameters))


def kind_of(name: str, **choices: Any) -> Kind:
    """The configuration of an evaluator that keeps every part of one kind of state."""
    trial = TRIALS[name]
    choices |= trial.arguments(LABELS) | {"keep": (name, *KINDS_OF_STATE[name].keeps)}
    return Kind(trial.metrics, tuple(choices.items()), name in SCORED)


KINDS = {
    "decisions": Kind(),
    "declared labels": Kind(options=(("labels", ["c", "a"]), ("unknown", "add"))),
    "decisions of scores": Kind(options=(("threshold", 0.5),), scored=True),
    **{name: kind_of(name) for name in TRIALS},
    "rankings, the last of ties": kind_of("rankings", ties="last", labels=LABELS),
    **{f"part: {name}": Kind((), (("keep", [name]),)) for name in NAMES if name not in TRIALS},
    "all": Kind(("f1_macro", *EACH), (("threshold", 0.5), ("keep", NAMES)), True),
    "all, of scores that are missing": Kind(
        ("f1_macro", *EACH, "average_precision_per_label"),
        (
            ("threshold", {label: (0.25, -1.0, 0.5)[place % 3] for place, label in enumerate(LABELS)}),
            ("nan", "missing"),
            ("ties", "last"),
            ("labels", LABELS[1:4]),
            ("unknown", "ignore"),
        ),
        scored=True,
        missing=True,
    ),
}


def rows_of(kind: Kind, seed: str, *, weighted: bool, size: int = 7) -> list[Row]:
    """Random examples that differ as much as possible, in the order of their times."""
    draw = random.Random(seed)
    rows = []
    for place in range(size):
        true = set(draw.sample(LABELS, draw.randint(0, 4)))
        levels = (*LEVELS, math.nan) if kind.missing else LEVELS
        scores = {label: draw.choice(levels) for label in draw.sample(LABELS, draw.randint(0, 5))}
        pred = scores if kind.scored else {label for label, score in scores.items() if score >= 0.5}
        mask = set(draw.sample(LABELS, 1)) if draw.random() < 0.3 else None
        weight = draw.choice(WEIGHTS) if weighted else 1.0
        rows.append(Row(true, pred, mask, weight, place // 2 * 0.75, draw.choice("xy")))
    return rows


@dataclass(frozen=True)
class Holder:
    """A class that holds evaluators, and the laws to test it with.

    Attributes
    ----------
    make
        Makes an empty object.
    keywords
        Returns the further keywords that an update of an example takes.
    ordered
        Whether each shard must count its examples in the order of their times.
    without
        The laws that do not apply to it, each with words of the error message.
    many
        Further keywords of ``update_many``.
    laws
        The laws to test.
    count
        Counts an example, if ``update`` does not.
    """

    make: Callable[[Kind], Any]
    keywords: Callable[[Row], dict[str, Any]] = lambda _: {}
    ordered: bool = False
    without: tuple[tuple[str, str], ...] = ()
    many: tuple[tuple[str, Any], ...] = ()
    laws: tuple[str, ...] = tuple(LAWS)
    count: Callable[[Any, Row], None] | None = None

    def update(self, state: Any, row: Row) -> None:
        if self.count is not None:
            self.count(state, row)
            return
        state.update(row.y_true, row.y_pred, weight=row.weight, mask=row.mask, **self.keywords(row))

    def revert(self, state: Any, row: Row) -> None:
        state.revert(row.y_true, row.y_pred, weight=row.weight, mask=row.mask, **self.keywords(row))

    def update_many(self, state: Any, rows: list[Row]) -> None:
        """Count the rows in one call."""
        keywords: dict[str, Any] = dict(self.many)
        for name in self.keywords(rows[0]):
            values = [self.keywords(row)[name] for row in rows]
            if name == "t":
                keywords["times"] = values
            else:
                keywords[name] = {key: [value[key] for value in values] for key in values[0]}
        masks = [row.mask or set() for row in rows]
        state.update_many(
            [row.y_true for row in rows], [row.y_pred for row in rows], weights=[row.weight for row in rows],
            mask=masks if any(masks) else None, **keywords,
        )  # fmt: skip


def timed(row: Row) -> dict[str, Any]:
    return {"t": row.time}


def placed(row: Row) -> dict[str, Any]:
    return {"where": {"region": row.region, "half": row.time > 1}}


def apart(row: Row) -> dict[str, Any]:
    """Like `placed`, but with so many slices that more than one is displaced at once."""
    return {"where": {"region": f"{row.region} {row.time}", "half": row.time > 1}}


def wait(pending: Any, row: Row) -> None:
    """If three predictions wait, observe the truth of the oldest; then predict again."""
    if len(pending) > 2:
        pending.observe(pending.keys()[0], row.y_true, weight=row.weight, mask=row.mask, t=row.time)
    pending.predict((row.region, pending.evaluator.examples + len(pending)), row.y_pred, t=row.time)


VALUES = ("fresh", "same", "reading", "round trip", "copy", "atomic")  # laws for classes that cannot merge
HOLDERS = {
    "Evaluator": Holder(Kind.evaluator),
    "Evaluator, in two threads": Holder(Kind.evaluator, many=(("threads", 2),), laws=("zero", "batch")),
    "Metric": Holder(Kind.single),
    "Sliced": Holder(
        lambda kind: se.Sliced(kind.evaluator(), by=["region", "half"], cross=[["region", "half"]]), placed
    ),
    "Sliced, overflowing": Holder(
        lambda kind: se.Sliced(kind.evaluator(), by=["region", "half"], max_slices=1),
        apart,
        without=(
            ("inverse", "cannot revert"),
            ("unmerge", "of several values were counted together"),
        ),
    ),
    "Tumbling": Holder(
        lambda kind: se.Tumbling(kind.evaluator(), period=1.0, history=9),
        timed,
        without=(("unmerge", "the latest time"),),
    ),
    "Fading": Holder(lambda kind: se.Fading(kind.evaluator(), 2.0), timed, without=(("unmerge", "the latest time"),)),
    "TimeRolling": Holder(
        lambda kind: se.TimeRolling(kind.evaluator(), period=1.0),
        timed,
        ordered=True,
        without=(("unmerge", "evicted"),),
    ),
    "Pending": Holder(lambda kind: se.Pending(kind.evaluator(), max_pending=9, max_age=9), laws=VALUES, count=wait),
    "Trace": Holder(
        lambda kind: se.Trace({"all": kind.evaluator(), "last": se.Rolling(kind.evaluator(), 3)}, every=2),
        timed,
        laws=VALUES,
    ),
}
