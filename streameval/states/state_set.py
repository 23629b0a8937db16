"""The states of the same examples, changed together: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from streameval.errors import MergeError, RevertError
from streameval.kernel.backend import commit
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Example
from streameval.schema.labels import LabelIndex
from streameval.states.base import Merge, Part, State
from streameval.states.decisions import Decisions

_NOT_PART = (
    "cannot unmerge: the other has examples that are not among these, or not with these weights; unmerge only what "
    "was merged before"
)


class StateSet:
    """The states of one object, over one `LabelIndex`: the decisions, and what else is asked for.

    A change has two phases. What every state needs is prepared first, as parts: this may fail, and nothing of it shows.
    Then all parts are committed at once, which cannot fail.

    A label that is registered for a change that is refused is a column that no example mentions: it is in no reading.

    Attributes
    ----------
    labels
        In which column each label is counted.
    decisions
        The state of binary predictions. It mentions every label that any state mentions.
    states
        All states by name, the decisions first.
    root
        What commits changes of them.
    """

    __slots__ = ("decisions", "labels", "root", "states")

    def __init__(self, decisions: Decisions, others: Mapping[str, State[Any]]) -> None:
        self.decisions, self.labels, self.root = decisions, decisions.labels, decisions.root
        self.states: dict[str, Any] = {"decisions": decisions, **others}

    @classmethod
    def of(
        cls, labels: LabelIndex, kinds: Iterable[tuple[type[State[Any]], Any]], contents: Mapping[str, Any]
    ) -> StateSet:
        """States over these labels: the decisions, and those of some kinds with their options.

        They hold what ``contents`` say, by name; those that it lacks have counted nothing.
        """
        root = commit.Root()
        decisions = Decisions(labels, root=root)
        others = {options.kind: kind(labels, options, root, decisions) for kind, options in kinds}
        made = cls(decisions, others)
        for name, state in made.states.items():
            if name in contents:
                state.restore(contents[name])
        return made

    def _derived(self, labels: LabelIndex, derive: Callable[[Any, LabelIndex, Any, Any], Any]) -> StateSet:
        root = commit.Root()
        decisions = derive(self.decisions, labels, root, None)
        others = {name: state for name, state in self.states.items() if state is not self.decisions}
        return StateSet(decisions, {name: derive(state, labels, root, decisions) for name, state in others.items()})

    def empty_like(self, labels: LabelIndex | None = None) -> StateSet:
        """The same states, which have counted nothing, over the same labels or others."""
        return self._derived(self.labels if labels is None else labels, State.empty_like)

    def copy(self) -> StateSet:
        """An independent copy."""
        return self._derived(self.labels.copy(), lambda state, *over: state.copy(*over))

    def scaled(self, numerator: int, scale: int) -> StateSet:
        """A copy in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        twin = self.copy()
        for state in twin.states.values():
            state.scale_weights(numerator, scale)
        return twin

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self.decisions.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def prepare(self, changes: Sequence[tuple[Example, int]], *, known: bool = False) -> list[Part]:
        """Prepare that examples are counted (sign 1) or taken back (sign -1), all of them at once.

        ``known``: what is taken back was surely counted, so no need to ask.
        """
        return [part for state in self.states.values() for part in state.prepare(changes, known=known)]

    def count_one(self, example: Example, sign: int, *, known: bool = False) -> None:
        """Count one example (sign 1) or take it back (sign -1)."""
        self.root.commit(self.prepare([(example, sign)], known=known))

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        for state in self.states.values():
            state.count(batch, threads)

    @staticmethod
    def count_groups(sets: list[StateSet], codes: IntArray, batch: Batch) -> bool:
        """Count each example of a batch in the set that its code says, if that can be done in one pass.

        The sets share their labels. Only for states that are thrown away if this raises.
        """
        if len(sets) == 1 or len(sets[0].states) > 1:
            return False
        return Decisions.count_groups([one.decisions for one in sets], codes, batch)

    def merge(self, other: StateSet) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very object."""
        self.root.commit(self.prepare_merge(other))

    def prepare_merge(self, other: StateSet) -> list[Part]:
        """Prepare what `merge` does."""
        self._check_options(other)
        return self.prepare_merges([(other, self.columns_of(other), 1)]) if other.examples else []

    def unmerge(self, other: StateSet) -> None:
        """Take back all that ``other`` has counted: the exact inverse of `merge`.

        Raises
        ------
        RevertError
            If the counts show that its examples are not among these. Nothing has changed then.
        """
        self._check_options(other)
        if not other.examples:
            return
        mentioned = other.decisions.labels_of(other.decisions.columns())
        if not all(label in self.labels.columns for label in mentioned):
            raise RevertError(_NOT_PART)
        try:
            parts = self.prepare_merges([(other, self.columns_of(other), -1)])
        except RevertError:
            raise RevertError(_NOT_PART) from None
        self.root.commit(parts)

    def _check_options(self, other: StateSet) -> None:
        differing: list[str] = []
        for mine, theirs in zip(self.states.values(), other.states.values(), strict=True):
            if mine.options is not theirs.options:
                differing += mine.options.differences(theirs.options)
        if differing:
            raise MergeError(f"cannot merge: {'; '.join(differing)}; construct both with the same configuration")

    def prepare_merges(self, merges: Sequence[Merge[StateSet]], *, known: bool = False) -> list[Part]:
        """Prepare that all that other sets have counted is added (sign 1) or taken back (sign -1), all of it at once.

        For each other set, of the same options, it is said where its columns are here, as by `columns_of`.
        """
        parts: list[Part] = []
        for name, state in self.states.items():
            ofs = [(other.states[name], columns, sign) for other, columns, sign in merges]
            parts += state.prepare_merges(ofs, known=known)
        return parts

    def columns_of(self, other: StateSet) -> IntArray | None:
        """Where the columns of another set are here, its labels registered; None if they are the same."""
        theirs, ours = other.labels, self.labels
        if theirs.labels is ours.labels or (theirs.fixed == ours.fixed and theirs.labels == ours.labels):
            return None
        names = theirs.labels
        with suppress(KeyError):
            return np.fromiter(map(ours.columns.__getitem__, names), np.int64, len(names))
        mentioned = other.decisions.table.mentioned(len(names)).tolist()
        ours.extend([name for name, there in zip(names, mentioned, strict=True) if there and name not in ours.columns])
        return np.array([ours.columns.get(name, 0) for name in names], np.int64)

    # -- labels -------------------------------------------------------------------------------------------------------

    def mostly_unused(self) -> bool:
        """Whether most registered labels have no example left."""
        grown = self.decisions.table.mentioned(len(self.labels))[self.labels.fixed :]
        return 2 * (self.labels.fixed + int(np.count_nonzero(grown))) < len(self.labels)

    def compact(self) -> None:
        """Drop what no example is left of."""
        for state in self.states.values():
            state.compact()

    def drop_weights(self) -> list[Part]:
        """Prepare that all weight sums are dropped, where it is known that every counted example weighs 1."""
        return [part for state in self.states.values() for part in state.drop_weights()]

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        return self.decisions.columns()

    # -- as a value ---------------------------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """What the states hold, by name."""
        return {name: state.content() for name, state in self.states.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateSet):
            return NotImplemented
        return self.states == other.states

    __hash__ = None  # type: ignore[assignment]
