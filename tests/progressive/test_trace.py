"""Values along a stream: columns, rows, and that a refused example changes nothing."""

from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
import random
import subprocess
import sys
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from dateutil import tz
from matplotlib import pyplot

import streameval as se
from streameval.evaluation.core import Core, core_of
from streameval.inputs import batching
from tests.support.effort import crossed
from tests.support.naming import case_name
from tests.support.report_cases import binned_trace

START = dt.datetime(2024, 2, 28, 23)


def stream(size: int, seed: int = 5) -> list[tuple[set[str], set[str]]]:
    draw = random.Random(seed)
    return [({one for one in "abc" if draw.random() < 0.5}, {one for one in "abc" if draw.random() < 0.5})
            for _ in range(size)]  # fmt: skip


def traced(trace: se.Trace, size: int, **more: object) -> se.Trace:
    for y_true, y_pred in stream(size):
        trace.update(y_true, y_pred, **more)
    return trace


# -- rows and columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 3, 10, 100])
def test_rows_hold_the_values_after_every_so_many_examples(every: int):
    trace = traced(se.Trace(se.Evaluator(["f1_micro", "hamming_loss"]), every=every), 34)
    assert len(trace) == 34 // every
    reference = se.Evaluator(["f1_micro", "hamming_loss"])
    expected: dict[str, list] = {"examples": []} | ({"f1_micro": [], "hamming_loss": []} if every <= 34 else {})
    for place, pair in enumerate(stream(34), 1):
        reference.update(*pair)
        if place % every == 0:
            for name, value in (("examples", place), *reference.get().items()):
                expected[name].append(value)
    assert trace.columns() == expected
    assert trace.evaluators[""] == reference


def test_several_evaluators_are_distinguished_by_their_names():
    window = se.Rolling(se.Evaluator(["f1_micro"]), 10)
    trace = traced(se.Trace({"all": se.Evaluator(["f1_micro"]), "last 10": window}, every=10), 30)
    columns = trace.columns()
    assert list(columns) == ["examples", "f1_micro [all]", "f1_micro [last 10]"]
    last, whole = se.F1(average="micro"), se.F1(average="micro")
    for pair in stream(30):
        whole.update(*pair)
    for pair in stream(30)[-10:]:
        last.update(*pair)
    assert columns["f1_micro [all]"][-1] == whole.get()
    assert columns["f1_micro [last 10]"][-1] == last.get() != whole.get()
    assert trace.get() == {name: values[-1] for name, values in columns.items() if name != "examples"}


def test_times_weights_and_masks_are_passed_on():
    recent, ev = se.TimeRolling(se.Evaluator(["f1_micro"]), dt.timedelta(minutes=90)), se.Evaluator(["f1_micro"])
    trace = se.Trace({"recent": recent, "all": ev}, every=2)
    for hour in range(4):
        trace.update({"a"}, {"a", "b"}, weight=0.5, mask={"b"}, t=START + dt.timedelta(hours=hour))
    assert trace.columns() == {
        "examples": [2, 4],
        "time": [START + dt.timedelta(hours=1), START + dt.timedelta(hours=3)],
        "f1_micro [recent]": [1.0, 1.0],
        "f1_micro [all]": [1.0, 1.0],
    }
    assert (recent.examples, recent.snapshot().weight, ev.weight) == (2, 1.0, 2.0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_make_a_data_frame(frame: type):
    trace = se.Trace({"all": se.Evaluator(["f1_micro", "recall_per_label"]), "last": se.Rolling(se.F1(), 3)}, every=2)
    for place, pair in enumerate([({"a"}, {"a"}), ({"a"}, set()), ({"b"}, {"b"}), ({"a"}, {"a"})]):
        trace.update(*pair, t=START + dt.timedelta(days=place))
    made = frame(trace.columns())
    assert made.shape == (2, 6)
    assert [str(kind) for kind in made["examples"].to_list()] == ["2", "4"]
    assert made["time"].to_list() == [START + dt.timedelta(days=1), START + dt.timedelta(days=3)]
    assert made["f1_macro [last]"].to_list() == trace.columns()["f1_macro [last]"]
    first, second = made["recall_per_label: b [all]"].to_list()
    assert math.isnan(first)
    assert second == 1.0


def test_before_the_first_row_columns_are_empty():
    trace = se.Trace(se.F1(), every=5)
    assert trace.columns() == {"examples": []}
    assert len(trace) == trace.examples == 0
    assert pd.DataFrame(trace.columns()).shape == (0, 1)
    assert trace.get() == {"f1_macro": 0.0}


@pytest.mark.parametrize("many", [False, True])
def test_a_row_does_not_contain_what_its_evaluator_counts_outside_of_the_trace_later(many: bool):
    ev = se.Evaluator(["f1_micro"])
    trace = se.Trace(ev, every=1)
    if many:
        trace.update_many([{"a"}], [{"a"}])
    else:
        trace.update({"a"}, {"a"})
    ev.update({"a"}, {"b"})
    assert trace.columns() == {"examples": [1], "f1_micro": [1.0]}
    assert ev.get() == {"f1_micro": 0.5}


def test_a_row_can_be_forced_and_is_written_once():
    trace = traced(se.Trace(se.F1(), every=2), 3)
    trace.record()
    trace.record()
    assert trace.columns()["examples"] == [2, 3]
    trace.update({"a"}, {"a"})
    trace.record()
    assert trace.columns()["examples"] == [2, 3, 4]
    assert trace.columns()["f1_macro"][-1] == trace.get()["f1_macro"]


def test_columns_are_copies():
    trace = traced(se.Trace(se.F1(), every=1), 3)
    columns = trace.columns()
    before = copy.deepcopy(columns)
    columns["f1_macro"].clear()
    columns["examples"][0] = 99
    assert trace.columns() == before


def test_metrics_without_average_have_a_column_for_each_label():
    trace = se.Trace(se.F1(average=None), every=1)
    for label in ("b", "a", 1, "1", "x [last]", "'1'", ""):
        trace.update({label}, {label})
    columns = trace.columns()
    names = ["b", "a", "1", "'1'", "'x [last]'", "\"'1'\"", "''"]
    assert set(columns) == {"examples", *(f"f1_per_label: {name}" for name in names)}
    for place, name in enumerate(names):
        column = columns[f"f1_per_label: {name}"]
        assert [math.isnan(value) for value in column] == [True] * place + [False] * (7 - place)


def test_columns_of_a_metric_stay_next_to_each_other_when_new_labels_come():
    trace = se.Trace(se.Evaluator(["recall_per_label", "f1_micro"]), every=1)
    trace.update({"a"}, {"a"})
    trace.update({"b"}, {"a"})
    assert list(trace.columns()) == ["examples", "recall_per_label: a", "recall_per_label: b", "f1_micro"]


@pytest.mark.filterwarnings("ignore:scores in y_pred are so close:streameval.DataWarning")
def test_bounds_of_binned_scores_are_written_down_with_their_values():
    trace, reference, bounds = binned_trace(), [], []
    ev = se.Evaluator(["roc_auc_macro", "hamming_loss"], threshold=0.5)
    again = se.Trace({"all": ev, "last": se.Rolling(se.RocAuc("macro"), 30)}, every=10)
    assert list(trace.columns()) == ["examples", "roc_auc_macro", "hamming_loss"]
    rng = np.random.default_rng(0)
    for place in range(1, 201):
        truth = rng.random(3) < 0.3
        near = 0.7 + 1e-7 * rng.normal(truth, 1.0)
        again.update(truth, np.where(rng.random(3) < 0.6, near, rng.random(3)))
        if not place % 10:
            reference.append(ev.bounds("roc_auc_macro"))
            bounds.append(again.evaluators["last"].bounds())
    for held in (again, again.copy(), se.Trace.from_bytes(again.to_bytes())):
        area, loss, window = held._lines()[2]
        names = [(line.metric, line.evaluator) for line in (area, loss, window)]
        assert names == [("roc_auc_macro", "all"), ("hamming_loss", "all"), ("roc_auc_macro", "last")]
        for line, expected in ((area, reference), (window, bounds)):
            for side, drawn in (("low", line.low), ("value", line.values), ("high", line.high)):
                assert drawn.tolist() == [getattr(each, side) for each in expected]
        assert area.is_bounded
        assert not loss.is_bounded
    assert trace._lines()[2][0].low.tolist() == [each.low for each in reference]
    assert max(area.high - area.low) > 0.05


@pytest.mark.filterwarnings("ignore:scores in y_pred are so close:streameval.DataWarning")
def test_a_plot_fills_the_bounds_of_binned_scores():
    trace = binned_trace()
    ax = trace.plot()
    (band,) = ax.collections
    area = trace._lines()[2][0]
    ends = band.get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == (area.low.min(), area.high.max())
    assert not trace.plot(metrics=["hamming_loss"]).collections


@pytest.mark.parametrize("column", [("f1_micro", "", None, "middle"), ("f1_micro", "", "a", "low"), ("f1_micro", "")])
def test_bytes_with_bounds_that_belong_to_no_value_are_refused(column: tuple):
    trace = traced(se.Trace(se.Evaluator(["f1_micro"]), every=1), 2)
    trace._rows[0][2][column] = 0.5
    with pytest.raises(se.FormatError):
        se.Trace.from_bytes(trace.to_bytes())


def test_only_the_chosen_metrics_are_written_down():
    trace = se.Trace(
        {"all": se.Evaluator(), "window": se.Rolling(se.Evaluator(["f1_micro"]), 2), "one": se.HammingLoss()},
        metrics=["f1_micro", "recall_weighted", "hamming_loss"],
        every=1,
    )
    trace.update({"a"}, {"a"})
    assert list(trace.columns()) == [
        "examples", "f1_micro [all]", "recall_weighted [all]", "hamming_loss [all]", "f1_micro [window]",
        "recall_weighted [window]", "hamming_loss [window]", "hamming_loss [one]",
    ]  # fmt: skip
    assert se.Trace(se.Evaluator(), metrics=["f1"]).get().keys() == {"f1_macro"}
    assert se.Trace(se.Evaluator(), metrics=[se.F1(average="micro").spec]).get().keys() == {"f1_micro"}


# -- errors -----------------------------------------------------------------------------------------------------------


def refused(trace: se.Trace, error: type[Exception], *inputs: object, **more: object) -> str:
    """The message of the error that ``update`` raises; asserts that neither trace nor evaluators change."""

    def state() -> list:
        result = [evaluator.to_bytes() for evaluator in trace.evaluators.values()]
        return [result, trace.columns(), trace.examples, trace._cell.value]

    before = state()
    with pytest.raises(error) as caught:
        trace.update(*inputs, **more)
    assert state() == before
    return str(caught.value)


@pytest.mark.parametrize("picky", range(4))
@pytest.mark.parametrize("windows", [(), (0,), (3,), (0, 1), (0, 1, 2, 3)], ids=str)
def test_an_example_that_one_evaluator_refuses_is_counted_by_none(picky: int, windows: tuple[int, ...]):
    evaluators = {}
    for place in range(4):
        ev = se.Evaluator(["f1_micro"], labels=["a", "b"] if place == picky else ["a", "b", "c"])
        evaluators[str(place)] = se.Rolling(ev, 2) if place in windows else ev
    trace = se.Trace(evaluators, every=1)
    for labels in ({"a"}, {"b"}, {"a"}, {"a", "b"}, {"b"}):
        trace.update(labels, {"a"}, weight=0.1)
        assert "'c'" in refused(trace, se.LabelError, {"a"}, {"c"}, weight=0.3)
        assert "weight" in refused(trace, se.InputError, {"a"}, {"a"}, weight=-1)
    reference = se.Evaluator(["f1_micro"], labels=["a", "b", "c"])
    for labels in ({"a"}, {"b"}, {"a"}, {"a", "b"}, {"b"}):
        reference.update(labels, {"a"}, weight=0.1)
    for place in set(range(4)) - {picky} - set(windows):
        assert evaluators[str(place)].to_bytes() == reference.to_bytes()
    assert len(trace) == 5


def test_times_that_go_backwards_mix_kinds_or_are_missing_are_refused():
    trace = se.Trace({"all": se.F1(), "faded": se.Fading(se.F1(), half_life=10.0)})
    trace.update({"a"}, {"a"}, t=3)
    for match, more in (("goes backwards", {"t": 2}), ("one kind", {"t": START}), ("needs the time", {})):
        with pytest.raises(se.InputError, match=match):
            trace.update({"a"}, {"a"}, **more)
        assert trace.examples == trace.evaluators["all"].examples == trace.evaluators["faded"].examples == 1


@pytest.mark.parametrize(("match", "evaluators", "how"), [
    ("every must be", se.F1(), {"every": 0}), ("every must be", se.F1(), {"every": 2.0}),
    ("every must be", se.F1(), {"every": True}), (r"write Evaluator\(\['f1'\]\)", "f1", {}),
    ("evaluators is empty", {}, {}), ("names are strings", {1: se.F1()}, {}), ("names are strings", {"": se.F1()}, {}),
    (r"evaluators\['x'\] must have", {"x": 3}, {}), ("write F1", se.F1, {}),
    (r"evaluators\['x'\] must be one object", {"x": {"y": se.F1()}}, {}),
    ("must be a list", se.F1(), {"metrics": "f1_micro"}), ("did you mean", se.Evaluator(), {"metrics": ["f1_mikro"]}),
    ("cannot be read from any", se.F1(), {"metrics": ["hamming_loss"]}),
])  # fmt: skip
def test_wrong_arguments_are_refused(match: str, evaluators: object, how: dict):
    with pytest.raises((se.InputError, se.MetricError), match=match):
        se.Trace(evaluators, **how)


@pytest.mark.parametrize("first", [True, False])
def test_an_example_that_one_window_refuses_changes_no_other_window(first: bool):
    def windows() -> dict[str, object]:
        return {"last": se.Rolling(se.Evaluator(), size=3), "time": se.TimeRolling(se.Evaluator(), 4.0)}

    picky = {"picky": se.Rolling(se.Evaluator(labels=["a", "b"]), size=2), "all": se.Evaluator()}
    trace, expected = se.Trace(picky | windows() if first else windows() | picky, every=1), windows()
    retained = 0
    for place, (y_true, y_pred) in enumerate(stream(40)):
        if "c" in y_true | y_pred:
            with pytest.raises(se.LabelError, match="'c'"):
                trace.update(y_true, y_pred, t=float(place))
        else:
            trace.update(y_true, y_pred, t=float(place))
            expected["last"].update(y_true, y_pred)
            expected["time"].update(y_true, y_pred, t=float(place))
            retained += 1
        assert {name: trace.evaluators[name] for name in expected} == expected
    assert trace.examples == trace.evaluators["all"].examples == len(trace) == retained
    assert 0 < retained < 40


def test_a_refused_example_leaves_no_time_behind():
    picky = se.Rolling(se.Evaluator(labels=["a"]), size=3)
    trace = se.Trace({"picky": picky, "time": se.TimeRolling(se.F1(), 1.0), "fading": se.Fading(se.F1(), 1.0)})
    with pytest.raises(se.LabelError):
        trace.update({"b"}, {"a"}, t=100.0)
    for t in (1.0, 1.5):
        trace.update({"a"}, {"a"}, t=t)
    assert [window.examples for window in trace.evaluators.values()] == [2, 2, 2]


@pytest.mark.parametrize("moments", [None, [1.0, 2.0, 4.5], [START, START, START + dt.timedelta(days=1)]], ids=str)
def test_windows_receive_the_time_if_they_are_windows_of_time(moments: list | None):
    length = dt.timedelta(days=1) if moments and isinstance(moments[0], dt.datetime) else 2.0
    timed = {
        "time": lambda: se.TimeRolling(se.F1(), length),
        "blocks of time": lambda: se.Tumbling(se.F1(), period=length),
        "fading": lambda: se.Fading(se.F1(), length),
    }
    made = {"last": lambda: se.Rolling(se.F1(), size=2), "blocks": lambda: se.Tumbling(se.F1(), size=2)}
    if moments:
        made |= timed
    trace = se.Trace({name: make() for name, make in made.items()}, every=1)
    expected = {name: make() for name, make in made.items()}
    for place, pair in enumerate(stream(3)):
        trace.update(*pair, t=moments[place] if moments else None)
        for name, window in expected.items():
            window.update(*pair, **({"t": moments[place]} if name in timed else {}))
        assert trace.get() == {f"f1_macro [{name}]": window.get() for name, window in expected.items()}
    assert trace.evaluators == expected
    for make in timed.values():
        with pytest.raises(se.InputError, match="needs the time"):
            se.Trace(make()).update({"a"}, {"a"})


@pytest.mark.parametrize("kind", [se.Tumbling, se.Rolling])
def test_windows_of_examples_count_in_a_trace_as_they_do_outside(kind: Any):
    single, traced = (kind(se.F1(), size=3) for _ in range(2))
    trace = se.Trace(traced)
    for pair in stream(150):
        single.update(*pair, weight=2.0)
        trace.update(*pair, weight=2.0)
    assert traced == single


def test_one_object_under_two_names_is_refused():
    ev = se.F1()
    with pytest.raises(se.InputError, match="one object"):
        se.Trace({"a": ev, "b": ev})


# -- as a value -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        copy.copy,
        copy.deepcopy,
        se.Trace.copy,
        *(lambda one, by=by: pickle.loads(pickle.dumps(one, by)) for by in range(pickle.HIGHEST_PROTOCOL + 1)),
    ],
    ids=case_name,
)
def test_copies_are_independent(how):
    trace = se.Trace({"all": se.Evaluator(["f1_micro"]), "one": se.Rolling(se.F1(), 20)}, every=2)
    for place in range(5):
        trace.update({"a"} if place % 2 == 0 else (), {"a"})
    before, state = trace.columns(), trace.evaluators["all"].to_bytes()
    twin = how(trace)
    assert twin.columns() == before
    for _ in range(5):
        twin.update({"a"}, {"a"})
    assert len(twin) == 5
    assert twin.evaluators["all"].examples == twin.evaluators["one"].examples == 10
    assert trace.columns() == before
    assert trace.evaluators["all"].to_bytes() == state


def test_repr_says_how_many_examples_and_rows_there_are():
    assert repr(traced(se.Trace(se.F1(), every=2), 5)) == "Trace(5 examples, 2 rows, every 2)"


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_a_plot_draws_one_line_for_each_metric_and_evaluator():
    trace = se.Trace({name: se.Evaluator(["f1_micro", "hamming_loss"]) for name in ("all", "again")}, every=5)
    ax = traced(trace, 40).plot()
    labels = [line.get_label() for line in ax.get_lines()]
    assert labels == ["f1_micro [all]", "f1_micro [again]", "hamming_loss [all]", "hamming_loss [again]"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
    columns = trace.columns()
    for line in ax.get_lines():
        assert line.get_xdata().tolist() == columns["examples"]
        assert line.get_ydata().tolist() == columns[line.get_label()]
    assert len({line.get_color() for line in ax.get_lines()}) == len({line.get_linestyle() for line in ax.get_lines()})
    assert ax.get_xlabel() == "examples"
    ax.figure.canvas.draw()


def test_a_plot_of_one_metric_says_its_name_on_the_axis_and_the_evaluators_in_the_legend():
    trace = traced(se.Trace({name: se.Evaluator() for name in ("all", "again")}, every=5), 40)
    ax = trace.plot(["f1_micro"])
    assert ax.get_ylabel() == "f1_micro"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all", "again"]
    assert len({line.get_color() for line in ax.get_lines()}) == 2
    single = traced(se.Trace(se.F1(), every=5), 40).plot()
    assert single.get_legend() is None
    assert single.get_ylabel() == "f1_macro"


def test_a_plot_has_times_on_its_axis_and_is_drawn_on_the_axes_that_are_passed():
    trace = se.Trace(se.Evaluator(), every=1)
    for day in range(5):
        trace.update({"a"}, {"a"}, t=START + dt.timedelta(days=day))
    _, axes = pyplot.subplots(1, 2)
    assert trace.plot(ax=axes[1]) is axes[1]
    assert axes[1].get_xlabel() == "time"
    assert not axes[0].get_lines()
    axes[1].figure.canvas.draw()


@pytest.mark.parametrize("values", [
    [0.62, 0.68], [0.0, 0.2], [0.97, 1.0], [0.5], [math.nan], [-0.4, 0.4], [3.0, 5.0],
])  # fmt: skip
def test_the_axis_of_a_plot_contains_all_values_and_little_more(values: list[float]):
    trace = se.Trace(se.F1(), every=1)
    for place, value in enumerate(values, 1):
        trace._written.append((place, None, {("f1_macro", "", None): value}))
        trace._store(place)
    bottom, top = trace.plot().get_ylim()
    if not math.isnan(values[0]):
        assert bottom <= min(values) <= max(values) <= top
        assert top - bottom <= max(1.2 * (max(values) - min(values)), 0.1)


def test_a_plot_needs_a_row_a_known_metric_and_matplotlib(monkeypatch):
    trace = se.Trace(se.F1(), every=50)
    with pytest.raises(se.InputError, match="no row was recorded yet"):
        trace.plot()
    traced(trace, 50)
    with pytest.raises(se.MetricError, match="f1_micro was not recorded"):
        trace.plot(metrics=["f1_micro"])
    with pytest.raises(se.MetricError, match="must be a list"):
        trace.plot(metrics="f1_macro")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(se.DependencyError, match="pip install matplotlib"):
        trace.plot()


def test_columns_need_no_other_library():
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'pandas', 'polars', 'tqdm', 'river']));"
        "import streameval as se; t = se.Trace(se.F1(), every=1); t.update({'a'}, {'a'}); print(t.columns())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "{'examples': [1], 'f1_macro': [1.0]}\n"


def fed(trace: se.Trace, examples: list[tuple[Any, Any]], sizes: list[int]) -> se.Trace:
    """The trace, after it has counted examples in batches of these sizes, where 0 stands for one `update`."""
    start = 0
    for size in sizes:
        part = examples[start : start + (size or 1)]
        start += size or 1
        if size:
            trace.update_many(*map(list, zip(*part, strict=True)))
        else:
            trace.update(*part[0])
    assert start == len(examples)
    return trace


@pytest.mark.parametrize("every", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("sizes", [[12], [5, 7], [0, 1, 4, 0, 5], [3, 3, 3, 3], [4, 0, 0, 6]])
def test_update_many_writes_the_rows_that_updates_one_by_one_write(every: int, sizes: list[int]):
    drawn = random.Random(every)
    examples = [({x for x in "abc" if drawn.random() < 0.5}, {x for x in "abcd" if drawn.random() < 0.5})
                for _ in range(12)]  # fmt: skip

    def trace() -> se.Trace:
        return se.Trace(
            {"all": se.Evaluator(["f1_micro", "recall_per_label"]), "one": se.Jaccard("samples")}, every=every
        )

    one_by_one = fed(trace(), examples, [0] * 12)
    many = fed(trace(), examples, sizes)
    assert many.to_bytes() == one_by_one.to_bytes()
    assert len(many) == 12 // every
    assert se.Trace.from_bytes(many.to_bytes()) == many.copy() == many


def test_update_many_of_examples_that_are_read_in_pieces_writes_the_same_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batching, "_EXAMPLES", 255)
    examples = [({number % 3}, {number % 5}) for number in range(700)]
    many, one_by_one = (
        fed(se.Trace(se.Evaluator(["f1_micro"]), every=200), examples, sizes) for sizes in ([700], [0] * 700)
    )
    assert many.to_bytes() == one_by_one.to_bytes()


def test_update_many_of_arrays_weights_and_masks_counts_as_the_evaluators_do():
    drawn = np.random.default_rng(5)
    true, scores = drawn.integers(0, 2, (50, 4)), drawn.random((50, 4)).astype(np.float32)
    weights, mask = drawn.random(50), drawn.random((50, 4)) < 0.2
    options: dict[str, Any] = {"labels": ["a", "b", "c", "d"], "threshold": 0.5, "keep": ["curves"]}
    trace, plain = se.Trace(se.Evaluator(**options), every=7), se.Evaluator(**options)
    single = se.Trace(se.Evaluator(**options), every=7)
    trace.update_many(true, scores, weights=weights, mask=mask)
    plain.update_many(true, scores, weights=weights, mask=mask)
    for row in range(50):
        single.update(true[row], scores[row], weight=weights[row], mask=mask[row])
    assert trace.evaluators[""] == plain
    assert trace == single
    trace.update_many(iter(true), iter(scores))
    assert trace.examples == trace.evaluators[""].examples == 100
    trace.update_many([], [])
    assert trace.examples == 100


def test_update_many_counts_nothing_where_one_evaluator_refuses_an_example():
    trace = se.Trace({"wide": se.Evaluator(), "narrow": se.Evaluator(label_limit=2)}, every=1)
    trace.update({"a"}, {"a"})
    before = trace.to_bytes()
    for many in ([{"a"}, {"b"}, {"c"}], [{"a"}, "a"], [{"a"}, 3]):
        with pytest.raises(se.InputError):
            trace.update_many(many, [{"a"}] * len(many))
        assert trace.to_bytes() == before
    with pytest.raises(se.InputError, match="numbers of examples differ"):
        trace.update_many([{"a"}], [])
    with pytest.raises(se.InputError, match="update_many is missing y_pred"):
        trace.update_many([{"a"}])  # type: ignore[call-arg]
    assert trace.to_bytes() == before
    trace.update_many([{"a"}, {"b"}], [{"a"}, {"b"}])
    assert trace.examples == len(trace) == 3


def test_update_many_refuses_windows_with_what_to_write():
    trace = se.Trace({"all": se.Evaluator(), "last": se.Rolling(se.Evaluator())})
    with pytest.raises(se.InputError, match=r"takes no windows, but evaluators\['last'\] is one; call update for each"):
        trace.update_many([{"a"}], [{"a"}])
    assert not trace.examples


@pytest.mark.parametrize(("batch", "every"), crossed([1, 30], [1, 10, 100]))
def test_where_warnings_are_errors_a_call_that_raises_one_has_counted_nothing(batch: int, every: int):
    trace, raised = se.Trace(se.Evaluator(), every=every), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", se.DataWarning)
        while trace.examples < 300:
            before = trace.to_bytes()
            try:
                if batch == 1:
                    trace.update({"A"}, {"a"})
                else:
                    trace.update_many([{"A"}] * batch, [{"a"}] * batch)
            except se.DataWarning:
                raised += 1
                assert trace.to_bytes() == before
    assert raised == 1


@pytest.mark.parametrize("call", ["update", "update_many", "record"])
def test_a_row_is_added_without_a_copy_of_those_before_it(call: str):
    trace = se.Trace(se.F1(average="micro"), every=1)
    trace.update_many([{"a"}] * 8_000, [{"a"}] * 8_000)
    for _ in range(2):
        trace.update({"a"}, {"a"})
    tracemalloc.start()
    try:
        if call == "update":
            trace.update({"a"}, {"a"})
        elif call == "update_many":
            trace.update_many([{"a"}], [{"a"}])
        else:
            trace.record()
        assert tracemalloc.get_traced_memory()[1] < 8_000 * 4  # a list of all rows takes 8 bytes for each
    finally:
        tracemalloc.stop()
    assert len(trace) == len(trace.columns()["examples"]) == 8_002 + (call != "record")
    assert trace.columns()["examples"] == [*range(1, 1 + len(trace))]
    for twin in (trace.copy(), copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert twin.columns() == trace.columns()


def test_rows_that_an_interrupted_batch_left_behind_are_replaced(monkeypatch: pytest.MonkeyPatch):
    def interrupt(one: object, *what: object) -> object:
        if one is core_of(trace.evaluators[""]):  # not for the copies that the rows are computed from
            raise KeyboardInterrupt
        return prepare(one, *what)

    prepare = Core.prepare_merge
    trace, other = (se.Trace(se.F1(average="micro"), every=2) for _ in range(2))
    for one in (trace, other):
        one.update({"a"}, {"a"})
    with monkeypatch.context() as patch:
        patch.setattr(Core, "prepare_merge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            trace.update_many([{"a"}] * 6, [{"b"}] * 6)
    assert len(trace._written) == 3
    assert trace == other
    for one in (trace, other):
        one.update({"a"}, {"a"})
        one.update_many([{"a"}, {"b"}], [{"a"}, {"a"}])
        one.record()
    assert trace.columns() == other.columns() == {"examples": [2, 4], "f1_micro": [1.0, 0.75]}


def test_times_of_different_zones_and_libraries_are_one_column():
    noon, summer = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), dt.timezone(dt.timedelta(hours=2))
    naive = [dt.datetime(2024, 5, 1), np.datetime64("2024-05-02"), pd.Timestamp("2024-05-03")]
    parsed = [noon.astimezone(zone) for zone in (tz.tzutc(), tz.tzoffset(None, 7200), tz.tzutc())]
    for times in ([None, noon, noon.astimezone(summer), pd.Timestamp(noon)], naive, parsed, parsed[::2]):
        trace = se.Trace(se.F1(), every=1)
        for t in times:
            trace.update({"a"}, {"a"}, t=t)
        expected = [t and pd.Timestamp(t) for t in times]
        assert trace.to_polars()["time"].to_list() == expected
        assert trace.to_pandas()["time"].dtype.kind == "M"
