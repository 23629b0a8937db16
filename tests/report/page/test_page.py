"""The page: its structure, that all names in it are escaped, and that its values are those of the evaluator."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.errors import InputError
from streameval.evaluation.kinds import KINDS, reads_scores
from streameval.metrics.catalogue import MetricInfo, catalogue
from streameval.report.page.markup import label_strings
from streameval.report.parts import Line
from streameval.schema.text import cut_distinct, printable
from tests.support.each import with_each
from tests.support.effort import cases
from tests.support.report_cases import HOSTILE, TITLE, binned_trace, few, hostile, hostile_trace, many
from tests.support.streams import feed_many, streams

UNDATED = {"date": None}
VOID = {"meta", "input", "path", "wbr"}


class Page(HTMLParser):
    """A parsed page: its elements in order with the text of each; asserts that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[str] = []
        self.open: list[int] = []
        self.comments = 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        self.elements.append((tag, dict(attrs)))
        self.contents.append("")
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            self.contents[element] += data

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    def all(self, tag: str, **wanted: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (attributes, text)
            for (name, attributes), text in zip(self.elements, self.contents, strict=True)
            if name == tag and all(attributes.get(key) == value for key, value in wanted.items())
        ]

    @property
    def data(self) -> dict[str, dict[str, list]]:
        ((_, text),) = self.all("script", id="data")
        return json.loads(text)["tables"]

    def cards(self) -> dict[str, float]:
        """The values of cards and lists by the name of the metric; of a name that occurs twice the last one."""
        names = [text for _, text in self.all("code")]
        values = [float(str(attributes["value"])) for attributes, _ in self.all("data")]
        return dict(zip(names, values, strict=True))

    def rows(self, table: str) -> list[list[str]]:
        """The cells of the rows of a table as strings."""
        result: list[list[str]] = []
        inside = False
        for (tag, attributes), text in zip(self.elements, self.contents, strict=True):
            if tag == "table":
                inside = attributes.get("data-table") == table
            elif inside and tag == "tr":
                result.append([])
            elif inside and tag in ("th", "td"):
                result[-1].append(text)
        return result[1:]


CASES = {
    "few": few,
    "hostile": hostile,
    "many": lambda: many(250),
    "empty": lambda: se.Evaluator(["f1_micro", "roc_auc_macro", "ndcg", "irlbl"], threshold=0.5, keep=["pairs"]),
    "declared": lambda: se.Evaluator(labels=["cat"], keep=KINDS, threshold=0.5),
    "no labels": lambda: fed(se.Evaluator(keep=["pairs"]), [([], []), ([], [])]),
    "no metrics": lambda: fed(se.Evaluator([]), [(["cat"], ["dog"])]),
    "integers": lambda: fed(se.Evaluator(keep=["pairs"]), [([1, 2], [2]), ([3], [3])]),
    "only rankings": lambda: fed(se.Evaluator(["ndcg"]), [(["cat"], {"cat": 0.5, "dog": 0.2})]),
    "only curves": lambda: fed(se.Evaluator(["roc_auc_micro"]), [(["cat"], {"cat": -3.5, "dog": 2.25})]),
    "no scores above": lambda: fed(se.Evaluator(["log_loss_micro"], threshold=0.5), [([], {"cat": 0.0})]),
    "one label": lambda: fed(se.Evaluator(["f1_macro"], keep=["pairs"]), [(["cat"], ["cat"])]),
    "one example": lambda: fed(se.Evaluator(["roc_auc_micro"], threshold=0.5), [(["cat"], {"cat": 0.5})]),
}


def fed(ev: se.Evaluator, examples: list) -> se.Evaluator:
    for y_true, y_pred in examples:
        ev.update(y_true, y_pred)
    return ev


@pytest.fixture(scope="module", params=CASES)
def page(request: pytest.FixtureRequest) -> Page:
    extra = {"title": TITLE, "trace": hostile_trace(), "slices": {"</script><b>": hostile(), "empty": se.Evaluator()}}
    return Page(CASES[request.param]().to_html(**extra if request.param == "hostile" else {}))


# -- structure --------------------------------------------------------------------------------------------------------


def test_every_id_is_unique_and_every_link_leads_to_one(page: Page):
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    for attributes, _ in page.all("a"):
        assert str(attributes["href"]).removeprefix("#") in names
    for _, attributes in page.elements:
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in names


def test_headings_go_down_one_by_one_and_every_table_has_a_caption_and_heads(page: Page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(text.strip() for tag in ("caption", "h1", "h2", "h3") for _, text in page.all(tag))
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(attributes.get("scope") in ("col", "row") for attributes, _ in page.all("th"))


def test_pictures_and_scrolling_regions_have_names_and_controls_have_labels(page: Page):
    for _, attributes in page.elements:
        if attributes.get("role") in ("img", "region"):
            assert attributes.get("aria-label") or attributes.get("aria-labelledby")
        if attributes.get("role") == "region":
            assert attributes["tabindex"] == "0"
    inside = sum(text.startswith(("Find a label", "Support at least", "Label")) for _, text in page.all("label"))
    assert inside == len(page.all("input")) + len(page.all("select"))


def test_what_needs_the_script_is_hidden_without_it(page: Page):
    assert all("hidden" in attributes for attributes, _ in page.all("form"))
    assert page.all("button") == []


def test_the_page_loads_nothing_and_allows_no_script_but_its_own(page: Page):
    (policy,) = (a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    (mark, data, script) = page.all("script")
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in (mark, script)]
    assert policy is not None
    assert f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}';" in policy
    assert "default-src 'none'" in policy
    assert data[0] == {"type": "application/json", "id": "data"}
    for tag, attributes in page.elements:
        assert tag not in ("img", "link", "iframe", "object", "base", "embed", "video", "audio")
        assert not {"src", "srcset", "action", "background"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    (style,) = (text for _, text in page.all("style"))
    assert "url(" not in style
    assert "@import" not in style
    assert page.comments == 0


def test_the_page_has_no_marks_of_its_template(page: Page):
    (_, title) = page.all("title")[0]
    assert title
    assert not [text for text in (title, page.all("footer")[0][1]) if "{{" in text]


def test_the_data_of_a_page_is_strict_json_with_columns_of_equal_length(page: Page):
    for table in page.data.values():
        assert len({len(column) for column in table["values"]}) == 1
        assert len(table["values"]) == len(table["kinds"]) == len(table["names"])


# -- values -----------------------------------------------------------------------------------------------------------


def test_values_on_the_page_are_those_of_get(page: Page, request: pytest.FixtureRequest):
    ev = CASES[request.node.callspec.params["page"]]()
    for name, value in page.cards().items():
        assert value == pytest.approx(ev.get(name), abs=0, nan_ok=True)
    chosen = {spec.key for spec in ev.metrics if spec.average is not None and ev.examples}
    assert chosen <= {text for _, text in page.all("code")}


@settings(max_examples=cases(40))
@given(st.data())
def test_labels_and_counts_are_those_of_the_data_frame(data: st.DataObject):
    stream = data.draw(streams())
    ev = se.Evaluator([], **stream.setup.keywords())
    for each in stream.examples:
        each.update(ev)
    table, records = Page(ev.to_html()).data.get("labels"), ev.to_dict()["labels"]
    if table is None:
        assert records == [] or not ev.examples
        return
    assert table["values"][0] == label_strings(row["label"] for row in records)
    order = ["f1", "precision", "recall", "support", "predicted", "tp", "fp", "fn"]
    for name, values in zip(order, table["values"][1:9], strict=True):
        assert [float("inf") if value == "inf" else value for value in values] == [row[name] for row in records]


@settings(max_examples=cases(30))
@given(st.data())
def test_equal_evaluators_give_equal_pages(data: st.DataObject):
    stream = data.draw(streams())
    one, two = (se.Evaluator(["f1_micro"], keep=["pairs"], **stream.setup.keywords()) for _ in range(2))
    for each in stream.examples:
        each.update(one)
    feed_many(two, stream.examples[::-1], again=True)
    pages = [ev.to_html(meta=UNDATED) for ev in (one, two)]  # they contain the first examples, which are left out below
    first = re.compile(r'<section id="input".*?</section>|<li><a href="#input">Input</a></li>', re.DOTALL)
    assert first.sub("", pages[0]) == first.sub("", pages[1])


def test_all_labels_are_written_the_most_frequent_first_and_rows_refer_to_their_data():
    ev = many(250)
    html = ev.to_html()
    page = Page(html)
    rows, support = page.rows("labels"), ev.per_label().support.tolist()
    ranked = sorted(range(250), key=lambda row: -support[row])
    assert [row[0] for row in rows] == [ev.labels[place] for place in ranked]
    assert [row[4] for row in rows] == [f"{support[place]:,}" for place in ranked]
    ((dots, _),) = page.all("path", **{"data-of": "labels"})
    assert {*map(int, dots["data-rows"].split())} == {row for row in range(250) if support[row]}
    assert 0 < len(page.all("span", **{"class": "name"})) <= 24
    later = re.search(r'data-table="labels".*?<tbody class="more">(.*?)</tbody>', html, re.DOTALL)
    assert later is not None
    hidden = re.findall(r'<tr data-row="(\d+)">', later[1])  # rows that the script displays on demand
    assert [*map(int, hidden)] == ranked[100:]


def test_beyond_max_labels_the_rarest_are_left_out():
    ev = many(250)
    page = Page(ev.to_html(max_labels=20))
    support = ev.per_label().support
    message = page.data["labels"]["values"]
    assert len(message[0]) == 20
    assert min(message[4]) >= np.sort(support)[::-1][19]
    assert any("the 20 most frequent of 250" in text for _, text in page.all("caption"))


def test_slices_traces_and_windows_that_are_passed_replace_those_of_the_object():
    losses, sliced = se.Trace(se.HammingLoss(), every=1), se.Sliced(se.F1(), by="region")
    both = se.Trace({"model": se.F1(), "last": se.Rolling(se.F1(), size=2)}, every=1)
    for _ in range(3):
        losses.update({"a"}, {"a"})
        both.update({"a"}, {"a"})
        sliced.update({"a"}, {"a"}, where={"region": "west"})
    assert "west" in sliced.to_html()
    assert "west" not in (page := sliced.to_html(slices={"my slice": se.F1()}))
    assert "my slice" in page
    assert "hamming_loss" not in both.to_html()
    assert "hamming_loss" in both.to_html(trace=losses)
    assert "my window" in both.to_html(windows={"my window": se.F1()})


def test_a_value_of_0_over_0_is_marked_and_one_that_is_0_is_not():
    ev = fed(se.Evaluator(labels=["never", "missed"]), [(["missed"], [])])
    page = Page(ev.to_html())
    marked = [
        attributes.get("class") for attributes, _ in page.all("td") if attributes.get("class", "").startswith("bar")
    ]
    # After the averages follow F1, precision and recall of "missed" (0, 0/0, 0) and of "never" (all 0/0).
    assert marked[12:] == ["bar", "bar void", "bar", *["bar void"] * 3]


def test_metrics_that_have_no_value_say_why():
    ev = fed(se.Evaluator(["log_loss_micro", "roc_auc_micro"]), [(["cat"], {"cat": -3.0})])
    text = Page(ev.to_html()).all("li")
    assert any("this metric requires probabilities" in part for _, part in text)
    assert any("undefined" in part for _, part in text)


def test_where_no_label_is_true_there_are_no_empty_pictures_and_undefined_values_say_so():
    ev = se.Evaluator(["f1_micro(zero_division=nan)", "roc_auc_micro"], threshold=0.5)
    ev.update_many(np.zeros((5, 3), int), np.full((5, 3), 0.1))
    page = Page(ev.to_html())
    assert [text.partition("Dotted")[0] for _, text in page.all("figcaption")] == ["Calibration"]
    assert page.all("select") == page.all("div", **{"class": "side-by-side"}) == []
    assert all("undefined" in text for _, text in page.all("li") if "is better" in text and "\N{EN DASH}" in text)
    assert sum("undefined" in text for _, text in page.all("li")) >= 2


def test_cells_of_the_confusion_matrix_are_fractions_of_the_true_label_and_marked_as_hit_or_miss():
    # Of 31 dogs 19 are predicted as cats; 12 are predicted as both, which counts half an example for each.
    cells = re.findall(r'<td class="((?:hit|miss)[^"]*)" style="--v:([^"]*)"[^>]*>([^<]*)', few().to_html())
    assert cells == [
        ("hit deep", "1.000", "100"), ("miss", "0.000", ""), ("miss", "0.000", ""),
        ("miss deep", "0.898", "81"), ("hit", "0.440", "19"), ("miss", "0.000", ""),
        ("miss", "0.000", ""), ("miss", "0.000", ""), ("hit", "0.000", ""),
    ]  # fmt: skip


def test_some_of_hundreds_of_labels_are_named_in_their_picture():
    rng = np.random.default_rng(2)
    often = rng.power(0.35, 400) * 0.2 + 0.001
    true = rng.random((3000, 400)) < often
    ev = se.Evaluator(labels=[f"label {number:03}" for number in range(400)])
    ev.update_many(true, true ^ (rng.random(true.shape) < rng.random(400) * often))
    assert len(Page(ev.to_html()).all("span", **{"class": "name"})) >= 4


def test_the_picture_of_labels_names_what_it_counts():
    for weights, words in ((None, "examples with the label"), ([0.5] * 32, "weight of the examples with the label")):
        ev = se.Evaluator(labels=["cat"])
        ev.update_many([["cat"]] * 32, [["cat"]] * 32, weights=weights)
        assert words in {text for _, text in Page(ev.to_html()).all("div", **{"class": "across-title"})}


def test_slices_have_their_own_values_of_the_metrics_of_the_evaluator():
    ev, part = few(), fed(se.Evaluator(["f1_micro"]), [(["cat"], ["dog"])])
    window = se.Rolling(se.Evaluator(["f1_micro"]), size=1)
    window.update({"cat"}, {"cat"})
    page = Page(ev.to_html(slices={"part": part, "window": window, 3: se.F1(average="micro")}))
    names, examples, f1, *rest = page.data["slices"]["values"]
    assert (names, examples, f1) == (["part", "window", "3"], [1, 1, 0], [0.0, 1.0, None])
    heads = [text for attributes, text in page.all("th", scope="col") if text in ev.get()]
    assert heads == ["f1_micro", "f1_macro", "hamming_loss"]  # a metric that no slice has gets no column
    assert len(rest) == 2
    averages = ["all labels together", "mean over labels", "all labels together", "mean over labels", ""]
    cards = [text.rpartition("better")[2] for _, text in page.all("li") if "is better" in text]
    assert cards[: len(averages)] == averages
    windows = Page(ev.to_html(windows={"last": window})).data["windows"]["values"]
    (inputs,) = (text for attributes, text in page.all("section") if attributes["id"] == "input")
    assert inputs.endswith(repr(ev.input_summary))
    assert windows[:3] == [["all examples", "last"], [32, 1], [ev["f1_micro"], 1.0]]


def test_a_trace_is_drawn_with_one_picture_for_each_metric():
    trace = se.Trace({"all": se.Evaluator(["f1_micro", "hamming_loss"]), "one": se.F1(average="micro")}, every=1)
    for y_true in ("a", "b", "a"):
        trace.update({y_true}, {"a"})
    page = Page(few().to_html(trace=trace))
    (course,) = (text for attributes, text in page.all("section") if attributes["id"] == "course")
    assert "f1_micro" in course
    assert "hamming_loss" in course
    assert ({"class": "b"}, "one: 0.6667 at the end") in page.all("li")
    assert "course" not in [a["id"] for a, _ in Page(few().to_html(trace=se.Trace(se.Evaluator()))).all("section")]
    own = trace.to_html(meta={"date": None})
    for holder in (se.Pending(trace), se.Checkpoint(trace, 3), se.Checkpoint(se.Pending(trace), 3)):
        assert holder.to_html(meta={"date": None}) == own


# -- several runs, slices ---------------------------------------------------------------------------------------------


def test_runs_are_compared_with_the_first_and_the_largest_change_comes_first():
    one = fed(se.Evaluator(["f1_micro", "hamming_loss"]), [(["cat"], ["cat"]), (["dog", "bird"], ["cat"])])
    two = fed(se.Evaluator(["f1_micro"]), [(["cat"], ["cat"]), (["dog", "bird"], ["dog"])])
    data = Page(se.to_html({"A": one, "B": two})).data
    names, *columns = data["changes"]["values"]
    rows = {name: row[:3] for name, *row in zip(names, *columns, strict=True)}
    expected = {key: (one.get(key), two.get(key)) for key in ("f1_micro", "hamming_loss")}
    assert rows == {key: [old, new, new - old] for key, (old, new) in expected.items()}
    for table in ("changes", "labels"):
        changes = data[table]["values"][data[table]["names"].index("change")]
        assert [abs(change) for change in changes] == sorted((abs(change) for change in changes), reverse=True)
    assert data["labels"]["values"][0][0] == "dog"
    assert data["labels"]["names"] == ["label", "A", "B", "change", "support"]
    assert data["labels"]["values"][-1] == [1, 1, 1]
    captions = [Page(se.to_html({"A": one, "B": two}, max_labels=most)).all("caption")[-1][1] for most in (2, 3)]
    assert captions == [f"F1 of each label, the largest change first{left}" for left in (", 2 of 3", "")]
    runs = dict(zip(data["runs"]["names"], data["runs"]["values"], strict=True))  # numbers, for sorting
    assert (runs["examples"], runs["true labels per example"]) == ([2, 2], [1.5, 1.5])
    assert Page(se.to_html({"A": one, "B": se.Trace({"only": two})})).data == data


def test_slices_are_named_by_their_values_and_the_worst_comes_first():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region")
    for region, y_pred in (("us", ["dog"]), ("eu", ["cat"])):
        sliced.update(["cat"], y_pred, where={"region": region})
    page = Page(sliced.to_html(meta={"model": "<v7>", "date": "today"}))
    assert [row[0] for row in page.rows("slices")] == ["region = us", "region = eu"]
    assert {"<v7>", "today", se.__version__} <= {text for _, text in page.all("dd")}


def test_labels_of_slices_are_compared_with_those_of_all_and_the_furthest_behind_comes_first():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region")
    for region, y_true, y_pred in (("us", ["cat"], ["dog"]), ("eu", ["cat", "dog"], ["cat", "dog"])):
        for _ in range(40):
            sliced.update(y_true, y_pred, where={"region": region})
    sliced.update(["dog"], [], where={"region": "asia"})
    columns = Page(sliced.to_html()).data["slice_labels"]["values"]
    whole = dict(sliced.total().get("f1_per_label"))
    parts = {str(part.where["region"]): part.evaluator.get("f1_per_label") for part in sliced.slices()}
    rows = [("us", "cat"), ("eu", "cat"), ("eu", "dog"), ("asia", "dog")]  # labels with few true examples come last
    assert [*zip(columns[0], columns[1], strict=True)] == [(f"region = {region}", label) for region, label in rows]
    assert columns[2] == [40, 40, 40, 1]
    for (region, label), f1, of_all, change in zip(rows, *columns[3:], strict=True):
        assert (f1, of_all) == (parts[region][label], whole[label])
        assert change == f1 - of_all
    bars = re.findall(r'class="change" style="--v:(.*?)"', sliced.to_html())
    assert max(abs(float(bar)) for bar in bars[:3]) == 1  # the scale is not that of the change of a single example


@pytest.mark.parametrize("size", [29, 30])
def test_slices_and_their_labels_are_marked_as_few_below_30_examples(size: int):
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region")
    for number in range(30 + size):
        sliced.update({"cat"}, {"cat"}, where={"region": "us" if number < size else "eu"})
    *_, slices, labels = (text for _, text in Page(sliced.to_html()).all("caption"))
    assert slices.endswith("; * marks fewer than 30 examples" if size < 30 else "the worst f1_micro first")
    assert labels.endswith("first; * marks fewer than 30 true examples, which come last" if size < 30 else "first")


def test_slices_of_few_examples_have_bars_and_need_no_metric_that_has_a_direction():
    sliced = se.Sliced(se.Evaluator(["label_cardinality"]), by="region")
    for region in ("us", "eu"):
        sliced.update(["cat"], ["cat"] if region == "eu" else ["dog"], where={"region": region})
    page = sliced.to_html()
    bars = re.findall(r'class="change" style="--v:(.*?)"', page)
    assert max(abs(float(bar)) for bar in bars) == 1
    assert Page(page).all("caption")[-2][1] == "The metrics of each part of the data; * marks fewer than 30 examples"


def test_a_change_from_or_to_an_infinite_or_undefined_value_is_undefined():
    runs = {name: se.Evaluator(["log_loss_micro(eps=0)", "brier_score_micro"]) for name in ("some", "infinite", "none")}
    runs["some"].update({"cat"}, {"cat": 0.5, "dog": 0.5})
    runs["infinite"].update({"cat"}, {"cat": 0.0, "dog": 0.5})
    data = Page(se.to_html(runs)).data["changes"]
    changes = {name: values for name, values in zip(data["names"], data["values"], strict=True) if "change" in name}
    assert changes == {"change to infinite": [0.375, None], "change to none": [None, None]}


def test_labels_of_slices_that_are_not_in_the_whole_are_left_out():
    one, other = (fed(se.Evaluator(["f1_micro"]), [([label], ["cat"])]) for label in ("cat", "bird"))
    data = Page(one.to_html(slices={"one": one, "other": other})).data
    assert data["slice_labels"]["values"][:2] == [["one"], ["cat"]]
    assert data["slices"]["values"][:2] == [["one", "other"], [1, 1]]


def test_runs_are_listed_in_the_title_and_a_class_is_refused():
    page = Page(se.to_html({name: few() for name in ("v6", "v7", "v8")}))
    assert page.all("h1")[0][1] == "v6, v7 and v8"
    assert page.data["changes"]["names"] == ["metric", "v6", "v7", "v8", "change to v7", "change to v8", "better"]
    pending = se.Pending(se.F1(average="micro"))
    pending.predict(1, {"a"})
    pending.observe(1, {"a"})
    ends = [
        Page(se.to_html({"a": one, "b": pending.evaluator})).data["changes"] for one in (pending, pending.evaluator)
    ]
    assert ends[0] == ends[1]
    assert Page(se.to_html({f"{run}" * 50: few() for run in "abc"})).all("h1")[0][1] == "3 runs"
    assert any(text.startswith("v6: average precision 0.") for _, text in page.all("li"))
    with pytest.raises(InputError, match=r"write F1\(\)"):
        se.to_html(se.F1)


@pytest.mark.parametrize(("metrics", "tables"), [
    (["roc_auc_per_label"], {"labels"}), (["roc_auc_micro"], {"changes", "labels"}), (["ndcg"], {"changes"}),
    ([], {"labels"}),
])  # fmt: skip
def test_runs_have_the_tables_for_which_all_of_them_have_values(metrics: list[str], tables: set[str]):
    runs = {name: se.Evaluator(metrics) for name in "AB"}
    assert not {"changes", "labels"} - tables & {*Page(se.to_html(runs)).data}  # without examples
    for ev, score in zip(runs.values(), (0.2, 0.9), strict=True):
        ev.update_many([["cat"], []], [{"cat": score}, {"cat": 0.5}] if metrics else [["cat"], []])
    data = Page(se.to_html(runs)).data
    assert {"changes", "labels"} & {*data} == tables
    if metrics and "labels" in tables:
        assert data["labels"]["names"] == ["label", "A", "B", "change"]
        assert next(zip(*data["labels"]["values"], strict=True)) == ("cat", 0.0, 1.0, 1.0)


def test_a_bound_that_reads_like_the_value_is_left_out():
    ev = se.Evaluator(keep=["curves"], threshold=0.5)
    rng = np.random.default_rng(4)
    scores = rng.random((800, 5))
    ev.update_many(rng.random(scores.shape) < scores, scores)
    best = ev.best_threshold("f1_micro")
    assert not best.exact
    assert f"{best.value:.4f}" == f"{best.bound:.4f}"
    assert f"Best micro F1: {best.value:.4f} at threshold" in ev.to_html()
    assert "no threshold exceeds" not in ev.to_html()


def test_metrics_of_one_evaluator_share_a_picture_where_their_scales_are_alike():
    trace = se.Trace(se.Evaluator(["f1_micro", "f1_macro", "hamming_loss", "label_cardinality"]), every=1)
    for number in range(8):
        trace.update({"a", "b"}, {"a"} if number % 2 else {"a", "b"})
    titles = [text for _, text in Page(trace.to_html()).all("strong")]
    assert titles[1:] == ["f1_micro, f1_macro", "hamming_loss", "label_cardinality"]
    names = [f"fbeta_micro(beta={beta})" for beta in range(2, 7)]
    traces = se.Trace(se.Evaluator(names), every=1), se.Trace({name: se.Evaluator([name]) for name in names}, every=1)
    for trace in traces:
        for number in range(8):
            trace.update({"a", "b"}, {"a"} if number % 2 else {"a", "b"})
    together, apart = ([text for _, text in Page(trace.to_html()).all("strong") if "fbeta" in text] for trace in traces)
    assert together == [", ".join(names[:4]), names[4]]
    assert apart == names


@pytest.mark.parametrize("metrics", [24, 25])
def test_pictures_along_the_stream_that_are_too_many_are_omitted(metrics: int):
    names = [f"fbeta_micro(beta={number})" for number in range(1, metrics + 1)]
    trace = se.Trace({name: se.Evaluator(names) for name in "ab"}, every=1)
    trace.update({"a"}, {"a"})
    (course,) = (part for part in trace.to_html().split("<section ") if part.startswith('id="course"'))
    assert course.count("<figure") == 24
    assert re.findall("<p>([^<]*) omitted", course) == ["1 more picture"] * (metrics - 24)


def test_more_lines_than_tones_are_a_band_and_the_rows_between_points_are_one_too():
    ev = se.Evaluator(["recall_per_label", "f1_micro"], labels=[f"label {number:02}" for number in range(12)])
    trace, rng = se.Trace(ev, every=1), np.random.default_rng(0)
    for _ in range(1300):
        trace.update(rng.random(12) < 0.5, rng.random(12) < 0.5)
    (course,) = (part for part in trace.to_html().split("<section ") if part.startswith('id="course"'))
    assert "The 8 of 12 lines that vary most. Shaded: all of them." in course
    assert "guaranteed" not in course
    assert course.count('class="line') == 9
    assert course.count('class="band h"') == 2  # the band of all lines, and that of the eighth
    assert course.count('class="band a"') >= 1


def test_the_first_values_of_a_long_stream_do_not_flatten_the_later_ones():
    trace = se.Trace(se.Evaluator(["f1_micro"]), every=1)
    for number in range(300):
        trace.update({"a"}, {"b" if number in (0, 100, 200) else "a"})
    (course,) = (part for part in trace.to_html().split("<section ") if part.startswith('id="course"'))
    low = float(re.findall(r'data-y-low="([^"]+)"', course)[0])
    assert 0.9 < low < 0.99
    (left_out,) = re.findall(r"Values of the first (\d+) examples are left out", course)
    (marks,) = re.findall(r'data-marks="([^"]+)"', course)
    assert min(map(float, marks.split())) >= low
    assert len(marks.split()) == 300 - int(left_out)


def test_long_names_of_lines_along_the_stream_are_shortened_but_stay_different():
    labels = ["x" * 90 + "one", "x" * 90 + "two"]
    trace = se.Trace({"e" * 90: se.Evaluator(["recall_per_label"], labels=labels)}, every=1)
    trace.update({labels[0]}, set())
    trace.update({labels[1]}, {labels[1]})
    names = [text for _, text in Page(trace.to_html()).all("li") if text.endswith(" at the end")]
    assert [name.split(": ")[1] for name in names] == ["0.0000 at the end", "1.0000 at the end"]
    lines = [name.split(": ")[0].split(", ") for name in names]
    assert [(label[-3:], len(label), len(evaluator)) for label, evaluator in lines] == [
        ("one", 26, 26),
        ("two", 26, 26),
    ]


@pytest.mark.filterwarnings("ignore:scores in y_pred are so close:streameval.DataWarning")
def test_bounds_of_binned_scores_are_a_band_along_the_stream():
    trace = binned_trace()
    (course,) = (part for part in trace.to_html().split("<section ") if part.startswith('id="course"'))
    figures = dict(zip(("roc_auc_macro", "hamming_loss"), course.split("<figure")[1:], strict=True))
    assert "Shaded: guaranteed bounds" in figures["roc_auc_macro"]
    assert "Shaded" not in figures["hamming_loss"]
    two, rng = se.Trace({name: se.Evaluator(["roc_auc_macro"]) for name in "ab"}, every=10), np.random.default_rng(0)
    for _ in range(40):
        two.update(rng.random(3) < 0.5, 0.7 + 1e-7 * rng.random(3))
    assert two.to_html().count("Shaded: guaranteed bounds") == 1
    assert "band" not in figures["hamming_loss"]
    ends = dict(re.findall(r'data-y-(low|high)="([^"]+)"', figures["roc_auc_macro"]))
    low, high = float(ends["low"]), float(ends["high"])
    (band,) = re.findall(r'<path class="band a" d="M([^Z]+)Z"', figures["roc_auc_macro"])
    ups = [int(point.split()[1]) for point in band.split("L")]
    (line,) = (line for line in trace._lines()[2] if line.metric == "roc_auc_macro")
    drawn = [high - up / 1000 * (high - low) for up in (max(ups), min(ups))]
    assert drawn == pytest.approx([line.low.min(), line.high.max()], abs=0.002)


@settings(max_examples=cases(30))
@given(st.lists(st.floats(-1e300, 1e300) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1, max_size=60))
def test_any_values_along_a_stream_are_drawn(values: list[float]):
    class Course:
        def _lines(self, *, timed: bool) -> tuple[str, list[int], list[Line]]:
            def line(metric: str, evaluator: str, numbers: list[float]) -> Line:
                array = np.array(numbers)
                with np.errstate(invalid="ignore"):  # infinity minus infinity
                    return Line(metric, evaluator, None, array, array - abs(array) / 4, array + 1)

            sides = [line(f"m{at}", "", [each * at for each in values]) for at in (1, 2)]
            lines = [*sides, line("m3", "a", values), line("m3", "b", values[::-1])]
            return "examples", list(range(1, len(values) + 1)), lines

    assert Page(few().to_html(trace=Course())).all("section")


def test_the_file_of_json_says_why_a_value_is_undefined():
    ev = fed(se.Evaluator(["f1_micro", "log_loss_micro", "roc_auc_micro"], threshold=0.5), [(["cat"], {"cat": 3.0})])
    ((_, text),) = Page(ev.to_html()).all("script", id="data")
    about = json.loads(text)["about"]
    assert about["metrics"] == {"f1_micro": 1.0, "log_loss_micro": None, "roc_auc_micro": None}
    assert "this metric requires probabilities" in about["undefined"]["log_loss_micro"]
    assert about["undefined"]["roc_auc_micro"] == "0/0"
    ((_, text),) = Page(se.to_html({"a": ev, "b": se.Evaluator(["f1_micro"])})).all("script", id="data")
    assert json.loads(text)["about"]["runs"]["b"]["undefined"]["f1_micro"] == "no examples"


def test_the_number_1_is_followed_by_the_singular():
    page = Page(fed(se.Evaluator(labels=["cat"]), [(["cat"], [])]).to_html())
    assert {"example", "label"} <= {text for _, text in page.all("dt")}
    assert any(text == "Errors: 1. Half of them fall on 1 label." for _, text in page.all("p"))


def test_scores_may_be_as_large_as_a_float64():
    ev, scores = se.Evaluator(["roc_auc_macro"]), [{"a": 1.7e308, "b": 1e308}, {"a": -1.7e308, "b": 1.7e308}]
    ev.update_many([["a"], ["b"]], scores)
    assert "1.7e+308" in ev.to_html()


def test_weights_may_add_up_to_more_than_a_float64():
    ev = se.Evaluator(["f1_micro", "roc_auc_macro"], threshold=0.5, keep=["pairs", "rankings"])
    ev.update_many([["a"], ["b"]] * 9, [{"a": 0.9, "b": 0.6}] * 18, weights=[1.7e308] * 18)
    assert "scores per bucket, ∞ at most" not in (html := ev.to_html())
    assert "∞" in html


# -- escaping ---------------------------------------------------------------------------------------------------------


@settings(max_examples=cases(60))
@given(
    st.lists(st.text() | st.sampled_from(HOSTILE) | st.integers(), min_size=1, max_size=4, unique=True),
    st.text() | st.just(TITLE),
)
def test_labels_and_titles_of_any_characters_stay_text(labels: list, title: str):
    def made(names: list, heading: str) -> Page:
        ev = se.Evaluator(labels=names, keep=["pairs"])
        ev.update_many(np.eye(len(names), dtype=bool), np.ones((len(names),) * 2, bool))
        return Page(ev.to_html(title=heading, slices={str(names[0]): ev}))

    page, plain = made(labels, title), made([f"label {place}" for place in range(len(labels))], "Plain")
    kinds = [tag for tag, attributes in page.elements if attributes.get("class") not in ("name", "name narrow")]
    left = [tag for tag, attributes in plain.elements if attributes.get("class") not in ("name", "name narrow")]
    # Names at dots are left out where they would overlap, so their elements are not compared.
    assert [tag for tag in kinds if tag not in ("bdi", "wbr")] == [tag for tag in left if tag not in ("bdi", "wbr")]
    assert page.all("h1")[0][1] == printable(title)
    assert page.data["labels"]["values"][0] == label_strings(labels)
    assert sorted(row[0] for row in page.rows("labels")) == sorted(cut_distinct(label_strings(labels), 40))


# -- size -------------------------------------------------------------------------------------------------------------


def test_a_page_of_ten_thousand_labels_stays_small():
    small, large = (len(many(labels, 60).to_html()) for labels in (100, 10_000))
    assert large - small < 500 * 9_900
    assert large < 5_000_000


def test_curves_are_drawn_with_as_many_points_as_can_be_seen():
    ev = se.Evaluator(["roc_auc_micro"], labels=[f"label {place}" for place in range(60)])
    rng = np.random.default_rng(0)
    scores = rng.random((400, 60))
    ev.update_many(rng.random(scores.shape) < scores, scores)
    page = ev.to_html()
    assert len(page) < 600_000
    assert "(the 40 most frequent)" in page


# -- files and errors -------------------------------------------------------------------------------------------------


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(InputError):
        few().save_html(path, max_labels=0)
    assert path.read_text(encoding="utf-8") == "old"
    few().save_html(str(path), title="Pets", meta=UNDATED)
    assert path.read_text(encoding="utf-8") == few().to_html(title="Pets", meta=UNDATED)
    with pytest.raises(OSError, match="nowhere"):
        few().save_html(tmp_path / "nowhere" / "report.html")
    with pytest.raises(InputError, match=r"path '.*report\.pdf' must end in \.html$"):
        few().save_html(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == [path]


TWO = se.Trace({"c": se.F1(), "d": se.F1()})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"title": 3}, "title must be a string, not 3"),
        ({"max_labels": 0}, "max_labels must be an integer of at least 1, not 0"),
        ({"max_labels": True}, "max_labels must be an integer of at least 1, not True"),
        ({"trace": [1]}, r"trace must be a Trace, not \[1\]"),
        ({"meta": ["v7"]}, r"meta must be a mapping of strings to values, not \['v7'\]"),
        ({"evaluators": 3}, "evaluators must be an Evaluator, a metric or a window, not 3"),
        ({"evaluators": {}}, "evaluators must be an evaluator, or a mapping name -> evaluator, .* strings, not {}"),
        ({"evaluators": {"a": se.F1(), 1: se.F1()}}, "evaluators must be an evaluator, or a mapping name -> evaluator"),
        ({"evaluators": {"a": se.F1(), "b": TWO}}, r"^evaluators\['b'\] is a Trace of \['c', 'd'\]; .*\['c'\]"),
        ({"evaluators": {"a": 3}}, r"evaluators\['a'\] must be an Evaluator, a metric or a window, not 3"),
        ({"windows": {"a": 3}}, r"windows\['a'\] must be an Evaluator, a metric or a window, not 3"),
        ({"slices": [se.Evaluator()]}, "slices must be a mapping name -> evaluator"),
        ({"slices": {"a": 3}}, r"slices\['a'\] must be an Evaluator, a metric or a window, not 3"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict, message: str):
    with pytest.raises(InputError, match=message):
        se.to_html(**({"evaluators": se.Evaluator()} | wrong))


def test_a_page_changes_nothing():
    ev = hostile()
    before = ev.to_bytes()
    ev.to_html(slices={"itself": ev})
    assert ev.to_bytes() == before


def test_the_parts_of_the_page_are_package_data():
    names = {part.name for part in files("streameval.report.page").iterdir()}
    assert {"page.html", "page.css", "page.js"} <= names


@with_each("entry", catalogue())
def test_every_metric_can_be_on_a_page_without_any_other_metric(entry: MetricInfo):
    scored = reads_scores(entry)
    ev = se.Evaluator([entry.spec], **{key: {"a": 1.5, "b": 2.0} for key in entry.arguments})
    ev.update({"a", "b"}, {"a": 0.75, "b": 0.5} if scored else {"a"})
    ids = {attributes.get("id") for attributes, _ in Page(ev.to_html()).all("section")}
    assert ("confusion" in ids) == ("confusions" in getattr(ev._core.config.options_of("pairs"), "parts", ()))
    assert ev.report()


def test_the_configuration_leaves_out_defaults():
    usual = Page(se.Evaluator(["f1_micro", "ndcg"], threshold=0.5).to_html())
    assert not {"nan", "ties", "inverse_propensities"} & {text for _, text in usual.all("dt")}
    own = Page(se.Evaluator(["f1_micro", "ndcg"], threshold=0.5, nan="missing", ties="last").to_html())
    assert {("nan", "missing"), ("ties", "last"), ("threshold", "0.5"), ("keep", "rankings")} <= pairs(own)
    plain = pairs(Page(se.Evaluator([]).to_html(meta={"model": None})))
    assert {("metrics", "none"), ("threshold", "none; predictions are binary"), ("keep", "none")} <= plain
    assert ("labels", "those of the stream") in plain
    assert not {"model", "unknown"} & {name for name, _ in plain}


def pairs(page: Page) -> set[tuple[str, str]]:
    return {(name, text) for (_, name), (_, text) in zip(page.all("dt"), page.all("dd"), strict=True)}


def test_thresholds_of_labels_are_in_the_table_and_their_range_is_above():
    thresholds = {"cat": 0.25, "dog": 0.75}
    ev = se.Evaluator(["f1_micro"], labels=["cat", "dog"], unknown="ignore", threshold=thresholds)
    page = Page(fed(ev, [({"cat"}, {"cat": 0.5, "dog": 0.5})]).to_html())
    labels = dict(zip(page.data["labels"]["names"], page.data["labels"]["values"], strict=True))
    assert (labels["label"], labels["threshold"]) == ([*thresholds], [*thresholds.values()])
    expected = {("threshold", "0.25 to 0.75"), ("threshold", "0.25 to 0.75, one per label")}
    assert expected | {("labels", "2 declared"), ("unknown", "ignore")} <= pairs(page)
    assert Page(se.to_html({"one": ev, "other": ev})).all("dl", **{"class": "facts"}) == []


@pytest.mark.parametrize(("runs", "pictures"), [
    (1, {
        "F1 by label frequency": ((0, 1, 0, 0), []),
        "ROC": ((3, 0, 0, 1), []), "Precision and recall": ((3, 0, 0, 1), []),
        "Thresholds": ((3, 0, 0, 1), ["precision", "recall", "F1"]), "Calibration": ((1, 1, 1, 1), []),
        "Top k labels": ((3, 3, 0, 0), ["precision", "recall", "nDCG"]),
    }),
    (2, {
        "ROC": ((2, 0, 0, 1), ["old: area 0.0581", "new: area 0.0581"]),
        "Precision and recall": ((2, 0, 0, 0), [f"{name}: average precision 0.3239" for name in ("old", "new")]),
        "Thresholds": ((2, 0, 0, 0), ["old", "new"]), "Calibration": ((2, 2, 0, 1), ["old", "new"]),
    }),
])  # fmt: skip
def test_each_picture_has_its_lines_dots_bars_and_guides(runs: int, pictures: dict[str, tuple[tuple[int, ...], list]]):
    figures = se.to_html({"old": few(), "new": few()} if runs > 1 else few()).split("<figure")[1:]
    drawn = {}
    for figure in figures:
        counts = tuple(len(re.findall(f'class="{kind}[ "]', figure)) for kind in ("line", "dots", "bars", "guide"))
        drawn[re.findall("<strong>([^<]*)", figure)[0]] = counts, re.findall(r'<li class="\w"><bdi>([^<]*)', figure)
    assert drawn == pictures


def test_curves_are_drawn_with_their_areas_and_for_a_single_run_with_those_of_labels_in_grey():
    ev = few()
    page, runs = Page(ev.to_html()), Page(se.to_html({"old": ev, "new": ev}))
    area, precision = (f"{ev.get(f'{name}_micro'):.4f}" for name in ("roc_auc", "average_precision"))
    best = ev.best_threshold("f1_micro")
    assert [text for _, text in page.all("figcaption")][1:4] == [
        f"ROCArea of all labels together {area}. Grey: single labels.",
        f"Precision and recallAverage precision of all labels together {precision}. Dotted: predicting at random. "
        "Grey: single labels.",
        f"ThresholdsBest micro F1: {best.value:.4f} at threshold {best.threshold:.4g} (dotted).",
    ]
    drawn = [(line["class"], line["data-name"]) for line, _ in page.all("path") if "data-name" in line]
    labels = [(f"line faint of{at}", f"{label}, area {ev.get('roc_auc_per_label')[label]:.4f}")
              for at, label in enumerate(ev.labels)]  # fmt: skip
    assert drawn[:3] == [*labels, ("line a", "all labels together")]
    assert [line["class"] for line, _ in page.all("path")].count("guide") == 4
    assert [text for _, text in runs.all("figcaption")] == ["ROC", "Precision and recall", "Thresholds", "Calibration"]
    words = {
        f"{name}: {value}" for name in ("old", "new") for value in (f"area {area}", f"average precision {precision}")
    }
    assert words <= {text for _, text in runs.all("li")}


def test_the_matrix_shows_what_became_of_the_labels_most_often_mistaken():
    ev = se.Evaluator(labels=[f"l{number:02}" for number in range(20)], keep=["pairs"])
    for number in range(20):
        ev.update_many([[ev.labels[number]]] * number, [[ev.labels[(number + 1) % 20]]] * number)
    matrix = ev.to_html().partition('class="matrix"')[2].partition("</table>")[0]
    visible = [*ev.labels[:1], *ev.labels[5:], "no label"]  # l01 to l04 are mistaken least often
    assert re.findall(r'<th scope="row" title="(.*?)">', matrix) == visible
    assert re.findall(r'<th scope="col" title="(.*?)"><span>', matrix) == visible
    written = re.findall(r'title="(l\d\d) → (l\d\d): (\d+)">(\d+)</td>', matrix)
    expected = [(f"l{number:02}", f"l{(number + 1) % 20:02}", str(number), "100") for number in range(5, 20)]
    assert written == expected
    assert "for the 16 labels most often mistaken" in matrix


def test_without_a_threshold_labels_have_areas_and_best_thresholds():
    stream = [({"cat"}, {"cat": 0.75, "dog": 0.5}), ({"cat", "dog"}, {"cat": 0.5, "dog": 0.25})]
    ev = fed(se.Evaluator([], keep=["curves"]), stream)
    table, best = Page(ev.to_html()).data["labels"], ev.best_thresholds()
    columns = dict(zip(table["names"], table["values"], strict=True))
    assert columns["support"] == [2, 1]
    assert columns["best threshold"] == [best[label].threshold for label in columns["label"]]
    assert columns["best F1"] == [best[label].value for label in columns["label"]]
    assert [*columns] == ["label", "support", "ROC AUC", "average precision", "best threshold", "best F1"]
