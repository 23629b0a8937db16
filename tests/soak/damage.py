"""Damage the golden files at random, a million times: python -m tests.soak.damage.

Damaged bytes must be refused with `FormatError`, or give an object that writes exactly these bytes. Half of the damaged
files have a right checksum, like deliberate changes; their content may then be different, but never impossible.
"""

from __future__ import annotations

import random

import streameval as se
from streameval.delivery.checkpoint import decoded
from tests.golden import write
from tests.soak.progress import soak
from tests.wire.test_decisions import sealed

IMAGES = [path.read_bytes() for path in sorted(write.FOLDER.glob("*.bin"))]


def damaged(data: bytes, drawn: random.Random) -> bytes:
    """The data with random damage: bits flipped, bytes set, removed, inserted or copied, or zeros at the end."""
    edited = bytearray(data)
    for _ in range(drawn.choice([1, 1, 1, 2, 3, 8])):
        at = drawn.randrange(len(edited) + 1)
        kind = drawn.randrange(7)
        if kind == 0 and at < len(edited):
            edited[at] ^= 1 << drawn.randrange(8)
        elif kind == 1:
            edited[at : at + 1] = bytes([drawn.choice([0, 1, 127, 128, 255, drawn.randrange(256)])])
        elif kind == 2:
            del edited[at : at + drawn.randint(1, 9)]
        elif kind == 3:
            edited[at:at] = drawn.randbytes(drawn.randint(1, 9))
        elif kind == 4:
            source = drawn.randrange(len(edited) + 1)
            edited[at : at + 8] = edited[source : source + 8]
        elif kind == 5:
            edited[at:] = bytes(len(edited) - at)
        else:
            del edited[at:]
    return bytes(edited)


def once(drawn: random.Random) -> str:
    image = drawn.choice(IMAGES)
    resealed = drawn.random() < 0.5
    data = sealed(damaged(image[:-4], drawn)) if resealed else damaged(image, drawn)
    if data == image:
        return "not damaged"
    try:
        result = decoded(data)
    except se.FormatError:
        return "refused"
    assert result.to_bytes() == data
    if not resealed:
        assert data in image, "damage under a wrong checksum was accepted"
        return "nothing but a whole state that stands within slices or a ledger, with its checksum"
    return "accepted, with a right checksum"


if __name__ == "__main__":
    soak(__doc__, 1_000_000, once)
