"""Options, checked, and the objects that they describe."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval.cli.counting import Counting
from streameval.cli.rows import UserError
from streameval.errors import MetricError
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import build_spec, entry_of, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.tabular.job import Job
from streameval.windows.sliding import Rolling

_COMMA = re.compile(r",(?![^(]*\))")

_SCORED = (
    "label_ranking_average_precision", "ranking_loss", "one_error", "ndcg", "roc_auc_micro", "roc_auc_macro",
    "average_precision_micro", "average_precision_macro",
)  # fmt: skip


def names_of(options: list[str] | None) -> tuple[str, ...]:
    """Names one by one, or with commas between, or both."""
    return tuple(name for text in options or () for part in _COMMA.split(text) if (name := part.strip()))


def specs_of(names: tuple[str, ...], beta: float | None, zero_division: float | None) -> list[MetricSpec]:
    """The metrics that were asked for; ``beta`` and ``zero_division`` are for those that do not say it themselves."""
    specs = [parse_spec(name) for name in names]
    if beta is not None and not any("beta" in dict(spec.parameters) for spec in specs):
        raise MetricError(f"--beta {beta:g} is for none of these metrics; ask for one that has it, such as fbeta_micro")
    for at, (name, spec) in enumerate(zip(names, specs, strict=True)):
        parameters: dict[str, Any] = dict(spec.parameters)
        if beta is not None and "beta" in parameters and "beta" not in name.partition("(")[2]:
            parameters["beta"] = beta
        undefined = spec.zero_division if zero_division is None or "zero_division" in name else zero_division
        options: dict[str, Any] = {"average": spec.average, "zero_division": undefined, "empty": spec.empty}
        specs[at] = build_spec(spec.name, parameters=parameters, **options)
    return list(dict.fromkeys(specs))


def _threshold(text: str | None) -> float | Mapping[Any, float] | None:
    """A number, or a file of JSON with a number for each label."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    if not text.endswith(".json"):
        raise UserError(f"--threshold must be a number, or a .json file of label: number, not {text!r}")
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"--threshold {text}: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"--threshold {text}: it must hold one object label: number")
    return {label: math.inf if value is None else value for label, value in content.items()}


def check_writable(path: Path | None) -> Path | None:
    """Raise before the work, not after it, if a result could not be written."""
    if path is None:
        return None
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not path.is_file():  # a device would be replaced, not written to
        raise UserError(f"{path} is no ordinary file; name one, or a new one")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: the folder {path.parent} does not allow it")
    return path


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to count: columns as `Job.of` names them, metrics, and how rows are read."""

    columns: Mapping[str, Any]
    metrics: tuple[str, ...] = ()
    beta: float | None = None
    threshold: str | None = None
    zero_division: float | None = None
    sep: str = "|"
    skip_bad: bool = False

    def specs(self) -> list[MetricSpec]:
        """The metrics, or what is usual."""
        names, scored = self.metrics, self.columns["scores"] is not None
        if not names:
            names = DEFAULT_METRICS if not scored or self.threshold is not None else ()
            names += ("fbeta_micro", "fbeta_macro") if self.beta is not None and names else ()
            names += _SCORED if scored else ()
            if self.beta is not None and "fbeta_micro" not in names:
                raise UserError(
                    "--beta is for binary predictions; give --threshold, to predict labels scoring at or above it"
                )
        return specs_of(names, self.beta, self.zero_division)

    def evaluator(self) -> Evaluator:
        """An evaluator that has counted nothing."""
        scored = self.columns["scores"] is not None
        if not scored and self.threshold is not None:
            raise UserError("--threshold is for scores; name their column with --scores")
        if not scored and self.columns["predicted"] is None:
            raise UserError("what was predicted? name its column with --predicted, or with --scores")
        specs = self.specs()
        for spec in specs:
            if not scored and reads_scores(entry_of(spec.name)):
                raise UserError(f"{spec.key} is read from scores; name their column with --scores")
        return Evaluator(specs, threshold=_threshold(self.threshold))

    def counting(self, size: int | None = None) -> Counting:
        """What counts the rows, and the last so many of them."""
        if not self.sep:
            raise UserError("--sep must be at least one character")
        empty, by = self.evaluator(), self.columns["by"]
        if len(set(by)) < len(by):
            raise UserError(f"--by names a column twice: {', '.join(by)}")
        job = Job.of(empty, **self.columns)
        window = None if size is None else Rolling(empty, size=size)
        return Counting(job.fresh(), job.columns, self.sep, window=window, skip=self.skip_bad)
