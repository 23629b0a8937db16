"""The report as plain Python and as columns, for programs to read on."""

from __future__ import annotations

from collections.abc import Iterable

from streameval.errors import MetricError
from streameval.metrics.catalogue import build_spec, entry_of
from streameval.metrics.spec import MetricSpec
from streameval.report.model import PER_LABEL, MetricValue, Report


def dict_report(report: Report) -> dict[str, object]:
    """What was evaluated, the chosen metrics, averages and labels; see `Evaluator.to_dict`."""
    metrics = {}
    for item in report.values():
        if item.error is not None:
            raise item.error
        metrics[item.spec.key] = item.value
    content: dict[str, object] = {"examples": report.tables.examples, "weight": report.weight, "metrics": metrics}
    if report.has_decisions:
        averages = report.averages().items()
        content["averages"] = {average: dict(zip(PER_LABEL, values, strict=True)) for average, values in averages}
        content["labels"] = label_columns(report, [build_spec(name, average=None) for name in PER_LABEL])
    return content


def label_columns(report: Report, specs: Iterable[MetricSpec]) -> dict[str, list[object]]:
    """The labels, their counts of binary predictions, and one column for each metric, without its average."""
    columns: dict[str, list[object]] = {"label": list(report.labels)}
    if report.has_decisions:
        columns = {name: list(values) for name, values in report.counts.to_dict().items()}
    for spec in map(_without_average, specs):
        columns[MetricValue(spec, None).column] = list(report.per_label(spec))
    return columns


def _without_average(spec: MetricSpec) -> MetricSpec:
    if None not in entry_of(spec.name).averages:
        raise MetricError(f"{spec.key} has no value per label; leave it out, or read it with get({spec.key!r})")
    parameters = dict(spec.parameters)
    return build_spec(spec.name, average=None, zero_division=spec.zero_division, parameters=parameters)
