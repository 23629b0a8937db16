"""Structured Streaming: one state for each micro-batch, so that a batch that comes again counts once."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from streameval.adapters.engine import check_job
from streameval.adapters.spark.frames import check, merged, states
from streameval.errors import InputError, MergeError
from streameval.progressive.states import restored
from streameval.schema.text import check_number
from streameval.tabular.job import Job, State
from streameval.wire.files import naming_file, write_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILE = re.compile(r"batches-(\d+)-(\d+)\.state")


class StreamEvaluation:
    """Counts the batches of a streaming query, each once; give it to ``writeStream.foreachBatch``.

    Spark hands a batch over again, with the same number, if the query died before it could note that the batch was
    done. Its state is then replaced, never added. An older batch that differs from what was counted is refused, since
    the checkpoint was removed or set back: see `rewind`.

    Parameters
    ----------
    job
        What to count, and how.
    path
        A folder for the states, which belongs to one checkpoint of one query. A batch is counted once its file is on
        disk, and a query that is started again with the same checkpoint goes on where it was. Without it, they are
        stored in this object, which must live as long as the query's checkpoint is used, and Spark Connect is refused.
    history
        How many batches keep a state of their own; those before are merged.

    Raises
    ------
    MergeError, FormatError
        If the folder holds states of another job, or damaged ones.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.tabular.job import Job
    >>> job = Job.of(["f1_micro"], actual="actual", predicted="predicted")
    >>> scores = StreamEvaluation(job, path="/data/scores")  # doctest: +SKIP
    >>> stream.writeStream.foreachBatch(scores).option("checkpointLocation", "/data/query").start()  # doctest: +SKIP
    >>> scores.total().get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """

    def __init__(self, job: Job, path: str | os.PathLike[str] | None = None, *, history: int = 100) -> None:
        check_job(job)
        check_number("history", history, 1)
        self._job, self._history = job, history
        self._store: dict[Span, bytes] | Folder = {} if path is None else Folder(Path(path).absolute())
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

        `InputError` if later batches were counted and this one is not the same as it was; `MergeError` or `FormatError`
        if the state is of another job, or damaged.
        """
        check_number("batch_id", batch_id, 0)
        whole = self._job.merged([state]).to_bytes()
        with self._lock:
            spans, span = self._spans(), Span(batch_id, batch_id)
            if spans and (batch_id < spans[-1].last or spans[-1].first < batch_id == spans[-1].last):
                if span in spans and self._store[span] == state:
                    return
                raise InputError(
                    f"batch {batch_id} comes after batch {spans[-1].last} and is not what was counted as batch "
                    f"{batch_id}: the query's checkpoint was removed or set back; call rewind({batch_id}) to forget it "
                    "and all later ones, or use a new folder for a new checkpoint"
                )
            self._store[span] = whole
            if len(spans) > 2 * self._history:
                oldest = spans[: -self._history]  # killed in between, they and their sum are there, and the sum counts
                total = self._job.merged(self._store[span] for span in oldest)
                self._store[Span(oldest[0].first, oldest[-1].last)] = total.to_bytes()
                for span in oldest:
                    del self._store[span]

    def total(self) -> State:
        """All batches that were counted, as a new object."""
        for _ in range(100):
            # Another process, which runs the query, may just have merged a file with others.
            with contextlib.suppress(FileNotFoundError), self._lock:
                return self._job.merged(self._store[span] for span in self._spans())
        raise InputError("the states in the folder change all the time; is there one query that writes there?")

    def batches(self) -> tuple[int, ...]:
        """The batches that have a state of their own, in order."""
        with self._lock:
            return tuple(span.first for span in self._spans() if span.first == span.last)

    def rewind(self, batch_id: int) -> None:
        """Forget a batch and all after it, for a query whose checkpoint was set back to before this batch.

        `InputError` if the batch was merged with earlier ones; nothing has changed then.
        """
        check_number("batch_id", batch_id, 0)
        with self._lock:
            if any(span.first < batch_id <= span.last for span in self._spans()):
                raise InputError(f"batch {batch_id} was merged with earlier ones; use a new folder")
            for span in reversed(_in_order(self._store)):
                if span.first >= batch_id:
                    del self._store[span]

    def _spans(self) -> list[Span]:
        """The spans that count: those that no longer one has taken in."""
        spans: list[Span] = []
        for span in _in_order(self._store):
            if not spans or span.last > spans[-1].last:
                spans.append(span)
        return spans

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._store, Folder):
            raise InputError("the states are in memory, where another process cannot write them; give path=")
        return partial(StreamEvaluation, history=self._history), (self._job, str(self._store.path))


class Span(NamedTuple):
    """Batches whose examples are in one state: from the first to the last."""

    first: int
    last: int


class Folder:
    """States in files, each of which is written whole or not at all, and is on disk once it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def __iter__(self) -> Iterator[Span]:
        matches = [_FILE.fullmatch(file.name) for file in self.path.iterdir()]
        return (Span(int(match[1]), int(match[2])) for match in matches if match)

    def __getitem__(self, span: Span) -> bytes:
        file = self._file(span)
        with naming_file(file):
            return restored(file.read_bytes()).to_bytes()

    def __setitem__(self, span: Span, state: bytes) -> None:
        write_file(self._file(span), state)

    def __delitem__(self, span: Span) -> None:
        self._file(span).unlink(missing_ok=True)

    def _file(self, span: Span) -> Path:
        return self.path / f"batches-{span.first}-{span.last}.state"


def _in_order(spans: Iterable[Span]) -> list[Span]:
    """A longer span stands before those that it has taken in."""
    return sorted(spans, key=lambda span: (span.first, -span.last))
