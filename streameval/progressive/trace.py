"""The values of metrics along a stream, as columns."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

from streameval.errors import InputError, MetricError, public
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.progressive.pending import check_order
from streameval.progressive.target import Target, Values, all_read_scores, reads_scores, values_of
from streameval.report.frames import PandasFrame, PolarsFrame, to_pandas, to_polars
from streameval.schema.labels import Label
from streameval.schema.text import check_number, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Key = tuple[str, str, Label | None]
"""Metric, evaluator, and label where there is one value per label."""


class _Journal(NamedTuple):
    """An example on its way into the evaluators: which of them it has reached shows in their versions.

    ``done`` lists those that have returned, for evaluators without versions.
    """

    examples: int
    versions: list[object]
    arguments: tuple[object, object, object, object, object]
    done: list[Target]

    def reached(self, target: Target, version: object) -> bool:
        """Whether an evaluator has counted the example."""
        return target in self.done if version is None else target.version() != version


@public
class Trace:
    """Updates one evaluator, or several, and writes down their values every so many examples.

    Parameters
    ----------
    evaluators
        An evaluator, or a mapping name -> evaluator, for example ``{"all": Evaluator(), "last 1000": window}``. Each
        is used as it is, not copied.
    every
        After how many examples a row is written.
    metrics
        Which metrics are written down; None for all that the evaluators answer.

    Raises
    ------
    InputError
        If an argument cannot be understood.
    MetricError
        If a metric cannot be had from any of the evaluators.

    Examples
    --------
    >>> import streameval as se
    >>> trace = Trace(se.Evaluator(["f1_micro"]), every=2)
    >>> for y_true, y_pred in [("a", "a"), ("b", "a"), ("b", "b"), ("a", "a")]:
    ...     trace.update({y_true}, {y_pred})
    >>> trace.columns()
    {'examples': [2, 4], 'f1_micro': [0.5, 0.75]}
    """

    def __init__(
        self,
        evaluators: object,
        *,
        every: int = 100,
        metrics: Iterable[str | MetricSpec] | None = None,
    ) -> None:
        check_number("every", every, 1)
        self._targets = _targets_of(evaluators)
        self._every = every
        self._metrics = None if metrics is None else _checked_metrics(metrics, self._targets)
        self._examples = 0
        self._moment: object = None
        self._rows: list[tuple[int, object, dict[Key, float]]] = []
        # What can be taken back goes first, so that it can be if a later one refuses the example. Of what cannot, all
        # but the first have a shadow that refuses whatever they would refuse.
        self._reversible = [target for target in self._targets.values() if target.can_revert]
        self._irreversible = [target for target in self._targets.values() if not target.can_revert]
        self._shadows: list[Target] = []
        self._journal: _Journal | None = None
        self._cast_shadows()

    def _cast_shadows(self) -> None:
        self._shadows = [Target(copy.deepcopy(target.evaluator)) for target in self._irreversible[1:]]

    # -- changing -----------------------------------------------------------------------------------------------------

    def update(
        self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None, t: object = None
    ) -> None:
        """Count one example in every evaluator.

        Parameters
        ----------
        y_true, y_pred, weight, mask
            As for the evaluators' ``update``.
        t
            The time of the example: numbers or datetimes, which must not go backwards. It becomes the column
            ``moment``, and is given to those evaluators that are windows over time.

        Raises
        ------
        InputError
            If any of the evaluators refuses the example. None of them has counted it then.
        """
        self._settle()
        if t is not None:
            check_order(t if self._moment is None else self._moment, t, "t")
        done: list[Target] = []
        versions = [*map(Target.version, self._reversible), *map(Target.version, self._irreversible)]
        self._journal = journal = _Journal(self._examples, versions, (y_true, y_pred, weight, mask, t), done)
        try:
            for target in (*self._reversible, *self._shadows, *self._irreversible):
                target.update(y_true, y_pred, weight, mask, t)
                done.append(target)
            self._note(journal)
        except BaseException:
            self._settle()
            raise

    def _settle(self) -> None:
        """Complete the example that is under way, or take it back where not all have counted it and all can."""
        journal = self._journal
        if journal is None:
            return
        targets = (*self._reversible, *self._irreversible)
        reached = [journal.reached(target, version) for target, version in zip(targets, journal.versions, strict=True)]
        if all(reached) or any(reached[len(self._reversible) :]):
            for target, counted in zip(targets, reached, strict=True):
                if not counted:
                    self._complete(journal, target)
            self._note(journal)
        else:
            for target, counted in zip(targets, reached, strict=True):
                if counted:
                    target.revert(*journal.arguments)
                    if target in journal.done:
                        journal.done.remove(target)
            self._cast_shadows()
            self._journal = None

    def _complete(self, journal: _Journal, target: Target) -> None:
        """Count an example where it is missing."""
        try:
            target.update(*journal.arguments)
        except Exception:  # its shadow did not refuse, but it does
            self._journal = None
            raise
        journal.done.append(target)

    def _note(self, journal: _Journal) -> None:
        """Note that all have counted an example. Doing so twice is harmless."""
        self._examples = journal.examples + 1
        if journal.arguments[4] is not None:
            self._moment = journal.arguments[4]
        if self._examples % self._every == 0:
            self._write()
        self._journal = None

    def record(self) -> None:
        """Write a row now. A row that was written after the same number of examples is replaced."""
        self._settle()
        self._write()

    def _write(self) -> None:
        row: dict[Key, float] = {}
        for name, target in self._targets.items():
            for metric, value in values_of(target.evaluator, self._metrics).items():
                if isinstance(value, dict):
                    row |= {(metric, name, label): float(one) for label, one in value.items()}
                else:
                    row[metric, name, None] = float(value)
        start = len(self._rows) - bool(self._rows and self._rows[-1][0] == self._examples)
        self._rows[start:] = [(self._examples, self._moment, row)]

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def every(self) -> int:
        """After how many examples a row is written."""
        return self._every

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._settle()
        return self._examples

    def mark(self) -> int:
        """What every update changes; see `Target.version`."""
        return self.examples

    @property
    def evaluators(self) -> dict[str, object]:
        """The evaluators by name; a single one has the name ``""``."""
        self._settle()
        return {name: target.evaluator for name, target in self._targets.items()}

    @property
    def reads_scores(self) -> bool:
        """Whether the evaluators read scores.

        Raises
        ------
        InputError
            If some do and some do not.
        """
        kinds = {repr(name): reads_scores(target.evaluator) for name, target in self._targets.items()}
        return all_read_scores(kinds)

    def get(self) -> Values:
        """The values now, by name, with the evaluator's name in brackets where it has one."""
        self._settle()
        return {
            _column((metric, name, None)): value
            for name, target in self._targets.items()
            for metric, value in values_of(target.evaluator, self._metrics).items()
        }

    def columns(self) -> dict[str, list[object]]:
        """The rows as columns of equal length, ready for ``pandas.DataFrame`` and ``polars.DataFrame``.

        ``examples``; ``moment`` if it was ever given, None where it was not; then one column per metric and evaluator,
        such as ``f1_micro`` or ``f1_micro [last 1000]``. A metric without average has one column per label, such as
        ``recall_per_label: cat``, with NaN in the rows from before the label was met.
        """
        self._settle()
        columns: dict[str, list[object]] = {"examples": [examples for examples, _, _ in self._rows]}
        moments = [moment for _, moment, _ in self._rows]
        if any(moment is not None for moment in moments):
            columns["moment"] = moments
        return columns | {_column(key): [row.get(key, math.nan) for _, _, row in self._rows] for key in self._keys()}

    def to_pandas(self) -> PandasFrame:
        """The rows as a pandas data frame; see `columns`."""
        return to_pandas(self.columns())

    def to_polars(self) -> PolarsFrame:
        """The rows as a polars data frame; see `columns`."""
        return to_polars(self.columns())

    def _keys(self) -> list[Key]:
        """The columns, those of one metric side by side."""
        keys = dict.fromkeys(key for _, _, row in self._rows for key in row)
        groups: dict[tuple[str, str], list[Key]] = {}
        for key in keys:
            groups.setdefault(key[:2], []).append(key)
        return [key for group in groups.values() for key in group]

    def plot(self, ax: Axes | None = None, metrics: Iterable[str | MetricSpec] | None = None) -> Axes:
        """Draw the values against the moments, if there are any, or else against the number of examples.

        Parameters
        ----------
        ax
            The axes to draw on; None for new ones.
        metrics
            Which of the metrics that were written down are drawn; None for all.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, to be changed or saved: ``trace.plot().figure.savefig("trace.png")``.

        Raises
        ------
        InputError
            If there is no row yet.
        MetricError
            If a metric was not written down.
        DependencyError
            If matplotlib is not installed.
        """
        from streameval.plots.streams import plot_lines  # only when asked, so that importing the package stays quick

        self._settle()
        if not self._rows:
            raise InputError(f"there is nothing to plot: no row was written yet, the first comes after {self._every}")
        keys = self._keys()
        if metrics is not None:
            wanted = {_key_of(metric) for metric in _listed(metrics)}
            if missing := wanted - {metric for metric, _, _ in keys}:
                raise MetricError(
                    f"{min(missing)} was not written down; choose from {sorted({key[0] for key in keys})}"
                )
            keys = [key for key in keys if key[0] in wanted]
        columns = self.columns()
        moments = columns.get("moment")
        by_moment = moments is not None and None not in moments
        return plot_lines(
            {(_column((key[0], "", key[2])), key[1]): columns[_column(key)] for key in keys},  # type: ignore[misc]
            columns["moment" if by_moment else "examples"],
            "moment" if by_moment else "examples",
            ax=ax,
        )

    def __len__(self) -> int:
        self._settle()
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Trace of {self.examples} examples, {len(self)} rows, every {self._every}>"

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent object with the same rows, and evaluators of its own."""
        self._settle()
        return copy.deepcopy(self)

    def __copy__(self) -> Self:
        return self.copy()


def _targets_of(evaluators: object) -> dict[str, Target]:
    if not isinstance(evaluators, Mapping):
        return {"": Target(evaluators, "evaluators")}
    if not evaluators:
        raise InputError("evaluators is empty; give an evaluator, or a mapping name -> evaluator")
    targets: dict[str, Target] = {}
    for name, evaluator in evaluators.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"evaluators has the name {quoted(name)}; names are strings that are not empty")
        for other, target in targets.items():
            if target.evaluator is evaluator:
                raise InputError(
                    f"{quoted(other)} and {quoted(name)} are one object, which would count each example twice"
                )
        targets[name] = Target(evaluator, f"evaluators[{name!r}]")
    return targets


def _listed(metrics: Iterable[str | MetricSpec]) -> list[str | MetricSpec]:
    if isinstance(metrics, str | MetricSpec):
        raise MetricError(f"metrics must be a list, not {quoted(metrics)}; write [{quoted(metrics)}]")
    return list(metrics)


def _key_of(metric: str | MetricSpec) -> str:
    """The name under which values come. Names that are no metrics of ours may be another library's."""
    if isinstance(metric, str):
        with contextlib.suppress(MetricError):
            return parse_spec(metric).key
    return str(metric)


def _checked_metrics(metrics: Iterable[str | MetricSpec], targets: dict[str, Target]) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(map(_key_of, _listed(metrics))))
    answered = {name for target in targets.values() for name in values_of(target.evaluator, keys)}
    for key in keys:
        if key not in answered:
            parse_spec(key)  # names the nearest metric, if there is none of this name
            raise MetricError(f"{key} cannot be had from any of the evaluators; leave it out, or give an Evaluator")
    return keys


def _column(key: Key) -> str:
    """The name of a column. Different keys have different names."""
    metric, evaluator, label = key
    name = metric if label is None else f"{metric}: {_label_text(label)}"
    return f"{name} [{evaluator}]" if evaluator else name


def _label_text(label: Label) -> str:
    """A label as it is, in quotes where it could be taken for an integer or for more than a label."""
    if isinstance(label, str) and (not label or label[0] in "'\"" or "[" in label or label.lstrip("-").isdigit()):
        return repr(label)
    return str(label)
