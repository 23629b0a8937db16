"""Write the golden files of this format version: python -m tests.golden.write. Existing files are never replaced.

A change that needs to replace one breaks the format: give it a new version, and keep the old files and their reader.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.progressive.predictions import from_compact
from tests.support.kinds import TRIALS

FOLDER = Path(__file__).parent
VALUES = FOLDER / "values.json"
LATER = {"lwlrap_per_label"}
"""Metrics that were added to the trials of a kind after its files were written."""
METRICS = ["f1_micro", "f1_macro(zero_division=nan)", "jaccard_samples", "mcc_per_label"]
SETS = [({"a", "b"}, {"a"}), ({7, "é"}, {"b", 7}), (set(), set()), ({"🙂"}, {"a", -(2**70)}), ({"a"}, {"a"})]


def fed(target: Any, **options: Any) -> Any:
    for y_true, y_pred in SETS:
        target.update(y_true, y_pred, **options)
    return target


def timed(target: Any) -> Any:
    for hour, (y_true, y_pred) in enumerate(SETS):
        target.update(y_true, y_pred, t=datetime(2024, 5, 1, hour, tzinfo=UTC))
    return target


def fixed() -> Any:
    ev = se.Evaluator(
        METRICS[:1], labels=["x", 1, "y"], unknown="add", threshold={"x": 0.5, 1: -1.0, "y": 0.7, "z": 2.0}
    )
    ev.update({"x", "y"}, {"x": 0.6, "z": 3.0, 1: -2.0})
    ev.update({"x": 1, 1: None}, {"x": 0.4, "y": 0.7})
    return ev


def weighted() -> Any:
    ev = se.Evaluator(METRICS)
    for (y_true, y_pred), weight in zip(SETS, (0.1, 3e-300, 0.0, 1e300, 2.5), strict=True):
        ev.update(y_true, y_pred, weight=weight, mask={"b"} if weight < 1 else None)
    return ev


def scored(metrics: Iterable[str], **options: Any) -> Any:
    return scored_in(se.Evaluator(metrics, **options))


def scored_in(target: Any, where: Iterable[dict[str, Any]] = ({}, {}, {})) -> Any:
    first, second, third = where
    target.update({"a", "b"}, {"a": 0.9, "b": 0.4, "c": 0.4}, **first)
    target.update({"c"}, {"a": 0.3, "c": 0.30000001}, weight=0.75, **second)
    target.update({"a"}, {"a": 0.1, "b": 0.8, "c": 0.2}, mask={"c"}, **third)
    return target


def evaluator_of(kind: str) -> Any:
    """An evaluator of the metrics in the trials of a kind."""
    trial = TRIALS[kind]
    metrics = [name for name in trial.metrics if name not in LATER]
    return se.Evaluator(metrics, threshold=0.4, **trial.arguments("abc"))


def window_of(kind: str) -> Any:
    return scored_in(se.Tumbling(evaluator_of(kind), size=2, history=2))


def slices_of(kind: str) -> Any:
    return scored_in(se.Sliced(evaluator_of(kind), by=["region"]), [{"where": {"region": name}} for name in "xyx"])


def scores_in(target: Any) -> Any:
    for score in (0.9, 0.4, 0.30000001, -2.5):
        target.update({"a", "b"} if score > 0.35 else {"c"}, {"a": score, "b": 0.4, "c": -score})
    return target


def sliced(**options: Any) -> Any:
    """Slices of every kind of value."""
    made = se.Sliced(se.Evaluator(METRICS[:1]), by=["region", "device"], cross=[("region", "device")], **options)
    for (y_true, y_pred), region, device in zip(
        SETS, ("eu", None, 7, True, "eu"), ("x", "x", "y", "é", None), strict=True
    ):
        made.update(y_true, y_pred, where={"region": region, "device": device})
    return made


def large() -> Any:
    """An evaluator whose counts need all eight bytes."""
    ev = fed(se.Evaluator(["hamming_loss"]))
    for _ in range(60):
        ev.merge(ev)
    return ev


def ledger(*, compacted: bool) -> Any:
    made = se.Ledger()
    for sequence, shard in enumerate(("p", "q", 3, "r")):
        made.put(shard, sequence, fed(se.Evaluator(METRICS[:1])), epoch=sequence % 2)
    if compacted:
        made.compact(["q", 3])
    return made


def pending(**options: Any) -> Any:
    """Predictions of every form, with keys of every kind."""
    made = se.Pending(se.Evaluator(METRICS[:1], labels=["a", "b", 7], threshold=0.5), no_prediction="count", **options)
    made._trials = []  # disables the check, because the files must have every form, even those this evaluator refuses
    scores = {"b": 0.25, "a": 0.5}
    predictions = [
        {"b", "a"}, {"b", 7, "a"}, {"b", "a"}, scores, dict.fromkeys(scores, 0.1), {"a": True, "b": False},
        {"a": 1, "b": None, 7: 0.5}, ["b", "a"], ("a",), [0.5, 0.1, 1.0], [True, False], np.array([0.5, 0.1], "f4"),
        np.array([1, 0, 1], "i8"), np.array(["a", "b"]), {}, set(),
    ]  # fmt: skip
    keys = ["text", 7, -(2**70), b"raw", None, True, ("user", 3, (b"", None)), *range(20, 40)]
    for place, (key, y_pred) in enumerate(zip(keys, predictions, strict=False)):
        made.predict(key, y_pred, t=datetime(2024, 5, 1, tzinfo=UTC) + timedelta(minutes=place))
    made.observe(b"raw", {"a"}, weight=0.5)
    made.observe("never predicted", {"a"})
    return made


def fed_later(target: Any) -> Any:
    target.predict(1, {"a"}, t=3)
    target.predict(2, {"b"}, t=3.5)
    target.observe(1, {"a", "b"}, t=4)
    return target


def trace() -> Any:
    made = se.Trace({"all": se.Evaluator(["f1_micro", "recall_per_label"]), "last": se.Rolling(se.F1(), 2)}, every=2)
    for place, (y_true, y_pred) in enumerate(SETS):
        made.update(y_true, y_pred, t=None if place < 2 else place * 0.75)
    made.record()
    return made


MAKE: dict[str, Callable[[], Any]] = {
    "evaluator": lambda: fed(se.Evaluator(METRICS)),
    "evaluator-fixed": fixed,
    "evaluator-weighted": weighted,
    "evaluator-large": large,
    "evaluator-empty": se.Evaluator,
    "metric": lambda: fed(se.FBeta(beta=2, average="samples")),
    "rankings": lambda: scored(
        ["ndcg(k=2)", "label_coverage_at(k=2)", "psp_at(k=2)", "ranking_loss"],
        inverse_propensities={"a": 1.5, "b": 2.0, "c": 4.0},
        ties="last",
    ),
    "rankings-by-label": lambda: scored(["lwlrap_per_label"]),
    "curves": lambda: scored(["roc_auc_macro", "brier_score_micro", "average_precision_per_label"]),
    "pairs": lambda: scored(["f1_micro"], keep=["pairs"], threshold=0.4),
    "everything": lambda: scored(["f1_micro", "one_error", "roc_auc_micro"], keep=["pairs"], threshold=0.4),
    "rolling": lambda: fed(se.Rolling(se.Evaluator(METRICS), size=3)),
    "rolling-weighted": lambda: fed(se.Rolling(se.F1(), size=3), weight=0.1),
    "time-rolling": lambda: timed(se.TimeRolling(se.Evaluator(METRICS[:1]), period=timedelta(hours=2))),
    "tumbling": lambda: fed(se.Tumbling(se.Evaluator(METRICS[:1]), size=2, history=2)),
    "tumbling-period": lambda: timed(se.Tumbling(se.F1(), period=timedelta(hours=2), history=3)),
    "fading": lambda: fed(se.Fading(se.Evaluator(METRICS[:1]), half_life=3)),
    "fading-time": lambda: timed(se.Fading(se.F1(), half_life=timedelta(hours=1))),
    "pairs-parts": lambda: scored(["scumble", "distinct_labelsets"], keep=["contributions"], threshold=0.4),
    "rolling-scores": lambda: scores_in(se.Rolling(se.Evaluator(["ranking_loss", "roc_auc_micro"]), size=2)),
    "tumbling-scores": lambda: scores_in(se.Tumbling(se.Evaluator(["roc_auc_macro"]), size=2, history=2)),
    "fading-scores": lambda: scores_in(
        se.Fading(se.Evaluator(["one_error", "mlcm_f1_macro"], threshold=0.4), half_life=3)
    ),
    "sliced": sliced,
    "sliced-overflow": lambda: sliced(max_slices=1),
    "ledger": lambda: ledger(compacted=False),
    "ledger-compacted": lambda: ledger(compacted=True),
    "ledger-empty": lambda: se.Ledger(se.F1()),
    "checkpoint": lambda: se.Checkpoint(fed(se.Evaluator(METRICS)), 5),
    "checkpoint-ledger": lambda: se.Checkpoint(ledger(compacted=True), 2**63 - 1),
    "pending": lambda: pending(max_pending=14, max_age=timedelta(days=1)),
    "pending-trace": lambda: fed_later(se.Pending(trace())),
    "trace": trace,
    "trace-metrics": lambda: fed(se.Trace(se.Evaluator(), every=1, metrics=["f1_micro", "hamming_loss"])),
    "checkpoint-pending": lambda: se.Checkpoint(pending(), 14),
    **{f"tumbling-{name}": partial(window_of, name) for name in TRIALS},
    **{f"sliced-{name}": partial(slices_of, name) for name in TRIALS},
    **{f"kept-{name}": partial(scored, ["f1_micro"], keep=[name], threshold=0.4) for name in KINDS},
}


def readings(target: Any) -> Any:
    """The values that can be read from an object, with floats exact to the last bit."""
    if isinstance(target, se.Checkpoint):
        return {"position": target.position, **readings(target.evaluator)}
    if isinstance(target, se.Pending):
        waits = [f"{key!r}, {said(from_compact(row))}, {t}" for key, (row, t) in target._waiting.items()]
        counts = [target.without_prediction, *target.evicted.values()]
        return {"waiting": waits, "late and evicted": counts, "counted": readings(target.evaluator)}
    if isinstance(target, se.Trace):
        columns = {name: ", ".join(map(str, column)) for name, column in target.columns().items()}
        return {"columns": columns, "counted": {name: readings(one) for name, one in target.evaluators.items()}}
    value = target.get()
    result = {"class": type(target).__name__, "examples": target.examples, "values": exact(value)}
    if isinstance(target, se.Ledger):
        result["shards"] = [[shard, *version] for shard, version in target.shards().items()]
        result["compacted"] = [list(names) for names in target.compacted()]
    elif isinstance(target, se.Sliced):
        parts = [part for axis in (*target.by, *target.cross) for part in target.slices(axis)]
        result["values"] = [[str(part.where), exact(part.evaluator.get())] for part in parts]
    else:
        result["labels"] = list(target.labels)
    return result


def said(prediction: Any) -> str:
    """A string for a prediction that does not depend on the order of its labels."""
    if isinstance(prediction, set | dict):
        labels = prediction.items() if isinstance(prediction, dict) else prediction
        return f"{type(prediction).__name__} {sorted(labels, key=repr)}"
    return f"array {prediction.tolist()}" if isinstance(prediction, np.ndarray) else repr([*prediction])


def exact(value: Any) -> Any:
    if isinstance(value, dict):
        return [[name, exact(part)] for name, part in value.items()]
    return value.hex() if isinstance(value, float) else value


def main() -> None:
    values = json.loads(VALUES.read_text(encoding="utf-8")) if VALUES.exists() else {}
    for name, make in MAKE.items():
        path = FOLDER / f"{name}.v2.bin"
        if path.exists():
            sys.stdout.write(f"{path.name} stays as it is\n")
            continue
        made = make()
        with path.open("xb") as file:
            file.write(made.to_bytes())
        values[path.name] = readings(made)
        sys.stdout.write(f"{path.name}: {path.stat().st_size} bytes\n")
    VALUES.write_text(json.dumps(values, indent=1, ensure_ascii=True, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
