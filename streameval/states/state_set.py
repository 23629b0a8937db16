"""The states of the same examples, changed together: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Example
from streameval.schema.labels import LabelIndex
from streameval.states.base import State
from streameval.states.decisions import Decisions

__all__ = ["StateSet"]


class _Journal(NamedTuple):
    """A change under way: which states it has reached shows in their numbers of examples."""

    before: int
    change: Callable[[State, Any], None]
    undo: Callable[[State, Any], None] | None
    shares: tuple[Any, ...]


class StateSet:
    """The states of one object, over one `LabelIndex`: the decisions, and what else is asked for.

    A state that comes later may only refuse what every state refuses, so that what was begun can be completed or
    undone: an interrupted count is undone, an interrupted merge is completed, at the next access.

    Attributes
    ----------
    labels
        In which column each label is counted.
    decisions
        The state of binary predictions. It mentions every label that any state mentions.
    """

    __slots__ = ("_journal", "_states", "decisions", "labels")

    def __init__(self, labels: LabelIndex, states: dict[str, Any]) -> None:
        self.labels = labels
        self._states = states
        self.decisions: Decisions = states["decisions"]
        self._journal: _Journal | None = None

    @classmethod
    def fresh(cls, labels: LabelIndex, others: Mapping[str, Callable[[LabelIndex], State]] | None = None) -> StateSet:
        """States that have counted nothing: the decisions, and what ``others`` make, by name."""
        made = {name: make(labels) for name, make in (others or {}).items()}
        return cls(labels, {"decisions": Decisions(labels), **made})

    def empty_like(self, labels: LabelIndex | None = None) -> StateSet:
        """The same states, which have counted nothing, over the same labels or others."""
        over = self.labels if labels is None else labels
        return StateSet(over, {name: state.empty(over) for name, state in self._states.items()})

    @property
    def states(self) -> dict[str, Any]:
        """All states by name, the decisions first."""
        self.settle()
        return self._states

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        if self._journal is not None:
            self.settle()
        return self.decisions.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_one(self, example: Example, sign: int, *, known: bool = False) -> None:
        """Count one example (sign 1) or take it back (sign -1); ``known``: it was surely counted, so no need to ask."""

        def change(state: State, share: Any) -> None:
            state.count_one(share, sign, known=known)

        def undo(state: State, share: Any) -> None:
            state.count_one(share, -sign)

        shares = [example if state.reads_decisions else example.scored for state in self._states.values()]
        self._all(_Journal(self.examples, change, undo, tuple(shares)))

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        for state in self._states.values():
            state.count(batch, threads)

    @staticmethod
    def count_groups(sets: list[StateSet], codes: IntArray, batch: Batch) -> bool:
        """Count each example of a batch in the set that its code says, if that can be done in one pass.

        The sets share their labels. Only for states that are thrown away if this raises.
        """
        if len(sets) == 1 or len(sets[0]._states) > 1:
            return False
        return Decisions.count_groups([one.decisions for one in sets], codes, batch)

    def merge(self, other: StateSet) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very object."""
        other.settle()
        if other.decisions.examples:
            self._all(_Journal(self.examples, _merged, None, tuple(other._states.values())))

    def _all(self, journal: _Journal) -> None:
        self._journal = journal
        try:
            for state, share in zip(self._states.values(), journal.shares, strict=True):
                journal.change(state, share)
        except BaseException:
            self.settle()
            raise
        self._journal = None

    def settle(self) -> None:
        """Complete or undo what was interrupted."""
        journal = self._journal
        if journal is None:
            return
        states = self._states.values()
        reached = [state.examples != journal.before for state in states]
        for state, share, changed in zip(states, journal.shares, reached, strict=True):
            if changed and journal.undo is not None:
                journal.undo(state, share)
            elif any(reached) and not changed and journal.undo is None:
                journal.change(state, share)
        self._journal = None

    # -- labels, copies, comparison -----------------------------------------------------------------------------------

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        return self.states["decisions"].sparse()  # type: ignore[no-any-return]

    def compact(self) -> None:
        """Drop what no example is left of."""
        for state in self.states.values():
            state.compact()

    def unweigh(self) -> None:
        """Drop all weight sums, where it is known that every counted example weighs 1."""
        for state in self._states.values():
            state.unweigh()

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        return self.states["decisions"].columns()  # type: ignore[no-any-return]

    def scaled(self, numerator: int, scale: int) -> StateSet:
        """A copy in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        labels = self.labels.copy()
        return StateSet(labels, {name: state.scaled(labels, numerator, scale) for name, state in self.states.items()})

    def copy(self) -> StateSet:
        """An independent copy."""
        labels = self.labels.copy()
        return StateSet(labels, {name: state.copy(labels) for name, state in self.states.items()})

    def content(self) -> dict[str, Any]:
        """What the states hold, by name."""
        return {name: state.content() for name, state in self.states.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateSet):
            return NotImplemented
        return self.states == other.states

    __hash__ = None  # type: ignore[assignment]


def _merged(state: Any, share: Any) -> None:
    state.merge(share)
