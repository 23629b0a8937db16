"""What an object notes of its input besides its counts: in no bytes, no equality and no merge check."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

from streameval.errors import MergeError, warn
from streameval.kernel.backend import commit
from streameval.kernel.commit.numpy import Part

FIRST, FEW = 100, 20
"""Examples at which it is first looked for something to warn of; at the first reading so few are enough."""


class Forms(NamedTuple):
    """In which forms labels came, since equal objects accept the same input; committed with what is counted."""

    width: int | None = None
    """Of the widest row without names, where none were declared: it counted as 0, 1, 2 ...; 0 if only indices did."""
    strings: bool | None = False
    """Whether a label was one; None if the labels are still to say it, as after load or merge."""
    unsure: bool = False
    """Whether there may be columns of strings, or beyond a limit, of failed calls."""


class InputNotes:
    """What readers noted over the life of one object, with its windows and slices, whose guard holds these notes."""

    def __init__(self) -> None:
        self.warnings: dict[str, str] = {}  # those that were issued, by what they are about; copies share them
        self.cell = commit.Root().cell(Forms(strings=None))
        self.noted = commit.Root().cell((FEW, {}))  # how many further examples are to be noted; what was, by argument
        self.due = FIRST  # from how many examples on it is looked again whether there is something to warn of
        self.is_read = False  # whether it was looked because somebody read a value

    def prepare_forget(self) -> list[Part]:
        """Prepare to forget all but the warnings, as of an object that has counted nothing."""
        self.due, self.is_read = FIRST, False  # at once: an object that is not reset after all is looked at again
        return [self.cell.prepare_store(Forms()), self.noted.prepare_store((FEW, {}))]

    @property
    def forms(self) -> Forms:
        return self.cell.value  # type: ignore[no-any-return]  # of a cell

    def change(self, **forms: Any) -> None:
        """Change what is remembered of forms, where nothing is counted with it."""
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
        """Look again at twice as many examples, after noting some more."""
        self.due *= 2
        commit.Root.commit([self.noted.prepare_store((FEW, self.samples))])

    def stop(self, noted: int = 0) -> int:
        """From how many examples on the fast path stops for them to be noted, once so many are, or to look at all."""
        return 0 if self.room > noted else self.due

    def prepare_take(self, samples: dict[str, Any], examples: int) -> Part:
        """Prepare that what was noted of examples that were read is taken over; the guard is held."""
        known = self.samples
        merged = {name: known[name].merged(one) if name in known else one for name, one in samples.items()}
        return self.noted.prepare_store((max(0, self.room - examples), known | merged))

    def warn(self, about: str, message: str) -> None:
        """Issue a `DataWarning`, unless there was one about the same."""
        if about not in self.warnings:
            self.warnings[about] = message  # first, so that the same call goes on where warnings are errors
            warn(message)

    def check_merge(self, other: InputNotes) -> None:
        """Raise `MergeError` if labels of one object are strings, and those of the other columns without names."""
        mine, theirs = self.forms, other.forms
        if (mine.width is not None and theirs.strings) or (theirs.width is not None and mine.strings):
            differ = "one has counted columns without names, and labels of the other are strings"
            raise MergeError(f"cannot merge: {differ}; construct both with labels=[...]")

    def merge(self, other: InputNotes) -> None:
        """Take over what another object remembers; of both it is known whether labels are strings."""
        mine, theirs = self.forms, other.forms
        width = max((forms.width for forms in (mine, theirs) if forms.width is not None), default=None)
        strings = mine.strings or theirs.strings
        self.change(width=width, strings=strings, unsure=mine.unsure and not strings)


def notes_of(guard: Any) -> InputNotes:
    """The notes of the object that a guard belongs to."""
    notes: InputNotes | None = guard.notes
    if notes is None:
        with guard.reading:  # so that no other thread makes some
            notes = guard.notes = guard.notes or InputNotes()
    return notes
