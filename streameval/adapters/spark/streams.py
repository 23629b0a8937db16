"""Structured Streaming: one state for each micro-batch, so that a batch that comes again counts once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.adapters.spark.batches import Folder, Memory, Span, counting
from streameval.adapters.spark.frames import check
from streameval.adapters.spark.tables import merged, states
from streameval.errors import InputError, MergeError
from streameval.schema.text import quoted
from streameval.tabular.job import Job, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["StreamEvaluation"]


class StreamEvaluation:
    """Counts the batches of a streaming query, each once; give it to ``writeStream.foreachBatch``.

    Spark hands a batch over again, with the same number, if the query died before it could note that the batch was
    done. Its state is then replaced, never added.

    Parameters
    ----------
    job
        What to count, and how.
    path
        A folder for the states, which belongs to one checkpoint of one query. A batch is counted once its file is on
        disk, and a query that is started again with the same checkpoint goes on where it was. Without it, they are
        kept in this object, which must live as long as the query's checkpoint is used.
    keep
        How many batches keep a state of their own; those before are merged.

    Raises
    ------
    InputError
        If an argument is of the wrong kind.
    MergeError, FormatError
        If the folder holds states of another job, or damaged ones.

    Notes
    -----
    A `Ledger` is not used since it remembers every shard, and batches never end: this is bounded by ``keep``. Spark
    repeats no batch but the last. A batch that is older, and differs from what was counted, is refused, since then the
    checkpoint was removed or set back: see `rewind`.

    Under Spark Connect the server calls this object in a process of its own, so ``path`` is needed; `total` reads it.

    Examples
    --------
    >>> import streameval as se
    >>> job = se.Job.of(["f1_micro"], actual="actual", predicted="predicted")
    >>> scores = StreamEvaluation(job, path="/data/scores")  # doctest: +SKIP
    >>> stream.writeStream.foreachBatch(scores).option("checkpointLocation", "/data/query").start()  # doctest: +SKIP
    >>> scores.total().get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """

    def __init__(self, job: Job, path: str | os.PathLike[str] | None = None, *, keep: int = 100) -> None:
        if not isinstance(job, Job):
            raise InputError(f"job must be a Job, such as Job.of(['f1_micro'], actual=...), not {quoted(job)}")
        if type(keep) is not int or keep < 1:
            raise InputError(f"keep must be an integer of at least 1, not {quoted(keep)}")
        self._job, self._keep = job, keep
        self._store = Memory() if path is None else Folder(Path(path).absolute())
        self._lock, self._checked = threading.RLock(), False
        try:
            self.total()
        except MergeError as error:
            raise MergeError(f"{path} holds states of another job: {error}; use a new folder") from None

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Count a batch; Spark calls this."""
        if not self._checked:
            check(batch, self._job)
        self._checked = True
        self.put(batch_id, merged(states(batch, self._job), self._job).to_bytes())

    def put(self, batch_id: int, state: bytes) -> None:
        """Take the state of a batch, in place of what it had.

        Raises
        ------
        InputError
            If later batches were counted, and this one is not the same as it was.
        MergeError, FormatError
            If the state is of another job, or damaged.
        """
        _check_id(batch_id)
        whole = self._job.merged([state])
        with self._lock:
            spans, span = self._spans(), Span(batch_id, batch_id)
            if spans and (batch_id < spans[-1].last or spans[-1].first < batch_id == spans[-1].last):
                if span in spans and self._store.read(span) == state:
                    return
                raise InputError(
                    f"batch {batch_id} comes after batch {spans[-1].last} was counted, and is not what was counted as "
                    f"batch {batch_id}: the query's checkpoint was removed or set back; call rewind({batch_id}) to "
                    "forget the batches from there on, or use a new folder for a new checkpoint"
                )
            self._store.write(span, whole)
            if len(spans) > 2 * self._keep:
                self._fold(spans[: -self._keep])

    def total(self) -> State:
        """All batches that were counted, as a new object."""
        for _ in range(100):
            try:
                with self._lock:
                    return self._job.merged(self._store.read(span) for span in self._spans())
            except FileNotFoundError:  # another process, which runs the query, has just merged it with others
                continue
        raise InputError("the states in the folder change all the time; is there one query that writes there?")

    def batches(self) -> tuple[int, ...]:
        """The batches that have a state of their own, in order."""
        with self._lock:
            return tuple(span.first for span in self._spans() if span.first == span.last)

    def rewind(self, batch_id: int) -> None:
        """Forget a batch and all after it, for a query whose checkpoint was set back to before this batch.

        Raises
        ------
        InputError
            If the batch was merged with earlier ones. Nothing has changed then.
        """
        _check_id(batch_id)
        with self._lock:
            if any(span.first < batch_id <= span.last for span in self._spans()):
                raise InputError(f"batch {batch_id} was merged with earlier ones; use a new folder")
            for span in reversed(self._store.found()):
                if span.first >= batch_id:
                    self._store.remove(span)

    def _fold(self, spans: list[Span]) -> None:
        """Merge the states of the oldest batches. Killed in between, both are there, and the sum counts."""
        whole = self._job.merged(self._store.read(span) for span in spans)
        self._store.write(Span(spans[0].first, spans[-1].last), whole)
        for span in spans:
            self._store.remove(span)

    def _spans(self) -> list[Span]:
        return counting(self._store.found())

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._store, Folder):
            raise InputError(
                "this StreamEvaluation keeps its states in memory, where another process cannot write them; give path="
            )
        return _revived, (self._job, str(self._store.path), self._keep)


def _check_id(batch_id: object) -> None:
    if type(batch_id) is not int or batch_id < 0:
        raise InputError(f"batch_id must be an integer of at least 0, not {quoted(batch_id)}")


def _revived(job: Job, path: str, keep: int) -> StreamEvaluation:
    return StreamEvaluation(job, path, keep=keep)
