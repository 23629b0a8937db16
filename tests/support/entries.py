"""Parts of the catalogue, and formulas applied to views without an evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streameval as se
from streameval.metrics.catalogue import UNSET, build_spec, entry_of


def decided_entries() -> list[se.MetricInfo]:
    """The entries whose metrics are computed from decisions."""
    return [entry for entry in se.catalogue() if entry.state == "decisions"]


def reading(name: str) -> Callable[..., Any]:
    """A metric as a function of a view and its parameters, which returns the unrounded value or a curve's interval."""
    entry = entry_of(name)

    def read(
        view: object, *, average: str | None = UNSET, zero_division: float | None = None, **parameters: object
    ) -> Any:
        spec = build_spec(name, average=average, zero_division=zero_division, parameters=parameters)
        return (entry.certify or entry.read)(view, spec)

    return read
