"""The model of a report, which every format writes."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import streameval as se
import streameval.report.model as model
from streameval.errors import MetricError
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Views
from streameval.report.model import Column, Table, cell_text, count_text, largest_first, of_each_label, parts_table
from tests.support.report_cases import few, hostile


def test_the_headline_says_how_much_was_evaluated():
    ev = se.Evaluator(["f1_micro"])
    assert report_of(ev).headline == "no examples, no labels"
    ev.update({"a"}, {"a"})
    assert report_of(ev).headline == "1 example, 1 label"
    ev.update({"a"}, {"b"}, weight=2.5)
    assert report_of(ev).headline == "2 examples, total weight 3.5, 2 labels"
    ev.update({"a"}, {"b"}, weight=1e6)
    assert report_of(ev).headline == "3 examples, total weight 1,000,003.5, 2 labels"


def test_values_and_averages_and_labels_are_those_of_the_evaluator():
    ev = hostile()
    report = report_of(ev)
    assert {item.spec.key: item.value for item in report.values() if item.error is None} == ev.get()
    for average, values in report.averages(1.0).items():
        names = ("precision", "recall", "f1")
        assert values == [ev.get(f"{name}_{average}(zero_division=1)") for name in names]
    for name, column in report.label_values().items():
        assert dict(zip(report.labels, column, strict=True)) == ev.get(f"{name}_per_label")
    assert report.support == ev.per_label().support.tolist()
    assert report.total_support == sum(report.support)


def test_a_page_reads_each_metric_once(monkeypatch: pytest.MonkeyPatch):
    reads: Counter[MetricSpec] = Counter()

    def counted(read, place):
        def reading(*arguments):
            reads[arguments[place]] += 1
            return read(*arguments)

        return reading

    monkeypatch.setattr(model, "evaluate", counted(model.evaluate, 0))
    monkeypatch.setattr(Views, "certified", counted(Views.certified, 1))
    few().to_html()
    assert {"f1_micro", "roc_auc_macro", "average_precision_micro"} <= {spec.key for spec in reads}
    assert set(reads.values()) == {1}


def test_a_metric_that_cannot_be_read_has_its_error_in_place_of_a_value():
    ev = se.Evaluator(["log_loss_micro", "roc_auc_micro", "roc_auc_per_label"])
    ev.update({"cat"}, {"cat": -3.5, "dog": 2.25})
    wrong, right = report_of(ev).single()
    assert isinstance(wrong.error, MetricError)
    assert (wrong.number, right.number, right.error) == (None, 0.0, None)
    assert wrong.bounds == {}
    assert right.bounds[None] == ev.bounds("roc_auc_micro")


def test_metrics_that_are_displayed_by_default_are_in_the_order_of_the_catalogue():
    report = report_of(few())
    names = [entry.name for entry in se.catalogue()]
    for state in ("rankings", "curves"):
        chosen = [item.spec.name for item in report.reported(state)]
        assert chosen == sorted(chosen, key=names.index)
        assert {item.entry.state for item in report.reported(state)} == {state}


def test_tables_are_sorted_from_the_largest_value_with_undefined_values_last():
    assert largest_first([1.0, math.nan, math.inf, 1.0, 3.0]) == [2, 4, 0, 3, 1]
    columns = [Column("name", "label", ["a", "b"]), Column("n", "count", [1, 2])]
    assert Table("t", "", columns, by="n").order() == [1, 0]
    assert Table("t", "", columns).order() == [0, 1]


@pytest.mark.parametrize(("metrics", "by", "rising"), [
    (["hamming_loss", "f1_macro", "f1_micro", "recall_micro"], "f1_micro", True),
    (["label_cardinality", "f1_macro", "hamming_loss"], "f1_macro", True),
    (["label_cardinality", "hamming_loss", "f1_macro"], "hamming_loss", False),
    (["label_cardinality"], "", False),
])  # fmt: skip
def test_slices_are_sorted_by_micro_f1_or_the_first_metric_with_a_direction(metrics: list, by: str, rising: bool):
    table = parts_table([Column("region", "label", ["eu"])], {metric: [0.5] for metric in metrics})
    assert (table.by, table.rising) == (by, rising)
    assert [column.name for column in table.columns] == ["region", *metrics]


def test_only_values_from_0_to_1_have_bars():
    metrics = ["f1_micro", "mcc_micro", "coverage_error", "label_cardinality"]
    _, *columns = parts_table([Column("region", "label", ["eu"])], {metric: [0.5] for metric in metrics}).columns
    assert [column.kind for column in columns] == ["bar", "fraction", "fraction", "fraction"]


def test_columns_of_labels_have_the_parameters_of_the_metric():
    ev = se.Evaluator(labels=["cat", "dog"])
    ev.update({"cat"}, {"cat"})
    specs = [parse_spec(f"fbeta_macro(beta=2, zero_division={undefined})") for undefined in (0, 1)]
    columns = [report_of(ev).columns([spec]) for spec in specs]
    assert [[*each.values()][-1] for each in columns] == [[1.0, 0.0], [1.0, 1.0]]
    assert of_each_label(specs[1]).parameter("beta") == 2


@pytest.mark.parametrize(("value", "kind", "text"), [
    (None, "fraction", "-"), ("word", "fraction", "word"), (math.nan, "fraction", "nan"), (0.25, "bar", "0.2500"),
    (0.25, "change", "+0.2500"), (-0.25, "change", "-0.2500"), (-1e-9, "change", "-1e-09"), (0.0, "change", "0"),
    (4e-5, "change", "+4e-05"), (6e-5, "change", "+0.0001"), (-1e-9, "fraction", "0.0000"),
    (0.25, "number", "0.25"), (1234, "count", "1,234"),
])  # fmt: skip
def test_cells_are_written_by_their_kind(value: object, kind: str, text: str):
    assert cell_text(value, kind) == text


def test_counts_of_weights_are_short():
    assert [count_text(value) for value in (2.0, 2.5, 1234.56, 1e300, math.inf)] == [
        "2",
        "2.5",
        "1,234.6",
        "1e+300",
        "inf",
    ]
