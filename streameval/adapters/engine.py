"""What adapters share: checks of the library and the job, errors of workers, merging in a tree, monitored values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from streameval.errors import DependencyError, InputError, StreamevalError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.report.model import MetricValue, Report, largest_first
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.tabular.evaluate import warn_of_same
from streameval.tabular.job import Job
from streameval.windows.base import Window

Monitored: TypeAlias = Evaluator | Metric | Window[Evaluator] | Window[Metric]
T = TypeVar("T")

FAN_IN = 16
"""How many states a task of `tree` merges."""


@contextmanager
def require(extra: str) -> Iterator[None]:
    """Surrounds an adapter's imports: if the library is not installed, the error names the extra that installs it."""
    try:
        yield
    except ImportError as error:
        library = (error.name or extra).partition(".")[0]
        if library == "streameval":
            raise
        raise DependencyError(
            f"streameval.adapters.{extra} needs {library}, which is not installed; pip install 'streameval[{extra}]'"
        ) from error


@contextmanager
def raise_ours(wrapper: type[Exception], inner: Callable[[Exception], object]) -> Iterator[None]:
    """Unwrap errors of this package: ``inner`` finds them in an error of the engine, which becomes their cause."""
    try:
        yield
    except wrapper as error:
        ours = inner(error)
        if not isinstance(ours, StreamevalError):
            raise
        raise type(ours)(*ours.args) from error


def tree(merge: Callable[..., T], states: Sequence[T]) -> T:
    """Merge states in a tree of `FAN_IN` branches, so that no task waits for all; without states, ``merge()``."""
    level = list(states)
    while len(level) != 1:
        level = [merge(*level[start : start + FAN_IN]) for start in range(0, len(level) or 1, FAN_IN)]
    return level[0]


def check_job(job: object) -> None:
    """Raise `InputError` if a job is no `Job`, or needs a table whole; warn of columns that are probably wrong."""
    if not isinstance(job, Job):
        raise InputError(f"job must be a Job, such as Job.of(['f1_micro'], actual=...), not {quoted(job)}")
    if job.columns.example is not None:
        apart = "example= and label= need all rows of an example together, but an engine may divide them"
        raise InputError(f"{apart}; make one row of each example first, with lists or maps")
    warn_of_same(job.columns)


def snapshot(source: Monitored, name: str) -> Evaluator | Metric:
    """An independent `Evaluator` or metric with what a source, such as a window, holds now."""
    if isinstance(source, Window):
        return source.snapshot()
    if not isinstance(source, Evaluator | Metric):
        raise InputError(f"{name} must be an Evaluator, a metric object or a window, not {quoted(source)}")
    return source.copy()


def frequent_labels(report: Report, count: int, text_of: Callable[..., str]) -> dict[Label, str]:
    """The ``count`` labels with the largest support, each with its text; equal supports are in the order of labels."""
    labels = [report.labels[place] for place in largest_first(report.support)[:count]]
    mixed = any(isinstance(label, int) for label in report.labels)
    return {label: text_of(label, mixed=mixed) for label in labels}


def samples_of(item: MetricValue, labels: Mapping[Label, str]) -> Iterator[tuple[str | None, float]]:
    """The values of a metric, each with the text of its label, if it has one; NaN where it cannot be read."""
    if isinstance(item.value, dict):
        yield from ((text, item.value[label]) for label, text in labels.items() if label in item.value)
    else:
        yield None, math.nan if item.error is not None else item.value
