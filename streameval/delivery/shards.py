"""The states of shards as a ledger stores them, and which of them replaces which."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from streameval.errors import ConflictError, InputError
from streameval.schema.labels import Label, ascending, normalise
from streameval.schema.text import number_of, quoted
from streameval.wire.fields import Source, require

MOST = 2**63 - 1  # the largest epoch, sequence and position
_DIGEST = 16


class Version(NamedTuple):
    """How new a shard's state is: of two, the one with the larger epoch, then with the larger sequence, is newer."""

    epoch: int
    sequence: int


class Shard(NamedTuple):
    """The version of a shard's state, and a digest of the state."""

    version: Version
    digest: bytes


class SavedSum(NamedTuple):
    """The sum of the states of some shards, as bytes; ``shards`` are sorted."""

    shards: dict[Label, Shard]
    state: bytes


def digest(state: bytes) -> bytes:
    """A hash that identifies the bytes of a state."""
    return hashlib.blake2b(state, digest_size=_DIGEST).digest()


def counter(value: object, name: str) -> int:
    """An epoch or a sequence, checked."""
    try:
        number = normalise(value)
    except InputError:
        number = ""
    if isinstance(number, str) or not 0 <= number <= MOST:
        raise InputError(f"{name} must be an integer from 0 to 2**63 - 1, not {quoted(value)}")
    return number


def take_sum(source: Source) -> SavedSum:
    """The sum of some shards as a ledger wrote it."""
    shards: dict[Label, Shard] = {}
    many = source.count()
    for _ in range(many):
        name, version = source.label(), Version(source.varint(), source.varint())
        require(max(version) <= MOST)
        shards[name] = Shard(version, source.raw(_DIGEST) if many > 1 else b"")
    require(many > 0, len(shards) == many, ascending(list(shards)))
    state = source.raw(source.varint())
    if many == 1:
        shards[name] = Shard(version, digest(state))
    return SavedSum(shards, state)


def is_news(added: SavedSum, sums: Mapping[Label, SavedSum]) -> bool:
    """Whether a sum replaces the sums that hold its shards; `ConflictError` if neither can replace the other."""
    present = [sums[shard] for shard in added.shards if shard in sums]
    if present and _supersedes(present[0], added):
        return False
    for current in present:
        if not _supersedes(added, current):
            raise _conflict(added, current)
    return True


def _supersedes(one: SavedSum, other: SavedSum) -> bool:
    """Whether one sum has every shard of the other, each at least as new, so that the other is no longer needed."""
    # Because this is a partial order, the sums that remain do not depend on the order in which sums arrive.
    if len(one.shards) < len(other.shards):
        return False
    for shard, theirs in other.shards.items():
        mine = one.shards.get(shard)
        if mine is None or mine.version < theirs.version:
            return False
        if mine.version == theirs.version and mine.digest != theirs.digest:
            advice = "a shard must give every state a sequence of its own, and a new epoch when it starts again"
            raise ConflictError(f"shard {quoted(shard, 200)} has two different states with {_at(theirs)}; {advice}")
    if one.shards == other.shards and one.state != other.state:
        sums = f"two sums of the same {len(one.shards)} shards"
        raise ConflictError(f"{sums} differ; restore one of the ledgers from a copy")
    return True


def _conflict(added: SavedSum, current: SavedSum) -> ConflictError:
    both = [shard for shard in added.shards if shard in current.shards]
    newer = [shard for shard in both if added.shards[shard].version != current.shards[shard].version]
    shard = (newer or both)[0]
    name = f"shard {quoted(shard, 200)}"
    single, several = sorted((added, current), key=lambda each: len(each.shards))
    if len(single.shards) == 1:
        sums = f"compacted with {number_of(len(several.shards) - 1, 'other shard')} at {_at(several.shards[shard])}"
        way = "compact shards only after their last state, and count newer examples as a new shard"
        return ConflictError(f"{name} was {sums}, and a newer state came at {_at(single.shards[shard])}; {way}")
    sums = f"at {_at(current.shards[shard])} and at {_at(added.shards[shard])}, which cannot be separated"
    way = "merge ledgers before compact(), or compact in only one of them"
    return ConflictError(f"{name} is in two sums, {sums}; {way}")


def _at(shard: Shard) -> str:
    return f"epoch {shard.version.epoch}, sequence {shard.version.sequence}"
