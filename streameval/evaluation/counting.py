"""The verbs that single metrics and evaluators share: update, update_many, revert, merge, and bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from streameval.errors import FormatError, InputError, MetricError, StreamevalError
from streameval.evaluation.encoding import Saved, decode, encode
from streameval.evaluation.kinds import KINDS, check_threshold, checked_state, options_for, states_of
from streameval.evaluation.value import Mergeable
from streameval.inputs import Reader, checked_weight, read_many, read_one
from streameval.kernel.types import DONE, OTHER
from streameval.metrics.averaging import as_float
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings
from streameval.report.label_table import LabelTable
from streameval.schema.batch import Batch, Example, Ragged
from streameval.schema.config import Config, Nan, StateOptions, Ties, Unknown
from streameval.schema.labels import Label, LabelIndex
from streameval.schema.text import quoted
from streameval.states.state_set import StateSet
from streameval.states.views import Tables
from streameval.wire.envelope import EVALUATOR

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


A = TypeVar("A", bound="Accumulator")

_NUMBERS = (float, int)
_SEQUENCES = {list, tuple}
_FEW = 512  # labels, up to which it is quicker to take all of them over than to register anew those that are met

_FIRST = 500  # examples whose labels are met before it is tried whether there are others


class Core:
    """What changes of an object: its labels, its states, and the reader that registers labels. Replaced as a whole."""

    __slots__ = (
        "config",
        "decisions",
        "fast_path",
        "labels",
        "reader",
        "scored",
        "states",
        "table",
        "threshold",
        "weights",
    )

    def __init__(self, config: Config, states: StateSet, known: LabelIndex | None = None) -> None:
        self.config, self.states, self.labels, self.decisions = config, states, states.labels, states.decisions
        self.table, self.weights = self.decisions.table, self.decisions.weights.cell
        self.reader = Reader(config, states.labels, known)
        # Whether the kernel may read examples as they are, and with which threshold.
        self.fast_path = not isinstance(config.threshold, tuple) and not config.options
        self.scored = config.scored
        self.threshold = config.threshold if isinstance(config.threshold, float) else None

    @classmethod
    def fresh(cls, config: Config) -> Core:
        """A core that has counted nothing."""
        labels = LabelIndex(config.labels or ())
        return cls(config, states_of(config, labels))

    def scratch(self) -> Core:
        """An empty core to gather examples in. Its cost does not depend on how many labels are known here."""
        if len(self.labels) > _FEW and not self.config.options:  # other states need the order of the labels
            core = Core(self.config, self.states.empty_like(LabelIndex()), self.labels)
        else:
            labels = self.labels.copy() if self.reader.grows else self.labels
            core = Core(self.config, self.states.empty_like(labels))
        core.table.scratch = True
        return core

    # -- one example --------------------------------------------------------------------------------------------------

    def count_one(
        self, y_true: object, y_pred: object, weight: object, mask: object, sign: int, check: Callable[[], None]
    ) -> None:
        """Count one example (sign 1) or take it back (sign -1).

        ``check`` is called once the example is read, which can run code of the user, and raises if it must not count.
        """
        if not (mask is None and type(weight) in _NUMBERS and weight == 1 and self.fast_count(y_true, y_pred, sign)):
            example = self.read_one(y_true, y_pred, weight, mask)
            check()
            self.states.count_one(example, sign)

    def fast_count(self, y_true: object, y_pred: object, sign: int) -> bool:
        """Count one unweighted example straight from what the user gave, if it is of a common form."""
        if not self.fast_path or self.weights.value is not None:
            return False
        labels = self.labels
        code = self.table.count_example(labels.columns, labels.fixed, y_true, y_pred, self.threshold, sign)
        if code > OTHER:
            self.decisions.check(code)
        return bool(code == DONE)

    def fast_count_many(self, y_true: object, y_pred: object) -> bool:
        """Count unweighted examples likewise, if they stand in lists and all are of a common form."""
        if not self.fast_path or self.weights.value is not None or not {type(y_true), type(y_pred)} <= _SEQUENCES:
            return False
        true, pred, labels = list(cast("list[object]", y_true)), list(cast("list[object]", y_pred)), self.labels
        if len(true) != len(pred):
            return False
        code = self.table.count_examples(labels.columns, labels.fixed, true, pred, self.threshold)
        if code > OTHER:
            self.decisions.check(code)
        return bool(code == DONE)

    def read_one(self, y_true: object, y_pred: object, weight: object, mask: object) -> Example:
        """One example as the states read it; may register labels, changes nothing else."""
        heavy, config = checked_weight(weight), self.config
        if mask is None and not isinstance(config.threshold, tuple):
            example = self._placed(y_true, y_pred, heavy)
            if example is not None:
                return example
        return read_one(y_true, y_pred, mask, heavy, self.reader)

    def _placed(self, y_true: object, y_pred: object, weight: float) -> Example | None:
        """An example of a form that the kernel reads, if it is one; nothing changes."""
        labels, table = self.labels, self.table
        place = table.place_scores if self.scored else table.place_example
        placed = place(labels.columns, labels.fixed, y_true, y_pred, self.threshold)
        if placed is None:
            return None
        if not self.scored:
            return Example(placed[0], placed[1], weight)
        slots, key, true, ranked, scores = placed
        weights = None if weight == 1.0 else np.array([weight])
        return Example(slots, key, weight, Ragged(1, true, weights=weights, ranked=ranked, scores=scores))

    # -- many examples ------------------------------------------------------------------------------------------------

    def read_many(
        self, y_true: object, y_pred: object, weights: object, mask: object, threads: int = 1
    ) -> Iterator[Batch]:
        """Many examples as the states read them; may register labels, changes nothing else."""
        return read_many(y_true, y_pred, mask, weights, self.reader, threads)

    def fast_update_many(self, y_true: object, y_pred: object) -> bool:
        """Count lists of examples of a common form, once their labels have columns; False if they are anything else."""
        if not isinstance(y_true, list | tuple):
            return False
        known = -1
        for most in (_FIRST, 2 * _FIRST) if len(y_true) > 4 * _FIRST else ():
            before, known = known, self._register(y_true, y_pred, most)
            # Where no label was new among as many again, the rest is mostly known, and to look at it takes long.
            if known == before and self.fast_count_many(y_true, y_pred):
                return True
        self._register(y_true, y_pred, None)
        return self.fast_count_many(y_true, y_pred)

    def _register(self, y_true: object, y_pred: object, most: int | None) -> int:
        """How many labels there are, after registering those of the first examples."""
        self.reader.register(y_true, most)
        self.reader.register(y_pred, most)
        return len(self.labels)


class Accumulator(Mergeable):
    """Counts examples and answers from what it counted. Not used directly: see `Evaluator` and the metric classes."""

    __slots__ = ("_config", "_core", "_specs", "_until_compaction")
    _holder: ClassVar[int] = EVALUATOR

    def _start(
        self,
        specs: tuple[MetricSpec, ...],
        labels: Iterable[Label] | None,
        unknown: Unknown,
        threshold: float | Mapping[Label, float] | Iterable[float] | None,
        keep: Iterable[str] = (),
        nan: Nan = "error",
        ties: Ties = "shared",
        inverse_propensities: Mapping[Label, float] | None = None,
    ) -> None:
        self._specs = specs
        options = options_for(specs, keep, {"ties": ties, "inverse_propensities": inverse_propensities})
        self._config = Config.checked(labels, unknown, threshold, nan, options)
        check_threshold(specs, self._config)
        self._core = Core.fresh(self._config)
        self._until_compaction = 64

    # -- changing -----------------------------------------------------------------------------------------------------

    def update(self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None) -> None:
        """Count one example.

        Parameters
        ----------
        y_true, y_pred
            Each a set, frozenset, list or tuple of labels (repeats count once); a mapping label -> bool or 0/1; a
            1-D 0/1 array in the order of ``labels``; or, for ``y_pred`` with a threshold, scores in the last two
            forms. The two may differ in form. In ``y_true``, None or NaN says that the truth is unknown.
        weight
            How much the example counts: finite, not negative.
        mask
            The labels whose truth is unknown, in any of these forms; their cells are not counted.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood. Nothing has changed then.
        """
        # The common case in as few steps as can be, since the counting itself takes less than a microsecond.
        core = self._core
        plain = mask is None and type(weight) in _NUMBERS and weight == 1
        if not (plain and core.fast_count(y_true, y_pred, 1)):
            self._count_one(y_true, y_pred, weight, mask, 1)

    def revert(self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None) -> None:
        """Take one example back, given as it was given to `update`.

        Raises
        ------
        RevertError
            If the counts show that no such example was counted. Nothing has changed then.
        """
        core = self._core
        plain = mask is None and type(weight) in _NUMBERS and weight == 1
        if not (plain and core.fast_count(y_true, y_pred, -1)):
            self._count_one(y_true, y_pred, weight, mask, -1)
        self._until_compaction -= 1
        if self._until_compaction < 0:
            self._compact()

    def _count_one(self, y_true: object, y_pred: object, weight: object, mask: object, sign: int) -> None:
        core = self._core

        def check() -> None:
            if core is not self._core:
                raise InputError(
                    "this object was changed by the very example that it was reading; copy the example first"
                )

        known = len(core.labels)
        try:
            core.count_one(y_true, y_pred, weight, mask, sign, check)
        except BaseException:
            self._refused(known)
            raise

    def _refused(self, known: int) -> None:
        """Labels of what is refused stay registered, though nothing mentions them: drop them once they are many."""
        self._until_compaction -= len(self._core.labels) - known
        if self._until_compaction < 0:
            self._compact()

    def _merge(self, states: StateSet) -> None:
        known = len(self._core.labels)
        try:
            self._core.states.merge(states)
        except BaseException:
            self._refused(known)
            raise

    def update_many(
        self,
        y_true: object,
        y_pred: object,
        *,
        weights: ArrayLike | None = None,
        mask: object = None,
        threads: int = 1,
    ) -> None:
        """Count many examples: all of them, or none if anything is wrong.

        Parameters
        ----------
        y_true, y_pred
            Each a 2-D array, a scipy sparse matrix or a data frame of indicator columns, examples x labels; an Arrow,
            pandas or polars column of label lists; or any iterable of what `update` takes. In nested Python lists the
            inner lists are lists of labels: for rows of 0 and 1 give an array.
        weights
            One weight per example, finite and not negative.
        mask
            Which truths are unknown, in any of these forms.
        threads
            How many threads count. It pays for large arrays with weights, little without, and changes no bit.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood or lengths differ. Nothing has changed then, also where an iterable
            raises half-way.
        """
        if type(threads) is not int or threads < 1:
            raise InputError(f"threads must be an integer of at least 1, not {quoted(threads)}")
        core = self._core
        fast = core.fast_path and mask is None and weights is None
        if fast and core.fast_count_many(y_true, y_pred):
            return
        # Gathered over labels of its own, since an iterable may use this very object while it is read.
        gathered = core.scratch()
        if not (fast and gathered.fast_update_many(y_true, y_pred)):
            for batch in gathered.read_many(y_true, y_pred, weights, mask, threads):
                gathered.states.count(batch, threads)
        self._merge(gathered.states)

    def merge(self, other: Self) -> None:
        """Add all examples that ``other`` has counted. ``other`` stays as it is; merging with itself doubles.

        Raises
        ------
        MergeError
            If the two were built differently; the message names the difference. Nothing has changed then.
        """
        self._check_compatible(other)
        self._merge(other._core.states)

    def unmerge(self, other: Self) -> None:
        """Take out all examples that ``other`` has counted: the exact inverse of `merge`. ``other`` stays as it is.

        Raises
        ------
        MergeError
            If the two were built differently; the message names the difference. Nothing has changed then.
        RevertError
            If the counts show that the examples of ``other`` are not among these. Nothing has changed then.
        """
        self._check_compatible(other, "unmerge")
        self._core.states.unmerge(other._core.states)
        self._until_compaction -= 1 + len(other._core.labels)
        if self._until_compaction < 0:
            self._compact()

    def _differences(self, other: Self) -> list[str]:
        differences = self._config.differences(other._config)
        if self._specs != other._specs:
            differences.append(f"metrics differ ({_names(self._specs)} and {_names(other._specs)})")
        return differences

    def reset(self) -> None:
        """Forget every example."""
        self._core = Core.fresh(self._config)

    def _mark(self) -> int:
        """What every update changes; see `Feed.mark`."""
        return self._core.states.examples

    def _compact(self) -> None:
        """Rebuild without the labels and row keys whose last example was taken back, once they are the majority."""
        states = self._core.states
        states.compact()
        if states.mostly_unused():
            fresh = Core.fresh(self._config)
            fresh.states.merge(states)
            self._core = fresh
        # How many reverts until the next look: as many as it costs, so that looking costs as much as reverting.
        self._until_compaction = 64 + len(self._core.labels)

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        """How many examples were counted, whatever their weights."""
        return self._core.states.examples

    @property
    def weight(self) -> float:
        """The total weight of all examples, correctly rounded."""
        tables = self._tables()
        return as_float(tables.weight * tables.unit)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then those met in the stream, sorted."""
        return self._tables().labels

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are scores: for rankings, curves, or a threshold that makes them decisions."""
        return self._config.threshold is not None or self._config.scored

    def tables(self, state: str) -> Any:
        """What the functions of `streameval.metrics` that need more than counts of decisions read.

        It speaks of the examples counted so far, and must not be used once more are counted.

        Raises
        ------
        MetricError
            If no such state is kept.
        """
        return self._readings().named(checked_state(state), f"tables({state!r})")

    def per_label(self) -> LabelTable:
        """The outcomes of each label: true and false positives and negatives, and what follows from them.

        Raises
        ------
        MetricError
            If scores are counted without a threshold, so that nothing was decided.
        """
        if not self._config.decides:
            raise MetricError(
                "per_label() tells what was decided, but predictions are scores here, for rankings or curves; "
                "say with threshold= from which score on a label is predicted"
            )
        return LabelTable.of(self._tables())

    def _tables(self) -> Tables:
        return Tables(self._core.decisions)

    def _readings(self) -> Readings:
        return Readings(self._config, self._tables(), self._core.states.states, KINDS)

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent object with the same content."""
        return with_states(self, self._core.states.copy())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Accumulator):
            return NotImplemented
        return (
            type(self) is type(other)
            and self._config == other._config
            and self._specs == other._specs
            and self._core.states == other._core.states
        )

    __hash__ = None

    def to_bytes(self) -> bytes:
        """The object as bytes; equal objects have equal bytes, on every machine."""
        return encode(self._saved())

    def _saved(self) -> Saved:
        return replace(self._saved_empty(), contents=self._core.states.content())

    def _saved_empty(self) -> Saved:
        """What bytes hold of an object that is built as this one and has counted nothing."""
        return Saved(self._holder, self._config, tuple(spec.key for spec in self._specs))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The object that `to_bytes` was called on.

        Raises
        ------
        FormatError
            If the bytes are anything else, however slightly damaged. No pickle is ever read.
        """
        return cls._from_saved(decode(data, "an Evaluator" if cls._holder == EVALUATOR else cls.__name__))

    @classmethod
    def _from_saved(cls, saved: Saved) -> Self:
        specs = _specs_of(saved.metrics)
        if saved.holder != cls._holder or not cls._accepts(specs):
            what = "an Evaluator" if saved.holder == EVALUATOR else f"the metric {_names(specs)}"
            raise FormatError(f"the bytes hold {what}, not {cls.__name__}; use streameval.load or its own class")
        if not _kept_for(specs, saved):
            raise FormatError(f"the bytes are damaged: what they keep is not what {_names(specs)} are read from")
        made = cls.__new__(cls)
        made._specs, made._config, made._until_compaction = specs, saved.config, 64
        made._core = Core(made._config, _restored(made._config, saved.contents))
        return made

    @classmethod
    def _accepts(cls, specs: tuple[MetricSpec, ...]) -> bool:  # noqa: ARG003  # an evaluator takes any
        """Whether an object of this class can have these metrics."""
        return True


# -- for holders of evaluators and metrics: windows and slices --------------------------------------------------------


def core_of(holder: Accumulator) -> Core:
    """What an object counts with. Another one after `reset`, and where labels were dropped."""
    return holder._core


def with_states(like: A, states: StateSet) -> A:
    """An object that is built as another, over these states."""
    twin = type(like).__new__(type(like))
    twin._specs, twin._config, twin._until_compaction = like._specs, like._config, 64
    twin._core = Core(like._config, states)
    return twin


def compacted(holder: A, empty: A) -> A:
    """An independent object with the same examples, and of many labels only those that they mention.

    Parameters
    ----------
    holder
        The object.
    empty
        An object that is built alike and has no examples. Its declared labels need not be among the holder's.
    """
    labels, states = holder._core.labels, holder._core.states
    if len(labels) <= _FEW and labels.fixed == empty._core.labels.fixed and not states.mostly_unused():
        labels.order()  # once, where objects share labels: copies remember it
        return holder.copy()
    made = empty.copy()
    made.merge(holder)
    return made


def saved_empty(holder: Accumulator) -> Saved:
    """What bytes hold of an object that is built as this one and has counted nothing."""
    return holder._saved_empty()


def from_saved(kind: type[A], saved: Saved) -> A:
    """The object of a class that bytes hold."""
    return kind._from_saved(saved)


def from_contents(like: A, contents: Mapping[str, Any]) -> A:
    """An object that is built as another and holds what bytes say of its states."""
    return with_states(like, _restored(like._config, contents))


# -- what bytes hold --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _specs_of(names: tuple[str, ...]) -> tuple[MetricSpec, ...]:
    """The metrics that bytes name."""
    try:
        specs = tuple(parse_spec(name) for name in names)
    except MetricError as error:
        raise FormatError(f"the bytes name a metric that cannot be: {error}") from None
    if tuple(spec.key for spec in specs) != names or len(set(specs)) != len(specs):
        raise FormatError(f"the bytes are damaged: metric names {quoted(names)}")
    return specs


def _kept_for(specs: tuple[MetricSpec, ...], saved: Saved) -> bool:
    """Whether exactly that is kept which these metrics are read from, or, in an evaluator, more states."""
    try:
        check_threshold(specs, saved.config)
        return _required(specs, saved.config.options, saved.holder == EVALUATOR) == saved.config.options
    except MetricError:
        return False


@lru_cache(maxsize=64)  # small states come by thousands, all of a few configurations
def _required(specs: tuple[MetricSpec, ...], options: tuple[StateOptions, ...], more: bool) -> tuple[StateOptions, ...]:
    """What metrics require where these options were chosen; ``more``: and what they keep."""
    keep = [name for part in options for name in part.keep()] if more else []
    return options_for(specs, keep, {name: value for part in options for name, value in part.arguments().items()})


def _restored(config: Config, contents: Mapping[str, Any]) -> StateSet:
    """The states that bytes hold; fresh ones if they hold none."""
    if not contents:
        return Core.fresh(config).states
    decisions = contents["decisions"]
    labels = LabelIndex(decisions.labels)
    labels.fixed = decisions.fixed
    try:
        return states_of(config, labels, contents)
    except StreamevalError as error:  # such as a state that counts what this configuration does not
        raise FormatError(f"the bytes are damaged: {error}") from None


def _names(specs: tuple[MetricSpec, ...]) -> str:
    return ", ".join(spec.key for spec in specs) or "none"
