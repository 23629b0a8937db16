"""Arrays of Dask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import dask

from streameval.adapters.dask.collections import Scheduler, merged, run
from streameval.errors import InputError
from streameval.schema.text import quoted
from streameval.tabular.job import Job, Metrics, State, Threshold


def evaluate_arrays(
    y_true: object,
    y_pred: object,
    *,
    weights: object = None,
    mask: object = None,
    where: Mapping[str, object] | None = None,
    metrics: Metrics = None,
    threshold: Threshold = None,
    split_every: int = 16,
    scheduler: Scheduler = None,
    progress: bool = False,
) -> State:
    """Count the rows of arrays, chunk by chunk; the chunks have no influence on the bytes of the result.

    Errors are those of `evaluate_table`, and `InputError` where the arrays do not go together.

    Parameters
    ----------
    y_true, y_pred, mask
        2-D arrays of Dask, examples x labels, whose chunks are of numpy or scipy.sparse. They have equal chunks along
        examples, as ``y_true`` is; chunks along labels are joined, since an example is counted as a whole.
    weights
        A 1-D array of Dask.
    where
        For each name to slice by, a 1-D array of Dask with the value of each example; the result is a `Sliced`.
    metrics, threshold
        As for `streameval.Job.of`; labels are numbered unless ``metrics`` is an object that declares them.
    split_every, scheduler, progress
        As for `evaluate`.

    Examples
    --------
    >>> import dask.array as da
    >>> y_true = da.from_array([[1, 0], [1, 1], [0, 1]], chunks=(2, 1))
    >>> evaluate_arrays(y_true, y_true[:, ::-1], metrics=["f1_micro"]).get()
    {'f1_micro': 0.5}
    """
    by = None if where is None else list(where)
    job = Job.of(metrics, actual="y_true", predicted="y_pred", by=by, threshold=threshold)
    if job.columns.by and set(job.columns.by) != set(where or ()):
        raise InputError(f"slices are by {quoted(job.columns.by)}, so where must have an array for each of these names")
    optional = {"weights": weights, "mask": mask}
    arguments = {"y_true": y_true, "y_pred": y_pred} | {name: a for name, a in optional.items() if a is not None}
    slicing = {f"where[{name!r}]": (where or {})[name] for name in job.columns.by}
    blocks = _blocks({**arguments, **slicing})
    count = dask.delayed(partial(_counted, job, tuple(arguments)), name="streameval-count", traverse=False)
    root = merged(job, [count(*row) for row in zip(*blocks, strict=True)], split_every)
    return run(job, root, y_true, scheduler, progress)


def _blocks(arrays: Mapping[str, Any]) -> list[list[Any]]:
    """The blocks of each array, as delayed objects, chunked only along examples, with equal chunks."""
    first: tuple[float, ...] = ()
    blocks = []
    for name, array in arrays.items():
        wide = name in ("y_true", "y_pred", "mask")
        if not (dask.is_dask_collection(array) and hasattr(array, "chunks")):
            raise InputError(f"{name} must be an array of Dask, not {quoted(array)}; dask.array.from_array makes one")
        if array.ndim != (2 if wide else 1):
            expected = "2-D, examples x labels" if wide else "1-D, a value for each example"
            raise InputError(f"{name} must be {expected}, but its shape is {array.shape}")
        if wide and len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        first, own = first or array.chunks[0], array.chunks[0]
        # Unknown lengths, which are NaN, are compared once they are there.
        unknown = any(map(math.isnan, (*own, *first)))
        fits = len(own) == len(first) and all(a == b or math.isnan(a + b) for a, b in zip(own, first, strict=True))
        if not fits:
            if unknown or sum(own) != sum(first):
                raise InputError(
                    f"y_true has the chunks {quoted(first)} and {name} {quoted(own)} along examples; give arrays of "
                    "one length, and compute_chunk_sizes() where they are unknown"
                )
            array = array.rechunk({0: first})
        blocks.append(list(array.to_delayed().ravel()))
    return blocks


def _counted(job: Job, names: tuple[str, ...], *blocks: Any) -> bytes:
    state = job.fresh()
    arguments = dict(zip(names, blocks[: len(names)], strict=True))
    if job.columns.by:
        arguments["where"] = dict(zip(job.columns.by, blocks[len(names) :], strict=True))
    state.update_many(**arguments)
    return state.to_bytes()
