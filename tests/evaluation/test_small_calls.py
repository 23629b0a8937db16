"""The kernel counts rows of arrays directly (the fast path), with the same bytes as when the readers read them."""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval import kernel
from streameval.evaluation import core
from tests.support.effort import cases, crossed

compiled_only = pytest.mark.skipif(kernel.BACKEND != "compiled", reason="the numpy kernel leaves most to the readers")

SCORED = ("scored", "scored numbers", "ranked", "curves", "missing")
FAST = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
SLOW = ("f2", ">i8", ">f4", "g", "O")
HOLDERS = {
    "declared": lambda width, **more: se.Evaluator(["f1_macro"], labels=[f"l{at}" for at in range(width)], **more),
    "growing": lambda width, **more: se.Evaluator(labels=[f"l{at}" for at in range(width)], unknown="add", **more),
    "numbers": lambda width, **more: numbered(se.Evaluator(**more), width),
    "scored": lambda width, **more: se.Evaluator(
        ["ndcg", "roc_auc_macro"], labels=[f"l{at}" for at in range(width)], keep=["confusions"], ties="last", **more
    ),
    "ranked": lambda width, **more: noted(
        se.Evaluator(["ndcg", "roc_auc_macro"], labels=[f"l{at}" for at in range(width)], ties="last", **more), width
    ),
    "curves": lambda width, **more: noted(se.Evaluator(["roc_auc_macro"], labels=range(width), **more), width),
    "scored numbers": lambda width, **more: noted(se.Evaluator(["ndcg", "roc_auc_macro"], **more), width),
    "missing": lambda width, **more: se.Evaluator(["ndcg"], labels=range(width), nan="missing", **more),
    "metric": lambda width, **more: se.metric("f1", labels=range(width), **more),
}


class Wrapped(np.ndarray):
    """A subclass of `numpy.ndarray`, which the fast path declines, so that the readers read it."""


def numbered(ev: se.Evaluator, width: int, rows: int = 1) -> se.Evaluator:
    """The evaluator after an update with the labels 0, 1, 2, ..."""
    ev.update_many(np.ones((rows, width), np.int64).view(Wrapped), np.ones((rows, width), np.float32).view(Wrapped))
    return ev


def noted(ev: se.Evaluator, width: int) -> se.Evaluator:
    """The evaluator after it has noted so many examples that the fast path may count the next ones."""
    return numbered(ev, width, 20)


def laid(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another memory layout."""
    if layout == "strided":
        room = np.zeros(tuple(3 * size + 1 for size in values.shape), values.dtype)
        part = tuple(slice(1, 1 + 3 * size, 3) for size in values.shape)
        room[part] = values
        return room[part]
    if layout == "unaligned" and values.dtype != object:
        room = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
        room[...] = values
        return room
    made = values[::-1].copy()[::-1] if layout == "backwards" else values.copy("F" if layout == "F" else "C")
    made.setflags(write=layout != "read-only")
    return made


LAYOUTS = ("C", "F", "strided", "backwards", "read-only", "unaligned")
# Thresholds for the labels of all holders, in tenths: as float32, some are above the float64, some below.
BY_LABEL = {label: at % 11 / 10 for at in range(300) for label in (at, f"l{at}")}


def outcome(ev: Any, call: str, *sides: np.ndarray, **more: Any) -> tuple[object, bytes]:
    """The result of a call or the type of its error, and the bytes of the object after it."""
    try:
        said: object = getattr(ev, call)(*sides, **more)
    except se.StreamevalError as error:
        said = type(error)
    return said, ev.to_bytes()


@pytest.mark.parametrize(("holder", "threshold"), crossed(HOLDERS, [None, 0.5, 0.1, BY_LABEL]))
def test_the_fast_path_counts_arrays_like_the_readers(holder: str, threshold: Any):
    rng = np.random.default_rng(len(holder) + len(str(threshold)))
    taken = refused = 0
    scored = holder in SCORED  # the readers are slow for scores
    rounds = cases(150 if scored else 600)
    for _ in range(rounds):
        width = int(rng.choice([0, 1, 3, 3, 14, 14, 65, 14 if scored else 300]))
        rows = int(rng.choice([0, 1, 2, 2, 33, 33, 64, 65, 9 if scored else 700]))
        one = rng.random() < 0.3
        shape = (width,) if one else (rows, width)
        fast, slow = (HOLDERS[holder](width, threshold=threshold) for _ in "01")
        sides = []
        for side in "01":
            kind = str(rng.choice(FAST if rng.random() < 0.8 else SLOW))
            values = (rng.random(shape) < 0.3).astype(kind)
            if side == "1" and (scored or threshold) and values.dtype.kind == "f" and rng.random() < 0.7:
                values = (rng.integers(0, 11, shape) / 10).astype(kind)
            if values.size and rng.random() < 0.2 and kind != "?":
                bad = [2, 3, 100] + [-1] * (kind[-2:] not in ("u1", "u2", "u4", "u8"))
                bad += [np.nan, np.inf, -0.0, 1e-300] * (values.dtype.kind == "f")
                values.flat[rng.integers(values.size)] = rng.choice(np.array(bad, object))
            sides.append(laid(values, str(rng.choice(LAYOUTS))))
        before = [side.tobytes() for side in sides]
        held = slow.to_bytes()
        for call in ("update", "update", "revert") if one else ("update_many",) * 2:
            wanted = outcome(slow, call, *(side.view(Wrapped) for side in sides))
            assert outcome(fast, call, *sides) == wanted, (call, [(side.dtype, side.shape) for side in sides])
            assert wanted[0] is None or wanted[1] == held
            held = wanted[1]
            taken, refused = taken + (wanted[0] is None), refused + (wanted[0] is not None)
        assert [side.tobytes() for side in sides] == before
    assert taken > 1
    assert refused > 1 or rounds < 30


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the readers' functions that were called, because the fast path declined."""
    calls: list[str] = []
    for name in ("read_one", "read_many"):
        usual = getattr(core, name)
        monkeypatch.setattr(
            core,
            name,
            lambda *more, usual=usual, name=name, **options: (calls.append(name), usual(*more, **options))[1],
        )
    return calls


@compiled_only
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", FAST)
def test_the_fast_path_counts_plain_arrays_of_all_labels(slow_calls: list[str], kind: str, holder: str):
    for threshold in (None, 0.5, BY_LABEL):
        ev = HOLDERS[holder](3, threshold=threshold)
        true = np.array([[0, 1, 1], [1, 0, 0]]).astype(kind)
        scored = threshold is not None or holder in SCORED
        pred = np.array([[0, 1, 0], [1, 0, 1]]).astype("f4" if scored else kind)
        ev.update_many(np.tile(true, (10, 1)), np.tile(pred, (10, 1)))  # the first examples are noted
        slow_calls.clear()
        for layout in ("C", "strided", "read-only"):
            ev.update_many(laid(true, layout), laid(pred, "C" if scored else layout))
            ev.update(laid(true[0], layout), laid(pred[0], "C" if scored else layout))
            ev.revert(true[0], pred[0])
        # The fast path does not support rankings or curves together with pairs of labels.
        assert slow_calls == ["read_many"] * 3 * (holder == "scored")
        slow_calls.clear()
        ev.update_many(true.view(Wrapped), pred)
        ev.update(true[0].view(Wrapped), pred[0])
        assert slow_calls == ["read_many", "read_one"]


@compiled_only
@pytest.mark.parametrize("build", [lambda ev: se.Rolling(ev, 99), lambda ev: se.Tumbling(ev, size=99), lambda ev: ev])
@pytest.mark.parametrize("threshold", [0.5, BY_LABEL], ids=["one", "by label"])
def test_the_fast_path_of_windows_has_thresholds_of_labels_that_only_batches_mention(
    build: Any, threshold: Any, slow_calls: list[str]
):
    counts = build(se.Evaluator(["f1_micro"], threshold=threshold))
    for _ in range(2):
        counts.update_many(np.eye(20, dtype=np.int64), np.eye(20, dtype=np.float32))
    slow_calls.clear()
    counts.update_many(np.eye(20, dtype=np.int64), np.eye(20, dtype=np.float32))
    assert slow_calls == []


@compiled_only
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("threshold", [0.5, BY_LABEL], ids=["one", "by label"])
def test_rows_of_scores_are_counted_in_all_states_by_one_call(
    threshold: Any, kind: str, monkeypatch: pytest.MonkeyPatch
):
    for holder in ("ranked", "curves", "scored numbers"):
        ev, ours, theirs = (HOLDERS[holder](3, threshold=threshold) for _ in "012")
        row, labels = np.array([[0, 1, 1]]), ev.labels
        for each in (ev, ours, theirs) if threshold is BY_LABEL else ():
            each.update(row[0].view(Wrapped), np.ones(3, kind))  # caches the thresholds of the columns
            each.revert(row[0], np.ones(3, kind))
        monkeypatch.setattr(core.Core, "read", None)
        ev.update(row[0], np.array([0.1, 0.5, 0.4], kind))
        ev.update_many(np.tile(row, (64, 1)), np.ones((64, 3), kind))
        assert ev.examples == 85
        for truth in ({*labels[1:]}, [*labels[1:]], {**dict.fromkeys(labels, True), labels[0]: False}):
            ours.update(truth, np.array([0.1, 0.5, 0.4], kind))
            theirs.update(row[0], np.array([0.1, 0.5, 0.4], kind))
        assert ours == theirs
        before = ev.to_bytes()
        for scores in (np.array([0.1, 0.5, np.nan], kind), np.ones((1, 3), kind), np.ones(3, int)):
            for truth in (row[0], {labels[0]}):
                with pytest.raises(TypeError):  # the fast path declines, and calls the readers, which are None now
                    ev.update(truth, scores)
        assert ev.to_bytes() == before
        monkeypatch.undo()


NAMES = ["a", "b", 3, "c", -1, *"defghijklm", 8, "n", 40]
SCORES = (0.25, 0.5, 0.5, 0.75, 0.0, -0.0, 5e-324, 1e-310, -1.7e308, 2.0**60, 0.1)
ODD_SCORES = (0, 1, -3, 2**53 + 1, 10**400, True, None, "0.5", math.nan, math.inf, np.float64(0.5), np.float32(0.1))
ODD_TRUTHS = (2, None, math.nan, 1.0, "1", np.bool_(True), np.int64(1))
MAPPED = {
    "all": {"metrics": ["lrap", "roc_auc_macro", "f1_macro"], "threshold": 0.5, "labels": None},
    "unthresholded": {"metrics": ["ndcg", "roc_auc_macro"], "labels": NAMES},
    "rankings": {"metrics": ["lrap"], "labels": NAMES[:3], "unknown": "add"},
    "last": {"metrics": ["lrap", "f1_macro"], "threshold": 0.25, "ties": "last", "labels": NAMES},
    "last of any": {"metrics": ["ndcg", "roc_auc_macro"], "ties": "last", "labels": None},
    "curves": {"metrics": ["roc_auc_macro"], "labels": None, "label_limit": 18},
    "ignoring": {"metrics": ["roc_auc_macro", "f1_macro"], "threshold": 0.0, "labels": NAMES[:18], "unknown": "ignore"},
    "missing": {"metrics": ["ndcg", "roc_auc_macro"], "nan": "missing", "labels": NAMES},
    "by label": {
        "metrics": ["lrap", "roc_auc_macro", "f1_macro"],
        "labels": None,
        "threshold": {name: SCORES[at % 5] for at, name in enumerate(NAMES)},
    },
    "by label, declared": {"metrics": ["f1_macro"], "labels": NAMES, "threshold": [*SCORES, *SCORES][: len(NAMES)]},
}


def mapped(rng: np.random.Generator, size: int = len(NAMES)) -> tuple[object, dict[Any, object]]:
    """Truths in a random form, and scores of some labels in random order, sometimes with an unusual value."""
    names = [NAMES[at] for at in rng.permutation(size)]
    scores = {name: SCORES[rng.integers(len(SCORES))] for name in names[: rng.integers(size + 1)]}
    truths = {name: bool(rng.integers(2)) for name in names[rng.integers(size) :]}
    for side, odd in ((scores, ODD_SCORES), (truths, ODD_TRUTHS)):
        if side and rng.random() < 0.05:
            side[next(iter(side))] = odd[rng.integers(len(odd))]
        if rng.random() < 0.03:
            side[("new", True, 1.5, ("a",))[rng.integers(4)]] = 0.5 if odd is ODD_SCORES else True
    in_step = {name: bool(rng.integers(2)) for name in scores}
    positive = [name for name, value in truths.items() if value is True]
    forms = (truths, in_step, {*positive}, frozenset(positive), positive, tuple(positive))
    return forms[rng.integers(6)], scores


@compiled_only
@pytest.mark.parametrize("kind", MAPPED)
def test_the_fast_path_counts_mappings_of_scores_like_the_readers(kind: str, monkeypatch: pytest.MonkeyPatch):
    rng, usual, read = np.random.default_rng(len(kind)), core.Core.read, list[core.Core]()
    monkeypatch.setattr(core.Core, "read", lambda self, *more: (read.append(self), usual(self, *more))[1])
    fast, slow = (se.Evaluator(**MAPPED[kind]) for _ in "01")
    counted, by_kernel = [mapped(rng)], Counter[str]()
    for number in range(60 + cases(4_000)):
        true, pred = mapped(rng)
        call, more = "update" if number < 40 or rng.random() < 0.7 else "revert", {}
        if call == "revert" and rng.random() < 0.8:
            true, pred = counted[rng.integers(len(counted))]
        if rng.random() < 0.02:
            more = {"mask": {"a"}} if rng.random() < 0.5 else {"weight": 1}
        said = []
        read.clear()
        for ev in (fast, slow):
            ev._core.fast_path = ev._core._placed = ev is fast and number >= 40  # when enough examples are noted
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    said.append([str(getattr(ev, call)(true, pred, **more))])
                except (se.StreamevalError, TypeError) as error:
                    said.append([repr(error)])
            said[-1] += [str(warning.message) for warning in caught]
        assert said[0] == said[1], (call, true, pred)
        if said[0] == ["None"]:
            by_kernel[call] += len(read) < 2
            if call == "update":
                counted.append((true, pred))
            elif (true, pred) in counted:
                counted.remove((true, pred))
        assert fast.labels == slow.labels
        assert fast.to_bytes() == slow.to_bytes(), (call, true, pred)
    assert fast.input_summary == slow.input_summary
    assert repr(fast) == repr(slow)
    assert by_kernel["update"] > cases(4_000) // 6
    assert by_kernel["revert"] > cases(4_000) // 12


WINDOWS = {"examples": lambda ev: se.Rolling(ev, 6), "time": lambda ev: se.TimeRolling(ev, 3.0)}
ROWS = [kind for kind, options in MAPPED.items() if options["labels"] is NAMES]  # also tried with small batches
SLIDING = [*dict.fromkeys([*crossed(MAPPED, WINDOWS), *crossed(ROWS, WINDOWS)])]


def content_of(window: Any) -> list[object]:
    """The examples that a window stores, in their form in memory."""
    tape = window._now[0].tape
    parts = (*tape.contents(0, tape.examples), *tape.scores_of(0, tape.examples))
    return [part if part is None else (part.dtype, part.tolist()) for part in parts]


@compiled_only
@pytest.mark.parametrize(("kind", "span"), SLIDING)
def test_windows_slide_over_scores_in_one_kernel_call_like_state_by_state(
    kind: str, span: str, monkeypatch: pytest.MonkeyPatch
):
    rng, read = np.random.default_rng(len(kind)), list[core.Core]()
    for name in ("read", "scratch"):
        usual = getattr(core.Core, name)
        counting = lambda self, *more, usual=usual: (read.append(self), usual(self, *more))[1]  # noqa: E731
        monkeypatch.setattr(core.Core, name, counting)
    fast, slow = (WINDOWS[span](se.Evaluator(**MAPPED[kind])) for _ in "01")
    counted, by_kernel, t = list[Any](), Counter[str](), 0.0
    for number in range(60 + cases(6_000)):
        true, pred = mapped(rng, len(NAMES) if number // 70 % 2 else 3)
        wide = number // 50 % 2  # whether scores may need float64
        if kind in ROWS and rng.random() < 0.3:
            pred = (rng.integers(0, 10, len(NAMES)) / (10 if wide else 8)).astype("f8" if wide else "f4")
            true = rng.choice([0, 1], len(NAMES)) if rng.random() < 0.5 else {*NAMES[rng.integers(20) :]}
        elif not wide and {*map(type, pred.values())} == {float}:
            pred = {name: float(np.float32(max(score, -1.0))) for name, score in pred.items()}
        t += rng.choice([0, 0, 0.25, 0.5, 1, 2.5])
        call, when, more = "update", {"t": t} if span == "time" else {}, {}
        if rng.random() < 0.02:
            more = {"mask": {"a"}} if rng.random() < 0.5 else {"weight": 0.5}
        elif type(pred) is np.ndarray and type(true) is np.ndarray and rng.random() < 0.5:
            rows = int(rng.choice([1, 2, 3, 4, 5, 5, 6, 65]))
            call, true = "update_many", np.where(rng.random((rows, 1)) < 0.5, true, 0)
            factors = [0, 1, 1, np.nan] if rng.random() < 0.1 else [0.5, 1]
            pred = (pred * rng.choice(factors, (rows, 1))).astype(pred.dtype)
            when = {"times": t - rng.choice([0, 0.25, 4]) * np.arange(rows)[::-1]} if when else {}
        said = []
        read.clear()
        for window in (fast, slow):
            window._now[2].fast_path = window is fast
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    said.append([str(getattr(window, call)(true, pred, **when, **more))])
                except (se.StreamevalError, TypeError) as error:
                    said.append([repr(error)])
            said[-1] += [str(warning.message) for warning in caught]
        assert said[0] == said[1], (true, pred)
        assert content_of(fast) == content_of(slow)
        assert fast.to_bytes() == slow.to_bytes(), (true, pred)
        if said[0] == ["None"]:
            by_kernel[type(pred).__name__ if call == "update" else call] += len(read) < 2
            one = [(t, true, pred, more)]
            each = zip(when.get("times", [t] * len(pred)), true, pred, strict=True)
            counted += one if call == "update" else [(time, *sides, more) for time, *sides in each]
            counted = [row for row in counted if row[0] > t - 3.0] if when else counted[-6:]
        if number % 7 == 0:
            anew = se.Evaluator(**MAPPED[kind])
            for _, *sides, options in counted:
                anew.update(*sides, **options)
            assert fast.snapshot().to_bytes() == anew.to_bytes()
    assert fast.snapshot().input_summary == slow.snapshot().input_summary
    assert by_kernel["dict"] > cases(6_000) // 8
    if kind in ROWS:
        assert by_kernel["ndarray"] > cases(6_000) // 20
        assert by_kernel["update_many"] > cases(6_000) // 150


def test_a_revert_that_would_leave_an_example_with_more_labels_than_exist_is_refused():
    ev = se.Evaluator(["lrap"])
    for names in ("abcd", "a", "b", *"d" * 30):
        ev.update(set(), dict.fromkeys(names, 0.5))
    before = ev.to_bytes()
    with pytest.raises(se.RevertError):
        ev.revert(set(), {"c": 0.5})
    assert ev.to_bytes() == before
    ev.revert(set(), dict.fromkeys("abcd", 0.5))


@compiled_only
def test_rows_are_counted_like_by_the_readers_if_a_state_has_weights_or_the_fast_path_declines():
    row, scores = np.array([0, 1, 1]), np.array([0.1, 0.5, 0.4])
    weighted = HOLDERS["ranked"](3)
    for sides, weight in (((row, scores), 0.5), ((row, scores[::-1].copy()), 1.5)):
        weighted.update(*sides, weight=weight)
    weighted._core.states.compact()  # drops the weights of decisions, because they are equal to the counts
    for ev in (weighted, HOLDERS["ranked"](3, keep=["confusions"]), HOLDERS["scored"](3)):
        fast, slow = ev.copy(), ev.copy()
        for call, sides in (("update", (row, scores)), ("update_many", (row[None], scores[None]))):
            assert outcome(fast, call, *sides) == outcome(slow, call, *(side.view(Wrapped) for side in sides))


@compiled_only
def test_the_fast_path_counts_rows_for_river_metrics_and_windows_too(slow_calls: list[str]):
    river, row = pytest.importorskip("streameval.adapters.river"), np.array([0, 1, 1])
    for ev in (river.MicroF1(labels=[*"abc"]), se.Rolling(se.Evaluator(labels=[*"abc"]), size=2)):
        for _ in range(24):
            ev.update(row, row.astype(np.float32))
    assert slow_calls == []
    ev = se.Evaluator(["ndcg"])  # without declared labels
    for label in (2, 0, 1) * 8:
        ev.update({label}, np.array([0.1, 0.5, 0.4]))
    assert slow_calls == ["read_one"] * 3  # the examples that ``input_summary`` describes


@compiled_only
def test_the_fast_path_counts_tensors_of_torch(slow_calls: list[str], monkeypatch: pytest.MonkeyPatch):
    class Tensor:
        """The part of the interface of `torch.Tensor` that the package uses."""

        def __init__(self, array: np.ndarray, requires_grad: bool = False, layout: str = "strided") -> None:
            self.array, self.requires_grad, self.layout, self.dtype = array, requires_grad, layout, "torch.float32"

        def detach(self) -> Tensor:
            return Tensor(self.array, layout=self.layout)

        def numpy(self) -> np.ndarray:
            if self.requires_grad:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad")
            if self.layout != "strided":
                raise TypeError("can't convert Sparse layout tensor to numpy")
            return self.array

        def __array__(self, *more: Any) -> np.ndarray:
            raise AssertionError("not asked")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    true, scores = np.array([[0, 1], [1, 1]]), np.array([[0.2, 0.7], [0.9, 0.1]], np.float32)
    ev, expected = (se.Evaluator(labels=[*"ab"], threshold=0.5) for _ in "01")
    for one in (expected, ev):
        one.update_many(np.tile(true, (10, 1)), np.tile(scores, (10, 1)))  # the first examples are noted
    slow_calls.clear()
    ev.update_many(Tensor(true), Tensor(scores, requires_grad=True))
    ev.update(Tensor(true[0]), Tensor(scores[0], requires_grad=True))
    ev.update({"b"}, Tensor(scores[0]))
    ev.revert(Tensor(true[1]), scores[1])
    assert slow_calls == []
    expected.update_many(true, scores)
    expected.update_many(true[:1].repeat(2, 0), scores[:1].repeat(2, 0))
    expected.revert(true[1], scores[1])
    assert ev == expected
    with pytest.raises(se.InputError, match="to_dense"):
        ev.update(true[0], Tensor(scores[0], layout="sparse_coo"))
    with pytest.raises(se.InputError, match="to_dense"):
        ev.update_many(Tensor(true), Tensor(scores, layout="sparse_coo"))
    assert ev == expected


def test_objects_with_weights_or_a_limit_count_arrays_like_the_readers():
    rows = np.array([[0, 1, 1], [1, 0, 1]])
    weighted = se.Evaluator(labels=range(3))
    weighted.update(rows[0], rows[1], weight=0.5)
    limited = se.Evaluator(label_limit=2)
    for ev in (weighted, limited):
        fast, slow = ev.copy(), ev.copy()
        for call, sides in (("update_many", (rows, rows[::-1])), ("update", (rows[0], rows[1]))):
            assert outcome(fast, call, *sides) == outcome(slow, call, *(side.view(Wrapped) for side in sides))
    with pytest.raises(se.InputError, match="threads"):
        weighted.update_many(rows, rows, threads=0)


def test_arrays_after_names_or_arrays_of_other_widths_are_counted_like_by_the_readers():
    rows = np.array([[0, 1, 1], [1, 0, 1]])
    firsts = [{"a"}, {"b", "c"}], np.ones((2, 2), int), [{0, 2}, {1}], [[0, 1, 2]], [[2]], np.ones((2, 4), int), []
    for first, last in product(firsts, repeat=2):
        outcomes = []
        for kind in (np.ndarray, Wrapped):
            ev, said = se.Evaluator(), []
            for call, *sides in (
                ("update_many", first, first), ("update_many", rows.view(kind), rows[::-1].view(kind)),
                ("update", rows[0].view(kind), rows[1].view(kind)), ("update_many", last, last),
                ("revert", rows[0].view(kind), rows[1].view(kind)), ("update_many", [{"new"}], [{"new"}]),
            ):  # fmt: skip
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    said.append((*outcome(ev, call, *sides), [str(warning.message) for warning in caught]))
            outcomes.append(said)
        assert outcomes[0] == outcomes[1]
