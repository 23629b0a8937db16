"""The verbs that single metrics and evaluators share: update, update_many, revert, merge, and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from streameval import wire
from streameval.config import Config, Unknown
from streameval.errors import FormatError, InputError, MergeError, MetricError, shown
from streameval.inputs import Reader, checked_weight, read_many, read_one
from streameval.label_table import LabelTable
from streameval.labels import Label, LabelIndex
from streameval.metrics.averaging import as_float
from streameval.metrics.naming import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.states.decisions import Decisions
from streameval.states.tables import Tables

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Accumulator"]

_PLAIN = (float, int)
_FEW = 512  # labels, up to which it is quicker to take all of them over than to register anew those that are met


class _Core:
    """What changes: the labels, the reader that registers them, and the state. Replaced as a whole."""

    __slots__ = ("decisions", "direct", "labels", "reader", "threshold")

    def __init__(
        self, config: Config, labels: LabelIndex, decisions: Decisions, known: LabelIndex | None = None
    ) -> None:
        self.labels = labels
        self.reader = Reader(config, labels, known)
        self.decisions = decisions
        # Whether the kernel may read examples as they are, and with which threshold.
        self.direct = not isinstance(config.threshold, tuple)
        self.threshold = config.threshold if isinstance(config.threshold, float) else None

    def beside(self) -> _Core:
        """An empty core to gather examples in. Its cost does not depend on how many labels are known here."""
        reader = self.reader
        if len(self.labels) > _FEW:
            labels = LabelIndex()
            return _Core(reader.config, labels, self.decisions.empty(labels), self.labels)
        labels = self.labels.copy() if reader.grows else self.labels
        return _Core(reader.config, labels, self.decisions.empty(labels))

    @classmethod
    def fresh(cls, config: Config) -> _Core:
        labels = LabelIndex(config.labels or ())
        return cls(config, labels, Decisions(labels))


class Accumulator:
    """Counts examples and answers from what it counted. Not used directly: see `Evaluator` and the metric classes."""

    __slots__ = ("_config", "_core", "_patience", "_specs")
    _kind: ClassVar[int] = 0

    def _start(
        self,
        specs: tuple[MetricSpec, ...],
        labels: Iterable[Label] | None,
        unknown: Unknown,
        threshold: float | Mapping[Label, float] | Iterable[float] | None,
    ) -> None:
        self._specs = specs
        self._config = Config.checked(labels, unknown, threshold)
        self._core = _Core.fresh(self._config)
        self._patience = 64

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
        plain = core.direct and mask is None and type(weight) in _PLAIN and weight == 1
        if not (plain and core.decisions.count_plain(y_true, y_pred, core.threshold, 1)):
            self._count_one(y_true, y_pred, weight, mask, 1)

    def revert(self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None) -> None:
        """Take one example back, given as it was given to `update`.

        Raises
        ------
        RevertError
            If the counts show that no such example was counted. Nothing has changed then.
        """
        core = self._core
        plain = core.direct and mask is None and type(weight) in _PLAIN and weight == 1
        if not (plain and core.decisions.count_plain(y_true, y_pred, core.threshold, -1)):
            self._count_one(y_true, y_pred, weight, mask, -1)
        self._patience -= 1
        if self._patience < 0:
            self._compact()

    def _count_one(self, y_true: object, y_pred: object, weight: object, mask: object, sign: int) -> None:
        core = self._core
        known = len(core.labels)
        try:
            example = read_one(y_true, y_pred, mask, checked_weight(weight), core.reader)
            self._refuse_meddling(core)
            core.decisions.count_one(example, sign)
        except BaseException:
            core.decisions.forget(known)
            raise

    def _refuse_meddling(self, core: _Core) -> None:
        if core is not self._core:
            raise InputError("this object was changed by the very example that it was reading; copy the example first")

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
            How many threads count. It pays for large arrays, and changes no bit of the result.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood or lengths differ. Nothing has changed then, also where an iterable
            raises half-way.
        """
        if type(threads) is not int or threads < 1:
            raise InputError(f"threads must be an integer of at least 1, not {shown(threads)}")
        core = self._core
        plain = core.direct and mask is None and weights is None
        if plain and core.decisions.count_plain_many(y_true, y_pred, core.threshold):
            return
        # Gathered over labels of its own, since an iterable may use this very object while it is read.
        gathered = core.beside()
        if plain:
            gathered.reader.meet(y_true)
            gathered.reader.meet(y_pred)
        if not (plain and gathered.decisions.count_plain_many(y_true, y_pred, core.threshold)):
            for batch in read_many(y_true, y_pred, mask, weights, gathered.reader, threads):
                gathered.decisions.count(batch, threads)
        core = self._core
        known = len(core.labels)
        try:
            core.decisions.merge(gathered.decisions)
        except BaseException:
            core.decisions.forget(known)
            raise

    def merge(self, other: Self) -> None:
        """Add all examples that ``other`` has counted. ``other`` stays as it is; merging with itself doubles.

        Raises
        ------
        MergeError
            If the two were built differently; the message names the difference. Nothing has changed then.
        """
        if type(other) is not type(self):
            raise MergeError(
                f"cannot merge: {type(self).__name__} and {type(other).__name__} differ; merge objects of one class"
            )
        found = self._config.differences(other._config)
        if self._specs != other._specs:
            found.append(f"metrics differ ({_names(self._specs)} and {_names(other._specs)})")
        if found:
            raise MergeError(f"cannot merge: {'; '.join(found)}; build both alike")
        core = self._core
        known = len(core.labels)
        try:
            core.decisions.merge(other._core.decisions)
        except BaseException:
            core.decisions.forget(known)
            raise

    def reset(self) -> None:
        """Forget every example."""
        self._core = _Core.fresh(self._config)

    def _compact(self) -> None:
        """Rebuild without the labels and row keys whose last example was taken back, once they are the majority."""
        decisions = self._core.decisions
        decisions.compact()
        if decisions.sparse():
            fresh = _Core.fresh(self._config)
            fresh.decisions.merge(decisions)
            self._core = fresh
        # How many reverts until the next look: as many as it costs, so that looking costs as much as reverting.
        self._patience = 64 + len(self._core.labels)

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        """How many examples were counted, whatever their weights."""
        return self._core.decisions.examples

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
        """Whether numbers in ``y_pred`` are scores, which a threshold turns into decisions."""
        return self._config.threshold is not None

    def per_label(self) -> LabelTable:
        """The outcomes of each label: true and false positives and negatives, and what follows from them."""
        return LabelTable.of(self._tables())

    def _tables(self) -> Tables:
        return Tables(self._core.decisions)

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent object with the same content."""
        twin = type(self).__new__(type(self))
        twin._specs, twin._config, twin._patience = self._specs, self._config, 64
        labels = self._core.labels.copy()
        twin._core = _Core(self._config, labels, self._core.decisions.copy(labels))
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Accumulator):
            return NotImplemented
        both = self.copy()
        both.merge(other)
        return both

    def __radd__(self, other: object) -> Self:
        """So that ``sum(parts)``, which starts at 0, works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Accumulator):
            return NotImplemented
        return (
            type(self) is type(other)
            and self._config == other._config
            and self._specs == other._specs
            and self._core.decisions == other._core.decisions
        )

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """The object as bytes; equal objects have equal bytes, on every machine."""
        names = tuple(spec.key for spec in self._specs)
        return wire.encode(wire.Saved(self._kind, self._config, names, self._core.decisions.content()))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The object that `to_bytes` was called on.

        Raises
        ------
        FormatError
            If the bytes are anything else, however slightly damaged. No pickle is ever read.
        """
        return cls._from_saved(wire.decode(data))

    @classmethod
    def _from_saved(cls, saved: wire.Saved) -> Self:
        try:
            specs = tuple(parse_spec(name) for name in saved.metrics)
        except MetricError as error:
            raise FormatError(f"the bytes name a metric that cannot be: {error}") from None
        if tuple(spec.key for spec in specs) != saved.metrics or len(set(specs)) != len(specs):
            raise FormatError(f"the bytes are damaged: metric names {shown(saved.metrics)}")
        if saved.kind != cls._kind or not cls._fits(specs):
            what = "an Evaluator" if saved.kind == 0 else f"the metric {_names(specs)}"
            raise FormatError(f"the bytes hold {what}, not {cls.__name__}; use streameval.load or its own class")
        made = cls.__new__(cls)
        made._specs, made._config, made._patience = specs, saved.config, 64
        labels = LabelIndex(saved.decisions.labels)
        labels.fixed = saved.decisions.fixed
        made._core = _Core(saved.config, labels, Decisions.from_content(saved.decisions, labels))
        return made

    @classmethod
    def _fits(cls, specs: tuple[MetricSpec, ...]) -> bool:  # noqa: ARG003  # an evaluator takes any
        """Whether an object of this class can have these metrics."""
        return True

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file: the whole of them, or the old file stays."""
        wire.write_file(path, self.to_bytes())


def _names(specs: tuple[MetricSpec, ...]) -> str:
    return ", ".join(spec.key for spec in specs) or "none"
