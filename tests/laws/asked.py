"""Every class that counts, over each kind of state, with all calls that the tests of threads make on it."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import streameval as se
from streameval.adapters import river
from streameval.evaluation.kinds import KINDS as KINDS_OF_STATE
from tests.laws.holders import Kind
from tests.support.effort import cases
from tests.support.exploring import (
    Call,
)
from tests.support.kinds import EACH, NAMES, SCORED, TRIALS

GONE = range(100, 140)
LABELS = (*range(10), "new", "newer", *GONE)
FULL = cases(100) >= 100
SECONDS = 240.0  # duration of the random tries of all kinds, objects and calls with full effort

Scores = dict[int, float]
Calls = dict[str, Call]


# -- kinds of state, and examples for them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Feed(Kind):
    """A kind of state, and the weight of its examples."""

    weight: float = 1.0

    def pred(self, scores: Scores) -> Any:
        return scores if self.scored else {label for label, score in scores.items() if score >= 0.5}


def feed_of(name: str) -> Feed:
    trial = TRIALS[name]
    choices = trial.arguments(LABELS) | {"keep": (name, *KINDS_OF_STATE[name].keeps)}
    return Feed(trial.metrics, tuple(choices.items()), name in SCORED)


ALL = {"keep": NAMES, "threshold": 0.5}
FEEDS = {
    "decisions": Feed(("f1_macro", "hamming_loss")),
    **{name: feed_of(name) for name in TRIALS},
    "all, weighted": Feed(("f1_macro", *EACH), tuple(ALL.items()), True, weight=0.3),
}

FIRST: list[tuple[set[int], Scores, Any]] = [
    ({0}, {0: 0.5, 1: 0.75}, {2}),
    ({1, 2}, {0: 0.25, 2: 0.25, 1: 0.25}, None),
    ({0, 2}, {1: 0.5}, None),
]
TRUE, SCORED_BEFORE = {0}, {0: 0.5, 1: 0.75}
NEW, SCORED_FIRST = {0, 7}, {8: 1.5, 0: 0.5}


# -- objects and calls on them ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Holder:
    """An object that counts with any kind of state, the calls on it by name, and its state for comparisons."""

    started: Callable[[Feed], Any]
    calls: Callable[[Feed], Calls]
    state: Call = lambda held: held.to_bytes()
    how: dict[str, bool] | None = None


INPUT = re.compile(r'<section id="input".*?</section>|<li><a href="#input">.*?</li>', re.DOTALL)
"""The part of an HTML page about how input was read; it changes before an example is counted and is not compared."""

READS: Calls = {
    "get": lambda held: repr(held.get()),
    "to_bytes": lambda held: held.to_bytes(),
    "copy": lambda held: copy.copy(held).to_bytes(),
    "repr": repr,
    "pickle": lambda held: pickle.loads(pickle.dumps(held)).to_bytes(),
    "examples": lambda held: held.examples,
    "equality": lambda held: held == held,  # reads the object twice, and both must see the same moment
    "reset": lambda held: held.reset(),
}
COUNTS: Calls = {
    "labels": lambda held: repr(held.labels),
    "weight": lambda held: held.weight,
    "per_label": lambda held: repr(held.per_label().to_dict()),
}
REPORTS: Calls = {
    "report": lambda held: held.report(),
    "to_dict": lambda held: repr(held.to_dict()),
    "bounds": lambda held: repr([held.bounds(spec) for spec in held.metrics[:1]]),
}
if FULL:
    REPORTS["to_html"] = lambda held: INPUT.sub("", held.to_html(meta={"date": None}))
    REPORTS["to_html of two"] = lambda held: INPUT.sub("", se.to_html({"a": held, "b": held}, meta={"date": None}))
SNAPSHOT: Calls = {"snapshot": lambda held: held.snapshot().to_bytes()}


def counting(feed: Feed, *, t: bool = False, where: bool = False) -> Calls:
    """Calls that count examples."""
    known, new = (TRUE, feed.pred(SCORED_BEFORE)), (NEW, feed.pred(SCORED_FIRST))
    mapping = {0: 0.25, 1: 0.75} if feed.scored else {0: False, 1: True}
    lists = [{0, 3}, {4}, {1}], [feed.pred(s) for s in ({0: 0.75}, {5: 0.5, 1: 0.25}, {4: 0.125})]
    cells = np.array([[0.25, 0.5, 0.0], [0.75, 0.75, 1.0]])
    arrays = np.array([[1, 0, 0], [1, 1, 0]]), cells if feed.scored else (cells >= 0.5).astype(int)
    how = keywords(3, t=t, where=where)
    three, two = (many(rows, t=t, where=where) for rows in (3, 2))
    return {
        "update": lambda held: held.update(*known, **how),
        "update of new labels": lambda held: held.update(*new, **keywords(4, t=t, where=where)),
        "weighted update": lambda held: held.update(*known, weight=0.7, mask={1}, **how),
        "weighted update of new labels": lambda held: held.update(*new, weight=5e-324, mask={9}, **how),
        "update of mappings": lambda held: held.update({0: True, 1: False}, mapping, **how),
        "update of strings": lambda held: held.update({"new"}, feed.pred({"newer": 0.5}), **how),
        "update of an array": lambda held: held.update(arrays[0][0], arrays[1][0], **how),
        "update that is refused": lambda held: held.update({0, 9}, {7: 0.5, None: 0.5}, **how),
        "update_many": lambda held: held.update_many(*lists, **three),
        "update_many, weighted": lambda held: held.update_many(*map(iter, lists), weights=[0.1, 1.0, 2.5], **three),
        "update_many of arrays": lambda held: held.update_many(*arrays, **two),
        "update_many that is refused": lambda held: held.update_many([{0, 9}] * 2, [feed.pred({0: 0.5}), {2.5}], **two),
    }


def reverting(feed: Feed, *, t: bool = False, where: bool = False) -> Calls:
    """Calls that revert examples."""
    true, scores, mask = FIRST[0]
    how = {"weight": feed.weight, "mask": mask, **keywords(0, t=t, where=where)}
    return {
        "revert": lambda held: held.revert(true, feed.pred(scores), **how),
        "revert that is refused": lambda held: held.revert({2, 9}, feed.pred({0: 0.75}), **how),
    }


def merging(feed: Feed, make: Callable[[Feed], Any], *, inverse: bool, t: bool = False, where: bool = False) -> Calls:
    """Calls that merge and unmerge other objects."""
    more, less = make(feed), make(feed)
    more.update(NEW, feed.pred(SCORED_FIRST), weight=0.3, **keywords(3, t=t, where=where))
    count(less, feed, 1, t=t, where=where)
    calls: Calls = {
        "merge": lambda held: held.merge(more),
        "merge with itself": lambda held: held.merge(held),
        "addition": lambda held: (held + held).to_bytes(),
    }
    return calls | ({"unmerge": lambda held: held.unmerge(less)} if inverse else {})


def keywords(place: int, *, t: bool = False, where: bool = False) -> dict[str, Any]:
    """Further keywords for an example: its time, its slice, both or none."""
    named = {"where": {"region": "xyx"[place % 3], "half": place // 4}} if where else {}
    return named | ({"t": min(place, 3) * 0.5} if t else {})


def many(rows: int, *, t: bool, where: bool) -> dict[str, Any]:
    """Further keywords for many examples: their times or their slices."""
    each = [keywords(3 + place, t=t, where=where) for place in range(rows)]
    if where:
        return {"where": {name: [one["where"][name] for one in each] for name in ("region", "half")}}
    return {"times": [one["t"] for one in each]} if t else {}


def count(held: Any, feed: Feed, rows: int = 3, *, t: bool = False, where: bool = False) -> Any:
    """Count the first examples, and return the same object."""
    for place, (true, scores, mask) in enumerate(FIRST[:rows]):
        held.update(true, feed.pred(scores), weight=feed.weight, mask=mask, **keywords(place, t=t, where=where))
    return held


def holding(
    make: Callable[[Feed], Any], further: Calls, *, reverts: bool, merges: bool, t: bool = False, where: bool = False
) -> Holder:
    """A holder whose objects have the same counting calls as an evaluator."""
    how = {"t": t, "where": where}

    def calls(feed: Feed) -> Calls:
        asked = counting(feed, **how) | (reverting(feed, **how) if reverts else {})
        return asked | (merging(feed, make, inverse=reverts, **how) if merges else {}) | further

    return Holder(lambda feed: count(make(feed), feed, **how), calls, how=how)


def compacting(feed: Feed) -> se.Evaluator:
    """An evaluator that drops its unused labels at the next revert."""
    held = count(feed.evaluator(), feed)
    for verb in (held.update, held.revert):
        for start in range(0, len(GONE), 4):
            names = GONE[start : start + 4]
            verb(set(names), feed.pred(dict.fromkeys(names[:2], 0.5)), weight=feed.weight)
    held._core.until_compaction = 0
    return held


def collection(feed: Feed) -> river.MetricCollection:
    made = river.MicroF1() + river.MacroF1() + river.SubsetAccuracy() + river.HammingLoss(label_limit=100)
    for true, scores, _ in FIRST:
        made.update(dict.fromkeys(true, True), {label: score >= 0.5 for label, score in scores.items()}, feed.weight)
    return made


def river_calls(feed: Feed) -> Calls:
    known, new = ({0: True}, {0: True, 1: True}), ({0: True, 7: True}, {8: True, 0: True})
    return {
        "update": lambda held: held.update(*known),
        "update of new labels": lambda held: held.update(*new),
        "weighted update": lambda held: held.update(*known, 0.7),
        "update without a prediction": lambda held: held.update({0: True}, {0: None, 7: True}),
        "update that is refused": lambda held: held.update({9: True}, {7: True, None: True}),
        "revert": lambda held: held.revert(dict.fromkeys(FIRST[2][0], True), {1: True}, feed.weight),
        "get": lambda held: repr(held.get()),
        "repr": repr,
        "copy": lambda held: repr(copy.copy(held).get()),
        "deep copy": lambda held: repr(copy.deepcopy(held).get()),
        "pickle": lambda held: repr(pickle.loads(pickle.dumps(held)).get()),
    }


def collection_calls(feed: Feed) -> Calls:
    return river_calls(feed) | {
        "update of a member": lambda held: held.data[0].update({0: True}, {7: True}),
        "reading of a member": lambda held: held.data[1].get(),
        "addition": lambda held: repr((held + river.MicroRecall()).get()),
    }


def pending(feed: Feed, **choices: Any) -> se.Pending[Any]:
    made = se.Pending(count(feed.evaluator(), feed), max_pending=3, no_prediction="count", **choices)
    for key, scores in enumerate(({0: 0.5}, {1: 0.5, 2: 0.75}, {2: 0.5})):
        made.predict(key, feed.pred(scores), t=key)
    return made


def state_of_pending(held: se.Pending[Any]) -> Any:
    return held.evaluator.to_bytes(), held.keys(), held.without_prediction, held.evicted


def pending_calls(feed: Feed) -> Calls:
    scores = feed.pred(SCORED_BEFORE)
    return {
        "predict": lambda held: held.predict(7, scores, t=2),
        "predict of another": lambda held: held.predict(8, feed.pred({9: 0.5}), t=2),
        "discard of the oldest": lambda held: held.discard(0),
        "observe": lambda held: held.observe(1, {1, 7}, t=2),
        "observe plainly": lambda held: held.observe(1, {1}),
        "observe again": lambda held: held.observe(1, {0}, t=2),
        "observe of another": lambda held: held.observe(2, {2}, weight=0.5, mask={1}, t=2),
        "observe what is refused": lambda held: held.observe(2, {2, None}, t=2),
        "observe what is late": lambda held: held.observe(9, {2}, t=2),
        "predict much later": lambda held: held.predict(7, scores, t=12),
        "discard": lambda held: held.discard(1),
        "keys": lambda held: held.keys(),
        "len": len,
        "evicted": lambda held: held.evicted,
        "contains": lambda held: 1 in held,
        "repr": repr,
        "copy": lambda held: state_of_pending(held.copy()),
        "evaluator": lambda held: repr(held.evaluator.get()),
    }


def trace(feed: Feed, every: int = 2) -> se.Trace:
    made = se.Trace({"all": feed.evaluator(), "last": se.Rolling(feed.evaluator(), size=2)}, every=every)
    return count(made, feed)


def state_of_trace(held: se.Trace) -> Any:
    return held.examples, repr(held.columns()), [one.to_bytes() for one in held.evaluators.values()]


def trace_calls(feed: Feed) -> Calls:
    known, new = (TRUE, feed.pred(SCORED_BEFORE)), (NEW, feed.pred(SCORED_FIRST))
    return {
        "update": lambda held: held.update(*known),
        "update of new labels": lambda held: held.update(*new),
        "weighted update": lambda held: held.update(*known, weight=0.7, mask={1}),
        "update that is refused": lambda held: held.update({0, 9}, {7: 0.5, None: 0.5}),
        "record": lambda held: held.record(),
        "columns": lambda held: repr(held.columns()),
        "get": lambda held: repr(held.get()),
        "len": len,
        "repr": repr,
        "copy": lambda held: state_of_trace(held.copy()),
        "evaluator": lambda held: repr(held.evaluators["all"].get()),
    }


def batch_calls(feed: Feed) -> Calls:
    lists = [{0, 3}, {4}, {1}], [feed.pred(SCORED_BEFORE), feed.pred(SCORED_FIRST), feed.pred({1: 0.5})]
    calls = {name: call for name, call in trace_calls(feed).items() if name in ("update", "columns", "copy")}
    return calls | {"update_many": lambda held: held.update_many(*lists)}


def ledger(feed: Feed) -> se.Ledger[Any]:
    made = se.Ledger(feed.evaluator())
    for shard in range(3):
        made.put(f"shard {shard}", 1, count(feed.evaluator(), feed, shard + 1))
    made.get()
    return made


def ledger_calls(feed: Feed) -> Calls:
    small, large = count(feed.evaluator(), feed, 2), count(feed.evaluator(), feed)
    large.update(NEW, feed.pred(SCORED_FIRST), weight=0.3)
    more, zero = se.Ledger(feed.evaluator()), se.Ledger(feed.evaluator())
    more.put("shard 1", 9, large)
    more.put("shard 7", 1, small)
    return {
        "put": lambda held: held.put("new", 1, small),
        "put of another": lambda held: held.put("newer", 1, large.to_bytes()),
        "put of what is newer": lambda held: held.put("shard 0", 2, large),
        "put of what is older": lambda held: held.put("shard 0", 0, large),
        "put of a conflict": lambda held: held.put("shard 0", 1, large),
        "merge": lambda held: held.merge(more),
        "merge with itself": lambda held: held.merge(held),
        "being merged": lambda held: (zero + held).to_bytes(),
        "compact": lambda held: held.compact(),
        "total": lambda held: held.total().to_bytes(),
        "state": lambda held: held.state("shard 2").to_bytes(),
        "shards": lambda held: held.shards(),
        "compacted": lambda held: held.compacted(),
        "len": len,
        "iteration": list,
    } | READS


def model_of(feed: Feed) -> Any:
    class Model:
        """Predicts the labels that it last learned."""

        seen = 0

        def predict_one(self, x: int) -> Any:
            return feed.pred({self.seen % 3: 0.5, x: 0.75})

        predict_proba_one = predict_one

        def learn_one(self, x: int, y: Any) -> None:
            self.seen += 1

    return Model()


def loop(feed: Feed, **choices: Any) -> tuple[Any, Any]:
    ev = feed.evaluator()
    stream = [(x, {x, 7}) for x in range(5)]
    snapshots = se.iter_progressive_evaluate(stream, model_of(feed), ev, **choices)
    next(snapshots)
    return snapshots, ev


LOOP: Calls = {
    "next": lambda held: repr(next(held[0])),
    "evaluator": lambda held: repr(held[1].get()),
    "to_bytes": lambda held: held[1].to_bytes(),
    "update": lambda held: held[1].update({0}, {1: 0.5} if held[1].reads_scores else {1}),
}

BY = ["region", "half"]
CLOSED: Calls = {
    "closed": lambda held: [(one.start, one.evaluator.to_bytes()) for one in held.closed],
    "last": lambda held: (last := held.last) and last.evaluator.to_bytes(),
}
OF_SLICES: Calls = {
    "slices": lambda held: [(repr(one.where), one.evaluator.to_bytes()) for one in held.slices()],
    "iteration": lambda held: repr([*held]),
    "total": lambda held: held.total().to_bytes(),
    "one of them": lambda held: held[{"region": "y"}].to_bytes(),
    "report": lambda held: held.report(),
}

EVALUATOR = holding(Feed.evaluator, READS | COUNTS | REPORTS, reverts=True, merges=True)
HOLDERS = {
    "Evaluator": EVALUATOR,
    "Evaluator that drops labels": Holder(compacting, EVALUATOR.calls),
    "Metric": holding(Feed.single, READS | COUNTS, reverts=True, merges=True),
    "Rolling": holding(
        lambda feed: se.Rolling(feed.evaluator(), size=3), READS | COUNTS | SNAPSHOT, reverts=False, merges=False
    ),
    "TimeRolling": holding(
        lambda feed: se.TimeRolling(feed.evaluator(), period=1.0),
        READS | COUNTS | SNAPSHOT | {"advance": lambda held: held.advance(2.0)},
        reverts=False, merges=True, t=True,
    ),
    "Fading": holding(
        lambda feed: se.Fading(feed.evaluator(), half_life=2), READS | COUNTS | SNAPSHOT, reverts=False, merges=False
    ),
    "Fading in time": holding(
        lambda feed: se.Fading(feed.evaluator(), half_life=0.75),
        READS | COUNTS | SNAPSHOT | {"advance": lambda held: held.advance(2.0)},
        reverts=False, merges=True, t=True,
    ),
    "Tumbling": holding(
        lambda feed: se.Tumbling(feed.evaluator(), size=2), READS | COUNTS | SNAPSHOT | CLOSED,
        reverts=False, merges=False,
    ),
    "Tumbling in time": holding(
        lambda feed: se.Tumbling(feed.evaluator(), period=0.75),
        READS | COUNTS | SNAPSHOT | CLOSED | {"advance": lambda held: held.advance(2.0)},
        reverts=False, merges=True, t=True,
    ),
    "Sliced": holding(
        lambda feed: se.Sliced(feed.evaluator(), by="region"), READS | OF_SLICES, reverts=True, merges=True, where=True
    ),
    "Sliced by two": holding(
        lambda feed: se.Sliced(feed.evaluator(), by=BY, cross=[BY], max_slices=2),
        READS | OF_SLICES, reverts=True, merges=True, where=True,
    ),
    "River's metric": Holder(
        lambda _: river.RiverMetric(count(se.F1(), FEEDS["decisions"])),
        river_calls,
        lambda held: held.metric.to_bytes(),
    ),
    "River's collection": Holder(
        collection, collection_calls, lambda held: [member.snapshot().to_bytes() for member in held.data]
    ),
    "Pending": Holder(pending, pending_calls, state_of_pending),
    "Pending for a time": Holder(lambda feed: pending(feed, max_age=10), pending_calls, state_of_pending),
    "Trace": Holder(trace, trace_calls, state_of_trace),
    "Trace of batches": Holder(
        lambda feed: count(se.Trace(feed.evaluator(), every=2), feed), batch_calls, state_of_trace
    ),
    "Ledger": Holder(ledger, ledger_calls),
    "the progressive loop": Holder(loop, lambda _: LOOP, lambda held: (held[1].to_bytes(), repr(list(held[0])))),
    "the progressive loop, delayed": Holder(
        lambda feed: loop(feed, delay=2), lambda _: LOOP, lambda held: (held[1].to_bytes(), repr(list(held[0])))
    ),
}  # fmt: skip

COUNTING = {title: holder for title, holder in HOLDERS.items() if holder.how is not None}
