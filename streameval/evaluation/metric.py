"""Single metrics: one class per entry of the catalogue, which `streameval.evaluation.classes` makes by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from streameval.errors import FormatError, MetricError, public
from streameval.evaluation.counting import A, Accumulator, start, with_core
from streameval.evaluation.guarding import answers, reads
from streameval.evaluation.kinds import KINDS, reads_scores
from streameval.metrics.catalogue import MetricInfo, build_spec, entry_of, evaluate
from streameval.metrics.spec import UNSET, Choice, MetricSpec, choice_text, number_text
from streameval.schema.config import Nan, Rows, Threshold, Ties, Unknown
from streameval.schema.keywords import explained, refuse_unknown
from streameval.schema.labels import ByLabel, Label, PerLabel
from streameval.schema.text import quoted

if TYPE_CHECKING:
    from streameval.evaluation.encoding import Saved
    from streameval.metrics.bounds import Bounds

_CHOICES = ("labels", "unknown", "threshold", "nan", "ties", "inverse_propensities", "label_limit", "rows")
"""The arguments of every metric's class that say how it reads examples."""


@public
class Metric(Accumulator):
    """One metric with its own counts. Use one of its subclasses, or `metric`."""

    __slots__ = ()
    _entry: ClassVar[MetricInfo]

    def __init__(
        self,
        *positional: object,
        average: str | None = UNSET,
        zero_division: float | None = None,
        empty: str = "zero_division",
        **arguments: object,
    ) -> None:
        if getattr(type(self), "_entry", None) is None:
            raise TypeError("Metric has no formula; use one of its subclasses, or streameval.metric(name)")
        entry = self._entry
        if positional:  # the average alone, as in F1("micro")
            first, is_alone = positional[0], len(positional) == 1 and average is UNSET
            if not is_alone or not isinstance(first, str | None) or first not in entry.averages:
                called = f"{type(self).__name__}({', '.join(map(quoted, positional))})"
                raise MetricError(f"{called}: only the average, such as {entry.default!r}, is positional")
            average = first
        average = entry.default if average is UNSET else average
        choices: dict[str, Any] = {name: arguments.pop(name) for name in _CHOICES if name in arguments}
        _refuse_mistaken(entry, arguments)
        spec = build_spec(entry.name, average=average, zero_division=zero_division, empty=empty, parameters=arguments)
        start(self, (spec,), **choices)

    @property
    def spec(self) -> MetricSpec:
        """The metric as a value: name, average and parameters."""
        return self._core.specs[0]

    @property
    def bigger_is_better(self) -> bool | None:
        """Whether larger values are better; None for metrics that describe the data."""
        return self._entry.bigger_is_better

    @answers
    def get(self) -> float | PerLabel:
        """The value so far: a number, or a dict by label if there is no average."""
        return evaluate(self.spec, self._core.views().of(self.spec))

    @answers
    def bounds(self) -> Bounds | PerLabel:
        """The value with bounds that contain the exact one, as `Evaluator.bounds`."""
        return self._core.views().certified(self.spec)

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        from streameval.evaluation.encoding import decode  # imported late, so that importing the package stays quick

        return restored(cls, decode(data, cls.__name__))

    @reads
    def __repr__(self) -> str:
        return self._described()


@explained
def metric(
    name: str,
    *,
    average: str | None = "default",
    zero_division: float | None = None,
    empty: str = "zero_division",
    labels: Iterable[Label] | None = None,
    unknown: Unknown = "error",
    threshold: Threshold = None,
    nan: Nan = "error",
    ties: Ties = "shared",
    inverse_propensities: ByLabel | None = None,
    label_limit: int | None = None,
    rows: Rows | None = None,
    **parameters: Choice,
) -> Metric:
    """Construct a metric of the catalogue by name.

    Parameters
    ----------
    name
        A name or alias of the catalogue, read as in `Evaluator`: ``"fbeta"``, ``"f1 macro"``, ``"precision@5"``.
    average, zero_division, empty, labels, unknown, threshold, nan, ties, inverse_propensities, label_limit, rows
    **parameters
        As for the metric's class.

    Raises
    ------
    MetricError
        If there is no such metric, average or parameter; the message suggests the nearest.

    Examples
    --------
    >>> metric("fbeta", average="micro", beta=2).spec.key
    'fbeta_micro(beta=2)'
    """
    if parameters:
        _refuse_mistaken(entry_of(build_spec(name, average=average).name), parameters)
    spec = build_spec(name, average=average, zero_division=zero_division, empty=empty, parameters=parameters)
    return metric_of(
        spec, labels=labels, unknown=unknown, threshold=threshold, nan=nan, ties=ties,
        inverse_propensities=inverse_propensities, label_limit=label_limit, rows=rows,
    )  # fmt: skip


def _refuse_mistaken(entry: MetricInfo, arguments: Iterable[str]) -> None:
    """Raise `MetricError` if the metric's class lacks one of these arguments."""
    known = [*dict.fromkeys((*signature_of(entry).parameters, *_CHOICES))]
    refuse_unknown(f"{entry.name} has", known, arguments, of_metric=True)


def metric_of(spec: MetricSpec, **choices: Any) -> Metric:
    """A fresh metric of the class that a spec names."""
    kind = class_of(entry_of(spec.name))
    return start(kind.__new__(kind), (spec,), **choices)


def restored(kind: type[A], saved: Saved) -> A:
    """The object that bytes hold, of class ``kind``; if this is `Metric`, of the class of the saved metric."""
    entry = entry_of(saved.specs[0].name) if saved.single and len(saved.specs) == 1 else None
    one: Any = class_of(entry) if entry is not None and kind is Metric else kind
    if one is Metric or saved.single is not issubclass(one, Metric) or one._entry is not entry:
        what = f"the metric {', '.join(saved.metrics)}" if saved.single else "an Evaluator"
        raise FormatError(f"the bytes hold {what}, not {kind.__name__}; use streameval.load or its own class")
    return with_core(one.__new__(one), saved.core())  # type: ignore[no-any-return]  # of this class


_CLASSES: dict[str, type[Metric]] = {}


def class_of(entry: MetricInfo) -> type[Metric]:
    """The class of an entry."""
    if entry.class_name not in _CLASSES:  # if two threads make it, the first one is used
        body = {"__doc__": summary_of(entry), "__signature__": signature_of(entry), "_entry": entry}
        result = type(entry.class_name, (Metric,), {**body, "__module__": "streameval", "__slots__": ()})
        _CLASSES.setdefault(entry.class_name, result)
    return _CLASSES[entry.class_name]


def options_of(entry: MetricInfo) -> dict[str, object]:
    """The arguments that a metric has because of its state, with their defaults."""
    options: dict[str, object] = {"nan": "error"} if reads_scores(entry) else {}
    if entry.state in KINDS:
        options |= KINDS[entry.state].options.parameters
    return options | dict.fromkeys(entry.arguments)


def signature_of(entry: MetricInfo) -> inspect.Signature:
    """The parameters of a metric's class, with its own defaults: the average, and others by keyword."""
    shared: dict[str, object] = {"zero_division": entry.zero_division}
    if entry.state == "decisions":
        shared["empty"] = "zero_division"
    shared |= {"labels": None, "unknown": "error", "threshold": None} | options_of(entry)
    shared |= {"label_limit": None, "rows": None}
    parts = {p.name: p.default for p in entry.parameters} | shared
    average = inspect.Parameter("average", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=entry.default)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([average, *(inspect.Parameter(name, kind, default=parts[name]) for name in parts)])


def summary_of(entry: MetricInfo, without: str = "") -> str:
    """The docstring of a metric's class; ``without`` names a parameter that it does not have."""
    *averages, last = map(repr, entry.averages)
    descriptions = {p.name: f"In {p.range}; {choice_text(p.default)} by default." for p in entry.parameters}
    choices = f"One of {', '.join([*averages, last])}; {entry.default!r} by default." if averages else f"Only {last}."
    descriptions["average"] = choices + " None gives a mapping label -> value." * (None in entry.averages)
    descriptions["zero_division"] = (
        "What 0/0 stands for: 0.0, 1.0, or nan, which leaves it out of means; "
        f"{number_text(entry.zero_division)} by default."
    )
    if entry.state == "decisions":
        descriptions["empty"] = (
            "What an example, or a label, with nothing true and nothing predicted counts where its value is 0/0:\n"
            '    "zero_division", "zero", "one", "nan" (a mean over it is NaN) or "drop".'
        )
    shared = ["labels", "unknown", "threshold", *options_of(entry), "label_limit", "rows"]
    descriptions[", ".join(shared)] = "As for `Evaluator`."
    descriptions.pop(without, None)
    where = f"Range [{entry.low:g}, {entry.high:g}]; {entry.direction}. Source: {entry.source}."
    parts = [entry.summary, f"    {entry.formula}", where, *([entry.notes] if entry.notes else [])]
    parameters = [f"{name}\n    {description}" for name, description in descriptions.items()]
    return "\n".join(["\n\n".join(parts), "", "Parameters", "----------", *parameters])
