"""Threads that wait for a guard take it in the order of their arrival, with either implementation."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kernel.commit.test_twins import TWINS
from tests.support.exploring import LONG, forked

pytestmark = pytest.mark.parametrize("commit", TWINS, ids=lambda module: module.__name__.rpartition(".")[2])


class Waiter:
    """A thread that waits in the queue of a guard, and pauses in its second sleep until ``go_on`` is set."""

    def __init__(self, commit: Any, guard: Any, patch: pytest.MonkeyPatch) -> None:
        self.queued, self.go_on, self.entered, self.slept = threading.Event(), threading.Event(), threading.Event(), 0
        self.thread, self.after = threading.Thread(target=self._run, args=(guard,), daemon=True), lambda: None
        sleep = commit.sleep

        def stand(seconds: float) -> None:
            if threading.current_thread() is not self.thread:
                sleep(seconds)
                return
            self.slept += 1
            if self.slept == 2:
                self.queued.set()
                assert self.go_on.wait(LONG)
                self.after()
            sleep(seconds)

        patch.setattr(commit, "sleep", stand)
        self.thread.start()
        assert self.queued.wait(LONG)

    def _run(self, guard: Any) -> None:
        try:
            with guard:
                self.entered.set()
        except KeyboardInterrupt:
            pass


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def test_a_loop_of_updates_without_a_pause_lets_a_reader_take_the_guard(commit: Any):
    guard, entered = commit.Guard(), threading.Event()

    def read() -> None:
        with guard.reading:
            entered.set()

    reader, rounds = threading.Thread(target=read), 0
    with guard:
        reader.start()
        time.sleep(0.002)
    while not entered.is_set() and rounds < 500:
        with guard:
            rounds += 1
            time.sleep(0.0005)
    reader.join(LONG)
    assert rounds < 100


def test_waiting_threads_take_a_guard_in_order_of_arrival(commit: Any):
    guard, order, threads = commit.Guard(), list[int](), []
    guard.begin()
    with pytest.MonkeyPatch.context() as patch:
        sleeping: dict[int, int] = {}
        sleep = commit.sleep

        def noted(seconds: float) -> None:
            me = threading.get_ident()
            sleeping[me] = sleeping.get(me, 0) + 1
            sleep(seconds)

        patch.setattr(commit, "sleep", noted)

        def enter(number: int) -> None:
            with guard:
                order.append(number)

        for number in range(5):
            threads.append(threading.Thread(target=enter, args=(number,)))
            threads[-1].start()
            while sleeping.get(threads[-1].ident, 0) < 3:  # type: ignore[arg-type]
                time.sleep(0.0001)
        leave(guard)
        for thread in threads:
            thread.join(LONG)
    assert order == [*range(5)]


def leave(guard: Any) -> None:
    """Release a guard that was taken with ``begin``."""
    guard.__exit__(None, None, None)


def test_a_waiter_that_misses_its_turn_delays_the_rest_once_and_for_a_bounded_time(
    commit: Any, monkeypatch: pytest.MonkeyPatch
):
    guard = commit.Guard()
    with guard:
        waiter = Waiter(commit, guard, monkeypatch)
    with within(5), guard:
        assert not waiter.entered.is_set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "sleep", None)
        for _ in range(3):
            with guard, guard.reading:
                pass
    waiter.go_on.set()
    waiter.thread.join(LONG)
    assert waiter.entered.is_set()
    assert guard.version == 6


def test_an_interrupted_waiter_leaves_the_queue(commit: Any, monkeypatch: pytest.MonkeyPatch):
    guard = commit.Guard()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with guard:
        waiter = Waiter(commit, guard, monkeypatch)
        waiter.after = interrupt
    waiter.go_on.set()
    waiter.thread.join(LONG)
    assert not waiter.entered.is_set()
    assert guard.begin()


def test_a_handler_in_a_thread_that_waits_may_use_the_object_in_its_turn(commit: Any, monkeypatch: pytest.MonkeyPatch):
    guard, handled = commit.Guard(), list[int]()

    def handler() -> None:
        with guard.reading:
            handled.append(waiter.slept)
        with guard:
            handled.append(waiter.slept)

    with guard:
        waiter = Waiter(commit, guard, monkeypatch)
        waiter.after = handler
    waiter.go_on.set()
    waiter.thread.join(LONG)
    assert waiter.entered.is_set()
    assert handled == [2, 2]
    assert guard.begin()


CROWD = """
import gc, threading, time
from streameval.kernel.commit.{} import Guard

gc.set_threshold(1)
gc.callbacks.append(lambda *_: time.sleep(0))  # so that other threads run while one collects garbage
guard, end = Guard(), time.monotonic() + 1


def hold():
    while time.monotonic() < end:
        with guard:
            time.sleep(0.001)


def enter():
    with guard:
        pass


threads = [threading.Thread(target=hold)]
threads[0].start()
while time.monotonic() < end:
    threads[1:] = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads[1:]:
        thread.start()
    for thread in threads[1:]:
        thread.join()
threads[0].join()
"""


def test_threads_that_end_while_another_waits_do_not_block_it(commit: Any):
    name = commit.__name__.rpartition(".")[2]
    subprocess.run([sys.executable, "-c", CROWD.format(name)], check=True, timeout=LONG)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("holds", [False, True])
def test_the_child_of_a_fork_has_no_waiting_threads(commit: Any, holds: bool, monkeypatch: pytest.MonkeyPatch):
    guard = commit.Guard()
    guard.begin()
    waiter = Waiter(commit, guard, monkeypatch)

    def child() -> bool:
        if holds:
            leave(guard)
        commit.sleep = None
        with guard, guard.reading:
            return True

    if not holds:
        leave(guard)
    assert forked(child) == 0
    if holds:
        leave(guard)
    waiter.go_on.set()
    waiter.thread.join(LONG)
    assert waiter.entered.is_set()
