"""What an object remembers of its input beside its counts: in no bytes, no equality and no merge check."""

from __future__ import annotations

from copy import copy
from typing import Any

from streameval.errors import MergeError, warn
from streameval.schema.labels import LabelIndex

FIRST, FEW = 100, 20
"""Examples at which it is first looked for something to warn of; at the first reading so few are enough."""


class Record:
    """What readers met over the life of one object, with its windows and slices, whose guard holds it."""

    def __init__(self) -> None:
        self.warnings: dict[str, str] = {}  # those that were issued, by what they are about; copies share them
        self.forget()

    def forget(self) -> None:
        """Be the record of an object that has counted nothing, but has warned."""
        self.forget_forms()
        self.due = FIRST  # from how many examples on it is looked again whether there is something to warn of
        self.is_read = False  # whether it was looked because somebody read a value
        self.room = FEW  # how many further examples are to be noted
        self.samples: dict[str, Any] = {}  # what was noted, by argument

    def forget_forms(self) -> None:
        """Remember no rows and no labels, since equal objects accept the same input: of one that is empty again."""
        # Of the widest row that did not name its labels, where none were declared: it counted as the labels 0, 1, 2 ...
        # 0 if only indices did; None if there was neither.
        self.width: int | None = None
        self.strings: bool | None = False  # whether a label was one; None if the labels say it, after they were merged
        self.unsure = False  # whether there may be columns of strings, or beyond a limit, of failed calls

    def copy(self) -> Record:
        """The record of a copy of the object."""
        twin = copy(self)
        twin.samples = {name: copy(sample) for name, sample in self.samples.items()}
        return twin

    @property
    def stop(self) -> int:
        """From how many examples on the fast path stops for them to be noted, or for a look at all of them."""
        return 0 if self.room else self.due

    def take(self, samples: dict[str, Any], examples: int) -> None:
        """Take over what was noted of examples that were read."""
        self.room = max(0, self.room - examples)
        known = self.samples  # another thread may forget them
        for name, sample in samples.items():
            if (before := known.setdefault(name, sample)) is not sample:
                before.merge(sample)

    def warn(self, about: str, message: str) -> None:
        """Issue a `DataWarning`, unless there was one about the same."""
        if about not in self.warnings:
            self.warnings[about] = message  # first, so that the same call goes on where warnings are errors
            warn(message)

    def check_merge(self, other: Record) -> None:
        """Raise `MergeError` if labels of one object are strings, and those of the other columns without names."""
        for one, two in ((self, other), (other, self)):
            if one.width is not None and two.strings:
                differ = "one has counted columns without names, and labels of the other are strings"
                raise MergeError(f"cannot merge: {differ}; construct both with labels=[...]")

    def merge(self, other: Record | None) -> None:
        """Take over what another object remembers, or with None that it remembers nothing of what it has counted."""
        if other is None:
            self.strings = self.strings or None
            return
        widths = {self.width, other.width} - {None}
        self.width = max(widths, default=None)  # type: ignore[type-var]  # None is not among them
        self.strings = self.strings or (None if other.strings is None else other.strings or self.strings)


def record_of(guard: Any, labels: LabelIndex | None = None) -> Record:
    """The record of the object that a guard belongs to; of ``labels`` are those that it was read with from bytes."""
    record: Record | None = guard.notes
    if record is None:
        record = guard.notes = Record()
        record.strings = None
    if record.strings is None and labels is not None:
        record.strings = any(isinstance(label, str) for label in labels.labels[labels.fixed :])
    return record
