"""States on disk with how far the stream was read, for loops that go on where they were killed."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, cast

from streameval.delivery.encoding import MOST, decode_checkpoint, encode_checkpoint
from streameval.delivery.ledger import Ledger
from streameval.delivery.states import AnyState, check_class, check_compatible, check_empty, restored
from streameval.errors import FormatError, InputError, public
from streameval.evaluation.value import Saveable
from streameval.schema.text import check_number, number_or_none, quoted
from streameval.wire.envelope import CHECKPOINT, LEDGER, holder_of
from streameval.wire.files import clear_leftovers, naming_file, write_file

HeldT = TypeVar("HeldT", bound=AnyState | Ledger[Any])
T = TypeVar("T")


@public
@dataclass(frozen=True, slots=True)
class Checkpoint(Saveable, Generic[HeldT]):
    """A state and how far the stream was read when it was taken. `Checkpointer` writes such files.

    Attributes
    ----------
    evaluator
        An evaluator, a metric, a window or a ledger; a copy.
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

    def __post_init__(self) -> None:
        check_class(self.evaluator, "Checkpoint", Ledger)
        check_number("position", self.position, 0, MOST)
        object.__setattr__(self, "evaluator", self.evaluator.copy())

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """The checkpoint as bytes; equal checkpoints have equal bytes, on every machine."""
        return encode_checkpoint(self.position, self.evaluator.to_bytes())

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        position, state = decode_checkpoint(data)
        try:
            return cls(cast("HeldT", _held(state)), position)
        except FormatError as error:
            raise FormatError(f"the state in the checkpoint: {error}") from None


@public
class Checkpointer(Generic[HeldT]):
    """Saves an evaluator and the position in its stream every so often, and goes on from there after a crash.

    Parameters
    ----------
    evaluator
        An evaluator, a metric, a window or a ledger that has counted nothing. If the file exists, this very object
        takes over what the file holds; update it as if nothing had happened.
    path
        The file, for one process at a time. It is replaced as a whole: whenever the process is killed, it holds a state
        and the position that belongs to it. An exception that leaves the ``with`` block saves nothing.
    every
        After how many items to save; None for no such number.
    seconds
        After how many seconds to save, looked at after each item; None for no such time.

    Raises
    ------
    InputError
        If ``evaluator`` has counted examples, or an argument is of the wrong kind or out of range.
    MergeError
        If the file holds something that was built differently; the message names the difference.
    FormatError
        If the file is damaged or holds anything else. It is never replaced then.

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
            check_number("every", every, 1, MOST)
        self._every, self._seconds = every, number_or_none(seconds)
        if seconds is not None and not 0 < (self._seconds or 0) < math.inf:
            raise InputError(f"seconds must be a positive number, not {quoted(seconds)}")
        if every is None and seconds is None:
            raise InputError("nothing says when to save; give every=..., in items, or seconds=...")
        check_class(evaluator, "Checkpointer", Ledger)
        check_empty(evaluator, "Checkpointer", "empty or from its file")
        self._path = Path(path)
        if not self._path.parent.is_dir():
            raise InputError(f"there is no folder {quoted(str(self._path.parent))}; create it first")
        self._evaluator, self._position = evaluator, 0
        with contextlib.suppress(FileNotFoundError):
            data = self._path.read_bytes()
            with naming_file(self._path):
                loaded: Checkpoint[Any] = Checkpoint.from_bytes(data)
            context = f"{self._path} does not fit the {type(evaluator).__name__} passed in"
            check_compatible(evaluator, loaded.evaluator, context)
            _become(evaluator, loaded.evaluator)
            self._position = loaded.position
        clear_leftovers(self._path)
        self._saved, self._saved_at = self._position, time.monotonic()
        self._open = self._left = False

    @property
    def evaluator(self) -> HeldT:
        """The object that the loop updates."""
        return self._evaluator

    @property
    def position(self) -> int:
        """How many items of the stream are counted."""
        return self._position

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def remaining(self, stream: Iterable[T]) -> Iterator[T]:
        """The items of a stream that are not counted yet; each is counted as soon as the next one is asked for.

        The stream must begin where it always began; the first `position` items are skipped, and `InputError` says that
        there are fewer. To leave the loop early, call `step` for the item in progress if it was counted.
        """
        items = iter(stream)
        nothing = object()
        for skipped in range(self._position):
            if next(items, nothing) is nothing:
                counted = f"the stream has {skipped} items, but {self._position} are counted in {self._path}"
                raise InputError(f"{counted}; give the stream from its start, or another file")
        for item in items:
            self._open, before = True, self._position
            yield item
            if self._position == before:
                self.step()

    def step(self, count: int = 1) -> None:
        """Tell that the next items of the stream are counted, and save if it is time. `remaining` does it by itself.

        Parameters
        ----------
        count
            How many items, for example the length of a batch.
        """
        if self._left:
            raise InputError("the with block is over and the state is saved; make a new Checkpointer to go on")
        check_number("count", count, 0, MOST)
        self._position += count
        self._open = False
        steps = self._position - self._saved
        due = self._every is not None and steps >= self._every
        if due or (self._seconds is not None and steps and time.monotonic() - self._saved_at >= self._seconds):
            self.save()

    def save(self) -> None:
        """Save now. Once it returns, no crash can lose what is counted.

        `InputError` if an item is in progress, so that nobody knows whether it is counted; `OSError` if the file cannot
        be written, and is what it was.
        """
        if self._open:
            raise InputError(f"item {self._position} is in progress; call step() once it is counted, then save")
        write_file(self._path, encode_checkpoint(self._position, self._evaluator.to_bytes()))
        self._saved, self._saved_at = self._position, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._left = True
        if kind is not None:
            return
        if self._open:
            left = f"the loop was left while item {self._position} was in progress"
            raise InputError(f"{left}; nothing was saved after item {self._saved}; call step() before break")
        self.save()

    def __repr__(self) -> str:
        return f"<Checkpointer of {self._path} at {self._position}: {self._evaluator!r}>"


def load(path: str | os.PathLike[str]) -> AnyState | Ledger[Any] | Checkpoint[Any]:
    """Read what `save` wrote, whichever class it was.

    Raises
    ------
    FormatError
        If the file holds anything else, or is damaged; the message names the file.
    OSError
        If it is not there, or cannot be read.
    """
    data = Path(path).read_bytes()
    with naming_file(path):
        return decoded(data)


def decoded(data: bytes) -> AnyState | Ledger[Any] | Checkpoint[Any]:
    """What `to_bytes` was called on, whichever class it was."""
    return Checkpoint.from_bytes(data) if holder_of(data) == CHECKPOINT else _held(data)


def _held(data: bytes) -> AnyState | Ledger[Any]:
    return Ledger.from_bytes(data) if holder_of(data) == LEDGER else restored(data)


def _become(target: AnyState | Ledger[Any], source: AnyState | Ledger[Any]) -> None:
    """Give an object the content of another of its class, which is not used any more."""
    for kind in type(target).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(source, name):
                setattr(target, name, getattr(source, name))
