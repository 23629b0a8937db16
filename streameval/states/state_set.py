"""Several states of the same examples, changed together: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from streameval.kernel import score_lists
from streameval.schema.batch import Batch, Example, Scored, ScoredLists
from streameval.schema.labels import LabelIndex
from streameval.states.base import State
from streameval.states.decisions import Decisions

__all__ = ["Joint", "Several"]


class Joint(NamedTuple):
    """The same examples as decisions and, for the states that read them, with their scores."""

    decided: Example | Batch
    scored: Scored | None

    @property
    def batch(self) -> Batch:
        """The decisions, where these are many examples."""
        assert not isinstance(self.decided, Example)  # noqa: S101  # who asks has read many
        return self.decided

    def part(self, start: int, stop: int) -> Joint:
        """Some of the examples of batches."""
        scored = None if self.scored is None else self.scored.part(start, stop)
        return Joint(self.batch.part(start, stop), scored)


class _Journal(NamedTuple):
    """A change under way: which states it has reached shows in their numbers of examples."""

    before: int
    change: Callable[[State, Any], None]
    undo: Callable[[State, Any], None] | None
    shares: tuple[Any, ...]


class Several:
    """Decisions and further states, over one `LabelIndex`.

    A state that comes later may only refuse what every state refuses, so that what was begun can be completed or
    undone: an interrupted count is undone, an interrupted merge is completed, at the next access.
    """

    __slots__ = ("_journal", "decisions", "others")

    def __init__(self, decisions: Decisions, others: dict[str, State]) -> None:
        self.decisions = decisions
        self.others = others
        self._journal: _Journal | None = None

    def empty(self, labels: LabelIndex) -> Several:
        """The same states, which have counted nothing."""
        return Several(self.decisions.empty(labels), {name: part.empty(labels) for name, part in self.others.items()})

    @property
    def parts(self) -> tuple[State, ...]:
        """All states, the decisions first."""
        return self.decisions, *self.others.values()

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self.settle()
        return self.decisions.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def place_plain(self, y_true: object, y_pred: object, threshold: float | None, weight: float) -> Joint | None:
        """An example of a common form with a score for each label it names, its cells placed; nothing changes."""
        found = score_lists(self.decisions._labels.columns, [y_pred])
        if found is None or type(y_pred) is not dict:
            return None
        guessed = dict.fromkeys(y_pred, False) if threshold is None else y_pred
        example = self.decisions.place_plain(y_true, guessed, threshold, weight)
        if example is None:
            return None
        offsets, ranked, scores, _ = found
        true = example.slots[example.slots % 5 & 1 == 1] // 5  # the odd outcomes are those of labels that are true
        ends = np.array([0, len(true)], np.int64)
        weights = None if weight == 1.0 else np.array([weight])
        return Joint(example, ScoredLists(1, (ends, true), (offsets, ranked), scores, None, weights))

    def count_one(self, example: Joint, sign: int) -> None:
        """Count one example (sign 1) or take it back (sign -1)."""
        shares = self._shares(example)

        def change(part: State, share: Any) -> None:
            part.count_one(share, sign)

        def undo(part: State, share: Any) -> None:
            part.count_one(share, -sign)

        self._all(_Journal(self.examples, change, undo, shares))

    def drop(self, decided: Iterable[Example], scored: Scored | None) -> None:
        """Take back examples that were surely counted. Only for states that are counted anew if this raises."""
        listed = list(decided)
        rows = [] if scored is None else [scored.part(row, row + 1) for row in range(scored.examples)]
        for part in self.parts:
            for example in listed if part.reads_decisions else rows:
                part.count_one(example, -1, known=True)

    def count(self, batch: Joint, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        for part, share in zip(self.parts, self._shares(batch), strict=True):
            part.count(share, threads)

    def merge(self, other: Several) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very object."""
        other.settle()
        if other.decisions.examples:
            self._all(_Journal(self.examples, _merged, None, other.parts))

    def _shares(self, given: Joint) -> tuple[Any, ...]:
        return given.decided, *(
            given.decided if part.reads_decisions else given.scored for part in self.others.values()
        )

    def _all(self, journal: _Journal) -> None:
        self._journal = journal
        try:
            for part, share in zip(self.parts, journal.shares, strict=True):
                journal.change(part, share)
        except BaseException:
            self.settle()
            raise
        self._journal = None

    def settle(self) -> None:
        """Complete or undo what was interrupted."""
        journal = self._journal
        if journal is None:
            return
        reached = [part.examples != journal.before for part in self.parts]
        for part, share, changed in zip(self.parts, journal.shares, reached, strict=True):
            if changed and journal.undo is not None:
                journal.undo(part, share)
            elif any(reached) and not changed and journal.undo is None:
                journal.change(part, share)
        self._journal = None

    # -- labels, copies, comparison -----------------------------------------------------------------------------------

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        self.settle()
        return self.decisions.sparse()

    def compact(self) -> None:
        """Drop what no example is left of."""
        self.settle()
        for part in self.parts:
            part.compact()

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        self.settle()
        labels = self.decisions._labels
        before = len(labels)
        self.decisions.forget(size)  # decisions know of every label that any state knows of
        if len(labels) < before:  # what was undone may have left sums of 0 in columns that are no more
            for part in self.parts:
                part.compact()

    def unweigh(self) -> None:
        """Drop all weight sums, where it is known that every counted example weighs 1."""
        for part in self.parts:
            part.unweigh()

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Several:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        self.settle()
        others = {name: part.scaled(labels, numerator, scale) for name, part in self.others.items()}
        return Several(self.decisions.scaled(labels, numerator, scale), others)

    def copy(self, labels: LabelIndex) -> Several:
        """An independent copy over a copy of the labels."""
        self.settle()
        return Several(self.decisions.copy(labels), {name: part.copy(labels) for name, part in self.others.items()})

    def contents(self) -> dict[str, Any]:
        """What the states besides decisions hold, by name."""
        self.settle()
        others: dict[str, Any] = self.others
        return {name: part.content() for name, part in others.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Several):
            return NotImplemented
        self.settle()
        other.settle()
        return self.decisions == other.decisions and self.others == other.others

    __hash__ = None  # type: ignore[assignment]


def _merged(part: Any, share: Any) -> None:
    part.merge(share)
