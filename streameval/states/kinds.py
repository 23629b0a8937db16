"""The states that are kept besides decisions, by name. Imported only once one is asked for."""

from __future__ import annotations

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

__all__ = ["fresh_state", "ranking_options", "restored_state", "tables_of"]


def ranking_options(config: Config) -> RankingOptions:
    """What a state of rankings keeps, and how it breaks ties."""
    details = config.details
    return RankingOptions(
        config.ties, details.label_ranks, details.hit_cutoffs, details.inverse_propensities, details.gain_ranks
    )


def fresh_state(name: str, labels: LabelIndex, config: Config) -> State:
    """A state of that name that has counted nothing."""
    if name == "rankings":
        return Rankings(labels, ranking_options(config))
    if name == "curves":
        return Curves(labels)
    return Pairs(labels, config.parts)


def restored_state(name: str, content: Any, labels: LabelIndex, config: Config) -> State:
    """A state that holds ``content``, whose labels are among ``labels``."""
    state: Any = fresh_state(name, labels, config)
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
