"""Equal tables of both kernel implementations, each with its own root, which commits what the table prepares."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from streameval import kernel
from streameval.kernel.types import DONE

BACKENDS = ("compiled", "numpy") if kernel.BACKEND == "compiled" else ("numpy",)
"""The implementations that this installation can test."""

needs_compiled = pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")


def committed(root: Any, answer: Any) -> int:
    """Commit the part that a method has prepared, or return the code with which the method declined."""
    if isinstance(answer, int):
        return answer
    root.commit([answer])
    return DONE


def committed_parts(backend: str, parts: list[Any]) -> None:
    """Commit prepared parts with one implementation."""
    import_module(f"streameval.kernel.commit.{backend}").Root.commit(parts)


def each_vector() -> Iterator[int]:
    """Switch the compiled kernel to every vector width of this machine in turn, and back at the end."""
    compiled = import_module("streameval.kernel.decisions.compiled")
    usual = compiled.vectors()[0]
    try:
        for columns in compiled.vectors():
            compiled.use_vectors(columns)
            yield columns
    finally:
        compiled.use_vectors(usual)


class Twin:
    """A table of one implementation."""

    def __init__(self, backend: str, subject: str, name: str, *arguments: Any) -> None:
        self.made = (backend, subject, name)
        self.root = import_module(f"streameval.kernel.commit.{backend}").Root()
        self.table: Any = getattr(import_module(f"streameval.kernel.{subject}.{backend}"), name)(self.root, *arguments)

    def change(self, method: str, *arguments: Any) -> int:
        """Call a method and commit the part that it prepares."""
        return committed(self.root, getattr(self.table, method)(*arguments))

    def merge(self, other: Twin, columns: Any = None, sign: int = 1) -> int:
        """Merge another table of the same implementation, or unmerge it."""
        return self.change("prepare_merge", other.table, columns, sign)

    def of(self, width: int, *examples: Any) -> Twin:
        """A table of the same implementation that has counted examples, and nothing else."""
        result = Twin(*self.made, width)
        result.table.count(*examples)
        return result

    def copy(self) -> Twin:
        """A copy of the table, over a root of its own."""
        copied = Twin.__new__(Twin)
        copied.made = self.made
        copied.root = type(self.root)()
        copied.table = self.table.copy(copied.root)
        return copied


def twins(subject: str, name: str, *arguments: Any) -> list[Twin]:
    """One table of each implementation."""
    return [Twin(backend, subject, name, *arguments) for backend in BACKENDS]


def count_slots(counts: Any, slots: Any, key: Any, fixed: int, sign: int) -> int:
    """Count one example in counts of decisions; return `DONE`, or the code of the reason to decline it."""
    return committed(_root_of(counts), counts.prepare_example(slots, key, fixed, sign))


def merge(counts: Any, other: Any, columns: Any = None) -> int:
    """Merge other counts of decisions; return `DONE`, or the code of the reason to decline them."""
    return committed(_root_of(counts), counts.prepare_merge(other, columns, 0, 1))


def cells_in(counts: Any, width: int) -> Any:
    """The counts of the first columns, shape (width, 5)."""
    counts.reserve(width)
    return np.ascontiguousarray(counts.outcomes(np.arange(width)).T)


def _root_of(counts: Any) -> Any:
    """The root that commits changes of counts. Compiled parts refer to their table, so any root can commit them."""
    cell = getattr(counts, "_cell", None)
    return import_module("streameval.kernel.commit.compiled").Root() if cell is None else cell.root
