"""Damaged ledgers, checkpoints and states: their bytes are refused, or read exactly as written."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

import streameval as se
from streameval.delivery.checkpoint import decoded, encode_checkpoint
from streameval.delivery.shards import digest
from streameval.wire.fields import varint
from tests.golden import write
from tests.soak import damage
from tests.support.each import with_each
from tests.support.effort import BRIEF, cases
from tests.wire.test_decisions import sealed

NAMES = (
    "evaluator", "evaluator-fixed", "everything", "pairs-parts", "sliced", "ledger-compacted", "checkpoint", "pending",
    "trace-metrics",
)  # fmt: skip
IMAGES: dict[str, bytes] = {name: write.MAKE[name]().to_bytes() for name in NAMES}
HEAD = b"\x89SEV\r\n\x02"
EMPTY = se.Evaluator([]).to_bytes()


@pytest.mark.parametrize("image", IMAGES)
def test_every_truncation_flipped_bit_and_zero_tail_is_refused(image: str):
    data = IMAGES[image]
    assert decoded(data).to_bytes() == data

    def worse() -> Iterator[bytes]:
        for size in range(len(data)):
            yield data[:size]
            yield data[:size] + bytes(len(data) - size)
            yield data[size + 1 :]
        for place in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[place // 8] ^= 1 << place % 8
            yield bytes(flipped)

    refused = 0
    for damaged in worse():
        if damaged != data:
            refused += 1
            with pytest.raises(se.FormatError):
                decoded(damaged)
    assert refused >= 11 * len(data) - 4


@pytest.mark.parametrize("image", IMAGES)
def test_every_truncation_and_zero_tail_under_a_right_checksum_is_refused(image: str):
    body = IMAGES[image][:-4]
    for size in range(7, len(body)):
        forms = body[:size], body[:size] + bytes(len(body) - size)
        for damaged in forms[size % 2 :: 2] if BRIEF else forms:
            if damaged != body:
                with pytest.raises(se.FormatError) as caught:
                    decoded(sealed(damaged))
                assert str(caught.value).count("the bytes are damaged") < 2


def test_random_damage_is_refused_or_read_exactly_as_written():
    outcomes = {damage.once(random.Random(seed)) for seed in range(max(1000, cases(4000)))}  # one in 200 is accepted
    assert outcomes == {"refused", "not damaged", "accepted, with a right checksum"}


def book(template: bytes, *sums: bytes) -> bytes:
    return sealed(HEAD + b"\x30" + varint(len(template)) + template + varint(len(sums)) + b"".join(sums))


def part(shards: list[tuple[bytes, int, int, bytes]], state: bytes) -> bytes:
    parts = [varint(2 * len(name)) + name + varint(epoch) + varint(seq) + digest for name, epoch, seq, digest in shards]
    return varint(len(shards)) + b"".join(parts) + varint(len(state)) + state


def test_the_helper_writes_what_the_package_writes():
    ledger = se.Ledger()
    for name in ("p", "q", "r"):
        ledger.put(name, 300, se.Evaluator([]), epoch=2)
    single = [part([(name, 2, 300, b"")], EMPTY) for name in (b"p", b"q", b"r")]
    assert ledger.to_bytes() == book(EMPTY, *single)
    ledger.compact(["p", "r"])
    empty_digest = digest(EMPTY)
    both = part([(b"p", 2, 300, empty_digest), (b"r", 2, 300, empty_digest)], EMPTY)
    assert ledger.to_bytes() == book(EMPTY, both, single[1])


def waiting(key: Any, old: bytes, new: bytes, *, labels: str = "ab") -> bytes:
    """The bytes of a `Pending` in which one sequence of bytes is replaced by another."""
    pending = se.Pending(se.Evaluator([]))
    pending.predict(key, {label: label == "a" for label in labels})
    data = pending.to_bytes()[:-4]
    assert data.count(old) == 1
    return sealed(data.replace(old, new))


COUNTED = write.fed(se.Evaluator([])).to_bytes()
NO = bytes(16)
CONTRADICTIONS = {
    "shards of no configuration": book(b"", part([(b"p", 0, 1, b"")], EMPTY)),
    "a configuration that has counted": book(COUNTED),
    "a configuration that cannot be merged": book(se.Rolling(se.F1(), size=3).to_bytes()),
    "a configuration that is no state": book(se.Ledger().to_bytes()),
    "a shard that is no state": book(EMPTY, part([(b"p", 0, 1, b"")], b"state")),
    "a shard that is built differently": book(EMPTY, part([(b"p", 0, 1, b"")], se.F1().to_bytes())),
    "a sum of no shards": book(EMPTY, part([], EMPTY)),
    "shards out of order": book(EMPTY, part([(b"q", 0, 1, b"")], EMPTY), part([(b"p", 0, 1, b"")], EMPTY)),
    "a shard twice": book(EMPTY, *[part([(b"p", 0, 1, b"")], EMPTY)] * 2),
    "a shard twice in a sum": book(EMPTY, part([(b"p", 0, 1, NO), (b"p", 0, 2, NO)], EMPTY)),
    "a sum out of order": book(EMPTY, part([(b"q", 0, 1, NO), (b"p", 0, 1, NO)], EMPTY)),
    "a shard in two sums": book(
        EMPTY, part([(b"p", 0, 1, NO), (b"q", 0, 1, NO)], EMPTY), part([(b"q", 0, 1, b"")], EMPTY)
    ),
    "a sequence beyond 63 bits": book(EMPTY, part([(b"p", 0, 2**63, b"")], EMPTY)),
    "an epoch beyond 63 bits": book(EMPTY, part([(b"p", 2**64 - 1, 0, b"")], EMPTY)),
    "a shard that is no text": book(EMPTY, part([(b"\xff", 0, 1, b"")], EMPTY)),
    "something after the end": sealed(book(EMPTY)[:-4] + b"\0"),
    "a position beyond 63 bits": b"".join(encode_checkpoint(2**63, lambda: iter([EMPTY]))),
    "a checkpoint of nothing": b"".join(encode_checkpoint(0, lambda: iter([b""]))),
    "a checkpoint of a checkpoint": b"".join(encode_checkpoint(0, lambda: iter([IMAGES["checkpoint"]]))),
    "a boolean of 2": waiting(1, b"\3\2b\2\1\1\0", b"\3\2b\2\1\2\0"),
    "no booleans": waiting(1, b"\3\3\1\0\1\1\0\0\0", b"\3\3\1\0\1\1\0\0\1", labels=""),
    "no floats": waiting(1, b"\3\3\1\0\1\1\0\0\0", b"\3\3\1\0\1\1\0\0\2", labels=""),
    "a label twice in a prediction": waiting(1, b"\3\2a\3\2b", b"\3\2a\3\2a"),
    "tuples within tuples without end": waiting((7,), b"\5\1\3\3\7", b"\5\1" * 10_000 + b"\5\0"),
    "a kind that does not exist": sealed(HEAD + b"\xff" + EMPTY[8:-4]),
}


@with_each("kind", CONTRADICTIONS)
def test_bytes_that_no_object_writes_are_refused(kind: str):
    with pytest.raises(se.FormatError):
        decoded(CONTRADICTIONS[kind])


def hostile() -> Iterator[tuple[str, bytes]]:
    """Small files that claim large sizes, and larger files in which many parts do."""
    steps = {"ledger-compacted": 3, "checkpoint": 3, "pending": 7, "trace-metrics": 11}
    images = {name: data for name, make in write.MAKE.items() if len(data := make().to_bytes()) < 1000}
    for number, size in enumerate((2**16, 2**31, 2**40, 2**62, 2**64 - 1)):
        for image, data in images.items():  # images of every kind of state and every holder
            # With little effort, half of the places for each size, and the other half for the next size.
            for at in range(8, len(data) - 4, steps.get(image, 31))[number % 2 * BRIEF :: 1 + BRIEF]:
                yield f"{image}, {size} at {at}", sealed(data[:at] + varint(size) + data[at + 1 : -4])
    many = 100_000
    yield "many sums of nothing", sealed(HEAD + b"\x30" + varint(len(EMPTY)) + EMPTY + varint(many) + bytes(many))
    shards = [(b"%06d" % number, 0, 1, NO) for number in range(20_000)]
    yield "many shards in a sum", book(EMPTY, part(shards, b"state"))
    yield (
        "many shards of small states",
        book(EMPTY, *(part([(b"%06d" % x, 0, 1, b"")], EMPTY) for x in range(400)), b"\0"),
    )
    yield "an endless number", sealed(HEAD + b"\x31" + b"\xff" * many)


def test_small_files_that_claim_large_sizes_use_little_memory():
    for kind, data in hostile():
        tracemalloc.start()
        try:
            result: Any = decoded(data)
        except se.FormatError:
            result = None
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= 64 * len(data) + 2**20, f"{kind}: {peak / len(data):.0f} times the input"
        assert result is None or result.to_bytes() == data
