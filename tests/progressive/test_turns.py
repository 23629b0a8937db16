"""What other threads may do while an example is read or counted; hooks run them at exact places."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Mapping

import pytest

import streameval as se
from streameval.delivery import ledger as ledger_module

river = pytest.importorskip("streameval.adapters.river")


class Hooked(Mapping):
    """A mapping of labels that calls a hook once, while it is read."""

    def __init__(self, labels: dict[str, bool], hook: Callable[[], object]) -> None:
        self.labels, self.hooks = labels, [hook]

    def __getitem__(self, label: str) -> bool:
        return self.labels[label]

    def __iter__(self):
        while self.hooks:
            self.hooks.pop()()
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)


def in_thread(call: Callable[[], object]) -> Callable[[], None]:
    """A function that makes the call in a new thread, and raises what the thread raises."""

    def run() -> None:
        escaped: list[BaseException] = []

        def caught() -> None:
            try:
                call()
            except BaseException as error:  # raised again by the caller
                escaped.append(error)

        thread = threading.Thread(target=caught)
        thread.start()
        thread.join(10)
        assert not thread.is_alive(), "waits for ever"
        if escaped:
            raise escaped[0]

    return run


def in_place(call: Callable[[], object]) -> Callable[[], object]:
    return call


def traced() -> se.Trace:
    return se.Trace({"all": se.Evaluator(["f1_micro"]), "last": se.Rolling(se.F1(average="micro"), 10)}, every=1)


@pytest.mark.parametrize("where", [in_thread, in_place])
def test_examples_that_are_counted_while_another_is_read_have_rows_of_their_own(where):
    trace = traced()
    second = where(lambda: (trace.update({"a"}, {"a"}), trace.columns(), len(trace), trace.copy(), trace.record()))
    trace.update(Hooked({"a": True}, second), {"b"})
    assert trace.columns()["examples"] == [1, 2]
    assert trace.columns()["f1_micro [all]"] == trace.columns()["f1_micro [last]"] == [1.0, 0.5]
    assert [one.examples for one in trace.evaluators.values()] == [2, 2]


@pytest.mark.parametrize("where", [in_thread, in_place])
@pytest.mark.parametrize("make", [se.F1, lambda: se.Rolling(se.F1(), 5), traced])
def test_a_key_that_is_observed_again_while_its_truth_is_read_is_counted_once(where, make):
    pending = se.Pending(make())
    pending.predict(1, {"a": True})
    with pytest.raises(se.InputError, match="no prediction waits under key 1"):
        pending.observe(1, Hooked({"a": True}, where(lambda: pending.observe(1, {"a": True}))))
    assert getattr(pending.evaluator, "examples", 1) == 1
    assert pending.evaluator.get() in (1.0, {"f1_micro [all]": 1.0, "f1_micro [last]": 1.0})
    assert pending.keys() == []


@pytest.mark.parametrize("verb", ["merge", "update"])
def test_a_member_that_leaves_its_collection_while_an_example_is_read_counts_the_example(verb: str):
    both = river.MicroF1() + river.MacroF1()
    single = river.MicroF1()
    single.update({"a": True}, {"b": True})
    leave = {"merge": lambda: both[0].merge(single), "update": lambda: both[0].update({"a": True}, {"b": True})}[verb]
    both.update(Hooked({"a": True}, in_thread(leave)), {"a": True})
    assert [member.snapshot().examples for member in both] == [2, 1]
    both.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in both] == [3, 2]


@pytest.mark.parametrize("where", [in_thread, in_place])
def test_shards_that_are_put_while_another_one_is_put_are_in_the_total(where, monkeypatch):
    state, hooks, plain = se.F1(), [], ledger_module.digest
    state.update({"a"}, {"b"})

    def digest(data: bytes) -> bytes:
        while hooks:
            hooks.pop()()
        return plain(data)

    monkeypatch.setattr(ledger_module, "digest", digest)
    ledger = se.Ledger(se.F1())
    ledger.put("one", 1, state)
    assert ledger.examples == 1
    hooks.append(where(lambda: (ledger.put("two", 1, state), ledger.compact(["one", "two"]), ledger.get())))
    ledger.put("three", 1, state)
    assert ledger.examples == se.Ledger.from_bytes(ledger.to_bytes()).examples == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_guards_of_their_own(copied):
    pending = se.Pending(se.F1())
    pending.predict(1, {"a"})
    collection = river.MicroF1() + river.MacroF1(labels=["a"])
    for one in (traced(), pending, collection, se.Ledger(se.F1())):
        twin = copied(one)
        assert twin._guard is not one._guard
        with one._guard:
            in_thread(lambda twin=twin: repr(twin))()
        if hasattr(one, "_put") or one is collection:
            assert repr(twin) == repr(one)
