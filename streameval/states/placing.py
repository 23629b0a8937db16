"""The slots of the examples of a batch, one by one."""

from __future__ import annotations

import numpy as np

from streameval.inputs.sides import joined
from streameval.kernel import backend
from streameval.kernel.types import FloatArray, Int32Array, Lists, UInt8Array
from streameval.schema.batch import Batch, DenseBatch, Example, ListBatch, ScoreBatch

__all__ = ["example_of", "placed"]


def example_of(batch: Batch, fixed: int) -> Example:
    """The only example of a batch."""
    _, slots, weights = placed(batch, fixed)
    _, fn, fp, tp, masked = np.bincount(slots % 5, minlength=5).tolist()
    return Example(
        slots.astype(np.int64), (tp + fn, tp + fp, tp, masked), 1.0 if weights is None else float(weights[0])
    )


def placed(batch: Batch, fixed: int) -> tuple[Int32Array, Int32Array, FloatArray | None]:
    """Lengths, slots and weights of the examples of a batch."""
    if isinstance(batch, ListBatch):
        everywhere = batch.everywhere[batch.everywhere >= fixed]
        named = batch.named
        if len(everywhere):
            each = Lists(np.arange(batch.examples + 1) * len(everywhere), np.tile(everywhere, batch.examples))
            named = each if named is None else joined([named, each], batch.examples)
        given = (batch.true, batch.pred, batch.hidden, named)
        width = 1 + max((int(lists.found().max(initial=0)) for lists in given if lists is not None), default=0)
        nothing, cells = np.zeros(0, np.int64), np.zeros((width, 5), np.int64)
        _, row, slots = backend.decisions.list_rows(batch.examples, *given, nothing, cells)
        kept = (slots % 5 != 0) | (slots >= 5 * fixed)
        row, slots = row[kept], slots[kept]
        return np.bincount(row, minlength=batch.examples).astype(np.int32), slots.astype(np.int32), batch.weights
    pred: UInt8Array
    pred = np.greater_equal(batch.scores, batch.bounds).view(np.uint8) if isinstance(batch, ScoreBatch) else batch.pred
    outcome = batch.true + np.uint8(2) * pred
    if batch.hidden is not None:
        outcome[batch.hidden != 0] = 4
    said = (outcome != 0) | (batch.columns >= fixed)
    row, place = np.nonzero(said)
    slots = 5 * batch.columns[place] + outcome[row, place]
    lengths = np.count_nonzero(said, axis=1).astype(np.int32)
    return lengths, slots.astype(np.int32), batch.weights if isinstance(batch, DenseBatch) else None
