"""What each kind of state counts, as values that are compared and written."""

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
"""What it counts where nothing more, or less, is required."""

ENDLESS = 1 << 40
"""Further than any rank."""

Propensities: TypeAlias = tuple[tuple[Label, float], ...]
"""The inverse propensity of each label: how much more a hit counts than it would if the label were never missed."""


def without_propensities(metric: str) -> MetricError:
    """What to raise where a propensity-scored metric or the inverse propensities are missing."""
    together = f"{metric} must be named when constructing, together with inverse_propensities={{label: number}}"
    needs = f"{metric} needs the inverse propensity of each label; count it in Python, by streameval.Evaluator"
    return MetricError(wording(together, needs))


@dataclass(frozen=True, slots=True)
class RankingOptions(StateOptions):
    """What a state of rankings keeps, and how it breaks ties."""

    kind: ClassVar[str] = "rankings"
    reads: ClassVar[Literal["decisions", "scores"]] = "scores"
    parameters: ClassVar[Mapping[str, object]] = {"ties": "shared"}

    ties: Ties = "shared"  # or "last": of equal scores that of the later label ranks better (MULAN's rule)
    label_ranks: int = 0  # up to which hits are counted for each label, `ENDLESS` for ``label_precisions`` as well
    hit_cutoffs: tuple[int, ...] = ()  # for which k average precision at k can be divided by hits
    propensities: Propensities = field(default=(), repr=False)  # one for every true label
    gain_ranks: int = 0  # up to which propensity-scored gains are summed
    inverse: Mapping[Label, float] = field(init=False, repr=False, compare=False)  # the propensities by label

    @property
    def label_precisions(self) -> bool:
        """Whether the true labels ranked at least as high are summed for each label, which takes every rank."""
        return self.label_ranks == ENDLESS

    def __post_init__(self) -> None:
        inverse_of = {label: number_or_none(inverse) or 0.0 for label, inverse in self.propensities}
        for label, inverse in self.propensities:
            if not 0 < inverse_of[label] < math.inf:
                of_label = f"the inverse propensity of {quoted(label)}"
                raise InputError(f"{of_label} must be a positive number, not {quoted(inverse)}")
        object.__setattr__(self, "inverse", inverse_of)
        # The same choices in another order are the same choices.
        object.__setattr__(self, "hit_cutoffs", tuple(sorted(set(self.hit_cutoffs))))
        object.__setattr__(self, "propensities", tuple(sorted(inverse_of.items(), key=lambda pair: in_order(pair[0]))))

    @classmethod
    def of(
        cls, needs: Sequence[Mapping[str, Any]], keep: AbstractSet[str], arguments: Mapping[str, Any]
    ) -> RankingOptions | None:
        """Up to the greatest rank that some metric needs; ties and propensities are checked in any case."""
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
        return named or ([] if self == other else ["what their metrics of rankings count differs"])


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
        """The parts that are named, or needed by some metric."""
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
