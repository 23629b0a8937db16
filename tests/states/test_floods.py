"""Input that is chosen to be slow costs no more than other input; tests inspect structures, because times vary."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.evaluation.core import core_of
from streameval.evaluation.kinds import KINDS
from streameval.kernel import backend
from streameval.schema.labels import LabelIndex, distinct

EQUAL = [number * sys.hash_info.modulus for number in range(-2, 200) if number] + [-1, -2, 0, 7]
EXAMPLES = [(EQUAL[at : at + 5], EQUAL[at + 1 : at + 3]) for at in range(0, len(EQUAL), 2)]


def one_by_one() -> se.Evaluator:
    evaluator = se.Evaluator(["f1_micro"])
    for example in EXAMPLES:
        evaluator.update(*example)
    return evaluator


def at_once() -> se.Evaluator:
    evaluator = se.Evaluator(["f1_micro"])
    true, pred = zip(*EXAMPLES, strict=True)
    evaluator.update_many(true, pred)
    return evaluator


def merged() -> se.Evaluator:
    evaluator, part = se.Evaluator(["f1_micro"]), se.Evaluator(["f1_micro"])
    evaluator.update([EQUAL[3]], [EQUAL[9]])
    for example in EXAMPLES:
        part.update(*example)
    evaluator.merge(part)
    evaluator.revert([EQUAL[3]], [EQUAL[9]])
    return evaluator


@pytest.mark.parametrize(
    "make", [one_by_one, at_once, merged, lambda: se.Evaluator.from_bytes(one_by_one().to_bytes())]
)
def test_labels_of_equal_hash_are_looked_up_by_keys_of_other_hashes(make: Callable[[], se.Evaluator]):
    evaluator = make()
    index = core_of(evaluator).labels
    assert len(index.columns) == len(EQUAL)
    assert len(set(map(hash, index.columns))) >= len(EQUAL) - 1  # -1 and -2 have the same hash
    assert [index.labels[column] for column in index.columns_of(EQUAL)] == EQUAL
    assert list(evaluator.labels) == sorted(EQUAL)
    assert evaluator == one_by_one()
    for example in EXAMPLES:
        evaluator.revert(*example)
    assert evaluator.labels == ()


def test_declared_labels_of_equal_hash_are_known():
    evaluator = se.Evaluator(["f1_micro"], labels=EQUAL[::-1], unknown="ignore", threshold=0.5)
    evaluator.update({EQUAL[0]: True, 12345: True, 6 * sys.hash_info.modulus**2: True}, {EQUAL[0]: 0.9})
    assert evaluator.labels == (*EQUAL[::-1],)
    assert evaluator.get("f1_micro") == 1.0
    with pytest.raises(se.LabelError, match="twice"):
        se.Evaluator(labels=[*EQUAL, EQUAL[5]])


class Compared(int):
    """An integer that counts comparisons, which a set needs for members of equal hash."""

    times = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return int(self) == other


@pytest.mark.parametrize("options", [{}, {"labels": [7, 8], "unknown": "ignore"}], ids=["all", "ignored"])
@pytest.mark.parametrize("form", [list, lambda labels: dict.fromkeys(labels, True)], ids=["lists", "mappings"])
def test_noting_examples_does_not_compare_all_pairs_of_labels_of_equal_hash(
    form: Callable[[list[int]], object], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    evaluator, labels = se.Evaluator(["f1_micro"], **options), [*map(Compared, EQUAL[:-4]), 7]
    example = form(labels)
    monkeypatch.setattr(Compared, "times", 0)
    evaluator.update(example, example)
    evaluator.update_many([example] * 3, [example] * 3)
    assert evaluator.input_summary["y_true"]["labels"] == (1 if options else len(labels))
    assert evaluator.get("f1_micro") == 1.0
    assert Compared.times < 50 * len(labels)


def test_the_check_for_warnings_puts_no_labels_of_equal_hash_into_a_set(monkeypatch: pytest.MonkeyPatch):
    evaluator, labels_of, asked = se.Evaluator(["f1_micro"]), LabelIndex.at, list[int]()

    class Listed(list):
        def __iter__(self) -> Iterator[object]:
            raise AssertionError("all of them are looked at")

    def listed(self: LabelIndex, columns: Any) -> Listed:
        asked.append(len(names := Listed(labels_of(self, columns))))
        return names

    monkeypatch.setattr(LabelIndex, "at", listed)
    labels = [number * sys.hash_info.modulus for number in range(10_001)]
    examples = [labels] * 19 + [labels[1:]]  # 20 examples with all labels would cause a warning
    evaluator.update_many(examples, examples)
    assert evaluator.get("f1_micro") == 1.0
    assert asked == [len(labels)]


def test_thresholds_of_labels_of_equal_hash_are_looked_up_by_keys_of_other_hashes():
    evaluator = se.Evaluator(threshold=dict.fromkeys(EQUAL, 0.5))
    thresholds = core_of(evaluator).reader._thresholds
    assert thresholds is not None
    assert len(set(map(hash, thresholds))) >= len(EQUAL) - 1
    evaluator.update({EQUAL[0]}, {EQUAL[0]: 0.6, EQUAL[1]: 0.4})
    assert evaluator.get("f1_micro") == 1.0
    assert distinct([*EQUAL, "7", *EQUAL]) == [*EQUAL, "7"]


@pytest.mark.parametrize("keep", [[], *([name] for name in KINDS)])
def test_adding_a_label_allocates_no_memory_for_existing_labels(keep: list[str]):
    known = [f"label{number}" for number in range(20_000)]
    evaluator = se.Evaluator(threshold=0.5, keep=keep)
    evaluator.update_many([[label] for label in known], [{label: 0.7} for label in known])
    peaks = []
    for number in range(5):  # one of these updates may have to widen a table
        label = f"new{number}"
        tracemalloc.start()
        evaluator.update({label}, {label: 0.7})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sorted(peaks)[2] < 20_000 or backend.BACKEND == "numpy"  # the numpy kernel copies scores at each change


@pytest.mark.skipif(backend.BACKEND == "numpy", reason="dicts of Python")
def test_the_order_of_row_keys_in_memory_differs_between_processes():
    program = (
        "import numpy as np; from streameval.kernel.backend import commit, decisions;"
        "c = decisions.Counts(commit.Root(), 1);"
        "k = np.arange(256).reshape(64, 4); c.restore(64, np.zeros((1, 5), np.int64), k, k[:, 0] + 1);"
        "print(c.row_keys()[0][:, 0].tolist())"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
        ).stdout
        for _ in range(2)
    }
    assert len(orders) == 2
    assert len({tuple(sorted(map(int, re.findall(r"\d+", order)))) for order in orders}) == 1


def test_the_kernel_uses_no_name_that_cpython_has_made_private():
    folder = Path(backend.__file__).parent
    sources = [file for file in folder.rglob("*") if file.suffix in (".pyx", ".pxd", ".h")]
    private = {name for file in sources for name in re.findall(r"\b_Py[A-Z]\w*", file.read_text())}
    assert sources
    assert not private
