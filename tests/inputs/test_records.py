"""An object remembers the width of rows without names, and whether labels were strings."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import streameval as se
from streameval.evaluation.value import fresh_of
from tests.support.each import with_each
from tests.support.effort import crossed

ROW, NARROW, WIDE = np.array([1, 0, 1]), np.array([1, 0]), np.array([1, 0, 1, 0])


def updates(example: Any) -> Callable[[Any], None]:
    return lambda ev: ev.update(example, example)


def batches(example: Any) -> Callable[[Any], None]:
    return lambda ev: ev.update_many([example] * 2, [example] * 2)


def matrices(example: Any) -> Callable[[Any], None]:
    return lambda ev: ev.update_many(np.stack([example] * 2), np.stack([example] * 2))


def sparse_matrices(example: Any) -> Callable[[Any], None]:
    return lambda ev: ev.update_many(sparse.csr_array(np.stack([example])), sparse.csr_array(np.stack([example])))


class BySlice(se.Sliced):
    """Slices that put successive examples into different slices, so that each is the first of its slice."""

    def update(self, y_true: Any, y_pred: Any, **keywords: Any) -> None:
        super().update(y_true, y_pred, where={"n": self.total().examples}, **keywords)

    def update_many(self, y_true: Any, y_pred: Any, **_: Any) -> None:
        first, examples = self.total().examples, getattr(y_true, "shape", [2])[0]
        super().update_many(y_true, y_pred, where={"n": list(range(first, first + examples))})


HOLDERS: dict[str, Callable[[], Any]] = {
    "evaluator": se.Evaluator,
    "metric": se.F1,
    "rolling": lambda: se.Rolling(se.Evaluator(), size=2),
    "tumbling": lambda: se.Tumbling(se.Evaluator(), size=1, history=9),
    "sliced": lambda: BySlice(se.Evaluator(), by="n"),
}
READS = [updates, batches, matrices, sparse_matrices]


@contextmanager
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@with_each("make", HOLDERS.values())
@with_each("read", READS)
def test_wider_rows_in_later_calls_add_labels_and_narrower_rows_cause_one_warning(make: Any, read: Any):
    holder = make()
    with silent():
        read(ROW)(holder)
        read(WIDE)(holder)
    before = holder.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", se.DataWarning)
        with pytest.raises(se.DataWarning, match="has 2 columns without names, but rows before had 4"):
            read(NARROW)(holder)
        assert holder.to_bytes() == before
        read(NARROW)(holder)
        read(ROW)(holder)
        read(NARROW)(holder.copy())
    assert holder.to_bytes() != before


@with_each("make", HOLDERS.values())
@with_each("read", READS)
@with_each("name", [updates, batches])
def test_rows_without_names_and_string_labels_exclude_each_other(make: Any, read: Any, name: Any):
    for first, second in ((read(ROW), name({"a", 1})), (name({"a", 1}), read(ROW))):
        holder = make()
        first(holder)
        before = holder.to_bytes()
        for one in (holder, holder, holder.copy()):
            with pytest.raises(se.InputError, match=r"strings, but|but the labels are strings"):
                second(one)
        assert holder.to_bytes() == before
        first(holder)
        holder.reset()
        second(holder)


def by_pending(ev: Any, y_true: Any, y_pred: Any) -> None:
    pending = se.Pending(ev)
    pending.predict(0, y_pred)
    pending.observe(0, y_true)


@pytest.mark.parametrize("read", [updates, batches])
def test_an_object_that_reverted_every_example_accepts_the_same_input_as_an_equal_object(read: Any):
    ev, sliced, names = se.Evaluator(), BySlice(se.Evaluator(), by="n"), {"a", 1}
    for holder, take_back in (
        (ev, lambda: ev.revert(ROW, ROW)),
        (ev, lambda: ev.unmerge(ev.copy())),
        (sliced, lambda: sliced.revert(ROW, ROW, where={"n": 0})),
        (sliced, lambda: sliced.unmerge(sliced.copy())),
    ):
        for first, second in ((ROW, names), (names, ROW)):
            holder.reset()
            holder.update(first, first)
            if first is ROW:
                take_back()
            else:
                holder.unmerge(holder.copy())
            assert holder == fresh_of(holder)
            read(second)(holder)
    for count in (by_pending, lambda ev, *example: se.Trace(ev).update(*example)):
        ev.reset()
        ev.update(ROW, ROW)
        ev.revert(ROW, ROW)
        count(ev, names, names)
        assert ev.labels == (1, "a")


@pytest.mark.parametrize("first", [ROW, {"a", 1}])
@pytest.mark.parametrize(
    "make",
    [
        lambda: se.TimeRolling(se.Evaluator(), period=1.0),
        lambda: se.Tumbling(se.Evaluator(), period=1.0),
        lambda: se.Fading(se.Evaluator(), half_life=1.0),
    ],
)
def test_a_window_that_evicted_every_example_accepts_the_same_input_as_an_equal_object(make: Any, first: Any):
    second = {"a", 1} if first is ROW else ROW
    for many in (False, True):
        window, fresh = make(), make()
        window.update(first, first, t=0.0)
        for one in (window, fresh):
            one.advance(100.0)
        assert window == fresh
        if many:
            window.update_many([second], [second], times=[100.0])
        else:
            window.update(second, second, t=100.0)
        assert window.examples == 1


def emptied(counting: Any, first: Any) -> Any:
    """The object after it has counted an example and unmerged or evicted it."""
    if getattr(counting, "timed", False):
        counting.update(first, first, t=0.0)
        counting.advance(100.0)
    else:
        counting.update(first, first)
        counting.unmerge(counting.copy())
    return counting


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    "make",
    [se.Evaluator, lambda: BySlice(se.Evaluator(), by="n"), lambda: se.TimeRolling(se.Evaluator(), period=1.0)],
)
def test_strings_are_refused_after_nameless_rows_even_if_earlier_examples_had_these_strings(make: Any, many: bool):
    counting = emptied(make(), {"a", 1})
    time = {"t": 100.0} if getattr(counting, "timed", False) else {}
    counting.update(ROW, ROW, **time)
    before = counting.to_bytes()
    times, names = {"times": [100.0]} if time else {}, {"a", 1}
    count = (
        (lambda: counting.update_many([names], [names], **times))
        if many
        else lambda: counting.update(names, names, **time)
    )
    with pytest.raises(se.InputError, match="columns without names were counted before"):
        count()
    assert counting.to_bytes() == before


FAILING: dict[str, Callable[[Any], None]] = {
    "label": lambda ev: ev.update({"a"}, {2.5}),
    "value": lambda ev: ev.update({"a": True}, {"a": "x"}),
    "mask": lambda ev: ev.update({"a": True}, {"a": False}, mask={2.5}),
    "batch": lambda ev: ev.update_many([{"a"}], [{2.5}]),
}


class AtOnce(se.TimeRolling):
    """A window whose examples all have the same time."""

    def update(self, y_true: Any, y_pred: Any, **keywords: Any) -> None:
        super().update(y_true, y_pred, t=0.0, **keywords)

    def update_many(self, y_true: Any, y_pred: Any, **_: Any) -> None:
        super().update_many(y_true, y_pred, times=[0.0] * len(y_true))


@with_each("fail", FAILING.values())
@with_each("counted", [None, {0: True}])
@with_each(
    "make",
    [
        *HOLDERS.values(),
        lambda: AtOnce(se.Evaluator(), period=9.0),
        lambda: se.Evaluator(threshold=0.5),
        lambda: se.Evaluator(["roc_auc_macro"]),
    ],
)
def test_strings_are_refused_after_nameless_rows_even_if_a_failed_call_had_these_strings(
    make: Any, counted: Any, fail: Any
):
    holder = make()
    value = 0.7 if getattr(holder, "reads_scores", False) else 1.0
    if counted is not None:
        holder.update(counted, dict.fromkeys(counted, value))
    with pytest.raises(se.InputError):
        fail(holder)
    holder.update(ROW, ROW * value)
    before = holder.to_bytes()
    for keywords in ({}, {"weight": 2.0}):
        with pytest.raises(se.InputError, match="columns without names were counted before"):
            holder.update({"a": True}, {"a": value}, **keywords)
    assert holder.to_bytes() == before


def plain(ev: Any) -> None:
    ev.update({"a"}, {"a"})


def weighted(ev: Any) -> None:
    ev.update({"a"}, {"a"}, weight=2.0)


@with_each("count", [plain, weighted, batches({"a"})])
@with_each("make", HOLDERS.values())
def test_strings_that_were_refused_after_nameless_rows_are_refused_again(make: Any, count: Any):
    holder = make()
    for _ in range(120):  # so that the fast path counts
        holder.update(ROW, ROW)
    before = holder.to_bytes()
    for _ in range(3):
        with pytest.raises(se.InputError, match="columns without names were counted before"):
            count(holder)
    assert holder.to_bytes() == before
    holder.update(ROW, ROW)


@with_each("fail", FAILING.values())
@with_each("count", [plain, weighted, batches({"a"})])
@pytest.mark.parametrize(
    ("examples", "make"),
    crossed(
        [50, 100],
        [
            *(HOLDERS[name] for name in ("evaluator", "metric", "sliced")),
            lambda: se.Rolling(se.Evaluator(), size=999),
            lambda: se.Tumbling(se.Evaluator(), size=999),
            lambda: AtOnce(se.Evaluator(), period=9.0),
        ],
    ),
)
def test_a_nameless_row_is_refused_after_strings_that_were_first_in_a_failed_call(
    make: Any, examples: int, count: Any, fail: Any
):
    holder = make()
    for _ in range(examples):  # so that the fast path counts
        holder.update(set(), set())
    with pytest.raises(se.InputError):
        fail(holder)
    count(holder)
    before = holder.to_bytes()
    rows = make()
    rows.update(ROW, ROW)
    if not isinstance(holder, (se.Rolling, se.TimeRolling)):
        with pytest.raises(se.MergeError, match="columns without names"):
            rows.merge(holder)
    for _ in range(2):
        with pytest.raises(se.InputError, match="but the labels are strings"):
            holder.update(ROW, ROW)
    assert holder.to_bytes() == before


def test_strings_are_refused_after_nameless_rows_even_if_a_pending_prediction_has_these_strings():
    ev = se.Evaluator()
    ev.update({1}, {1})
    se.Pending(ev).predict("id", {"a"})
    ev.update(ROW, ROW)
    with pytest.raises(se.InputError, match="columns without names were counted before"):
        ev.update({"a"}, {"a"})


@pytest.mark.parametrize(("first", "second"), [(ROW, {"a", 1}), ({"a", 1}, ROW)])
@pytest.mark.parametrize(
    "make",
    [
        se.Evaluator,
        lambda: BySlice(se.Evaluator(), by="n"),
        lambda: se.TimeRolling(se.Evaluator(), period=1.0),
        lambda: se.Tumbling(se.Evaluator(), period=1.0),
        lambda: se.Fading(se.Evaluator(), half_life=1.0),
    ],
)
def test_an_emptied_object_merges_with_the_same_objects_as_an_equal_object(make: Any, first: Any, second: Any):
    whole = make()
    whole.update(second, second, **({"t": 100.0} if getattr(whole, "timed", False) else {}))
    into, of = emptied(make(), first), whole.copy()
    into.merge(whole)
    of.merge(emptied(make(), first))
    assert into == of == whole
    for one in (into, of):  # both remember the form of the examples that they hold
        with pytest.raises(se.InputError, match=r"strings, but|but the labels are strings"):
            one.update(first, first, **({"t": 100.0} if getattr(whole, "timed", False) else {}))


@pytest.mark.parametrize("read", READS)
def test_a_nameless_row_is_refused_after_strings_that_were_loaded_or_merged(read: Any):
    names = se.Evaluator()
    names.update({"a", 0, 1, 2}, {"a"})
    loaded, merged, late = se.Evaluator.from_bytes(names.to_bytes()), se.Evaluator(), se.Evaluator()
    merged.merge(loaded)
    late.update({0}, {1})
    late.merge(names)
    early, integers = names.copy(), se.Evaluator()
    integers.update_many([{0}], [{1}])
    early.merge(integers)
    for ev in (loaded, merged, late, early):
        with pytest.raises(se.InputError, match="but the labels are strings"):
            read(ROW)(ev)
    rows = se.Evaluator()
    read(ROW)(rows)
    for one, two in ((rows, names), (names, rows), (rows.copy(), names.copy())):
        with pytest.raises(se.MergeError, match="columns without names"):
            one.merge(two)
    merged = se.Evaluator()
    merged.merge(rows)
    with pytest.raises(se.InputError, match="strings, but"):
        merged.update({"a"}, {"a"})


@pytest.mark.parametrize("read", READS)
@with_each("make", HOLDERS.values())
def test_a_nameless_row_is_refused_if_any_part_of_a_loaded_object_has_strings(make: Any, read: Any):
    holder = make()
    for example in ({"a"}, {0}):
        holder.update(example, example)
    loaded = type(holder).from_bytes(holder.to_bytes())
    for one in (holder, loaded, loaded.copy()):
        with pytest.raises(se.InputError, match="but the labels are strings"):
            read(ROW)(one)
    assert loaded == holder


MERGING: dict[str, Callable[[], Any]] = {
    "evaluator": se.Evaluator,
    "metric": se.F1,
    "sliding": lambda: se.TimeRolling(se.Evaluator(), period=99.0),
    "tumbling": lambda: se.Tumbling(se.Evaluator(), period=1.0, history=9),
    "fading": lambda: se.Fading(se.Evaluator(), half_life=1.0),
    "sliced": lambda: se.Sliced(se.Evaluator(), by="n"),
    "ledger": lambda: se.Ledger(se.Evaluator()),
}


def loaded(holder: Any) -> Any:
    return type(holder).from_bytes(holder.to_bytes())


def looked_at(holder: Any) -> Any:
    result = loaded(holder)
    assert result.warnings == ()
    return result


def counted_at(holder: Any, place: int, example: Any, *, many: bool = False) -> Any:
    """The object after it has counted an example in the slice, at the time or in the shard with number ``place``."""
    if isinstance(holder, se.Ledger):
        holder.put(place, 0, counted_at(se.Evaluator(), place, example, many=many))
        return holder
    timed = {"times": [place], "t": place} if getattr(holder, "timed", False) else {}
    sliced = {"where": {"n": [place] if many else place}} if isinstance(holder, se.Sliced) else {}
    how = {name: value for name, value in (timed | sliced).items() if name != ("t" if many else "times")}
    if not many:
        holder.update(example, example, **how)
    elif isinstance(example, set):
        holder.update_many([example], [example], **how)
    else:
        holder.update_many(example[None], example[None], **how)
    return holder


@with_each("many", [False, True])
@with_each("start", [lambda holder: holder, loaded, looked_at])
@pytest.mark.parametrize(("first", "name"), crossed(["names", "rows"], MERGING))
def test_nameless_rows_and_strings_exclude_each_other_after_merges_of_loaded_objects(
    name: str, first: str, start: Any, many: bool
):
    make, before, after = MERGING[name], *(({"a"}, ROW) if first == "names" else (ROW, {"a"}))
    known = counted_at(make(), 1, before)
    other = counted_at(make(), 2, {0})
    pairs = [(known, start(other)), (start(other), known), (known, make()), (make(), known)]
    if first == "names":
        pairs += [(loaded(known), start(other)), (start(other), loaded(known)), (make(), loaded(known))]
    for one, two in pairs:
        merged = one.copy()
        merged.merge(two)
        merged = merged.total() if name == "ledger" else merged
        for reading in (merged, merged.copy()):
            state = reading.to_bytes()
            with pytest.raises(se.InputError, match=r"strings, but|but the labels are strings"):
                counted_at(reading, 3, after, many=many)
            assert reading.to_bytes() == state


@with_each("start", [loaded, looked_at])
@pytest.mark.parametrize("name", [name for name in MERGING if name != "ledger"])
def test_an_object_with_nameless_rows_does_not_merge_with_loaded_strings(name: str, start: Any):
    rows, names = counted_at(MERGING[name](), 1, ROW), start(counted_at(MERGING[name](), 2, {"a"}))
    for one, two in ((rows, names), (names, rows)):
        before = one.to_bytes(), two.to_bytes()
        with pytest.raises(se.MergeError, match="columns without names"):
            one.merge(two)
        assert (one.to_bytes(), two.to_bytes()) == before
    counted_at(rows, 3, ROW)
    counted_at(names, 3, {"a"})


@pytest.mark.parametrize("name", [name for name in MERGING if name != "ledger"])
def test_merging_an_object_of_another_class_is_refused_after_examples_were_counted(name: str):
    river = pytest.importorskip("streameval.adapters.river", exc_type=ImportError)
    holder = counted_at(MERGING[name](), 1, {"a"})
    collection = pickle.loads(pickle.dumps(river.MicroF1() + river.MacroF1()))
    collection.update({"a": True}, {"a": True})
    for other in (collection, se.Trace(se.F1()), [holder]):
        with pytest.raises(se.MergeError, match="cannot merge"):
            holder.merge(other)


@pytest.mark.parametrize("name", [name for name in MERGING if name != "ledger"])
def test_nameless_rows_are_refused_if_loaded_strings_are_merged_while_the_rows_are_read(name: str):
    holder, names = MERGING[name](), loaded(counted_at(MERGING[name](), 1, {"a"}))

    def rows() -> Iterator[Any]:
        holder.merge(names)
        yield ROW

    how = {"times": [2]} if getattr(holder, "timed", False) else {}
    how |= {"where": {"n": [2]}} if isinstance(holder, se.Sliced) else {}
    with pytest.raises(se.InputError, match="but the labels are strings"):
        holder.update_many(rows(), [ROW], **how)
    assert holder == names


def test_sets_mix_strings_and_integers_and_declared_labels_have_their_width():
    with silent():
        ev = se.Evaluator()
        for example in ({0, 1}, {"a"}, {0: True, "b": False}, [3, "a"]):
            ev.update(example, example)
            ev.update_many([example], [example])
        rows = se.Evaluator()
        rows.update(ROW, {3, 7})
        rows.update({3}, {0})
    declared = se.Evaluator(labels=["a", "b", "c"])
    declared.update(ROW, {"a"})
    for row in (NARROW, WIDE):
        with pytest.raises(se.InputError, match="3 declared labels"):
            declared.update(row, row)


def test_rows_of_different_width_are_refused_within_a_call_and_named():
    ev = se.Evaluator()
    with pytest.raises(se.InputError, match=r"y_true has rows of 3 columns and of 2; an array is one row"):
        ev.update_many([ROW, NARROW], [ROW, NARROW])
    with pytest.raises(se.InputError, match="y_true has 3 columns and y_pred has 2"):
        ev.update(ROW, NARROW)
    ev.update({"a"}, {"a"})
    assert ev.labels == ("a",)
