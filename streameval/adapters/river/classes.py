"""The metric classes by name. The stub in the same folder, which ``docs/generate.py`` writes, is for type checkers."""

from __future__ import annotations

import inspect
from typing import Any

from streameval.adapters.river.metric import CountedMetric
from streameval.evaluation.kinds import reads_scores
from streameval.evaluation.metric import signature_of, summary_of
from streameval.metrics.catalogue import MetricInfo, catalogue
from streameval.metrics.spec import Average
from streameval.schema.keywords import explained


def _name_of(entry: MetricInfo, average: Average) -> str:
    """The name of a class: that of the metric, with the average in front unless it is the only or usual one."""
    several = len([each for each in entry.averages if each is not None]) > 1
    bare = not several or (entry.bare and average == entry.default)
    return entry.class_name if bare else str(average).capitalize() + entry.class_name


def _class_of(entry: MetricInfo, average: Average) -> type[CountedMetric]:
    parameters = [part for part in signature_of(entry).parameters.values() if part.name != "average"]
    signature = inspect.Signature(parameters)

    def start(self: CountedMetric, **choices: Any) -> None:
        bound = signature.bind(**choices)
        bound.apply_defaults()
        self._start(dict(bound.arguments))

    name = _name_of(entry, average)
    start.__name__, start.__qualname__, start.__module__ = "__init__", f"{name}.__init__", __name__
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    start.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]  # River reads it
    doc = summary_of(entry, without="average").replace(entry.formula, f"{entry.formula}    (average: {average})", 1)
    body = {"__module__": __name__, "__doc__": doc, "__init__": explained(start), "_entry": entry, "_average": average}
    return type(name, (CountedMetric,), body)


CLASSES: dict[str, type[CountedMetric]] = {
    _name_of(entry, average): _class_of(entry, average)
    for entry in catalogue()
    for average in entry.averages
    if average is not None and not reads_scores(entry)  # River wants one number, and passes no scores
}
globals().update(CLASSES)

__all__ = list(CLASSES)
