"""The options of each kind of state, as values that are compared and written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from streameval.errors import InputError, MetricError, wording
from streameval.schema.config import StateOptions, Ties
from streameval.schema.labels import Label, in_order, normalise
from streameval.schema.text import check_choice, number_or_none, quoted

Part: TypeAlias = Literal["confusions", "contributions", "cooccurrence", "labelsets"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What a state of pairs can count."""

USUAL_PARTS: tuple[Part, ...] = ("confusions", "cooccurrence")
"""The parts that it counts by default, and for ``"pairs"`` in ``keep=``."""

ENDLESS = 1 << 40
"""A limit above every rank."""

Propensities: TypeAlias = tuple[tuple[Label, float], ...]
"""The inverse propensity of each label: how much more a hit counts than it would if the label were never missed."""


def without_propensities(metric: str) -> MetricError:
    """The exception for a propensity-scored metric without inverse propensities, or these without such a metric."""
    together = f"{metric} must be named when constructing, together with inverse_propensities={{label: number}}"
    needs = f"{metric} needs the inverse propensity of each label; count it in Python, by streameval.Evaluator"
    return MetricError(wording(together, needs))


@dataclass(frozen=True, slots=True)
class RankingOptions(StateOptions):
    """What a state of rankings counts, and how it breaks ties."""

    kind: ClassVar[str] = "rankings"
    reads: ClassVar[Literal["decisions", "scores"]] = "scores"
    parameters: ClassVar[Mapping[str, object]] = {"ties": "shared"}

    ties: Ties = "shared"  # or "last": of labels with equal scores the later one ranks better (MULAN's rule)
    label_ranks: int = 0  # up to which rank hits are counted by label; `ENDLESS` if also ``label_precisions``
    hit_cutoffs: tuple[int, ...] = ()  # each k for which average precision at k is divided by the number of hits
    propensities: Propensities = field(default=(), repr=False)  # required for every true label
    gain_ranks: int = 0  # up to which rank propensity-scored gains are summed
    inverse: Mapping[Label, float] = field(init=False, repr=False, compare=False)  # the propensities by label

    @property
    def label_precisions(self) -> bool:
        """Whether the true labels that rank at least as high are summed by label, which requires all ranks."""
        return self.label_ranks == ENDLESS

    def __post_init__(self) -> None:
        inverse_of = {label: number_or_none(inverse) or 0.0 for label, inverse in self.propensities}
        for label, inverse in self.propensities:
            if not 0 < inverse_of[label] < math.inf:
                of_label = f"the inverse propensity of {quoted(label)}"
                raise InputError(f"{of_label} must be a positive number, not {quoted(inverse)}")
        object.__setattr__(self, "inverse", inverse_of)
        # Sorted, so that the order in which they were passed does not matter.
        object.__setattr__(self, "hit_cutoffs", tuple(sorted(set(self.hit_cutoffs))))
        object.__setattr__(self, "propensities", tuple(sorted(inverse_of.items(), key=lambda pair: in_order(pair[0]))))

    @classmethod
    def of(
        cls, needs: Sequence[Mapping[str, Any]], keep: AbstractSet[str], arguments: Mapping[str, Any]
    ) -> RankingOptions | None:
        """Options for the greatest rank that any metric needs, or None; ties and propensities are always checked."""
        ties: Ties = arguments.get("ties", "shared")
        check_choice("ties", ties, get_args(Ties))
        inverse = {} if arguments.get("inverse_propensities") is None else arguments["inverse_propensities"]
        if not isinstance(inverse, Mapping):
            raise InputError(f"inverse_propensities must be a mapping label -> number, not {quoted(inverse)}")
        propensities = tuple((normalise(label), value) for label, value in inverse.items())
        gain_ranks = max((need.get("gain_ranks", 0) for need in needs), default=0)
        if bool(gain_ranks) != bool(propensities):
            raise without_propensities("psp_at or psndcg_at")
        if not needs and not keep:
            return None
        label_ranks = max((need.get("label_ranks", 0) for need in needs), default=0)
        cutoffs = tuple(need["hit_cutoff"] for need in needs if "hit_cutoff" in need)
        return cls(ties, label_ranks, cutoffs, propensities, gain_ranks)

    def arguments(self) -> dict[str, Any]:
        return {"ties": self.ties, "inverse_propensities": dict(self.propensities)}

    def differences(self, other: RankingOptions) -> list[str]:
        pairs = [(name, value, other.arguments()[name]) for name, value in self.arguments().items()]
        named = [f"{name} differ ({quoted(one)} and {quoted(two)})" for name, one, two in pairs if one != two]
        return named or ([] if self == other else ["their ranking metrics require different counts"])


class CurveOptions(StateOptions):
    """A state of curves has no options."""

    __slots__ = ()
    kind: ClassVar[str] = "curves"
    reads: ClassVar[Literal["decisions", "scores"]] = "scores"
    needs_numbers: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class PairOptions(StateOptions):
    """What a state of pairs counts: ``parts``, in the order of `PARTS`."""

    kind: ClassVar[str] = "pairs"
    reads: ClassVar[Literal["decisions", "scores"]] = "decisions"

    parts: tuple[Part, ...] = USUAL_PARTS

    @classmethod
    def of(
        cls, needs: Sequence[Mapping[str, Any]], keep: AbstractSet[str], _arguments: Mapping[str, Any]
    ) -> PairOptions | None:
        """Options with the parts that ``keep`` names or a metric needs, or None."""
        if not needs and not keep:
            return None
        parts = {*keep, *(USUAL_PARTS if "pairs" in keep else ()), *(need["part"] for need in needs)}
        return cls(tuple(part for part in PARTS if part in parts))

    def keep(self) -> tuple[str, ...]:
        return self.parts

    @classmethod
    def required(cls, needs: Mapping[str, Any]) -> str:
        return str(needs["part"])

    def differences(self, other: PairOptions) -> list[str]:
        mine, theirs = ", ".join(self.parts), ", ".join(other.parts)
        return [] if self == other else [f"parts of pairs differ ({mine} and {theirs})"]
