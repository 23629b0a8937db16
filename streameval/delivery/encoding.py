"""Ledgers and checkpoints as bytes, which hold the bytes of states."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from streameval.errors import FormatError
from streameval.schema.labels import Label, ascending
from streameval.wire.envelope import CHECKPOINT, LEDGER, decoding, opened, sealed, sized
from streameval.wire.fields import Sink, Source, varint

MOST = 2**63 - 1  # the largest epoch, sequence and position

_DIGEST = 16


class ShardVersion(NamedTuple):
    """What is known of a shard: how new its state is, and which one it was."""

    epoch: int
    sequence: int
    digest: bytes


class SavedSum(NamedTuple):
    """The state of some shards, as bytes; the shards are sorted."""

    shards: dict[Label, ShardVersion]
    state: bytes


def digest(state: bytes) -> bytes:
    """What tells the bytes of one state from those of another."""
    return hashlib.blake2b(state, digest_size=_DIGEST).digest()


def encode_ledger(template: bytes, sums: list[SavedSum]) -> Iterator[bytes]:
    """The bytes of a ledger in pieces."""
    sink = Sink((varint(len(template)), template, varint(len(sums))))
    for shards, state in sums:
        sink.varint(len(shards))
        for shard, version in shards.items():
            sink.label(shard)
            sink += (varint(version.epoch), varint(version.sequence))
            if len(shards) > 1:
                sink.append(version.digest)
        sink += (varint(len(state)), iter((state,)))  # by themselves, for a ledger has many
    return sealed(LEDGER, sink.pieces())


def decode_ledger(data: bytes) -> tuple[bytes, list[SavedSum]]:
    """The arguments of `encode_ledger`, or `FormatError`. The bytes of the states have still to be read."""
    _, source = opened(data, (LEDGER,))
    with decoding():
        template = source.raw(source.varint())
        sums = [_take_sum(source) for _ in range(source.count())]
        source.end()
        names = [shard for shards, _ in sums for shard in shards]
        if len(set(names)) != len(names) or not ascending([next(iter(shards)) for shards, _ in sums]):
            raise FormatError("shards are repeated or not in order")
        if sums and not template:
            raise FormatError("shards of no configuration")
    return template, sums


def _take_sum(source: Source) -> SavedSum:
    versions: dict[Label, ShardVersion] = {}
    many = source.count()
    for _ in range(many):
        shard, epoch, sequence = source.label(), source.varint(), source.varint()
        if max(epoch, sequence) > MOST:
            raise FormatError("an epoch or a sequence beyond 63 bits")
        versions[shard] = ShardVersion(epoch, sequence, source.raw(_DIGEST) if many > 1 else b"")
    if not many or len(versions) < many or not ascending(list(versions)):
        raise FormatError("a state of no shards, or of shards that are repeated or not in order")
    state = source.raw(source.varint())
    if many == 1:
        versions[shard] = ShardVersion(epoch, sequence, digest(state))
    return SavedSum(versions, state)


def encode_checkpoint(position: int, state: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """The bytes of a checkpoint in pieces; ``state`` makes those of the state."""
    return sealed(CHECKPOINT, chain((varint(position),), sized(state)))


def decode_checkpoint(data: bytes) -> tuple[int, bytes]:
    """The position and the bytes of the state, which have still to be read, or `FormatError`."""
    _, source = opened(data, (CHECKPOINT,))
    with decoding():
        position = source.varint()
        state = source.raw(source.varint())
        source.end()
        if position > MOST:
            raise FormatError("a position beyond 63 bits")
    return position, state
