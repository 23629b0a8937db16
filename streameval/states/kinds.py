"""The states that are kept besides decisions, by name. Imported only once one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streameval.kernel.types import IntArray
from streameval.schema.config import Config
from streameval.schema.labels import LabelIndex
from streameval.states.base import State
from streameval.states.curve_view import CurveTables
from streameval.states.curves import Curves
from streameval.states.pair_view import PairTables
from streameval.states.pairs import Pairs
from streameval.states.ranking_content import RankingOptions
from streameval.states.ranking_view import RankingTables
from streameval.states.rankings import Rankings

__all__ = ["makers_of", "ranking_options", "restored_state", "tables_of"]


def ranking_options(config: Config) -> RankingOptions:
    """What a state of rankings keeps, and how it breaks ties."""
    details = config.details
    return RankingOptions(
        config.ties, details.label_ranks, details.hit_cutoffs, details.inverse_propensities, details.gain_ranks
    )


def makers_of(config: Config) -> dict[str, Callable[[LabelIndex], State]]:
    """How each state besides decisions is made that a configuration names."""
    makers: dict[str, Callable[[LabelIndex], State]] = {
        "rankings": lambda labels: Rankings(labels, ranking_options(config)),
        "curves": Curves,
        "pairs": lambda labels: Pairs(labels, config.parts),
    }
    return {name: makers[name] for name in config.states}


def restored_state(make: Callable[[LabelIndex], State], content: Any, labels: LabelIndex) -> State:
    """A state that holds ``content``, whose labels are among ``labels``."""
    state: Any = make(labels)
    own = LabelIndex(content.labels)
    own.fixed = content.fixed
    state.merge(type(state).from_content(content, own))
    made: State = state
    return made


def tables_of(name: str, state: Any, columns: IntArray) -> Any:
    """What metrics read of it, for the labels in these columns."""
    if name == "rankings":
        return RankingTables(state, columns)
    return CurveTables(state, columns) if name == "curves" else PairTables(state)
