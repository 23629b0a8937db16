"""Peak memory of writing, reading, copying and merging states: ``python -m tests.benchmarks.memory [WORD ...]``.

Every case runs in a process of its own, with a state that was read from a file. A cell is the peak of resident memory
above the memory before the call, divided by the size of the bytes, and divided by the size of the object. For `load`
and `from_bytes` the peak includes the new object. It excludes input bytes, merged objects and imported modules.
"""

from __future__ import annotations

import ctypes
import gc
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.progressive.holder import emptied

VERBS = ("to_bytes", "save", "from_bytes", "load", "copy", "merge")


def lists(n: int, labels: int, each: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    names = np.array([f"label {number}" for number in range(labels)], object)
    draw = rng.integers(0, labels, (2, n, each))
    return tuple([list(dict.fromkeys(row)) for row in names[part].tolist()] for part in draw)  # type: ignore[return-value]


def scores(n: int, labels: int, kind: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((n, labels)) < 0.2, rng.random((n, labels)).astype(kind)


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(2).random(n)


def names(count: int) -> list[str]:
    return [f"label {number}" for number in range(count)]


def decisions(n: int, labels: int, weighted: bool = False, each: int = 12) -> Any:
    ev = se.Evaluator(["f1_macro", "f1_samples"])
    ev.update_many(*lists(n, labels, each), weights=weights(n) if weighted else None)
    return ev


def integers(metric: str, count: int) -> Any:
    """An evaluator with integer labels, each of which takes few bytes."""
    ev = se.Evaluator([metric])
    ev.update_many(*[[[7 * number] for number in range(count)]] * 2)
    return ev


def each(made: Any, count: int, scored: bool = False, weighted: bool = False) -> Any:
    """Count examples that each have a different label."""
    true = [[name] for name in names(count)]
    pred = [{name: at / count} for at, (name,) in enumerate(true)] if scored else true
    made.update_many(true, pred, weights=weights(count) if weighted else None)
    return made


def counted(metrics: list[str], n: int, labels: int, weighted: bool = False, kind: type = np.float64) -> Any:
    ev = se.Evaluator(metrics, labels=names(labels))
    true, pred = scores(n, labels, kind)
    for start in range(0, n, 10_000):
        rows = slice(start, start + 10_000)
        ev.update_many(true[rows], pred[rows], weights=weights(n)[rows] if weighted else None)
    return ev


def weighted_scores(keep: str) -> Any:
    ev = se.Evaluator(keep=[keep], labels=names(40), threshold=0.5)
    ev.update_many(*scores(20_000, 40, np.float32), weights=weights(20_000))
    return ev


def pairs(n: int, labels: int, keep: str, each: int = 4, weighted: bool = False) -> Any:
    ev = se.Evaluator(keep=[keep])
    ev.update_many(*lists(n, labels, each), weights=weights(n) if weighted else None)
    return ev


def rolling(n: int, scored: bool) -> Any:
    if scored:
        made = se.Rolling(se.Evaluator(["lrap"], labels=names(8)), n)
        made.update_many(*scores(n, 8, np.float32))
    else:
        made = se.Rolling(se.Evaluator(["f1_macro"]), n)
        made.update_many(*lists(n, 1_000, 8))
    return made


def timed(kind: type, length: float) -> Any:
    made = kind(se.Evaluator(["f1_macro"]), length)
    true, pred = lists(150_000, 1_000, 8)
    made.update_many(true, pred, times=np.arange(len(true)) // 4)
    return made


def blocks(kind: type, **options: Any) -> Any:
    made = kind(se.Evaluator(["f1_macro"]), **options)
    true, pred = lists(100_000, 40_000, 8)
    made.update_many(true, pred, times=np.arange(len(true)) / 1.0)
    return made


def sliced(count: int) -> Any:
    made = se.Sliced(se.Evaluator(["f1_macro"]), by="slice", max_slices=count)
    true, pred = lists(20 * count, 500, 4)
    made.update_many(true, pred, where={"slice": [number % count for number in range(len(true))]})
    return made


def ledger(count: int) -> Any:
    made = se.Ledger(se.Evaluator(["f1_macro"]))
    for shard in range(count):
        ev = se.Evaluator(["f1_macro"])
        ev.update_many(*lists(500, 2_000, 6, seed=shard))
        made.put(shard, 1, ev)
    return made


CASES: dict[str, Callable[[], Any]] = {
    **{f"{name} weighted": lambda name=name: weighted_scores(name) for name in KINDS},
    "decisions, 20,000 labels": lambda: decisions(20_000, 20_000),
    "decisions, 300,000 labels": lambda: decisions(300_000, 300_000, each=4),
    "decisions, 250,000 integers": lambda: integers("f1_macro", 250_000),
    "decisions weighted, 20,000 labels": lambda: decisions(20_000, 20_000, True),
    "decisions weighted, 150,000 labels": lambda: decisions(150_000, 150_000, True, each=4),
    "label sets, 5,000": lambda: pairs(5_000, 300, "labelsets"),
    "label sets, 800,000": lambda: pairs(800_000, 300, "labelsets"),
    "label sets weighted, 150,000": lambda: pairs(150_000, 300, "labelsets", weighted=True),
    "pairs": lambda: pairs(40_000, 1_000, "cooccurrence", 8),
    "confusions": lambda: pairs(20_000, 3_000, "confusions", 14),
    "pairs weighted": lambda: pairs(10_000, 1_000, "cooccurrence", 8, weighted=True),
    "rankings": lambda: counted(["lrap", "coverage_error"], 20_000, 40),
    "rankings, 200,000 integers": lambda: integers("precision_at(k=1)", 200_000),
    "rankings, many": lambda: counted(["lrap", "coverage_error"], 20_000, 400),
    "rankings weighted, many": lambda: counted(["lrap", "coverage_error"], 8_000, 300, True),
    "curves float32": lambda: counted(["roc_auc_macro"], 40_000, 8, kind=np.float32),
    "curves weighted, 1.7 MB": lambda: counted(["roc_auc_macro"], 2_000, 12, True, np.float32),
    "curves weighted": lambda: counted(["roc_auc_macro"], 6_000, 12, True, np.float32),
    "Rolling 100,000": lambda: rolling(100_000, False),
    "Rolling 400,000": lambda: rolling(400_000, False),
    "Rolling of scores 100,000": lambda: rolling(100_000, True),
    "Rolling of scores 400,000": lambda: rolling(200_000, True),
    "TimeRolling 150,000": lambda: timed(se.TimeRolling, 1e6),
    "Rolling, 200,000 labels": lambda: each(se.Rolling(se.Evaluator(["f1_macro"]), 200_000), 200_000),
    "label sets, 250,000 labels": lambda: each(se.Evaluator(keep=["labelsets"]), 250_000),
    "curves, 300,000 labels": lambda: each(se.Evaluator(["roc_auc_macro"]), 300_000, scored=True),
    "label precisions, 300,000 labels": lambda: each(se.Evaluator(["lwlrap"]), 300_000, scored=True),
    "curves weighted, 200,000 labels": lambda: each(se.Evaluator(["roc_auc_macro"]), 200_000, True, True),
    "label sets weighted, 200,000 labels": lambda: each(se.Evaluator(keep=["labelsets"]), 200_000, weighted=True),
    "Tumbling": lambda: blocks(se.Tumbling, period=25_000.0, history=4),
    "Fading": lambda: blocks(se.Fading, half_life=50_000.0),
    "Checkpoint": lambda: se.Checkpoint(decisions(300_000, 300_000, each=4), 7),
    "Sliced, 2,000": lambda: sliced(2_000),
    "Sliced, 10,000": lambda: sliced(10_000),
    "Ledger, 200 shards": lambda: ledger(200),
}  # fmt: skip


def settled() -> int:
    """Return free memory to the system, reset the recorded peak, and return the resident memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def resident(what: str) -> int:
    return 1024 * int(re.search(rf"{what}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def measure(verb: str, file: str, small: str) -> list[int]:
    """The size of the bytes, the size of the object, and the peak of a verb above the memory before it."""
    state = se.load(small)  # imports all modules that the verb needs
    kind = type(state)
    run(verb, state, kind, small, Path(small).read_bytes())
    before = settled()
    if verb in ("from_bytes", "load"):
        data = Path(file).read_bytes() if verb == "from_bytes" else b""
        start = settled()
        made = run(verb, None, kind, file, data)
        peak = resident("VmHWM") - start
        return [Path(file).stat().st_size, settled() - start, peak]
    state = se.load(file)
    held = settled() - before
    if verb == "merge":
        other = se.load(file)
        start = settled()
        state.merge(other)
        return [Path(file).stat().st_size, held, resident("VmHWM") - start]
    start = settled()
    made = run(verb, state, kind, file, b"")
    peak = resident("VmHWM") - start
    del made
    return [Path(file).stat().st_size, held, peak]


def run(verb: str, state: Any, kind: type, path: str, data: bytes) -> Any:
    if verb == "load":
        return se.load(path)
    if verb == "from_bytes":
        return kind.from_bytes(data)
    if verb == "save":
        return state.save(path + ".copy")
    if verb == "merge":
        return state.merge(state.copy()) if not isinstance(state, se.Rolling) else None
    return getattr(state, verb)()


def child(*arguments: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory", "--child", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
        return []
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--child"]:
        if words[1] == "make":
            state = CASES[words[2]]()
            state.save(words[3])
            small = se.Checkpoint(se.F1()) if isinstance(state, se.Checkpoint) else emptied(state)
            small.save(words[3] + ".small")
            print("[]")
        else:
            print(json.dumps(measure(*words[1:])))
        return
    print("| state | MB | object / bytes | " + " | ".join(f"{verb}: / bytes, / object" for verb in VERBS) + " |")
    print("|---" * (3 + len(VERBS)) + "|")
    for name in CASES:
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/state"
            child("make", name, path)
            cells, size, held = [], 1, 1
            for verb in VERBS:
                if (verb == "merge" and name.startswith("Rolling")) or (
                    verb in ("copy", "merge") and name == "Checkpoint"
                ):
                    cells.append("-")
                    continue
                measured = child(verb, path, path + ".small")
                if not measured:
                    cells.append("failed")
                    continue
                size, held, peak = measured
                cells.append(f"{peak / size:.1f}, {peak / max(held, 1):.2f} ({peak / 1e6:.1f} MB)")
            print(f"| {name} | {size / 1e6:.2f} | {held / size:.1f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
