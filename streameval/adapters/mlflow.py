"""Metrics, the report and the state of an evaluator in a run of MLflow."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path

from streameval.adapters.engine import Monitored, frequent_labels, require, samples_of, snapshot
from streameval.errors import InputError, warn
from streameval.evaluation.pages import report_of
from streameval.schema.text import check_number, mlflow_label, quoted, shortened

with require("mlflow"):
    import mlflow

__all__ = ["log", "metrics_of"]

_LONGEST = 250  # characters of a name, mlflow.utils.validation.MAX_ENTITY_KEY_LENGTH
_AT_ONCE = 1000  # metrics of one request, mlflow.utils.validation.MAX_METRICS_PER_BATCH


def log(
    evaluator: Monitored, *, prefix: str = "", step: int | None = None, report: bool = True, max_labels: int = 100
) -> None:
    """Log what an evaluator, a metric or a window holds to the active run; without one MLflow starts one.

    Parameters
    ----------
    evaluator
        Its `get` is logged as metrics, and its state as the artifact ``streameval/state.bin``, which `streameval.load`
        reads.
    prefix
        What the names of metrics begin with, such as ``"val_"``; it is also a folder of the artifacts.
    step
        Logged with the metrics; also a folder of the artifacts.
    report
        Whether the page of `Evaluator.to_html` is logged too, as ``streameval/report.html``.
    max_labels
        How many labels have their values of metrics without average logged: those of the largest support.
    """
    if isinstance(step, bool) or not (step is None or hasattr(step, "__index__")):
        raise InputError(f"step must be an integer or None, not {quoted(step)}")
    step = None if step is None else int(step)  # it may be an integer of numpy
    snapshot(evaluator, "evaluator")  # refuses what cannot be copied
    counts = evaluator.copy()  # so that metrics, report and state are of one moment
    metrics = metrics_of(counts, prefix=prefix, max_labels=max_labels)
    parts = ["streameval", *filter(None, [_legal(prefix).strip("_-./ "), "" if step is None else f"step-{step}"])]
    with tempfile.TemporaryDirectory() as folder:
        counts.save(Path(folder) / "state.bin")
        if report:
            counts.save_html(Path(folder) / "report.html", title=prefix.strip("_-./ ") or None)
        items = list(metrics.items())
        for start in range(0, len(items), _AT_ONCE):
            mlflow.log_metrics(dict(items[start : start + _AT_ONCE]), step=step)
        mlflow.log_artifacts(folder, "/".join(parts))


def metrics_of(evaluator: Monitored, *, prefix: str = "", max_labels: int = 100) -> dict[str, float]:
    """The metrics that `log` logs: values by names that MLflow allows, without those that are NaN.

    A metric that cannot be read is left out too, and a `DataWarning` names it.

    ``fbeta_micro(beta=2)`` becomes ``fbeta_micro_beta_2``, and the value of a label ``f1_per_label/cat``. Characters
    of labels that MLflow does not allow are written as code points, such as ``_x3f_``; a name of 250 characters or
    more is cut, and ends with a part of its SHA-256. So different labels have different names.
    """
    if not isinstance(prefix, str):
        raise InputError(f"prefix must be a string, not {quoted(prefix)}")
    max_labels = check_number("max_labels", max_labels, 0)
    report = report_of(snapshot(evaluator, "evaluator"))
    labels = frequent_labels(report, max_labels, mlflow_label)
    values: dict[str, float] = {}
    for item in report.values():
        if item.error is not None:
            warn(f"{item.spec.key} is not logged: {item.error}")
        name = _legal(prefix) + re.sub(r"[^\w.-]+", "_", item.spec.key).strip("_")
        for text, value in samples_of(item, labels):
            if not math.isnan(value):
                values[shortened(name if text is None else f"{name}/{text}", _LONGEST)] = value
    return values


def _legal(prefix: str) -> str:
    """A prefix in the characters that MLflow allows, without folders such as ".." that lead elsewhere."""
    *folders, last = re.sub(r"[^A-Za-z0-9_. /-]+", "_", prefix).split("/")
    return "/".join([*(folder for folder in folders if folder.strip(".")), last]).lstrip(".")
