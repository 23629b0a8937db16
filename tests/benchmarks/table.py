"""Compare the cost of work with that in other packages: ``python -m tests.benchmarks.table [--markdown FILE]``.

Both sides of a row run alternately in one process on the same input, after a comparison of their results. The smallest
time of each counts, because other work on the machine can only add to it. A row whose peer is not installed says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import streameval as se
from streameval import kernel
from tests.benchmarks.workloads import SIX, Bits, assert_same, bits, counted, examples

ROOT = Path(__file__).parents[2]
PEERS = ("numpy", "river", "scikit-learn", "scipy", "torch", "torchmetrics", "pyarrow")


@dataclass(frozen=True)
class Measured:
    """The cost of one unit of work on both sides, in seconds or bytes."""

    ours: float
    theirs: float
    unit: str = "s"


@dataclass(frozen=True)
class Row:
    """A line of the table. A positive target says how many times less we should need than the peer, a negative target
    how many times as much we may need; 0 is no target."""

    key: str
    work: str
    against: str
    target: float
    measure: Callable[[], Measured]


class AbsentError(Exception):
    """A package to compare with is not installed."""


# -- measuring --------------------------------------------------------------------------------------------------------


def in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], *, units: int = 1, seconds: float = 2.0, least: int = 7
) -> Measured:
    """The smallest time of each side per unit of work. The faster side runs more often in each round."""
    ours(), theirs()  # warm
    slow, fast = _timed(theirs), _timed(ours)
    often = max(1, min(50, int(slow / max(fast, 1e-9))))
    back = max(1, min(50, int(fast / max(slow, 1e-9))))
    best = [math.inf, math.inf]
    started, turns = time.perf_counter(), 0
    gc.collect()
    gc.disable()
    try:
        while turns < least or time.perf_counter() - started < seconds:
            for _ in range(often):
                best[0] = min(best[0], _timed(ours))
            for _ in range(back):
                best[1] = min(best[1], _timed(theirs))
            turns += 1
    finally:
        gc.enable()
    return Measured(best[0] / units, best[1] / units)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def needs(*names: str) -> None:
    for name in names:
        try:
            __import__(name)
        except ImportError:
            raise AbsentError(f"{name} is not installed") from None


def same(ours: float, theirs: float) -> None:
    assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12), (ours, theirs)


def fed(update: Callable[[Any, Any], object], true: list[Any], pred: list[Any]) -> Callable[[], None]:
    pairs = list(zip(true, pred, strict=True))

    def run() -> None:
        for t, p in pairs:
            update(t, p)

    return run


# -- one example ------------------------------------------------------------------------------------------------------


def river_six() -> dict[str, Any]:
    needs("river")
    from river import metrics
    from river.metrics import multioutput

    return {
        "subset_accuracy": multioutput.ExactMatch(),
        "f1_micro": multioutput.MicroAverage(metrics.F1()),
        "f1_macro": multioutput.MacroAverage(metrics.F1()),
        "f1_samples": multioutput.SampleAverage(metrics.F1()),
        "jaccard_samples": multioutput.SampleAverage(metrics.Jaccard()),
        "hamming_loss": multioutput.MicroAverage(metrics.Accuracy()),
    }


def one_mapping(count: int, labels: int, each: int) -> Callable[[], Measured]:
    def measure() -> Measured:
        stream, theirs = examples(count, labels, each), river_six()
        ev, peers = se.Evaluator(SIX), list(theirs.values())
        fed(ev.update, *stream.mappings)()
        assert_same(ev, stream.counted, stream.labels)

        def update_all(t: dict[str, bool], p: dict[str, bool]) -> None:
            for peer in peers:
                peer.update(t, p)

        run = fed(update_all, *stream.mappings)
        run()
        for name, peer in theirs.items():
            same(ev.get(name), 1 - peer.get() if name == "hamming_loss" else peer.get())
        return in_turn(fed(ev.update, *stream.mappings), run, units=count)

    return measure


def river_twenty() -> Measured:
    """Compare a collection of twenty of our River metrics with six metrics of River."""
    theirs = river_six()
    from streameval.adapters.river import MetricCollection
    from streameval.adapters.river.classes import CLASSES

    first = ("SubsetAccuracy", "MicroF1", "MacroF1", "SamplesF1", "SamplesJaccard", "HammingLoss")
    names = [*first, *(name for name in CLASSES if name not in first)][:20]
    stream = examples(200, 14, 4)
    ours = MetricCollection([CLASSES[name]() for name in names])
    peers = list(theirs.values())

    def update_all(t: dict[str, bool], p: dict[str, bool]) -> None:
        for peer in peers:
            peer.update(t, p)

    run, mine = fed(update_all, *stream.mappings), fed(ours.update, *stream.mappings)
    run(), mine()
    for metric, (name, peer) in zip(ours, theirs.items(), strict=False):
        same(metric.get(), 1 - peer.get() if name == "hamming_loss" else peer.get())
    return in_turn(mine, run, units=200)


def rolling() -> Measured:
    """Compare a window of the last 1,000 examples with an evaluator."""
    stream = examples(2000, 14, 4)
    window, plain = se.Rolling(se.Evaluator(SIX), size=1000), se.Evaluator(SIX)
    mine, theirs = fed(window.update, *stream.mappings), fed(plain.update, *stream.mappings)
    mine(), theirs()
    last = se.Evaluator(SIX)
    fed(last.update, *(side[-1000:] for side in stream.mappings))()
    assert window.snapshot() == last
    return in_turn(mine, theirs, units=2000)


def sets_of_3() -> Measured:
    rng = np.random.default_rng(3)
    stream = examples(500, 14, 3)
    for side in (stream.y_true, stream.y_pred):
        side[:] = np.argsort(rng.random(side.shape), axis=1) < 3
    by_set, by_mapping = se.Evaluator(SIX), se.Evaluator(SIX)
    mine, peer = fed(by_set.update, *stream.sets), fed(by_mapping.update, *stream.mappings)
    mine(), peer()
    assert_same(by_set, stream.counted, stream.labels)
    assert_same(by_mapping, stream.counted, stream.labels)
    return in_turn(mine, peer, units=500)


def fresh_keys() -> Measured:
    """Mappings whose keys are new objects in random order, like those parsed from JSON."""
    stream, rng = examples(200, 14, 4), np.random.default_rng(4)

    def copied(row: dict[str, bool]) -> dict[str, bool]:
        labels = list(row)
        return {(labels[x] + "-")[:-1]: row[labels[x]] for x in rng.permutation(len(labels)).tolist()}

    true, pred = ([copied(row) for row in side] for side in stream.mappings)
    ev, theirs = se.Evaluator(SIX), river_six()
    peers = list(theirs.values())
    fed(ev.update, true, pred)()
    assert_same(ev, stream.counted, stream.labels)

    def update_all(t: dict[str, bool], p: dict[str, bool]) -> None:
        for peer in peers:
            peer.update(t, p)

    run = fed(update_all, true, pred)
    run()
    same(ev.get("f1_macro"), theirs["f1_macro"].get())
    return in_turn(fed(ev.update, true, pred), run, units=200)


def get_macro() -> Measured:
    stream = examples(30, 1000, 19)
    peer = river_six()["f1_macro"]
    f1 = se.F1(average="macro")
    fed(f1.update, *stream.mappings)()
    fed(peer.update, *stream.mappings)()
    same(f1.get(), peer.get())
    return in_turn(f1.get, peer.get)


# -- matrices ---------------------------------------------------------------------------------------------------------


def dense_pair(rows: int, columns: int, share: float) -> tuple[Bits, Bits, se.Evaluator]:
    """Two matrices and an evaluator that has counted them, checked label by label."""
    y_true, y_pred = bits(rows, columns, share)
    ev = se.Evaluator(SIX)
    ev.update_many(y_true, y_pred)
    table = ev.per_label()
    both = (y_true & y_pred).sum(axis=0, dtype=np.int64)
    assert (table.tp == both).all()
    assert (table.fp == y_pred.sum(axis=0, dtype=np.int64) - both).all()
    assert (table.fn == y_true.sum(axis=0, dtype=np.int64) - both).all()
    same(ev.get("subset_accuracy"), float((y_true == y_pred).all(axis=1).mean()))
    return y_true, y_pred, ev


def dense_sklearn(rows: int, columns: int, share: float) -> Callable[[], Measured]:
    def measure() -> Measured:
        needs("sklearn.metrics")
        from sklearn.metrics import f1_score

        y_true, y_pred, ev = dense_pair(rows, columns, share)

        def theirs() -> float:
            return float(f1_score(y_true, y_pred, average="macro", zero_division=0))

        same(ev.get("f1_macro"), theirs())
        return in_turn(lambda: ev.update_many(y_true, y_pred), theirs)

    return measure


def torchmetrics_14(labels: int) -> Any:
    needs("torch", "torchmetrics")
    from torchmetrics import MetricCollection, classification as c

    how = {"num_labels": labels, "validate_args": False}
    averaged = {
        f"{name}_{average}": made(average=average, **how)
        for name, made, averages in (
            ("f1", c.MultilabelF1Score, ("micro", "macro", "weighted")),
            ("precision", c.MultilabelPrecision, ("micro", "macro")),
            ("recall", c.MultilabelRecall, ("micro", "macro")),
            ("accuracy", c.MultilabelAccuracy, ("micro", "macro")),
            ("specificity", c.MultilabelSpecificity, ("macro",)),
            ("hamming", c.MultilabelHammingDistance, ("micro",)),
            ("jaccard", c.MultilabelJaccardIndex, ("macro",)),
        )
        for average in averages
    }
    return MetricCollection(
        {
            **averaged,
            "fbeta_macro": c.MultilabelFBetaScore(beta=2.0, average="macro", **how),
            "exact": c.MultilabelExactMatch(**how),
        },
        compute_groups=True,
    )


def same_as_torchmetrics(ev: se.Evaluator, collection: Any) -> None:
    assert len(collection) == 14
    result = {name: float(value) for name, value in collection.compute().items()}
    names = {"exact": "subset_accuracy", "hamming_micro": "hamming_loss", "fbeta_macro": "fbeta_macro(beta=2)"}
    checked = [name for name in result if not name.startswith(("accuracy", "specificity"))]
    for name in checked:
        # torchmetrics computes with float32
        assert math.isclose(result[name], ev.get(names.get(name, name)), rel_tol=1e-4), name
    table = ev.per_label()
    negatives = np.mean(table.tn / np.maximum(1, table.tn + table.fp))
    assert math.isclose(result["specificity_macro"], negatives, rel_tol=1e-4)


def dense_torchmetrics() -> Measured:
    collection = torchmetrics_14(100)
    import torch

    y_true, y_pred, ev = dense_pair(100_000, 100, 0.5)
    target, guess = torch.from_numpy(y_true), torch.from_numpy(y_pred)
    collection.update(guess, target)  # the first update determines the compute groups
    same_as_torchmetrics(ev, collection)
    return in_turn(lambda: ev.update_many(y_true, y_pred), lambda: collection.update(guess, target))


def dense_reading(rows: int, columns: int) -> Callable[[], Measured]:
    def measure() -> Measured:
        y_true, y_pred, ev = dense_pair(rows, columns, 0.1)
        words = [side.reshape(-1).view(np.uint64) for side in (y_true, y_pred)]
        return in_turn(
            lambda: ev.update_many(y_true, y_pred), lambda: [np.bitwise_xor.reduce(side) for side in words], least=20
        )

    return measure


THREE = ("f1_macro", "lrap", "roc_auc_macro")


def one_pass(rows: int, step: int) -> Callable[[], Measured]:
    """Compare one evaluator for decisions, rankings and curves with three evaluators for one of these each."""

    def measure() -> Measured:
        rng = np.random.default_rng(6)
        scores, y_true = rng.random((rows, 100), np.float32), (rng.random((rows, 100)) < 0.05).astype(np.uint8)

        def fed_with(metrics: tuple[str, ...]) -> se.Evaluator:
            ev = se.Evaluator(metrics, labels=range(100), threshold=0.5)
            for start in range(0, rows, step):
                ev.update_many(y_true[start : start + step], scores[start : start + step])
            return ev

        def single() -> list[se.Evaluator]:
            return [fed_with((name,)) for name in THREE]

        assert list(fed_with(THREE).get().values()) == [ev.get(*THREE[i : i + 1]) for i, ev in enumerate(single())]
        return in_turn(lambda: fed_with(THREE), single, least=3)

    return measure


def curves_sklearn() -> Measured:
    """The macro-averaged area of 100,000 x 100 scores, counted in batches of 1,000 and read once."""
    needs("sklearn.metrics")
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(7)
    logits = rng.normal(-3, 1.5, (100_000, 100)).astype(np.float32)
    scores, y_true = 1 / (1 + np.exp(-logits)), (rng.random((100_000, 100)) < 0.05).astype(np.uint8)

    def mine() -> se.Evaluator:
        ev = se.Evaluator(["roc_auc_macro"], labels=range(100))
        for start in range(0, len(scores), 1000):
            ev.update_many(y_true[start : start + 1000], scores[start : start + 1000])
        ev.get()
        return ev

    def theirs() -> float:
        return float(roc_auc_score(y_true, scores, average="macro"))

    bounds = mine().bounds("roc_auc_macro")
    assert isinstance(bounds, se.Bounds)
    assert bounds.low - 1e-12 <= theirs() <= bounds.high + 1e-12
    assert bounds.width < 1e-4
    return in_turn(mine, theirs, least=3)


def scores_sklearn() -> Measured:
    needs("sklearn.metrics")
    from sklearn.metrics import f1_score

    y_true, y_pred = bits(100_000, 100, 0.5)
    scores = np.where(y_pred, np.float32(0.5), np.float32(0.4999))
    ev = se.Evaluator(SIX, threshold=0.5)
    ev.update_many(y_true, scores)

    def theirs() -> float:
        return float(f1_score(y_true, scores >= 0.5, average="macro", zero_division=0))

    same(ev.get("f1_macro"), theirs())
    return in_turn(lambda: ev.update_many(y_true, scores), theirs)


def weighted_sklearn() -> Measured:
    needs("sklearn.metrics")
    from sklearn.metrics import f1_score

    y_true, y_pred = bits(100_000, 100, 0.5)
    weights = np.random.default_rng(5).random(100_000)
    ev = se.Evaluator(SIX)
    ev.update_many(y_true, y_pred, weights=weights)

    def theirs() -> float:
        return float(f1_score(y_true, y_pred, average="macro", zero_division=0, sample_weight=weights))

    same(ev.get("f1_macro"), theirs())
    return in_turn(lambda: ev.update_many(y_true, y_pred, weights=weights), theirs)


def sparse_sklearn() -> Measured:
    needs("sklearn.metrics", "scipy.sparse")
    from scipy import sparse
    from sklearn.metrics import multilabel_confusion_matrix

    y_true, y_pred = (sparse.csr_array(side.astype(np.int64)) for side in bits(16_105, 983, 19 / 983))
    ev = se.Evaluator(SIX)
    ev.update_many(y_true, y_pred)

    def theirs() -> np.ndarray[Any, Any]:
        return multilabel_confusion_matrix(y_true, y_pred)

    assert (ev.multilabel_confusion() == theirs()).all()
    return in_turn(lambda: ev.update_many(y_true, y_pred), theirs)


def arrow_loop() -> Measured:
    needs("pyarrow")
    import pyarrow as pa

    rng, count = np.random.default_rng(6), 1_000_000
    names = [f"label {x}" for x in range(50)]

    def column() -> Any:
        lengths = rng.integers(0, 5, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        # Four labels in steps of 1 to 12 from a first one are distinct modulo 50.
        row = np.repeat(np.arange(count), lengths)
        place = np.arange(offsets[-1]) - offsets[row]
        codes = (rng.integers(0, 50, count)[row] + place * rng.integers(1, 13, count)[row]) % 50
        values = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names)).cast(pa.string())
        return pa.ListArray.from_arrays(pa.array(offsets), values)

    y_true, y_pred = column(), column()
    true, pred = ([set(labels) for labels in side.to_pylist()] for side in (y_true, y_pred))
    ev = se.Evaluator(SIX)
    ev.update_many(y_true, y_pred)
    assert_same(ev, counted(true, pred), names)
    return in_turn(lambda: ev.update_many(y_true, y_pred), lambda: counted(true, pred))


# -- shards -----------------------------------------------------------------------------------------------------------


def merge_torchmetrics() -> Measured:
    mine = []
    names = [f"label {x}" for x in range(1000)]
    peers = [torchmetrics_14(1000) for _ in range(2)]
    import torch

    for seed, peer in enumerate(peers):
        y_true, y_pred = bits(1000, 1000, 0.019, seed=seed)
        ev = se.Evaluator(SIX, labels=names)
        ev.update_many(y_true, y_pred)
        mine.append(se.Evaluator.from_bytes(ev.to_bytes()))
        for part in (slice(None, 500), slice(500, None)):
            peer.update(torch.from_numpy(y_pred[part]), torch.from_numpy(y_true[part]))
    pairs = [
        (metric, peers[1][name]) for name, metric in peers[0].items(keep_base=True, copy_state=False)
    ]  # a collection has no merge_state

    def theirs() -> None:
        for left, there in pairs:
            left.merge_state(there)

    mine[0].merge(mine[1])
    theirs()
    same_as_torchmetrics(mine[0], peers[0])
    return in_turn(lambda: mine[0].merge(mine[1]), theirs)


# -- processes of their own -------------------------------------------------------------------------------------------


def child(code: str, *arguments: str, **environment: str) -> str:
    """The output of code in a new interpreter."""
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**settings, **environment}, cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip().splitlines()[-1]


def importing() -> Measured:
    code = "import sys, time; t = time.perf_counter(); __import__(sys.argv[1]); print(time.perf_counter() - t)"
    best = {"streameval": math.inf, "numpy": math.inf}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(21):
            for name in best:
                spent = float(child(code, name, PYTHONPYCACHEPREFIX=folder))
                if turn:  # the first turn also compiles the modules
                    best[name] = min(best[name], spent)
    return Measured(best["streameval"], best["numpy"])


MEMORY = """
import gc, sys, tracemalloc
import streameval as se
from tests.benchmarks.workloads import distinct_labels

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

side, how = sys.argv[1:]
se.Evaluator().update_many([["a"]], [["a"]])
gc.collect()
if how == "traced":
    tracemalloc.start()
before = tracemalloc.get_traced_memory()[0] if how == "traced" else resident()
if side == "ours":
    counts = se.Evaluator()
    lists = distinct_labels(1_000_000)
    batch = []
    for labels in lists:
        batch.append(labels)
        if len(batch) == 20_000:
            counts.update_many(batch, batch)
            batch = []
    del labels, batch
else:
    counts = {}
    for labels in distinct_labels(1_000_000):
        for label in labels:
            counts[label] = len(counts)
    del labels, label
gc.collect()
spent = (tracemalloc.get_traced_memory()[0] if how == "traced" else resident()) - before
# Only now, since sorting the labels takes memory too.
assert len(counts.labels if side == "ours" else counts) == 1_000_000
print(spent)
"""


def memory(how: str) -> Callable[[], Measured]:
    def measure() -> Measured:
        if how == "resident" and not Path("/proc/self/statm").exists():
            raise AbsentError("only on Linux")
        ours, theirs = (min(float(child(MEMORY, side, how)) for _ in range(2)) for side in ("ours", "theirs"))
        return Measured(ours, theirs, "B")

    return measure


def with_numpy_kernel(key: str) -> Callable[[], Measured]:
    def measure() -> Measured:
        code = "import sys; from tests.benchmarks.table import as_json; print(as_json(sys.argv[1]))"
        result = json.loads(child(code, key, STREAMEVAL_KERNEL="numpy"))
        if isinstance(result, str):
            raise AbsentError(result)
        return Measured(**result)

    return measure


def as_json(key: str) -> str:
    """The result of one row as JSON, for a parent process that uses another kernel."""
    try:
        return json.dumps(asdict(next(row for row in ROWS if row.key == key).measure()))
    except AbsentError as error:
        return json.dumps(str(error))


# -- the table --------------------------------------------------------------------------------------------------------

SIX_IN_RIVER = "River, the same six metrics"
ONLY_F1 = "scikit-learn, `f1_score` only macro"
AUC_MACRO = "scikit-learn, `roc_auc_score` macro"
ONLY_THREE = "three evaluators, one for each"

ROWS = (
    Row("one", "`update`, mapping of 14 labels, six metrics", SIX_IN_RIVER, 100, one_mapping(200, 14, 4)),
    Row("one-100", "the same, 100 labels", SIX_IN_RIVER, 100, one_mapping(100, 100, 10)),
    Row("one-1000", "the same, 1,000 labels", SIX_IN_RIVER, 100, one_mapping(20, 1000, 19)),
    Row("one-fresh", "the same, 14 labels, keys equal but not the same objects", SIX_IN_RIVER, 0, fresh_keys),
    Row("river", "`update`, 14 labels, twenty of our River metrics collected", SIX_IN_RIVER, 50, river_twenty),
    Row("rolling", "`Rolling` of 1,000 examples, `update`", "our own `Evaluator.update`", -3, rolling),
    Row("sets", "`update`, sets of 3 of 14 labels", "our own mapping of 14 labels", 2, sets_of_3),
    Row("get", "`get()`, macro F1 of 1,000 labels", "River, `MacroAverage(F1)`", 20, get_macro),
    Row("dense", "`update_many`, 100,000 x 100 bytes, half ones", ONLY_F1, 200, dense_sklearn(100_000, 100, 0.5)),
    Row("dense-10", "the same, one in ten", ONLY_F1, 200, dense_sklearn(100_000, 100, 0.1)),
    Row("torch", "the same, half ones", "torchmetrics, `update` of 14 metrics", 200, dense_torchmetrics),
    Row("narrow", "100,000 x 14 bytes, half ones", ONLY_F1, 200, dense_sklearn(100_000, 14, 0.5)),
    Row("narrow-30", "the same, three in ten", ONLY_F1, 200, dense_sklearn(100_000, 14, 0.3)),
    Row("wide", "10,000 x 1,000 bytes, half ones", ONLY_F1, 200, dense_sklearn(10_000, 1000, 0.5)),
    Row("wide-2", "the same, one in fifty", ONLY_F1, 200, dense_sklearn(10_000, 1000, 0.02)),
    Row("read", "100,000 x 100 bytes, one in ten", "reading both arrays once", -4, dense_reading(100_000, 100)),
    Row("read-far", "1,000,000 x 100 bytes, one in ten", "reading both arrays once", 0, dense_reading(10**6, 100)),
    Row("scores", "100,000 x 100 float32 scores, threshold", f"{ONLY_F1}, after `>=`", 0, scores_sklearn),
    Row("areas", "macro `roc_auc`, update and get, 100,000 x 100 float32", AUC_MACRO, 8, curves_sklearn),
    Row("pass", "decisions, rankings, curves at once, 10,000 x 100", ONLY_THREE, -1.2, one_pass(10_000, 10_000)),
    Row("pass-10", "the same, 100,000 x 100 in batches of 1,000", ONLY_THREE, -1.2, one_pass(100_000, 1000)),
    Row("weights", "100,000 x 100 bytes, weights", f"{ONLY_F1}, weights", 0, weighted_sklearn),
    Row("sparse", "CSR, 16,105 x 983, 19 a row", "scikit-learn, `multilabel_confusion_matrix`", 20, sparse_sklearn),
    Row("arrow", "Arrow lists of strings, 1,000,000 examples", "a loop over Python sets", 10, arrow_loop),
    Row("merge", "`merge`, 1,000 labels", "torchmetrics, `merge_state` of 14 metrics", 5, merge_torchmetrics),
    Row("import", "`import streameval`", "`import numpy`", -1.5, importing),
    Row("traced", "1,000,000 labels, traced memory", "a dict label -> int", -2, memory("traced")),
    Row("resident", "1,000,000 labels, resident memory", "a dict label -> int", -2, memory("resident")),
    Row("one-numpy", "numpy kernel: `update`, 14 labels", SIX_IN_RIVER, 0, with_numpy_kernel("one")),
    Row("dense-numpy", "numpy kernel: 100,000 x 100, half ones", ONLY_F1, 0, with_numpy_kernel("dense")),
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, as text."""
    try:
        result = row.measure()
    except AbsentError as error:
        return row.work, row.against, "", "", str(error), "", ""
    costs = row.target < 0 or row.key == "read-far"
    ratio = result.ours / result.theirs if costs else result.theirs / result.ours
    target = "" if not row.target else f"at most {-row.target:g}" if costs else f"{row.target:g}"
    met = "" if not row.target else "yes" if (ratio <= -row.target if costs else ratio >= row.target) else "no"
    displayed = f"{ratio:.2f} x as much" if costs else f"{ratio:.{0 if ratio >= 20 else 1}f} x less"
    return (
        row.work,
        row.against,
        _amount_text(result.ours, result.unit),
        _amount_text(result.theirs, result.unit),
        displayed,
        target,
        met,
    )


def _amount_text(amount: float, unit: str) -> str:
    if unit == "B":
        return f"{amount / 1e6:.0f} MB"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if amount >= scale:
            return f"{amount / scale:.3g} {name}"
    return f"{amount * 1e9:.0f} ns"


def line(result: tuple[str, ...]) -> str:
    return "| " + " | ".join(result) + " |\n"


def heading() -> str:
    def version(name: str) -> str:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            return f"{name} absent"

    versions = ", ".join(map(version, PEERS[:4])) + ",\n" + ", ".join(map(version, PEERS[4:]))
    message = f"Python {platform.python_version()}, {versions}; {platform.system()} {platform.machine()}, "
    return f"{message}{os.cpu_count()} cores; streameval {se.__version__}, kernel {kernel.BACKEND}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.table", description=__doc__)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to this file as well")
    parser.add_argument("--only", nargs="*", choices=[row.key for row in ROWS], help="measure only these rows")
    chosen = parser.parse_args()
    head = ("work", "against", "ours", "theirs", "ratio", "target", "met")
    written = [heading(), line(head), line(tuple("-" * len(name) for name in head))]
    sys.stdout.write("".join(written))
    for row in ROWS:
        if chosen.only and row.key not in chosen.only:
            continue
        written.append(line(cells(row)))
        sys.stdout.write(written[-1])
        sys.stdout.flush()
    if chosen.markdown:
        chosen.markdown.write_text("".join(written), encoding="utf-8")


if __name__ == "__main__":
    main()
