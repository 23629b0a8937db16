"""River's interface to metrics of this package, and collections in which metrics share their counts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast

from river.base import Estimator, MultiLabelClassifier
from river.compose import Pipeline
from river.metrics.base import Metrics
from river.metrics.multioutput.base import MultiOutputMetric

from streameval.errors import InputError, MergeError, MetricError, silent
from streameval.evaluation.core import core_of
from streameval.evaluation.counting import count_unused_labels
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.guarding import Change, look_at, make
from streameval.evaluation.kinds import options_for
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE
from streameval.metrics.catalogue import MetricInfo, build_spec
from streameval.metrics.spec import Average, MetricSpec
from streameval.progressive.target import all_read_scores
from streameval.schema.labels import Label
from streameval.schema.text import quoted

Row: TypeAlias = Mapping[Label, Any]
Answer = TypeVar("Answer")
_Parts: TypeAlias = tuple[list[Evaluator], list[MultiOutputMetric]]
"""The evaluators that count for a collection, which its members share; and the members."""


class MultiLabelMetric(MultiOutputMetric):
    """The part of River's interface that does not depend on what is measured."""

    _own_counts: Callable[..., Any]
    """Returns the object that counts for this metric, before it counts an example or, with sign -1, reverts one."""

    @property
    def requires_labels(self) -> bool:
        """Always true: River passes hard labels, never probabilities, to multi-label metrics."""
        return True

    @property
    def reads_scores(self) -> bool:
        """Whether predictions must be scores, which a threshold turns into binary predictions."""
        return False

    def works_with(self, model: Estimator) -> bool:
        """Whether the model, or the last step of a pipeline, predicts several labels.

        `InputError` if the metric was built to read scores: River's evaluation loops would never pass it any.
        """
        if self.reads_scores:
            scored = f"{type(self).__name__} has a threshold or a metric of scores"
            way = "leave these out, or use streameval.progressive_evaluate, which passes probabilities"
            raise InputError(f"{scored}, but River passes multi-label metrics hard labels; {way}")
        while isinstance(model, Pipeline):
            model = list(model.steps.values())[-1]
        return isinstance(model, MultiLabelClassifier)

    def __repr__(self) -> str:
        with silent():
            return str(super().__repr__())  # type: ignore[no-untyped-call]  # of River

    def update(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Count one example of weight ``w``; labels that the model has no prediction for (None) are not predicted."""
        call_update(self._own_counts().update, y_true, y_pred, w)

    def revert(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Take one example back, with the arguments that `update` received; a window takes none back."""
        call_update(self._own_counts(-1).revert, y_true, y_pred, w)

    def __add__(self, other: object) -> Metrics:
        return _collected(self, other)

    def __radd__(self, other: object) -> Metrics:
        return _collected(other, self)


class Sharing:
    """An object that a collection and its members share: ``is_complete`` is false once a member counts separately."""

    def __init__(self) -> None:
        self.is_complete, self.guard = False, commit.Guard()

    def __reduce__(self) -> tuple[type[Sharing], tuple[()]]:
        return Sharing, ()  # the copy has a guard of its own


class CountedMetric(MultiLabelMetric):
    """A metric of the catalogue with its average. Not used directly: see its subclasses, such as `MicroF1`."""

    _entry: ClassVar[MetricInfo]
    _average: ClassVar[Average]

    def _start(self, choices: dict[str, Any]) -> None:
        """Store a copy of every parameter under its name, as River does, and make the counts."""
        copies: dict[str, Any] = {name: _copied(value) for name, value in choices.items()}
        for name, value in copies.items():
            setattr(self, name, value)
        options = {name: copies.pop(name) for name in ("labels", "unknown", "threshold", "label_limit", "rows")}
        undefined = {"zero_division": copies.pop("zero_division"), "empty": copies.pop("empty", "zero_division")}
        self._spec = build_spec(self._entry.name, average=self._average, **undefined, parameters=copies)
        keep = [name for required in options_for([self._spec]) for name in required.keep()]
        self._counts = Evaluator([], keep=keep, **options)
        self._sharing: Sharing | None = None

    @property
    def spec(self) -> MetricSpec:
        """The metric as a value: name, average and parameters."""
        return self._spec

    @property
    def reads_scores(self) -> bool:
        """Whether predictions must be scores, which a threshold turns into binary predictions."""
        return self.threshold is not None  # type: ignore[attr-defined]  # a parameter of every subclass

    @property
    def bigger_is_better(self) -> bool:
        """The direction. Metrics that describe the data have none; for them it is true, so that River can compare."""
        return self._entry.bigger_is_better is not False

    @property
    def _fmt(self) -> str:
        return ".2%" if self._entry.is_fraction else ".4f"

    def get(self) -> float:
        """The value so far; a fresh object answers too."""
        return cast("float", self._counts.get(self._spec))

    def merge(self, other: Self) -> None:
        """Add all that another object of this class has counted. The other object does not change.

        `MergeError` if it is of another class or configuration; nothing has changed then.
        """
        self._check_metric(other, "merge")
        self._own_counts().merge(other._counts)

    def unmerge(self, other: Self) -> None:
        """Take out all that another object of this class has counted, which does not change: the inverse of `merge`.

        `MergeError` as there, `RevertError` if the counts show that it was not merged; nothing has changed then.
        """
        self._check_metric(other, "unmerge")
        self._own_counts().unmerge(other._counts)

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, CountedMetric):
            return NotImplemented
        self._check_metric(other, "unmerge")
        return self._share_counts(self._counts - other._counts, None)

    def _check_metric(self, other: object, verb: str) -> None:
        if not isinstance(other, CountedMetric):
            raise MergeError(f"cannot {verb} an object of type {type(other).__name__}; {verb} takes one of this class")
        if other._spec != self._spec:
            differing = f"metrics differ ({self._spec.key} and {other._spec.key})"
            raise MergeError(f"cannot {verb}: {differing}; construct both with the same configuration")

    def snapshot(self) -> Evaluator:
        """The counts so far as an independent `Evaluator` of this metric, from which any other can be read too."""
        copied = self._counts.copy()
        core_of(copied).specs = (self._spec,)
        return copied

    def _own_counts(self, sign: int = 1) -> Evaluator:  # noqa: ARG002  # these counts can revert
        """Counts that belong to this metric only: those that a collection shares are copied before they change."""
        while (sharing := self._sharing) is not None:
            with sharing.guard:
                if self._sharing is sharing:
                    sharing.is_complete = False
                    self._counts = self._counts.copy()
                    self._sharing = None
        return self._counts

    def _share_counts(self, counts: Evaluator, sharing: Sharing | None) -> Self:
        """The same metric over other counts, which a collection shares with ``sharing``."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._counts, copied._sharing = counts, sharing
        return copied

    def __copy__(self) -> Self:
        return self._share_counts(self._counts.copy(), None)


def _copied(value: object) -> object:
    """A copy of a parameter that nobody else can change; a set is left for the checks to refuse."""
    if isinstance(value, Mapping):
        return dict(value)
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | AbstractSet) else value


class MetricCollection(MultiLabelMetric, Metrics):  # type: ignore[misc]  # a sum may be a list of River's
    """A collection of metrics of this package, as River's ``metrics.base.Metrics``, which share their counts.

    Metrics with equal labels, threshold and counts count together, so twenty cost about as much as one. The members are
    copies: what was passed in stays as it is. A member that is updated separately has its own counts from then on. With
    metrics of River, or a `RiverMetric`, use ``metrics.base.Metrics``, in which each metric counts separately.

    Parameters
    ----------
    metrics
        The metrics, in the order in which they are listed.
    str_sep
        The separator of the metrics when they are printed.

    Examples
    --------
    >>> from streameval.adapters.river import MacroF1, MicroF1, SubsetAccuracy
    >>> metric = MicroF1() + MacroF1() + SubsetAccuracy()
    >>> metric.update({"a": True, "b": False}, {"a": True, "b": True})
    >>> metric
    MicroF1: 66.67%
    MacroF1: 50.00%
    SubsetAccuracy: 0.00%
    """

    def __init__(self, metrics: Iterable[CountedMetric], str_sep: str = "\n") -> None:
        self._sharing = Sharing()
        shared: list[Evaluator] = []
        members: list[CountedMetric] = []
        data = list(metrics)
        for member in data:
            _check_member(member)
        with _one_moment(data):
            for member in data:
                counts = next((known for known in shared if _reads_alike(known, member._counts)), None)
                if counts is None:
                    counts = member._counts.copy()
                    shared.append(counts)
                members.append(member._share_counts(counts, self._sharing))
        Metrics.__init__(self, members, str_sep)  # type: ignore[no-untyped-call]
        self._parts: _Parts = [], []
        self._complete()

    @property
    def metrics(self) -> list[CountedMetric]:
        """The members, under the name of the parameter, as River reads it."""
        return self.data

    @property
    def _guard(self) -> commit.Guard:
        return self._sharing.guard

    def update(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Count one example of weight ``w`` in every metric, or in none if one of them raises."""
        self._count(y_true, y_pred, w, 1)

    def revert(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Take one example back from every metric, or from none if one of them raises."""
        self._count(y_true, y_pred, w, -1)

    def _count(self, y_true: Row, y_pred: Row, w: float, sign: int) -> None:
        if self._count_plain(y_true, y_pred, w, sign):
            return None
        while True:
            counts, _ = parts = self._complete()
            changes: list[Change] = [call_update(partial(one._change, sign=sign), y_true, y_pred, w) for one in counts]
            with self._guard:
                if self._is_complete(parts):
                    return make(changes)

    def _count_plain(self, y_true: Row, y_pred: Row, w: float, sign: int) -> bool:
        """Count or revert an example of plain objects, which runs no code of the user; returns whether it was one."""
        counts, _ = parts = self._parts
        if len(counts) == 1:  # the common case, in a third of the time
            with self._sharing.guard:
                core = core_of(counts[0])
                done = self._is_complete(parts) and core.fast_count(y_true, y_pred, w, None, sign, guarded=True) == DONE
        else:
            with commit.Guards([self._guard, *[one._guard for one in counts]]):
                if not self._is_complete(parts):
                    return False
                plain = [core_of(one).prepare_plain(y_true, y_pred, w, None, sign) for one in counts]
                done = None not in plain
                if done:
                    commit.Root.commit([*chain.from_iterable(filter(None, plain))])
        if done and sign < 0:
            for one in counts:
                count_unused_labels(one, 1)
        return done

    def _is_complete(self, parts: _Parts) -> bool:
        """Whether ``parts`` are still the evaluators and members of this collection; the caller holds the guard."""
        return self._sharing.is_complete and parts is self._parts and parts[1] == self.data

    def _complete(self) -> _Parts:
        """List evaluators and members anew if these changed; members that left, or came, get counts of their own."""
        parts = self._parts
        if self._is_complete(parts):
            return parts
        data = list(self.data)
        present = set(map(id, data))
        for member in (*parts[1], *data):
            _check_member(member)
            if (member._sharing is self._sharing) != (id(member) in present):
                member._own_counts()
        with self._guard:
            counts = {id(member._counts): member._counts for member in data}
            self._parts, self._sharing.is_complete = (list(counts.values()), data), True
            return self._parts

    def get(self) -> list[float]:  # type: ignore[override]  # as that of River's
        """The values of all metrics, in their order."""
        for member in self.data:
            look_at(member._counts)
        with self._guard.reading, silent():
            return [member.get() for member in self.data]

    def __repr__(self) -> str:
        with self._guard.reading:
            return super().__repr__()

    @property
    def reads_scores(self) -> bool:
        """Whether the metrics were built to read scores; `InputError` if only some were."""
        kinds: dict[bool, list[str]] = {}
        for member in self.data:
            kinds.setdefault(member.reads_scores, []).append(type(member).__name__)
        return all_read_scores({", ".join(dict.fromkeys(names)): reads for reads, names in kinds.items()})

    def clone(self, *_: object, **__: object) -> Self:
        """A collection of the same metrics that has counted nothing."""
        return type(self)([member.clone() for member in self.data], self.str_sep)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        result = memo[id(self)] = type(self).__new__(type(self))
        with self._guard.reading:
            result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result

    def __getstate__(self) -> dict[str, Any]:
        return copy.deepcopy(self).__dict__


def _reads_alike(one: Evaluator, other: Evaluator) -> bool:
    """Whether two evaluators are equal, and so are the options of input that equality ignores."""
    mine, theirs = core_of(one).config, core_of(other).config
    return one == other and (mine.label_limit, mine.rows) == (theirs.label_limit, theirs.rows)


def _one_moment(members: Iterable[object]) -> commit.Guards:
    """Guards under which the collections of these metrics count nothing, so that all are read at one moment."""
    sharings = [member._sharing for member in members if isinstance(member, CountedMetric)]
    return commit.Guards([], [one.guard for one in sharings if one is not None])


def _check_member(member: object) -> None:
    if not isinstance(member, CountedMetric):
        advice = "write [MicroF1(), ...], and collect other metrics in river.metrics.base.Metrics"
        raise MetricError(f"metrics holds {quoted(member)}, which is not a metric of this package; {advice}")


def _collected(*parts: object) -> Metrics:
    """A collection of all metrics; it is River's own class if metrics of River are among them."""
    members: list[Any] = [member for part in parts for member in (part if isinstance(part, Metrics) else [part])]
    for member in members:
        if not isinstance(member, MultiOutputMetric):
            raise MetricError(f"{type(member).__name__} is not a multi-label metric; evaluate it on its own")
    if all(isinstance(member, CountedMetric) for member in members):
        return MetricCollection(members)
    with _one_moment(members):
        return Metrics([copy.copy(member) if isinstance(member, CountedMetric) else member for member in members])  # type: ignore[no-untyped-call]


def call_update(verb: Callable[..., Answer], y_true: Row, y_pred: object, w: float) -> Answer:
    """Call ``verb`` with one example, leaving out predictions of None, which some models make before they learn."""
    try:
        return verb(y_true, y_pred, weight=w)
    except InputError:
        if not isinstance(y_pred, Mapping) or None not in y_pred.values():
            raise
        return verb(y_true, {label: value for label, value in y_pred.items() if value is not None}, weight=w)
