"""The registry of the kinds of state besides decisions, which connects states, their bytes and their formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from streameval.errors import MetricError
from streameval.kernel.types import IntArray
from streameval.metrics.catalogue import MetricInfo, entry_of
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import without_decisions
from streameval.schema.config import Config, StateOptions
from streameval.schema.labels import LabelIndex
from streameval.schema.text import quoted, suggestion
from streameval.states.base import State
from streameval.states.options import PARTS, CurveOptions, PairOptions, RankingOptions
from streameval.states.state_set import StateSet

if TYPE_CHECKING:
    from streameval.wire.fields import Option, Sink


class Code(NamedTuple):
    """The code of a kind, imported when the first object needs such a state."""

    state: type[State[Any]]
    view: Callable[[Any, IntArray], Any]  # for the labels in these columns
    put: Callable[[Sink, Any], None]
    take: Callable[..., Any]  # its arguments: source, options, labels, content of the decisions
    written: tuple[Option, ...]


class Kind(NamedTuple):
    """One kind of state: its options, which have its name; its fixed bit in the bytes; and a function for its code."""

    options: type[StateOptions]
    bit: int  # 0 is that of the decisions
    code: Callable[[], Code]
    keeps: tuple[str, ...] = ()  # further names in ``keep=`` that request it

    @property
    def name(self) -> str:
        """What it is called in ``keep=`` and the catalogue."""
        return self.options.kind


def _rankings() -> Code:
    from streameval.states.rankings import Rankings, RankingTables
    from streameval.wire.rankings import OPTIONS, put_rankings, take_rankings

    return Code(Rankings, RankingTables, put_rankings, take_rankings, OPTIONS)


def _curves() -> Code:
    from streameval.states.curves import Curves, CurveTables
    from streameval.wire.curves import OPTIONS, put_curves, take_curves

    return Code(Curves, CurveTables, put_curves, take_curves, OPTIONS)


def _pairs() -> Code:
    from streameval.states.pairs import Pairs, PairTables
    from streameval.wire.pairs import OPTIONS, put_pairs, take_pairs

    return Code(Pairs, PairTables, put_pairs, take_pairs, OPTIONS)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(RankingOptions, 1, _rankings),
        Kind(CurveOptions, 2, _curves),
        Kind(PairOptions, 3, _pairs, PARTS),
    )
}
"""By name, in the order of their bits."""


def states_of(config: Config, labels: LabelIndex, contents: Mapping[str, Any] | None = None) -> StateSet:
    """The states of a configuration, filled with ``contents`` by name, or empty."""
    return StateSet.of(labels, [(KINDS[part.kind].code().state, part) for part in config.options], contents or {})


def options_for(
    specs: Iterable[MetricSpec], keep: Iterable[str] = (), arguments: Mapping[str, Any] | None = None
) -> tuple[StateOptions, ...]:
    """The options of all states besides decisions that metrics, ``keep`` and arguments require, or `MetricError`."""
    names = [keep] if isinstance(keep, str) or not isinstance(keep, Iterable) else list(keep)
    known = list(dict.fromkeys([*KINDS, *chain.from_iterable(kind.keeps for kind in KINDS.values())]))
    if wrong := [name for name in names if name not in known]:
        hint = suggestion(wrong[0], known)
        raise MetricError(f"keep must hold {', '.join(map(repr, known))}, not {quoted(wrong[0])}{hint}")
    needs = dict[str, list[Mapping[str, Any]]]()
    for spec in specs:
        entry = entry_of(spec.name)
        needs.setdefault(entry.state, []).append(entry.needs(spec))
    options = (
        kind.options.of(needs.get(kind.name, ()), set(names) & {kind.name, *kind.keeps}, arguments or {})
        for kind in KINDS.values()
    )
    return tuple(part for part in options if part is not None)


def reads_scores(entry: MetricInfo) -> bool:
    """Whether a metric is read from a state that counts scores, not decisions."""
    return entry.state in KINDS and KINDS[entry.state].options.reads == "scores"


def check_threshold(specs: Iterable[MetricSpec], config: Config) -> None:
    """Raise if a metric requires decisions, but there are scores without a threshold."""
    if not config.has_decisions:
        for spec in specs:
            if not reads_scores(entry_of(spec.name)):
                instead = "or name only metrics of scores, such as roc_auc_macro"
                raise MetricError(f"{without_decisions(spec.key)}, {instead}")
