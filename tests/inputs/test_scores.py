"""All forms of the same scores give the same state, and scores that cannot be read change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import streameval as se
from streameval.inputs.readers import TopK
from tests.support.each import with_each
from tests.support.effort import crossed
from tests.support.kinds import KEEP
from tests.support.states import same

LABELS = ["d", "a", "c", "b", "e"]
READ = ["ndcg", "coverage_error", "roc_auc_macro", "average_precision_per_label", "f1_macro", "hamming_loss"]

Pair = tuple[Any, Any]


class Data:
    """Random truths and scores; NaN means no score."""

    def __init__(self, seed: int = 0, rows: int = 40, *, holes: bool = False, labels: list[Any] = LABELS) -> None:
        rng = np.random.default_rng(seed)
        self.labels = list(labels)
        self.true = rng.integers(0, 2, (rows, len(labels)))
        self.scores = rng.choice([-1.5, -0.25, 0.0, 0.125, 0.5, 0.75, 3.0], (rows, len(labels)))
        if holes:
            self.scores[rng.random(self.scores.shape) < 0.3] = math.nan
        self.hidden = (rng.random(self.scores.shape) < 0.2).astype(int)
        self.weights = rng.choice([0.1, 1.0, 2.5], rows)

    def mappings(self, *, stored_only: bool = False) -> list[dict[Any, float]]:
        return [
            {
                label: score
                for label, score in zip(self.labels, row, strict=True)
                if not (stored_only and score != score)
            }
            for row in self.scores.tolist()
        ]

    def sets(self, cells: np.ndarray | None = None) -> list[set[Any]]:
        return [
            {self.labels[place] for place in np.flatnonzero(row)} for row in (self.true if cells is None else cells)
        ]

    def sparse(self) -> sp.csr_matrix:
        row, column = np.nonzero(~np.isnan(self.scores))
        return sp.csr_matrix((self.scores[row, column], (row, column)), shape=self.scores.shape)

    def best(self) -> TopK:
        """For each example all labels that have a score, the best first."""
        order = np.argsort(-np.nan_to_num(self.scores, nan=-9.0), axis=1, kind="stable")
        scores = np.take_along_axis(self.scores, order, axis=1)
        order[np.isnan(scores)] = -1
        return TopK(order, np.nan_to_num(scores))


def evaluator(**choices: Any) -> se.Evaluator:
    choices = {"labels": LABELS, "threshold": 0.5, "nan": "missing", "keep": KEEP, **choices}
    return se.Evaluator([*READ], **choices)


def counted(true: object, pred: object, *, mask: object = None, weights: object = None, **choices: Any) -> se.Evaluator:
    ev = evaluator(**choices)
    ev.update_many(true, pred, mask=mask, weights=weights)
    return ev


SCORES: dict[str, Callable[[Data], object]] = {
    "float64": lambda data: data.scores,
    "float32": lambda data: data.scores.astype(np.float32),
    "float16": lambda data: data.scores.astype(np.float16),
    "Fortran order": lambda data: np.asfortranarray(data.scores),
    "other byte order": lambda data: data.scores.astype(">f8"),
    "objects": lambda data: data.scores.astype(object),
    "masked array": lambda data: np.ma.masked_invalid(data.scores),
    "read only": lambda data: np.frombuffer(data.scores.tobytes()).reshape(data.scores.shape),
    "strided": lambda data: np.repeat(data.scores, 2, axis=0)[::2],
    "memoryview": lambda data: memoryview(data.scores),
    "mappings": lambda data: data.mappings(),
    "generator": lambda data: iter(data.mappings()),
    "tuple": lambda data: tuple(data.mappings()),
    "rows": lambda data: list(data.scores),
    "rows of float32": lambda data: list(data.scores.astype(np.float32)),
    "row generator": lambda data: iter(data.scores),
    "pandas": lambda data: pd.DataFrame(data.scores, columns=data.labels),
    "pandas in another order": lambda data: pd.DataFrame(data.scores, columns=data.labels)[data.labels[::-1]],
    "pandas rows": lambda data: [row for _, row in pd.DataFrame(data.scores, columns=data.labels).iterrows()],
    "column of mappings": lambda data: pd.Series(data.mappings()),
    "object array of mappings": lambda data: np.array(data.mappings(), object),
    "polars": lambda data: pl.DataFrame(data.scores, schema=[str(label) for label in data.labels], orient="row"),
    "arrow": lambda data: pa.table({str(name): data.scores[:, place] for place, name in enumerate(data.labels)}),
    "csr": lambda data: data.sparse(),
    "csr array": lambda data: sp.csr_array(data.sparse()),
    "csr float32": lambda data: data.sparse().astype(np.float32),
    "csc": lambda data: data.sparse().tocsc(),
    "coo": lambda data: data.sparse().tocoo(),
    "best": lambda data: data.best(),
    "mixed": lambda data: [
        row if place % 3 == 0 else mapping if place % 3 == 1 else pd.Series(mapping)
        for place, (row, mapping) in enumerate(zip(data.scores, data.mappings(), strict=True))
    ],
}

TRUTHS: dict[str, Callable[[Data], object]] = {
    "array": lambda data: data.true,
    "booleans": lambda data: data.true.astype(bool),
    "csr": lambda data: sp.csr_matrix(data.true),
    "sets": lambda data: data.sets(),
    "lists": lambda data: [sorted(names) * 2 for names in data.sets()],
    "mappings": lambda data: [dict(zip(data.labels, row, strict=True)) for row in data.true.tolist()],
    "rows": lambda data: list(data.true),
    "pandas": lambda data: pd.DataFrame(data.true, columns=data.labels),
    "polars": lambda data: pl.DataFrame(data.true, schema=[str(label) for label in data.labels], orient="row"),
    "arrow lists": lambda data: pa.array([sorted(names) for names in data.sets()]),
    "generator": lambda data: iter(data.sets()),
}


@with_each("holes", [False, True])
@pytest.mark.parametrize("form", SCORES)
def test_every_form_of_scores_gives_the_same_state(form: str, holes: bool):
    data = Data(holes=holes)
    # A matrix takes its names from a data frame on another side.
    true, hidden = (data.sets(), data.sets(data.hidden)) if "another order" in form else (data.true, data.hidden)
    assert counted(true, SCORES[form](data)) == counted(data.sets(), data.mappings())
    expected = counted(data.sets(), data.mappings(), mask=data.hidden, weights=data.weights)
    assert counted(true, SCORES[form](data), mask=hidden, weights=data.weights) == expected


@with_each("scores", ["float32", "mappings", "csr", "pandas", "rows", "best"])
@pytest.mark.parametrize("form", TRUTHS)
def test_every_form_of_truths_and_masks_gives_the_same_state(form: str, scores: str):
    data = Data(1, holes=True)
    expected = counted(data.true, data.scores, mask=data.hidden)
    assert counted(TRUTHS[form](data), SCORES[scores](data), mask=data.sets(data.hidden)) == expected
    masked = Data(1, holes=True)
    masked.true = data.hidden
    assert counted(data.true, SCORES[scores](data), mask=TRUTHS[form](masked)) == expected


@pytest.mark.parametrize("form", ["float64", "mappings", "csr", "pandas"])
def test_unknown_truths_are_masked_cells(form: str):
    data = Data(2, holes=True)
    unknown = np.where(data.hidden, math.nan, data.true)
    expected = counted(data.true, data.scores, mask=data.hidden)
    assert counted(unknown, SCORES[form](data)) == expected
    half = data.hidden.copy()
    half[:, :2] = 0
    assert counted(np.where(half, math.nan, data.true), SCORES[form](data), mask=data.hidden - half) == expected


def test_integers_are_scores_of_equal_value():
    data = Data()
    data.scores = np.random.default_rng(3).integers(0, 4, data.scores.shape)
    expected = counted(data.true, data.scores.astype(float), threshold=2)
    for kind in (np.int8, np.uint8, np.int64, np.uint64, np.float16, object):
        assert counted(data.true, data.scores.astype(kind), threshold=2) == expected
    assert counted(data.sets(), data.mappings(), threshold=2) == expected


BY_LABEL = dict(zip(LABELS, [0.5, -1, 0, 3.0, 0.125], strict=True))
THRESHOLDS = crossed([name for name in SCORES if name != "best"], [0.5, 0.0, -0.25, 0.1, -2.0, 5e300, BY_LABEL])


@with_each("tried", THRESHOLDS)
def test_scores_give_the_same_decisions_as_in_an_evaluator_of_decisions_only(tried: tuple[str, Any]):
    form, threshold = tried
    for holes in (False, True):
        data = Data(4, holes=holes)
        true, hidden = data.sets(), data.sets(data.hidden)
        if "pandas" not in form:
            true, hidden = data.true, data.hidden
        for more in ({"mask": hidden, "weights": data.weights}, {}):
            plain = se.Evaluator(["f1_macro"], labels=LABELS, threshold=threshold, nan="missing")
            plain.update_many(true, SCORES[form](data), **more)
            ours = counted(true, SCORES[form](data), threshold=threshold, **more)
            assert same(ours._core.decisions.content(), plain._core.decisions.content())


@with_each("form", ["float64", "rows", "mappings", "csr", "pandas", "polars", "best"])
@with_each("declared", [["a", "b", "c", "d", "e", "z"], LABELS[::-1]])
def test_declared_labels_may_stand_in_another_order(form: str, declared: list[str]):
    data = Data(5)
    if form in ("float64", "rows", "csr", "best"):  # columns in these forms are the declared labels in order
        place = [LABELS.index(label) if label in LABELS else -1 for label in declared]
        wide = Data(5, labels=declared)
        wide.scores = np.column_stack([data.scores, np.full(40, math.nan)])[:, place]
        wide.true = np.column_stack([data.true, np.zeros(40, int)])[:, place]
        inputs = SCORES[form](wide)
    else:
        inputs = SCORES[form](data)
    assert counted(data.sets(), inputs, labels=declared) == counted(data.sets(), data.mappings(), labels=declared)


@pytest.mark.parametrize("form", ["mappings", "pandas", "polars", "arrow", "mixed rows"])
def test_labels_may_grow_with_the_stream_and_be_ignored_or_added(form: str):
    data = Data(6, holes=True)
    inputs = (
        (lambda: [pd.Series(row) for row in data.mappings()]) if form == "mixed rows" else lambda: SCORES[form](data)
    )
    assert counted(data.sets(), inputs(), labels=None) == counted(data.sets(), data.mappings(), labels=None)
    some = LABELS[1:3]
    added = counted(data.sets(), inputs(), labels=some, unknown="add")
    assert added == counted(data.sets(), data.mappings(), labels=some, unknown="add")
    assert set(added.labels) == set(LABELS)
    ignored = counted(data.sets(), inputs(), labels=some, unknown="ignore")
    narrow = [{label: row[label] for label in some} for row in data.mappings()]
    assert ignored == counted([names & set(some) for names in data.sets()], narrow, labels=some, unknown="ignore")
    refusing = evaluator(labels=some)
    with pytest.raises(se.LabelError, match="y_pred"):
        refusing.update_many([set()] * 40, inputs())
    assert refusing == evaluator(labels=some)


def test_labels_of_matrices_without_names_are_their_columns():
    data = Data(7, labels=[0, 1, 2, 3, 4], holes=True)
    expected = counted(data.sets(), data.mappings(), labels=None)
    for form in ("float64", "float32", "rows", "csr"):
        assert counted(data.true, SCORES[form](data), labels=None) == expected
        assert counted(data.sets(), SCORES[form](data), labels=None) == expected
    named = Data(7, holes=True)
    frame = pd.DataFrame(named.true, columns=LABELS)
    expected = counted(named.sets(), named.mappings(), labels=None)
    for form in ("float64", "csr", "best"):
        assert counted(frame, SCORES[form](named), labels=None) == expected, form
    for form in ("float64", "rows", "csr", "best"):
        ev = evaluator(labels=None)
        with pytest.raises(se.InputError, match="labels"):
            ev.update_many(named.sets(), SCORES[form](named))
        assert ev == evaluator(labels=None)


def test_cells_that_a_sparse_matrix_does_not_store_have_no_score_and_rank_last():
    ev = se.Evaluator(["coverage_error"], labels=["a", "b", "c"])
    ev.update_many([{"b"}], sp.csr_matrix([[-5.0, 0.0, 0.0]]))
    assert ev.get("coverage_error") == 3.0
    zero = sp.csr_matrix(([0.0], ([0], [1])), shape=(1, 3))
    ev.reset()
    ev.update_many([{"b"}], zero)
    assert ev.get("coverage_error") == 1.0
    twice = sp.csr_matrix(([0.25, 0.5], [1, 1], [0, 2]), shape=(1, 3))
    ev.reset()
    ev.update_many([{"b"}], twice)
    assert twice.nnz == 2
    once = se.Evaluator(["coverage_error"], labels=["a", "b", "c"])
    once.update({"b"}, {"b": 0.75})
    assert ev == once


@pytest.mark.parametrize("example", ["cat", b"cat", 3])
def test_predictions_without_scores_are_refused_with_the_forms_that_have_scores(example: object):
    ev = se.Evaluator(["ndcg"])
    forms = "a mapping label -> score, a ranked list of labels or a row of scores"
    with pytest.raises(se.InputError, match=f"y_pred must be {forms}, not {type(example).__name__} .{example!r}"):
        ev.update({"cat"}, example)
    with pytest.raises(se.InputError, match=rf"y_pred\[1\] must be {forms}, not {type(example).__name__} .{example!r}"):
        ev.update_many([{"cat"}] * 2, [["cat"], example])
    assert ev == se.Evaluator(["ndcg"])


@pytest.mark.parametrize("options", [{}, {"labels": [2, 3, 0, 1]}, {"threshold": 0.5}], ids=str)
@pytest.mark.parametrize("metric", ["hamming_loss", "ndcg"])
def test_a_sparse_matrix_is_read_like_a_dense_one_if_labels_have_other_columns(metric: str, options: dict[str, Any]):
    truth, scores = np.array([[1, 0, 1, 0], [0, 0, 1, 1]]), np.array([[0.9, 0.2, 0.6, 0.3], [0.1, 0.7, 0.8, 0.6]])
    scores = scores if metric == "ndcg" or "threshold" in options else scores.round()
    dense, sparse = (se.Evaluator([metric], **options) for _ in range(2))
    for ev, form in ((dense, np.array), (sparse, sp.csr_array)):
        ev.update({3}, {3: 1.0})
        ev.update_many(form(truth), form(scores))
    assert sparse == dense


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.lil_array, sp.dok_array])
@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}, {"threshold": 0.0}], ids=str)
@pytest.mark.parametrize("labels", [range(4), None])
def test_sparse_rows_have_the_same_scores_as_their_matrix(kind: Any, options: dict[str, Any], labels: Any):
    drawn = np.random.default_rng(1)
    true, scores = drawn.integers(0, 2, (6, 4)), kind(drawn.integers(0, 4, (6, 4)) / 4)
    whole, one, rows, read = (se.Evaluator(["ndcg", "roc_auc_micro"], labels=labels, **options) for _ in range(4))
    whole.update_many(true, scores)
    for example, row in zip(true, scores, strict=True):
        one.update(example, row)
    rows.update_many(true, [*scores])
    read.update_many(true, iter(scores))
    assert whole == one == rows == read
    for wrong in ([scores[:2], scores[:1]], [scores[:1], scores[:1, :3]], [[0.5] * 4, scores[:1]]):
        with pytest.raises(se.InputError, match=r"2 arrays of shape|y_pred\[[01]\] is a sparse row, but not all"):
            rows.update_many(true[:2], wrong)
    with pytest.raises(se.InputError, match=r"sparse row, .* would wait with a score of 0; give {label: score}"):
        se.Pending(rows).predict(1, scores[:1])
    assert whole == rows


@pytest.mark.parametrize("widths", [(2, 2), (2, 1), (1, 2), (1, 1)])
def test_the_advice_for_a_list_with_one_array_per_label_gives_the_scores(widths: tuple[int, ...]):
    column = np.array([[0.25], [0.5], [1.0]])
    parts = [column if width == 1 else np.concatenate([1 - column, column], axis=1) for width in widths]

    class model:  # noqa: N801  # the name in the advice
        classes_ = tuple(np.array([1] if width == 1 else [0, 1]) for width in widths)

    with pytest.raises(se.InputError, match=r"list of 2 arrays of shape \(3, .\);") as refused:
        se.score(np.ones((3, 2)), parts, threshold=0.5)
    advice = str(refused.value).rpartition("give ")[2]
    assert eval(advice, {"np": np, "y_pred": parts, "model": model}).tolist() == [*np.tile(column, 2).tolist()]  # noqa: S307  # our own


def test_the_error_for_a_wrong_sparse_row_names_its_place_in_the_batch():
    row, wrong = sp.csr_array([[0.5, 0.0]]), sp.csr_array([[math.nan, 0.0]])
    with pytest.raises(se.InputError, match=r"y_pred\[4097\] .*nan"):
        se.Evaluator(["ndcg"]).update_many([{0}] * 4098, [*[row] * 4097, wrong])


# -- ranked lists and the best k --------------------------------------------------------------------------------------


def ranked_evaluator(**choices: Any) -> se.Evaluator:
    return se.Evaluator(["ndcg", "precision_at(k=2)", "coverage_error"], **choices)


def test_ranked_lists_are_scores_that_fall():
    lists = [["a", "c"], ("b",), [], ["d", "a", "b", "c", "e"], ["a", "c", "a"]]
    true = [{"a"}, {"a", "b"}, {"c"}, {"c"}, {"c"}]
    expected = ranked_evaluator(labels=LABELS)
    for names, ranked in zip(true, lists, strict=True):
        expected.update(
            names, {label: -float(place) for place, label in reversed(list(enumerate(dict.fromkeys(ranked))))}
        )
    many, single, best, by_score = (ranked_evaluator(labels=LABELS) for _ in range(4))
    many.update_many(true, lists)
    assert many == expected
    for names, ranked in zip(true, lists, strict=True):
        single.update(names, ranked)
    assert single == expected
    indices = np.full((5, 6), -1)
    for row, ranked in enumerate(lists):
        places = [LABELS.index(label) for label in dict.fromkeys(ranked)]
        indices[row, : len(places)] = places
    best.update_many(true, TopK(indices))
    assert best == expected
    best.reset()
    best.update_many(true, TopK(np.ma.array(np.where(indices < 0, 5, indices), mask=indices < 0)))
    assert best == expected
    by_score.update_many(true, TopK(indices[:, ::-1], np.tile(np.arange(6.0), (5, 1))))
    assert by_score == expected
    columns = ranked_evaluator(labels=LABELS)
    columns.update_many(pd.Series(list(map(sorted, true))), pl.Series(list(map(list, lists))))
    assert columns == expected
    columns.reset()
    columns.update_many(true, pa.array(list(map(list, lists))))
    assert columns == expected


def test_ranked_lists_are_decisions_too_and_may_stand_next_to_scores():
    ev = se.Evaluator(["ndcg", "f1_micro"], labels=LABELS, threshold=0.5)
    ev.update({"a"}, ["a", "c"])
    ev.update({"a"}, {"a": 0.25, "b": 0.5})
    plain = se.Evaluator(["f1_micro"], labels=LABELS, threshold=0.5)
    plain.update({"a"}, ["a", "c"])
    plain.update({"a"}, {"a": 0.25, "b": 0.5})
    assert same(ev._core.decisions.content(), plain._core.decisions.content())
    together = se.Evaluator(["ndcg", "f1_micro"], labels=LABELS, threshold=0.5)
    together.update_many([{"a"}, {"a"}], [["a", "c"], {"a": 0.25, "b": 0.5}])
    assert together == ev
    best = se.Evaluator(["ndcg", "f1_micro"], labels=LABELS, threshold=0.5)
    best.update_many([{"a"}], TopK(np.array([[1, 2]])))
    ev.revert({"a"}, {"a": 0.25, "b": 0.5})
    assert best == ev


@pytest.mark.parametrize("padding", [9.0, math.nan, -math.inf])
def test_the_indices_of_the_best_k_are_labels_if_none_are_declared(padding: float):
    ev, expected = (se.Evaluator(["ndcg"]) for _ in range(2))
    ev.update_many([{7}, {2}], TopK(np.array([[7, -1], [7, 2**40]]), np.array([[0.5, padding], [1.0, 0.25]])))
    expected.update({7}, {7: 0.5})
    expected.update({2}, {7: 1.0, 2**40: 0.25})
    assert ev == expected


def test_the_best_k_may_lack_scores():
    nan = math.nan
    ev, expected = (se.Evaluator(["ndcg"], nan="missing", keep=["pairs"], threshold=0.5) for _ in range(2))
    ev.update_many([{7}, {2}], TopK([[7, 3], [7, 4]], [[0.5, nan], [nan, 0.25]]))
    expected.update({7}, {7: 0.5, 3: nan})
    expected.update({2}, {7: nan, 4: 0.25})
    assert ev == expected


@pytest.mark.parametrize("nothing", [None, pd.NA])
@pytest.mark.parametrize("options", [{"keep": ["curves"]}, {"threshold": 0.5}, {"keep": ["curves"], "threshold": 0.5}])
def test_none_is_a_missing_score_like_nan(options: dict[str, Any], nothing: object):
    ev, expected = (se.Evaluator([], nan="missing", labels=["a", "b"], **options) for _ in range(2))
    for one, score in ((ev, nothing), (expected, math.nan)):
        one.update({"a"}, {"a": score, "b": 0.9})
        one.update_many([{"a"}], [{"a": score, "b": 0.9}])
        one.update_many([{"a"}], np.array([[score, 0.9]], object))
        one.update_many([{"a"}], pd.DataFrame({"a": pd.Series([score], dtype=object), "b": [0.9]}))
    ev.update_many([{"a"}], sp.csr_array(np.array([[math.nan, 0.9]])))
    expected.update({"a"}, {"a": math.nan, "b": 0.9})
    assert ev == expected


@pytest.mark.parametrize("options", [{"keep": ["curves"]}, {"threshold": 0.5}])
@pytest.mark.parametrize("rows", [[[0.9, None], [None, None]], [[None, None]]], ids=str)
def test_a_row_may_have_only_missing_values(options: dict[str, Any], rows: list[list[float | None]]):
    def typed(values: list[Any], kind: pa.DataType) -> list[Any]:
        lists = pa.array(values, pa.list_(kind))
        return [lists, lists.cast(pa.list_(kind, 2)), pd.Series(values, dtype=pd.ArrowDtype(lists.type))]

    y_true = [{"a"}] * len(rows)
    for scores in (rows, *typed(rows, pa.float64())):
        ev, expected = (se.Evaluator([], nan="missing", labels=["a", "b"], **options) for _ in range(2))
        ev.update_many(y_true, scores)
        expected.update_many(y_true, np.array(rows, float))
        assert ev == expected
    for truths in typed([[value and True for value in row] for row in rows], pa.bool_()):
        assert se.score(truths, y_true, "recall_micro", labels=["a", "b"]) == len(rows) - 1


@pytest.mark.parametrize("options", [{}, {"keep": ["curves"]}, {"threshold": 0.5}])
def test_a_missing_prediction_is_refused_with_advice(options: dict[str, Any]):
    advice = ', or construct with nan="missing"' if options else ""
    with pytest.raises(se.InputError) as refused:
        se.Evaluator([], **options).update({"a"}, {"a": None})
    assert str(refused.value) == f"y_pred is None for label 'a'; give a number, or leave the label out{advice}"


@pytest.mark.parametrize("options", [{}, {"keep": ["curves"]}, {"threshold": 0.5}])
def test_the_option_for_missing_scores_is_advised_only_if_scores_are_read(options: dict[str, Any]):
    with pytest.raises(se.InputError) as refused:
        se.Evaluator([], **options).update_many([{0}], np.array([[np.nan, 1.0]]))
    assert ('nan="missing"' in str(refused.value)) == bool(options)


@pytest.mark.parametrize("score", ["0.9", "nan"])
@pytest.mark.parametrize("options", [{"keep": ["curves"]}, {"threshold": 0.5}])
def test_strings_as_scores_are_refused_with_advice_to_convert_them(options: dict[str, Any], score: str):
    for pred in ([{"a": score}], pd.DataFrame({"a": [score]}, dtype=object)):
        with pytest.raises(
            se.InputError, match=rf"is '{score}' for label 'a'; scores are .*: convert strings, with float"
        ):
            se.Evaluator([], **options).update_many([{"a"}], pred)


# -- input that cannot be read ----------------------------------------------------------------------------------------

ROW = np.zeros(5)
ONE: dict[str, tuple[Callable[[], object], str]] = {
    "set": (lambda: {"a"}, "binary predictions"),
    "frozenset": (lambda: frozenset({"a"}), "binary predictions"),
    "booleans": (lambda: {"a": True}, "binary predictions"),
    "numpy booleans": (lambda: {"a": np.True_}, "binary predictions"),
    "boolean row": (lambda: ROW > 0, "binary predictions"),
    "row of objects": (lambda: np.array([0.5, True, 0.5, 0.5, 0.5], object), "binary predictions"),
    "ranked list": (lambda: ["a", "b"], "curves need scores"),
    "text": (lambda: {"a": "high"}, "scores are numbers"),
    "None": (lambda: {"a": None}, 'nan="missing"'),
    "complex": (lambda: {"a": 1j}, "scores are numbers"),
    "infinite": (lambda: {"a": math.inf}, "is inf for label 'a'; scores must be finite$"),
    "infinite row": (lambda: ROW - math.inf, "inf.*finite"),
    "NaN": (lambda: {"a": math.nan}, "is nan for label 'a'; scores must be finite, or construct with nan="),
    "groups": (lambda: pd.DataFrame({"a": [1.0, 0.5]}).groupby("a"), "y_pred"),
    "class": (lambda: pd.DataFrame, "y_pred"),
    "NaN row": (lambda: ROW * math.nan, 'nan="missing"'),
    "short row": (lambda: np.zeros(4), "4 columns for 5 declared labels"),
    "matrix": (lambda: np.zeros((2, 5)), "y_pred"),
    "point": (lambda: np.array(0.5), "y_pred"),
    "huge integer": (lambda: {"a": 2**53 + 1}, "float64"),
    "endless integer": (lambda: {"a": 10**400}, "y_pred"),
    "long double": (lambda: {"a": np.longdouble(1) + np.longdouble(2) ** -60}, "float64"),
    "fraction": (lambda: {"a": Fraction(1, 3)}, "y_pred"),
    "unknown label": (lambda: {"x": 0.5}, "y_pred"),
    "float label": (lambda: {2.5: 0.5}, "y_pred"),
    "string": (lambda: "a", "y_pred"),
    "nothing": (lambda: None, "y_pred"),
    "number": (lambda: 0.5, "y_pred"),
    "list of scores": (lambda: [0.5, 0.25], "y_pred"),
    "series with a label twice": (lambda: pd.Series([0.5, 0.25], index=["a", "a"]), "two values for label 'a'"),
}

MANY: dict[str, tuple[Callable[[], Pair], str]] = {
    **{name: (lambda make=make: ([{"a"}, {"b"}], [{"a": 0.5}, make()]), text) for name, (make, text) in ONE.items()},
    "boolean array": (lambda: (np.ones((2, 5)), np.ones((2, 5), bool)), "binary predictions"),
    "boolean csr": (lambda: (np.ones((2, 5)), sp.csr_matrix(np.ones((2, 5), bool))), "binary predictions"),
    "boolean frame": (lambda: ([{"a"}], pd.DataFrame([[True, False]], columns=["a", "b"])), "binary predictions"),
    "boolean column": (lambda: ([{"a"}], pd.DataFrame({"a": [0.5], "b": [True]})), "binary predictions"),
    "boolean polars column": (lambda: ([{"a"}], pl.DataFrame({"a": [0.5], "b": [True]})), "binary predictions"),
    "text column": (lambda: ([{"a"}], pd.DataFrame({"a": [0.5], "b": ["x"]})), "y_pred"),
    "huge column": (lambda: ([{"a"}], pd.DataFrame({"a": [0.5], "b": [2**53 + 1]})), "float64"),
    "huge array": (lambda: (np.ones((1, 5)), np.full((1, 5), 2**53 + 1)), "float64"),
    "long doubles": (
        lambda: (np.ones((1, 5)), np.full((1, 5), np.longdouble(1) + np.longdouble(2) ** -60)),
        "float64",
    ),
    "text array": (lambda: (np.ones((1, 5)), np.full((1, 5), "x")), "y_pred"),
    "infinite array": (lambda: (np.ones((1, 5)), np.full((1, 5), -np.inf, np.float32)), "inf.*finite"),
    "NaN array": (
        lambda: (np.ones((1, 5)), np.full((1, 5), np.nan, np.float32)),
        "is nan for label '.'; scores must be finite, or construct with nan=",
    ),
    "NaN csr": (lambda: (np.ones((1, 5)), sp.csr_matrix(np.full((1, 5), np.nan))), 'nan="missing"'),
    "narrow array": (lambda: (np.ones((2, 5)), np.ones((2, 4))), "4 columns"),
    "narrow csr": (lambda: (np.ones((2, 5)), sp.csr_matrix(np.ones((2, 4)))), "4 columns"),
    "flat array": (lambda: (np.ones((2, 5)), np.ones(5)), "y_pred"),
    "deep array": (lambda: (np.ones((2, 5)), np.ones((2, 5, 1))), "y_pred"),
    "one mapping": (lambda: ([{"a"}], {"a": 0.5}), "many examples"),
    "one set": (lambda: ([{"a"}], {"a"}), "many examples"),
    "too few": (lambda: ([{"a"}] * 3, [{"a": 0.5}] * 2), "y_true"),
    "too few, unsized": (lambda: ([{"a"}] * 3, iter([{"a": 0.5}] * 2)), "y_true"),
    "too many": (lambda: (iter([{"a"}] * 3), np.ones((4, 5))), "y_true"),
    "two columns of one name": (lambda: ([{"a"}], pd.DataFrame([[0.5, 1.0]], columns=["a", "a"])), "name each label"),
    "unknown column": (lambda: ([{"a"}], pd.DataFrame([[0.5]], columns=["x"])), "y_pred"),
    "damaged csr": (
        lambda: ([{"a"}], _damaged(np.array([0, 1]), np.array([9]), np.array([0.5]))), "damaged",
    ),
    "csr with too few values": (
        lambda: ([{"a"}], _damaged(np.array([0, 2]), np.array([0, 1]), np.array([0.5]))), "damaged",
    ),
    "flat best": (lambda: ([{"a"}], TopK(np.array([1, 2]), np.ones(2))), "2-D"),
    "real best": (lambda: ([{"a"}], TopK(np.ones((1, 2)), np.ones((1, 2)))), "integers"),
    "best of other shape": (lambda: ([{"a"}], TopK([[1, 2]], [[0.5]])), "shape"),
    "best twice": (lambda: ([{"a"}], TopK([[1, 1]], [[0.5, 0.5]])), "twice"),
    "best beyond": (lambda: ([{"a"}], TopK([[1, 5]], [[0.5, 0.5]])), "5 labels are declared"),
    "best without scores": (lambda: ([{"a"}], TopK([[1, 2]])), "curves need scores"),
    "best with infinite scores": (lambda: ([{"a"}], TopK([[1, 2]], [[math.inf, 0.5]])), "inf.*finite"),
    "best with NaN": (lambda: ([{"a"}], TopK([[1, 2]], [[math.nan, 0.5]])), 'nan="missing"'),
    "best with decisions": (lambda: ([{"a"}], TopK([[1, 2]], [[True, False]])), "binary predictions"),
    "too few best": (lambda: ([{"a"}] * 2, TopK([[1, 2]], [[0.5, 0.25]])), "y_true"),
}  # fmt: skip


def _damaged(offsets: np.ndarray, places: np.ndarray, values: np.ndarray) -> sp.csr_matrix:
    matrix = sp.csr_matrix((1, 5))
    matrix.indptr, matrix.indices, matrix.data = offsets, places, values
    return matrix


def started(labels: list[str] | None = LABELS) -> se.Evaluator:
    ev = se.Evaluator(READ, labels=labels, threshold=0.5, keep=KEEP)
    ev.update({"a"}, {"a": 0.5, "b": 0.75})
    return ev


@with_each("what", ONE)
def test_one_example_that_cannot_be_read_changes_nothing(what: str):
    make, message = ONE[what]
    for verb in ("update", "revert"):
        ev = started()
        with pytest.raises((se.InputError, se.LabelError), match=message):
            getattr(ev, verb)({"c"}, make())
        assert ev == started()
    if what not in ("short row", "unknown label"):
        ev = started(None)
        with pytest.raises((se.InputError, se.LabelError)):
            ev.update({"fresh"}, make())
        assert ev == started(None)
        assert ev.labels == ("a", "b")


@with_each("what", MANY)
def test_many_examples_that_cannot_be_read_change_nothing(what: str):
    make, message = MANY[what]
    ev = started()
    with pytest.raises((se.InputError, se.LabelError), match=message):
        ev.update_many(*make())
    assert ev == started()


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 1.0], [1.0, -1.0], [1.0, math.nan]])
@pytest.mark.parametrize("sized", [True, False])
def test_weights_that_do_not_fit_change_nothing(weights: list[float], sized: bool):
    ev = started()
    inputs = [{"a": 0.5}] * 2
    with pytest.raises(se.InputError, match="weights"):
        ev.update_many([{"a"}] * 2, inputs if sized else iter(inputs), weights=weights)
    assert ev == started()


@pytest.mark.parametrize("form", ["float64", "csr", "mappings", "pandas", "best"])
def test_arguments_are_neither_changed_nor_retained(form: str):
    data = Data(8, holes=True)
    inputs = SCORES[form](data)
    true, mask, weights = data.true.copy(), data.hidden.copy(), data.weights.copy()
    expected = counted(data.true, data.scores, mask=data.hidden, weights=data.weights)
    before = repr(inputs), repr(data.scores)
    ev = evaluator()
    ev.update_many(true, inputs, mask=mask, weights=weights)
    assert (repr(inputs), repr(data.scores)) == before
    for part in (true, mask, weights):
        part[...] = 0
    if form == "float64":
        inputs[...] = 1.0
    elif form == "csr":
        inputs.data[...], inputs.indices[...] = 9.0, 0
    elif form == "best":
        inputs.indices[...], inputs.scores[...] = 0, 0.0
    elif form == "pandas":
        inputs.iloc[:, :] = 0.0
    else:
        for row in inputs:
            row.clear()
    assert ev == expected


def test_columns_without_names_are_refused_with_scores_of_strings():
    ev = se.Evaluator(["ndcg"])
    with pytest.raises(se.InputError, match="without label names"):
        ev.update_many(np.array([[1, 0]]), [{"a": 0.5, "b": 0.25}])
    assert ev == se.Evaluator(["ndcg"])


def test_a_batch_of_mappings_is_read_like_one_by_one():
    rows = [{"a": 0.5, "b": 1}, {}, {7: -0.25, "c": 2**53}, {"b": 0.125}]
    for choices in ({}, {"labels": ["a", "b"], "unknown": "ignore"}, {"labels": ["a", "b"], "unknown": "add"}):
        together, apart = (se.Evaluator(["ndcg", "roc_auc_macro"], **choices) for _ in range(2))
        together.update_many([{"a"}] * 4, rows)
        for row in rows:
            apart.update({"a"}, row)
        assert together == apart


def test_scores_of_mappings_are_compared_as_one_array_for_every_form_of_truth(monkeypatch: pytest.MonkeyPatch):
    scores = [{"a": 0.9, "b": 0.2}, {}, {"c": 0.5, "a": 0.1}]
    truth, thresholds = pa.array([["a"], ["b"], []]), {"a": 0.5, "b": 0.1, "c": 0.6}
    for options in ({"threshold": 0.5}, {"threshold": thresholds}, {"labels": ["c", "a", "b"], "threshold": 0.5}):
        one, many = se.Evaluator(**options), se.Evaluator(**options)
        for true, row in zip(truth.to_pylist(), scores, strict=True):
            one.update(true, row)
        with monkeypatch.context() as patch:
            patch.setattr("streameval.inputs.examples.cells_in", None)
            many.update_many(truth, scores)
        assert one == many


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[2**53 + 1, 0], [2**53, 5]], "9007199254740993 for label 0; no float64 equals it"),
        ([["x", "0.1"], ["0.2", "0.3"]], "'x' for label 0; scores are numbers"),
    ],
)
def test_masked_arrays_are_checked_like_other_arrays(cells: list[list[object]], message: str):
    ev = se.Evaluator(["roc_auc_micro"], nan="missing")
    masked = np.ma.array(np.array(cells), mask=[[0, 1], [0, 0]])
    with pytest.raises(se.InputError, match=message):
        ev.update_many(np.array([[1, 0], [0, 0]]), masked)
    assert ev.examples == 0


@pytest.mark.parametrize("metrics", [["f1_micro"], ["ndcg", "roc_auc_micro"], ["f1_micro", "ndcg"]])
def test_decimals_are_scores_as_the_nearest_float64(metrics: list[str]):
    digits = [[Decimal("0.1"), Decimal("0.30"), Decimal("NaN")], [Decimal("0.7"), Decimal("1E-9"), Decimal("0.3")]]
    made = se.Evaluator(metrics, threshold=0.3, nan="missing", labels=["a", "b", "c"])
    floats, one, rows = made.copy(), made.copy(), made.copy()
    truth = [{"a"}, {"b"}]
    floats.update_many(truth, [dict(zip("abc", map(float, row), strict=True)) for row in digits])
    for true, row in zip(truth, digits, strict=True):
        one.update(true, dict(zip("abc", row, strict=True)))
    rows.update_many(truth, digits)
    assert one == rows == floats
    if metrics == ["f1_micro"]:  # decimals in columns and as weights
        rows, true = made.copy(), [[Decimal(0), 1, None]]
        rows.update_many([dict(zip("abc", each, strict=True)) for each in true], digits[1:], weights=[Decimal("0.1")])
        one = made.copy()
        one.update_many(
            pl.DataFrame([[0, 1, None]], list("abc"), orient="row").cast(pl.Decimal(9, 2)), digits[1:], weights=[0.1]
        )
        assert rows == one
    before = one.to_bytes()
    held = [] if metrics == ["f1_micro"] else [2**53 + 1]  # decisions compare this integer exactly
    for wrong in map(Decimal, [*held, "inf", "1E+400", "1E+999999999", "sNaN"]):
        with pytest.raises(se.InputError):
            one.update({"a"}, {"a": wrong, "b": Decimal(0), "c": Decimal(1)})
    assert one.to_bytes() == before


@pytest.mark.parametrize("options", [{}, {"keep": ["pairs"]}, {"rows": "indicator"}], ids=str)
@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0]])
@pytest.mark.parametrize("name", ["y_true", "y_pred", "mask"])
def test_a_byte_above_one_is_refused_with_its_place_in_every_code_path(
    name: str, weights: Any, options: dict[str, Any]
):
    sides = {side: np.zeros((3, 2), np.uint8) for side in ("y_true", "y_pred", "mask")}
    ev = se.Evaluator(labels=["a", "b"], **options)
    ev.update_many(**sides, weights=weights)
    before = ev.to_bytes()
    sides[name][1, 1] = 2
    with pytest.raises(se.InputError, match=rf"^{name}\[1\] is 2 for label 'b'"):
        ev.update_many(**sides, weights=weights)
    assert ev.to_bytes() == before


@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0]])
@pytest.mark.parametrize("true", [np.zeros((3, 2), np.uint8), [{"a"}, set(), {"b"}]], ids=["matrix", "sets"])
@pytest.mark.parametrize("keep", [["curves"], ["rankings"], ["rankings", "curves", "pairs"]], ids=str)
def test_a_score_that_is_not_finite_is_refused_with_its_place_in_every_code_path(
    keep: list[str], true: Any, weights: Any
):
    ev, scores = se.Evaluator(labels=["a", "b"], threshold=0.5, keep=keep), np.full((3, 2), 0.25, np.float32)
    ev.update_many(true, scores, weights=weights)
    before = ev.to_bytes()
    scores[1, 1] = np.inf
    with pytest.raises(se.InputError, match=r"^y_pred\[1\] is inf for label 'b'"):
        ev.update_many(true, scores, weights=weights)
    assert ev.to_bytes() == before


def test_thresholds_are_part_of_equality_only_for_labels_that_may_occur():
    both = {"a": 0.5, "b": 0.7}
    for options in ({}, {"unknown": "ignore"}):
        declared = se.Evaluator(labels=["a"], threshold=both, **options)
        assert declared == se.Evaluator(labels=["a"], threshold={"a": 0.5}, **options)
    ev = se.Evaluator(labels=["a"], unknown="add", threshold=both)
    ev.update({"b"}, {"a": 0.4, "b": 0.7})
    assert ev.get("f1_micro") == 1.0
    with pytest.raises(se.MergeError, match=r"thresholds differ \(\{'a': 0.5, 'b': 0.7\} and 0.5\)"):
        ev.merge(se.Evaluator(labels=["a"], unknown="add", threshold=0.5))


def test_the_error_for_a_tuple_of_model_outputs_names_the_output_to_give():
    truth, outputs = np.eye(3, dtype=int), (np.eye(3), np.ones((3, 5)))
    with pytest.raises(se.InputError, match=r"outputs give the first$"):
        se.score(truth, outputs, "f1_micro", threshold=0.5)
    with pytest.raises(se.InputError, match=r"outputs give label_ids$"):
        se.score(outputs, truth, "f1_micro")
