"""Which states metrics are read from, and what is kept for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streameval.errors import MetricError
from streameval.metrics.interval import Interval
from streameval.metrics.naming import ENTRIES, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import PARTS, STATES, USUAL_PARTS, Config, Details, Part
from streameval.schema.labels import Label
from streameval.schema.text import quoted, suggestion
from streameval.states.views import Tables

__all__ = [
    "Readings", "certified", "checked_keep", "checked_state", "details_of", "part_of", "refuse_undecided", "state_of",
]  # fmt: skip


def state_of(spec: MetricSpec) -> str:
    """The state that a metric is read from."""
    return ENTRIES[spec.name].state


def part_of(spec: MetricSpec) -> Part | None:
    """Which part of pairs a metric is read from, if any."""
    part = ENTRIES[spec.name].part
    return None if part is None else part(spec)


def checked_keep(keep: Iterable[str]) -> tuple[set[str], set[Part]]:
    """The states to keep, and the parts of pairs, or what is wrong with them."""
    states: set[str] = set()
    parts: set[Part] = set()
    for name in (keep,) if isinstance(keep, str) or not isinstance(keep, Iterable) else keep:
        if name not in (*STATES, *PARTS):
            known = (*STATES, *PARTS)
            raise MetricError(
                f"keep must hold {', '.join(map(repr, known))}, not {quoted(name)}{suggestion(name, known)}"
            )
        states.add(name if name in STATES else "pairs")
        parts.update(USUAL_PARTS if name == "pairs" else [part for part in PARTS if part == name])
    return states, parts


def checked_state(name: str) -> str:
    """The name of a state besides decisions, or what is wrong with it."""
    if name not in STATES:
        told = ", ".join(map(repr, STATES))
        raise MetricError(f"tables() has {told}, not {quoted(name)}{suggestion(name, STATES)}")
    return name


def details_of(
    specs: Iterable[MetricSpec], propensities: tuple[tuple[Label, float], ...], parts: Iterable[Part] = ()
) -> Details:
    """What rankings and pairs must remember for some metrics; of pairs, some parts in any case."""
    kept = set(parts)
    ranks, gains, cutoffs = 0, 0, set()
    for spec in specs:
        if (part := part_of(spec)) is not None:
            kept.add(part)
        if spec.name == "label_coverage_at":
            ranks = max(ranks, spec.parameter("k"))
        elif spec.name in ("psp_at", "psndcg_at"):
            gains = max(gains, spec.parameter("k"))
        elif spec.name == "map_at" and spec.parameter("divisor") == "hits":
            cutoffs.add(spec.parameter("k"))
    if bool(gains) != bool(propensities):
        raise MetricError("psp_at and psndcg_at go with inverse_propensities={label: number}; give both, or neither")
    chosen = tuple(part for part in PARTS if part in kept)
    return Details(ranks, tuple(sorted(cutoffs)), gains, propensities, () if chosen == USUAL_PARTS else chosen)


def refuse_undecided(specs: Iterable[MetricSpec], config: Config) -> None:
    """Raise if a metric of decisions is to be read where nothing makes decisions of scores."""
    if config.decides:
        return
    for spec in specs:
        if state_of(spec) in ("decisions", "pairs"):
            raise MetricError(_undecided(spec))


def _undecided(spec: MetricSpec) -> str:
    return (
        f"{spec.key} is read from decisions, but predictions are scores here, for rankings or curves; "
        "say with threshold= from which score on a label is predicted"
    )


def certified(spec: MetricSpec, readings: Readings) -> Interval | dict[Label, Interval]:
    """The value of a metric with bounds that contain the exact one."""
    tables, certify = readings.of(spec), ENTRIES[spec.name].certify
    if certify is not None:
        found: Interval | dict[Label, Interval] = certify(tables, spec)
        return found
    value = evaluate(spec, tables)
    if isinstance(value, dict):
        return {label: Interval(part, part, part, True) for label, part in value.items()}
    return Interval(value, value, value, True)


class Readings:
    """What metrics read, by state; each part is made when it is first asked for."""

    def __init__(self, config: Config, decisions: Tables, others: Mapping[str, Any]) -> None:
        self._config = config
        self._tables = decisions
        self._others = others
        self._made: dict[str, Any] = {"decisions": decisions}

    @property
    def tables(self) -> Tables:
        """What is kept of every example, whether or not decisions were made."""
        return self._tables

    @property
    def decides(self) -> bool:
        """Whether there are decisions to read."""
        return self._config.decides

    @property
    def config(self) -> Config:
        """How the examples were read."""
        return self._config

    def keeps(self, name: str) -> bool:
        """Whether a state is remembered."""
        return name in self._others

    def of(self, spec: MetricSpec) -> Any:
        """The tables of a metric, or `MetricError` if they are not kept."""
        name = state_of(spec)
        if name == "decisions" and self._config.decides:
            return self._made[name]
        if name == "decisions":
            raise MetricError(_undecided(spec))
        part = part_of(spec)
        if part is not None and part not in self._config.parts:
            raise MetricError(
                f"{spec.key} is read from {part}, which are not kept here; name it when building, or give "
                f"keep=[{part!r}]"
            )
        return self.named(name, spec.key)

    def named(self, name: str, what: str) -> Any:
        """The tables of a state."""
        if name not in self._made:
            if name not in self._others:
                raise MetricError(
                    f"{what} is read from {name}, which are not kept here; name a metric of {name} when building, "
                    f"or give keep=[{name!r}]"
                )
            from streameval.states.kinds import tables_of

            self._made[name] = tables_of(name, self._others[name], self._made["decisions"].columns)
        return self._made[name]
