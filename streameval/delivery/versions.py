"""Which of two sums of shards' states makes the other superfluous."""

from __future__ import annotations

from streameval.delivery.encoding import Given, SavedSum
from streameval.errors import Conflict

__all__ = ["covers", "not_separable"]


def covers(one: SavedSum, other: SavedSum) -> bool:
    """Whether one sum has every shard of another, each at least as new.

    Then the other is not needed any more. Sums of which neither covers the other can stand beside each other only if
    they share no shard. As "covers" is a partial order, what remains of many does not depend on who met whom first.
    """
    if len(one.shards) < len(other.shards):
        return False
    same = True
    for shard, theirs in other.shards.items():
        mine = one.shards.get(shard)
        if mine is None or mine[:2] < theirs[:2]:
            return False
        if mine[:2] == theirs[:2] and mine.digest != theirs.digest:
            raise Conflict(
                f"shard {shard!r} has two different states with {_told(theirs)}; a shard must give every state a "
                "sequence of its own, and a new epoch when it starts again"
            )
        same = same and mine[:2] == theirs[:2]
    if same and len(one.shards) == len(other.shards) and one.state != other.state:
        raise Conflict(f"two sums of the same {len(one.shards)} shards differ; restore one of the ledgers from a copy")
    return True


def not_separable(given: SavedSum, held: SavedSum) -> Conflict:
    """What is wrong with two sums that share shards where neither covers the other."""
    both = [shard for shard in given.shards if shard in held.shards]
    newer = [shard for shard in both if given.shards[shard][:2] != held.shards[shard][:2]]
    shard = (newer or both)[0]
    if len(given.shards) == 1 or len(held.shards) == 1:
        single, several = (given, held) if len(given.shards) == 1 else (held, given)
        return Conflict(
            f"shard {shard!r} was compacted with {len(several.shards) - 1} others at {_told(several.shards[shard])}, "
            f"and a newer state came at {_told(single.shards[shard])}; what it replaces is part of a sum. Compact "
            "shards only after their last state; now count the newer examples as a new shard, or start again"
        )
    return Conflict(
        f"shard {shard!r} is in two sums, with {len(held.shards) - 1} and with {len(given.shards) - 1} other shards, "
        f"at {_told(held.shards[shard])} and at {_told(given.shards[shard])}, and they cannot be taken apart; merge "
        "ledgers before compact(), or compact in one of them alone"
    )


def _told(given: Given) -> str:
    return f"epoch {given.epoch}, sequence {given.sequence}"
