"""Every picture is drawn of every kind of source, or refused by an error of this package with what to pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import streameval as se
from streameval import plots
from streameval.errors import InputError, StreamevalError
from streameval.evaluation.kinds import KINDS
from tests.support.effort import crossed

RNG = np.random.default_rng(8)
SCORES = RNG.random((60, 3))
TRUE = RNG.random((60, 3)) < SCORES
PLOTS = [name for name in plots.__all__ if name.startswith("plot_")]


def empty(labels: object = None) -> se.Evaluator:
    return se.Evaluator(["f1_micro", "hamming_loss"], threshold=0.5, keep=KINDS, labels=labels)


def counted(holder: object, columns: int = 3, weight: float = 1.0) -> object:
    for true, scores in zip(TRUE[:, :columns], SCORES[:, :columns], strict=True):
        holder.update(true, scores, weight=weight)
    return holder


SOURCES: dict[str, Callable[[], tuple]] = {
    "empty": lambda: (empty(),),
    "declared": lambda: (empty(["a"]),),
    "no states": lambda: (se.Evaluator(),),
    "one label": lambda: (counted(empty(), 1),),
    "weights that add up to more than a float64": lambda: (counted(empty(), weight=1.7e308),),
    "scores as large as a float64": lambda: (TRUE, (2 * SCORES - 1) * 1.7e308),
    "metric": lambda: (se.F1(),),
    "window": lambda: (se.Rolling(empty(), 9),),
    "trace": lambda: (se.Trace(empty(), every=5),),
    "trace of two": lambda: (se.Trace({"a": empty(), "b": empty()}, every=5),),
    "slices": lambda: (se.Sliced(empty(), by="x"),),
    "mapping": lambda: ({},),
    "mapping of one": lambda: ({"m": empty()},),
    "mapping of two": lambda: ({"m": empty(), "n": counted(empty())},),
    "mapping of traces": lambda: ({"m": se.Trace({"a": empty(), "b": empty()})},),
    "mapping of mappings": lambda: ({"m": {}},),
    "curves of nothing": lambda: (empty().roc_curve(),),
    "table": lambda: (empty().per_label(),),
    "matrix": lambda: (empty().confusion_matrix(),),
    "no rows": lambda: (TRUE[:0], SCORES[:0]),
    "no columns": lambda: (TRUE[:, :0], TRUE[:, :0]),
    "scores": lambda: (TRUE, SCORES),
    "binary": lambda: (TRUE, SCORES > 0.5),
    "counted with an array": lambda: (counted(empty()), TRUE),
    "one array": lambda: (TRUE,),
    "list": lambda: ([empty()],),
    "class": lambda: (se.Evaluator,),
    "class of slices": lambda: (se.Sliced,),
    "class of metrics": lambda: (se.F1,),
    "None": lambda: (None,),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "source"), crossed(PLOTS, SOURCES))
def test_every_source_is_drawn_or_refused_by_an_error_of_this_package(name: str, source: str):
    try:
        ax = getattr(plots, name)(*SOURCES[source]())
    except StreamevalError:
        assert not pyplot.get_fignums()
    else:
        assert isinstance(ax, Axes)
        ax.figure.canvas.draw()
        pyplot.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_a_trace_of_two_evaluators_in_a_mapping_is_refused(name: str):
    trace = se.Trace({"a": empty(), "b": counted(empty())})
    message = r"is a Trace of \['a', 'b'\]; choose one: trace.evaluators\['a'\]"
    with pytest.raises(InputError, match=f"^what is drawn {message}"):
        getattr(plots, name)({"m": trace})
    with pytest.raises(InputError, match=rf"^evaluators\['n'\] {message}"):
        se.to_html({"m": empty(), "n": trace})


@pytest.mark.parametrize("name", PLOTS)
def test_an_empty_mapping_is_refused_with_what_to_pass(name: str):
    with pytest.raises(InputError, match="give an evaluator, evaluators by name or slices"):
        getattr(plots, name)({})


@pytest.mark.parametrize("name", PLOTS)
def test_a_class_is_refused_with_what_to_write(name: str):
    with pytest.raises(InputError, match=r"write F1\(\)"):
        getattr(plots, name)(se.F1)
    with pytest.raises(InputError, match=r"write F1\(\)"):
        getattr(plots, name)({"m": se.F1, "n": se.F1()})


@pytest.mark.parametrize("name", PLOTS)
def test_a_picture_without_examples_says_so(name: str):
    source = {"plot_slices": {"m": empty()}, "plot_compare": {"m": empty(), "n": empty()}}.get(name, empty())
    ax = getattr(plots, name)(source)
    assert [text.get_text() for text in ax.texts if text.get_text() not in ("", "change")] == ["no values"]
    assert not ax.patches


def names(ax: Axes) -> list[str]:
    return [text.get_text().partition(", ")[0] for text in ax.get_legend().get_texts()]


def test_labels_and_runs_whose_names_look_alike_have_different_names_in_the_legend():
    ev = se.Evaluator(keep=["curves"], threshold=0.5)
    ev.update({1}, {1: 0.9, "1": 0.2})
    ev.update({"1"}, {1: 0.3, "1": 0.4})
    runs: dict[object, se.Evaluator] = {"m": ev}
    assert names(plots.plot_roc_curve(runs, labels=[1, "1"])) == ["1 m", "'1' m"]
    assert names(plots.plot_roc_curve(ev, labels=["1", 1])) == ["'1'", "1"]
    assert names(plots.plot_precision_recall_curve({1: ev, "1": ev})) == ["1", "'1'"]
    assert names(plots.plot_roc_curve({"b c": ev, "c": ev}, labels=[1])) == ["1 b c", "1 c"]
    ax = plots.plot_compare({1: ev, "1": ev})
    assert names(ax) == ["1", "'1'"]
    assert len(plots.plot_roc_curve(runs, labels=[1, "1"]).lines) == 3


def test_unknown_pictures_and_evaluators_without_a_metric_of_one_number_are_refused():
    with pytest.raises(InputError, match=r"^plot.. draws .*, not 'lables'; did you mean 'labels'"):
        counted(empty()).plot("lables")
    with pytest.raises(InputError, match="no metric that is one number; give metric="):
        plots.plot_slices({"a": se.Evaluator(["f1_per_label"]), "b": se.Evaluator()})
