"""The states of the same examples, changed together: all of them, or none."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import compress, pairwise
from typing import Any, Self

import numpy as np

from streameval.errors import LabelError, RevertError, wording
from streameval.kernel.backend import commit, decisions as kernel
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Example, Ragged, columns_in
from streameval.schema.input_notes import notes_of
from streameval.schema.labels import IDENTIFIERS, LabelIndex, in_order
from streameval.schema.text import quoted
from streameval.states.base import Merge, Part, State
from streameval.states.decisions import Decisions

_NOT_PART = (
    "cannot unmerge: the other has examples that are not among these, or not with these weights; unmerge only what "
    "was merged before"
)
_PER_THREAD = 255  # fewer examples than this are not worth a thread
_FEW = 2**12  # up to this number of labels, looking up all is faster than selecting the mentioned ones
_AT_ONCE = 2**21  # groups times labels, up to which groups are counted in one pass, as their cells fit into memory


class StateSet:
    """The states of one object by name, over one `LabelIndex`; the decisions, which mention every label, are first."""

    __slots__ = ("decisions", "labels", "root", "states")
    decisions: Decisions

    def __init__(self, states: dict[str, Any]) -> None:
        self.states, self.decisions = states, states["decisions"]
        self.labels, self.root = self.decisions.labels, self.decisions.root

    @classmethod
    def of(
        cls, labels: LabelIndex, kinds: Iterable[tuple[type[State[Any]], Any]], contents: Mapping[str, Any]
    ) -> StateSet:
        """The decisions and states of these kinds with their options, filled with ``contents`` by name."""
        root = commit.Root()
        decisions = Decisions(labels, root=root)
        rest = {options.kind: kind(labels, options, root, decisions) for kind, options in kinds}
        result = cls({"decisions": decisions, **rest})
        for name, state in result.states.items():
            if name in contents:
                state.restore(contents[name])
        return result

    def _derived(self, labels: LabelIndex, method: str) -> StateSet:
        root, states = commit.Root(), dict[str, Any]()
        for name, state in self.states.items():
            states[name] = getattr(state, method)(labels, root, states.get("decisions"))
        return StateSet(states)

    def empty_like(self, labels: LabelIndex | None = None) -> StateSet:
        """Empty states of the same kinds and options, over the same labels or over ``labels``."""
        return self._derived(self.labels if labels is None else labels, "empty_like")

    def copy(self) -> StateSet:
        return self._derived(self.labels.copy(), "copy")

    def scaled(self, numerator: int, scale: int) -> Self:
        """Multiply all weights by ``numerator / 2**scale``; returns self. Only for copies that no caller has yet."""
        for state in self.states.values():
            state.scale_weights(numerator, scale)
        return self

    @property
    def examples(self) -> int:
        return self.decisions.examples

    def prepare(self, changes: Sequence[tuple[Example, int]], *, known: bool = False) -> list[Part]:
        """Prepare to count examples (sign 1) or to revert them (sign -1); ``known``: the latter were surely counted."""
        if len(self.labels.labels) > self.labels.check_beyond:
            self._check_labels([(example.slots // 5, 1, sign) for example, sign in changes])
        parts: list[Part] = []
        for state in self.states.values():
            parts += state.prepare(changes, known=known)
        return parts

    def check_labels(self) -> None:
        """Raise if more labels are counted than the limit allows. If this raises, the states must be discarded."""
        if len(self.labels) > self.labels.check_beyond:
            self._check_labels([(slice(None), self.decisions.mentions(), 1)], np.zeros(len(self.labels), np.int64))

    def _check_labels(self, changes: Iterable[tuple[Any, IntArray | int, int]], before: IntArray | None = None) -> None:
        """Refuse labels beyond the limit, or warn of identifiers; a change is columns, how often, and the sign."""
        names, fixed, limit = self.labels.labels, self.labels.fixed, self.labels.limit
        times = self.decisions.mentions() if before is None else before
        unmentioned = times[fixed:] == 0
        for columns, more, sign in changes:
            np.add.at(times, columns, sign * more)
        present = times[fixed:] > 0
        count, new = int(np.count_nonzero(present)), unmentioned & present
        if limit is None:
            self.labels.check_beyond, once = 2 * len(names), int(np.count_nonzero(times[fixed:] == 1))
            if 10 * once >= 9 * max(count, IDENTIFIERS):
                self.labels.check_beyond = sys.maxsize
                many = f"{once} of {count} labels occur in one example only, such as {quoted(names[-1])}"
                way = "check that labels are read from the right place"
                way += wording(", or bound them with label_limit=", "")
                notes_of(self.labels.guard).warn("identifiers", f"{many}, as identifiers do; {way}")
        elif count > limit and new.any():
            added = sorted((names[fixed + place] for place in np.flatnonzero(new).tolist()), key=in_order)
            # Columns of refused labels keep the fast path off until they are dropped, which visits all labels.
            if 64 * int(np.count_nonzero(unmentioned)) > len(names):
                notes_of(self.labels.guard).change(unsure=True)
            further, room = " besides the declared ones" if fixed else "", max(0, len(added) + limit - count)
            declare = "raise label_limit, or declare the labels and drop the rest with unknown='ignore'"
            way = wording(declare, "name a state with a higher limit, or with none, first")
            many = f"label {quoted(added[room])} is one too many: label_limit is {limit}"
            raise LabelError(f"{many}, and there would be {count} labels{further}; {way}")

    def count_one(self, example: Example, sign: int) -> None:
        """Count one example (sign 1) or revert it (sign -1)."""
        self.root.commit(self.prepare([(example, sign)]))

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. If this raises, the states must be discarded; `merge` changes all or nothing."""
        threads = min(threads, batch.examples // _PER_THREAD)
        if threads < 2:
            for state in self.states.values():
                state.count(batch)
            return
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and seldom needed

        bounds = [batch.examples * part // threads for part in range(threads + 1)]
        parts = [batch.take(slice(start, stop)) for start, stop in pairwise(bounds)]
        sets = [self.empty_like() for _ in parts]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(StateSet.count, sets, parts))
        for one in sets:
            self.merge(one)

    @staticmethod
    def count_groups(sets: list[StateSet], codes: IntArray, batch: Batch) -> bool:
        """Count each example in the set that its code names, all over the same labels; False for uncommon batches."""
        labels = sets[0].labels
        if len(sets) == 1 or len(sets[0].states) > 1 or len(sets) * len(labels) > _AT_ONCE:
            return False
        if not isinstance(batch, Ragged) or batch.true is None or batch.pred is None or len(batch.mentioned_by_all):
            return False
        if batch.weights is not None or batch.mask is not None or batch.mentioned is not None:
            return False
        tables = [one.decisions.table for one in sets]
        kernel.count_groups(tables, codes, batch.examples, len(labels), batch.true, batch.pred)
        return True

    def merge(self, other: StateSet) -> None:
        """Add all that ``other``, of the same options, has counted. ``other`` may be this very object."""
        self.root.commit(self.prepare_merge(other))

    def prepare_merge(self, other: StateSet) -> list[Part]:
        return self.prepare_merges([(other, self.columns_of(other), 1)]) if other.decisions.table.examples else []

    def unmerge(self, other: StateSet) -> None:
        """Take back all that ``other`` has counted, or raise `RevertError` if its examples cannot be among these."""
        self.root.commit(self.prepare_unmerge(other))

    def prepare_unmerge(self, other: StateSet) -> list[Part]:
        if not other.examples:
            return []
        if None in self.labels.columns_of(other.labels.at(other.decisions.columns())):
            raise RevertError(_NOT_PART)
        try:
            return self.prepare_merges([(other, self.columns_of(other), -1)])
        except RevertError:
            raise RevertError(_NOT_PART) from None

    def prepare_merges(self, merges: Sequence[Merge[StateSet]], *, known: bool = False) -> list[Part]:
        """Prepare to add all that other sets of the same options have counted (sign 1) or to subtract it (sign -1)."""
        if len(self.labels.labels) > self.labels.check_beyond:
            self._check_labels(
                (np.arange(len(other.labels)) if columns is None else columns, other.decisions.mentions(), sign)
                for other, columns, sign in merges
            )
        parts: list[Part] = []
        for name, state in self.states.items():
            ofs = [(other.states[name], columns, sign) for other, columns, sign in merges]
            parts += state.prepare_merges(ofs, known=known)
        return parts

    def columns_of(self, other: StateSet) -> IntArray | None:
        """Register the labels of another set, and return the column of each in this set; None if all are the same."""
        theirs, ours = other.labels, self.labels
        if theirs.labels is ours.labels or (theirs.fixed == ours.fixed and theirs.labels == ours.labels):
            return None
        names = theirs.labels
        with suppress(KeyError):
            if len(names) <= _FEW:
                return np.fromiter(map(ours.columns.__getitem__, names), np.int64, len(names))
        mentioned = other.decisions.table.mentioned(len(names))
        mentioned[: theirs.fixed] = True  # because declared labels may have scores without being mentioned
        columns, names = np.zeros(len(names), np.int64), list(compress(names, mentioned.tolist()))
        try:
            registered: Any = list(map(ours.columns.__getitem__, names))
        except KeyError:
            registered = ours.register(names, guarded=True)
            if theirs.fixed == ours.fixed and registered == range(len(columns)):
                return None
        columns[mentioned] = registered
        return columns

    def belong(self, guard: commit.Guard) -> None:
        """Attach the guard of the object that owns these states."""
        self.root.guard = self.labels.guard = guard

    def taken(self, example: Example, labels: LabelIndex) -> Example:
        """An example that was read over other labels, in columns of this set; registers the labels it mentions."""
        columns = np.zeros(len(labels), np.int64)
        mentioned = np.unique(example.slots // 5)
        if example.scored is not None:
            mentioned = np.union1d(mentioned, columns_in(example.scored))
        columns[mentioned] = self.labels.register([labels.labels[at] for at in mentioned.tolist()], guarded=True)
        return example.moved(columns)

    def mostly_unused(self) -> bool:
        """Whether most registered labels have no example left."""
        grown = self.decisions.table.mentioned(len(self.labels))[self.labels.fixed :]
        return 2 * (self.labels.fixed + int(np.count_nonzero(grown))) < len(self.labels)

    def compact(self) -> None:
        for state in self.states.values():
            state.compact()

    def drop_weights(self) -> list[Part]:
        """Prepare to drop all weight sums. Only if every counted example is known to weigh 1."""
        return [part for state in self.states.values() if state.weights.present for part in state.weights.prepare(None)]

    def content(self) -> dict[str, Any]:
        return {name: state.content() for name, state in self.states.items()}
