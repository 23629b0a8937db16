"""Checks options, and makes the objects that they describe."""

from __future__ import annotations

import contextlib
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from streameval.cli.reading import Source, UserError, columns_of, sources_of
from streameval.cli.results import Check
from streameval.cli.settings import note
from streameval.errors import DataWarning, MetricError
from streameval.evaluation.evaluator import DEFAULT_METRICS
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import COMMA, build_spec, entry_of, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.schema.text import either
from streameval.tabular.evaluate import Counting, with_truth
from streameval.tabular.job import Job, JobOptions
from streameval.tabular.sources import no_file
from streameval.windows.sliding import Rolling

_SCORED = (
    "label_ranking_average_precision", "ranking_loss", "one_error", "ndcg", "roc_auc_micro", "roc_auc_macro",
    "average_precision_micro", "average_precision_macro",
)  # fmt: skip

_TRUTHS = ("y_true", "labels", "truth", "actual")  # usual names of a column of true labels
_ESCAPES = {r"\t": "\t", r"\n": "\n"}  # separators as typed in a shell
_CHECKED = 1000  # bad rows are compared with the limit after every 1000 rows


def names_of(options: list[str] | None) -> tuple[str, ...]:
    """The names in repeated options, each of which may hold names separated by commas."""
    return tuple(name for text in options or () for part in COMMA.split(text) if (name := part.strip()))


def renamed(names: tuple[str, ...]) -> list[str]:
    """Notes on names that are aliases: which metric each stands for."""
    return [f"{name} -> {key}" for name in names if (key := parse_spec(name).key) != name.lower()]


def specs_of(names: tuple[str, ...], beta: float | None, zero_division: float | None) -> list[MetricSpec]:
    """The metrics with these names; ``beta`` and ``zero_division`` apply where a name does not state its own."""
    specs = [parse_spec(name) for name in names]
    weighted = [name for name, spec in zip(names, specs, strict=True) if "beta" in dict(spec.parameters)]
    own = [name for name in weighted if "beta" in name.partition("(")[2]]
    if beta is not None and own == weighted:
        why = f", as {own[0]} has its own" if own else ""
        raise MetricError(f"--beta {beta:g} applies to none of these metrics{why}; name one such as fbeta_micro")
    for at, (name, spec) in enumerate(zip(names, specs, strict=True)):
        parameters: dict[str, Any] = dict(spec.parameters)
        if beta is not None and "beta" in parameters and name not in own:
            parameters["beta"] = beta
        undefined = spec.zero_division if zero_division is None or "zero_division" in name else zero_division
        options: dict[str, Any] = {"average": spec.average, "zero_division": undefined, "empty": spec.empty}
        specs[at] = build_spec(spec.name, parameters=parameters, **options)
    return list(dict.fromkeys(specs))


def threshold_of(text: str | None) -> float | Mapping[Any, float] | None:
    """The thresholds of a number, or of a JSON file: an object label: number, or records that ``thresholds`` wrote."""
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        return float(text)
    if not text.endswith(".json"):
        raise UserError(f"--threshold must be a number, or a .json file of label: number, not {text!r}")
    if not Path(text).exists():
        raise UserError(f"--threshold: {no_file(Path(text))}")
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"), object_pairs_hook=tuple)
    except (OSError, ValueError) as error:
        raise UserError(f"--threshold {text}: {getattr(error, 'strerror', error)}") from None
    try:  # keys of JSON are strings, so that integer labels need records
        rows = dict(tuple.__iter__(content)).get("thresholds")  # raises for a list, which is no object
        pairs = content if rows is None else [(row["label"], row["threshold"]) for row in map(dict, rows)]
        thresholds = {label: math.inf if value is None else value for label, value in pairs}
    except (KeyError, TypeError, ValueError):
        raise UserError(f"--threshold {text}: it must hold one object label: number, or what --save wrote") from None
    if len(thresholds) < len(pairs):
        raise UserError(f"--threshold {text}: a label has two thresholds")
    return thresholds


def seconds_of(text: str) -> float:
    """The seconds of ``--every``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or not float(match[1]):
        raise UserError(f"--every must be a time such as 10s, 5m or 1h, not {text!r}")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def labels_of(options: list[str] | None) -> list[Any] | None:
    """The labels of ``--labels``: plain labels, or JSON lists, whose integers are integer labels."""
    if several := [text for text in options or () if "," in text and not text.startswith("[")]:
        one, more = json.dumps(several[:1]), json.dumps(several[0].split(","))
        raise UserError(f"--labels {several[0]} may be one label or several; write '{one}' or '{more}'")
    try:
        lists = [json.loads(text) if text.startswith("[") else [text] for text in options or ()]
    except ValueError as error:
        raise UserError(f"--labels {' '.join(options or ())}: {error}; give a label, or a JSON list of them") from None
    return [label for labels in lists for label in labels] or None


def tolerance_of(text: str) -> Callable[..., None]:
    """A function for ``--max-bad``, which raises `UserError` if too many rows are bad."""
    is_percent = text.endswith("%")
    try:
        most = Fraction(text.removesuffix("%"))
    except (ValueError, ZeroDivisionError):
        most = Fraction(-1)
    if most < 0:
        raise UserError(f"--max-bad must be a number of rows or per cent, such as 10 or 1%, not {text!r}")

    def check(counting: Counting, rows: int, *, is_all: bool = False) -> None:
        bad, of = counting.skipped, rows if is_all else -(-counting.last_skipped // _CHECKED) * _CHECKED
        if of > rows or bad <= (most * of / 100 if is_percent else most):
            return
        enough = Fraction(-(-bad * 1000 // of), 10) if is_percent else bad
        limits = [f"--max-bad {float(each):g}{'%' * is_percent}" for each in (most, enough)]
        some, far = ("", "") if is_all else ("the first ", " so far")
        why = f"{bad:,} of {some}{of:,} rows cannot be read, more than {limits[0]} allows"
        raise UserError(f"{why}; {limits[1]} would pass{far}; first {counting.reasons[0]}")

    return check


def _find_truth(options: dict[str, Any], sources: list[Source], *, scored: bool) -> None:
    """Set the column of true labels, if not named, by its usual names; raise if predictions (or scores) are unnamed."""
    predicted = options["scores"] or (not scored and options["predicted"])
    if options["actual"] and predicted:
        return
    truth = sources_of([options["truth"]])[0] if options["truth"] else sources[0]
    used = [name for each in options.values() for name in (each if isinstance(each, list) else [each])]
    likely = [name for name in columns_of(truth) if name in _TRUTHS and name not in used]
    missing = [] if predicted else ["--predicted COLUMN or " * (not scored) + "--scores COLUMN"]
    if not options["actual"] and len(likely) != 1:
        missing.insert(0, "--actual COLUMN")
    if missing:
        places = {source.path: columns_of(source) for source in (sources[0], truth)}
        columns = "; ".join(f"columns in {place}: {', '.join(names)}" for place, names in places.items() if names)
        raise UserError(f"give {' and '.join(missing)}{columns and f'; {columns}'}")
    options["actual"] = likely
    note(f"true labels: column {likely[0]!r}")


def counting_of(
    options: dict[str, Any], sources: list[Source], metrics: tuple[str, ...] = (), checks: Iterable[Check] = ()
) -> Counting:
    """A `Counting` for the metrics of options and checks, or for ``metrics`` of scores; with a window if requested."""
    _find_truth(options, sources, scored=bool(metrics))
    if len(sources) > 1 and (options["example"] or options["truth"]):
        raise UserError("--example and --truth are for one FILE; give one file, folder or pattern")
    by, size = names_of(options.get("by")), options.get("window")
    for check in checks:
        if check.scope != "all" and size is None and (not by or (check.scope.isidentifier() and check.scope not in by)):
            raise check.no_slice(f"slices by {either(by)}" if by else "")
    if options["strict"]:
        warnings.simplefilter("error", DataWarning)
    names = ("actual", "predicted", *JobOptions.__annotations__)
    read = {name: value for name in names if (value := options.get(name)) not in (None, [])}
    read |= {"by": by, "labels": labels_of(options["labels"])}
    if (sep := read.get("sep")) in _ESCAPES:
        read["sep"] = _ESCAPES[sep]
    beta, threshold = options.get("beta"), read.get("threshold")
    scored, decided = "scores" in read, "scores" not in read or threshold is not None
    if not scored and threshold is not None:
        raise UserError("--threshold is for scores; name their column with --scores")
    metrics = metrics or names_of(options["metrics"])
    if not metrics:
        if beta is not None and not decided:
            raise UserError("--beta requires binary predictions; give --threshold 0.5 too")
        if not decided:
            note("no --threshold: metrics of binary predictions are left out")
        metrics = DEFAULT_METRICS if decided else ()
        metrics += (() if beta is None else ("fbeta_micro", "fbeta_macro")) + (_SCORED if scored else ())
    specs = specs_of(metrics, beta, options.get("zero_division"))
    specs += [spec for check in checks for spec in check.specs]
    for spec in specs:
        requires_scores = reads_scores(entry_of(spec.name))
        if requires_scores and not scored:
            raise UserError(f"{spec.key} requires scores; name their column with --scores")
        if not (requires_scores or decided):
            why = "requires binary predictions; give --threshold 0.5, or metrics of scores such as ndcg"
            if "predicted" in read:
                why += "; or leave --scores out: with it, --predicted only names the labels of the scores"
            raise UserError(f"{spec.key} {why}")
    read["threshold"] = threshold_of(threshold)
    of_all: Any = Job.of(specs, **read | {"by": ()}).fresh()
    window = None if size is None else Rolling(of_all, size=size)
    job = with_truth(Job.of(specs, **read), options["truth"], options["join"])
    skip = tolerance_of(options["max_bad"] or "1%") if options["skip_bad"] or options["max_bad"] else None
    return Counting(job, window=window, skip=skip)
