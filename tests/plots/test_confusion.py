"""Pictures of label pairs: their names and numbers, not their looks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot

import streameval as se
from streameval.errors import InputError
from streameval.metrics import pairs
from streameval.plots.confusion import plot_confusion_matrix, plot_cooccurrence, plot_multilabel_confusion
from streameval.states.pairs import PairTables
from tests.states.test_pairs import Meant, fed as fed_state


def fed(names: Iterable[str], parts: list[str], examples: list[Meant]) -> PairTables:
    return PairTables(fed_state(names, parts, examples))


def matrix_of(names: list, examples: list[tuple[set, set]]) -> pairs.Matrix:
    state = fed(names, ["confusions", "cooccurrence"], [Meant(frozenset(t), frozenset(p)) for t, p in examples])
    return pairs.confusion_matrix(state, values="shares")


SOME = [({"a"}, {"a"}), ({"a"}, {"b"}), ({"a"}, {"a"}), ({"b"}, {"b"}), ({"b", "c"}, set()), (set(), {"c"})]


def numbers_in(ax: object) -> dict[tuple[int, int], str]:
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}


def names(ax: object, axis: str) -> list[str]:
    return [text.get_text() for text in getattr(ax, f"get_{axis}ticklabels")()]


def drawn(ax: object) -> object:
    ax.figure.draw_without_rendering()
    return ax


def test_a_confusion_matrix_has_names_of_labels_and_fractions_in_per_cent():
    ax = drawn(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME), title="A title"))
    assert names(ax, "x") == names(ax, "y") == ["a", "b", "c", "no label"]
    cells = {(0, 0): "67%", (0, 1): "33%", (1, 1): "50%", (1, 3): "50%", (2, 3): "100%", (3, 2): "100%"}
    assert numbers_in(ax) == cells
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("predicted label", "true label", "A title")
    image = ax.images[0]
    assert image.get_clim() == (0, 1)
    assert np.allclose(image.get_array()[0], [2 / 3, 1 / 3, 0, 0])
    assert ax.get_ylim() == (3.5, -0.5)
    bar = ax.figure.axes[-1]
    assert bar is not ax
    assert bar.get_ylabel() == "fraction of the true label"
    assert [text.get_text() for text in bar.get_yticklabels()][-1] == "100%"


def test_a_confusion_matrix_that_is_not_normalized_has_numbers_of_examples():
    ax = drawn(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME * 2), normalize=None))
    assert numbers_in(ax)[0, 0] == "4"
    assert ax.figure.axes[-1].get_ylabel() == "examples"
    assert ax.images[0].get_clim() == (0, 4)


@pytest.mark.parametrize(("size", "limit"), [(17, 40), (60, 40), (100, 100)])
def test_many_labels_are_drawn_without_numbers_and_with_names_that_do_not_overlap(size: int, limit: int):
    many = [f"a rather long name {number} of one of many labels" for number in range(size)]
    ax = drawn(plot_confusion_matrix(matrix_of(many, [({many[0]}, {many[1]})]), limit=limit))
    assert not ax.texts
    assert ax.images[0].get_array().shape == (min(size, limit) + 1,) * 2
    assert ("most frequent" in ax.get_title(loc="left")) == (size > limit)
    for axis, side in (("y", 1), ("x", 0)):
        boxes = [text.get_window_extent() for text in getattr(ax, f"get_{axis}ticklabels")()]
        spans = sorted((box.p0[side], box.p1[side]) for box in boxes)
        assert all(one[1] <= other[0] + 0.5 for one, other in pairwise(spans))
        assert len(set(names(ax, axis))) == len(names(ax, axis))
        assert max(map(len, names(ax, axis))) <= 40
    assert names(ax, "y")[-1] == names(ax, "x")[-1] == "no label"
    nothing = plot_confusion_matrix(matrix_of(many, []), numbers=True)
    assert [text.get_text() for text in nothing.texts] == ["no values"]


def test_the_option_numbers_adds_or_omits_numbers():
    matrix = matrix_of([f"l{number}" for number in range(20)], [({"l3"}, {"l4"})])
    assert len(plot_confusion_matrix(matrix, numbers=True).texts) == 1
    assert len(plot_confusion_matrix(matrix_of(["a", "b", "c"], SOME), numbers=False).texts) == 0


def test_cooccurrence_draws_only_the_lower_half_without_the_diagonal():
    state = fed(
        "abc", ["cooccurrence"], [Meant(frozenset("ab"), frozenset("c")), Meant(frozenset("abc"), frozenset("c"))]
    )
    ax = drawn(plot_cooccurrence(pairs.cooccurrence(state), title="Together"))
    assert names(ax, "y") == ["b", "c"]
    assert names(ax, "x") == ["a", "b"]
    assert numbers_in(ax) == {(0, 0): "2", (1, 0): "1", (1, 1): "1"}
    both = drawn(plot_cooccurrence(pairs.cooccurrence(state, side="both")))
    assert names(both, "y") == ["a", "b", "c"]
    assert numbers_in(both) == {(0, 2): "2", (1, 2): "2"}
    assert both.get_xlabel() == "predicted label"
    apart = fed("ab", ["cooccurrence"], [Meant(frozenset("a"), frozenset("a"))])
    assert numbers_in(drawn(plot_cooccurrence(pairs.cooccurrence(apart)))) == {}
    assert [text.get_text() for text in plot_cooccurrence(pairs.cooccurrence(apart)).texts] == []  # not "no values"


def counted(true: list, predicted: list, **options: object) -> se.Evaluator:
    ev = se.Evaluator(["f1_macro"], **options)
    ev.update_many(true, predicted)
    return ev


def test_panels_contain_the_counts_and_the_f1_of_each_label():
    ev = counted([["cat"]] * 3 + [["dog"]] * 2, [["cat"]] * 3 + [["cat"], ["dog"]])
    ax = drawn(plot_multilabel_confusion(ev, title="Both"))
    assert [text.get_text() for text in ax.texts] == [
        "1", "1", "0", "3", "cat", "F1 0.86", "3", "0", "1", "1", "dog", "F1 0.67",
    ]  # fmt: skip
    assert [mesh.get_array().tolist() for mesh in ax.collections] == [[[0.5, -0.5], [0, 1]], [[1, 0], [-0.5, 0.5]]]
    assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == ("Both", "predicted", "true")
    panels = [drawn(plot_multilabel_confusion(*arguments)) for arguments in ((ev.per_label(),), ([["cat"]], [["dog"]]))]
    assert [len(panel.collections) for panel in panels] == [2, 2]
    single = drawn(plot_multilabel_confusion(counted([["cat"]], [["cat"]])))
    assert [text.get_text() for text in single.get_xticklabels()] == ["0", "1"]


def test_panels_of_many_labels_are_those_of_the_most_frequent():
    ev = counted([list(range(size, 50)) for size in range(50)], [[]] * 50)
    ax = plot_multilabel_confusion(ev, limit=7)
    assert [text.get_text() for text in ax.texts][4::6] == [str(label) for label in range(43, 50)]
    assert ax.get_title(loc="left") == "Outcomes of each label, the 7 most frequent of 50"
    assert ax.get_xticks().tolist() == [0.5, 1.5, 3.0, 4.0, 5.5, 6.5]  # ticks of the three panels in the last row
    with pytest.raises(InputError, match="limit"):
        plot_multilabel_confusion(ev, limit=0)
    assert not drawn(plot_multilabel_confusion(se.Evaluator())).collections
    declared = plot_multilabel_confusion(se.Evaluator(labels=["cat", "dog"]))
    assert "no values" in [text.get_text() for text in declared.texts]


def test_empty_and_odd_labels_are_drawn():
    odd = ["", "$x_1$", "a\nb", "\x01", "é" * 60, 7, "7", -(2**70)]
    ax = drawn(plot_confusion_matrix(matrix_of(odd, [({label}, {7}) for label in odd])))
    assert names(ax, "y")[:3] == ["''", r"\$x_1\$", r"a\nb"]
    assert {"7", "'7'"} < set(names(ax, "y"))
    assert max(map(len, names(ax, "y"))) <= 42
    drawn(plot_confusion_matrix(matrix_of([], [])))
    drawn(plot_cooccurrence(pairs.cooccurrence(fed("", ["cooccurrence"], []))))
    drawn(plot_cooccurrence(pairs.cooccurrence(fed("a", ["cooccurrence"], []))))


def test_an_evaluator_is_drawn_like_the_matrix_that_is_read_from_it():
    ev = se.Evaluator(["f1_macro"], labels=["a", "b", "c"], keep=["pairs", "contributions"])
    for true, pred in [*SOME, ({"a", "b"}, {"a", "c"}), ({"a", "b"}, {"a"})]:
        ev.update(true, pred)
    table = ev._view("pairs", "this")

    def same(one: object, other: object) -> bool:
        return numbers_in(drawn(one)) == numbers_in(other) != {}

    assert same(plot_confusion_matrix(ev), plot_confusion_matrix(pairs.confusion_matrix(table, values="shares")))
    for values in ("counts", "contributions"):
        expected = pairs.confusion_matrix(table, values=values)
        assert same(
            plot_confusion_matrix(ev, values=values, normalize=None), plot_confusion_matrix(expected, normalize=None)
        )
    assert same(plot_cooccurrence(ev), plot_cooccurrence(pairs.cooccurrence(table)))
    for side in ("pred", "both"):
        assert same(plot_cooccurrence(ev, side=side), plot_cooccurrence(pairs.cooccurrence(table, side=side)))
    true, predicted = zip(*SOME, strict=True)
    for draw in (plot_confusion_matrix, plot_cooccurrence):
        assert same(draw(true, predicted), draw(counted(true, predicted, keep=["pairs"])))
    single = se.metric("mlcm_f1")
    single.update({"a"}, {"b"})
    drawn(plot_confusion_matrix(single))


def test_options_of_reading_are_refused_where_a_matrix_or_counts_were_passed():
    ev = se.Evaluator(["f1_macro"], keep=["cooccurrence"])
    ev.update({"a"}, {"b"})
    table = ev._view("pairs", "this")
    with pytest.raises(se.MetricError, match=r"requires the 'confusions' state; .* keep=\['confusions'\]"):
        plot_confusion_matrix(ev)
    with pytest.raises(se.MetricError, match="requires the 'cooccurrence' state"):
        plot_cooccurrence(se.Evaluator())
    for call, message in (
        (lambda: plot_confusion_matrix(matrix_of(["a"], []), values="counts"), "values"),
        (lambda: plot_cooccurrence(pairs.cooccurrence(table), side="pred"), "side"),
        (lambda: plot_multilabel_confusion(ev, [["a"]]), "go with y_true"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert not pyplot.get_fignums()
