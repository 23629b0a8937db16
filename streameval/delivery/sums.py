"""Sums of shards' states: which of two makes the other superfluous, and what all add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streameval.delivery.encoding import SavedSum, ShardVersion
from streameval.delivery.states import AnyState
from streameval.errors import Conflict, MergeError
from streameval.schema.labels import Label


def is_news(added: SavedSum, sums: Mapping[Label, SavedSum]) -> bool:
    """Whether a sum takes the place of those that its shards are in; `Conflict` if neither can replace the other."""
    first = sums.get(next(iter(added.shards)))
    if first is not None and _supersedes(first, added):
        return False
    for shard in added.shards:
        current = sums.get(shard)
        if current is not None and not _supersedes(added, current):
            raise _conflict(added, current)
    return True


def _supersedes(one: SavedSum, other: SavedSum) -> bool:
    """Whether one sum has every shard of another, each at least as new.

    Then the other is not needed any more. Sums of which neither supersedes the other can coexist only if
    they share no shard. As "supersedes" is a partial order, what remains of many does not depend on the order.
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
                f"shard {shard!r} has two different states with {_at(theirs)}; a shard must give every state a "
                "sequence of its own, and a new epoch when it starts again"
            )
        same = same and mine[:2] == theirs[:2]
    if same and len(one.shards) == len(other.shards) and one.state != other.state:
        raise Conflict(f"two sums of the same {len(one.shards)} shards differ; restore one of the ledgers from a copy")
    return True


def _conflict(added: SavedSum, current: SavedSum) -> Conflict:
    """What is wrong with two sums that share shards where neither supersedes the other."""
    both = [shard for shard in added.shards if shard in current.shards]
    newer = [shard for shard in both if added.shards[shard][:2] != current.shards[shard][:2]]
    shard = (newer or both)[0]
    if len(added.shards) == 1 or len(current.shards) == 1:
        single, several = (added, current) if len(added.shards) == 1 else (current, added)
        return Conflict(
            f"shard {shard!r} was compacted with {len(several.shards) - 1} other shards at "
            f"{_at(several.shards[shard])}, and a newer state came at {_at(single.shards[shard])}; what it replaces is "
            "part of a sum. Compact shards only after their last state; now count the newer examples as a new shard, "
            "or start again"
        )
    return Conflict(
        f"shard {shard!r} is in two sums, with {len(current.shards) - 1} and with {len(added.shards) - 1} other "
        f"shards, at {_at(current.shards[shard])} and at {_at(added.shards[shard])}, and they cannot be "
        "separated; merge ledgers before compact(), or compact in only one of them"
    )


def _at(version: ShardVersion) -> str:
    return f"epoch {version.epoch}, sequence {version.sequence}"


def summed(parts: Iterable[tuple[AnyState, SavedSum]]) -> AnyState:
    """The sum of states, which are used up. Each is added to one of about its size, or many labels would cost much."""
    waiting: list[tuple[int, Any]] = []
    for state, part in parts:
        size, whole = 1, state
        while waiting and waiting[-1][0] <= size:
            more, before = waiting.pop()
            try:
                before.merge(whole)
            except MergeError as error:
                raise MergeError(f"shard {next(iter(part.shards))!r} does not fit to the rest: {error}") from None
            size, whole = size + more, before
        waiting.append((size, whole))
    while len(waiting) > 1:
        _, last = waiting.pop()
        waiting[-1][1].merge(last)
    return waiting[0][1]  # type: ignore[no-any-return]  # a state
