"""Batches counted by an object that knows many more labels than their examples mention."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import streameval as se
from streameval.evaluation import core
from streameval.kernel import backend
from tests.support.each import with_each
from tests.support.effort import crossed

LABELS = [f"label-{number:04}" for number in range(core.FEW + 100)]

SETUPS: dict[str, dict[str, object]] = {
    "grown": {},
    "declared": {"labels": LABELS},
    "declared, the rest ignored": {"labels": LABELS, "unknown": "ignore"},
    "declared, the rest added": {"labels": LABELS, "unknown": "add"},
    "scores": {"labels": LABELS, "threshold": 0.5},
    "a threshold for each": {"labels": LABELS, "threshold": dict.fromkeys(LABELS, 0.5)},
}


def knowing(setup: str) -> se.Evaluator:
    """An evaluator that has counted an example with all labels."""
    ev = se.Evaluator(["f1_macro", "f1_samples"], **SETUPS[setup])
    ev.update(LABELS, LABELS[::2])
    return ev


def rows_of(seed: int, count: int = 40) -> list[set[str]]:
    rng = random.Random(seed)
    return [set(rng.sample(LABELS[:30], rng.randrange(6))) for _ in range(count)]


def bits_of(rows: list[set[str]]) -> np.ndarray:
    return np.array([[label in row for label in LABELS] for row in rows], np.uint8)


FORMS: dict[str, Callable[[list[set[str]]], object]] = {
    "sets": list,
    "a generator": iter,
    "mappings": lambda rows: [
        {label: label in row for label in LABELS[10:40]} | dict.fromkeys(row, True) for row in rows
    ],
    "arrow lists": lambda rows: pa.array([sorted(row) for row in rows], pa.list_(pa.string())),
    "frame": lambda rows: pd.DataFrame(bits_of(rows).astype(bool), columns=LABELS),
    "booleans": lambda rows: bits_of(rows).astype(bool),
    "sparse": lambda rows: sp.csr_matrix(bits_of(rows).astype(bool)),
    "rows": lambda rows: list(bits_of(rows).astype(bool)),
}


WHOLE = {"frame", "booleans", "sparse", "rows"}
"""Forms in which each example mentions every label; of these only the frame names the labels."""


@pytest.mark.parametrize(
    ("setup", "form", "weighted"),
    [one for one in crossed(SETUPS, FORMS, [False, True]) if one[0] != "grown" or one[1] not in WHOLE - {"frame"}],
)
def test_update_many_equals_updating_one_by_one_with_many_labels(setup: str, form: str, weighted: bool):
    true, pred = rows_of(1), rows_of(2)
    weights = [0.1, 1.0, 3e-300, 2.0] * 10 if weighted else [1.0] * 40
    at_once, mixed, one_by_one, mixed_one_by_one = (knowing(setup) for _ in range(4))
    at_once.update_many(FORMS[form](true), FORMS[form](pred), weights=weights if weighted else None)
    mixed.update_many(true, FORMS[form](pred), weights=weights if weighted else None)
    for t, p, weight in zip(true, pred, weights, strict=True):
        if form in WHOLE:
            unusual = [{label: label in side for label in LABELS} for side in (t, p)]
        elif form == "mappings":
            unusual = [FORMS[form]([side])[0] for side in (t, p)]
        else:
            unusual = [t, p]
        one_by_one.update(*unusual, weight=weight)
        mixed_one_by_one.update(t, unusual[1], weight=weight)
    assert at_once.to_bytes() == one_by_one.to_bytes()
    assert mixed.to_bytes() == mixed_one_by_one.to_bytes()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, list])
def test_nameless_columns_keep_their_numbers_with_many_labels(kind: Callable[[np.ndarray], object]):
    true, pred = (np.random.default_rng(seed).random((50, len(LABELS))) < 0.1 for seed in (1, 2))
    ev, reference = se.Evaluator(), se.Evaluator()
    for start in range(0, 50, 10):
        ev.update_many(kind(true[start : start + 10]), kind(pred[start : start + 10]))
    reference.update_many(true, pred)
    assert ev.to_bytes() == reference.to_bytes()


@pytest.mark.parametrize("unusual", [[{"label-9999"}], [{"label-0001": 1, "odd": 0}], [{None}], [{"\ud800"}], [{2.5}]])
@pytest.mark.parametrize("setup", ["grown", "declared", "declared, the rest ignored", "declared, the rest added"])
def test_results_and_errors_do_not_depend_on_how_many_labels_are_known(
    setup: str, unusual: list, monkeypatch: pytest.MonkeyPatch
):
    outcomes = []
    for few in (-1, len(LABELS)):
        monkeypatch.setattr(core, "FEW", few)
        ev = knowing(setup)
        before = ev.to_bytes()
        try:
            ev.update_many([{"label-0001"}, *unusual], [set(), {"label-0002"}])
        except se.StreamevalError as error:
            assert ev.to_bytes() == before
            outcomes.append(str(error))
        else:
            outcomes.append(ev.to_bytes())
    assert outcomes[0] == outcomes[1]


OPTIONS = {"keep": ["pairs"]}, {"keep": ["curves", "pairs"], "nan": "missing"}, {"keep": ["rankings"], "ties": "last"}


@pytest.mark.parametrize(("setup", "options"), crossed(SETUPS, OPTIONS))
def test_every_state_counts_the_same_however_many_labels_are_known(
    setup: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    names, true, bits = LABELS[:30], rows_of(1, 12), bits_of(rows_of(1, 12))[:, :30].astype(bool)
    setting = {"threshold": 0.5, **SETUPS[setup], **options}
    setting |= {"labels": names} if "labels" in setting else {}
    setting |= {"threshold": dict.fromkeys([*names, "a", "z"], 0.5)} if setup.startswith("a threshold") else {}
    scores = np.random.default_rng(3).integers(0, 4, (12, 30)) / 4
    sides: list[tuple[object, object]] = [(bits, scores), (true, true), (sp.csr_matrix(bits), sp.csr_matrix(scores))]
    for called in (names, ["z", *names[:9], "a"]):
        by_name = [dict(zip(called, row, strict=False)) for row in scores.tolist()]
        sides += [(true, by_name), (pd.DataFrame(bits, columns=names), by_name)]
    counted, weights = 0, [0.1, 1.0, 3e-300, 2.0] * 3
    for true_side, pred_side in sides:
        outcomes = list[object]()
        for few in (-1, len(LABELS)):
            monkeypatch.setattr(core, "FEW", few)
            try:
                ev = se.Evaluator(["f1_macro"], **setting)
                for part in (slice(0, 3), slice(3, 12)):
                    ev.update_many(true_side[part], pred_side[part], weights=weights[part])
            except se.StreamevalError as error:
                outcomes.append(str(error))
            else:
                outcomes.append(ev.to_bytes())
                counted += 1
        assert outcomes[0] == outcomes[1]
    assert counted > 3


@pytest.mark.parametrize("setup", SETUPS)
def test_a_core_for_gathering_knows_only_the_labels_that_are_mentioned(setup: str):
    ev = knowing(setup)
    gathered = ev._core.scratch()
    assert len(gathered.labels) == 0
    assert gathered.reader.columns(LABELS[3:5]) == [0, 1]
    assert gathered.labels.labels == LABELS[3:5]


def test_a_label_that_is_new_in_a_call_that_fails_is_not_registered():
    ev = knowing("grown")
    known = len(ev._core.labels)
    with pytest.raises(se.InputError):
        ev.update_many([{"new"}, {"newer"}], [{"new"}])
    ev.update_many(iter([{"label-0001"}]), iter([set()]))
    assert len(ev._core.labels) == known


@pytest.mark.parametrize("kind", [list, set, lambda row: dict.fromkeys(row, True)], ids=["lists", "sets", "mappings"])
@pytest.mark.parametrize("late", [1, core._AT_ONCE, 2 * core._AT_ONCE, 4 * core._AT_ONCE, None])
def test_a_label_may_be_new_anywhere_in_a_long_batch(kind: Callable[[list[str]], object], late: int | None):
    count = 4 * core._AT_ONCE + 1
    true, pred = ([sorted(row) for row in rows_of(seed, count)] for seed in (1, 2))
    if late is not None:
        true[late].append("late")
        pred[-late].append("later")
    ev, expected = se.Evaluator(), se.Evaluator()
    ev.update_many(list(map(kind, true)), list(map(kind, pred)))
    expected.update_many(iter(true), iter(pred))
    assert ev.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("place", [0, core._AT_ONCE, 4 * core._AT_ONCE])
def test_an_invalid_example_is_refused_wherever_it_is_in_a_long_batch(place: int):
    ev = se.Evaluator()
    rows = [["a"]] * (4 * core._AT_ONCE + 1)
    with pytest.raises(se.LabelError, match="y_pred"):
        ev.update_many(rows, [*rows[:place], ["a", 0.5], *rows[place + 1 :]])
    assert ev == se.Evaluator()


@with_each("odd", [True, 1.0, np.int64(1), "\ud800", None, (), [1]])
@with_each("setup", [{}, {"labels": [1, "a"]}, {"labels": [1, "a"], "unknown": "ignore"}])
def test_lists_tuples_and_generators_of_any_values_give_the_same_result_or_error(setup: dict[str, object], odd: object):
    rows = [[1, "a"], [1, odd], ["a"]]
    result = []
    for kind in (list, tuple, iter):
        ev = se.Evaluator(**setup)
        try:
            ev.update_many(kind(rows), kind(rows[::-1]))
        except se.StreamevalError as error:
            assert ev == se.Evaluator(**setup)
            result.append(str(error))
        else:
            result.append(ev.to_bytes())
    assert result[0] == result[1] == result[2]


@pytest.mark.parametrize(("width", "most"), [(2, 6000), (3000, 4096)])
def test_slices_hold_few_wide_rows_of_an_iterator_at_a_time(width: int, most: int):
    held, peak = set[int](), 0

    def rows():
        nonlocal peak
        for number in range(6000):
            row = np.zeros(width, np.uint8)
            row[number % width] = 1
            held.add(number)
            weakref.finalize(row, held.discard, number)
            peak = max(peak, len(held))
            yield row

    where = {"user": np.arange(6000) % 500}
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="user")
    sliced.update_many(rows(), (np.eye(1, width, number % width, np.uint8)[0] for number in range(6000)), where=where)
    assert sliced.total().get("f1_micro") == 1.0
    assert most <= peak <= most + 2


def test_many_slices_of_objects_with_an_invalid_shape_are_refused_like_examples():
    class Odd:
        shape = 3, None

    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="user")
    with pytest.raises(se.InputError, match=r"y_true\[0\] must be a set"):
        sliced.update_many(iter([Odd()] * 200), iter([{"a"}] * 200), where={"user": range(200)})


@pytest.mark.parametrize("kind", [list, iter])
def test_an_empty_batch_with_slices_counts_nothing(kind: Callable[[list[object]], object]):
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="user")
    sliced.update_many(kind([]), kind([]), where={"user": []})
    sliced.update_many(kind([{"a"}] * 200), kind([{"a"}] * 200), where={"user": [*range(100)] * 2})
    assert sliced.examples == 200


def test_entries_of_an_arrow_dictionary_that_no_list_contains_are_no_labels():
    empty = pa.ListArray.from_arrays([0, 0, 0], pa.array(["a"]).dictionary_encode().slice(0, 0))
    assert len(empty.values.dictionary) == 1
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="user")
    sliced.update_many(empty, empty, where={"user": [1, 2]})
    assert (sliced.examples, len(sliced)) == (2, 2)
    assert sliced.total().labels == ()


@pytest.mark.parametrize(("scored", "names", "users"), crossed([False, True], [["user"], ["user", "place"]], [40, 8]))
def test_batches_with_few_examples_for_each_slice_count_as_single_examples_do(
    names: list[str], users: int, scored: bool, monkeypatch: pytest.MonkeyPatch
):
    rng = np.random.default_rng(3)
    true, pred = rng.random((40, 5)) < 0.4, rng.random((40, 5))
    sides: list[Any] = [true, pred] if scored else [[set(np.flatnonzero(row).tolist()) for row in true]] * 2
    metrics = ["f1_micro", "lrap", "roc_auc_macro"] if scored else ["f1_micro"]
    options: dict[str, Any] = {"threshold": 0.5} if scored else {}
    once, many = (se.Sliced(se.Evaluator(metrics, labels=range(5), **options), by=names) for _ in range(2))
    where = {name: [f"{name} {row % users}" for row in range(40)] for name in names}
    for batch in range(3):
        for row, example in enumerate(zip(*sides, strict=True)):
            once.update(*example, where={name: values[row] for name, values in where.items()})
        many.update_many(*sides, where=where)
        assert many.to_bytes() == once.to_bytes()
        if batch == 1 and backend.BACKEND == "compiled":
            monkeypatch.setattr("streameval.slices.sliced.counted", None)  # from now on it must not be called
    monkeypatch.undo()
    mask = [{row % 5} for row in range(40)]
    weights = np.arange(40) / 2
    for row, example in enumerate(zip(*sides, strict=True)):
        place = {name: values[row] for name, values in where.items()}
        once.update(*example, where=place, weight=weights[row])
        once.update(*example, where=place, mask=mask[row])
    many.update_many(*sides, where=where, weights=weights)
    many.update_many(*sides, where=where, mask=mask)
    assert many.to_bytes() == once.to_bytes()
    with pytest.raises(se.InputError, match="null must be one of"):
        many.update_many(*sides, where=where, null="drop")
    wrong = [*sides[1][:39], [None]]
    with pytest.raises(se.StreamevalError, match=r"^y_pred\[39\]"):
        many.update_many(sides[0], wrong, where=where)
    with pytest.raises(se.InputError, match="numbers of examples differ"):
        many.update_many(sides[0][:39], sides[1], where=where)
    assert many.to_bytes() == once.to_bytes()
    many.update_many(*sides, where={name: ["a"] * 40 for name in names})
    assert many.total().examples == 240
