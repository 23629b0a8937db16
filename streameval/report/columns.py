"""The report as plain Python and as columns, for programs to read on."""

from __future__ import annotations

from streameval.errors import MetricError
from streameval.metrics.averaging import as_float
from streameval.metrics.naming import ENTRIES, build_spec, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings
from streameval.report.label_table import LabelTable
from streameval.report.text import COLUMNS, averages_of

__all__ = ["dict_report", "label_columns"]


def dict_report(readings: Readings, specs: tuple[MetricSpec, ...]) -> dict[str, object]:
    """What was evaluated, the chosen metrics, averages and labels; see `Evaluator.to_dict`."""
    tables = readings.tables
    found: dict[str, object] = {
        "examples": tables.examples,
        "weight": as_float(tables.weight * tables.unit),
        "metrics": {spec.key: evaluate(spec, readings.of(spec)) for spec in specs},
    }
    if readings.decides:
        found["averages"] = {
            average: dict(zip(COLUMNS, values, strict=True)) for average, values in averages_of(tables)
        }
        found["labels"] = label_columns(readings, tuple(build_spec(name, average=None) for name in COLUMNS))
    return found


def label_columns(readings: Readings, specs: tuple[MetricSpec, ...]) -> dict[str, list[object]]:
    """The labels, their counts where decided, and one column for each metric, without its average."""
    found: dict[str, list[object]] = {"label": list(readings.tables.labels)}
    if readings.decides:
        found = {name: list(values) for name, values in LabelTable.of(readings.tables).to_dict().items()}
    for spec in specs:
        each = _without_average(spec)
        values = evaluate(each, readings.of(each))
        assert isinstance(values, dict)  # noqa: S101  # it has no average
        found[each.key.replace("_per_label", "", 1)] = list(values.values())
    return found


def _without_average(spec: MetricSpec) -> MetricSpec:
    if None not in ENTRIES[spec.name].averages:
        raise MetricError(f"{spec.key} has no value per label; leave it out, or read it with get({spec.key!r})")
    parameters = dict(spec.parameters)
    return build_spec(spec.name, average=None, zero_division=spec.zero_division, parameters=parameters)
