"""A made-up stream: posts that a model tags, worse in one region than in the other."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from streameval.cli.outputs import check_outputs, write_output
from streameval.cli.progress import watched
from streameval.cli.reading import Source
from streameval.cli.render import Format, console_of, show
from streameval.cli.results import Result, write_results
from streameval.evaluation.evaluator import Evaluator
from streameval.slices import Sliced
from streameval.windows.sliding import Rolling

_TAGS = {"travel": 0.4, "food": 0.35, "music": 0.3, "sports": 0.25, "politics": 0.15, "science": 0.1, "chess": 0.04}
_METRICS = ("f1_micro", "f1_macro", "hamming_loss", "roc_auc_macro", "ranking_loss")
_STEP = 100
_SECONDS = 3.0


def _rows(number: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(7)  # noqa: S311  # nothing secret
    for at in range(number):
        region = rng.choice(("eu", "us"))
        sure = 0.32 if region == "eu" else 0.2
        tags = [tag for tag, fraction in _TAGS.items() if rng.random() < fraction]
        scores = {
            tag: round(min(1.0, max(0.0, rng.gauss(0.5 + (sure if tag in tags else -sure), 0.25))), 3) for tag in _TAGS
        }
        guess = [tag for tag, score in scores.items() if score >= 0.5]
        yield {"id": at, "region": region, "tags": tags, "guess": guess, "scores": scores}


def demonstrate(number: int, write: Path | None, report: Path | None, force: bool) -> None:
    """Count the stream, slowly on a terminal, then show the result and what to try next."""
    rows = list(_rows(number))
    lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows]
    check_outputs({"--write": write, "--report": report}, (), force, lines[0])
    if write is not None:
        write_output(write, b"".join(lines))
    empty = Evaluator(_METRICS, threshold=0.5)
    state, window = Sliced(empty, by="region"), Rolling(empty, size=500)
    pause = _SECONDS / (len(rows) / _STEP) if sys.stderr.isatty() else 0.0
    with watched([Source("demo", (), None)], lambda: Result.of(state, (), window)) as advance:
        for start in range(0, len(rows), _STEP):
            block = rows[start : start + _STEP]
            examples = [row["tags"] for row in block], [row["scores"] for row in block]
            state.update_many(*examples, where={"region": [row["region"] for row in block]})
            window.update_many(*examples)
            advance(0)
            time.sleep(min(pause, 0.2))
    result = Result.of(state, (), window)
    write_results(state, result, None, report)
    show(result, Format.table, top=20)
    file = write or "demo.jsonl"
    first = "" if write is not None else f"  streameval demo --write {file}\n"
    console_of(sys.stdout).print(
        f"\nNext:\n{first}  streameval evaluate {file} --actual tags --predicted guess --by region\n"
        f"  streameval thresholds {file} --actual tags --scores scores",
        markup=False,
    )
