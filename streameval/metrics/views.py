"""The views of the states that metrics read."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from streameval.errors import MetricError, wording
from streameval.metrics.catalogue import entry_of, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import Config
from streameval.schema.labels import Label
from streameval.states.options import without_propensities
from streameval.states.views import Tables

if TYPE_CHECKING:
    from streameval.metrics.bounds import Bounds


def without_decisions(what: str, construct: str = "construct") -> str:
    """The error text for a metric of decisions if predictions are scores and there is no threshold."""
    way = wording(f"{construct} with threshold=0.5", "evaluate, or show the state, with --threshold 0.5")
    return f"{what} requires binary predictions, but predictions are scores; {way}"


def _without(state: str, what: str, construct: str) -> str:
    """The error text for a state that is not counted."""
    lacks, save = f"the state holds no {what}", f"--metrics {'roc_auc_macro' if ' ' in what else what}"
    if scores := {"rankings": "ranked scores", "curves": "scores"}.get(state):
        lacks, save = f"{what} requires {scores}, which the state does not hold", f"--scores and {save}"
    needed = f"{what} requires the {state!r} state; {construct} with keep=[{state!r}]"
    return wording(needed, f"{lacks}; save one with {save}")


class Views:
    """The views of states, each made at its first use; ``tables``, of decisions, exist even without a threshold."""

    def __init__(
        self, config: Config, decisions: Tables, states: Mapping[str, Any], kinds: Mapping[str, Any]
    ) -> None:  # ``kinds`` is passed, because this layer may not import `streameval.evaluation.kinds`
        self.config, self.has_decisions, self.tables = config, config.has_decisions, decisions
        self._states, self._kinds = states, kinds
        self._made: dict[str, Any] = {"decisions": decisions}

    def with_decisions(self, tables: Tables) -> Views:
        """A copy whose decisions are ``tables``."""
        views = copy(self)
        views.has_decisions, views.tables, views._made = True, tables, {"decisions": tables}
        return views

    def keeps(self, name: str) -> bool:
        """Whether a state, other than decisions, is counted."""
        return name in self._states

    def of(self, spec: MetricSpec) -> Any:
        """The view that a metric reads, or `MetricError` if its state is not part of the configuration."""
        entry = entry_of(spec.name)
        keep = self._kinds[entry.state].options.required(entry.needs(spec)) if entry.state in self._kinds else None
        if entry.arguments and not getattr(self.config.options_of(entry.state), "propensities", ()):
            raise without_propensities(spec.key)
        return self.named(entry.state, spec.key, keep)

    def named(self, name: str, what: str, keep: str | None = None, construct: str = "construct") -> Any:
        """The view of a state, with ``what`` in errors; ``keep`` is the name in ``keep=`` that has the needed part."""
        if name == "decisions" and not self.has_decisions:
            raise MetricError(without_decisions(what, construct))
        if name != "decisions":
            options = self.config.options_of(name)
            if options is None or (keep is not None and keep not in options.keep()):
                raise MetricError(_without(keep or name, what, construct))
        if name not in self._made:
            self._made[name] = self._kinds[name].code().view(self._states[name], self.tables.columns)
        return self._made[name]

    def certified(self, spec: MetricSpec) -> Bounds | dict[Label, Bounds]:
        """The value of a metric with bounds that contain the exact one."""
        from streameval.metrics.bounds import Bounds  # imported late, so that importing the package is quick

        tables, certify = self.of(spec), entry_of(spec.name).certify
        if certify is not None:
            bounds: Bounds | dict[Label, Bounds] = certify(tables, spec)
            return bounds
        value = evaluate(spec, tables)
        if isinstance(value, dict):
            return {label: Bounds(part, part, part, True) for label, part in value.items()}
        return Bounds(value, value, value, True)
