"""What a notebook displays for the object at the end of a cell, and for an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import streameval as se
from streameval.report.model import cell_text
from tests.support.each import with_each

RNG = np.random.default_rng(2)
SCORES = RNG.random((60, 3))
TRUE = RNG.random((60, 3)) < SCORES
LABELS = ["<b>bold</b>", "a & b", "c\x1b[31m"]


class Tables(HTMLParser):
    """The tables in HTML as rows of strings; asserts that elements are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in ("style", "div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi")
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"th", "td"} & {*self.open}:
            self.tables[-1][-1][-1] += data


def evaluator(**options: object) -> se.Evaluator:
    ev = se.Evaluator(["f1_micro", "hamming_loss"], labels=LABELS, threshold=0.5, keep=["curves"], **options)
    ev.update_many(TRUE, SCORES)
    return ev


def sliced() -> se.Sliced:
    holder = se.Sliced(se.Evaluator(["f1_micro", "recall_per_label"], threshold=0.5, labels=LABELS), by="<i>")
    holder.update_many(TRUE, SCORES, where={"<i>": ["<u>", "v", "w"] * 20})
    return holder


def counted(holder: object) -> object:
    for true, scores in zip(TRUE, SCORES > 0.5, strict=True):
        holder.update(*({label for label, one in zip(LABELS, row, strict=True) if one} for row in (true, scores)))
    return holder


def ledger() -> se.Ledger:
    holder = se.Ledger(se.Evaluator(["f1_micro"]))
    holder.put("<s>", 1, counted(se.Evaluator(["f1_micro"])))
    return holder


CELLS: dict[str, Callable[[], object]] = {
    "evaluator": evaluator,
    "scores": lambda: counted_scores(),
    "metric": lambda: counted(se.F1()),
    "rolling": lambda: counted(se.Rolling(se.Evaluator(), 30)),
    "fading": lambda: counted(se.Fading(se.F1(), 30)),
    "tumbling": lambda: counted(se.Tumbling(se.F1(), size=50)),
    "sliced": sliced,
    "trace": lambda: counted(se.Trace({"all": se.Evaluator(), "<last>": se.Rolling(se.F1(), 9)}, every=4)),
    "pending": lambda: se.Pending(counted(se.F1())),
    "ledger": ledger,
    "checkpoint": lambda: se.Checkpoint(counted(se.F1()), 60),
    "per_label": lambda: evaluator().per_label(),
    "thresholds": lambda: evaluator().best_thresholds(),
    "catalogue": se.catalogue,
}  # fmt: skip


def counted_scores() -> se.Evaluator:
    ev = se.Evaluator(["roc_auc_macro", "log_loss_micro", "average_precision_per_label"], labels=LABELS)
    ev.update_many(TRUE, SCORES * 3 - 1)  # scores that are no probabilities
    return ev


@with_each("name", CELLS)
def test_objects_are_displayed_as_tables_without_markup_in_labels_and_without_private_names(name: str):
    value = CELLS[name]()
    before = value.to_bytes() if hasattr(value, "to_bytes") else None
    html = value._repr_html_()
    tables = Tables(html).tables
    assert tables or name in ("pending", "checkpoint")
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    for text in (html, repr(value)):
        assert not re.search(r"\b_[a-z]\w*=|<function|<lambda| object at 0x|\x1b", text)
    assert before is None or value.to_bytes() == before


def test_a_curve_does_not_print_its_arrays():
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update_many([["a"], ["b"], []], [{"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.3}, {"a": 0.4, "b": 0.6}])
    assert repr(ev.roc_curve("a")) == "RocCurve(4 thresholds)"
    assert repr(ev.precision_recall_curve()["a"]) == "PrecisionRecallCurve(3 thresholds)"


@pytest.mark.parametrize("empty", [
    se.Evaluator, se.F1, lambda: se.Rolling(se.F1(), 3), lambda: se.Ledger(se.F1()), se.Ledger,
    lambda: se.Sliced(se.F1(), by="x"), lambda: se.Trace(se.F1()), lambda: se.Evaluator([]).per_label(),
    lambda: se.Evaluator(["roc_auc"]).best_thresholds(),
])  # fmt: skip
def test_objects_that_have_counted_nothing_are_displayed_too(empty: Callable[[], object]):
    Tables(empty()._repr_html_())


def test_an_evaluator_shows_its_values_and_the_worst_label_first():
    ev = evaluator()
    metrics, averages, labels = Tables(ev._repr_html_()).tables
    assert metrics == [
        ["metric", "value"],
        *([f"{name}{arrow}", f"{ev.get(name):.4f}"] for name, arrow in (("f1_micro", ""), ("hamming_loss", " ↓"))),
    ]
    assert averages[0] == ["average", "precision", "recall", "F1"]
    values = [cell_text(ev.get(f"{name.lower()}_macro")) for name in averages[0][1:]]
    assert averages[2] == ["macro: mean over labels", *values]
    values = ev.get("f1_per_label")
    ranked = sorted(values, key=values.get)
    names = {LABELS[0]: LABELS[0], LABELS[1]: LABELS[1], LABELS[2]: r"c\x1b[31m"}
    assert [row[:2] for row in labels[1:]] == [[names[label], f"{values[label]:.4f}"] for label in ranked]
    assert labels[0] == ["label", "f1", "precision", "recall", "support"]
    assert [int(row[-1]) for row in labels[1:]] == [TRUE[:, LABELS.index(label)].sum() for label in ranked]
    assert "<p>Evaluator: 60 examples, 3 labels; threshold 0.5; states: decisions, curves</p>" in ev._repr_html_()


def test_without_a_threshold_labels_have_areas_and_the_chosen_values():
    ev = counted_scores()
    metrics, labels = Tables(ev._repr_html_()).tables
    assert [row[0] for row in metrics[1:]] == ["roc_auc_macro"]
    assert labels[0] == ["label", "roc_auc", "average_precision"]
    areas, precisions = ev.get("roc_auc_per_label"), ev.get("average_precision_per_label")
    values = [[f"{of[label]:.4f}" for of in (areas, precisions)] for label in sorted(areas, key=areas.get)]
    assert [row[1:] for row in labels[1:]] == values


def test_where_only_rankings_are_counted_the_chosen_values_are_displayed():
    ev = se.Evaluator(["ndcg", "lwlrap_per_label"])
    ev.update(["a"], {"a": 0.5, "b": 0.9})
    metrics, labels = Tables(ev._repr_html_()).tables
    assert [row[1] for row in metrics[1:]] == [f"{ev.get('ndcg'):.4f}"]
    assert labels[1:] == [["b", "0.0000"], ["a", "0.5000"]]  # the label with the worst value is first
    single = se.Evaluator(["ndcg"])
    single.update(["a"], {"a": 0.5, "b": 0.9})
    assert len(Tables(single._repr_html_()).tables) == 1
    chosen, without_labels = se.Evaluator(["f1_per_label"]), se.Evaluator(["f1_micro"])
    for one, true in ((chosen, ["a"]), (without_labels, [])):
        one.update(true, true)
    assert Tables(chosen._repr_html_()).tables[-1][0] == ["label", "f1", "precision", "recall", "support"]
    assert [table[0][0] for table in Tables(without_labels._repr_html_()).tables] == ["metric", "average"]


def test_the_catalogue_is_displayed_in_whole_sentences():
    rows = Tables(se.catalogue()._repr_html_()).tables[0]
    assert [row[3] for row in rows[1:]] == [entry.summary for entry in se.catalogue()]


def test_a_column_to_slice_by_may_have_the_name_of_a_metric():
    holder = se.Sliced(se.Evaluator(["f1_micro"]), by="f1_micro")
    holder.update({"a"}, {"a"}, where={"f1_micro": "one"})
    holder.update({"a"}, {"b"}, where={"f1_micro": "two"})
    assert [row[0] for row in Tables(holder._repr_html_()).tables[0]] == ["f1_micro", "two", "one", "total"]


def test_slices_thresholds_and_outcomes_are_displayed_with_the_values_that_are_read():
    holder = sliced()
    values = {str(key): one["f1_micro"] for key, one in holder.get()["<i>"].items()}
    rows = Tables(holder._repr_html_()).tables[0]
    ranked = sorted(values, key=values.get)
    total = ["total", "60", f"{holder.total().get('f1_micro'):.4f}"]
    assert rows == [["<i>", "examples", "f1_micro"], *([key, "20", f"{values[key]:.4f}"] for key in ranked), total]
    ev = evaluator()
    choices = ev.best_thresholds()
    rows = Tables(choices._repr_html_()).tables[0]
    assert (
        sorted(row[1] for row in rows[1:])
        == [row[1] for row in rows[1:]]
        == sorted(f"{one.value:.4f}" for one in choices.values())
    )
    assert choices == dict(choices)
    outcomes = {row[0]: row[2] for row in Tables(ev.per_label()._repr_html_()).tables[0][1:]}
    assert outcomes["a & b"] == str(ev.per_label().tp[1])


def test_of_many_labels_the_worst_are_displayed_and_of_equally_bad_ones_the_most_frequent():
    ev = se.Evaluator(labels=range(400))
    ev.update_many([list(range(number, 400)) for number in range(300)], [[399]] * 300)
    rows = Tables(ev._repr_html_()).tables[2]
    assert [row[0] for row in rows[1:]] == [str(label) for label in range(299, 319)]
    assert len(rows) == 21


def test_columns_that_are_left_out_are_counted_in_the_caption():
    names = [f"fbeta_micro(beta={beta})" for beta in range(1, 10)]
    trace, holder = se.Trace(se.Evaluator(names)), se.Sliced(se.Evaluator(names), by="a")
    trace.update({"x"}, {"x"})
    trace.record()
    holder.update({"x"}, {"x"}, where={"a": "b"})
    assert "Rows; the first 8 of 10 columns</caption>" in trace._repr_html_()
    assert "Slices, the worst first; the first 8 of 9 columns</caption>" in holder._repr_html_()


def test_names_of_metrics_are_completed_in_brackets():
    ev = evaluator()
    keys = ev._ipython_key_completions_()
    assert keys[:2] == ["f1_micro", "hamming_loss"]
    assert all(isinstance(ev[key], float | dict) for key in keys)
    assert "roc_auc_macro" in keys
    assert "ndcg" not in keys


def test_the_traceback_of_an_error_ends_at_the_line_of_the_user(monkeypatch: pytest.MonkeyPatch):
    def rows():
        yield {"a"}
        se.Evaluator().get("nope")

    def files(error: BaseException) -> list[str]:
        steps = []
        shell = SimpleNamespace(
            InteractiveTB=SimpleNamespace(structured_traceback=lambda *parts: steps.append(parts[2]) or [])
        )
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        assert error._render_traceback_() == []
        names, step = [], steps[0]
        while step is not None:
            names.append(step.tb_frame.f_code.co_name)
            step = step.tb_next
        return names

    with pytest.raises(se.MetricError) as nested:
        se.Evaluator().update_many(rows(), [{"a"}, {"b"}])
    with pytest.raises(se.InputError) as plain:
        se.Evaluator().update([1, 0, 0], [0, 0, 1])
    own = "test_the_traceback_of_an_error_ends_at_the_line_of_the_user"
    assert files(plain.value) == [own]
    assert (files(nested.value)[0], files(nested.value)[-1]) == (own, "rows")
    assert len(plain.traceback) > 3
