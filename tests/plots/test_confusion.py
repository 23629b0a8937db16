"""Pictures of label pairs: what they say, not what they look like."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb

import streameval as se
from streameval.errors import InputError
from streameval.metrics import pairs
from streameval.plots import style as parts
from streameval.plots.confusion import plot_confusion_matrix, plot_cooccurrence, plot_multilabel_confusion
from streameval.plots.curves import (
    Curve,
    plot_calibration_curve,
    plot_precision_recall_curve,
    plot_roc_curve,
    plot_thresholds,
)
from tests.states.test_pairs import Meant, fed


def matrix_of(names: list, examples: list[tuple[set, set]]) -> pairs.Matrix:
    state = fed(names, ["confusions", "cooccurrence"], [Meant(frozenset(t), frozenset(p)) for t, p in examples])
    return pairs.confusion_matrix(state, values="shares")


SOME = [({"a"}, {"a"}), ({"a"}, {"b"}), ({"a"}, {"a"}), ({"b"}, {"b"}), ({"b", "c"}, set()), (set(), {"c"})]


def texts(ax: object) -> dict[tuple[int, int], str]:
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}


def names(ax: object, axis: str) -> list[str]:
    return [text.get_text() for text in getattr(ax, f"get_{axis}ticklabels")()]


def drawn(ax: object) -> object:
    ax.figure.canvas.draw()
    return ax


def test_a_confusion_matrix_names_its_labels_and_tells_its_shares():
    ax = drawn(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME), title="A title"))
    assert names(ax, "x") == names(ax, "y") == ["a", "b", "c", "none"]
    assert texts(ax) == {(0, 0): "67", (0, 1): "33", (1, 1): "50", (1, 3): "50", (2, 3): "100", (3, 2): "100"}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("predicted label", "true label", "A title")
    image = ax.images[0]
    assert image.get_clim() == (0, 1)
    assert np.allclose(image.get_array()[0], [2 / 3, 1 / 3, 0, 0])
    assert ax.get_ylim() == (3.5, -0.5)
    bar = ax.figure.axes[-1]
    assert bar is not ax
    assert bar.get_ylabel() == "fraction of the true label"
    assert [text.get_text() for text in bar.get_yticklabels()][-1] == "100%"


def test_a_confusion_matrix_of_sums_is_not_in_per_cent():
    ax = drawn(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME * 2), normalize=None))
    assert texts(ax)[0, 0] == "4"
    assert ax.figure.axes[-1].get_ylabel() == "examples"
    assert ax.images[0].get_clim() == (0, 4)


@pytest.mark.parametrize("size", [17, 40, 150])
def test_many_labels_are_drawn_without_numbers_and_names_do_not_touch(size: int):
    many = [f"a rather long name {number}" for number in range(size)]
    ax = plot_confusion_matrix(matrix_of(many, [({many[0]}, {many[1]})]))
    drawn(ax)
    assert not ax.texts
    for axis, side in (("y", 1), ("x", 0)):
        boxes = [text.get_window_extent() for text in getattr(ax, f"get_{axis}ticklabels")()]
        spans = sorted((box.p0[side], box.p1[side]) for box in boxes)
        assert all(one[1] <= other[0] + 0.5 for one, other in pairwise(spans))
    assert names(ax, "y")[-1] == names(ax, "x")[-1] == "none"
    assert len(plot_confusion_matrix(matrix_of(many, []), numbers=True).texts) == 0  # nothing was counted


def test_numbers_can_be_asked_for_and_declined():
    matrix = matrix_of([f"l{number}" for number in range(20)], [({"l3"}, {"l4"})])
    assert len(plot_confusion_matrix(matrix, numbers=True).texts) == 1
    assert len(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME), numbers=False).texts) == 0


def test_cooccurrence_shows_the_lower_half_once_and_no_diagonal():
    state = fed(
        "abc", ["cooccurrence"], [Meant(frozenset("ab"), frozenset("c")), Meant(frozenset("abc"), frozenset("c"))]
    )
    ax = drawn(plot_cooccurrence(pairs.cooccurrence(state), title="Together"))
    assert names(ax, "y") == ["b", "c"]
    assert names(ax, "x") == ["a", "b"]
    assert texts(ax) == {(0, 0): "2", (1, 0): "1", (1, 1): "1"}
    both = drawn(plot_cooccurrence(pairs.cooccurrence(state, side="both")))
    assert names(both, "y") == ["a", "b", "c"]
    assert texts(both) == {(0, 2): "2", (1, 2): "2"}
    assert both.get_xlabel() == "predicted label"


def test_association_of_both_signs_is_centred_and_says_what_grey_is():
    examples = [
        Meant(frozenset("ab"), frozenset()),
        Meant(frozenset("a"), frozenset()),
        Meant(frozenset("a"), frozenset()),
        Meant(frozenset("b"), frozenset()),
    ]
    state = fed("abc", ["cooccurrence"], [*examples, Meant(frozenset("cd"), frozenset())])
    ax = drawn(plot_cooccurrence(pairs.association(state, "pmi"), name="pmi"))
    low, high = ax.images[0].get_clim()
    assert low == -high < 0
    assert ax.get_xlabel() == "grey: never together"
    assert ax.figure.axes[-1].get_ylabel() == "pmi"
    image = ax.images[0]
    shown = image.cmap(image.norm(image.get_array()))
    assert np.allclose(shown[1, 0, :3], to_rgb(parts.BLANK), atol=0.01)  # a and c: never
    assert shown[0, 1, :3].tolist() == [1, 1, 1]  # the upper half


def test_panels_hold_the_counts_of_each_label():
    figure = plot_multilabel_confusion(["cat", "dog"], tp=[3, 12000], fp=[1, 0], fn=[0, 7], tn=[96, 1], title="Both")
    figure.canvas.draw()
    panels = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title() for ax in panels] == ["cat", "dog"]
    assert texts(panels[0]) == {(0, 0): "96", (0, 1): "1", (1, 0): "0", (1, 1): "3"}
    assert texts(panels[1]) == {(0, 0): "1", (0, 1): "0", (1, 0): "7", (1, 1): "12k"}
    assert panels[0].images[0].get_array().tolist() == [[96 / 97, 1 / 97], [0, 1]]
    assert figure.get_suptitle() == "Both"


def test_panels_of_many_labels_are_those_of_the_most_frequent():
    size = 50
    figure = plot_multilabel_confusion(list(range(size)), np.arange(size), [0] * size, [1] * size, [9] * size, limit=7)
    panels = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title() for ax in panels] == [str(label) for label in range(43, 50)]
    assert figure.get_suptitle() == "the 7 most frequent of 50 labels"
    with pytest.raises(InputError, match="limit"):
        plot_multilabel_confusion([1], [1], [1], [1], [1], limit=0)
    with pytest.raises(InputError, match="one number for each of 2"):
        plot_multilabel_confusion([1, 2], [1], [1], [1], [1])
    assert not [ax for ax in plot_multilabel_confusion([], [], [], [], []).axes if ax.images]


def test_pictures_are_drawn_where_asked_and_arguments_stay_as_they_are():
    figure, axes = pyplot.subplots(2, 3)
    matrix = matrix_of(["a", "b", "c"], SOME)
    state = fed("abc", ["cooccurrence"], [Meant(frozenset("ab"), frozenset("c"))])
    line = np.linspace(0, 1, 5)
    before = (matrix.num.tolist(), line.tolist())
    assert plot_confusion_matrix(matrix, ax=axes[0, 0]) is axes[0, 0]
    assert plot_cooccurrence(pairs.cooccurrence(state), ax=axes[0, 1]) is axes[0, 1]
    assert plot_roc_curve(Curve("x", line, line), ax=axes[0, 2]) is axes[0, 2]
    assert plot_precision_recall_curve(Curve("x", line, line), ax=axes[1, 0]) is axes[1, 0]
    assert plot_calibration_curve(line, line, line, ax=axes[1, 1]) is axes[1, 1]
    assert plot_thresholds(line, line, line, line, ax=axes[1, 2]) is axes[1, 2]
    assert (matrix.num.tolist(), line.tolist()) == before
    part = figure.subfigures(1, 1)
    assert plot_multilabel_confusion(["a"], [1], [1], [1], [1], fig=part) is part
    assert len(pyplot.get_fignums()) == 1
    figure.canvas.draw()


def test_empty_and_odd_labels_are_drawn():
    odd = ["", "$x_1$", "a\nb", "\x01", "é" * 60, 7, -(2**70)]
    ax = drawn(plot_confusion_matrix(matrix_of(odd, [({label}, {7}) for label in odd])))
    assert names(ax, "y")[:3] == ["''", r"\$x_1\$", "a b"]
    assert max(map(len, names(ax, "y"))) <= 26
    drawn(plot_confusion_matrix(matrix_of([], [])))
    drawn(plot_cooccurrence(pairs.cooccurrence(fed("", ["cooccurrence"], []))))
    drawn(plot_cooccurrence(pairs.cooccurrence(fed("a", ["cooccurrence"], []))))


def test_an_evaluator_is_drawn_as_what_is_read_of_it():
    ev = se.Evaluator(["f1_macro"], labels=["a", "b", "c"], keep=["pairs", "contributions"])
    for true, pred in [*SOME, ({"a", "b"}, {"a", "c"}), ({"a", "b"}, {"a"})]:
        ev.update(true, pred)
    table = ev._view("pairs", "this")

    def same(one: object, other: object) -> bool:
        return texts(drawn(one)) == texts(drawn(other)) != {}

    assert same(plot_confusion_matrix(ev), plot_confusion_matrix(pairs.confusion_matrix(table, values="shares")))
    for values in ("counts", "contributions"):
        expected = pairs.confusion_matrix(table, values=values)
        assert same(
            plot_confusion_matrix(ev, values=values, normalize=None), plot_confusion_matrix(expected, normalize=None)
        )
    assert same(plot_cooccurrence(ev), plot_cooccurrence(pairs.cooccurrence(table)))
    for side in ("pred", "both"):
        assert same(plot_cooccurrence(ev, side=side), plot_cooccurrence(pairs.cooccurrence(table, side=side)))
    ax = plot_cooccurrence(ev, measure="jaccard", side="pred")
    assert same(ax, plot_cooccurrence(pairs.association(table, "jaccard", side="pred")))
    assert ax.figure.axes[-1].get_ylabel() == "jaccard"
    t = ev.per_label()
    for given in (ev, t):
        figures = [plot_multilabel_confusion(given), plot_multilabel_confusion(t.labels, t.tp, t.fp, t.fn, t.tn)]
        shown = [[(ax.get_title(), texts(ax)) for ax in figure.axes if ax.images] for figure in figures]
        assert shown[0] == shown[1]
        assert len(shown[0]) == 3
    single = se.metric("mlcm_f1")
    single.update({"a"}, {"b"})
    drawn(plot_confusion_matrix(single))


def test_what_is_drawn_is_said_once():
    ev = se.Evaluator(["f1_macro"], keep=["cooccurrence"])
    ev.update({"a"}, {"b"})
    table = ev._view("pairs", "this")
    with pytest.raises(se.MetricError, match=r"requires the 'confusions' part of pairs, .* keep=\['confusions'\]"):
        plot_confusion_matrix(ev)
    with pytest.raises(se.MetricError, match="requires the 'cooccurrence' state"):
        plot_cooccurrence(se.Evaluator())
    for call, told in (
        (lambda: plot_confusion_matrix(matrix_of(["a"], []), values="counts"), "values"),
        (lambda: plot_cooccurrence(pairs.cooccurrence(table), side="pred"), "side"),
        (lambda: plot_cooccurrence(pairs.cooccurrence(table), measure="lift"), "measure"),
        (lambda: plot_cooccurrence(ev, measure="lift", side="both"), "one side"),
        (lambda: plot_multilabel_confusion(ev, tp=[1, 2]), "leave tp"),
        (lambda: plot_multilabel_confusion(["a"], [1], [1]), "give an evaluator"),
    ):
        with pytest.raises(InputError, match=told):
            call()
    assert not pyplot.get_fignums()
