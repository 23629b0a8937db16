"""A synthetic stream of tagged posts, and a small data set to try the commands on."""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from streameval.cli.outputs import Format, check_outputs, write_output
from streameval.cli.reading import UserError
from streameval.cli.results import Output, Result
from streameval.evaluation.evaluator import Evaluator
from streameval.progressive.trace import Trace
from streameval.slices import Sliced
from streameval.windows.sliding import Rolling

_TAGS = {"travel": 0.4, "food": 0.35, "music": 0.3, "sports": 0.25, "politics": 0.15, "science": 0.1, "chess": 0.04}
_METRICS = ("f1_micro", "f1_macro", "hamming_loss", "roc_auc_macro", "ranking_loss")
_ROWS, _STEP, _WINDOW = 3000, 100, 500
_SAMPLE = files("streameval.cli") / "sample"


def _rows() -> Iterator[dict[str, Any]]:
    rng = random.Random(7)  # noqa: S311  # not used for secrets
    for _ in range(_ROWS):
        region = rng.choice(("eu", "us"))
        sure = 0.32 if region == "eu" else 0.2
        tags = [tag for tag, fraction in _TAGS.items() if rng.random() < fraction]
        scores = {
            tag: round(min(1.0, max(0.0, rng.gauss(0.5 + (sure if tag in tags else -sure), 0.25))), 3) for tag in _TAGS
        }
        yield {"region": region, "tags": tags, "scores": scores}


def write_sample(folder: Path, force: bool) -> None:
    """Write the small data set to a folder, and say which commands to try on it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--write {folder}: cannot create this folder: {error.strerror}") from None
    sample = {folder / name: (_SAMPLE / name).read_bytes() for name in ("photos.csv", "photos.jsonl")}
    for path, data in sample.items():
        check_outputs({"--write": path}, (), force or (path.is_file() and path.read_bytes() == data))
    for path, data in sample.items():
        write_output(path, data)
    csv, jsonl = (shlex.quote(str(path)) for path in sample)
    sys.stdout.write(
        f"20 photos with 4 labels, in {csv} and in {jsonl}. Try:\n"
        f"  streameval evaluate {csv} --actual 'true_*' --scores 'score_*' --threshold 0.5\n"
        f"  streameval evaluate {jsonl} --actual true --predicted predicted --by region\n"
        f"  streameval thresholds {jsonl} --actual true --scores scores\n"
    )


def demonstrate(options: Mapping[str, Any]) -> None:
    """Count the stream, then print the result and what to try next."""
    output, rows = Output(options), list(_rows())
    empty = Evaluator(_METRICS, threshold=0.5)
    state, window = Sliced(empty, by="region"), Rolling(empty, size=_WINDOW)
    trace = Trace({"all": empty.copy(), f"last {_WINDOW}": window}, every=_STEP)
    tags, scores = [row["tags"] for row in rows], [row["scores"] for row in rows]
    state.update_many(tags, scores, where={"region": [row["region"] for row in rows]})
    for example in zip(tags, scores, strict=True):
        trace.update(*example)
    result = Result.of(state, window)
    output.write(result.document({"files": []}), result, trace)
    if output.format is Format.table and options["output"] is None:
        sys.stdout.write("\nNext:\n  streameval demo --write demo\n")
