"""``label_limit`` bounds the number of labels, and labels that look like identifiers cause a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.schema import labels as schema
from streameval.states import state_set
from tests.laws.holders import HOLDERS, Holder, Kind, Row
from tests.support.each import with_each

KIND = Kind(options=(("label_limit", 2),))
SCORED = Kind(("roc_auc_macro", "ndcg", "scumble", "f1_micro"), (("threshold", 0.5), ("label_limit", 2)), True)
NAMES = [name for name in HOLDERS if name not in ("Evaluator, in two threads", "Pending", "Trace")]


def row(*names: str, scored: bool = False, region: str = "x") -> Row:
    return Row(set(names[:1]), dict.fromkeys(names, 0.7) if scored else set(names), None, 1.0, 0.5, region)


@pytest.mark.parametrize("form", [lambda label: {label}, lambda label: [label], lambda label: {label: 1}])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_label_that_has_left_counts_against_the_limit_when_it_comes_back(form: Callable[[str], Any], fresh: bool):
    """The label is the same object, whose column may be cached, or an equal object."""
    names = [f"x{number}" for number in range(30)]
    ev = se.Evaluator(label_limit=20)

    def once(name: str, change: Callable[[Any, Any], None]) -> None:
        one = "".join(list(name)) if fresh else name
        change(form(one), form(one))

    for name in names[:20]:
        once(name, ev.update)
    for name in names[10:20]:
        once(name, ev.revert)
    for name in names[20:30]:
        once(name, ev.update)
    for name in names[10:20]:
        with pytest.raises(se.LabelError, match="label_limit is 20"):
            once(name, ev.update)
    assert len(ev.labels) == 20


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_example_with_a_label_beyond_the_limit_is_refused_entirely(name: str, scored: bool):
    holder, kind = HOLDERS[name], SCORED if scored else KIND
    state, other = holder.make(kind), holder.make(Kind(kind.metrics, kind.options[:-1], scored))
    holder.update(state, row("a", "b", scored=scored))
    holder.update(other, row("c", scored=scored))
    before, noted = (state.to_bytes(), other.to_bytes()), state.input_summary
    merges = not isinstance(state, se.Rolling)
    calls: list[Callable[[], Any]] = [
        lambda: holder.update(state, row("c", scored=scored)),
        lambda: holder.update(state, row("a", "d", scored=scored)),
        lambda: holder.update_many(state, [row("a", scored=scored), row("c", "b", scored=scored)]),
    ]
    for call in [*calls, lambda: state.merge(other), lambda: state + other] if merges else calls:
        with pytest.raises(se.LabelError, match=r"label '[cd]' is one too many: label_limit is 2"):
            call()
        assert (state.to_bytes(), other.to_bytes()) == before
        assert state.input_summary == noted
    for again in (state, state.copy(), state.from_bytes(before[0])):
        holder.update(again, row("b", "a", scored=scored))
        with pytest.raises(se.LabelError):
            holder.update(again, row("c", scored=scored))
    if merges:  # the limit of the receiving object applies
        other.merge(state)
        holder.update(other, row("e", scored=scored))
        assert other == other.from_bytes(other.to_bytes())


MORE = {
    "Rolling": Holder(lambda kind: se.Rolling(kind.evaluator(), 5)),
    "Ledger": Holder(
        lambda kind: se.Ledger(kind.evaluator()), count=lambda ledger, _: ledger.put(len(ledger), 1, Kind().evaluator())
    ),
}


@with_each("rows", ["labels", "indicator"])
@with_each("name", [*HOLDERS, *MORE])
def test_equality_ignores_the_limit_and_the_reading_of_lists(name: str, rows: str):
    holder = (HOLDERS | MORE)[name]
    limited, reading, plain = (holder.make(kind) for kind in (KIND, Kind(options=(("rows", rows),)), Kind()))
    for _ in range(2):
        before = limited.to_bytes(), reading.to_bytes()
        assert limited == plain == reading == limited
        assert (limited.to_bytes(), reading.to_bytes()) == before
        for state in (limited, reading, plain):
            holder.update(state, row("a", "b"))
    holder.update(limited, row("a", "b"))
    assert limited != plain == reading != limited


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_were_refused_do_not_decide_how_later_examples_are_read(name: str):
    """An object that has counted no label takes rows without names, also after a set with too many strings."""
    holder = HOLDERS[name]
    strings, empty = row("a", "b", "c"), row()
    for call in (
        lambda state: holder.update(state, strings),
        lambda state: holder.update(state, strings._replace(weight=2.0)),
        lambda state: holder.update_many(state, [strings, empty]),
        lambda state: holder.update_many(state, [strings] * 3),
    ):
        state = holder.make(KIND)
        holder.update(state, empty)
        with pytest.raises(se.LabelError):
            call(state)
        holder.update(state, empty._replace(y_true=np.array([1, 0]), y_pred=np.array([1, 1])))
        assert state.examples == 2


def test_the_limit_counts_present_labels_not_registered_or_declared_ones():
    ev = se.Evaluator(labels=["x", "y", "z"], unknown="add", label_limit=2)
    ev.update({"x", "y", "z", "a"}, {"b"})
    with pytest.raises(se.LabelError, match="label_limit is 2, and there would be 3 labels besides the declared ones"):
        ev.update({"c"}, {"a"})
    ev.revert({"x", "y", "z", "a"}, {"b"})
    for names in ({"c", "d"}, {"e", "f"}, {"a", "b"}):  # registered labels and new ones
        ev.update(names, {"x"})
        for refused in ({"c", "e"}, {"a", "f"}):
            with pytest.raises(se.LabelError, match="is one too many"):
                ev.update(refused, set())
        ev.revert(names, {"x"})
    window = se.Rolling(se.Evaluator(label_limit=2), size=2)
    for names in ({"a"}, {"b"}, {"c"}, {"d"}, {"a"}):
        window.update(names, set())
    with pytest.raises(se.LabelError, match="label 'c' is one too many"):
        window.update({"b", "c"}, set())
    window.update_many([{"c"}, {"d"}, {"e"}], [set()] * 3)
    assert window.snapshot().labels == ("d", "e")
    with pytest.raises(se.LabelError, match="label 'h' is one too many"):  # even if the call evicts all old examples
        window.update_many([{"f"}, {"f", "g"}, {"h"}], [set()] * 3)
    assert window.snapshot().labels == ("d", "e")


def test_reading_several_slices_or_blocks_together_is_not_limited():
    sliced = se.Sliced(se.Evaluator(label_limit=1), by=["region"])
    sliced.update({"a"}, {"a"}, where={"region": 1})
    sliced.update({"b"}, {"b"}, where={"region": 2})
    assert sliced.total().labels == ("a", "b")
    assert sliced.from_bytes(sliced.to_bytes()) == sliced
    fading = se.Fading(se.Evaluator(label_limit=1), 2.0)
    for t, name in enumerate("abc"):
        fading.update({name}, {name}, t=10.0 * t)
    assert fading.get()


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "9", 2**62 + 1])
def test_a_limit_is_a_positive_integer(limit: Any):
    bound = "most 4611686018427387904" if limit == 2**62 + 1 else "least 1"
    with pytest.raises(se.InputError, match=f"label_limit must be an integer of at {bound}, not"):
        se.Evaluator(label_limit=limit)


def test_every_class_takes_a_limit_that_equality_ignores_and_bytes_hold_only_if_set():
    plain, bounded = se.F1(), se.F1(label_limit=3)
    assert plain == bounded
    assert len(bounded.to_bytes()) == len(plain.to_bytes()) + 2
    assert se.metric("f1", label_limit=3).to_bytes() == bounded.to_bytes()
    assert se.metric(plain.spec.key, label_limit=3).to_bytes() == bounded.to_bytes()
    ledger = se.Ledger()
    ledger.put("a", 0, bounded)
    ledger.put("b", 0, plain)
    assert ledger.examples == 0


@pytest.mark.parametrize("name", ["Evaluator", "Sliced", "TimeRolling"])
def test_a_shard_put_again_with_another_limit_is_no_conflict(name: str):
    holder, ledgers = HOLDERS[name], [se.Ledger(), se.Ledger()]
    for ledger, limits in zip(ledgers, ((2, 3, None), (None, 3, 2)), strict=True):
        for limit in limits:
            state = holder.make(Kind(options=(("label_limit", limit),)))
            holder.update(state, row("a", "b"))
            ledger.put("shard", 1, state)
            ledger.put("shard", 1, state.to_bytes())
    ledgers[0].merge(ledgers[1])
    assert ledgers[0].examples == 1
    assert ledgers[0].total() == ledgers[1].total()


def test_a_score_takes_a_limit():
    assert se.score([["a"]], [["a"]], "f1_micro", label_limit=1) == 1.0
    with pytest.raises(se.LabelError, match="label 'b' is one too many"):
        se.score([["a"]], [["b"]], "f1_micro", label_limit=1)


@pytest.mark.parametrize("many", [False, True])
def test_labels_that_look_like_identifiers_cause_one_warning_before_they_are_counted(
    many: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(schema, "IDENTIFIERS", 100)
    monkeypatch.setattr(state_set, "IDENTIFIERS", 100)

    def feed(ev: se.Evaluator, names: Any) -> None:
        if many:
            ev.update_many([{name} for name in names], [set() for _ in names])
        else:
            for name in names:
                ev.update({name}, set())

    ev = se.Evaluator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        feed(ev, range(100))
    before = ev.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(se.DataWarning, match="label_limit="):
            feed(ev, [100])
    assert ev.to_bytes() == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for again in (ev, ev.copy()):
            feed(again, range(50, 1000))
    with pytest.warns(se.DataWarning, match="101 of 101 labels") as caught:
        feed(se.Evaluator.from_bytes(before), [100])
    assert caught[0].filename == __file__

    asked: list[int] = []
    more = se.Evaluator()
    more.update({100}, set())
    for merges in (False, True):
        ev = se.Evaluator.from_bytes(before)

        def ask(*_: object, ev: se.Evaluator = ev) -> None:
            asked.append(ev.examples)
            ev.reset()  # this would be refused if the object's guard were held

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", ask)
            if merges:
                ev.merge(more)
            else:
                feed(ev, [100])
        assert ev == more
    assert asked == [100, 100]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        feed(se.Evaluator(label_limit=1000), range(500))
        feed(se.Evaluator(labels=range(500)), range(500))
        feed(se.Evaluator(), [name // 2 for name in range(800)])


def test_a_refused_label_does_not_disable_the_fast_path_for_counted_labels():
    ev = se.Evaluator(label_limit=1)
    ev.update({"a"}, {"a"})
    for _ in range(2):
        with pytest.raises(se.LabelError):
            ev.update({"a"}, {"b"})
        ev.update({"a"}, {"a"})
        assert ev._core.labels.known == {"a": 0}
    assert ev.examples == 3
