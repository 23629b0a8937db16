"""The laws of `streameval/testing.py` for each kind of state in each holder."""

from __future__ import annotations

import copy
import pickle
import weakref
from contextlib import suppress

import pytest

import streameval as se
from streameval.evaluation import kinds
from streameval.metrics.catalogue import parse_spec
from streameval.states import state_set
from streameval.testing import check_mergeable
from tests.laws.asked import FULL
from tests.laws.holders import HOLDERS, KINDS, Holder, Kind, rows_of
from tests.support import reader
from tests.support.effort import BRIEF, cases, crossed
from tests.support.kinds import TRIALS

# `Metric` cannot keep parts of pairs, and classes without merge only pass calls on to their evaluators.
FEW = ("decisions", "decisions of scores", "all, of scores that are missing")
SPARED = ("all", "all, of scores that are missing")
CASES = [
    (name, kind)
    for name, holder in HOLDERS.items()
    for kind in (KINDS if "zero" in holder.laws else FEW)
    if name != "Metric" or KINDS[kind].metrics
    # For holders of evaluators, "all" covers the other kinds.
    if FULL or name in ("Evaluator", "Metric") or kind in (*FEW, "declared labels", "all")
]
WEIGHED = [
    (name, kind, weighted)
    for at, (name, kind) in enumerate(CASES)
    for weighted in (False, True)
    if (FULL or (name == "Evaluator" and not BRIEF) or weighted == at % 2)
    # With little effort every second holder is tried with one of the two kinds of `SPARED`, the rest with the other.
    and not (BRIEF and name not in ("Evaluator", "Metric") and kind == SPARED[[*HOLDERS].index(name) % 2])
]
"""Kinds in holders, with or without weights: both for every holder and every kind, and for all pairs at full effort."""


def test_every_registered_kind_is_tried_with_each_of_its_metrics_and_options():
    missing = [f"TRIALS of tests/support/kinds.py has no entry {name!r}" for name in kinds.KINDS if name not in TRIALS]
    for name, trial in TRIALS.items():
        entries = {entry.name for entry in se.catalogue() if entry.state == name}
        missing += [f"the definitions of {name} have no {entry}" for entry in sorted(entries - set(trial.definitions))]
        missing += [f"{spec} is no metric of {name}" for spec in trial.metrics if parse_spec(spec).name not in entries]
        kind = kinds.KINDS[name]
        missing += [f"{name} has no section for the reader"] if kind.bit not in reader.SECTIONS else []
        numbers = {option.number for option in kind.code().written} - set(reader.FORMS)
        missing += [f"{name} has no form for option {number}" for number in sorted(numbers)]
    assert not missing, "; ".join(missing)


@pytest.mark.parametrize(("name", "kind", "weighted"), WEIGHED)
def test_every_law_holds_for_every_kind_in_every_holder(
    name: str, kind: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state_set, "_PER_THREAD", 1)  # otherwise one thread would count so few examples
    holder, trial = HOLDERS[name], KINDS[kind]
    can_revert = hasattr(holder.make(trial), "revert")
    rows = rows_of(trial, f"{name} {kind}", weighted=weighted)
    changes = [{"y_true": None}, {"weight": -1.0}, {"mask": {2.5}}, {"y_pred": {None}}]
    refused = [row._replace(**change) for row, change in zip(rows, changes, strict=False)]
    check_mergeable(
        lambda: holder.make(trial),
        rows,
        update=holder.update,
        merge=None if "zero" in holder.laws else lambda state, _: state,
        revert=holder.revert if can_revert else None,
        update_many=holder.update_many,
        refused=refused if holder.count is None else refused[:3],  # `Pending` reads its predictions only later
        ordered=holder.ordered,
        laws=[law for law in holder.laws if law not in dict(holder.without)],
        rounds=cases(4),
    )


@pytest.mark.parametrize("name", [*HOLDERS, "Ledger"])
def test_objects_support_weak_references_and_copies_retain_attributes_of_subclasses(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    held = HOLDERS[name].make(KINDS["decisions"]) if name in HOLDERS else se.Ledger(se.F1())
    assert weakref.ref(held)() is held
    monkeypatch.setitem(globals(), "Mine", type("Mine", (type(held),), {"__module__": __name__}))
    mine = Mine.from_bytes(held.to_bytes())  # noqa: F821  # a global, because pickle looks classes up by name
    mine.note = ["a"]
    for twin in (mine.copy(), copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert type(twin) is type(mine)
        assert twin == mine
        assert twin.note == ["a"]
    assert pickle.loads(pickle.dumps(held)) == held
    if hasattr(held, "merge"):
        assert copy.deepcopy(mine).note is not mine.note


@pytest.mark.parametrize("name", [name for name, holder in HOLDERS.items() if "unmerge" in dict(holder.without)])
def test_unmerge_is_refused_without_a_change_if_the_remainder_is_unknown(name: str):
    holder = HOLDERS[name]
    state, other = holder.make(KINDS["decisions"]), holder.make(KINDS["decisions"])
    for row in rows_of(KINDS["decisions"], name, weighted=False):
        holder.update(state, row)
        holder.update(other, row)
    before = state.to_bytes(), other.to_bytes()
    with pytest.raises(se.MergeError, match=dict(holder.without)["unmerge"]):
        state.unmerge(other)
    with pytest.raises(se.MergeError, match=dict(holder.without)["unmerge"]):
        state - other
    assert (state.to_bytes(), other.to_bytes()) == before


@pytest.mark.parametrize(
    ("name", "ends", "kind", "weighted"),
    crossed(["Tumbling", "Fading"], ["with an example", "advanced"], KINDS, [False, True]),
)
def test_an_older_shard_of_a_window_can_be_unmerged(name: str, ends: str, kind: str, weighted: bool):
    holder, trial = HOLDERS[name], KINDS[kind]
    rows = rows_of(trial, f"{name} {kind} older", weighted=weighted)
    latest, rest = rows[-1], rows[:-1]
    state, older = holder.make(trial), holder.make(trial)
    for row in (*rest[::2], latest)[: -1 if ends == "advanced" else None]:
        holder.update(state, row)
    state.advance(latest.time)
    for row in rest[1::2]:
        holder.update(older, row._replace(time=row.time / 2))
    before = state.to_bytes(), older.to_bytes()
    both = state + older
    assert both.to_bytes() != before[0]
    assert (both - older).to_bytes() == before[0]
    both.unmerge(older)
    assert (both.to_bytes(), older.to_bytes()) == before
    with pytest.raises(se.StreamevalError):
        state.unmerge(older)
    assert state.to_bytes() == before[0]
    both, _ = older + state, state.advance(latest.time + 0.01)  # later than all examples
    with suppress(se.StreamevalError):
        both.unmerge(state)
        assert both.to_bytes() == before[1]


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_window_holds_its_last_examples_even_if_one_call_adds_and_evicts_many(kind: str, weighted: bool):
    trial, plain = KINDS[kind], Holder(Kind.evaluator)
    rows = rows_of(trial, f"{kind} rolling", weighted=weighted, size=12)
    many, single = (se.Rolling(trial.evaluator(), 5) for _ in range(2))
    for start in range(0, len(rows), 4):
        plain.update_many(many, rows[start : start + 4])
        for row in rows[start : start + 4]:
            plain.update(single, row)
        held = trial.evaluator()
        plain.update_many(held, rows[: start + 4][-5:])
        assert many == single
        assert many.to_bytes() == single.to_bytes()
        assert many.snapshot().to_bytes() == single.snapshot().to_bytes() == held.to_bytes()
