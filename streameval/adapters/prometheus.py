"""Metrics for Prometheus to scrape while the loop goes on counting."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Mapping

from streameval.adapters.engine import require
from streameval.adapters.monitoring import (
    Monitored,
    checked_most,
    choices_of,
    frozen,
    help_of,
    most_frequent,
    specs_of,
    texts_of,
    values_of,
)  # fmt: skip
from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator, MetricLike, _listed
from streameval.evaluation.metric import Metric
from streameval.metrics.spec import MetricSpec
from streameval.schema.labels import Label
from streameval.schema.text import quoted

with require("prometheus"):
    from prometheus_client import Metric as Family
    from prometheus_client.registry import Collector

__all__ = ["EvaluationCollector"]


class EvaluationCollector(Collector):  # type: ignore[misc, unused-ignore]  # where the library is absent
    """Exposes evaluators, metrics and windows; register it with a registry of ``prometheus_client``.

    Every metric is a gauge such as ``streameval_f1_macro{window="all"}``, whose parameters are labels. A value that is
    not a number, or cannot be read, is left out and counted.

    Parameters
    ----------
    sources
        What is exposed, by the name that stands in the label ``window``; one object alone is called ``"all"``.
    metrics
        Which metrics; None for those that each source answers with `get`.
    most
        Of metrics without average, the values of how many labels. They are those of the largest support in the first
        source; the others are counted.
    namespace
        What names begin with.

    Attributes
    ----------
    lock
        To be held while a source is changed, so that a scrape sees the state between two updates.

    Raises
    ------
    InputError, MetricError
        If an argument cannot be understood.
    """

    def __init__(
        self,
        sources: Monitored | Mapping[str, Monitored],
        *,
        metrics: Iterable[MetricLike] | None = None,
        most: int = 20,
        namespace: str = "streameval",
    ) -> None:
        self._sources = dict(sources) if isinstance(sources, Mapping) else {"all": sources}
        if not self._sources or not all(isinstance(name, str) for name in self._sources):
            raise InputError(f"sources must be a window, or a mapping name -> window, not {quoted(sources)}")
        given: object = namespace
        if not isinstance(given, str) or not re.fullmatch("[a-zA-Z][a-zA-Z0-9_]*", given):
            raise InputError(f"namespace must be letters, digits and underscores, not {quoted(namespace)}")
        self._most, self._namespace, self.lock = checked_most(most), namespace, threading.RLock()
        asked = None if metrics is None else _listed(metrics)
        self._specs = {
            name: specs_of(frozen(source, f"sources[{name!r}]")) if asked is None else asked
            for name, source in self._sources.items()
        }

    def describe(self) -> Iterable[Family]:
        """The names of what is exposed, by which a registry refuses to hold two of them."""
        return [Family(f.name, f.documentation, f.type) for f in self._families({})]

    def collect(self) -> Iterable[Family]:
        """What is exposed now. The lock is held while the sources are copied, not while metrics are read."""
        with self.lock:
            now = {name: frozen(source, name) for name, source in self._sources.items()}
        return self._families(now)

    def _families(self, now: Mapping[str, Evaluator | Metric]) -> list[Family]:
        found: dict[str, Family] = {}

        def tell(name: str, text: str, value: float, kind: str = "gauge", /, **labels: str) -> None:
            family = found.setdefault(name, Family(f"{self._namespace}_{name}", text, kind))
            family.add_sample(family.name + ("_total" if kind == "counter" else ""), labels, value)

        for specs in self._specs.values():
            for spec in specs:
                name = _name_of(spec)
                found.setdefault(name, Family(f"{self._namespace}_{name}", help_of(spec), "gauge"))
        for name, (text, kind) in _OWN.items():
            found[name] = Family(f"{self._namespace}_{name}", text, kind)
        chosen: dict[Label, str] | None = None
        for window, counts in now.items():
            support = most_frequent(counts, self._most) if chosen is None else {}
            if chosen is None:
                chosen = texts_of(support)
            undefined = 0
            for spec in self._specs[window]:
                for at, value in values_of(spec, counts, chosen):
                    if math.isnan(value):
                        undefined += 1
                    else:
                        tell(_name_of(spec), "", value, window=window, **choices_of(spec), **at)
            per_label = any(spec.average is None for spec in self._specs[window])
            kind = "examples" if window in self._overall else "window_examples"
            tell(kind, "", counts.examples, _OWN[kind][1], window=window)
            tell("labels", "", len(counts.labels), window=window)
            hidden = len(set(counts.labels) - set(chosen)) if per_label else 0
            tell("labels_not_exposed", "", hidden, window=window)
            tell("values_undefined", "", undefined, window=window)
        return list(found.values())

    @property
    def _overall(self) -> set[str]:
        return {name for name, source in self._sources.items() if isinstance(source, Evaluator | Metric)}


_OWN = {
    "examples": ("Examples counted since the start.", "counter"),
    "window_examples": ("Examples in the window.", "gauge"),
    "labels": ("Labels that are declared or were met.", "gauge"),
    "labels_not_exposed": ("Labels whose own values are not exposed, since others have a larger support.", "gauge"),
    "values_undefined": ("Values that are left out, since they are not a number or cannot be read.", "gauge"),
}


def _name_of(spec: MetricSpec) -> str:
    return spec.key.partition("(")[0]
