"""Fixtures of several files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streameval import kernel

if kernel.BACKEND == "compiled":
    from streameval.kernel.decisions import compiled


@pytest.fixture(params=compiled.vectors() if kernel.BACKEND == "compiled" else [0])
def vectors(request: pytest.FixtureRequest) -> Iterator[int]:
    """Every kind of vector that this machine has, one after the other."""
    if kernel.BACKEND == "numpy":
        yield 0
        return
    usual = compiled.vectors()[0]
    compiled.use_vectors(request.param)
    yield request.param
    compiled.use_vectors(usual)
