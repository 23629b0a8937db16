"""Merges the states of shards, which may be delivered more than once and in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self, cast, overload

from streameval.delivery.shards import SavedSum, Shard, Version, counter, digest, is_news, take_sum
from streameval.errors import InputError, MergeError, StreamevalError, public
from streameval.evaluation.core import config_of
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.guarding import changes, combines, look_at, reads
from streameval.evaluation.templates import answer_of
from streameval.evaluation.value import Mergeable, differences, fresh_of
from streameval.kernel.backend import commit
from streameval.progressive.holder import AnyState, StateT, check_class, check_compatible, check_empty, read_state
from streameval.report.model import Table, listed
from streameval.schema.input_notes import notes_of
from streameval.schema.labels import Label, PerLabel, ascending, in_order, normalise
from streameval.schema.text import number_of, printable, quoted, suggestion
from streameval.wire.envelope import LEDGER, sealed
from streameval.wire.fields import Sink, Source, require, varint


@public
class Ledger(Mergeable, Generic[StateT]):
    """Merges the states of shards that may arrive late, repeatedly or out of order.

    Each shard sends its whole state so far with a sequence number, and the ledger stores the newest. Putting or merging
    the same again changes nothing, and neither does the order. To retract a shard, put an empty state.

    Parameters
    ----------
    evaluator
        A state that has counted nothing, of the configuration of all shards: an `Evaluator`, a metric, a `Sliced`, or a
        window that merges. Without it the configuration is that of the first shard, but for ``label_limit`` and
        ``rows``, and an empty ledger has no values. Its ``label_limit`` holds for the sum of all shards: what reads a
        sum with more labels raises `LabelError`.

    Examples
    --------
    >>> import streameval as se
    >>> worker = se.F1(average="micro")
    >>> worker.update({"cat"}, {"cat", "dog"})
    >>> early = worker.to_bytes()
    >>> worker.update({"dog"}, {"dog"})
    >>> ledger = se.Ledger(se.F1(average="micro"))
    >>> ledger.put("partition 0", 2, worker)
    >>> ledger.put("partition 0", 2, worker)    # delivered twice
    >>> ledger.put("partition 0", 1, early)     # delivered late
    >>> ledger.get(), ledger.shards()
    (0.8, {'partition 0': Version(epoch=0, sequence=2)})
    """

    __slots__ = ("_guard", "_sums", "_template", "_total")
    _holder: ClassVar[int] = LEDGER

    def __init__(self, evaluator: StateT | None = None) -> None:
        self._guard = commit.Guard()
        self._template: Any = None  # an empty state with the configuration of all shards; it never changes
        self._sums: dict[Label, SavedSum] = {}  # for each shard the sum that contains it; no shard is in two sums
        self._total: Any = None  # the sum of all shards, if it is known; not shared with another ledger
        if evaluator is not None:
            self._template = _template_of(evaluator)
            check_empty(evaluator, "Ledger", "empty", ", and put this one as a shard")

    def put(self, shard: Label, sequence: int, evaluator: StateT | bytes, *, epoch: int = 0) -> None:
        """Store the state of a shard, with all its counts of this epoch; a state older than the stored one is ignored.

        Parameters
        ----------
        shard
            The source of the examples, such as a partition or a file: a string or an integer.
        sequence
            How far the shard has come, such as the offset of its last example; a later state has a larger one.
        evaluator
            The state, or its bytes. It is copied.
        epoch
            Counts how often the shard started again from nothing. It and ``sequence`` go from 0 to 2**63 - 1.

        Raises
        ------
        ConflictError
            If another state exists with the same epoch and sequence, or the shard was compacted with other shards and
            this state is newer.
        MergeError
            If its configuration differs from that of the other shards.
        """
        name, version = _shard(shard), Version(counter(epoch, "epoch"), counter(sequence, "sequence"))
        if isinstance(evaluator, bytes | bytearray | memoryview):
            data = bytes(evaluator)
            state = read_state(data)
        else:
            check_class(evaluator, "Ledger.put")
            state, data = evaluator.copy(), b""  # a copy, so that state and bytes are of one moment
        config = config_of(state)
        plain = config.compared() is config
        if not (data and plain):
            data = b"".join(state._pieces(compared=True))  # a shard may be sent again with another label_limit
        fresh = None if self._template is not None else _template_of(state if plain else read_state(data))
        added = SavedSum({name: Shard(version, digest(data))}, data)
        with self._guard:
            template: Any = fresh if self._template is None else self._template
            check_compatible(template, state, f"shard {quoted(name, 200)} does not match the ledger")
            if not is_news(added, self._sums):
                return
            total, before = self._total if self._sums else template.copy(), self._sums.get(name)
            self._total = None  # if this is interrupted, the sum is computed anew
            # ``before`` has no other shard, or `is_news` would have raised.
            total = _exchanged(total, [] if before is None else [before], [state])
            self._template, self._sums[name], self._total = template, added, total

    @combines
    def merge(self, other: Self) -> None:
        """Keep the newest state of each shard of both ledgers; merging twice, or in another order, changes nothing.

        `ConflictError` if the two hold different states of one shard with the same epoch and sequence, or sums that
        share only some of their shards; `MergeError` if their configurations differ. Nothing has changed then.
        """
        if type(other) is not type(self) and issubclass(type(other), Mergeable):
            differing = f"a Ledger and {type(other).__name__} differ"
            raise MergeError(f"cannot merge: {differing}; put(shard, sequence, evaluator) takes a single state")
        self._check_compatible(other)
        if other._template is None:
            return
        template = other._template if self._template is None else self._template
        theirs = other._each()
        news = [added for added in theirs if is_news(added, self._sums)]
        changed = {shard: added for added in news for shard in added.shards}
        gone = {id(part): part for shard, part in self._sums.items() if shard in changed}
        total = self._total if self._sums else template.copy()
        whole = other._total is not None and len(news) == len(theirs)
        if news:
            self._total = None
            added = [other._total] if whole else (read_state(part.state) for part in news)
            total = _exchanged(total, gone.values(), added)
        self._template, self._sums, self._total = template, {**self._sums, **changed}, total

    def _differences(self, other: Self) -> list[str]:
        mine, theirs = self._template, other._template
        return differences(mine, theirs) if mine is not None and theirs is not None else []

    def compact(self, shards: Iterable[Label] | None = None) -> None:
        """Store only the sum of some shards' states, all of them by default, to save memory.

        For shards that have sent their last state. Late duplicates of it and older states stay harmless; a newer state
        is refused, since what it would replace is part of the sum; a single shard stays as it is. Shards that were
        compacted before include those in the same sum. Compact ledgers that are to be merged in one place, or in
        the same groups.
        """
        if isinstance(shards, str | bytes) or not isinstance(shards, Iterable | None):
            raise InputError(f"shards must be a list of shards, not {quoted(shards)}; write [{quoted(shards)}]")
        self._compact(None if shards is None else [_shard(shard) for shard in shards])

    @changes
    def _compact(self, shards: Iterable[Label] | None) -> None:
        chosen = self._sums if shards is None else shards
        picked = {id(part): part for part in (self._known(shard) for shard in chosen)}
        if len(picked) < 2:
            return
        whole = {name: shard for part in picked.values() for name, shard in part.shards.items()}
        empty = read_state(b"".join(self._template._pieces(compared=True)))
        state = _summed(empty, picked.values()).to_bytes()
        both = SavedSum({name: whole[name] for name in sorted(whole, key=in_order)}, state)
        self._sums = {**self._sums, **dict.fromkeys(both.shards, both)}

    @changes
    def reset(self) -> None:
        """Forget every shard; the configuration stays."""
        self._total = None
        self._sums = {}

    @reads
    def total(self) -> StateT:
        """The sum of all shards, as a new object; `InputError` if the ledger has no configuration yet."""
        return cast("StateT", self._read().copy())

    @overload
    def get(self: Ledger[Evaluator], metric: None = None) -> dict[str, float | PerLabel]: ...
    @overload
    def get(self: Ledger[Evaluator], metric: MetricLike) -> float | PerLabel: ...
    @overload
    def get(self: Ledger[StateT], metric: MetricLike | None = None) -> object: ...
    def get(self, metric: MetricLike | None = None) -> object:
        """The value of one metric for the sum of all shards, or a dict by name of all metrics."""
        with self._guard.reading:
            whole: Any = self._read()
        notes_of(whole._guard).warnings = notes_of(self._guard).warnings  # also if the sum is new, warn once
        look_at(whole)
        with self._guard.reading:
            return answer_of(self._read(), metric, "a ledger of a single metric answers")

    def state(self, shard: Label) -> StateT:
        """The newest state of one shard, as a new object; `InputError` if there is none, or it was compacted."""
        name = _shard(shard)
        with self._guard.reading:
            part = self._known(name)
        if count := len(part.shards) - 1:
            compacted = f"shard {quoted(name, 200)} was compacted with {number_of(count, 'other shard')}"
            raise InputError(f"{compacted}; read it before compact()")
        return cast("StateT", read_state(part.state))

    @reads
    def shards(self) -> dict[Label, Version]:
        """Version of the state of each shard, sorted by shard."""
        return {name: self._sums[name].shards[name].version for name in sorted(self._sums, key=in_order)}

    @reads
    def compacted(self) -> tuple[tuple[Label, ...], ...]:
        """Groups of shards whose states were replaced by their sum."""
        return tuple(tuple(part.shards) for part in self._each() if len(part.shards) > 1)

    @property
    @reads
    def examples(self) -> int:
        """Number of examples counted by all shards."""
        return 0 if self._template is None else self._read().examples

    def __len__(self) -> int:
        return len(self._sums)

    def __contains__(self, shard: object) -> bool:
        try:
            return normalise(shard) in self._sums
        except InputError:
            return False

    def __iter__(self) -> Iterator[Label]:
        return iter(self.shards())

    @reads
    def __repr__(self) -> str:
        size = number_of(len(self), "shard")
        with suppress(StreamevalError):  # there may be no sum, for example of too many labels
            return f"Ledger({size}; {self._read()!r})"
        return f"Ledger({size})"

    def _display(self) -> tuple[str, Sequence[Table]]:
        try:
            head, tables = self._read()._display()
        except StreamevalError:
            return repr(self), []
        rows = [(printable(shard), *version) for shard, version in list(self.shards().items())[:20]]
        caption = f"The first 20 of {len(self):,} shards" if len(self) > 20 else "Shards"
        shards = Table("shards", caption, listed(["shard", "epoch", "sequence"], ["label", "count", "count"], rows))
        return f"Ledger: {number_of(len(self), 'shard')}; {head}", [shards, *tables]

    def _read(self) -> AnyState:
        if self._template is None:
            raise InputError("the ledger is empty and does not know what to count; write Ledger(evaluator)")
        if self._total is None:
            self._total = _summed(self._template.copy(), self._each())
        return self._total  # type: ignore[no-any-return]  # a state

    def _each(self) -> list[SavedSum]:
        """Every sum once, in the order of their first shards."""
        parts = {id(part): part for part in self._sums.values()}
        return sorted(parts.values(), key=lambda part: in_order(next(iter(part.shards))))

    def _known(self, shard: Label) -> SavedSum:
        part = self._sums.get(shard)
        if part is None:
            near = suggestion(shard, [name for name in self._sums if isinstance(name, str)])
            raise InputError(f"there is no shard {quoted(shard)} among {len(self)}{near}")
        return part

    @reads
    def copy(self) -> Self:
        """An independent ledger with the same content."""
        result = self._like()
        result._sums = dict(self._sums)  # states in a ledger are bytes, and templates never change
        result._total = None if self._total is None else self._total.copy()
        return result

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        template = b"" if self._template is None else b"".join(self._template._pieces(compared=compared))
        sums = self._each()
        sink = Sink((varint(len(template)), template, varint(len(sums))))
        for shards, state in sums:
            sink.varint(len(shards))
            for name, (version, which) in shards.items():
                sink.label(name)
                sink += (*map(varint, version), which if len(shards) > 1 else b"")
            sink += (varint(len(state)), iter((state,)))  # as pieces of their own, because a ledger has many
        return sealed(LEDGER, sink.pieces())

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        template = source.raw(source.varint())
        sums = [take_sum(source) for _ in range(source.count())]
        names = [shard for shards, _ in sums for shard in shards]
        require(len(set(names)) == len(names), ascending([next(iter(shards)) for shards, _ in sums]))
        result = cls(cast("StateT", read_state(template))) if template else cls()
        result._total = None if result._template is None else result._template.copy()
        for part in sums:
            state = read_state(part.state)
            check_compatible(result._template, state, "the shards differ")
            result._total = _exchanged(result._total, (), (state,))  # the states have to be read anyway
        result._sums = {shard: part for part in sums for shard in part.shards}
        return result


def _template_of(state: AnyState) -> AnyState:
    """An empty state of this configuration; `MergeError` if such states cannot be merged."""
    check_class(state, "Ledger")
    template: Any = fresh_of(state)
    template.copy().merge(template)
    return template  # type: ignore[no-any-return]  # a state


def _shard(shard: object) -> Label:
    try:
        return normalise(shard)
    except InputError:
        raise InputError(f"a shard must be a string or an integer, such as 'topic/3', not {quoted(shard)}") from None


def _exchanged(total: Any, gone: Iterable[SavedSum], added: Iterable[AnyState]) -> Any:
    """A sum after removing parts and adding states; None if it must be computed anew from all parts."""
    if total is not None:
        try:
            for part in gone:
                total.unmerge(read_state(part.state))
            for state in added:
                total.merge(state)
        except StreamevalError:  # there is no inverse; or an error that reading will report
            return None
    return total


def _summed(total: Any, parts: Iterable[SavedSum]) -> AnyState:
    """Add parts to a state, which is returned."""
    for part in parts:
        try:
            total.merge(read_state(part.state))
        except MergeError as error:
            raise MergeError(f"shard {quoted(next(iter(part.shards)), 200)} does not match the rest: {error}") from None
    return total  # type: ignore[no-any-return]  # a state
