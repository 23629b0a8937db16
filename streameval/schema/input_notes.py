"""What an object notes of its input besides its counts; neither bytes nor equality depend on it."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

from streameval.errors import MergeError, warn
from streameval.kernel.backend import commit
from streameval.kernel.commit.numpy import Part

FIRST, FEW = 100, 20
"""How many examples start the first check for what to warn of; at the first reading, `FEW` are enough."""


class Forms(NamedTuple):
    """The forms in which labels came, which decide what input is accepted; committed together with counts."""

    width: int | None = None
    """The width of the widest row without label names, which counted as labels 0, 1, 2 ...; 0 if only indices did."""
    strings: bool | None = False
    """Whether some label was a string; None while unknown, as after load or merge, until labels are checked."""
    unsure: bool = False
    """Whether failed calls may have left columns of strings, or columns beyond a limit."""


class InputNotes:
    """What readers noted for one object, its windows and slices included; the guard of the object holds the notes."""

    def __init__(self) -> None:
        self.warnings: dict[str, str] = {}  # those that were issued, by subject; copies share them
        self.cell = commit.Root().cell(Forms(strings=None))
        self.noted = commit.Root().cell((FEW, {}))  # how many more examples to note; samples by argument
        self.due = FIRST  # the number of examples at which the next check for what to warn of is due
        self.is_read = False  # whether a check was made because a value was read

    def prepare_forget(self) -> list[Part]:
        """Prepare to forget all but the warnings, as if the object had counted nothing."""
        self.due, self.is_read = FIRST, False  # at once: if the reset fails, the object is only checked once more
        return [self.cell.prepare_store(Forms()), self.noted.prepare_store((FEW, {}))]

    @property
    def forms(self) -> Forms:
        return self.cell.value  # type: ignore[no-any-return]  # of a cell

    def change(self, **forms: Any) -> None:
        """Change the forms without a change of counts."""
        commit.Root.commit([self.cell.prepare_store(self.forms._replace(**forms))])

    def copy(self) -> InputNotes:
        """The notes of a copy of the object."""
        result = copy(self)
        result.cell = commit.Root().cell(self.forms)
        result.noted = commit.Root().cell(self.noted.value)
        return result

    @property
    def room(self) -> int:
        """How many further examples are to be noted."""
        return int(self.noted.value[0])

    @property
    def samples(self) -> dict[str, Any]:
        """What was noted, by argument."""
        return self.noted.value[1]  # type: ignore[no-any-return]

    def look_later(self) -> None:
        """Double the number of examples at which the next check is due, and note some more examples."""
        self.due *= 2
        commit.Root.commit([self.noted.prepare_store((FEW, self.samples))])

    def stop(self, noted: int = 0) -> int:
        """The number of examples at which the fast path stops: 0 if more than ``noted`` are to be noted, else `due`."""
        return 0 if self.room > noted else self.due

    def prepare_take(self, samples: dict[str, Any], examples: int) -> Part:
        """Prepare to add the samples of so many examples to the notes; the guard is held."""
        known = self.samples
        merged = {name: known[name].merged(one) if name in known else one for name, one in samples.items()}
        return self.noted.prepare_store((max(0, self.room - examples), known | merged))

    def warn(self, about: str, message: str) -> None:
        """Issue a `DataWarning`, unless there was one about the same subject."""
        if about not in self.warnings:
            self.warnings[about] = message  # first, so that the call succeeds if repeated where warnings are errors
            warn(message)

    def check_merge(self, other: InputNotes) -> None:
        """Raise `MergeError` if labels of one object are strings, and those of the other columns without names."""
        mine, theirs = self.forms, other.forms
        if (mine.width is not None and theirs.strings) or (theirs.width is not None and mine.strings):
            differ = "one has counted columns without names, and labels of the other are strings"
            raise MergeError(f"cannot merge: {differ}; construct both with labels=[...]")

    def merge(self, other: InputNotes) -> None:
        """Add the forms of another object; for both it is known whether labels are strings."""
        mine, theirs = self.forms, other.forms
        width = max((forms.width for forms in (mine, theirs) if forms.width is not None), default=None)
        strings = mine.strings or theirs.strings
        self.change(width=width, strings=strings, unsure=mine.unsure and not strings)


def notes_of(guard: Any) -> InputNotes:
    """The notes of the object that a guard belongs to."""
    notes: InputNotes | None = guard.notes
    if notes is None:
        with guard.reading:  # so that only one thread makes them
            notes = guard.notes = guard.notes or InputNotes()
    return notes
