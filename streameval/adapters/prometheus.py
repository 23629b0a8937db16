"""Metrics for Prometheus to scrape while the loop goes on counting."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from streameval.adapters.engine import Monitored, frequent_labels, require, samples_of, snapshot
from streameval.errors import InputError
from streameval.evaluation.evaluator import MetricLike, specs_of
from streameval.evaluation.guarding import held
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import MetricSpec, choice_text, number_text
from streameval.report.model import Report
from streameval.schema.text import check_number, prometheus_label, quoted

with require("prometheus"):
    from prometheus_client import Metric as Family
    from prometheus_client.registry import Collector

__all__ = ["EvaluationCollector"]


class EvaluationCollector(Collector):  # type: ignore[misc, unused-ignore]  # an unknown type if the library is absent
    """Exposes evaluators, metrics and windows; register it with a registry of ``prometheus_client``.

    Every metric is a gauge such as ``streameval_f1_macro{window="all"}``, whose parameters are labels. A value that is
    not a number, or cannot be read, is left out and counted.

    Parameters
    ----------
    sources
        What is exposed, by the name that stands in the label ``window``; a single object is called ``"all"``. Names and
        labels that are empty stand within ``'``, control characters as escapes; long ones are cut to 200 characters.
    metrics
        Which metrics; None for those that each source answers with `get`.
    max_labels
        How many labels have their values of metrics without average exposed. They are those of the largest support in
        the first source; the number of the rest is exposed.
    namespace
        What names begin with.
    """

    def __init__(
        self,
        sources: Monitored | Mapping[str, Monitored],
        *,
        metrics: Iterable[MetricLike] | None = None,
        max_labels: int = 20,
        namespace: str = "streameval",
    ) -> None:
        self._sources = dict(sources) if isinstance(sources, Mapping) else {"all": sources}
        if not self._sources or not all(isinstance(name, str) for name in self._sources):
            raise InputError(f"sources must be a window, or a mapping name -> window, not {quoted(sources)}")
        name: object = namespace
        if not isinstance(name, str) or not re.fullmatch("[a-zA-Z][a-zA-Z0-9_]*", name):
            raise InputError(f"namespace must be letters, digits and underscores, not {quoted(namespace)}")
        max_labels = check_number("max_labels", max_labels, 0)
        self._max_labels, self._namespace = max_labels, namespace
        chosen = None if metrics is None else specs_of(metrics)
        self._specs = {}
        for name, source in self._sources.items():
            empty = snapshot(source, f"sources[{name!r}]")
            empty.reset()  # a metric that cannot be read of it never can be
            report = report_of(empty, chosen)
            report.values(strict=True)
            self._specs[name] = report.specs

    def describe(self) -> Iterable[Family]:
        """The metrics without values; a registry compares their names, to refuse duplicates."""
        return self._families({})

    def collect(self) -> Iterable[Family]:
        """The metrics with their values now, all of one moment, because the sources are copied together."""
        with held(*self._sources.values()):
            copies = {name: snapshot(source, name) for name, source in self._sources.items()}
        return self._families({name: report_of(copy, self._specs[name]) for name, copy in copies.items()})

    def _families(self, reports: Mapping[str, Report]) -> list[Family]:
        specs = {_name_of(spec): _description(spec) for specs in self._specs.values() for spec in specs} | _OWN
        families = {name: Family(f"{self._namespace}_{name}", text, "gauge") for name, text in specs.items()}

        def add(name: str, value: float, **labels: str) -> None:
            families[name].add_sample(families[name].name, labels, value)

        first = next(iter(reports.values()), None)
        chosen = {} if first is None else frequent_labels(first, self._max_labels, prometheus_label)
        for source, report in reports.items():
            window = prometheus_label(source)
            samples = [(item.spec, *sample) for item in report.values() for sample in samples_of(item, chosen)]
            defined = [sample for sample in samples if not math.isnan(sample[-1])]
            for spec, label, value in defined:
                labels = {} if label is None else {"label": label}
                add(_name_of(spec), value, window=window, **_parameters(spec), **labels)
            per_label = any(spec.average is None for spec in report.specs)
            add("examples", report.tables.examples, window=window)
            add("labels", len(report.labels), window=window)
            add("labels_not_exposed", len({*report.labels} - {*chosen}) if per_label else 0, window=window)
            add("values_undefined", len(samples) - len(defined), window=window)
        return list(families.values())


_OWN = {
    "examples": "Examples that are counted now.",
    "labels": "Labels that are declared or have occurred.",
    "labels_not_exposed": "Labels whose own values are not exposed, since their support is smaller.",
    "values_undefined": "Values that are left out: they are NaN or cannot be computed.",
}


def _name_of(spec: MetricSpec) -> str:
    return spec.key.partition("(")[0]


def _parameters(spec: MetricSpec) -> dict[str, str]:
    """Every parameter, so that all series of a name have the same labels, and other choices that are no defaults."""
    chosen = {name: choice_text(value) for name, value in spec.parameters}
    if (undefined := number_text(spec.zero_division)) != number_text(entry_of(spec.name).zero_division):
        chosen["zero_division"] = undefined
    return chosen if spec.empty == "zero_division" else {**chosen, "empty": spec.empty}


def _description(spec: MetricSpec) -> str:
    entry = entry_of(spec.name)
    better = "" if entry.bigger_is_better is None else f"; {entry.direction}"
    return f"{entry.summary} In [{entry.low:g}, {entry.high:g}]{better}."
