"""States on disk, each with its position in the stream, so that a killed loop can resume."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Generic, Never, Self, TypeAlias, TypeVar

from streameval.delivery.ledger import Ledger
from streameval.delivery.lock import PathLock
from streameval.delivery.shards import MOST
from streameval.errors import InputError, StreamevalError, public
from streameval.evaluation.guarding import held
from streameval.evaluation.value import Saveable
from streameval.kernel.backend import commit
from streameval.progressive.holder import AnyState, become, check_class, check_empty, read_state, refuse_unsavable
from streameval.progressive.pending import Pending
from streameval.progressive.trace import Trace
from streameval.schema.keywords import explain_methods, explained
from streameval.schema.text import check_number, number_or_none, quoted
from streameval.wire.envelope import CHECKPOINT, sealed, sized
from streameval.wire.fields import Source, require, varint
from streameval.wire.files import check_writable, path_text, read_file, write_file

_MORE = Ledger, Pending, Trace
_PATIENCE = 1.0  # seconds that save() waits for step() of another thread

Held: TypeAlias = AnyState | Ledger[Any] | Pending[Any] | Trace
HeldT = TypeVar("HeldT", bound=Held)
T = TypeVar("T")


@public
@dataclass(frozen=True, slots=True)
class Checkpoint(Saveable, Generic[HeldT]):
    """A state and the position in the stream up to which it counts. `Checkpointer` writes such files.

    Attributes
    ----------
    evaluator
        An evaluator, a metric, a window, slices, a ledger, a `Pending` or a `Trace`; a copy.
    position
        How many items of the stream are counted in it.

    Examples
    --------
    >>> import streameval as se
    >>> taken = Checkpoint(se.F1(), 10)
    >>> Checkpoint.from_bytes(taken.to_bytes()) == taken
    True
    """

    evaluator: HeldT
    position: int = 0
    _holder: ClassVar[int] = CHECKPOINT

    def __post_init__(self) -> None:
        check_class(self.evaluator, "Checkpoint", *_MORE)
        object.__setattr__(self, "position", check_number("position", self.position, 0, MOST))
        object.__setattr__(self, "evaluator", self.evaluator.copy())

    __hash__: ClassVar[None] = None

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:  # noqa: ARG002  # equality compares the fields
        return encode_checkpoint(self.position, self.evaluator._pieces)

    @property
    def _guard(self) -> Any:  # type: ignore[override]  # read-only, as nothing sets it
        return self.evaluator._guard

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        result = cls.__new__(cls)  # without __init__, which would copy the state
        object.__setattr__(result, "position", source.varint())
        object.__setattr__(result, "evaluator", read_state(source.raw(source.varint()), *_MORE))
        require(result.position <= MOST)
        return result


def encode_checkpoint(position: int, state: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """The bytes of a checkpoint in pieces; ``state`` makes the pieces of the state."""
    return sealed(CHECKPOINT, chain((varint(position),), sized(state)))


@public
class Checkpointer(Generic[HeldT]):
    """Saves an evaluator and its position in a stream at intervals, and resumes after a crash.

    Parameters
    ----------
    evaluator
        An evaluator, a metric, a window, slices, a ledger, a `Pending` or a `Trace` that has counted nothing. If the
        file exists, its state is loaded into this object, and into the evaluators in a `Pending` or a `Trace`; go on
        updating them. From then on a `Pending` or a `Trace` refuses what cannot be saved.
    path
        The file. It is held, by a lock file ``NAME.lock``, until the ``with`` block is left, `close` is called or the
        process ends, however it ends. It is replaced as a whole: whenever the process is killed, it holds a state and
        the position that belongs to it. An exception that leaves the ``with`` block saves nothing; otherwise the
        last items are saved when the block ends.
    every
        Save after this many items, if not None.
    seconds
        Save after this many seconds, checked after each item, if not None. Where ``every`` is None too, only `save` and
        the end of the ``with`` block save: for a loop that saves a model of the same position first.

    Raises
    ------
    InputError
        If ``evaluator`` has counted, or another Checkpointer holds the path; the message names its process.
    MergeError, FormatError
        If the file holds another configuration, is damaged or holds anything else. Then it is never replaced.
    OSError
        If the file cannot be read, or files in its folder cannot be replaced.

    Examples
    --------
    >>> import streameval as se, tempfile
    >>> stream = [({"cat"}, {"cat"}), ({"dog"}, {"cat"}), ({"dog"}, {"dog"})]
    >>> path = tempfile.mkdtemp() + "/f1.state"
    >>> with se.Checkpointer(se.F1(average="micro"), path, every=1000) as saved:
    ...     for y_true, y_pred in saved.remaining(stream[:2]):
    ...         saved.evaluator.update(y_true, y_pred)
    >>> with se.Checkpointer(se.F1(average="micro"), path, every=1000) as saved:
    ...     for y_true, y_pred in saved.remaining(stream):    # only the third is left
    ...         saved.evaluator.update(y_true, y_pred)
    >>> saved.position, saved.evaluator.get()
    (3, 0.6666666666666666)
    """

    def __init__(
        self, evaluator: HeldT, path: str | os.PathLike[str], *, every: int | None = 1000, seconds: float | None = None
    ) -> None:
        if every is not None:
            every = check_number("every", every, 1, MOST)
        self._every, self._seconds = every, number_or_none(seconds)
        if seconds is not None and not 0 < (self._seconds or 0) < math.inf:
            raise InputError(f"seconds must be a positive number, not {quoted(seconds)}")
        if isinstance(evaluator, str | os.PathLike):
            raise InputError("the first argument is a path; the order is evaluator, path")
        check_class(evaluator, "Checkpointer", *_MORE)
        check_empty(evaluator, "Checkpointer", "empty or from its file")
        self._path = Path(path_text(path)).absolute()  # absolute, because the working directory may change
        if not self._path.parent.is_dir():
            raise InputError(f"there is no folder {quoted(str(self._path.parent))}; create it first")
        check_writable(self._path)
        self._evaluator, self._position = evaluator, 0
        self._turn = threading.RLock()  # entered faster than a Condition
        self._saving: list[int] = []  # the threads that save, by identifier
        self._stepped = threading.Condition(self._turn)
        self._lock = PathLock(self._path)
        self._release = weakref.finalize(self, self._lock.release)
        try:
            self._ours = {None, own := self._identity()}  # the files that a save may replace; None: no file
            if own is not None:
                loaded: Checkpoint[Any] = read_file(self._path, Checkpoint.from_bytes)
                context = f"the {type(evaluator).__name__} passed in does not fit {self._path}"
                become(evaluator, loaded.evaluator, context)
                self._position = loaded.position
        except BaseException:
            self.close()
            raise
        refuse_unsavable(evaluator)
        self._saved, self._saved_at = self._position, time.monotonic()
        self._open, self._thread = False, threading.get_ident()
        self._noted = self._version()

    def _identity(self) -> tuple[int, ...] | None:
        """What identifies the file and changes when it is replaced or rewritten; None if there is no file."""
        try:
            return _identity_of(self._path.stat())
        except FileNotFoundError:
            return None

    @property
    def evaluator(self) -> HeldT:
        """The object that the loop updates."""
        return self._evaluator

    @property
    def position(self) -> int:
        """Number of items of the stream that are counted."""
        return self._position

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def remaining(self, stream: Iterable[T]) -> Iterator[T]:
        """The items of a stream that are not counted yet; each counts as done when the next is requested.

        The stream must begin where it always began; the first `position` items are skipped, and `InputError` says that
        there are fewer. To leave the loop early, call `step` for the item in progress if it was counted.
        """
        items = iter(stream)
        if (skipped := sum(1 for _ in islice(items, self._position))) < self._position:
            counted = f"the stream has {skipped} items, but {self._position} are counted in {self._path}"
            raise InputError(f"{counted}; give the stream from its start, or another file")
        for item in items:
            self._open, before = True, self._position
            yield item
            if self._position == before:
                self.step()

    def step(self, count: int = 1) -> None:
        """Record that ``count`` more items are counted, and save if due. `remaining` calls it for you."""
        if not self._lock.open:
            self._check_open()
        count = check_number("count", count, 0, MOST)
        with self._turn:
            self._check_entered()
            if count > MOST - self._position:
                raise InputError(f"{self._position} items are counted; a position cannot pass 2**63 - 1")
            steps = self._position + count - self._saved
            due = self._every is not None and steps >= self._every
            if due or (self._seconds is not None and steps and time.monotonic() - self._saved_at >= self._seconds):
                self._saves(partial(self._record, count, save=True))  # a handler closes this before or after both
            else:
                self._record(count)

    def _record(self, count: int, *, save: bool = False) -> None:
        self._check_open()  # again, as another thread may have closed it before this one had the turn
        noted = self._version(), threading.get_ident()
        # In one line without a call, so that an interruption leaves all of it or nothing.
        self._position, self._open, (self._noted, self._thread) = self._position + count, False, noted
        if self._saving:
            self._wait_for_saves()
        if save:
            self._write()

    def save(self) -> None:
        """Save now. Once it returns, no crash can lose what is counted.

        Any thread may call it. If another thread is counting an item, this waits up to a second until it is counted.

        `InputError` if an item is in progress, which may or may not be counted, if another program has written the
        file, or if this is closed or of another process; `OSError` if it cannot be written. The file is unchanged then.
        """
        self._check_open()

        def write() -> None:
            patience = 0 if self._thread == threading.get_ident() else _PATIENCE
            while self._stepped.wait_for(lambda: self._noted == self._version(), patience):
                with contextlib.suppress(_MovedError):
                    return self._write()
            raise InputError(f"item {self._position} is in progress; call step() once it is counted, then save")

        with self._turn:
            self._saves(write)

    def close(self) -> None:
        """Wait for a save in another thread, then release the path. A second call does nothing."""
        if not self._lock.forked:  # the fork released it, and a thread of the parent may hold the turn
            with self._turn:
                self._check_entered()
                self._release()

    def _check_entered(self) -> None:
        """Raise if called by a signal handler that interrupts a save of this thread."""
        if self._saving and threading.get_ident() in self._saving:
            raise StreamevalError(commit.REENTERED)

    def _version(self) -> object:
        """The version of the evaluator, which differs as soon as it counts more than the position says."""
        return self._evaluator._guard.version

    def _write(self, *, last: bool = False) -> None:
        """Write position and state, of one moment unless this is the ``last`` save; the caller has the turn."""
        self._check_open()
        ours = self._ours
        if self._identity() not in ours and self._ours is ours:  # else a handler has saved meanwhile
            lost = f"{self._path} is not the file that this Checkpointer loaded or wrote last, and is not replaced"
            raise InputError(f"{lost}; save Checkpoint(evaluator, position) to another path, and see who wrote it")

        def pieces() -> Generator[bytes, None, None]:
            encoded = encode_checkpoint(self._position, self._evaluator._pieces)
            with held(self._evaluator):
                yield from encoded
            if not last and self._noted != self._version():
                raise _MovedError("another thread counts; let one thread count and step, or hold a lock around both")

        def write() -> None:
            with contextlib.closing(pieces()) as written:
                # The new file is noted first, because an interruption may follow as soon as it replaces the old one.
                write_file(self._path, written, lambda status: self._ours.add(_identity_of(status)))

        self._saves(write)
        self._ours = {None, self._identity()}
        self._saved, self._saved_at = self._position, time.monotonic()

    def _check_open(self) -> None:
        if self._lock.forked:
            holder = f"process {self._lock.process}, from which this one was forked, holds {self._path}"
            raise InputError(f"{holder}; give another path to a Checkpointer of this process")
        if not self._lock.open:
            raise InputError(f"this Checkpointer is closed and no longer holds {self._path}; make a new Checkpointer")

    def _wait_for_saves(self) -> None:
        self._stepped.notify_all()
        own = {threading.get_ident()}  # a step saves next, in this thread
        self._stepped.wait_for(lambda: own.issuperset(self._saving))

    def _saves(self, write: Callable[[], None]) -> None:
        """Call ``write``; the caller has the turn. A signal handler may save meanwhile, but neither step nor close."""
        thread = threading.get_ident()
        try:
            self._saving.append(thread)  # within try, because an interruption may follow any call
            write()
        finally:
            self._saving.remove(thread)
            self._stepped.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                return
            self._check_open()
            if self._open:
                left = f"the loop was left while item {self._position} was in progress"
                raise InputError(f"{left}; nothing was saved after item {self._saved}; call step() before break")
            with self._turn:
                self._write(last=True)
                self._noted = self._version()
                self._wait_for_saves()
        finally:
            self.close()

    def __reduce__(self) -> Never:
        raise TypeError("a Checkpointer holds its path and is neither copied nor pickled; copy its evaluator")

    def __repr__(self) -> str:
        return f"Checkpointer({str(self._path)!r}, position={self._position}; {self._evaluator!r})"


def _identity_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _MovedError(InputError):
    """The evaluator counted while it was being saved."""


explain_methods(Checkpointer)


@explained
def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:  # no checker can know which class
    """Load an object that `save` wrote, whatever its class.

    `FormatError`, which names the file, if it holds anything else, is damaged, not a regular file, or larger than
    ``max_bytes``; `OSError` if it is not there, is a folder, or cannot be read.
    """
    if max_bytes is not None:
        max_bytes = check_number("max_bytes", max_bytes, 0, MOST)
    return read_file(path, decoded, max_bytes)


def decoded(data: bytes) -> Any:
    """The object that `to_bytes` was called on, whatever its class."""
    return read_state(data, Checkpoint, *_MORE)
