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

from streameval.cli.rows import UserError
from streameval.errors import MetricError
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import build_spec, entry_of, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.tabular.columns import Columns
from streameval.tabular.job import Job, State
from streameval.windows.sliding import Rolling

_COMMA = re.compile(r",(?![^(]*\))")

_SCORED = (
    "label_ranking_average_precision", "ranking_loss", "one_error", "ndcg", "roc_auc_micro", "roc_auc_macro",
    "average_precision_micro", "average_precision_macro",
)  # fmt: skip


def names_of(options: list[str] | None) -> tuple[str, ...]:
    """Names one by one, or with commas between, or both."""
    return tuple(name for text in options or () for part in _COMMA.split(text) if (name := part.strip()))


def number_of(text: str | None, option: str) -> float | None:
    """A number, or ``nan``."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{option} must be a number, not {text!r}") from None


def specs_of(names: tuple[str, ...], beta: float | None, zero_division: float | None) -> list[MetricSpec]:
    """The metrics that were asked for; ``beta`` and ``zero_division`` are for those that do not say it themselves."""
    specs = []
    used = beta is None
    for name in names:
        spec = parse_spec(name)
        parameters: dict[str, Any] = dict(spec.parameters)
        if "beta" in parameters:
            used = True
            if beta is not None and "beta" not in name.partition("(")[2]:
                parameters["beta"] = beta
        undefined = zero_division if zero_division is not None and "zero_division" not in name else spec.zero_division
        specs.append(
            build_spec(
                spec.name, average=spec.average, zero_division=undefined, empty=spec.empty, parameters=parameters
            )
        )
    if not used:
        raise MetricError(f"--beta {beta:g} is for none of these metrics; ask for one that has it, such as fbeta_micro")
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


def check_writable(*paths: Path | None) -> None:
    """Raise before the work, not after it, if a result could not be written."""
    for path in paths:
        if path is not None and path.is_dir():
            raise UserError(f"{path} is a folder; name a file in it")
        if path is not None and not path.parent.is_dir():
            raise UserError(f"{path} cannot be written: there is no folder {path.parent}")
        if path is not None and path.exists() and not path.is_file():  # a device would be replaced, not written to
            raise UserError(f"{path} is no ordinary file; name one, or one that is not there yet")
        if path is not None and not os.access(path.parent, os.W_OK):
            raise UserError(f"{path} cannot be written: the folder {path.parent} does not allow it")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to count: columns, metrics and how rows are read."""

    actual: str
    predicted: str | None = None
    scores: str | None = None
    weight: str | None = None
    mask: str | None = None
    by: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    beta: float | None = None
    threshold: str | None = None
    zero_division: float | None = None
    sep: str = "|"
    skip_bad: bool = False

    def specs(self) -> list[MetricSpec]:
        """The metrics, or what is usual."""
        names = self.metrics
        if not names:
            names = DEFAULT_METRICS if self.scores is None or self.threshold is not None else ()
            names += ("fbeta_micro", "fbeta_macro") if self.beta is not None and names else ()
            names += _SCORED if self.scores is not None else ()
        return specs_of(names, self.beta, self.zero_division)

    def built(self) -> tuple[State, Columns]:
        """A fresh state, and the columns that it reads."""
        if not self.sep:
            raise UserError("--sep must be at least one character")
        if self.scores is not None and not self.metrics and self.threshold is None and self.beta is not None:
            raise UserError(
                "--beta is for binary predictions; give --threshold, to predict labels scoring at or above it"
            )
        empty = self._evaluator()
        job = Job.of(
            empty, actual=self.actual, predicted=self.predicted, scores=self.scores, weight=self.weight,
            mask=self.mask, by=self.by,
        )  # fmt: skip
        if len(set(self.by)) < len(self.by):
            raise UserError(f"--by names a column twice: {', '.join(self.by)}")
        return job.fresh(), job.columns

    def window(self, size: int | None) -> Rolling[Any] | None:
        """The last so many rows."""
        if size is not None and not 1 <= size < 2**31:
            raise UserError(f"--window must be a number of rows, at least 1, not {size}")
        return None if size is None else Rolling(self._evaluator(), size=size)

    def _evaluator(self) -> Evaluator:
        if self.scores is None and self.threshold is not None:
            raise UserError("--threshold is for scores; name their column with --scores")
        if self.scores is None and self.predicted is None:
            raise UserError("what was predicted? name its column with --predicted, or with --scores")
        specs = self.specs()
        for spec in specs:
            if self.scores is None and reads_scores(entry_of(spec.name)):
                raise UserError(f"{spec.key} is read from scores; name their column with --scores")
        return Evaluator(specs, threshold=_threshold(self.threshold))
