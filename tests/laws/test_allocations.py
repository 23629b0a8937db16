"""If any request of the kernel for memory is refused, the call raises `MemoryError` and changes nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.kernel import backend
from tests.support.each import with_each
from tests.support.effort import cases, crossed

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

long fail_from, fail_until, requests; /* how many of the kernel there were since this was set to 0 */

static int fails(void *caller) {
    static int inside;
    Dl_info info;
    if (!fail_from || inside) return 0;
    inside = 1; /* dladdr may ask for memory itself */
    const int ours = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "streameval/kernel");
    inside = 0;
    if (!ours) return 0;
    requests++;
    return fail_from <= requests && requests <= fail_until;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size); }
"""
"""Source of a library for LD_PRELOAD that refuses the kernel's requests for memory whose numbers are in a range."""

STATES = {"decisions": [], **{name: [name] for name in KINDS}, "all": [*KINDS]}


def described(window: se.Rolling[Any]) -> se.Rolling[Any]:
    """A window that has noted the forms of enough examples, so that the kernel may count the next one by itself."""
    for _ in range(30):
        window.update({"a"}, {"a": 1})
    return window


HOLDERS: dict[str, Callable[[se.Evaluator], Any]] = {
    "evaluator": lambda ev: ev,
    "rolling": lambda ev: described(se.Rolling(ev, size=3)),
    "tumbling": lambda ev: se.Tumbling(ev, size=5),
    "fading": lambda ev: se.Fading(ev, half_life=10),
    "sliced": lambda ev: se.Sliced(ev, by="group"),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if se.kernel.BACKEND != "compiled" or platform.libc_ver()[0] != "glibc" or compiler is None:
        pytest.skip("refuses memory to the compiled kernel, with what a compiler makes for glibc")
    path = tmp_path_factory.mktemp("library") / "allocations.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-ldl"], input=LIBRARY, text=True, check=True
    )
    return path


@with_each("kind", [*STATES])
def test_a_refused_memory_request_changes_nothing(kind: str, library: Path):
    in_process(f"run({kind!r}, {str(library)!r}, {cases(40)})", library)


def test_committing_examples_of_several_forms_allocates_no_memory(library: Path):
    in_process(f"run_forms({str(library)!r})", library)


def in_process(call: str, library: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    program = f"from tests.laws.test_allocations import *; {call}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("weight", "title"), crossed([1, 0.7], ["evaluator", "rolling", "fading"]))
def test_an_example_is_counted_correctly_or_not_at_all_if_python_runs_out_of_memory(title: str, weight: float):
    allocator: Any = pytest.importorskip("_testcapi", reason="refuses memory to Python")
    ev = HOLDERS[title](se.Evaluator(["ranking_loss", "roc_auc_macro"], ties="last", threshold=0.5))
    plain = {"b"}, {"a": 0.5, "b": 0.25, "c": 0.75}
    for _ in range(30):  # the evaluator notes the forms of these
        ev.update(*plain, weight=weight)
    for example in (plain, ({"b"}, {"b": 0.5, "a": 0.5, "c": 0.75})):
        for request in range(60, 0, -1):
            one = ev.copy()
            one.update(*plain, weight=weight)  # from now on the kernel counts without a reader
            before, right = one.to_bytes(), one.copy()
            right.update(*example, weight=weight)
            allocator.set_nomemory(request, request + 1)
            try:
                one.update(*example, weight=weight)
            except (MemoryError, SystemError):  # Python raises SystemError if it cannot allocate a frame
                allocator.remove_mem_hooks()
                assert one.to_bytes() == before
            else:
                allocator.remove_mem_hooks()
                assert one.to_bytes() == right.to_bytes()


@with_each("title", [*HOLDERS])
def test_an_object_is_reset_completely_or_not_at_all_if_python_runs_out_of_memory(title: str):
    allocator: Any = pytest.importorskip("_testcapi", reason="refuses memory to Python")
    held, refused = HOLDERS[title](se.Evaluator(["f1_micro"])), 0
    group = {"where": {"group": "a"}} if title == "sliced" else {}
    for number in range(30):
        held.update({"a", f"label {number}"}, {"a"}, **group)
    for request in range(150, 0, -1):
        one, right = held.copy(), held.copy()
        right.reset()
        before, after = (each.to_bytes() for each in (one, right))
        allocator.set_nomemory(request, request + 1)
        try:
            one.reset()
        except (MemoryError, SystemError):
            allocator.remove_mem_hooks()
            refused += 1
            assert one.to_bytes() == before
        else:
            allocator.remove_mem_hooks()
            assert one.to_bytes() == after
    assert refused > 20


def test_column_marks_are_freed_if_memory_for_mentions_is_refused():
    allocator: Any = pytest.importorskip("_testcapi", reason="refuses memory to Python")
    size, width = Path("/proc/self/statm"), 2**21
    if se.kernel.BACKEND != "compiled" or not size.exists():
        pytest.skip("looks at how much memory a process has mapped, with the compiled kernel")
    weights = backend.curves.Weights(0, 1)
    lists = np.array([0, 1]), np.array([0])
    scored = None, 0, lists, np.array([0.5]), lists, None
    refused, before = 0, int(size.read_text().split()[0])
    for request in [*range(1, 40)] * 3:
        allocator.set_nomemory(request, request + 1)
        try:
            weights.count(scored, [1], width)
        except MemoryError:
            refused += 1
        finally:
            allocator.remove_mem_hooks()
    assert refused > 3
    assert int(size.read_text().split()[0]) - before < 2 * 8 * width // 4096  # the heap may retain one array


def run(kind: str, library: str, rounds: int) -> None:
    """In a process with the library, change objects, and compare them with copies that are never refused memory."""
    loaded = ctypes.CDLL(library)
    first, last, requests = (ctypes.c_long.in_dll(loaded, name) for name in ("fail_from", "fail_until", "requests"))
    scored = kind not in ("decisions", "pairs")
    refused = 0

    def is_made(call: Callable[[Any], object], one: Any, control: Any, start: int, stop: int) -> bool:
        """Whether a call succeeds while the kernel's requests with numbers from start to stop are refused."""
        nonlocal refused
        before = one.to_bytes(), one.input_summary
        first.value, last.value, requests.value = start, stop, 0
        try:
            call(one)
        except MemoryError:
            refused += 1
            first.value = 0
            assert (one.to_bytes(), one.input_summary) == before
            return False
        finally:
            first.value = 0
        call(control)
        assert one.to_bytes() == control.to_bytes()
        return True

    def evaluator() -> se.Evaluator:
        return se.Evaluator(["f1_micro"], threshold=0.5 if scored else None, keep=STATES[kind])

    wide = {f"label {number}" for number in range(70)}
    part, counted = evaluator(), list[Any]()
    part.update(wide, dict.fromkeys(wide, 0.7) if scored else wide)
    for start in range(1, 12):
        one = evaluator()
        one.update({"a"}, {"a": 0.7} if scored else {"a"})
        one += part
        is_made(lambda each: each.unmerge(part), one, one.copy(), start, start)  # drops the wide example's labels
    for seed in range(rounds):
        rng, title, counted = random.Random(seed), [*HOLDERS][seed % len(HOLDERS)], []
        one = HOLDERS[title](evaluator())
        control = one.copy()
        for _ in range(rng.randrange(1, 30)):
            call, example = _call(one, counted, rng, scored, weighs=title != "fading")
            start = rng.choice([0, 1, 2, rng.randrange(1, 20)])
            if not is_made(call, one, control, start, start + rng.choice([0, 100])):
                continue
            if example in counted:
                counted.remove(example)
            elif example is not None:
                counted.append(example)
    assert refused > rounds


def run_forms(library: str) -> None:
    """In a process with the library, count float32 and float64 scores of one slice in one call."""
    first, last, requests = (
        ctypes.c_long.in_dll(ctypes.CDLL(library), name) for name in ("fail_from", "fail_until", "requests")
    )
    sliced = se.Sliced(se.Evaluator(["roc_auc_macro"], labels=["a", "b"]), by="group")
    rng = np.random.default_rng(0)
    true, scores = rng.random((42, 2)) < 0.5, rng.random((42, 2), dtype=np.float32)
    sliced.update_many(true[:40], scores[:40], where={"group": ["x"] * 40})
    many = [*true[40:]], [scores[40], {"a": 0.5}]
    before, after = sliced.copy(), sliced.copy()
    after.update_many(*many, where={"group": ["x"] * 2})
    for start in range(30, 0, -1):
        one = sliced.copy()
        first.value, last.value, requests.value = start, sys.maxsize, 0
        with contextlib.suppress(MemoryError):
            one.update_many(*many, where={"group": ["x"] * 2})
        first.value = 0
        assert one in (before, after)


def _call(
    one: Any, counted: list[Any], rng: random.Random, scored: bool, *, weighs: bool
) -> tuple[Callable[[Any], object], Any]:
    """A random call, and the example that it counts or reverts."""

    def example() -> tuple[Any, Any]:
        labels = [f"label {number}" for number in rng.sample(range(90), rng.choice([1, 2, 5, 14, 60]))]
        scores = {label: rng.choice([rng.random(), np.float32(rng.random()), rng.randrange(4) / 4]) for label in labels}
        return {label for label in labels if rng.random() < 0.3}, scores if scored else {*labels[: len(labels) // 2]}

    kind, group = rng.random(), {"group": rng.choice("ab")}
    where = {"where": group} if isinstance(one, se.Sliced) else {}
    if kind < 0.2:
        many = [example() for _ in range(rng.choice([1, 3, 30]))]
        sides = [[pair[side] for pair in many] for side in (0, 1)]
        groups = {"where": {"group": [group["group"]] * len(many)}} if where else {}
        return lambda each: each.update_many(*sides, **groups), None
    if kind < 0.4 and counted and hasattr(one, "revert"):
        again = rng.choice(counted)
        return lambda each: each.revert(*again[0], **again[1]), again
    if kind < 0.5 and isinstance(one, se.Evaluator):
        part = one.copy()
        return lambda each: (each.merge(part), each.get()), None
    keywords = {**where, **({"weight": rng.choice([0.5, 3e-5, 2.0])} if weighs and rng.random() < 0.2 else {})}
    pair = example()
    return lambda each: each.update(*pair, **keywords), (pair, keywords)
