"""Options, checked, and the objects that they describe."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from streameval.cli.reading import UserError
from streameval.errors import MetricError
from streameval.evaluation.evaluator import DEFAULT_METRICS
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import COMMA, build_spec, entry_of, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.tabular.blocks import Counting
from streameval.tabular.evaluate import with_truth
from streameval.tabular.job import Job
from streameval.windows.sliding import Rolling

_SCORED = (
    "label_ranking_average_precision", "ranking_loss", "one_error", "ndcg", "roc_auc_micro", "roc_auc_macro",
    "average_precision_micro", "average_precision_macro",
)  # fmt: skip


def names_of(options: list[str] | None) -> tuple[str, ...]:
    """Names one by one, or with commas between, or both."""
    return tuple(name for text in options or () for part in COMMA.split(text) if (name := part.strip()))


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
    """A number, or a file of JSON: an object label: number, or what ``thresholds --save`` writes."""
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        return float(text)
    if not text.endswith(".json"):
        raise UserError(f"--threshold must be a number, or a .json file of label: number, not {text!r}")
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"--threshold {text}: {error}") from None
    rows = content.get("thresholds") if isinstance(content, dict) else None
    try:  # keys of JSON are strings, so that integers need records
        pairs = content.items() if rows is None else [(row["label"], row["threshold"]) for row in rows]
        thresholds = {label: math.inf if value is None else value for label, value in pairs}
    except (AttributeError, KeyError, TypeError):
        raise UserError(f"--threshold {text}: it must hold one object label: number, or what --save wrote") from None
    if len(thresholds) < len(pairs):
        raise UserError(f"--threshold {text}: a label has two thresholds")
    return thresholds


class RowsOption(StrEnum):
    """What lists of integers or strings are."""

    labels = "labels"
    indicator = "indicator"


class UnknownOption(StrEnum):
    """What is done with labels that are not declared, or that only one side of wide columns has."""

    error = "error"
    ignore = "ignore"
    add = "add"


class NullOption(StrEnum):
    """What a null list is."""

    error = "error"
    empty = "empty"


def labels_of(options: list[str] | None) -> list[Any] | None:
    """Labels one by one, or lists of JSON, where integers are integers."""
    try:
        lists = [json.loads(text) if text.startswith("[") else [text] for text in options or ()]
    except ValueError as error:
        raise UserError(f"--labels {' '.join(options or ())}: {error}; give a label, or a JSON list of them") from None
    return [label for labels in lists for label in labels] or None


def counting_of(
    read: Mapping[str, Any],
    metrics: tuple[str, ...] = (),
    beta: float | None = None,
    threshold: str | None = None,
    zero_division: float | None = None,
    skip_bad: bool = False,
    size: int | None = None,
    truth: str | None = None,
    join: str | None = None,
) -> Counting:
    """What counts the rows, which are ``read`` with the arguments of `Job.of`, and the last ``size`` of them."""
    options = {name: getattr(value, "value", value) for name, value in read.items() if value not in (None, [])}
    scored, by = "scores" in options, options.get("by", ())
    if not scored and threshold is not None:
        raise UserError("--threshold is for scores; name their column with --scores")
    if not scored and "predicted" not in options:
        raise UserError("what was predicted? name its column with --predicted, or with --scores")
    if len(set(by)) < len(by):
        raise UserError(f"--by names a column twice: {', '.join(by)}")
    if not metrics:
        metrics = DEFAULT_METRICS if not scored or threshold is not None else ()
        if beta is not None and not metrics:
            raise UserError("--beta is for binary predictions; give --threshold, to make them of scores")
        metrics += (() if beta is None else ("fbeta_micro", "fbeta_macro")) + (_SCORED if scored else ())
    specs = specs_of(metrics, beta, zero_division)
    for spec in () if scored else specs:
        if reads_scores(entry_of(spec.name)):
            raise UserError(f"{spec.key} requires scores; name their column with --scores")
    options["threshold"] = _threshold(threshold)
    of_all: Any = Job.of(specs, **options | {"by": ()}).fresh()
    window = None if size is None else Rolling(of_all, size=size)
    job = Job.of(specs, **options)
    job = job if truth is None and join is None else with_truth(job, truth, join)
    return Counting(job, window=window, skip=skip_bad)
