"""Legal input that is almost surely wrong causes one warning, before it is counted; correct input causes none."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import streameval as se
from streameval.evaluation import suspicions
from streameval.schema import labels
from streameval.schema.input_notes import notes_of
from streameval.states import state_set
from tests.support.each import with_each
from tests.support.effort import cases, crossed
from tests.support.exploring import in_another_thread, in_thread, points, waits

Stream = Iterator[tuple[Any, Any]]
DRAW = np.random.default_rng(17)
ANDS = ["arts", "music", "arts and music", "food", "arts and food"]
IDS, NAMES = [*range(40)], [f"tag {number}/{number % 7}, b" for number in range(40)]
JOINED = ["arts", "food", "drink", "food and drink", "arts, food", "arts, drink", "drink."]
MIXED = [*IDS, "a", "b", 10**5000]  # the last has more digits than Python writes


def some(labels: list[Any], size: int = 3) -> set[Any]:
    return {labels[place] for place in DRAW.integers(len(labels), size=size).tolist()}


def guess(true: set[Any], labels: list[Any]) -> set[Any]:
    """A prediction in which most labels are right."""
    return {label for label in true if DRAW.random() < 0.8} | some(labels, 1)


def scored(true: set[Any], labels: list[Any], low: float, high: float) -> dict[Any, float]:
    return {label: low + (high - low) * (DRAW.random() + (label in true)) / 2 for label in labels}


def repeat(*examples: tuple[Any, Any]) -> Callable[[int], Stream]:
    return lambda size: (examples[number % len(examples)] for number in range(size))


def draw(make: Callable[[int], tuple[Any, Any]]) -> Callable[[int], Stream]:
    return lambda size: (make(number) for number in range(size))


def bits(_: int = 0) -> Any:
    return DRAW.integers(0, 2, 4)


def silent_river(number: int) -> tuple[Any, Any]:
    pred = dict.fromkeys(NAMES, False) if number < 200 else dict.fromkeys(some(NAMES), True)
    return dict.fromkeys(some(NAMES), True), pred


def best_only(_: int) -> tuple[Any, Any]:
    true = some(IDS)
    return true, dict.fromkeys(guess(true, IDS), 0.9)


def sparse_rows(_: int) -> tuple[Any, Any]:
    return sparse.csr_array((DRAW.random((1, 40)) < 0.1) * 1), DRAW.integers(0, 2, 40)


def row(low: float, high: float) -> Callable[[int], tuple[Any, Any]]:
    return lambda _: (DRAW.integers(0, 2, 4), DRAW.uniform(low, high, 4))


KEYS = {"a": True, "b": False}
FIVE = {f"l{number}": 0.1 for number in range(5)}
AREA, RANKS = {"metrics": ["roc_auc_macro"]}, {"metrics": ["mrr"]}
SUSPECTED: dict[str, tuple[dict[str, Any], Callable[[int], Stream], int, str]] = {
    "nothing shared": ({}, repeat(({"x", "y"}, {"p"}), ({"y"}, {"q"})), 101, "no label of y_true is in y_pred"),
    "nothing shared, some mentioned": ({}, repeat(({"x": 1}, {"p": 1}), ({"x": 1}, {"q": 0})), 101, "no label of y_tr"),
    "nothing shared, columns": ({}, repeat(({"x": 1}, {"p": 1, "q": 0})), 20, "no label of y_true is in y_pred"),
    "a prefix": ({}, repeat(({"cat"}, {"label_cat"}), ({"dog"}, {"label_dog"})), 20, "'cat' and 'label_cat'"),
    "suffixes": ({}, repeat(({"a_true"}, {"a_pred"}), ({"b_true"}, {"b_pred"})), 20, "'a_true' and 'a_pred'"),
    "scores as strings": ({}, repeat((["1"], ["0.76"]), (["0"], [".2"])), 20, "for scores give threshold=0.5, and num"),
    "labels with scores": ({}, repeat((["a"], ["a:0.76"]), (["b"], ["b: 3e-05", "c:1.00"])), 20, "for scores give thr"),
    "type": ({}, repeat(({1, "a"}, {"1", "a"})), 20, "labels 1 and '1' differ in type"),
    "type on both sides": ({}, repeat(({1}, {1}), ({"1"}, {"1"})), 20, "labels 1 and '1' differ in type; use the same"),
    "type of one side": ({}, repeat(({"a"}, {1}), ({"1"}, {1})), 20, "labels '1' and 1 differ in type, one only in y_"),
    "case": ({}, repeat(({"Cat"}, {"cat"}), ({"a"}, {"a"})), 20, "'Cat' and 'cat' differ in case"),
    "case of some": ({}, repeat(({"Cat"}, {"cat"}), ({"cat"}, {"cat"})), 101, "case or Unicode form, one only in y_"),
    "Unicode form": ({}, repeat(({"caf\u00e9"}, {"cafe\u0301"}), ({"a"}, {"a"})), 20, "differ in case or Unicode form"),
    "Unicode form on both sides": (
        {}, repeat(({"\u00e9"}, {"e\u0301"}), ({"e\u0301"}, {"\u00e9"})), 20, r"'e\u0301' and 'é' differ in case"),
    "invisible": ({}, repeat(({"cat"}, {"\ufeffcat\u200b"}), ({"a"}, {"a"})), 20, r"'\ufeffcat\u200b' differ in"),
    "final .0": ({}, repeat(({"3.0", "a"}, {"3", "a"})), 20, "labels '3.0' and '3' differ in a final .0"),
    "space": ({}, repeat(({"cat "}, {"cat "}), ({"cat"}, {"dog"})), 20, "differ in surrounding space"),
    "empty string": ({}, repeat(([""], {"a"}), ({"a"}, {"a"})), 20, "the empty string is a label"),
    "characters": ({}, repeat((set("a,b"), {"b"}), ({"a"}, {"a"})), 20, "such as ',', as set(string) gives; give str"),
    "characters of a list": ({}, repeat((set("['a']"), set("['b']")), ({"c"}, {"c"})), 20, "such as '[', as set("),
    "letters of words": ({}, repeat((set("cat"), set("car")), (set("dog"), set("dot"))), 20, "label is a letter, such"),
    "separators": ({}, repeat(({"New York"}, {"new_york"}), ({"a"}, {"a"})), 20, "space, '_' or '-', one only"),
    "missing values as strings": ({}, repeat((["nan"], []), (["a"], ["a"])), 20, "'nan' is a label, as str(value)"),
    "one 0 or 1": ({}, repeat(([1], [0]), ([0], [0])), 20, "every list in y_true and y_pred has one member"),
    "ids beside labels": ({}, repeat(((7, "cat"), (7, "dog")), ((9, "dog"), (9, "dog"))), 20, "y_true has strings"),
    "labels with counts": ({}, repeat(({"cat"}, ["cat", 3]), ({"dog"}, ["dog", 8])), 20, "y_pred has strings"),
    "one column of scores": ({"threshold": 0.5}, draw(lambda n: ([n % 2], [DRAW.random() / 2])), 20, "y_true has lab"),
    "no and yes of one column": (
        {"threshold": 0.5}, draw(lambda n: (np.array([n % 2]), {0: p, 1: 1 - p} if (p := DRAW.random()) else {})), 20,
        "y_pred has labels 0 and 1, and the other side one column"),
    "keys of truths": ({}, draw(lambda n: (KEYS.keys(), {"a": True, "b": n % 3 > 0})), 20, "every label in y_true, as"),
    "keys of predictions": ({}, draw(lambda n: ({"ab"[n % 2]}, {*KEYS})), 100, "every label in y_pred, as"),
    "keys of predictions, declared": (
        {"labels": ["a", "b"]}, draw(lambda n: ({"ab"[n % 2]}, [*KEYS])), 100, "every label in y_pred, as set"),
    "keys of predictions of five labels": (
        {}, draw(lambda n: ({f"l{n % 5}"}, [*FIVE])), 20, "every label in y_pred, as set"),
    "padded truths": ({}, repeat(([3, 7, -100], [3, 7]), ([7, -100, -100], [3])), 20, "have label -100 and another"),
    "padded predictions": ({}, repeat(([3], [3, -1]), ([7, 3], [7, 3])), 20, "leave out labels below 0"),
    "classes of columns": ({}, draw(lambda _: (DRAW.integers(2, 4, 4).tolist(), {2, 3})), 20, "a class for each"),
    "padded with 0": ({}, repeat(([3, 7, 0, 0], {3}), ([5, 0, 0, 0], {5})), 20, "as with padding, to be left out, or"),
    "scores that are integers": (
        {"threshold": 50}, draw(lambda _: (bits(), DRAW.choice(100, 4, replace=False).tolist())), 20, "are as long as"),
    "classes predicted": ({}, draw(lambda n: ({*"ab"[n % 2 :]}, [*DRAW.choice(["a", "b"], 3)])), 20, "in y_pred have"),
    "joined labels": ({}, draw(lambda n: ([["a,b", "c,a", "b"][n % 3]], {*"abc"[n % 3 :]})), 20, "give string.split("),
    "joined labels on both sides": (
        {}, draw(lambda n: ([["a;b", "c", "b;c", "a"][n % 4]], [["a", "b", "b;c"][n % 3]])), 20, "'a;b', are other"),
    "strings of booleans": ({}, repeat((["True", "False"], ["False"] * 2)), 20, "give np.asarray(rows) == 'True', for"),
    "rows of yes and no": ({}, repeat((["n", "n"], ["Y", "n"]), (["Y"], ["Y"])), 20, "np.asarray(rows) == 'Y', for"),
    "all ignored": ({"labels": ["a"], "unknown": "ignore"}, repeat(({1}, {"a"})), 20, "every label of y_true is ign"),
    "all predictions ignored": ({"labels": [1], "unknown": "ignore"}, repeat(({1}, ["a"])), 20, "label of y_pred is"),
    "columns and names": ({}, repeat(({0: 1, 1: 0}, {0: 1, 1: 0}), ({"a"}, {"a"})), 20, "positions of columns"),
    "logits": ({"threshold": 0.5}, draw(row(-6, 6)), 20, "for logits give threshold=0, for percentages 50"),
    "percent": ({"threshold": 0.5}, draw(lambda _: ({"a"}, {"a": DRAW.integers(100), "b": 7})), 20, "threshold 0.5"),
    "no score reaches": ({"threshold": 50}, draw(row(0, 1)), 101, "none of 100 examples has one that reaches it"),
    "every score reaches": ({"threshold": 0.1}, draw(row(0.2, 1)), 101, "all of 100 examples reach it"),
    "decisions as scores": (
        {"metrics": ["roc_auc_macro"]}, draw(lambda _: (bits(), bits())), 20, "scores in y_pred are 0 or 1"),
    "decisions as lists of scores": (
        {"metrics": ["mrr"]}, draw(lambda _: (bits(), (bits() * 1.0).tolist())), 20, "scores in y_pred are 0 or 1"),
    "argsort": ({"metrics": ["mrr"]}, draw(lambda _: (np.array([1, 0, 1]), DRAW.permutation(3))), 20, "permutation"),
    "argsort of the first": (
        {"metrics": ["mrr"]}, draw(lambda n: ([n % 40], np.argsort(-DRAW.random(40))[:3])), 20, "integers, as ids of"),
    "argsort of all but one": (RANKS, draw(lambda n: ([n % 4], np.argsort(-DRAW.random(4))[:3])), 20, "as ids of lab"),
    "argmax": (RANKS, draw(lambda n: ([n % 4], np.argsort(-DRAW.random(4))[:1])), 20, "integers, as ids of labels"),
    "close scores": (
        {"metrics": ["roc_auc_macro"]}, draw(lambda _: (bits(), 0.5 + 1e-6 * DRAW.random(4))), 101, "bins hide the or"),
    "joined": ({}, repeat((["a", "b"], ["a, b"]), (["b", "c"], ["b and c"])), 20, "y_pred, such as 'a, b', are other"),
    "joined truths": ({}, repeat((["a#b"], ["a", "b"]), (["b\u3001c"], ["c", "b"])), 20, "y_true, such as 'a#b', are"),
    "joined predictions of sets": ({}, repeat((["a"], {"a,b", "c"}), (["b"], {"b,c", "a"})), 20, "in y_pred, such as"),
    "joined labels in lists, some empty": (
        {}, repeat((["a,b"], {"a", "b,c"}), ([], {"a,b"}), (["b,c"], {"b", "c"})), 20, "y_true, such as 'a,b', are"),
    "labels and scores": ({}, repeat((["a"], ["a", "0.76"]), (["b"], ["b", ".5"])), 20, "such as '.5', are decimals;"),
    "full stop": ({}, repeat((["cat", "dog"], ["cat", "dog."])), 20, "'dog' and 'dog.' differ in a full stop or quot"),
    "class of several": (
        {}, repeat((["a|b"], ["a|b"]), (["a|c"], ["b"]), (["a"], ["c"])), 20, "if each is a class construct with"),
    "Unicode form, and case": (
        {}, repeat(*[({name}, {name}) for name in ("Cafe\u0301", "caf\xe9", "Caf\xe9")]), 20, "\\u0301' and 'Caf\xe9'"),
    "full stop of some": ({}, repeat(({"a", "b"}, {"a", "b."}), ({"b"}, {"b"})), 101, "'b.' differ in a full stop or"),
    "quotation marks": ({}, repeat(({"a", "b"}, {'"a"', "b"})), 20, "a full stop or quotation marks, one only in y_t"),
    "case of scores": (AREA, repeat(({"Cat"}, {"cat": 0.9, "b": 0.2}), ({"a"}, {"a": 0.1})), 20, "differ in case"),
    "space of ranked labels": (RANKS, repeat(({"cat"}, ["cat ", "dog"]), ({"dog"}, ["cat "])), 20, "surrounding space"),
    "no scores shared": (AREA, repeat(({"x", "y"}, {"p": 0.2}), ({"y"}, {"q": 0.7})), 101, "no label of y_true"),
    "no columns of scores shared": (
        RANKS, repeat(({"x": 1, "y": 0}, {"p": 0.1, "q": 0.2}), ({"x": 0, "y": 1}, {"p": 0.3, "q": 0})), 20, "in y_pr"),
    "padded truths of scores": (AREA, repeat(([3, -1], {3: 0.2}), ([7, 3], {7: 0.7})), 20, "leave out labels below 0"),
    "scores ignored": (
        {**RANKS, "labels": ["a"], "unknown": "ignore"}, repeat(({"a"}, {"b": 0.3})), 20, "label of y_pred is"),
    "no false truth": ({}, draw(lambda n: ({"a": 1, "b": n % 2 or None}, {"b": n % 3 > 1})), 20, "unknown or true, so"),
    "no false boolean": (
        {}, draw(lambda n: ({"a": True, "b": n % 2 > 0 or None}, {"b": n % 3 > 1})), 20, "unknown or true, so"),
    "no false truth of rows": (
        AREA, draw(lambda n: (np.array([1, np.nan])[[n % 2, n % 3 > 0]], bits()[:2] / 2)), 20, "cell means false"),
    "predictions count from 1": ({}, draw(lambda _: (bits(), [int(DRAW.integers(1, 5))])), 40, "subtract 1 from lab"),
    "truths count from 1": (
        AREA, draw(lambda _: ([int(DRAW.integers(1, 5))], DRAW.random(4))), 40, "labels 0 to 3, and lists have 1 to"),
    "no truth of scores": (AREA, repeat(({"a": None, "b": None}, {"a": 0.3, "b": 0.7})), 20, "every truth in"),
    "no truth": ({}, repeat(({"a": None, "b": float("nan")}, {"a": 1})), 20, "every truth in y_true is unknown"),
    "no truth, declared": (
        {"labels": [0, 1]}, repeat((np.array([np.nan, np.nan]), np.array([0, 1]))), 20, "every truth"),
}  # fmt: skip

HONEST: dict[str, tuple[dict[str, Any], Callable[[int], Stream]]] = {
    "ids": ({}, draw(lambda _: (true := sorted(some(IDS)), sorted(guess({*true}, IDS))))),
    "few ids": ({}, draw(lambda _: (true := sorted(some(IDS[:3])), sorted(guess({*true}, IDS[:3]))))),
    "names": ({}, draw(lambda _: (true := some(NAMES), guess(true, NAMES)))),
    "punctuation": ({}, draw(lambda _: (true := some(list("O,.?!:")), guess(true, list("O,.?!:"))))),
    "marks": ({}, repeat(({".", "a"}, {'"', "a"}))),
    "joined labels of both sides": ({}, draw(lambda _: (true := some(JOINED), guess(true, JOINED)))),
    "names with and": ({}, draw(lambda _: ([*some(ANDS, 1)], [*some(ANDS, 1)]))),
    "few joined labels": ({}, draw(lambda n: (true := some([*"abc"]), true | {*["a, b", "b, c"][n % 25 :][:1]}))),
    "levels": ({}, draw(lambda _: (true := some(["0.5", "1.5", "2.0"]), guess(true, ["0.0", "0.5", "1.0", "1.5"])))),
    "doses": ({}, draw(lambda _: ([f"dose: 0.{DRAW.integers(4)}"], [f"dose: 0.{DRAW.integers(4)}"]))),
    "rates": ({}, draw(lambda _: ([f"1e-{DRAW.integers(2, 6)}"], [f"1e-{DRAW.integers(2, 6)}"]))),
    "one decimal": ({}, repeat((["a"], ["a", "0.5"]))),
    "noise is -1": ({}, draw(lambda n: ([true := -1 if n % 5 < 2 else some(IDS).pop()], [true]))),
    "noise is -1, and all others have two labels": ({}, repeat(([-1], [-1]), ([3, 7], [3, 7]))),
    "a full stop before a name": ({}, repeat(({".net"}, {"net"}), ({"net"}, {"net"}), ({".net"}, {".net", "c"}))),
    "repeated labels": ({}, draw(lambda n: (["a", "b", "b"][n % 2 :], ["a", *"ab"[: n % 3]]))),
    "negative ids": ({}, draw(lambda _: (true := some([-1, *range(-9, 9)]), guess(true, [*range(-9, 9)])))),
    "yes or no": ({}, draw(lambda _: ([DRAW.choice(["no", "yes"])], [DRAW.choice(["no", "yes"])]))),
    "one label a cell": ({}, draw(lambda _: ([true := NAMES[DRAW.integers(40)]], [*guess({true}, NAMES)][:1]))),
    "mixed types": ({}, draw(lambda _: (true := some(MIXED), guess(true, MIXED)))),
    "all true": ({}, draw(lambda n: ({"a": True, "b": True}, {"a": n % 2, "b": 1}))),
    "all predicted": ({}, draw(lambda n: (np.array([n % 2, 1 - n % 2]), np.ones(2)))),
    "all predicted at first": ({}, draw(lambda n: ({"ab"[n % 2]}, {*"ab"[n % 2 * (n > 30) :]}))),
    "a label is never true, another never predicted": (
        {}, draw(lambda _: (bits() * [0, 1, 1, 1], bits() * [1, 1, 1, 0]))),
    "all predicted, and truths do not vary": ({}, repeat(({"a"}, {"a", "b"}))),
    "nothing predicted of labels": ({"labels": IDS, "unknown": "ignore"}, draw(lambda _: (some(IDS), []))),
    "one label": ({}, draw(lambda n: (["a"], ["a"][n % 2 :]))),
    "letters": ({}, draw(lambda _: (true := some([*"abcdef"], 4), guess(true, [*"abcdef"])))),
    "few letters": ({}, draw(lambda _: (true := some([*"acegik"], 1), guess(true, [*"acegik"])))),
    "four letters": ({}, draw(lambda n: ({*"acxz"} - {*"acxz"[n % 4]}, {*"acxz"[n % 3 :]}))),
    "names with commas": ({}, draw(lambda n: ([["Men", "Shoes, Men", "Hats, Men"][n % 3]], ["Men"][n % 2 :]))),
    "names of joined labels": ({}, draw(lambda n: ({"a,b", *"ab"[n % 2]}, {"b,a", *"ab"[n % 3 :]}))),
    "signs": ({}, draw(lambda n: ([("C-", "D"), ("D",)][n % 2], ["C" if n % 3 else "D"]))),
    "mixed lists": ({}, draw(lambda _: (true := [*some(MIXED)], [*guess({*true}, MIXED)]))),
    "mixed mappings": ({}, repeat(({0: 1, 1: 0, "a": 1}, {0: 1, 1: 0, "a": 0}), ({"a": 1}, {"a": 1}))),
    "mixed sets": ({}, repeat(({0, 1}, {0, 1}), ({"a"}, {"a"}))),
    "mappings of ids, and strings": ({}, repeat(({7: 1, 8: 0}, {7: 1, 8: 0}), ({"a"}, {"a"}))),
    "mappings of some ids, and strings": ({}, repeat(({0: 1, 1: 0}, {0: 1, 1: 0}), ({0: 1}, {0: 1}), ({"a"}, {"a"}))),
    "two cases": ({}, repeat(({"Cat", "cat"}, {"a"}), ({"a"}, {"a"}))),
    "always the other case": ({}, repeat(({"Cat"}, {"cat"}), ({"cat"}, {"Cat"}))),
    "one case is unknown at times": ({}, draw(lambda n: ({"Cat": n % 2 or None, "cat": 1, "a": 0}, {"Cat", "cat"}))),
    "two types that are declared": ({"labels": [1, "1"]}, repeat(({1}, {1}), ({"1"}, {"1"}))),
    "yes and no that are declared": ({"labels": ["no", "yes"]}, repeat((["no", "yes"], ["no"]), (["yes"], ["yes"]))),
    "missing values that are declared": ({"labels": ["nan", "", "a"]}, repeat(({"nan", ""}, {"a"}), ({"a"}, {"a"}))),
    "a comma and words": ({}, repeat(({",", "cat"}, {",", "dog"}), ({"dog"}, {"cat"}))),
    "no label": ({}, repeat((set(), set()))),
    "one label is never known": ({"labels": ["a", "b"]}, repeat(({"a": None}, set()))),
    "a space": ({}, repeat(({" cat"}, {" cat"}))),
    "silent at first": ({}, draw(lambda n: (true := some(NAMES), guess(true, NAMES) if n >= 200 else set()))),
    "silent scores": ({"threshold": 0.5}, draw(lambda n: (true := some(IDS), scored(true, IDS, 0, n >= 200)))),
    "silent River": ({}, draw(silent_river)),
    "silent curves": (
        {"metrics": ["roc_auc_macro"]}, draw(lambda n: (true := some(IDS), scored(true, IDS, 0, n >= 200)))),
    "scores": ({"threshold": 0.5}, draw(row(0, 1))),
    "high at first": (
        {"threshold": 0.5}, draw(lambda n: ({"ab"[n % 2]}, {"a": 0.6 - (n >= 20) / 2, "b": 0.9 - (n >= 20) / 2}))),
    "low at first": (
        {"threshold": 0.5}, draw(lambda n: ({"ab"[n % 2]}, {"a": 0.1 + (n >= 20) / 2, "b": 0.4 + (n >= 20) / 2}))),
    "best scores only": ({"threshold": 0.5}, draw(best_only)),
    "only what is unknown is predicted": (
        {"threshold": 0.5}, draw(lambda n: ({"a": None, "b": n % 2}, {"a": 0.9, "b": DRAW.random() / 3}))),
    "cosines": ({"threshold": 0.3}, draw(row(-1, 1))),
    "logits under 0": ({"threshold": 0.0}, draw(row(-9, 9))),
    "tuned thresholds": (
        {"threshold": {0: 0.5, 1: 2, 2: -1, 3: 9}, "labels": [*range(4)]}, draw(row(-6, 6))),
    "rounded probabilities": (
        {"threshold": 0.5}, draw(lambda _: (bits(), DRAW.permutation(np.float16([-0.001, 0.25, 0.75, 1.001]))))),
    "centred scores": (
        {"metrics": ["roc_auc_macro"]}, draw(lambda _: (bits(), 1e-6 * (DRAW.random(4) - 0.5)))),
    "rankings": ({"metrics": ["mrr"]}, draw(lambda _: (some(IDS), [*some(IDS, 9)]))),
    "classes of -1 and 1": (RANKS, draw(lambda n: ([n % 3 // 2 * 2 - 1], {1: DRAW.random(), -1: DRAW.random()}))),
    "one label is always true": (AREA, draw(lambda _: ({"spam"}, {"spam": DRAW.random(), "ham": DRAW.random()}))),
    "scores of some labels": (AREA, draw(lambda _: (true := some(IDS), scored(true, IDS[:3], 0, 1)))),
    "scores of the first columns": (RANKS, draw(lambda _: (some(IDS), 40 * DRAW.random(3)))),
    "sparse rows": ({"labels": IDS}, draw(sparse_rows)),
    "always wrong": ({}, draw(lambda n: ({"ab"[n % 25 > 20]}, {"ab"[n % 25 <= 20]}))),
    "some unknown, none false": ({}, repeat(({"a": 1, "b": None}, {"a", "b"}), ({"b"}, {"b"}))),
    "some unknown": ({}, draw(lambda n: ({"a": None, "b": n % 2}, {"a": 1, "b": 1}))),
    "unknown, and false after the first 20": ({}, draw(lambda n: ({"a": int(n < 20), "b": None}, {"a": 1, "b": 1}))),
    "lists of one 0 or 1 that are said to be labels": ({"rows": "labels"}, repeat(([1], [0]), ([0], [0]))),
    "lists of all labels that are said to be labels": (
        {"rows": "labels"}, draw(lambda n: ([*KEYS], {"a": True, "b": n % 3 > 0}))),
    "some ignored": (
        {"labels": IDS, "unknown": "ignore"}, draw(lambda _: (true := some(IDS), guess(true, [*IDS, 77])))),
    "rows that are negative at first": (
        {"labels": ["a", "b"], "unknown": "ignore"}, draw(lambda n: (np.array([n >= 200, 0]), {"a"}))),
}  # fmt: skip


def evaluator(metrics: Any = ("f1_micro",), **options: Any) -> se.Evaluator:
    return se.Evaluator(metrics, **options)


def batch(examples: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The two sides of the examples, as arrays if they are rows, otherwise as lists."""
    sides = [[*side] for side in zip(*examples, strict=True)]
    return tuple(np.stack(side) if isinstance(side[0], np.ndarray) else side for side in sides)  # type: ignore[return-value]


@with_each("many", [False, True])
@with_each("name", SUSPECTED)
def test_almost_surely_wrong_input_causes_one_warning(name: str, many: bool):
    options, stream, size, message = SUSPECTED[name]
    ev, examples = evaluator(**options), [*stream(size)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if many:
            ev.update_many(*batch(examples[:-1]))
        for example in examples[-1:] if many else examples:
            ev.update(*example)
        assert bool(caught) is (size > 100), "what is due is issued by an update, anything else by a reading"
        for _ in range(2):
            ev.get(), ev.report() if ev._core.config.has_decisions else None
            ev.copy().get()
            ev.update_many(*batch(examples))
    (warning,) = caught
    assert warning.category is se.DataWarning
    assert message in str(warning.message)
    assert warning.filename == __file__
    assert ev.warnings == (str(warning.message),) == ev.copy().warnings
    assert se.Evaluator.from_bytes(ev.to_bytes()).warnings == ()


@pytest.mark.parametrize(
    ("reads", "due"),
    [([], [100, 200, 400]), (range(500), [20, 100, 200, 400]), ([30, 60, 150], [30, 100, 200, 400])],
)
@pytest.mark.parametrize("options", [{}, {"weight": 2.0}])
def test_checks_for_warnings_run_only_at_certain_numbers_of_examples(
    options: Any, reads: Sequence[int], due: list[int], monkeypatch: pytest.MonkeyPatch
):
    ev, looked = evaluator(), list[int]()
    monkeypatch.setattr(suspicions, "_suspicions", lambda counted: (looked.append(counted.examples), ())[1])
    for number in range(1, 500):
        ev.update({"a"}, {"a"}, **options)
        if number in reads:
            ev.get()
    assert looked == due


@with_each("make", [list, pd.Series, pa.array, pl.Series, iter, lambda lists: pd.DataFrame({"b": [1] * len(lists)})])
def test_ignoring_all_labels_causes_a_warning_in_every_form(make: Callable[[Any], Any]):
    ev = evaluator(labels=["a"], unknown="ignore")
    ev.update_many(make([["b"]] * 30), [["a"]] * 30)
    with pytest.warns(se.DataWarning, match="every label of y_true is ignored, such as 'b'"):
        ev.get()
    assert ev.input_summary["y_true"]["ignored"] == ["b"]


@pytest.mark.parametrize("merges", [False, True])
def test_names_after_loaded_columns_without_names_cause_a_warning(merges: bool):
    rows, names = se.Evaluator(), se.Evaluator()
    rows.update_many(np.eye(3, dtype=int), np.eye(3, dtype=int))
    ev = se.Evaluator.from_bytes(rows.to_bytes())
    (names if merges else ev).update_many([{"cat"}] * 17, [{"cat"}] * 17)
    if merges:
        ev.merge(se.Evaluator.from_bytes(names.to_bytes()))
    with pytest.warns(se.DataWarning, match="strings in some examples, and the positions of columns without names"):
        ev.get()


def test_sparse_scores_that_are_all_1_cause_a_warning_like_dense_scores():
    ev = evaluator(["roc_auc_micro"], labels=[0, 1])
    ev.update_many(np.array([[1, 0], [0, 1]] * 20), sparse.csr_array([[1, 0], [1, 0]] * 20))
    with pytest.warns(se.DataWarning, match="all scores in y_pred are 0 or 1"):
        ev.get()


@with_each("many", [False, True])
def test_a_mask_whose_labels_differ_in_case_causes_a_warning(many: bool):
    ev = evaluator()
    if many:
        ev.update_many([{"cat", "dog"}] * 99, [{"cat"}] * 99, mask=[{"Dog"}] * 99)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(99 - ev.examples):
            ev.update({"cat", "dog"}, {"cat"}, mask={"Dog"})
        ev.get()
    ev.update({"cat"}, {"cat"}, mask={"dog"})
    with pytest.warns(se.DataWarning, match=r"'dog' and 'Dog' differ in case or Unicode form, .*only in mask"):
        ev.update_many([{"cat"}], [{"cat"}], mask=[{"Dog"}])


@with_each("side", ["y_pred", "y_true"])
def test_a_mask_whose_labels_differ_in_case_causes_a_warning_if_one_side_lacks_the_label(side: str):
    lists = [{"cat"}] * 100, [{"cat", "dog"}] * 100
    ev = evaluator()
    ev.update_many(*(lists if side == "y_pred" else lists[::-1]), mask=[{"Dog"}] * 100)
    with pytest.warns(se.DataWarning, match=f"differ in case or Unicode form, one only in {side}, one only in mask"):
        ev.get()
    ev = evaluator()
    ev.update_many([{"cat"}] * 100, [{"cat"}] * 100, mask=[{"Dog", "dog"}] * 100)
    ev.get()
    assert ev.warnings == ()


@pytest.mark.parametrize("name", HONEST)
def test_correct_streams_cause_no_warning(name: str):
    options, stream = HONEST[name]
    ev, examples = evaluator(**options), [*stream(500)]
    for number, example in enumerate(examples):
        ev.update(*example)
        if number in (24, 300):
            ev.get()
    other = evaluator(**options)
    for _ in range(2):
        other.update_many(*batch(examples[:24]))
        other.get()
        other.update_many(*batch(examples[24:]))
        ev.update_many(*batch(examples[300:] * 24))
        ev.get()
    assert ev.examples >= 10_000
    assert ev.warnings == other.warnings == ()


@with_each("name", [
    "ids beside labels", "labels with counts", "padded with 0", "classes predicted", "scores that are integers",
    "keys of predictions of five labels", "decisions as scores", "decisions as lists of scores",
])  # fmt: skip
def test_a_few_examples_after_loading_are_too_few_for_a_warning(name: str):
    options, stream, size, message = SUSPECTED[name]
    ev, examples = evaluator(**options), [*stream(2 * size)]
    ev.update_many(*batch(examples[:size]))
    for few in (1, size):
        loaded = se.Evaluator.from_bytes(ev.to_bytes())
        loaded.update_many(*batch(examples[size : size + few]))
        with pytest.warns(se.DataWarning, match=message) if few == size else nullcontext():
            loaded.get()


def suspected(update: Callable[[Any, Any], None], examples: int = 20) -> None:
    for _ in range(examples):
        update({"Cat"}, {"cat"})


HOLDERS: dict[str, Callable[[], Any]] = {
    "metric": se.F1,
    "rolling": lambda: se.Rolling(se.Evaluator(["f1_micro"]), size=200),
    "tumbling": lambda: se.Tumbling(se.Evaluator(["f1_micro"]), size=200),
    "fading": lambda: se.Fading(se.F1(), half_life=9.0),
    "timed": lambda: se.TimeRolling(se.F1(), period=9.0),
}


READINGS: dict[str, Callable[[Any], object]] = {
    "get": lambda one: one.get(),
    "report": lambda one: one.report(),
    "bounds": lambda one: one.bounds("f1_micro"),
    "per_label": lambda one: one.per_label(),
    "multilabel_confusion": lambda one: one.multilabel_confusion(),
    "confusion_matrix": lambda one: one.confusion_matrix(),
    "plot": lambda one: one.plot(),
    "to_html": lambda one: one.to_html(),
    "to_html of two": lambda one: se.to_html({"a": one, "b": se.Evaluator(["f1_micro"])}),
    "to_dict": lambda one: one.to_dict(),
    "to_pandas": lambda one: one.to_pandas(),
}


# Windows have fewer readings, because other results are those of their snapshots.
@pytest.mark.parametrize(
    ("reading", "window"),
    [
        (one, window)
        for one in READINGS
        for window in (False, True)
        if not window or one not in ("to_dict", "to_pandas")
    ],
)
def test_every_kind_of_first_reading_warns_once_and_the_page_has_the_warning(reading: str, window: bool):
    holder: Any = se.Evaluator(["f1_micro"], keep=["pairs"])
    holder = se.Rolling(holder, size=30) if window else holder
    suspected(holder.update)
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        READINGS[reading](holder)
    for each in READINGS if not window else ("get", "report", "to_html"):
        READINGS[each](holder)  # a second warning would be an error
    assert len(caught) == len(holder.warnings) == 1
    assert "differ in case" in holder.to_html()


@pytest.mark.parametrize("name", HOLDERS)
def test_every_holder_warns_at_its_first_reading(name: str):
    holder = HOLDERS[name]()
    for number in range(20):
        holder.update({"Cat"}, {"cat"}, **({"t": number / 100} if getattr(holder, "timed", False) else {}))
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        holder.get()
    holder.get()
    current = holder.snapshot() if hasattr(holder, "snapshot") else holder.copy()
    current.get()
    assert len(caught) == len(holder.warnings) == 1
    assert current.warnings == holder.warnings
    assert [*current.input_summary] == [*holder.input_summary] == ["y_true", "y_pred"]


@pytest.mark.parametrize("name", [*HOLDERS, "sliced"])
def test_every_holder_that_is_read_after_each_example_warns_at_100(name: str):
    holder = se.Sliced(se.F1(), by="n") if name == "sliced" else HOLDERS[name]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(102):
            how: dict[str, Any] = {"where": {"n": number}} if name == "sliced" else {}
            holder.update({"x"}, {"p"}, **({"t": number / 100} if getattr(holder, "timed", False) else how))
            holder.get()
            assert bool(caught) is (holder.examples >= 100)
    assert [str(one.message)[:31] for one in caught] == ["no label of y_true is in y_pred"]


@pytest.mark.parametrize("make", [
    lambda ev: ev, lambda ev: se.Rolling(ev, size=200), lambda ev: se.Tumbling(ev, size=200),
    lambda ev: se.Fading(ev, half_life=9), lambda ev: se.Sliced(ev, by="n"), lambda ev: se.Sliced(ev, by=["n", "m"]),
])  # fmt: skip
def test_every_holder_notes_the_first_examples_and_more_after_a_check(make: Callable[[Any], Any]):
    holder = make(se.Evaluator(["f1_micro"], threshold=0.5))
    how = {"where": {"n": 0, "m": 0}} if isinstance(holder, se.Sliced) else {}
    for number in range(130):
        holder.update({"a"}, {"a": 0.5 if number < 110 else 0.5 + number}, **how)
        if number in (50, 100):
            holder.get()
        assert len(holder.input_summary["y_true"]["examples"]) == min(number + 1, 3)
        if number == 19:
            assert notes_of(holder._guard).samples["y_pred"].numbers == 20
    assert notes_of(holder._guard).samples["y_pred"].numbers == 40
    holder = type(holder).from_bytes(holder.to_bytes())
    for number in range(20):
        holder.update({"a"}, {"a": 0.5 + number}, **how)
    with pytest.warns(se.DataWarning, match="threshold 0.5, which is for probabilities"):
        holder.get()


@pytest.mark.parametrize("keep", [[], ["rankings", "curves"]])
@pytest.mark.parametrize("name", ["evaluator", "trace", "trace of a window", "pending", "sliced", "collection"])
def test_a_stream_that_is_never_read_causes_its_warning_at_100_examples(name: str, keep: list[str]):
    ev: Any = se.Evaluator(["f1_micro"], labels=["a", "b"], threshold=0.5, keep=keep)
    holder: Any = {
        "evaluator": lambda: ev,
        "trace": lambda: se.Trace(ev, every=1000),
        "trace of a window": lambda: se.Trace(se.Rolling(ev, size=150), every=1000),
        "pending": lambda: se.Pending(ev),
        "sliced": lambda: se.Sliced(ev, by="n"),
        "collection": lambda: se.Trace({"one": ev, "two": se.F1(labels=["a", "b"], threshold=0.5)}, every=1000),
    }[name]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(130):
            row = np.array([1, 0]), np.array([number + 2.0, -number])
            if name == "pending":
                holder.predict(number, row[1])
                holder.observe(number, row[0])
            else:
                holder.update(*row, **({"where": {"n": 0}} if name == "sliced" else {}))
            assert bool(caught) is (number >= 100)
    assert len(caught) == 1 + (name == "collection")
    assert "threshold 0.5, which is for probabilities" in str(caught[0].message)


def test_a_warning_that_concerns_all_slices_is_issued_once():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="n")
    for number in range(20):
        sliced.update({"Cat"}, {"cat"}, where={"n": number})
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        sliced.get()
    assert len(caught) == len(sliced.warnings) == 1
    sliced.report(), sliced.get(), sliced.total().get(), sliced[3].get()


def test_a_collection_of_river_and_a_trace_warn_once():
    from streameval.adapters import river

    collection = river.MicroF1() + river.MacroRecall()
    suspected(collection.update)
    assert "MicroF1" in repr(collection)
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        collection.get()
    collection.get()
    ev = se.Evaluator(["f1_micro"])
    trace = se.Trace({"ev": ev}, every=5)
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        suspected(trace.update, 30)
    assert len(caught) == 1
    assert trace.columns()["examples"] == [5, 10, 15, 20, 25, 30]


def test_displays_and_saving_never_warn_and_leave_the_warning_to_the_next_reading(tmp_path: Any):
    ev = se.Evaluator(["f1_micro"])
    suspected(ev.update, 30)
    repr(ev), ev._repr_html_(), ev.to_bytes(), ev.save(tmp_path / "ev"), pickle.dumps(ev)
    assert ev.examples, ev.labels
    rolling = se.Rolling(se.F1(), size=30)
    suspected(rolling.update, 30)
    repr(rolling), rolling.to_bytes()
    for holder in (ev, rolling):
        with pytest.warns(se.DataWarning, match="differ in case"):
            holder.get()


def test_a_warning_raised_as_an_error_changes_nothing_and_the_call_can_be_repeated():
    ev = se.Evaluator()
    suspected(ev.update, 100)
    before = ev.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(se.DataWarning):
            ev.update({"Cat"}, {"cat"})
        assert ev.to_bytes() == before
        ev.update({"Cat"}, {"cat"})
        ev.get()
    assert ev.examples == 101


def test_a_warning_hook_may_change_the_object_that_warns(monkeypatch: pytest.MonkeyPatch):
    sliced, rolling = se.Sliced(se.Evaluator(["f1_micro"]), by="n"), se.Rolling(se.Evaluator(["f1_micro"]), size=50)
    traced, displayed = se.F1(), list[object]()
    trace = se.Trace({"ev": traced}, every=20)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *_: (displayed.append(holder), holder.reset()))
        for holder, use, left in (
            (sliced, lambda: (suspected(lambda t, p: sliced.update(t, p, where={"n": 1})), sliced.get()), 0),
            (rolling, lambda: (suspected(rolling.update), rolling.report()), 0),
            (
                traced,
                lambda: suspected(trace.update, 40),
                1,
            ),  # the warning at a row comes before its example is counted
        ):
            use()
            assert displayed[-1] is holder
            assert holder.examples == left


@pytest.mark.parametrize(
    ("reading", "name"), crossed(["get", "report"], ["evaluator", "rolling", "tumbling", "sliced", "collection"])
)
def test_no_guard_is_held_while_a_warning_is_issued(name: str, reading: str, monkeypatch: pytest.MonkeyPatch):
    """This holds even if another thread counts the example that makes a warning due just before the reading."""
    from streameval.adapters import river

    made: dict[str, Callable[[], Any]] = HOLDERS | {
        "evaluator": lambda: se.Evaluator(["f1_micro"]),
        "sliced": lambda: se.Sliced(se.Evaluator(["f1_micro"]), by="n"),
        "collection": lambda: river.MicroF1() + river.SubsetAccuracy(label_limit=9),
    }
    how: dict[str, Any] = {"where": {"n": 1}} if name == "sliced" else {}

    def update(true: Any, pred: Any) -> None:
        true, pred = (dict.fromkeys(side, True) if name == "collection" else side for side in (true, pred))
        held.update(true, pred, **how)

    def read() -> object:
        return getattr(held, reading)() if hasattr(held, reading) else repr(held)

    def display(*_: object) -> None:
        waited.append(waits(in_thread(lambda: update({"Cat"}, {"cat"})), 5))

    for _ in range(2):  # the first reading of a process imports modules
        held = made[name]()
        suspected(update, 19)
        passed = [point._replace(visits=1) for point in points(read)]
    waited: list[bool] = []
    monkeypatch.setattr(warnings, "showwarning", display)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for point in passed[:: max(1, len(passed) // cases(200))]:
            held = made[name]()
            suspected(update, 19)
            in_another_thread(read, point, lambda: update({"Cat"}, {"cat"}))
    assert not any(waited), f"{sum(waited)} of {len(waited)} are issued while a guard is held"


def test_no_guard_is_held_during_a_warning_about_labels_that_another_thread_added(monkeypatch: pytest.MonkeyPatch):
    for module in (labels, state_set):
        monkeypatch.setattr(module, "IDENTIFIERS", 20)

    def started() -> se.Evaluator:
        ev = se.Evaluator()
        ev.update_many([{number} for number in range(17)], [set()] * 17)
        return ev

    def display(*_: object) -> None:
        waited.append(waits(in_thread(lambda: ev.update({0}, {0})), 5))

    def update() -> None:
        ev.update({18}, {18}, weight=0.5)

    def add() -> None:  # registers labels with a call that fails, so that they were not checked
        with pytest.raises(se.LabelError):
            ev.update(set(range(20, 30)), {2.5})

    ev, waited = started(), list[bool]()
    passed = [point._replace(visits=1) for point in points(update) if "guarding" in point.code.co_filename]
    monkeypatch.setattr(warnings, "showwarning", display)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for point in passed:
            ev = started()
            in_another_thread(update, point, add)
    assert waited
    assert not any(waited), f"{sum(waited)} of {len(waited)} are issued while a guard is held"


def test_data_frames_with_row_keys_in_another_order_cause_a_warning():
    keys, columns = [f"row {number}" for number in range(4)], {"a": [1, 0, 1, 0], "b": [0, 1, 1, 0]}
    true = pd.DataFrame(columns, index=keys)
    for honest in (true, true.reset_index(drop=True), true.set_axis([f"x{key}" for key in keys])):
        se.score(true, honest, "f1_micro")
    ev = se.Evaluator()
    with pytest.warns(se.DataWarning, match=r"write y_pred.loc\[y_true.index\]"):
        ev.update_many(true, true.iloc[::-1])
    ev.update_many(true, true.iloc[::-1])
    with pytest.warns(se.DataWarning, match="matched by position"):
        se.score(true["a"].map(lambda one: [one]), true.iloc[::-1]["b"].map(lambda one: [one, 2]), "f1_micro")


def test_data_frames_that_lack_different_rows_cause_a_warning():
    true, pred = (pd.crosstab([f"post {number:02}" for number in rows], "cat") for rows in (range(29), range(1, 30)))
    with pytest.warns(
        se.DataWarning, match=r"keys; write y_true, y_pred = y_true.align\(y_pred, axis=0, fill_value=0\)$"
    ):
        se.score(true, pred, "f1_micro")
    wide = true.align(pred, axis=0, fill_value=0)
    assert se.score(*wide, "f1_micro") == 28 / 29
    true, pred = (each["cat"].map(lambda one: [one]) for each in (true, pred))
    with pytest.warns(se.DataWarning, match=r"differ in 1 keys; .*align\(y_pred, axis=0, join='inner'\)$"):
        se.score(true, pred, "f1_micro", rows="labels")
    assert se.score(*true.align(pred, axis=0, join="inner"), "f1_micro", rows="labels") == 1


@pytest.mark.parametrize("name", ["weights", "mask", "where['a']", "times"])
@pytest.mark.parametrize("first", ["y_true", "y_pred"])
def test_weights_masks_slices_or_times_with_row_keys_in_another_order_cause_a_warning(name: str, first: str):
    keys = [f"row {number}" for number in range(4)]
    frame = pd.DataFrame({"a": [1, 0, 1, 0], "b": [0, 1, 1, 0]}, index=keys)
    sides = (frame if first == "y_true" else frame.to_numpy(), frame)
    calls: dict[str, Callable[[pd.DataFrame], object]] = {
        "weights": lambda more: se.score(*sides, "f1_micro", weights=more["b"]),
        "mask": lambda more: se.score(*sides, "f1_micro", mask=more),
        "where['a']": lambda more: se.Sliced(se.F1(), by="a").update_many(*sides, where=more),
        "times": lambda more: se.TimeRolling(se.F1(), 9).update_many(*sides, times=more["a"] * 0),
    }
    calls[name](frame)
    calls[name](frame.iloc[::-1].reset_index(drop=True))
    with pytest.warns(se.DataWarning) as caught:
        calls[name](frame.iloc[::-1])
    assert f"indexes of {first} and {name} hold the same keys in another order" in str(caught[0].message)


DAYS = pd.date_range("2020", periods=3)
ROW_KEYS = {
    "times with and without a zone": (DAYS, DAYS[::-1].tz_localize("UTC"), False),
    "times of two zones": (DAYS.tz_localize("UTC"), DAYS.tz_localize("UTC").tz_convert("Europe/Berlin")[::-1], True),
    "dates and times": ([day.date() for day in DAYS], DAYS[::-1], False),
    "naive and aware times": ([*DAYS[:2], DAYS[2].tz_localize("UTC")], [*DAYS[:2].tz_localize("UTC"), DAYS[2]], False),
    "integers and strings": ([7, 8, 9], ["7", "8", "9"], False),
    "keys that repeat": ([7, 7, 8], [7, 8, 8], False),
    "mixed keys": ([1, "a", None], ["a", 1, 2.5], False),
    "mixed keys in another order": ([1, "a", (2, 3)], [(2, 3), "a", 1], True),
    "levels": (pd.MultiIndex.from_tuples([(1, "a"), ("b", 2), (3, 4)]), [1, 2, 5], False),
    "lists": ([[1], [2], [3]], [[2], [1], [3]], False),
}


@pytest.mark.parametrize("kind", ROW_KEYS)
def test_row_keys_of_any_types_are_compared_without_a_warning_of_pandas(kind: str):
    *keys, are_same = ROW_KEYS[kind]
    frames = [
        pd.DataFrame(
            {"a": [1, 0, 1], "b": [0, 1, 1]}, index=each if isinstance(each, pd.Index) else pd.Index(each, dtype=object)
        )
        for each in keys
    ]
    for sides in (frames, frames[::-1]):
        with pytest.warns(se.DataWarning, match="matched by position") if are_same else nullcontext():
            se.Evaluator().update_many(*sides)


def test_merged_shards_and_a_ledger_of_them_warn_on_reading():
    total, ledger = se.Evaluator(["f1_micro"]), se.Ledger()
    for sequence in range(3):
        shard = se.Evaluator(["f1_micro"])
        suspected(shard.update)
        data = shard.to_bytes()
        total.merge(se.Evaluator.from_bytes(data))
        ledger.put("shard", sequence, data)
        with pytest.warns(se.DataWarning, match="differ in case") if not sequence else nullcontext():
            ledger.get()
    with pytest.warns(se.DataWarning, match="differ in case") as caught:
        total.get()
    total.get()
    assert len(caught) == len(ledger.warnings) == 1
