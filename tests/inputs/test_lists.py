"""A list is read as labels or as a row, or refused as ambiguous, in the same way in every form and call."""

from __future__ import annotations

import random
import re
from collections import deque, namedtuple
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streameval as se
from streameval.evaluation import core
from streameval.inputs import readers
from tests.support.each import with_each
from tests.support.effort import cases

EITHER = "may be indicators or the label"
Rows = list[list[Any]]

READ: list[tuple[str, list[Any], Any]] = [
    ("names", ["a", "b"], {"a", "b"}),
    ("ids", [3, 7], {3, 7}),
    ("ids and 0", [0, 1, 7], {0, 1, 7}),
    ("repeated ids", [7, 7], {7}),
    ("nothing", [], set()),
    ("0", [0], {0}),
    ("1", [1], {1}),
    ("0 and 1", [0, 1], {0, 1}),
    ("strings", ["0", "1"], {"0", "1"}),
    ("-1 and 1", [-1, 1], {-1, 1}),
    ("0 and its string", [0, "0"], {0, "0"}),
    ("booleans", [True, False], np.array([True, False])),
    ("floats", [0.0, 1.0, 1.0], np.array([0, 1, 1])),
    ("floats and integers", [0, 1.0], np.array([0, 1])),
    ("numpy booleans", [np.True_, np.False_], np.array([1, 0])),
    ("numpy integers", [np.int64(3), np.int64(7)], {3, 7}),
]
REFUSED: dict[str, list[Any]] = {
    "indicators": [1, 0, 1], "zeros": [0, 0], "ones": [1, 1], "strings": ["1", "0", "0"], "signs": [-1, 1, 1],
    "masked": [1, -100, 1], "numpy": [np.int64(1), np.int64(0), np.int64(1)],
    "arrays without dimensions": [np.array(1), 0, 1],
}  # fmt: skip
FORMS: dict[str, Callable[[Rows], Any]] = {
    "lists": list,
    "tuples": lambda rows: list(map(tuple, rows)),
    "generator": lambda rows: (row for row in rows),
    "deques": lambda rows: list(map(deque, rows)),
    "named": lambda rows: [named(row) for row in rows],
    "series": pd.Series,
    "series of arrays": lambda rows: pd.Series([np.array(row) for row in rows]),
    "arrow": pa.array,
    "arrow, chunked": lambda rows: pa.chunked_array([pa.array(rows[:1]), pa.array(rows[1:], pa.array(rows).type)]),
    "arrow, coded": lambda rows: pa.array(rows, pa.list_(pa.dictionary(pa.int32(), pa.array(rows).type.value_type))),
    "arrow, fixed size": lambda rows: pa.array(rows, pa.list_(pa.array(rows).type.value_type, len(rows[0]))),
    "elements of arrow": lambda rows: list(pa.array(rows)),
    "polars": pl.Series,
    "elements of polars": lambda rows: [pl.Series(row) for row in rows],
    "strings in arrays": lambda rows: [np.array(row) if isinstance(row[0], str) else row for row in rows],
}  # fmt: skip


def named(row: list[Any]) -> Any:
    """A row as a named tuple, like those of data frames and databases."""
    return namedtuple("Row", [f"c{place}" for place in range(len(row))])(*row)  # noqa: PYI024  # any width


def of_one(rows: Any) -> Any:
    """The first row of a collection of rows."""
    return next(iter(rows))


CALLS: dict[str, Callable[[Any, Any], object]] = {
    "update_many": lambda true, pred: counted(true, pred),
    "numbers": lambda true, pred: se.metric("f1").update_many(true, pred),
    "score": lambda true, pred: se.score(true, pred, "f1_micro"),
    "report": lambda true, pred: se.classification_report(true, pred),
    "rolling": lambda true, pred: se.Rolling(se.Evaluator(), 5).update_many(true, pred),
    "sliced": lambda true, pred: se.Sliced(se.Evaluator(), by="by").update_many(true, pred, where={"by": ["x", "y"]}),
    "compared": lambda true, pred: se.Evaluator(threshold=0.5).update_many(true, pred),
    "ranked": lambda true, pred: se.Evaluator(["ndcg"]).update_many(true, pred),
}


def counted(true: Any, pred: Any, **options: Any) -> bytes:
    ev = se.Evaluator(**options)
    ev.update_many(true, pred)
    return ev.to_bytes()


@pytest.mark.parametrize(("values", "meant"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_a_list_is_read_as_labels_or_as_a_row(values: list[Any], meant: Any):
    for verb in (lambda ev, true, pred: ev.update(true, pred), lambda ev, true, pred: ev.update_many([true], [pred])):
        for mask in (False, True):
            one, other = se.Evaluator(), se.Evaluator()
            verb(one, values, values)
            verb(other, meant, meant)
            if mask:
                one.update({5}, set(), mask=values)
                other.update({5}, set(), mask=meant)
            assert one == other
            assert one.to_bytes() == other.to_bytes()
    if values:
        pair = se.Evaluator(), se.Evaluator()
        pair[0].update_many(pd.Series([values, values]), [[]] * 2)
        pair[1].update_many([meant] * 2, [[]] * 2)
        assert pair[0] == pair[1]


@with_each("kind", REFUSED)
@pytest.mark.parametrize("form", FORMS)
def test_an_ambiguous_list_is_refused_in_every_form(form: str, kind: str):
    row = REFUSED[kind]
    if kind not in ("strings", "signs", "masked") and ("arrow" in form or "polars" in form):
        row = [int(value) for value in row]
    rows = [row, row]
    ids = [[3], [4]]
    for true, pred in ((rows, ids), (ids, rows)):
        ev = se.Evaluator()
        with pytest.raises(se.InputError, match=EITHER):
            ev.update_many(*(FORMS[form](side) if side is rows else side for side in (true, pred)))
        assert ev == se.Evaluator()
    for call in (
        lambda ev, bad: ev.update(of_one(bad), {3}),
        lambda ev, bad: ev.update({3}, of_one(bad)),
        lambda ev, bad: ev.revert(of_one(bad), {3}),
        lambda ev, bad: ev.update({3}, {3}, mask=of_one(bad)),
        lambda ev, bad: ev.update_many(ids, ids, mask=bad),
    ):
        if form == "series of arrays" and "update_many" not in call.__code__.co_names and kind != "strings":
            continue  # a single array of numbers is always a row
        ev = se.Evaluator()
        with pytest.raises(se.InputError, match=EITHER):
            call(ev, FORMS[form](rows))
        assert ev == se.Evaluator()


@pytest.mark.parametrize("name", CALLS)
def test_an_ambiguous_list_is_refused_by_every_call(name: str):
    rows, ids = [[1, 0, 1], [0, 1, 1]], [[3], [4]]
    for true, pred in ((rows, ids), (ids, rows), (rows, rows)):
        with pytest.raises(se.InputError, match=EITHER):
            CALLS[name](true, pred)


@pytest.mark.parametrize("options", [{"labels": ["a", "b", "c"]}, {"labels": ["a", "b", "c"], "unknown": "ignore"}])
def test_an_ambiguous_list_is_refused_before_labels_are_looked_up(options: dict[str, Any]):
    for rows in ([[1, 0, 1]], pa.array([[1, 0, 1]]), pd.Series([["1", "0", "1"]])):
        with pytest.raises(se.InputError, match=EITHER):
            counted(rows, [["a"]], **options)


def test_the_message_names_the_place_and_both_of_its_remedies_work():
    rows, pred = [[3], [1, 0, 1], [0, 1, 1]], [[3], [0], [1]]
    message = r"y_true\[1\] is \[1, 0, 1\], which may be indicators or the labels 0 and 1; for indicators give np.asar"
    with pytest.raises(se.InputError, match=message):
        counted(rows, pred)
    with pytest.raises(se.InputError, match=r"^y_pred is \[1, 0, 1\], "):
        se.Evaluator().update({3}, [1, 0, 1])
    with pytest.raises(se.InputError, match=r"give row\._asdict\(\) or"):
        se.Evaluator().update(named([1, 1]), {3})
    rows = pa.array([["1", "0", "1"], ["0", "1", "1"]])
    with pytest.raises(se.InputError, match=r"give np\.asarray\(rows\.to_pylist\(\), int\) or"):
        counted(rows, rows)
    counted(*[np.asarray(rows.to_pylist(), int)] * 2)
    true, guess = [[1, 0, 1], [0, 1, 1]], [[1, 1, 1], [0, 0, 0]]
    rows_read = counted(np.asarray(true), np.asarray(guess))
    assert counted(true, guess, rows="indicator") == se_with_rows(rows_read, "indicator")
    assert counted([*map(set, true)], [*map(set, guess)]) == se_with_rows(counted(true, guess, rows="labels"), None)
    strings = [[*map(str, row)] for row in true], [[*map(str, row)] for row in guess]
    assert counted(*strings, rows="indicator") == se_with_rows(rows_read, "indicator")
    assert counted(pa.array(true), pd.Series(guess), rows="indicator") == se_with_rows(rows_read, "indicator")


@with_each("form", ["lists", "tuples", "deques", "series", "arrays", "one array", "indicators", "strings"])
@pytest.mark.parametrize("rows", [[[-1, 1, 1]], [[1, -1, 1], [-1, -1, 1]]], ids=["one", "two"])
@pytest.mark.parametrize("verb", ["update_many", "update"])
def test_the_advice_for_signs_reads_them(form: str, rows: Rows, verb: str):
    """The code in the message is evaluated as written, with the names that it uses."""
    more = {"arrays": lambda rows: [*map(np.array, rows)], "one array": np.array, "indicators": list}
    make = (more | FORMS).get(form, lambda rows: [[*map(str, row)] for row in rows])
    options = {"rows": "indicator"} if form == "indicators" else {}

    def counted_with(*sides: Any) -> se.Evaluator:
        ev = se.Evaluator(**options)
        getattr(ev, verb)(*(sides if verb == "update_many" else [[*side][-1] for side in sides]))
        return ev

    meant, signs = np.array(rows) > 0, make(rows)
    for side, name in enumerate(["y_true", "y_pred"]):
        with pytest.raises(se.InputError) as caught:
            counted_with(*[(signs, meant), (meant, signs)][side])
        advice = re.search(r"(?:give|for -1 and 1 give) (y|np.*?) > 0(?:.*, with y = (.*))?", str(caught.value))
        value = signs if verb == "update_many" else [*signs][-1]
        names = {"np": np, "numpy": np, "row": value, "rows": value, "y": value, name: value}
        names["y"] = eval(advice[2] or "y", names)  # noqa: S307
        read = eval(f"{advice[1]} > 0", names)  # noqa: S307
        read = read if verb == "update_many" else [read]
        assert counted_with(*[(read, meant), (meant, read)][side]) == counted_with(meant, meant)
    with pytest.raises(se.InputError, match=r"give np\.asarray\(row\) or rows='indicator'"):
        se.Evaluator().update([-1, 0, 1, 1], {3})


@pytest.mark.parametrize("row", [named(["doc", 1, 0, 1]), named([1000, 0, 0]), named(["doc", "0", "1", "0"])], ids=str)
def test_an_ambiguous_named_tuple_is_refused_even_if_one_field_is_an_id(row: Any):
    for true, pred in ((row, {3}), ({3}, row)):
        for call in (se.Evaluator().update, lambda *sides: se.Evaluator().update_many(*([side] for side in sides))):
            with pytest.raises(se.InputError, match=r"Row\(.* labels? '?0.* give row\._asdict\(\) or"):
                call(true, pred)
    counted([named(["a", 3, 1]), named(["a", "a"]), tuple(row)], [{3}] * 3)  # these tuples are lists of labels
    counted([row], [{3}], rows="labels")


@pytest.mark.parametrize("rows", [None, "indicator"])
@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]], ids=["undeclared", "declared"])
@pytest.mark.parametrize("turned", [[True, False, True], [1.0, 0.0, 1.0], [0.9, 0.2, 0.7], [1, 0, 1]], ids=str)
def test_a_named_tuple_whose_fields_are_the_labels_is_read_by_name(turned: list[Any], labels: Any, rows: Any):
    if rows is None and {*map(type, turned)} == {int}:
        return  # such rows are refused
    options = {"labels": labels, "rows": rows, "threshold": 0.5}
    row = namedtuple("Row", ["c", "b", "a"])(*turned)  # noqa: PYI024  # like a row of pandas' itertuples
    expected = counted([{"a"}], [dict(zip("cba", turned, strict=True))], **options)
    assert counted([{"a"}], [row], **options) == expected
    one = se.Evaluator(**options)
    one.update({"a"}, row)
    assert one.to_bytes() == expected
    invented = namedtuple("Row", ["1", "2", "3"], rename=True)(*turned)  # noqa: PYI024
    by_position = counted([np.array([1, 0, 0])], [invented], **options)
    assert by_position == counted([np.array([1, 0, 0])], [np.array(turned)], **options)


def se_with_rows(data: bytes, rows: Any) -> bytes:
    """The bytes of an evaluator with the same counts and another value of ``rows``."""
    ev = se.Evaluator(rows=rows)
    ev.merge(se.Evaluator.from_bytes(data))
    return ev.to_bytes()


def test_the_option_rows_is_saved_and_ignored_by_equality():
    ev = se.Evaluator(rows="indicator")
    for other in (ev.copy(), se.Evaluator.from_bytes(ev.to_bytes())):
        other.update([1, 0, 1], [1, 1, 1])
        assert other.get("recall_micro") == 1.0
    assert ev == se.Evaluator()
    ev.merge(se.Evaluator())
    with pytest.raises(se.InputError, match="rows must be one of 'labels', 'indicator'"):
        se.Evaluator(rows="indicators")  # type: ignore[arg-type]


@pytest.mark.parametrize("side", [[0, 1], [1, 0], [0, 0.0], [True, False], np.array([0, 1]), ["0", "1"]], ids=str)
def test_one_and_zero_with_a_row_of_two_are_refused(side: Any):
    for true, pred in (([1, 0], side), (side, [1, 0])):
        for options in ({}, {"labels": [0, 1, "0", "1"][: 0 if "0" in list(side) else 2] or None}):
            for call in (
                lambda ev, t, p: ev.update(t, p),
                lambda ev, t, p: ev.update({1}, t, mask=p),
                lambda ev, t, p: ev.update_many([{1}, t], [{1}, p]),
                lambda ev, t, p: ev.update_many([{1}, t], [{1}, {1}], mask=[{1}, p]),
            ):
                ev = se.Evaluator(**options)
                with pytest.raises(se.InputError, match=EITHER):
                    call(ev, true, pred)
                assert ev == se.Evaluator(**options)
    with pytest.raises(se.InputError, match=r"y_true\[1\] is \[1, 0\]"):
        counted(pa.array([[5, 7], [1, 0]]), np.array([[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    "side", [[3, 7], [1], {"a"} - {"a"}, {1, 0}, np.array([0, 1, 1]), [True, False, True], [5, 0]], ids=str
)
def test_one_and_zero_with_anything_else_are_labels(side: Any):
    one, other = se.Evaluator(), se.Evaluator()
    one.update([1, 0], side)
    one.update_many([[1, 0]], [side])
    other.update({0, 1}, side)
    other.update_many([{0, 1}], [side])
    assert one == other


def test_one_and_zero_are_labels_if_more_labels_are_declared_or_if_the_list_is_a_ranking():
    one, other = se.Evaluator(labels=range(3)), se.Evaluator(labels=range(3))
    one.update([1, 0], [0, 1])
    other.update({0, 1}, {0, 1})
    assert one == other
    ranked = se.Evaluator(["mrr"])
    ranked.update([0], [1, 0])
    assert ranked.get("mrr") == 0.5
    with pytest.raises(se.InputError, match=EITHER):
        ranked.update([0], [1, 0, 1])


def test_a_single_boolean_or_float_is_a_row_only_if_one_label_is_declared():
    for values in ([True], [1.0], [0.0], [float("nan")]):
        with pytest.raises(se.LabelError, match="one label"):
            se.Evaluator().update(values, {3})
        with pytest.raises(se.LabelError, match=r"y_true\[0\] .* one label"):
            se.Evaluator().update_many(pa.array([values, values]), [{3}, {3}])
        one, other = se.Evaluator(labels=["a"]), se.Evaluator(labels=["a"])
        one.update(values, {"a"})
        other.update(np.array(values), {"a"})
        assert one == other
    with pytest.raises(se.InputError, match="mixes booleans and integers"):
        se.Evaluator().update([True, 1], {3})


@pytest.mark.parametrize("declared", [None, ["a", "b"]])
def test_an_empty_array_is_an_example_without_labels(declared: Any):
    one, other = (se.Evaluator(labels=declared) for _ in range(2))
    one.update_many([np.array(["a"]), np.array([])], [np.array([]), ["b"]])
    one.update(np.array([]), np.array([]))
    one.update(np.array([]), np.array([]), weight=2.0)
    other.update_many([["a"], []], [[], ["b"]])
    other.update([], [])
    other.update([], [], weight=2.0)
    assert one == other


@pytest.mark.parametrize("members", [(0, 1), ("0", "1"), (0, 1, 2), (-1, 1), ("a", "0", "1")], ids=str)
def test_a_batch_is_refused_exactly_if_one_of_its_examples_is_refused(members: Sequence[Any]):
    rng = random.Random(3)
    for _ in range(cases(1000)):
        sides = [[rng.choices(members, k=rng.randrange(4)) for _ in range(rng.randrange(1, 4))]]
        sides.append([rng.choices(members, k=rng.randrange(4)) for _ in sides[0]])
        single, outcomes = se.Evaluator(), []
        for true, pred in zip(*sides, strict=True):
            try:
                single.update(true, pred)
                outcomes.append(True)
            except se.InputError as error:
                assert EITHER in str(error)  # noqa: PT017
                outcomes.append(False)
        for form in (list, pd.Series, pa.array, lambda rows: (row for row in rows)):
            batch = se.Evaluator()
            try:
                batch.update_many(form(sides[0]), form(sides[1]))
                assert all(outcomes)
                assert batch == single
            except (se.InputError, pa.ArrowInvalid):
                assert not all(outcomes) or form is pa.array
                assert batch == se.Evaluator()


def test_labels_are_refused_with_advice_if_rows_are_indicators():
    with pytest.raises(se.InputError, match=r"y_true\[0\] is 10 for label 0; .* labels leave rows='indicator' out"):
        se.Evaluator(rows="indicator").update_many([[10, 1]], [[1, 0]])
    for form in (list, pd.Series, pl.Series, pa.array, iter):  # other strings than "0" and "1"
        with pytest.raises(se.InputError, match=r"y_true\[0\] is 'a' for label 'a'; truth is"):
            se.Evaluator(labels=["a", "b"], rows="indicator").update_many(form([["a", "b"]]), [[1, 0]])


def test_an_empty_list_has_no_labels_even_if_rows_are_indicators():
    ev = se.Evaluator(["recall_micro"], rows="indicator")
    ev.update_many([[1, 0], []], [[1, 0], [0, 1]])
    assert ev.get("recall_micro") == 1.0


@pytest.mark.parametrize("labels", [2, 5, 10, 30])
def test_ascending_ids_are_never_refused(labels: int):
    rng = random.Random(labels)
    stream = [
        [sorted(rng.sample(range(labels), rng.randrange(min(labels, 4) + 1))) for _ in range(10_000)] for _ in range(2)
    ]
    expected = counted([*map(set, stream[0])], [*map(set, stream[1])])
    assert counted(*stream) == counted(*map(pa.array, stream)) == counted(*map(pd.Series, stream)) == expected


@pytest.mark.parametrize("last", [[True, False, True], {"late": 1}, [0, 0]], ids=["row", "mapping", "refused"])
def test_a_long_list_is_counted_once_even_if_its_last_example_has_another_form(last: Any):
    true = [{number % 3, number // 100} for number in range(2_000)]
    pred = [*true[1:], last]
    ev, single = se.Evaluator(), se.Evaluator()
    ev.update({0}, {1})
    before = ev.to_bytes()
    if last == [0, 0]:
        with pytest.raises(se.InputError, match=r"^y_pred\[1999\]"):
            ev.update_many(true, pred)
        assert ev.to_bytes() == before
        return
    ev.update_many(true, pred)
    single.update({0}, {1})
    for example in zip(true, pred, strict=True):
        single.update(*example)
    assert ev == single


def test_if_the_fast_path_declines_a_series_only_its_first_examples_are_converted_twice(monkeypatch):
    listed: list[int] = []
    for module in (core, readers):
        real = module.lists_in
        monkeypatch.setattr(module, "lists_in", lambda rows, real=real: listed.append(len(rows)) or real(rows))
    rows = pd.Series([["a"], ["b", "c"]] * 5_000)
    for odd in (pd.Series([np.array(["a"]), ["b", "c"]] * 5_000), pd.Series([deque("a"), ["b", "c"]] * 5_000)):
        listed.clear()
        ev = se.Evaluator()
        ev.update_many(rows, odd)
        assert ev.get("f1_micro") == 1.0
        assert len(rows) <= sum(listed) <= 2.2 * len(rows)


@pytest.mark.parametrize("kind", [list, tuple, set, np.array, lambda labels: np.array(labels, object)])
def test_the_error_names_an_undeclared_label_in_every_kind_of_collection(kind: Callable[[list[str]], Any]):
    ev = se.Evaluator(["f1_micro"], labels=["cat", "dog", "bird"])
    with pytest.raises(se.LabelError, match=r"^y_true\[1\]: label 'fish' is not among the 3 declared labels"):
        ev.update_many([kind(["cat"]), kind(["dog", "fish"])], [{"cat"}, {"dog"}])


SCORED: dict[str, Any] = {"labels": ["a", "b"], "threshold": 0.5}
RANKED: dict[str, Any] = {"labels": ["a", "b"], "metrics": ["ndcg(k=1)"]}
ALIKE: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a set among rows": ([[1, 0], {0, 1}], [[1, 0], [1, 1]], {"labels": [0, 1], "rows": "indicator"}),
    "deques of booleans": ([deque([True, False])], [[True, False]], {}),
    "decimals": ([[Decimal("0.7"), Decimal("0.2")]], [{"a"}], SCORED),
    "one score": ([[0.7]], np.array([[0.7]]), {"threshold": 0.5}),
    "ids of numpy with a threshold": ([[np.int64(3), np.int64(5)]], [{3, 5}], {"threshold": 0.5}),
    "repeated ids of numpy": ([[np.int64(0), np.int64(1), np.int64(1)]], [{0, 1}], {"rows": "labels"}),
    "repeated ids and 0 in Arrow": (pa.array([[5, 5], [0]]), [{5}, {0}], {}),
    "structs of any names": (pa.array([[{"name": "a", "p": 0.9}, {"name": "b", "p": 0.1}]]), [{"a"}], SCORED),
    "no rows to compare": (np.zeros((0, 2), int), [], SCORED),
    "no rows to rank": (np.zeros((0, 2), int), [], RANKED),
    "integers beyond 64 bits": (np.array([[-(2**70), 1]], object), [{"a": -(2.0**70), "b": 1.0}], RANKED),
    "no number with a missing one": (
        np.array([[np.False_, None]], object), [{"a": False}], {**SCORED, "threshold": 0.0, "nan": "missing"},
    ),
    "a column without rows": (pd.DataFrame({"a": []}), [], {}),
    "a column of Arrow without rows": (pa.table({"a": pa.array([], pa.int8())}), [], {}),
    "rows without columns": (pa.table({"a": [1, 1]}).select([]), [[], []], {}),
    "columns of which two are ignored": (
        pd.DataFrame({"a": [1], "x": [1], "y": [1]}), [["a"]], {"labels": ["a"], "unknown": "ignore"},
    ),
}  # fmt: skip


@with_each("kind", ALIKE)
def test_rare_lists_and_columns_are_read_correctly(kind: str):
    rows, meant, options = ALIKE[kind]
    ev, reference = se.Evaluator(**options), se.Evaluator(**options)
    ev.update_many([set()] * len(meant), rows)
    reference.update_many([set()] * len(meant), meant)
    assert ev == reference


REFUSED_ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    r"y_pred\[0\] is the string 'cat'": ([np.array("cat")], {}),
    r"y_pred\[0\] has type <U3; for labels give": ([np.array([["cat", "dog"]])], {}),
    r"y_pred\[0\] has 2 dimensions, shape \(2, 1\)": ([pa.table({"a": [1, 0]})], {}),
    r"not Decimal \(Decimal\('1'\)\)": ([[Decimal(1), Decimal(0)]], {}),
    "a label that became a bool; convert labels with int": ([[True]], {}),
    "or hold a missing label; leave it out": ([[np.nan]], {}),
    "is 9007199254740993 for label 'a'; no float64 equals it": ([[2**53 + 1, 0.5]], RANKED),
    "is -9007199254740993 for label 'a'; no float64 equals it": (np.array([[-(2**53) - 1, 1]]), RANKED),
    "is 9007199254740995 for label 'a'; no float64 equals it": (
        np.ma.array([[2**53 + 3, 0]], mask=[[False, True]]), RANKED,
    ),
    r"is \[1\] for label 'a'; binary predictions are": (pd.DataFrame({"a": [[1]], "b": [0]}), {}),
    "two values for label 'b'": (pa.array([[("a", 1), ("b", 1), ("b", 0)]], pa.map_(pa.string(), pa.int8())), {}),
    "must be a str or an int, not None": (pa.array([[None, {"name": "a", "p": 0.9}]]), SCORED),
}  # fmt: skip


@with_each("message", REFUSED_ROWS)
def test_rare_lists_and_columns_are_refused_with_the_reason(message: str):
    rows, options = REFUSED_ROWS[message]
    with pytest.raises(se.InputError, match=message):
        se.Evaluator(**options).update_many([set()], rows)
