"""Cells and commits, of the compiled kernel and of the numpy one."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import Counter
from typing import Any, NamedTuple

import pytest

from streameval import StreamevalError, kernel
from streameval.kernel.commit import numpy as twin

TWINS: list[Any] = [twin]
if kernel.BACKEND == "compiled":
    from streameval.kernel.commit import compiled

    TWINS.append(compiled)

both_twins = pytest.mark.parametrize("commit", TWINS, ids=lambda module: module.__name__.rpartition(".")[2])
needs_compiled = pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")


class Sums(NamedTuple):
    """Integer sums in units of ``2**-scale``."""

    scale: int
    sums: dict[Any, Any]


class Value:
    """A value that can be referenced weakly, and whose sum with any number is 0."""

    def __add__(self, other: int) -> int:
        return 0


@both_twins
def test_prepared_changes_take_effect_only_at_the_commit(commit: Any):
    root = commit.Root()
    first, second = root.cell(Sums(0, {"a": 1})), root.cell((1, 2))
    parts = [first.prepare_add([({"a": 4, "b": 7}, 0, 1)]), second.prepare_store((3,))]
    assert {key: value for key, value in first.value.sums.items() if value} == {"a": 1}
    assert second.value == (1, 2)
    root.commit(parts)
    assert (first.value.sums, second.value) == ({"a": 5, "b": 7}, (3,))


@both_twins
def test_amounts_are_added_at_the_commit_to_entries_that_may_be_new(commit: Any):
    root = commit.Root()
    cell = root.cell(Sums(3, {"a": 1, "c": 2**70}))
    for factor, expected in ((1, {"a": 4, "b": 5, "c": 2**70}), (-(2**65), {"a": 4 - 3 * 2**65, "b": 5 - 5 * 2**65})):
        part = cell.prepare_add([({"a": 3, "b": 5}, 3, factor)])
        assert cell.value.sums.get("a") == 1 or factor < 0
        root.commit([part])
        assert cell.value == Sums(3, {"c": 2**70, **expected})


@both_twins
def test_amounts_of_one_part_for_the_same_entry_add_up(commit: Any):
    root = commit.Root()
    cell = root.cell(Sums(2, {"a": 1, "d": 6}))
    amounts = {"a": 1, "b": 1}, {"b": 3, "c": 1, "d": 2}, Counter("baaaaa")
    root.commit([cell.prepare_add(list(zip(amounts, (2, 2, 1), (2**70, -3, 2), strict=True)))])
    assert {key: value for key, value in cell.value.sums.items() if value} == {
        "a": 1 + 2**70 + 20, "b": 2**70 - 9 + 4, "c": -3,
    }  # fmt: skip
    assert root.commit([cell.prepare_add([])]) is None
    assert cell.value.sums["c"] == -3
    assert cell.prepare_add([({"a": 1}, 2, 1), ({"a": 1}, 3, 1)]) is None


@both_twins
def test_parts_are_committed_in_their_order(commit: Any):
    root = commit.Root()
    cell = root.cell(0)
    root.commit([cell.prepare_store(value) for value in range(1, 5)])
    assert cell.value == 4


@both_twins
def test_one_commit_changes_cells_of_several_roots(commit: Any):
    roots = [commit.Root() for _ in range(3)]
    cells = [root.cell(place) for place, root in enumerate(roots)]
    commit.Root.commit([cell.prepare_store(cell.value + 10) for cell in cells[:2]])
    assert [cell.value for cell in cells] == [10, 11, 2]
    cells.append(roots[0].cell("added"))
    roots[2].commit([cells[0].prepare_store("a"), cells[2].prepare_store("b")])
    assert [cell.value for cell in cells] == ["a", 11, "b", "added"]


@both_twins
def test_states_are_retired_by_the_commit_that_replaces_them(commit: Any):
    root, guard = commit.Root(), commit.Guard()
    root.guard, cell, now = guard, root.cell("old"), commit.Root().cell(root)
    parts = [now.prepare_store("new"), root.prepare_retire()]
    assert root.guard is guard
    root.commit(parts)
    assert (root.guard, now.value, cell.value) == (commit.RETIRED, "new", "old")
    assert not root.guard.begin()


@both_twins
def test_parts_that_are_never_committed_change_nothing(commit: Any):
    root = commit.Root()
    old, new = Value(), Value()
    cell, entries = root.cell(old), root.cell(Sums(0, {1: old}))
    before = sys.getrefcount(old), sys.getrefcount(new)
    cell.prepare_store(new)
    entries.prepare_add([({1: 1}, 0, 1)])
    assert cell.value is old
    assert entries.value.sums == {1: old}
    assert (sys.getrefcount(old), sys.getrefcount(new)) == before


@both_twins
def test_a_failing_prepare_changes_nothing(commit: Any):
    root = commit.Root()
    cell = root.cell(Sums(0, {"a": 1}))
    changes = dict.fromkeys(["a", "b"], 2)
    with pytest.raises((TypeError, AttributeError)):
        root.commit([cell.prepare_add([(changes, 0, 1)]), cell.prepare_add([(None, 0, 1)]), cell.prepare_store({})])
    assert {key: value for key, value in cell.value.sums.items() if value} == {"a": 1}


@both_twins
def test_an_object_that_is_no_part_is_refused_before_anything_changes(commit: Any):
    root = commit.Root()
    cell = root.cell(1)
    with pytest.raises(TypeError):
        root.commit([cell.prepare_store(2), None])
    assert cell.value == 1


@needs_compiled
def test_a_second_commit_of_a_part_has_no_effect():
    root = compiled.Root()
    cell = root.cell(1)
    part = cell.prepare_store(2)
    root.commit([part])
    root.commit([cell.prepare_store(3)])
    root.commit([part])
    assert cell.value == 3


@needs_compiled
def test_replaced_values_are_released_with_the_parts_of_a_commit():
    root, gone = compiled.Root(), []
    value, entry = Value(), Value()
    for one in (value, entry):
        weakref.finalize(one, gone.append, True)
    cell, entries = root.cell(value), root.cell(Sums(0, {"a": entry}))
    parts = [cell.prepare_store(None), entries.prepare_add([({"a": 1}, 0, 1)])]
    del value, entry, one
    root.commit(parts)
    assert not gone
    parts.clear()
    assert gone == [True, True]


@needs_compiled
def test_a_commit_allocates_nothing():
    root = compiled.Root()
    cells = [root.cell(Sums(0, {(column, 1): column + 2**70 for column in range(40)})) for _ in range(9)]
    stores = [root.cell(2**80 + place) for place in range(9)]
    commit, collected = root.commit, []
    changes = {(column, 1): 2**75 + column for column in range(60)}
    parts = [cell.prepare_add([(changes, 0, 1)]) for cell in cells] + [cell.prepare_store(2**90) for cell in stores]
    count, blocks = sys.getallocatedblocks, []
    callback = lambda *_: collected.append(True)  # noqa: E731
    usual = gc.get_threshold()
    gc.collect()
    try:
        gc.set_threshold(1, 1, 1)
        before = count()
        commit(parts)
        after = count()
        gc.callbacks.append(callback)
        commit(parts)
    finally:
        gc.set_threshold(*usual)
        while callback in gc.callbacks:
            gc.callbacks.remove(callback)
    blocks.append(after - before)
    assert blocks[0] <= 1, "the count itself may take one"
    assert not collected
    assert cells[0].value.sums == {key: value + (key[0] + 2**70) * (key[0] < 40) for key, value in changes.items()}
    assert stores[0].value == 2**90


@both_twins
def test_a_thread_can_read_guards_again_that_it_reads(commit: Any):
    one, two = commit.Guard(), commit.Guard()
    with commit.Guards((), (one, two)):
        with commit.Guards((), (two, one)), commit.Guards((), (one, two)):
            pass
        with (
            pytest.raises(StreamevalError, match="is being changed by this thread itself"),
            commit.Guards((one,), (two,)),
        ):
            pass
    with commit.Guards((one, two)):
        pass
    assert (one.version, two.version) == (1, 1)


def test_a_thread_that_has_ended_holds_no_guard():
    """A signal handler that raises can end a call of the numpy guard halfway, and with it the thread."""
    guard = twin.Guard()
    thread = threading.Thread(target=guard.begin)
    thread.start()
    thread.join()
    with guard:
        pass
