"""The methods that single metrics and evaluators share: update, update_many, revert, merge, and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Unpack

from streameval.errors import MetricError, silent
from streameval.evaluation.core import Core, Reading
from streameval.evaluation.details import Details
from streameval.evaluation.guarding import changes, combines, forget_gone, make_read, prepare_forget, reads
from streameval.evaluation.kinds import check_threshold, options_for
from streameval.evaluation.pages import report_of
from streameval.evaluation.suspicions import look_if_due, set_next_look
from streameval.evaluation.value import Mergeable
from streameval.inputs.columns import Reader
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE
from streameval.metrics.catalogue import MetricInfo, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import NULLS, Config, Null, Ties, Weight
from streameval.schema.keywords import NoKeywords, forgiving, meant_weights, refuse_mistaken
from streameval.schema.labels import ByLabel
from streameval.schema.text import check_number, number_of
from streameval.states.base import COUNT_MAX, Part
from streameval.states.state_set import StateSet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from streameval.evaluation.guarding import Change
    from streameval.report.model import Table


A = TypeVar("A", bound="Accumulator")


class Accumulator(Details, Mergeable):
    """Counts examples and answers from what it counted. Not used directly: see `Evaluator` and the metric classes."""

    __slots__ = ("_core", "_guard")
    _core: Core
    _entry: ClassVar[MetricInfo | None] = None  # set in the classes of metrics

    def _replace(self, core: Core, forms: Iterable[Part] = ()) -> None:
        core.states.belong(self._guard)
        replaced = self._core.states.root
        commit.Root.commit([*forms])
        # In one line, during which no signal handler and no other thread runs: see `prepare_retire`.
        replaced.guard, self._core = commit.RETIRED, core

    # -- changing -----------------------------------------------------------------------------------------------------

    @forgiving
    def update(
        self, y_true: object, y_pred: object, *extra: Unpack[tuple[()]], weight: Weight = 1.0, mask: object = None,
        **mistaken: Unpack[NoKeywords],
    ) -> None:  # fmt: skip
        """Count one example.

        Parameters
        ----------
        y_true, y_pred
            Each a set, frozenset, list or tuple of labels (repeats count once); a mapping label -> bool or 0/1; a
            1-D 0/1 array in the order of ``labels``; or, for ``y_pred`` with a threshold, scores in the last two
            forms. The two may differ in form. In ``y_true``, None or NaN masks a label.
        weight
            How much the example counts: finite, not negative.
        mask
            The masked labels, whose truth is unknown, in any of these forms (an array is true where masked): they are
            not counted. If True marks known truths, as in masks of loss functions, pass ``~mask``.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood. Nothing has changed then.
        """
        if mistaken or extra:  # type: ignore[redundant-expr]  # a checker refuses them
            refuse_mistaken(self.update, mistaken, extra)  # type: ignore[unreachable]
        # The common case in as few steps as possible, because counting takes less than a microsecond.
        core = self._core
        if core.fast_path:
            labels, table = core.labels, core.table
            if table.count_example(labels.known, labels.fixed, y_true, y_pred, core.threshold, 1, weight, mask) == DONE:
                return
            if core.fast_count_tensors(y_true, y_pred, weight, mask, 1) == DONE:
                return
        make_read(self._change(y_true, y_pred, weight=weight, mask=mask))

    @forgiving
    def revert(
        self, y_true: object, y_pred: object, *extra: Unpack[tuple[()]], weight: Weight = 1.0, mask: object = None,
        **mistaken: Unpack[NoKeywords],
    ) -> None:  # fmt: skip
        """Revert one example, passed as it was passed to `update`.

        Raises
        ------
        RevertError
            If the counts show that no such example was counted. Nothing has changed then.
        """
        if mistaken or extra:  # type: ignore[redundant-expr]  # a checker refuses them
            refuse_mistaken(self.revert, mistaken, extra)  # type: ignore[unreachable]
        core = self._core
        if core.fast_count(y_true, y_pred, weight, mask, -1) == DONE:
            count_unused_labels(self, 1)
        else:
            make_read(self._change(y_true, y_pred, weight=weight, mask=mask, sign=-1))

    def _counters(self) -> Iterable[Accumulator]:
        return (self,)

    def _renew(self) -> None:
        core = self._core
        if len(core.labels) > core.labels.fixed:
            fresh = core.emptied()
            fresh.states.merge(core.states)
            fresh.table.most = core.table.most
            self._replace(fresh)

    def _change(
        self, y_true: object, y_pred: object, *, weight: Weight = 1.0, mask: object = None, sign: int = 1
    ) -> Change:
        forget_gone(self, self._core.table.examples)
        reading = read(self, y_true, y_pred, weight, mask)
        if sign < 0:
            count_unused_labels(self, 1)
        return self, self._prepare, (reading, sign)

    def _prepare(self, reading: Reading, sign: int = 1) -> list[Part]:
        if sign > 0:
            set_next_look(self._guard, self._core, reading[2])
        return self._core.prepare(reading, sign)

    def _prepare_plain(self, y_true: object, y_pred: object, weight: Weight, mask: object) -> list[Part] | None:
        return self._core.prepare_plain(y_true, y_pred, weight, mask)

    @forgiving
    def update_many(
        self, y_true: object, y_pred: object, *extra: Unpack[tuple[()]], weights: ArrayLike | None = None,
        mask: object = None, null: Null = "error", threads: int = 1, **mistaken: Unpack[NoKeywords],
    ) -> None:  # fmt: skip
        """Count many examples: all of them, or none if anything is wrong.

        Parameters
        ----------
        y_true, y_pred
            Each a 2-D array, a scipy sparse matrix or a data frame of indicator columns, examples x labels; an Arrow,
            pandas or polars column of lists; or any iterable of what `update` takes. A list of integers or strings
            holds labels, one of booleans or floats is a row, and one that may be either is refused: see ``rows=``.
        weights
            One weight per example, finite and not negative.
        mask
            The masked labels of each example, in any of these forms; true where the truth is unknown, as for `update`.
        null
            What to do with a missing example, such as a null of Arrow or polars, None, or NaN in a Series: ``"error"``,
            or ``"empty"`` to count it as one without labels.
        threads
            How many threads count. More are faster for large arrays with weights; the result is the same to the bit.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood or lengths differ. Nothing has changed then, also where an iterable
            raises half-way.
        """
        if mistaken or extra:  # type: ignore[redundant-expr]  # a checker refuses them
            with meant_weights(self.update_many, weights, mistaken, extra) as weights:  # type: ignore[unreachable]
                self.update_many(y_true, y_pred, weights=weights, mask=mask, null=null, threads=threads)
            return
        if type(threads) is not int or threads < 1:
            threads = check_number("threads", threads, 1)
        core = self._core
        fast = core.fast_path and weights is None and null in NULLS
        if fast and core.table.examples < core.table.most and core.fast_count_many(y_true, y_pred, mask):
            return
        gathered = scratch(self)
        if not (fast and mask is None and gathered.fast_update_many(y_true, y_pred)):
            if gathered.states.examples:  # the fast path has counted the first examples before it declined
                gathered = self._core.scratch()
            for batch in gathered.read_many(y_true, y_pred, weights, mask, threads, null):
                gathered.states.count(batch, threads)
        self._add(gathered.states, gathered.reader)
        set_next_look(self._guard, self._core)

    @changes
    def _add(self, states: StateSet, reader: Reader) -> None:
        self._core.merge(states, reader)

    def merge(self, other: Self) -> None:
        """Add all examples that ``other`` has counted. ``other`` stays as it is; merging with itself doubles.

        Raises
        ------
        MergeError
            If their configurations differ; the message names the difference. Nothing has changed then.
        """
        self._check_compatible(other)
        core, theirs = self._core, other._core
        names = core.labels.labels, theirs.labels.labels
        is_common = len(core.states.states) == 1  # only decisions, which take as few steps as possible
        if not (is_common and core.table.merge_plain(theirs.table, *names, core.labels.check_beyond) == DONE):
            self._merge_any(other)

    @combines
    def _merge_any(self, other: Self) -> None:
        self._core.merge(other._core.states)

    @combines
    def unmerge(self, other: Self) -> None:
        """Remove all examples that ``other`` has counted: the exact inverse of `merge`. ``other`` stays as it is.

        Raises
        ------
        MergeError
            As for `merge`.
        RevertError
            If the counts show that the examples of ``other`` are not among these. Nothing has changed then.
        """
        self._check_compatible(other, "unmerge")
        self._core.states.unmerge(other._core.states)
        count_unused_labels(self, 1 + len(other._core.labels), guarded=True)

    def _differences(self, other: Self) -> list[str]:
        cores = self._core, other._core
        differences = cores[0].config.differences(cores[1].config)
        if cores[0].specs != cores[1].specs:
            mine, theirs = ([spec.key for spec in core.specs] for core in cores)
            only = [[key for key in keys if key not in rest] for keys, rest in ((mine, theirs), (theirs, mine))]
            both = zip(("first", "second"), only, strict=True)
            lists = "; ".join(f"only the {name} has {', '.join(keys)}" for name, keys in both if keys)
            differences.append(f"metrics differ ({lists or 'in their order'})")
        return differences

    @changes
    def reset(self) -> None:
        """Forget every example."""
        self._replace(self._core.emptied(), prepare_forget(self._guard))

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        """Number of examples counted, whatever their weights."""
        return int(self._core.table.examples)

    def _described(self, size: str = "") -> str:
        """What ``repr`` says: how much was counted, and the values; before the first example only their names."""
        values = ", ".join(spec.key + (f"={self._number(spec)}" if self.examples else "") for spec in self._core.specs)
        size = number_of(self.examples, "example") + (size if self.examples else "")
        return f"{type(self).__name__}({size}; {values or 'no metrics'})"

    def _number(self, spec: MetricSpec) -> str:
        try:
            value = evaluate(spec, self._core.views().of(spec))
        except MetricError:  # for example log loss of scores that are not probabilities
            return "?"
        return f"{value:.6g}" if isinstance(value, float) else f"<{number_of(len(value), 'label')}>"

    def _display(self) -> tuple[str, Sequence[Table]]:
        from streameval.report.notebook import report_display

        head, tables = report_display(report_of(self))
        return f"{type(self).__name__}: {head}", tables

    # -- as a value ---------------------------------------------------------------------------------------------------

    @reads
    def copy(self) -> Self:
        """An independent object with the same content."""
        result = self._like()
        result._core = Core(self._core.specs, self._core.config, self._core.states.copy())
        result._core.states.belong(result._guard)
        return result

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        from streameval.evaluation.encoding import Saved, encode  # late, so that importing the package stays quick

        contents = self._core.states.content()
        return encode(Saved.of(self._core, contents, single=self._entry is not None, compared=compared))


for _method in (Accumulator.update, Accumulator.update_many, Accumulator.revert):
    _method.__qualname__ = _method.__name__  # Python's own errors about arguments must not name this class


# -- functions for windows, slices and traces, which hold evaluators and metrics; see `core_of` too --------------------


def start(
    counts: A,
    specs: tuple[MetricSpec, ...],
    keep: Iterable[str] = (),
    ties: Ties = "shared",
    inverse_propensities: ByLabel | None = None,
    **reading: Any,
) -> A:
    """Initialise a new object for metrics, without examples; ``reading`` holds arguments of `Config.checked`."""
    options = options_for(specs, keep, {"ties": ties, "inverse_propensities": inverse_propensities})
    config = Config.checked(**reading, options=options)
    check_threshold(specs, config)
    return with_core(counts, Core.fresh(specs, config))


def with_core(counts: A, core: Core, guard: commit.Guard | None = None) -> A:
    """Initialise a new object with a core; if a guard is passed, as a part of the object that owns this guard."""
    counts._core, counts._guard = core, core.states.root.guard if guard is None else guard
    core.states.belong(counts._guard)
    return counts


def built_like(like: A, states: StateSet | None = None, guard: commit.Guard | None = None) -> A:
    """An object configured like another, over ``states`` or a copy of its states; for ``guard`` see `with_core`."""
    core, states = like._core, like._core.states.copy() if states is None else states
    return with_core(type(like).__new__(type(like)), Core(core.specs, core.config, states), guard)


def unlimited(empty: A) -> A:
    """A copy without a label limit, for the sum of objects that have a limit each."""
    result = built_like(empty)
    result._core.labels.bound(None)
    return result


def read(counts: Accumulator, y_true: object, y_pred: object, weight: object, mask: object) -> Reading:
    """Read an example for an object, after its due warnings; may run code of the user."""
    core = counts._core
    look_if_due(counts._guard, core)
    known = len(core.labels.labels)
    try:
        return core.read(y_true, y_pred, weight, mask)
    except BaseException:
        count_unused_labels(counts, len(core.labels) - known)
        raise


def try_prediction(counts: Accumulator, y_pred: object) -> None:
    """Raise unless ``y_pred`` can be read as a prediction, whatever its truth; it is not counted."""
    counts._core.table.most = COUNT_MAX  # so that nothing is noted of it
    with counts._guard:
        if counts._prepare_plain(set(), y_pred, 1.0, None) is not None:
            return
    known = len(counts._core.labels)
    with silent():
        reading = read(counts, set(), y_pred, 1.0, None)
    with counts._guard:
        counts._prepare(reading)
    count_unused_labels(counts, len(counts._core.labels) - known)


def scratch(counts: Accumulator) -> Core:
    """An empty core to gather examples in, so that the object can be used meanwhile; issues its due warnings."""
    forget_gone(counts, counts._core.table.examples)
    look_if_due(counts._guard, counts._core)
    return counts._core.scratch()


def count_unused_labels(counts: Accumulator, unused: int, *, guarded: bool = False) -> None:
    """Count labels that may be unused, such as those of refused examples, and drop unused ones once they are many."""
    counts._core.until_compaction -= unused
    if counts._core.until_compaction >= 0:
        return
    with counts._guard.reading if guarded else counts._guard, suppress(MemoryError):  # the change is made already
        states = counts._core.states
        states.compact()
        if len(states.labels) > 64 and states.mostly_unused():  # dropping few labels does not pay, as they may return
            counts._renew()
        # Check again after as many reverts as there are labels to visit, so that checks cost no more than the reverts.
        counts._core.until_compaction = 64 + len(counts._core.labels)
