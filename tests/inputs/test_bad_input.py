"""Every bad input is refused with the right error and a helpful message, and changes nothing."""

from __future__ import annotations

import itertools
import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import xarray as xr

import streameval as se
from streameval.inputs import samples
from tests.support.each import with_each
from tests.support.effort import BRIEF, cases, crossed
from tests.support.naming import case_name

NAN, INF = math.nan, math.inf
SURROGATE = "cat\ud800"

Call = Callable[[se.Evaluator], object]


def words() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro", "hamming_loss"])
    ev.update({"cat", "bird"}, {"cat"})
    return ev


def weighed() -> se.Evaluator:
    ev = words()
    ev.update({"cat"}, {"dog"}, weight=0.1)
    return ev


def numbers() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro"])
    ev.update_many(np.eye(3), np.ones((3, 3)))
    return ev


def integers() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro"])
    ev.update_many([{0}, {1}, {2}], [{0, 1, 2}] * 3)
    return ev


def declared() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro"], labels=["bird", "cat", "dog"])
    ev.update({"cat", "bird"}, {"cat"})
    return ev


def scored() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro"], labels=["bird", "cat", "dog"], threshold=0.5)
    ev.update({"cat", "bird"}, {"cat": 0.7, "dog": 0.2})
    return ev


def curved() -> se.Evaluator:
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update({"cat"}, {"cat": 0.7, "dog": 0.2})
    return ev


def sliced() -> se.Sliced:
    result = se.Sliced(se.F1(), by="region")
    result.update({"cat"}, {"cat"}, where={"region": "us"})
    return result


@dataclass
class Bad:
    """A call, the error that it must raise, and strings that the message must contain."""

    name: str
    make: Callable[[], se.Evaluator]
    call: Call
    reported: tuple[str, ...]
    error: type[Exception] = se.InputError

    def check(self) -> None:
        ev, twin = self.make(), self.make()
        before = ev.to_bytes()
        with pytest.raises(Exception) as caught:  # noqa: PT011  # the type is compared below
            self.call(ev)
        assert ev.to_bytes() == before
        assert type(caught.value) is self.error, f"{type(caught.value).__name__}: {caught.value}"
        for part in self.reported:
            assert part in str(caught.value)
        assert len(str(caught.value)) < 500
        for usable in (ev, twin):
            usable.update(set(), set())
            usable.merge(usable)
        assert ev.to_bytes() == twin.to_bytes()


def sides(name: str, make: Callable[[], se.Evaluator], inputs: object, *message: str, many: bool = False) -> list[Bad]:
    """Calls with the same bad argument as y_true, y_pred and mask of every method that takes it."""
    verbs = ["update_many"] if many else ["update", "revert"]
    good = [set(), set()] if many else set()
    made = []
    for verb in verbs:
        for side in ("y_true", "y_pred", "mask"):
            arguments = {"y_true": good, "y_pred": good, "mask": good, side: inputs}

            def call(ev: se.Evaluator, verb: str = verb, arguments: dict = arguments) -> None:
                getattr(ev, verb)(arguments["y_true"], arguments["y_pred"], mask=arguments["mask"])

            made.append(Bad(f"{name}: {side} of {verb}", make, call, (side, *message)))
    return made


def checked(cases: list[Bad]) -> pytest.MarkDecorator:
    """Parametrise a test with one case for each kind of bad input, which has the calls for all forms and sides."""
    names = [bad.name for bad in cases]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    kinds: dict[str, list[Bad]] = {}
    for bad in cases:
        kinds.setdefault(re.split(" in |: ", bad.name)[0], []).append(bad)
    return pytest.mark.parametrize("bad", [*map(Together, kinds.values())], ids=[*kinds])


@dataclass
class Together:
    """Calls that are bad for the same reason; a note on the error says which call fails."""

    calls: list[Bad]

    def check(self) -> None:
        for bad in self.calls:
            try:
                bad.check()
            except BaseException as error:
                error.add_note(bad.name)
                raise


class Vector:
    """Has the interface of a sparse vector of spark.ml."""

    def toArray(self) -> None: ...  # noqa: N802  # the name in spark.ml


class Structured:
    """Has the interface of a pydantic model, such as structured output of a language model."""

    def __iter__(self) -> Iterator[tuple[str, bool]]:
        yield "cat", True

    def model_dump(self) -> None: ...


class Fields:
    """Has the interface of a row of SQLAlchemy, which is no tuple."""

    def __iter__(self) -> Iterator[float]:
        yield 0.9

    def _asdict(self) -> None: ...


def of_database() -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    return connection.execute("select 1 as cat").fetchone()


class Filled(sp.csr_array):
    """Has the interface of a sparse array of PyData whose fill value is not 0."""

    fill_value = math.nan


class Unwilling:
    """Has the interface of a sparse array of PyData, which refuses conversion to numpy."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("ask me")

    def todense(self) -> None: ...


class Listed:
    """Has the interface of a ragged tensor of TensorFlow."""

    def to_list(self) -> None: ...


class Distributed:
    """Has the interface of a data frame of Spark."""

    columns = ("a",)

    def toPandas(self) -> None: ...  # noqa: N802  # the name in Spark


class Lazy:
    """Has the interface of a data frame of Dask."""

    columns, iloc = ("a",), ()

    def compute(self) -> None: ...


# -- the form of an argument ------------------------------------------------------------------------------------------

FORMS = [
    *sides("a bare string", words, "cat", "'cat'"),
    *sides("an empty string", words, "", "''"),
    *sides("bytes", words, b"cat", "write [b'cat'.decode()]"),
    *sides("a bytearray", words, bytearray(b"cat"), "bytearray"),
    *sides("a numpy string", words, np.str_("cat"), "cat"),
    *sides("a number", words, 3, "3"),
    *sides("a float", words, 0.25, "0.25"),
    *sides("a bool", words, True, "True"),
    *sides("an object", words, object(), "object"),
    *sides("a range", words, range(4321), "4321"),
    *sides("a 0-d array", numbers, np.array(1), "must be a set, list", "not int (1)"),
    *sides("a masked record", numbers, np.ma.array([(1, 0)], [("a", "i8"), ("b", "i8")]), "'a'", "booleans or numbers"),
    *sides("a 2-D array", numbers, np.ones((3, 2)), "(3, 2)", "update_many"),
    *sides("a 3-D array", numbers, np.ones((2, 1, 4)), "(2, 1, 4)"),
    *sides("sparse rows", numbers, sp.csr_array([[1, 0, 1]] * 2), "(2, 3)", "update_many"),
    *sides("a frame", words, pd.DataFrame({"cat": [1, 0]}), "update_many"),
    *sides("a frame without columns", words, pd.DataFrame(index=[0, 1]), "update_many"),
    *sides("a polars frame", words, pl.DataFrame({"cat": [1, 0]}), "update_many"),
    *sides("an arrow table", words, pa.table({"cat": [1, 0]}), "update_many"),
    *sides("an array of dates", numbers, np.zeros(3, "M8[s]"), "datetime64"),
    *sides("an array of complex numbers", numbers, np.zeros(3, complex), "complex"),
    *sides("an array of bytes", numbers, np.array([b"a", b"b", b"c"]), "S1"),
    *sides("a bare string", words, "cat", "str", many=True),
    *sides("bytes", words, b"cat", "bytes", many=True),
    *sides("a mapping", words, {"cat": True}, "dict", many=True),
    *sides("a set", words, {"cat", "dog"}, "set", many=True),
    *sides("a frozenset", words, frozenset({"cat"}), "frozenset", many=True),
    *sides("a number", words, 7, "7", many=True),
    *sides("an object", words, object(), "object", many=True),
    *sides("a 0-d array", words, np.array(1), "()", many=True),
    *sides("a 1-D array", numbers, np.array([1, 0, 1]), "(3,)", many=True),
    *sides("a 1-D array of bool", numbers, np.array([True, False]), "(2,)", many=True),
    *sides("a 1-D array of strings", words, np.array(["cat", "dog"]), "(2,)", many=True),
    *sides("a 1-D array of float", numbers, np.array([0.5]), "(1,)", many=True),
    *sides("a 3-D array", numbers, np.ones((2, 1, 4)), "(2, 1, 4)", many=True),
    *sides("a 1-D sparse array", numbers, sp.coo_array(np.array([1, 0])), "(2,)", many=True),
    *sides("what is no array unless it is asked", numbers, Unwilling(), "ask me; write", ".todense()", many=True),
    *sides("what is distributed", words, Distributed(), "must be a matrix", ".toPandas()", many=True),
    *sides("what is lazy", words, Lazy(), "must be a matrix", ".compute()", many=True),
    *sides("what lists itself", words, Listed(), "must be a matrix", ".to_list()", many=True),
    *sides("a list of strings", words, ["cat", "dog"], "'cat'", many=True),
    *sides("a list of numbers", words, [1, 0], "int", "1", many=True),
    *sides("a list of 2-D arrays", numbers, [np.ones((2, 3))] * 2, "(2, 3)", "np.concatenate(", many=True),
    *sides(
        "2-D arrays one by one",
        numbers,
        dict.fromkeys("xy", np.ones((2, 3))).values(),
        "(2, 3)",
        "np.concatenate(",
        many=True,
    ),
    *sides("an array of objects", words, np.array([["a", "b"]], object), "<U1", ".tolist()", many=True),
    *sides("a list of columns", numbers, [np.ones((2, 1))] * 2, "np.concatenate(", ", axis=1)", many=True),
    *sides("a series of numbers", words, pd.Series([1, 0]), "1", many=True),
    *sides("a series of strings", words, pd.Series(["cat", "dog"]), "'cat'", many=True),
    *sides("an arrow column of strings", words, pa.array(["cat", "dog"]), "'cat'", many=True),
    *sides("an arrow column of numbers", words, pa.array([1, 0]), "1", many=True),
    *sides("a polars column of strings", words, pl.Series(["cat", "dog"]), "'cat'", many=True),
    *sides("an array of dates", numbers, np.zeros((2, 3), "M8[s]"), "datetime64", many=True),
    *sides("an array of strings", numbers, np.array([["1", "0"]]), "<U1", ".tolist()", "astype(int)", many=True),
    *sides("an array of words", numbers, np.array([["no", "yes"]]), ".tolist()", " == 'yes'", many=True),
    *sides("an array of words, yes first", numbers, np.array([["yes", "no"]]), " == 'yes'", many=True),
    *sides("an array of other words", numbers, np.array([["absent", "present"]]), " == word, where", many=True),
    *sides("an array of numbers as strings", numbers, np.array([["0.5"]]), ".tolist()", ".astype(float)", many=True),
    *sides("a class", words, pd.DataFrame, "DataFrame", many=True),
    *sides("a class", words, pd.DataFrame, "DataFrame"),
    *sides("groups", words, pd.DataFrame({"cat": [1, 0]}).groupby("cat"), "DataFrameGroupBy"),
    *sides("a vector", words, Vector(), ".toArray()"),
    *sides("a model of pydantic", words, Structured(), ".model_dump()"),
    *sides("a row of SQLAlchemy", words, Fields(), "._asdict()"),
    *sides("a row of a database", words, of_database(), "give dict("),
    *sides("a filled array", numbers, Filled([[1, 0, 1]]), "not stored are nan", "todense()", many=True),
    *sides("the best labels", numbers, se.TopK([[1], [0]]), "a TopK, which is for metrics of rankings", many=True),
    *sides("an array of records", words, np.ones(2, [("a", int), ("b", "S1")]), "b'1' for label 'b'", many=True),
]


@checked(FORMS)
def test_arguments_that_are_no_examples_are_refused(bad: Bad):
    bad.check()


NOTHING = [
    *[bad for bad in sides("None", words, None, "None") if "mask" not in bad.name],
    *[bad for bad in sides("None", words, None, "None", many=True) if "mask" not in bad.name],
    *sides("None for one of many", words, [set(), None], "None", many=True),
    *sides("None in a series", words, pd.Series([["cat"], None]), "None", many=True),
    *sides("NaN for one of many", words, [set(), NAN], "nan", many=True),
]


@checked(NOTHING)
def test_none_in_place_of_an_example_is_refused(bad: Bad):
    bad.check()


@with_each("side", ["y_true", "y_pred", "mask"])
@with_each("shape", [(3, 1, 2), (3, 4, 2), (3, 4, 1), (3, 1, 1), (3, 1, 5), (3, 2, 4)])
def test_arrays_of_three_dimensions_are_advised_about_as_pairs_only_if_they_may_be_pairs(
    side: str, shape: tuple[int, int, int]
):
    arguments = {"y_true": [set()] * 3, "y_pred": [set()] * 3, "mask": [set()] * 3, side: np.zeros(shape)}
    with pytest.raises(se.InputError) as error:
        many_of(arguments)(numbers())
    are_pairs = side == "y_pred" and shape[2] == 2
    assert (f"{side}[..., 1], with .T" in str(error.value)) == are_pairs
    assert (f"{side}[:, 1]" in str(error.value)) == (side == "y_pred" and shape[1] == 2)
    assert (f"{side}.reshape(-1, " in str(error.value)) == (not are_pairs or shape[1] == 1)
    for metric in ("f1_micro", "roc_auc_macro"):
        with pytest.raises(
            se.InputError, match=f"{side} has 3 dimensions, .*; update takes one example: for many, use"
        ):
            se.Evaluator([metric], threshold=0.5).update(**{"y_true": [], "y_pred": {}, side: np.zeros(shape)})


@with_each(
    "pair",
    [
        ("0", "1"),
        ("0.0", "1.0"),
        ("false", "true"),
        ("False", "True"),
        ("FALSE", "TRUE"),
        ("No", "Yes"),
        ("n", "y"),
        (b"0", b"1"),
    ],
)
def test_the_advice_for_strings_of_two_values_converts_them(pair: tuple[Any, Any]):
    for first in pair:
        with pytest.raises(se.InputError, match="convert") as error:
            se.Evaluator().update_many([{"a": first}], [{"a"}])
        advised = re.search(r"with (value == \S+)", str(error.value))[1]
        assert [eval(advised, {"value": value}) for value in pair] == [False, True]  # noqa: S307  # our own message


@with_each(
    "string", ["['cat', 'dog']", '["cat", "dog"]', "('cat', 'dog')", "{'cat', 'dog'}", "[cat, dog]", "['cat' 'dog']"]
)
def test_strings_that_hold_lists_are_refused_with_how_to_parse_them(string: str):
    for call in (lambda ev: ev.update(string, {"cat"}), lambda ev: ev.update_many(pd.Series([string]), [{"cat"}])):
        written = "ast.literal_eval" if "'," in string or '",' in string else "give the list, not the string that"
        Bad("", words, call, ("y_true", written)).check()


# -- lengths and shapes -----------------------------------------------------------------------------------------------

LENGTHS: dict[str, Callable[[int], object]] = {
    "array": lambda n: np.ones((n, 3)),
    "csr": lambda n: sp.csr_array(np.ones((n, 3))),
    "pandas": lambda n: pd.DataFrame(np.ones((n, 3)), columns=["bird", "cat", "dog"]),
    "polars": lambda n: pl.DataFrame(dict.fromkeys(["bird", "cat", "dog"], [1] * n)),
    "arrow table": lambda n: pa.table(dict.fromkeys(["bird", "cat", "dog"], [1] * n)),
    "list": lambda n: [{"cat"}] * n,
    "tuple": lambda n: (("cat",),) * n,
    "iterator": lambda n: iter([{"cat"}] * n),
    "rows": lambda n: (np.ones(3) for _ in range(n)),
    "arrow lists": lambda n: pa.array([["cat"]] * n, pa.list_(pa.string())),
    "polars lists": lambda n: pl.Series([["cat"]] * n, dtype=pl.List(pl.String)),
    "pandas lists": lambda n: pd.Series([["cat"]] * n, dtype=object),
}


@pytest.mark.parametrize("first", LENGTHS)
@with_each("second", LENGTHS)
def test_numbers_of_examples_that_differ_are_refused(first: str, second: str):
    one, other = LENGTHS[first], LENGTHS[second]
    known = not {"iterator", "rows"} & {first, second}
    longer = (list(LENGTHS).index(first) + list(LENGTHS).index(second)) % 2
    for n, m in ((3, 2), (2, 3), (1, 0), (0, 1))[longer :: 2 if BRIEF else 1]:
        message = (f"y_true has {n}", f"y_pred has {m}") if known else ("y_true", "y_pred")
        Bad("", declared, lambda ev, n=n, m=m: ev.update_many(one(n), other(m)), message).check()
        Bad(
            "", declared, lambda ev, n=n, m=m: ev.update_many(one(n), one(n), mask=other(m)), ("mask", "y_true")
        ).check()
        # Weights are read independently of examples, so one form of weights per pair of forms of examples is enough.
        inputs = (np.ones(m), [0.5] * m, pd.Series([1.0] * m, dtype=float), np.full(m, 2))
        weights = inputs[(list(LENGTHS).index(first) + list(LENGTHS).index(second) + n) % 4]
        message = ("weights", "y_true", f"weights has {m}") if known else ("weights",)
        Bad("", declared, lambda ev, n=n, w=weights: ev.update_many(one(n), other(n), weights=w), message).check()


@pytest.mark.parametrize(("n", "m"), [(32768, 32769), (32769, 32768), (65536, 65535), (70_000, 1), (1, 70_000)])
def test_iterators_of_different_lengths_are_refused_for_any_lengths(n: int, m: int):
    def source(count: int) -> Iterator[set[str]]:
        return iter([{"cat", "new"}] * count)

    for call, *message in (
        (lambda ev: ev.update_many(source(n), source(m)), "y_true", "y_pred"),
        (lambda ev: ev.update_many(source(n), [{"cat"}] * m), "y_true", "y_pred"),
        (lambda ev: ev.update_many(source(n), source(n), mask=source(m)), "y_true", "mask"),
        (lambda ev: ev.update_many(source(n), source(n), weights=np.ones(m)), "y_true", "weights"),
        (lambda ev: ev.update_many(source(n), source(n), weights=[0.1] * m), "y_true", "weights"),
    ):
        Bad("", words, call, tuple(message)).check()


WIDTHS = {
    "array": np.ones, "csr": lambda shape: sp.csr_array(np.ones(shape)), "csc": lambda s: sp.csc_matrix(np.ones(s)),
    "objects": lambda shape: np.ones(shape, object), "rows": lambda shape: list(np.ones(shape)),
}  # fmt: skip


@with_each("form", WIDTHS)
@with_each("width", [1, 2, 4])
def test_numbers_of_columns_that_differ_from_the_declared_labels_are_refused(form: str, width: int):
    bad = WIDTHS[form]((2, width))
    for side in ("y_true", "y_pred", "mask"):
        arguments = {"y_true": [set()] * 2, "y_pred": np.ones((2, 3)), "mask": [set()] * 2, side: bad}
        call = many_of(arguments)
        Bad("", declared, call, (side, f"{width} column", "3 declared labels")).check()
    for verb in ("update", "revert"):
        row = np.ones(width)
        Bad("", declared, lambda ev, v=verb, r=row: getattr(ev, v)(r, set()), ("y_true", str(width), "3")).check()
        Bad("", declared, lambda ev, v=verb, r=row: getattr(ev, v)(set(), r), ("y_pred", str(width), "3")).check()
        Bad(
            "", declared, lambda ev, v=verb, r=row: getattr(ev, v)({"cat"}, set(), mask=r), ("mask", str(width))
        ).check()


@with_each("form", WIDTHS)
@with_each("other_form", WIDTHS)
def test_nameless_columns_whose_numbers_differ_between_the_sides_are_refused(form: str, other_form: str):
    one, other = WIDTHS[form]((4, 3)), WIDTHS[other_form]((4, 2))
    Bad("", numbers, lambda ev: ev.update_many(one, other), ("y_true", "y_pred", "3", "2")).check()
    Bad("", numbers, lambda ev: ev.update_many(other, one), ("y_true", "y_pred", "3", "2")).check()
    Bad("", numbers, lambda ev: ev.update_many(one, one, mask=other), ("mask", "3", "2")).check()


def test_rows_whose_lengths_differ_between_the_sides_are_refused():
    Bad("", numbers, lambda ev: ev.update(np.ones(3), np.ones(2)), ("y_true", "y_pred", "3", "2")).check()
    Bad("", numbers, lambda ev: ev.update(np.ones(2), np.ones(2), mask=np.ones(3)), ("mask", "3", "2")).check()


def test_a_matrix_with_a_frame_needs_as_many_columns():
    frame = pd.DataFrame({"bird": [1, 0], "cat": [1, 1]})
    for matrix in (np.ones((2, 3)), sp.csr_array((2, 3)), np.ones((2, 1))):
        message = ("y_pred", f"{matrix.shape[1]} column", "2")
        Bad("", words, lambda ev, m=matrix: ev.update_many(frame, m), message).check()
        Bad("", words, lambda ev, m=matrix: ev.update_many(m, frame), ("y_true", *message[1:])).check()
        Bad("", words, lambda ev, m=matrix: ev.update_many(frame, frame, mask=m), ("mask", *message[1:])).check()


@pytest.mark.parametrize("wrong", [["0", "1"], ["column_0", "column_1"], ["cat", "dog"]])
def test_frames_with_numbered_columns_are_accepted_only_with_frames_with_numbered_columns(wrong: list[str]):
    numbered, part = pd.DataFrame([[1, 0]]), pd.DataFrame([[1]], columns=[1])
    for pair in ((numbered, pd.DataFrame([[1, 0]], columns=wrong)), (pd.DataFrame([[1, 0]], columns=wrong), numbered)):
        Bad("", numbers, lambda ev, pair=pair: ev.update_many(*pair), (str(wrong), "name the columns alike")).check()
    ev = se.Evaluator()
    ev.update_many(numbered, part)  # a label without a column in y_pred counts as not predicted
    assert (ev.labels, ev.get("hamming_loss")) == ((0, 1), 1.0)


def test_arrays_of_xarray_with_their_dimensions_in_different_orders_are_refused():
    rows = xr.DataArray(np.eye(2, dtype=int), {"label": ["bird", "cat"]}, ("row", "label"))
    message = "('label', 'row'), ('row', 'label')", "transpose them alike"
    Bad("", words, lambda ev: ev.update_many(rows, rows.T), message).check()
    Bad("", words, lambda ev: ev.update_many(rows, rows, mask=rows.T), message).check()


def test_nameless_columns_with_string_labels_are_refused():
    for matrix in (np.ones((1, 2)), sp.csr_array((1, 2)), [np.ones(2)]):
        Bad("", words, lambda ev, m=matrix: ev.update_many(m, [{"cat"}]), ("y_true", "names", "labels=")).check()
        Bad("", words, lambda ev, m=matrix: ev.update_many([{"cat"}], m), ("y_pred", "names", "labels=")).check()
    Bad("", words, lambda ev: ev.update(np.ones(2), {"cat"}), ("y_true", "names", "labels=")).check()


DUPLICATES = {
    "pandas": lambda: pd.DataFrame([[1, 0, 1]], columns=["cat", "dog", "cat"]),
    "arrow": lambda: pa.table([[1], [0], [1]], names=["cat", "dog", "cat"]),
    "record batch": lambda: pa.RecordBatch.from_arrays([pa.array([1]), pa.array([0])], names=["cat", "cat"]),
    "pandas of equal labels": lambda: pd.DataFrame([[1, 0]], columns=pd.Index(["cat", np.str_("cat")], dtype=object)),
}


@pytest.mark.parametrize("form", DUPLICATES)
def test_frames_with_two_columns_of_one_name_are_refused(form: str):
    for make in (words, declared, scored):
        made = DUPLICATES[form]()
        for side in ("y_true", "y_pred", "mask"):
            arguments = {"y_true": [set()], "y_pred": [set()], "mask": [set()], side: made}
            call = many_of(arguments)
            Bad("", make, call, (side, "'cat'", "two columns"), se.LabelError).check()


def test_a_series_with_two_values_for_one_label_is_refused():
    series = pd.Series([1, 0], index=["cat", "cat"])
    Bad("", words, lambda ev: ev.update(series, {"cat"}), ("y_true", "'cat'"), se.LabelError).check()
    Bad("", words, lambda ev: ev.update({"cat"}, series), ("y_pred", "'cat'"), se.LabelError).check()


# -- values -----------------------------------------------------------------------------------------------------------


def many_of(arguments: dict[str, object]) -> Call:
    return lambda ev: ev.update_many(arguments["y_true"], arguments["y_pred"], mask=arguments["mask"])


def in_all_forms(name: str, side: str, value: object, *message: str, make: Callable = declared) -> list[Bad]:
    """Calls with one bad value in every form that holds values."""
    values = [0, value, 1]
    labels = ["bird", "cat", "dog"]
    forms: dict[str, object] = {
        "mappings": [dict(zip(labels, values, strict=True))],
        "series": [pd.Series(values, index=labels, dtype=object)],
        "rows of objects": [np.array(values, object)],
        "objects": np.array([values], object),
    }
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**62):
        array = np.array([values])
        forms |= {
            "array": array,
            "Fortran array": np.asfortranarray(np.vstack([array, array]))[:1],
            "csr": sp.csr_array(array),
            "coo": sp.coo_matrix(array),
            "rows": [array[0]],
            "pandas": pd.DataFrame(array, columns=labels),
            "polars": pl.DataFrame(array, schema=labels, orient="row"),
            "arrow": pa.table({label: [one] for label, one in zip(labels, array[0], strict=True)}),
        }
        if array.dtype.kind == "i":
            forms |= {f"array of {dtype}": np.array([values]).astype(dtype) for dtype in ("i1", "f2", "f4", ">f8")}
            forms |= {"array of uint8": np.array([values]).astype("u1")} if value > 0 else {}
    made = []
    for form, inputs in forms.items():
        arguments = {"y_true": [set()], "y_pred": [set()], "mask": [set()], side: inputs}

        made.append(Bad(f"{name} in {form}: {side} of update_many", make, many_of(arguments), (side, *message)))
        if isinstance(inputs, list):
            single = {key: part[0] for key, part in arguments.items()}

            def one(ev: se.Evaluator, single: dict = single) -> None:
                ev.update(single["y_true"], single["y_pred"], mask=single["mask"])

            made.append(Bad(f"{name} in {form}: {side} of update", make, one, (side, *message)))
    return made


VALUES = [
    bad
    for side in ("y_true", "y_pred", "mask")
    for bad in (
        *in_all_forms("2", side, 2, "2"),
        *in_all_forms("-1", side, -1, "-1"),
        *in_all_forms("0.5", side, 0.5, "0.5"),
        *in_all_forms("a tiny number", side, 1e-300, "1e-300"),
        *in_all_forms("infinity", side, INF, "inf"),
        *in_all_forms("a huge integer", side, 10**400, "1000"),
        *in_all_forms("a string", side, "yes", "yes"),
        *in_all_forms("a complex number", side, 1j, "1j"),
        *in_all_forms("a list", side, [1], "1"),
        *in_all_forms("a decimal", side, Decimal("0.5"), "0.5"),
        *(in_all_forms("None", side, None) if side != "y_true" else ()),
        *(in_all_forms("NaN", side, NAN, "a mask is 0 or 1") if side == "mask" else ()),
        *(
            in_all_forms("NaN", side, NAN, "for scores give threshold=0.5, else 0 for what is")
            if side == "y_pred"
            else ()
        ),
    )
    # a row of strings is a list of labels, not of values
    if not (bad.name.startswith("a string") and "rows" in bad.name)
]


@checked(VALUES)
def test_values_other_than_0_and_1_are_refused_as_decisions(bad: Bad):
    bad.check()


SCORES = [
    *in_all_forms("NaN", "y_pred", NAN, make=scored),
    *in_all_forms("infinity", "y_pred", INF, "inf", make=scored),
    *in_all_forms("minus infinity", "y_pred", -INF, "inf", make=scored),
    *in_all_forms("None", "y_pred", None, make=scored),
    *in_all_forms("a string", "y_pred", "high", "high", make=scored),
    *in_all_forms("a complex number", "y_pred", 1j, "1j", make=scored),
    *in_all_forms("a score for a truth", "y_true", 0.7, "0.7", make=scored),
    *in_all_forms("a score for a mask", "mask", 0.7, "0.7", make=scored),
]


@checked([bad for bad in SCORES if not ("a string in" in bad.name and "rows" in bad.name)])
def test_scores_that_are_no_finite_numbers_are_refused(bad: Bad):
    bad.check()


@checked(in_all_forms("a score", "y_pred", 0.7, "0.7", "threshold") + in_all_forms("1.5", "y_pred", 1.5, "threshold"))
def test_scores_without_a_threshold_are_refused(bad: Bad):
    bad.check()


def test_a_bad_score_is_refused_even_in_an_example_with_an_ignored_label():
    def ignoring() -> se.Evaluator:
        return se.Evaluator(["f1_macro"], labels=["cat"], unknown="ignore", threshold=0.5)

    for value in (NAN, INF, "x", None):
        Bad("", ignoring, lambda ev, v=value: ev.update({"cat"}, {"x": 1, "cat": v}), ("y_pred",)).check()
        Bad("", ignoring, lambda ev, v=value: ev.update_many([{"cat"}], [{"cat": v, "x": v}]), ("y_pred",)).check()


def test_a_label_without_a_threshold_of_its_own_is_refused():
    def partly() -> se.Evaluator:
        return se.Evaluator(["f1_macro"], threshold={"cat": 0.5})

    message = ("no threshold", "'dog'")
    Bad("", partly, lambda ev: ev.update({"dog"}, {"dog": 0.5}), message, se.LabelError).check()
    Bad("", partly, lambda ev: ev.update_many([{"dog"}], [{"dog": 0.5}]), message, se.LabelError).check()
    frame = pd.DataFrame({"cat": [0.1], "dog": [0.5]})
    Bad("", partly, lambda ev: ev.update_many([{"dog"}], frame), message, se.LabelError).check()


# -- labels -----------------------------------------------------------------------------------------------------------

BAD_LABELS = {
    "None": (None, "None"),
    "float": (1.5, "1.5"),
    "whole float": (1.0, "1.0"),
    "NaN": (NAN, "nan"),
    "bool": (True, "True"),
    "numpy bool": (np.True_, "True"),
    "numpy float": (np.float32(1), "1.0"),
    "bytes": (b"cat", "b'cat'"),
    "tuple": (("cat", "dog"), "('cat', 'dog')); of each give its label"),
    "record": ({"Name": "cat", "Confidence": 97.5}, "; of each give its label"),
    "frozenset": (frozenset({"cat"}), "cat"),
    "list": (["cat"], "['cat']"),
    "dict": ({"cat": 1}, "'cat'"),
    "array": (np.array([1]), "array([1])"),
    "surrogate": (SURROGATE, "surrogate"),
    "decimal": (Decimal(1), "Decimal"),
    "fraction": (Fraction(1), "Fraction"),
    "complex": (1j, "1j"),
    "object": (object, "class"),
    "NA": (pd.NA, "NA"),
    "date": (np.datetime64("2020-01-01"), "2020"),
    "member of an Enum": (Enum("Kind", "CAT").CAT, "give its value or its name"),
    "nothing of Arrow": (pa.scalar(None, "string"), "None"),
}


def label_calls(label: object) -> dict[str, Call]:
    calls: dict[str, Call] = {
        "list, y_true": lambda ev: ev.update(["cat", label], {"cat"}),
        "list, y_pred": lambda ev: ev.update({"cat"}, ["new", label]),
        "tuple, mask": lambda ev: ev.update({"cat"}, {"new"}, mask=("cat", label)),
        "revert": lambda ev: ev.revert(["cat", label], ["cat"]),
        "lists, y_true": lambda ev: ev.update_many([["new"], ["cat", label]], [["cat"]] * 2),
        "lists, y_pred": lambda ev: ev.update_many([["new"]] * 2, iter([["cat"], ["cat", label]])),
        "lists, mask": lambda ev: ev.update_many([["new"]] * 2, [["cat"]] * 2, mask=[[], ["cat", label]]),
        "mixed, y_pred": lambda ev: ev.update_many([["new"]] * 2, [{"cat": 1}, ["cat", label]]),
        "pandas lists": lambda ev: ev.update_many(pd.Series([["new"], ["cat", label]]), [["cat"]] * 2),
    }
    try:
        hash(label)
    except TypeError:
        return calls
    return calls | {
        "set": lambda ev: ev.update({"cat", label}, {"cat"}),
        "sets": lambda ev: ev.update_many([{"new"}, {label}], [{"cat"}] * 2),
        "mapping": lambda ev: ev.update({"cat": 1, label: True}, {"cat"}),
        "mapping, false": lambda ev: ev.update({"cat": 1}, {"cat": 0, label: False}),
        "mappings": lambda ev: ev.update({"cat": 1, label: True}, {"cat": 1, label: True}),
        "many mappings": lambda ev: ev.update_many([{"cat": 1}], [{"new": 1, label: 1}]),
        "mask": lambda ev: ev.update({"cat"}, {"cat"}, mask={label: False}),
    }


@pytest.mark.parametrize(("kind", "make"), crossed(BAD_LABELS, [words, integers, declared, scored]))
def test_labels_that_are_neither_str_nor_int_are_refused_everywhere(kind: str, make: Callable[[], se.Evaluator]):
    label, message = BAD_LABELS[kind]
    for name, call in label_calls(label).items():
        if make is declared or make is scored:
            call_name = name
            with pytest.raises(se.LabelError):
                call(make())
            Bad(call_name, make, call, (), se.LabelError).check()
        else:
            Bad(name, make, call, (message, "label"), se.LabelError).check()


@with_each("kind", BAD_LABELS)
def test_an_error_about_a_label_names_the_argument_that_holds_it(kind: str):
    label, message = BAD_LABELS[kind]
    for call, argument in (
        (lambda ev: ev.update(["cat", label], ["cat"]), "y_true"),
        (lambda ev: ev.update(["cat"], ["cat", label]), "y_pred"),
        (lambda ev: ev.update(["cat"], ["cat"], mask=["cat", label]), "mask"),
        (lambda ev: ev.update_many([["cat", label]], [["cat"]]), "y_true"),
        (lambda ev: ev.update_many([["cat"]], [["cat", label]]), "y_pred"),
        (lambda ev: ev.update_many([["cat"]], [["cat"]], mask=[["cat", label]]), "mask"),
        (lambda _: se.Evaluator(labels=["cat", label]), "labels"),
    ):
        Bad("", words, call, (argument, message), se.LabelError).check()


def test_labels_with_scores_in_other_forms_are_refused_with_advice_to_give_a_mapping():
    message = ("one mapping, as dict(zip(labels, scores)) makes",)
    for scores in ((("cat",), np.array([0.9])), {"cat": 0.9}.items(), [{"Name": "cat", "Confidence": 97.5}]):
        Bad("", scored, lambda ev, scores=scores: ev.update({"cat"}, scores), message, se.LabelError).check()


@pytest.mark.parametrize("pair", [{"label": "cat", "score": 0.9}, ("cat", 0.9)])
def test_labels_with_scores_are_refused_with_the_options_that_read_scores(pair):
    message = ("is a label with its score", "threshold=0.5", "scores=")
    for call in (
        lambda ev: ev.update(["cat"], [pair]),
        lambda ev: ev.update_many([["cat"]], [[pair]]),
        lambda ev: ev.update_many([["cat"]] * 2, [["cat"], (pair, pair)]),
        lambda ev: ev.merge(se.evaluate_table([{"a": ["cat"], "p": [pair]}], actual="a", predicted="p")),
    ):
        Bad("", words, call, message, se.LabelError).check()


@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}, {"metrics": ["ndcg"]}, {"labels": ["cat"]}])
def test_a_label_with_its_score_as_an_example_is_refused_with_advice_to_wrap_it_in_a_list(options):
    one = {"label": "cat", "score": 0.9}
    message = ("y_pred", "wrap each in a list: [{'label': 'cat', 'score': ...}]")
    for call in (
        lambda _: se.Evaluator(**options).update(["cat"], one),
        lambda _: se.Evaluator(**options).update_many([["cat"]] * 2, [one, one]),
        lambda _: se.Evaluator(**options).update_many([["cat"]] * 2, iter([one, one])),
    ):
        Bad("", words, call, message, se.InputError).check()


@pytest.mark.parametrize("pair", [{"label": "cat", "score": 0.9}, ("cat", 0.9)])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_options_that_read_scores_are_advised_only_for_predictions(pair, threshold):
    def scored() -> se.Evaluator:
        return se.Evaluator(threshold=threshold)

    calls = [
        lambda ev: ev.update([pair, pair], ["cat"]),
        lambda ev: ev.update_many([["cat"], [pair]], [["cat"]] * 2),
        lambda ev: ev.update(["cat"], ["cat"], mask=[pair]),
        lambda ev: ev.update_many([["cat"]], [["cat"]], mask=[[pair]]),
        lambda ev: ev.update(["cat"], ["cat", pair]),
        lambda _: se.Evaluator(labels=["cat", pair]),
    ]
    if isinstance(pair, tuple):
        calls += [lambda ev: ev.update(["cat"], {pair}), lambda ev: ev.update_many([["cat"]], [{pair}])]
    for call in calls:
        with pytest.raises(se.LabelError, match=r"a label must be a str or an int, not (tuple|dict)") as error:
            call(scored())
        assert "threshold" not in str(error.value)


COLUMN_LABELS = {
    "float": lambda: pd.DataFrame([[1, 0]], columns=[0.5, 1.5]),
    "bool": lambda: pd.DataFrame([[1, 0]], columns=[True, False]),
    "NaN": lambda: pd.DataFrame([[1, 0]], columns=["cat", NAN]),
    "None": lambda: pd.DataFrame([[1, 0]], columns=pd.Index(["cat", None], dtype=object)),
    "tuple": lambda: pd.DataFrame([[1, 0]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
    "date": lambda: pd.DataFrame([[1, 0]], columns=pd.to_datetime(["2020-01-01", "2020-01-02"])),
    "surrogate": lambda: pd.DataFrame([[1, 0]], columns=pd.Index(["cat", SURROGATE], dtype=object)),
    "arrow bytes": lambda: pa.array([[b"cat"], []]),
    "arrow decimals": lambda: pa.array([[Decimal("1.5")], []]),
    "arrow dates": lambda: pa.array([[date(2020, 1, 1)], []]),
    "arrow lists of lists": lambda: pa.array([[["cat"]], []]),
    "arrow lists of structs": lambda: pa.array([[{"cat": 1}], []]),
    "polars lists of lists": lambda: pl.Series([[["cat"]], [["dog"]]]),
    "array of strings with a surrogate": lambda: [np.array(["cat", SURROGATE])],
}


@with_each("kind", COLUMN_LABELS)
def test_columns_of_bad_labels_are_refused(kind: str):
    inputs = COLUMN_LABELS[kind]()
    other = [set()] * (1 if isinstance(inputs, list | pd.DataFrame) else 2)
    for make in (words, declared):
        Bad("", make, lambda ev: ev.update_many(inputs, other), (), se.LabelError).check()
        Bad("", make, lambda ev: ev.update_many(other, inputs), (), se.LabelError).check()
        Bad("", make, lambda ev: ev.update_many(other, other, mask=inputs), (), se.LabelError).check()


NULLS = {
    "null list": lambda: pa.array([["cat"], None]),
    "null large list": lambda: pa.array([["cat"], None], pa.large_list(pa.string())),
    "null list view": lambda: pa.array([["cat"], None], pa.list_view(pa.string())),
    "null fixed-size list": lambda: pa.array([["cat"], None], pa.list_(pa.string(), 1)),
    "null list in a chunk": lambda: pa.chunked_array([[["cat"]], [None]], pa.list_(pa.string())),
    "null label": lambda: pa.array([["cat", None], ["dog"]]),
    "null label in a chunk": lambda: pa.chunked_array([[["cat"]], [["dog", None]]], pa.list_(pa.string())),
    "null label in a list view": lambda: pa.array([["cat", None], []], pa.list_view(pa.string())),
    "null label in a fixed-size list": lambda: pa.array([["cat", None], ["dog", "cat"]], pa.list_(pa.string(), 2)),
    "null code": lambda: pa.array([["cat", None], ["dog"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "null entry": lambda: pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["cat", None]))
    ),
    "polars null list": lambda: pl.Series([["cat"], None]),
    "polars null label": lambda: pl.Series([["cat", None], []]),
    "NaN as a label": lambda: pd.Series([["cat", NAN], []]),
    "NaN as the only label": lambda: pd.Series([[NAN], []]),
    "NA as a label": lambda: pd.Series([[3, pd.NA], []]),
    "all null": lambda: pa.array([None, None]),
}


@with_each("kind", NULLS)
def test_nulls_in_columns_of_lists_are_refused(kind: str):
    inputs = NULLS[kind]()
    for call, argument in (
        (lambda ev: ev.update_many(inputs, [set()] * 2), "y_true"),
        (lambda ev: ev.update_many([set()] * 2, inputs), "y_pred"),
        (lambda ev: ev.update_many([set()] * 2, [set()] * 2, mask=inputs), "mask"),
    ):
        if "label" in kind or kind in ("null code", "null entry"):
            Bad("", words, call, (f"{argument}[", "; leave it out"), se.LabelError).check()
        else:
            Bad("", words, call, (argument, "null"), se.InputError).check()


def test_nulls_outside_of_a_slice_have_no_effect():
    column = pa.array([None, ["cat", None], ["cat"], ["dog", "cat"], [None]])[2:4]
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update_many(column, column)
    reference.update_many([["cat"], ["dog", "cat"]], [["cat"], ["dog", "cat"]])
    assert ev.to_bytes() == reference.to_bytes()


NULL_LISTS: dict[str, Callable[[], Any]] = {
    "members beneath a null": lambda: pa.ListArray.from_arrays(
        pa.array([0, 1, 3], pa.int32()), pa.array([5, 7, 8]), mask=pa.array([False, True])
    ),
    "list view": lambda: pa.array([[5], None], pa.list_view(pa.int64())),
    "dictionary": lambda: pa.array([[5], None], pa.list_(pa.dictionary(pa.int8(), pa.int64()))),
    "polars": lambda: pl.Series([[5], None]),
}


@with_each("kind", NULL_LISTS)
def test_null_lists_are_empty_with_the_option_null_empty(kind: str):
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update_many(NULL_LISTS[kind](), [[5], [7]], null="empty")
    reference.update_many([[5], []], [[5], [7]])
    assert ev.to_bytes() == reference.to_bytes()


def test_columns_without_any_label_are_read():
    for kind in (pa.string(), pa.int64(), pa.null(), pa.dictionary(pa.int8(), pa.string())):
        ev, reference = se.Evaluator(), se.Evaluator()
        ev.update_many(pa.array([[], []], pa.list_(kind)), [["cat"], []])
        reference.update_many([[], []], [["cat"], []])
        assert ev.to_bytes() == reference.to_bytes(), kind


def test_nulls_in_lists_of_values_mask_truths_and_are_refused_as_predictions():
    for kind, rows in ((pa.bool_(), [[True, None], [True, False]]), (pa.float64(), [[1.0, None], [1.0, 0.0]])):
        column, binary = pa.array(rows, pa.list_(kind)), [[True, True], [True, False]]
        ev, reference = se.Evaluator(), se.Evaluator()
        ev.update_many(column, binary)
        reference.update_many([[True, None], [True, False]], binary)
        assert ev.to_bytes() == reference.to_bytes()
        with pytest.raises(se.InputError, match=r"y_pred\[0\] is None for label 1"):
            ev.update_many(binary, column)


def test_null_rows_of_values_have_no_labels_and_null_cells_are_masked():
    ev, reference = se.Evaluator(labels=["a", "b"]), se.Evaluator(labels=["a", "b"])
    ev.update_many(pa.array([None, [True, False]]), [["a"], []], null="empty")
    ev.update_many(pa.table({"b": [True, None], "a": [True, True]}), [["b"], ["b"]])
    reference.update_many([[], ["a"]], [["a"], []])
    reference.update_many([{"b": True, "a": True}, {"b": None, "a": True}], [["b"], ["b"]])
    assert ev.to_bytes() == reference.to_bytes()


def test_lists_of_values_with_different_lengths_are_refused():
    column = pa.array([[1.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    with pytest.raises(se.InputError, match="y_true has rows of 2 columns and of 4"):
        se.Evaluator().update_many(column, column)


@with_each("offsets", [[-1, 1, 2], [0, 1, 9], [0, 2, 1]])
def test_lists_with_offsets_outside_of_their_values_are_refused(offsets: list[int]):
    buffers = [None, pa.py_buffer(np.array([0, *offsets, 2], np.int32))]  # Arrow checks only the first and the last
    column = pa.Array.from_buffers(pa.list_(pa.int64()), 4, buffers, children=[pa.array([5, 7])])[1:3]
    with pytest.raises(se.InputError, match="y_true is damaged: its offsets do not bound lists within its 2 values"):
        se.Evaluator().update_many(column, [[5], [7]])


@with_each("code", [-1, 2])
def test_codes_outside_of_a_dictionary_are_refused(code: int):
    codes = pa.DictionaryArray.from_arrays(pa.array([0, code]), pa.array(["cat", "dog"]), safe=False)
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), codes)
    with pytest.raises(se.InputError, match="y_true is damaged: its codes lie outside its dictionary of 2 labels"):
        se.Evaluator().update_many(column, [["cat"], ["dog"]])


UNKNOWN: dict[str, Call] = {
    "set": lambda ev: ev.update({"cta"}, set()),
    "list": lambda ev: ev.update(["cat"], ["cta"]),
    "mask": lambda ev: ev.update(["cat"], ["cat"], mask={"cta"}),
    "mapping": lambda ev: ev.update({"cat": 1, "cta": 0}, {"cat": 1}),
    "mappings": lambda ev: ev.update({"cat": True, "cta": True}, {"cat": True, "cta": False}),
    "series": lambda ev: ev.update(pd.Series({"cta": 1}), {"cat"}),
    "strings": lambda ev: ev.update(np.array(["cta"]), {"cat"}),
    "revert": lambda ev: ev.revert({"cta"}, {"cat"}),
    "lists": lambda ev: ev.update_many([["cat"], ["cta"]], [[], []]),
    "iterator": lambda ev: ev.update_many([["cat"], ["dog"]], iter([{"cat"}, {"cta": 1}])),
    "masks": lambda ev: ev.update_many([["cat"]], [["dog"]], mask=[["cta"]]),
    "frame": lambda ev: ev.update_many(pd.DataFrame({"cta": [1]}), [set()]),
    "polars": lambda ev: ev.update_many([set()], pl.DataFrame({"cta": [0]})),
    "arrow table": lambda ev: ev.update_many([set()], pa.table({"cta": [0]})),
    "arrow lists": lambda ev: ev.update_many(pa.array([["cat"], ["cta"]]), [[], []]),
    "polars lists": lambda ev: ev.update_many(pl.Series([["cat"], ["cta"]]), [[], []]),
    "arrow chunks": lambda ev: ev.update_many(pa.chunked_array([[["cat"]], [["cta"]]]), [[], []]),
    "pandas lists": lambda ev: ev.update_many(pd.Series([["cat"], ["cta"]]), [[], []]),
}


@with_each("form", UNKNOWN)
@with_each("make", [declared, scored])
def test_an_unknown_label_is_refused_with_the_nearest_known_one(form: str, make: Callable[[], se.Evaluator]):
    place = "[1]: " * (form == "iterator" or "lists" in form or "chunks" in form)
    parts = (place, "'cta'", "did you mean 'cat'", "3 declared labels; ", 'unknown="')
    Bad("", make, UNKNOWN[form], parts, se.LabelError).check()


def test_an_unknown_integer_label_is_refused():
    def made() -> se.Evaluator:
        return se.Evaluator(["f1_macro"], labels=[10, 20, "x"])

    for label in (11, -10, 2**80, np.int64(7), "10"):
        message = (repr(label if isinstance(label, str) else int(label)),)
        Bad("", made, lambda ev, n=label: ev.update({n}, {10}), message, se.LabelError).check()
        Bad("", made, lambda ev, n=label: ev.update_many([{10}], [{n}]), message, se.LabelError).check()


def test_an_unknown_label_of_any_size_is_refused_with_a_short_message():
    for label in ("x" * 10_000_000, 10**5000, -(10**100_000)):
        Bad("", declared, lambda ev, n=label: ev.update({n}, {"cat"}), ("declared",), se.LabelError).check()
        Bad("", declared, lambda ev, n=label: ev.update_many([{n}], [{"cat"}]), ("declared",), se.LabelError).check()


def test_labels_of_any_size_can_be_counted_and_reported():
    ev = se.Evaluator()
    ev.update({10**5000, "x" * 100_000}, {10**5000})
    assert se.Evaluator.from_bytes(ev.to_bytes()) == ev
    assert len(repr(ev)) < 1000
    assert "f1_macro" in ev.report()


def test_a_float_equal_to_a_known_integer_is_no_label():
    for inputs in ({1.0}, [1.0], {1.0: 1}, {True: 1}, {True}, [np.float64(1)], [True], [NAN]):
        Bad("", numbers, lambda ev, g=inputs: ev.update(g, {1}), ("label",), se.LabelError).check()
        Bad("", numbers, lambda ev, g=inputs: ev.update({1}, g), ("label",), se.LabelError).check()
        Bad("", numbers, lambda ev, g=inputs: ev.update({1: 1}, g), ("label",), se.LabelError).check()
        Bad("", numbers, lambda ev, g=inputs: ev.update_many([{1}], [g]), ("label",), se.LabelError).check()


# -- weights ----------------------------------------------------------------------------------------------------------

WEIGHTS = {
    "negative": (-1.0, "-1.0"),
    "negative int": (-3, "-3"),
    "tiny negative": (-5e-324, "-5e-324"),
    "NaN": (NAN, "nan"),
    "infinite": (INF, "inf"),
    "minus infinity": (-INF, "inf"),
    "numpy NaN": (np.float32("nan"), "nan"),
    "float16 infinity": (np.float16("inf"), "inf"),
    "True": (True, "True"),
    "False": (False, "False"),
    "numpy bool": (np.True_, "True"),
    "None": (None, "None"),
    "string": ("1.5", "1.5"),
    "bytes": (b"1", "b'1'"),
    "complex": (1j, "1j"),
    "decimal": (Decimal(2**53 + 1), str(2**53 + 1)),
    "fraction": (Fraction(1, 3), "1, 3"),
    "list": ([1.0], "[1.0]"),
    "object": (object(), "object"),
    "too large": (10**400, "1000"),
    "rounded": (2**53 + 1, str(2**53 + 1)),
    "too large for float64": (np.longdouble("1e400"), "1e+400"),
    "not a float64": (np.longdouble(1) / 3, "0.33333333333333333"),
}


@with_each("kind", WEIGHTS)
@with_each("make", [words, weighed])
def test_weights_that_are_no_finite_number_from_0_up_are_refused(kind: str, make: Callable[[], se.Evaluator]):
    weight, message = WEIGHTS[kind]
    message = message if kind != "too large for float64" else ""
    Bad("", make, lambda ev: ev.update({"cat"}, {"new"}, weight=weight), ("weight", message)).check()
    Bad("", make, lambda ev: ev.update({"cat": 1}, {"cat": 1}, weight=weight), ("weight", message)).check()
    Bad("", make, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, weight=weight), ("weight", message)).check()


@with_each("kind", WEIGHTS)
def test_a_bad_weight_among_many_is_refused(kind: str):
    weight, _ = WEIGHTS[kind]
    examples = [{"cat", "new"}, {"dog"}, {"bird"}]
    for inputs in ([1.0, 2.5, weight], (weight, weight, weight), [0.5, weight, 1]):
        Bad("", words, lambda ev, w=inputs: ev.update_many(examples, examples, weights=w), ("weights",)).check()
    if isinstance(weight, float | np.floating):
        array = np.array([1, 2, weight], type(weight))
        Bad("", words, lambda ev: ev.update_many(examples, iter(examples), weights=array), ("weights",)).check()
        Bad("", words, lambda ev: ev.update_many(examples, examples, weights=pd.Series(array)), ("weights",)).check()


@with_each(
    "weights",
    [
        1.0, "ab", "a", {"cat": 1.0}, {1.0, 2.0}, np.ones((2, 1)), np.ones((2, 2)), np.array(1.0), [[1.0], [2.0]],
        [[1.0], [2.0, 3.0]], np.array([True, False]), np.array(["1", "2"]), np.zeros(2, "M8[s]"), iter([1.0, 2.0]),
        pd.Series([1.0, None]), pd.Series([1, None], dtype="Int64"), pl.Series([1.0, None]), pa.array([1.0, None]),
        sp.csr_array([[1.0, 2.0]]), object(), np.array([1.0, None]), np.array([1, "2"], object),
        np.array([[1, 2]], object), np.ma.array([1, 2], mask=[False, True], dtype=object),
        np.ma.array([1.0, 2.0], mask=[False, True]), pl.Series([1, 2], dtype=pl.Int128),
        pl.DataFrame({"a": [1, 2]}, schema={"a": pl.Int128}), pd.DataFrame({"a": [1, 2]}).groupby("a"),
    ])  # fmt: skip
def test_weights_that_are_no_vector_of_numbers_are_refused(weights: object):
    Bad("", words, lambda ev: ev.update_many([{"cat"}] * 2, [{"dog"}] * 2, weights=weights), ("weights",)).check()


# -- reverting --------------------------------------------------------------------------------------------------------

REVERTS: dict[str, tuple[Callable[[], se.Evaluator], Call]] = {
    "on a fresh object": (lambda: se.Evaluator(), lambda ev: ev.revert({"cat"}, {"cat"})),
    "nothing on a fresh object": (lambda: se.Evaluator(), lambda ev: ev.revert(set(), set())),
    "an empty example never seen": (words, lambda ev: ev.revert(set(), set())),
    "other labels": (words, lambda ev: ev.revert({"dog", "fish"}, {"dog"})),
    "fewer labels": (words, lambda ev: ev.revert({"cat"}, {"cat"})),
    "more labels": (words, lambda ev: ev.revert({"cat", "bird", "dog"}, {"cat"})),
    "sides swapped": (words, lambda ev: ev.revert({"cat"}, {"cat", "bird"})),
    "another prediction": (words, lambda ev: ev.revert({"cat", "bird"}, {"bird"})),
    "a mask never passed": (words, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, mask={"bird"})),
    "a mask of a new label": (words, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, mask={"dog"})),
    "a mention never made": (words, lambda ev: ev.revert({"cat": 1, "bird": 1, "dog": 0}, {"cat"})),
    "a weight never passed": (words, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, weight=2.0)),
    "less than the weight": (words, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, weight=0.5)),
    "no weight": (words, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, weight=0.0)),
    "a weight one unit too large": (weighed, lambda ev: ev.revert({"cat"}, {"dog"}, weight=math.nextafter(0.1, 1))),
    "a weight one unit too small": (weighed, lambda ev: ev.revert({"cat"}, {"dog"}, weight=math.nextafter(0.1, 0))),
    "weight 1 for another": (weighed, lambda ev: ev.revert({"cat"}, {"dog"})),
    "weight 0 for another": (weighed, lambda ev: ev.revert({"cat"}, {"dog"}, weight=0.0)),
    "the other's weight": (weighed, lambda ev: ev.revert({"cat", "bird"}, {"cat"}, weight=0.1)),
    "the smallest weight": (weighed, lambda ev: ev.revert({"cat"}, {"dog"}, weight=5e-324)),
    "declared, never seen": (declared, lambda ev: ev.revert({"dog"}, set())),
    "declared, empty": (declared, lambda ev: ev.revert(set(), set())),
    "declared, other row": (declared, lambda ev: ev.revert(np.array([1, 1, 0]), np.array([0, 0, 1]))),
    "scores": (scored, lambda ev: ev.revert({"cat", "bird"}, {"cat": 0.2, "dog": 0.2})),
}


@with_each("kind", REVERTS)
def test_reverting_an_uncounted_example_is_refused(kind: str):
    make, call = REVERTS[kind]
    Bad("", make, call, ("cannot revert", "weight"), se.RevertError).check()


def test_reverting_twice_is_refused():
    for weight in (1.0, 0.3, 0.0, 5e-324, 1e308):
        ev = se.Evaluator()
        ev.update({"cat"}, {"dog"}, weight=weight)
        ev.revert({"cat"}, {"dog"}, weight=weight)
        with pytest.raises(se.RevertError):
            ev.revert({"cat"}, {"dog"}, weight=weight)
        assert ev == se.Evaluator()


def test_reverting_is_exact_if_other_examples_have_weight_0():
    def made() -> se.Evaluator:
        ev = se.Evaluator()
        ev.update({"cat"}, {"dog"}, weight=0.0)
        ev.update({"cat"}, {"dog"}, weight=3.0)
        return ev

    ev = made()
    ev.revert({"cat"}, {"dog"}, weight=0.0)
    Bad("", lambda: ev.copy(), lambda ev: ev.revert({"cat"}, {"dog"}, weight=0.0), (), se.RevertError).check()
    ev.revert({"cat"}, {"dog"}, weight=3.0)
    assert ev == se.Evaluator()
    ev = made()
    ev.revert({"cat"}, {"dog"}, weight=3.0)
    Bad("", lambda: ev.copy(), lambda ev: ev.revert({"cat"}, {"dog"}, weight=3.0), (), se.RevertError).check()
    ev.revert({"cat"}, {"dog"}, weight=0.0)
    assert ev == se.Evaluator()


# -- metrics and their parameters -------------------------------------------------------------------------------------

METRICS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "unknown name": (lambda: se.Evaluator(["f1_mirco"]), ("'f1_mirco'", "did you mean 'f1_micro'")),
    "unknown name far from all": (lambda: se.Evaluator(["qqqqqqqq"]), ("'qqqqqqqq'", "catalogue")),
    "part of a name": (lambda: se.Evaluator(["brier"]), ("did you mean 'brier_score",)),
    "more than a name": (lambda: se.Evaluator(["ndcg_at(k=5)"]), ("did you mean 'ndcg'",)),
    "empty name": (lambda: se.Evaluator([""]), ("''",)),
    "average of another metric": (lambda: se.Evaluator(["subset_accuracy_macro"]), ("subset_accuracy", "macro")),
    "bare string": (lambda: se.Evaluator("f1_macro"), ("metrics", "'f1_macro'", "['f1_macro']")),
    "None": (lambda: se.Evaluator([None]), ("metric", "None")),
    "metrics=None": (lambda: se.Evaluator(None), ("metrics", "None")),
    "metrics=3": (lambda: se.Evaluator(3), ("metrics", "3")),
    "a number": (lambda: se.Evaluator([3]), ("metric", "3")),
    "a class": (lambda: se.Evaluator([se.F1]), ("metric", "F1")),
    "a function": (lambda: se.Evaluator([max]), ("metric", "max")),
    "asked for unknown": (lambda: words().get("f1_makro"), ("'f1_makro'", "did you mean 'f1_macro'")),
    "asked for a list": (lambda: words().get([["f1_macro"]]), ("metric", "['f1_macro']")),
    "metric() unknown": (lambda: se.metric("jacard"), ("'jacard'", "did you mean 'jaccard'")),
    "metric() with two averages": (lambda: se.metric("f1_macro", average="micro"), ("'f1_macro'", "'micro'")),
    "metric() of a number": (lambda: se.metric(3), ("3",)),
    "metric() of None": (lambda: se.metric(None), ("None",)),
    "metric() of a list": (lambda: se.metric(["f1"]), ("['f1']",)),
    "unknown average": (lambda: se.F1(average="mirco"), ("average", "'mirco'", "did you mean 'micro'")),
    "average of a number": (lambda: se.F1(average=1), ("average", "1")),
    "average of an array": (lambda: se.F1(np.ones((2, 2))), ("F1(array(", "only the average, such as 'macro'")),
    "average= of an array": (lambda: se.F1(average=np.ones((2, 2))), ("average", "array(")),
    "average of a list": (lambda: se.F1(average=["micro"]), ("average", "['micro']")),
    "average it has not": (lambda: se.SubsetAccuracy(average="macro"), ("average", "'macro'", "samples")),
    "beta 0": (lambda: se.FBeta(beta=0), ("beta", "0", "inf")),
    "beta negative": (lambda: se.FBeta(beta=-1.0), ("beta", "-1.0")),
    "beta NaN": (lambda: se.FBeta(beta=NAN), ("beta", "nan")),
    "beta infinite": (lambda: se.FBeta(beta=INF), ("beta", "inf")),
    "beta string": (lambda: se.FBeta(beta="2"), ("beta", "'2'")),
    "beta bool": (lambda: se.FBeta(beta=True), ("beta", "True")),
    "beta None": (lambda: se.FBeta(beta=None), ("beta", "None")),
    "beta list": (lambda: se.FBeta(beta=[1.0]), ("beta", "[1.0]")),
    "beta complex": (lambda: se.FBeta(beta=1j), ("beta", "1j")),
    "beta beyond float64": (lambda: se.FBeta(beta=10**400), ("beta", "1000")),
    "beta in a name": (lambda: se.Evaluator(["fbeta_micro(beta=0)"]), ("beta", "0")),
    "beta no number": (lambda: se.Evaluator(["fbeta_micro(beta=two)"]), ("beta", "'two'")),
    "beta twice": (lambda: se.Evaluator(["fbeta_micro(beta=1, beta=2)"]), ("beta", "once")),
    "beta without value": (lambda: se.Evaluator(["fbeta_micro(beta)"]), ("'beta'",)),
    "unclosed": (lambda: se.Evaluator(["fbeta_micro(beta=2"]), ("fbeta_micro(beta=2",)),
    "k 0": (lambda: se.Evaluator(["ndcg(k=0)"]), ("k of ndcg", "0.0")),
    "k beyond any rank": (lambda: se.F1At(k=2**62), ("k of f1_at", "1e+09")),
    "buckets beyond any use": (lambda: se.ExpectedCalibrationError(buckets=1e9), ("buckets", "1e+06")),
    "alpha negative": (lambda: se.AlphaEvaluation(alpha=-0.5), ("alpha", "-0.5")),
    "gamma above 1": (lambda: se.AlphaEvaluation(gamma=1.5), ("gamma", "1.5")),
    "parameter misspelt": (lambda: se.FBeta(betta=2), ("'betta'", "did you mean 'beta'")),
    "parameter of another": (lambda: se.F1(beta=2), ("f1", "'beta'")),
    "zero_division 2": (lambda: se.F1(zero_division=2), ("zero_division", "2")),
    "zero_division 0.5": (lambda: se.F1(zero_division=0.5), ("zero_division", "0.5")),
    "zero_division text": (lambda: se.F1(zero_division="warn"), ("zero_division", "'warn'")),
    "zero_division bool": (lambda: se.F1(zero_division=True), ("zero_division", "True")),
    "zero_division in a name": (lambda: se.Evaluator(["f1_micro(zero_division=3)"]), ("zero_division", "3")),
    "empty misspelt": (lambda: se.F1(empty="dropp"), ("empty", "'dropp'", "did you mean 'drop'")),
    "empty of a list": (lambda: se.F1(empty=["drop"]), ("empty", "['drop']")),
    "empty of None": (lambda: se.F1(empty=None), ("empty", "None")),
}  # fmt: skip


@with_each("kind", METRICS)
def test_metrics_and_parameters_that_do_not_exist_are_refused(kind: str):
    call, message = METRICS[kind]
    with pytest.raises(se.MetricError) as caught:
        call()
    for part in message:
        assert part in str(caught.value)
    assert len(str(caught.value)) < 500


@with_each(
    "call",
    [
        lambda: words().report(digits=None), lambda: words().report(digits=-1), lambda: words().report(max_labels=1.5),
        lambda: sliced().report(digits=10**400), lambda: se.Ledger(se.F1()).compact(3),
        lambda: se.Pending(se.F1(), max_age=Decimal("NaN")), lambda: se.Pending(se.F1(), max_age=np.ones(2)),
        lambda: se.Pending(se.F1()).predict(1, {"a"}, t=Decimal("sNaN")),
        lambda: se.Pending(se.F1()).predict(1, {"a"}, t=np.ones(2)),
        lambda: se.TimeRolling(se.F1(), 3.0).update_many([{"a"}], [{"a"}], times=se.F1()),
        lambda: se.TimeRolling(se.F1(), 3.0).update_many([{"a"}], [{"a"}], times=pl.Series([3], dtype=pl.Int128)),
        lambda: curved().roc_curve(Decimal("sNaN")), lambda: curved().roc_curve(np.ones(2)),
        lambda: curved().calibration_curve(buckets=10**400), lambda: words().plot("labels", ax=3),
        lambda: se.evaluate_table([], actual=np.ones(2), predicted="p"),
        lambda: se.evaluate_table(pd.DataFrame, actual="a", predicted="p"),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_type_are_refused_by_an_error_of_the_package(call: Callable[[], object]):
    with pytest.raises(se.StreamevalError, match=r"must be|not |give "):
        call()


def test_a_long_metric_name_does_not_flood_the_message():
    for call in (
        lambda: se.Evaluator(["x" * 100_000]),
        lambda: se.metric("f" * 100_000),
        lambda: se.F1(average="a" * 100_000),
    ):
        with pytest.raises(se.MetricError) as caught:
            call()
        assert len(str(caught.value)) < 500


# -- labels, unknown and threshold of the constructor -----------------------------------------------------------------

LABELS = {
    "string": ("cat", ("labels", "'cat'", "['cat']")),
    "bytes": (b"cat", ("labels", "b'cat'")),
    "number": (3, ("labels", "3")),
    "None within": (["cat", None], ("None",)),
    "float": ([1.5], ("1.5",)),
    "bool": ([True], ("True",)),
    "bytes within": ([b"x"], ("b'x'",)),
    "tuple within": ([("a", "b")], ("'a', 'b'",)),
    "list within": ([["a"]], ("['a']",)),
    "surrogate": ([SURROGATE], ("surrogate",)),
    "twice": (["cat", "dog", "cat"], ("labels", "'cat'", "twice")),
    "integer twice": ([1, 2, np.int8(1)], ("labels", "1", "twice")),
    "array without dimensions twice": ([1, 2, np.array(1)], ("labels", "1", "twice")),
    "strings of Arrow twice": (pa.array(["a", "b", "a"]), ("labels", "'a'", "twice")),
    "numpy string twice": (["a", np.str_("a")], ("labels", "'a'", "twice")),
    "2-D array": (np.array([["a", "b"]]), ("array",)),
    "array of float": (np.array([1.0, 2.0]), ("1.0",)),
}


@with_each("kind", LABELS)
def test_labels_that_cannot_be_declared_are_refused(kind: str):
    inputs, message = LABELS[kind]
    for build in (se.Evaluator, se.F1, lambda labels: se.metric("f1", labels=labels)):
        with pytest.raises(se.LabelError) as caught:
            build(labels=inputs)
        for part in (*message, "label"):
            assert part in str(caught.value)


@pytest.mark.parametrize(
    "unknown", ["eror", "ERROR", "", None, 1, True, ["error"], b"add", np.array(["error", "add"])], ids=case_name
)
def test_policies_for_unknown_labels_that_do_not_exist_are_refused(unknown: object):
    with pytest.raises(se.InputError) as caught:
        se.Evaluator(labels=["cat"], unknown=unknown)
    assert "unknown must be" in str(caught.value)
    assert repr(unknown)[:20] in str(caught.value)
    if isinstance(unknown, str) and unknown == "eror":
        assert "did you mean 'error'" in str(caught.value)


@pytest.mark.parametrize("unknown", ["ignore", "add"])
def test_a_policy_for_unknown_labels_without_labels_is_refused(unknown: str):
    with pytest.raises(se.InputError, match=f"unknown='{unknown}'"):
        se.Evaluator(unknown=unknown)


THRESHOLDS = {
    "NaN": (NAN, "NaN"),
    "numpy NaN": (np.float64(NAN), "NaN"),
    "string": ("0.5", "'0.5'"),
    "bytes": (b"0.5", "b'0.5'"),
    "True": (True, "True"),
    "numpy bool": (np.True_, "True"),
    "complex": (0.5j, "0.5j"),
    "object": (object(), "object"),
    "set": ({0.5, 0.6}, "0.5"),
    "too few": ([0.5], "1 value for 2 labels"),
    "too many": ([0.5, 0.6, 0.7], "3 values for 2 labels"),
    "none": ([], "no values for 2 labels"),
    "2-D": (np.ones((2, 2)), "array"),
    "ragged": ([[0.5], [0.5, 0.6]], "[0.5]"),
    "nested": ([[0.5], [0.6]], "[0.5]"),
    "NaN within": ([0.5, NAN], "NaN"),
    "None within": ([0.5, None], "None"),
    "string within": ([0.5, "high"], "'high'"),
    "bool within": ([0.5, True], "True"),
    "numpy bools": (np.array([True, False]), "True"),
    "mapping to NaN": ({"cat": 0.5, "dog": NAN}, "NaN"),
    "mapping to None": ({"cat": 0.5, "dog": None}, "None"),
    "mapping to a string": ({"cat": 0.5, "dog": "x"}, "'x'"),
    "mapping that lacks a label": ({"cat": 0.5}, "'dog'"),
    "mapping with a bad label": ({"cat": 0.5, "dog": 0.5, None: 0.5}, "None"),
    "beyond float64": (10**400, "1000"),
}


@with_each("kind", THRESHOLDS)
def test_thresholds_that_are_no_numbers_one_per_label_are_refused(kind: str):
    threshold, message = THRESHOLDS[kind]
    with pytest.raises(se.InputError) as caught:
        se.Evaluator(labels=["cat", "dog"], threshold=threshold)
    assert message in str(caught.value)
    assert "threshold" in str(caught.value) or isinstance(caught.value, se.LabelError)


def test_errors_about_labels_with_more_digits_than_python_converts_name_their_type():
    for labels, threshold in (([10**5000] * 2, None), ([10**5000], {})):
        with pytest.raises(se.InputError, match="<int>"):
            se.Evaluator(labels=labels, threshold=threshold)


def test_thresholds_in_order_without_labels_are_refused():
    for threshold in ([0.5, 0.6], np.array([0.5]), (0.5,)):
        with pytest.raises(se.InputError, match=rf"in the same order, such as range\({len(threshold)}\)"):
            se.Evaluator(threshold=threshold)


def test_options_are_keyword_only():
    with pytest.raises(se.InputError, match="name the others: weight="):
        words().update({"cat"}, {"cat"}, 2.0)
    with pytest.raises(se.MetricError, match="micro"):
        se.F1("micro", 1.0)
    with pytest.raises(se.InputError, match=r"1 argument without a name \(metrics\), not 2; name the others: labels="):
        se.Evaluator([], ["cat"])


@pytest.mark.parametrize(
    "row", [pd.DataFrame([[1, 0]], columns=["a", "a"]), pa.table([[1], [0]], ["a", "a"])], ids=["pandas", "arrow"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda row: se.Evaluator().update({"a"}, row),
        lambda row: se.Evaluator().update_many([{"a"}], [row]),
        lambda row: se.Pending(se.Evaluator()).predict(1, row),
    ],
)
def test_a_row_with_two_columns_of_one_name_is_refused(call: Callable[[Any], object], row: Any):
    with pytest.raises(se.LabelError, match=r"y_pred(\[0\])? has two values for label 'a'; name each label once"):
        call(row)


# -- merging ----------------------------------------------------------------------------------------------------------

DIFFERENT: dict[str, tuple[Callable[[], object], Callable[[], object], tuple[str, ...]]] = {
    "labels": (
        lambda: se.Evaluator(labels=["a", "b"]), lambda: se.Evaluator(labels=["a", "c"]), ("labels", "'b'", "'c'")
    ),
    "order of labels": (
        lambda: se.Evaluator(labels=["a", "b"]), lambda: se.Evaluator(labels=["b", "a"]), ("labels", "'b', 'a'")
    ),
    "declared or not": (lambda: se.Evaluator(labels=["a"]), lambda: se.Evaluator(), ("labels", "'a'", "None")),
    "none or no labels": (lambda: se.Evaluator(labels=[]), lambda: se.Evaluator(), ("labels", "()", "None")),
    "number or word": (lambda: se.Evaluator(labels=[1]), lambda: se.Evaluator(labels=["1"]), ("labels", "'1'")),
    "unknown": (
        lambda: se.Evaluator(labels=["a"]), lambda: se.Evaluator(labels=["a"], unknown="add"),
        ("unknown", "'error'", "'add'"),
    ),
    "threshold": (
        lambda: se.Evaluator(threshold=0.5), lambda: se.Evaluator(threshold=0.7), ("thresholds", "0.5", "0.7")
    ),
    "one unit of threshold": (
        lambda: se.Evaluator(threshold=0.5), lambda: se.Evaluator(threshold=math.nextafter(0.5, 1)),
        ("thresholds", "0.5000000000000001"),
    ),
    "threshold or not": (lambda: se.Evaluator(threshold=0.5), lambda: se.Evaluator(), ("thresholds", "0.5", "None")),
    "threshold per label": (
        lambda: se.Evaluator(threshold={"a": 0.5}), lambda: se.Evaluator(threshold=0.5), ("thresholds", "'a'")
    ),
    "metrics": (
        lambda: se.Evaluator(["f1_macro"]), lambda: se.Evaluator(["f1_micro"]), ("metrics", "f1_macro", "f1_micro")
    ),
    "order of metrics": (
        lambda: se.Evaluator(["f1_macro", "hamming_loss"]), lambda: se.Evaluator(["hamming_loss", "f1_macro"]),
        ("metrics", "in their order"),
    ),
    "no metrics": (lambda: se.Evaluator([]), lambda: se.Evaluator(["f1_micro"]), ("metrics", "has f1_micro")),
    "average": (
        lambda: se.F1(average="micro"), lambda: se.F1(average="macro"), ("metrics", "f1_micro", "f1_macro")
    ),
    "beta": (lambda: se.FBeta(beta=2), lambda: se.FBeta(beta=3), ("metrics", "beta=2", "beta=3")),
    "zero_division": (lambda: se.F1(), lambda: se.F1(zero_division=1.0), ("metrics", "zero_division=1")),
    "class": (lambda: se.F1(), lambda: se.Precision(), ("F1", "Precision")),
    "kind": (lambda: se.Evaluator(["f1_macro"]), lambda: se.F1(), ("Evaluator", "F1")),
    "several": (
        lambda: se.Evaluator(labels=["a"], threshold=0.5), lambda: se.Evaluator(labels=["b"], threshold=0.7),
        ("labels", "thresholds"),
    ),
}  # fmt: skip


@with_each("kind", DIFFERENT)
def test_merging_objects_built_differently_is_refused_by_name(kind: str):
    first, second, message = DIFFERENT[kind]
    for one, other in ((first(), second()), (second(), first())):
        one.update(set(), set())
        before = one.to_bytes(), other.to_bytes()
        for call in (lambda one=one, other=other: one.merge(other), lambda one=one, other=other: one + other):
            with pytest.raises(se.MergeError) as caught:
                call()
            for part in (*message, "cannot merge"):
                assert part in str(caught.value)
            assert (one.to_bytes(), other.to_bytes()) == before


@pytest.mark.parametrize("other", [None, 1, "cat", b"", {}, [], object(), se.Evaluator], ids=case_name)
def test_merging_a_foreign_object_is_refused(other: object):
    Bad("", words, lambda ev: ev.merge(other), ("cannot merge", "Evaluator"), se.MergeError).check()
    with pytest.raises(TypeError):
        words() + other
    with pytest.raises(TypeError):
        other + words()


# -- iterables that fail ----------------------------------------------------------------------------------------------


class Broken(Exception):  # noqa: N818
    pass


def failing(good: int, example: object, error: BaseException) -> Iterator[object]:
    for _ in range(good):
        yield example
    raise error


ERRORS = [Broken("gone"), KeyboardInterrupt(), GeneratorExit(), MemoryError("full")]


@pytest.mark.parametrize(
    ("good", "error"),
    [
        (good, error)
        for good, errors in ((0, 4), (1, 4), (5000, cases(40)), (32768, cases(4)), (100_000, cases(4)))
        for error in ERRORS[:errors]
    ],
    ids=case_name,
)
def test_an_iterable_that_raises_half_way_leaves_nothing_counted(good: int, error: BaseException):
    makes, examples = (words, weighed), (["cat", "new"], {"cat": True, "newer": False})
    # For long iterables each state is tried with only one form, because counting does not depend on the form.
    pairs = itertools.product(makes, examples) if good < 32768 else zip(makes, examples, strict=True)
    for (make, example), side in itertools.product(pairs, range(1 if good == 100_000 else 3)):
        ev = make()
        before = ev.to_bytes()
        columns: list[object] = [[example] * (good + 10) for _ in range(3)]
        columns[side] = failing(good, example, error)
        with pytest.raises(type(error)) as caught:
            ev.update_many(columns[0], columns[1], mask=columns[2] if side == 2 else None)
        assert caught.value is error
        assert ev.to_bytes() == before
        assert ev.labels == make().labels


def test_a_bad_example_after_many_good_ones_leaves_nothing_counted():
    good = [{"cat", "new"}] * 40_000
    for last in ({None}, "cat", None, {"cat": 2}, {"cat": "x"}, np.ones((2, 2))):
        Bad("", words, lambda ev, last=last: ev.update_many([*good, last], [*good, set()]), (), error_of(last)).check()
        Bad(
            "",
            words,
            lambda ev, last=last: ev.update_many(iter([*good, set()]), iter([*good, last])),
            (),
            error_of(last),
        ).check()


def error_of(example: object) -> type[Exception]:
    return se.LabelError if isinstance(example, set) else se.InputError


class Unhelpful:
    """An object whose ``__repr__`` and ``__hash__`` raise."""

    def __repr__(self) -> str:
        raise Broken("repr")

    def __hash__(self) -> int:
        raise Broken("hash")


def test_objects_whose_repr_raises_are_refused_by_type():
    thing = Unhelpful()
    Bad("", words, lambda ev: ev.update(thing, set()), ("y_true", "Unhelpful")).check()
    Bad("", words, lambda ev: ev.update([thing], set()), ("Unhelpful",), se.LabelError).check()
    Bad("", words, lambda ev: ev.update({"cat": thing}, set()), ("y_true", "Unhelpful")).check()
    Bad("", words, lambda ev: ev.update({"cat"}, set(), weight=thing), ("weight", "Unhelpful")).check()
    Bad("", words, lambda ev: ev.update_many([["new"], [thing]], [[], []]), ("Unhelpful",), se.LabelError).check()
    with pytest.raises(se.InputError, match="Unhelpful"):
        se.Evaluator(threshold=thing)


# -- places in messages -----------------------------------------------------------------------------------------------

SPOILED: dict[str, Callable[[], tuple[object, str]]] = {
    "array": lambda: (spoiled(7), r"is 7 for label 2; truth is"),
    "floats": lambda: (spoiled(0.5, float), r"is 0\.5 for label 2; truth is"),
    "objects": lambda: (spoiled("x", object), r"is 'x' for label 2; truth is"),
    "csr": lambda: (sp.csr_array(spoiled(7)), r"is 7 for label 2; truth is"),
    "frame": lambda: (pd.DataFrame(spoiled(7)), r"is 7 for label 2; truth is"),
    "strings in a frame": lambda: (pd.DataFrame(spoiled("1", object)), r"is '1' for label 2; truth is"),
    "list of arrays": lambda: ([*spoiled(7)], r"is 7 for label 2; truth is"),
    "mappings": lambda: ([{2: 0}] * 5_000 + [{2: 7}], r"is 7 for label 2; truth is"),
    "lists": lambda: ([[2]] * 5_000 + [[2, None]], r": a label must be a str or an int, not None"),
    "sets": lambda: ([{2}] * 5_000 + [{2.5}], r": a label must be a str or an int, not the float 2\.5"),
    "nothing": lambda: ([{2}] * 5_000 + [None], r" is missing \(None\); give \[\]"),
    "a string": lambda: ([{2}] * 5_000 + ["cat"], r" is the string 'cat'"),
    "rows of lists": lambda: (pa.array([[2]] * 5_000 + [[1, 0, 1]]), r" is \[1, 0, 1\], which may be"),
}


def spoiled(value: object, kind: Any = int) -> Any:
    """Rows of three labels that are 0, except for one value in the last row."""
    rows = np.zeros((5_001, 3), kind)
    rows[5_000, 2] = value
    return rows


@with_each("form", SPOILED)
def test_a_message_names_the_example_and_the_label(form: str):
    bad, message = SPOILED[form]()
    ev = se.Evaluator()
    with pytest.raises(se.InputError, match=rf"^y_true\[5000\]{'' if message[0] in ': ' else ' '}{message}"):
        ev.update_many(bad, [()] * 5_001)
    assert ev == se.Evaluator()


@with_each("side", [0, 1])
def test_a_byte_that_another_thread_changes_after_the_check_is_refused(monkeypatch: pytest.MonkeyPatch, side: int):
    sides, cells_of = np.zeros((2, 3, 2), np.uint8), samples.cells_of

    def changing(batch: Any, fixed: int) -> Any:
        sides[side, 1, 0] = 255
        return cells_of(batch, fixed)

    monkeypatch.setattr(samples, "cells_of", changing)
    with pytest.raises(se.InputError, match=rf"{('y_true', 'y_pred')[side]}\[1\] is 255"):
        se.Tumbling(se.F1(labels=["cat", "dog"]), size=10).update_many(*sides)


@with_each("kind", [np.uint8, np.int8, np.float32])
@with_each("options", [{}, {"threshold": 0.5}])
def test_the_error_is_about_the_first_wrong_array_regardless_of_types(kind: type, options: dict[str, Any]):
    with pytest.raises(se.InputError, match=r"y_true\[0\] is 2"):
        se.F1(**options).update_many(np.array([[2, 0]], kind), np.array([[INF, 0.5]]))
