"""Slices to what bytes hold, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from streameval.errors import FormatError
from streameval.evaluation.counting import Accumulator, contents_of, from_contents
from streameval.slices.axis import AxisSlices
from streameval.slices.encoding import SavedPart, SavedShelf
from streameval.slices.values import Key, in_order, key_of

__all__ = ["restored_shelf", "saved_shelf"]


def saved_shelf(parts: list[tuple[Key | None, Any]], rest: Accumulator) -> SavedShelf:
    """The slices of an axis, in their order."""
    slices = [
        (tuple(value for _, value in key), SavedPart(*contents_of(part))) for key, part in parts if key is not None
    ]
    return SavedShelf(tuple(slices), SavedPart(*contents_of(rest)))


def restored_shelf(fresh: AxisSlices[Any], saved: SavedShelf) -> AxisSlices[Any]:
    """The shelf that bytes hold, or `FormatError` if no examples leave such a one."""

    def object_of(part: SavedPart) -> Any:
        return from_contents(fresh.overflow, part.decisions, part.others)

    axis = fresh.axis
    kept = {key_of(values, axis.names): object_of(part) for values, part in saved.slices}
    rest = object_of(saved.rest)
    keys = list(kept)
    if axis.closed:
        fitting = keys == list(fresh.slices)
    else:
        fitting = all(part.examples for part in kept.values()) and axis.selected(keys) == set(keys)
        fitting = fitting and all(in_order(before) < in_order(after) for before, after in pairwise(keys))
        open_ = all(known is None for known in axis.declared)
        fitting = fitting and (not rest.examples or not open_ or len(keys) == axis.most)
    if not fitting or len(kept) != len(saved.slices):
        raise FormatError("the slices are not those that their values make")
    return AxisSlices(axis, kept, rest)
