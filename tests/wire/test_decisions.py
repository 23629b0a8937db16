"""Only bytes that an object has written are read; hostile bytes neither use much memory nor give a wrong object."""

from __future__ import annotations

import copy
import math
import os
import pickle
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from tests.support.each import with_each
from tests.support.effort import BRIEF, cases
from tests.support.entries import decided_entries
from tests.support.naming import case_name

pytestmark = pytest.mark.filterwarnings("ignore:the empty string is a label")  # this label is tested too


def unweighted() -> se.Evaluator:
    ev = se.Evaluator(["f1_macro", "fbeta_samples(beta=2)", "hamming_loss"])
    ev.update_many([{"a", "b"}, {"\U0001f642"}, set(), {5, -3}], [{"a"}, {"b", ""}, set(), {5, 2**70}])
    ev.update({"a": 1, "c": None}, {"a": 0, "d": 1})
    for _ in range(10):
        ev.merge(ev)
    return ev


def weighted() -> se.Evaluator:
    ev = se.Evaluator(["mcc_macro"])
    ev.update({"a", "b"}, {"a"}, weight=0.1)
    ev.update({"a"}, {"b", "c"}, weight=3e-300)
    ev.update(set(), {"c"}, weight=1e300)
    ev.update({"c"}, {"c"}, weight=0.0, mask={"a"})
    return ev


def fixed() -> se.Evaluator:
    ev = se.Evaluator(
        ["f1_micro"], labels=["x", 1, "y"], unknown="add", threshold={"x": 0.5, 1: -1.0, "y": 0.7, "z": 2.0}
    )
    ev.update({"x", "y"}, {"x": 0.6, "z": 3.0, 1: -2.0})
    ev.update(np.array([1.0, math.nan, 0.0]), np.array([0.0, 5.0, 0.7]))
    return ev


IMAGES = {"unweighted": unweighted, "weighted": weighted, "fixed labels with thresholds": fixed}


def sealed(body: bytes | bytearray) -> bytes:
    """The body followed by its checksum."""
    return bytes(body) + struct.pack("<I", zlib.crc32(body))


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


SPECS = [
    se.metric(entry.name, average=average, zero_division=zero)
    for entry in decided_entries()
    for average in entry.averages
    for zero in ((None, math.nan) if average == "macro" else (None,))
]
RANGES = {entry.name: (entry.low, entry.high) for entry in decided_entries()}


def in_range(ev: se.Evaluator) -> None:
    """Check that every metric can be read, and that metrics and counts are in their ranges."""
    for metric in SPECS:
        value = ev.get(metric)
        low, high = RANGES[metric.spec.name]
        for part in value.values() if isinstance(value, dict) else [value]:
            assert math.isnan(part) or low <= part <= high, (metric.spec.key, part)
    table = ev.per_label()
    for column in (table.tp, table.fp, table.fn, table.tn):
        assert (column >= 0).all()
    assert 0 <= ev.examples < 2**63


def refused_or_exact(data: bytes) -> bool:
    """Whether the bytes are accepted; if so, the object must be valid and write exactly the same bytes."""
    try:
        ev = se.Evaluator.from_bytes(data)
    except se.FormatError:
        return False
    assert ev.to_bytes() == data
    in_range(ev)
    twin = ev.copy()
    if ev.examples < 2**62:
        twin.merge(ev)
        assert twin.examples == 2 * ev.examples
        assert se.Evaluator.from_bytes(twin.to_bytes()) == twin
    return True


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("image", IMAGES)
def test_images_are_read_back(image: str):
    data = IMAGES[image]().to_bytes()
    assert refused_or_exact(data)
    for kind in (bytes, bytearray, memoryview):
        assert se.Evaluator.from_bytes(kind(data)) == IMAGES[image]()
    changing = bytearray(data)
    ev = se.Evaluator.from_bytes(changing)
    changing[:] = bytes(len(changing))
    assert ev.to_bytes() == data
    assert se.Evaluator.from_bytes(memoryview(data * 2)[: len(data)]) == ev
    assert se.Evaluator.from_bytes(memoryview(np.frombuffer(data, np.uint8).repeat(2))[::2]) == ev


@pytest.mark.parametrize("image", IMAGES)
def test_anything_appended_or_prepended_is_refused(image: str):
    data = IMAGES[image]().to_bytes()
    for tail in (*(bytes(size) for size in range(1, 130)), data[-4:], data, b"\n", b"\xff" * 5, bytes(4096)):
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(data + tail)
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(tail + data)
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(sealed(data[:-4] + tail))
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(sealed(data + tail))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89",
        b"\x89SEV\r\n",
        b"\x89SEV\n",
        bytes(100),
        b"\x89SEV\r\n" + bytes(4),
        b"\x89SEV\r\n\x01\x00" + bytes(4),
    ],
    ids=case_name,
)
def test_foreign_bytes_are_refused(data: bytes):
    for read in (se.Evaluator.from_bytes, se.F1.from_bytes):
        with pytest.raises(se.FormatError):
            read(data)


@settings(max_examples=cases(300))
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data: bytes):
    for input_bytes in (data, b"\x89SEV\r\n" + data, b"\x89SEV\r\n\x02" + data, sealed(b"\x89SEV\r\n\x02\x01" + data)):
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(input_bytes)


@pytest.mark.parametrize(
    "input_value", [None, "text", 0, [1, 2], {}, object(), np.zeros(4, np.uint8), 1.5, ()], ids=case_name
)
def test_objects_other_than_bytes_are_refused(input_value: object):
    for read in (se.Evaluator.from_bytes, se.F1.from_bytes):
        with pytest.raises(se.FormatError, match="bytes"):
            read(input_value)


class Trap:
    """An object that calls `spring` when it is unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Callable[..., None], tuple[()]]:
        return spring, ()


def spring() -> None:
    Trap.sprung = True


def test_pickles_are_refused_and_not_run():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for thing in (Trap(), unweighted(), {"a": 1}):
            data = pickle.dumps(thing, protocol)
            for input_bytes in (data, b"\x89SEV\r\n" + data, sealed(b"\x89SEV\r\n\x02\x01" + data)):
                with pytest.raises(se.FormatError):
                    se.Evaluator.from_bytes(input_bytes)
    assert not Trap.sprung


def test_an_unknown_version_is_named():
    body = bytearray(unweighted().to_bytes()[:-4])
    for version in (0, 1, 3, 77, 255):
        body[6] = version
        with pytest.raises(se.FormatError, match=f"version {version}"):
            se.Evaluator.from_bytes(sealed(body))
        with pytest.raises(se.FormatError, match=f"version {version}"):
            se.Evaluator.from_bytes(bytes(body) + b"\0\0\0\0")  # a later version may have another checksum


# -- hostile bytes with a right checksum ------------------------------------------------------------------------------


def named(image: str) -> tuple[bytearray, range]:
    """The body of an image, and the range of its metric names, which have a test of their own."""
    ev = IMAGES[image]()
    body = bytearray(ev.to_bytes()[:-4])
    keys = [spec.key.encode() for spec in ev.metrics]
    return body, range(body.index(keys[0]) - 1, body.index(keys[-1]) + len(keys[-1]))


@pytest.mark.parametrize("image", IMAGES)
def test_a_body_with_any_byte_replaced_is_refused_or_read_exactly_as_written(image: str):
    body, names = named(image)
    accepted = 0
    for position in range(7, len(body)):
        old = body[position]
        if position not in names:
            values = sorted({0, 1, 2, 3, 127, 128, 255, (old + 1) % 256, (old - 1) % 256, old ^ 16} - {old})
            for value in values[position % 4 :: 4] if BRIEF else values:
                edited = bytearray(body)
                edited[position] = value
                accepted += refused_or_exact(sealed(edited))
    assert accepted


@settings(max_examples=cases(600))
@given(st.sampled_from(list(IMAGES)), st.data())
def test_random_edits_are_refused_or_read_exactly_as_written(image: str, data: st.DataObject):
    body, names = named(image)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(names.stop, len(body)))
        edit = data.draw(st.sampled_from(["set", "insert", "delete", "copy"]))
        if edit == "set":
            body[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
        elif edit == "insert":
            body[at:at] = data.draw(st.binary(min_size=1, max_size=3))
        elif edit == "delete":
            del body[at : at + data.draw(st.integers(1, 3))]
        else:
            source = data.draw(st.integers(names.stop, len(body)))
            body[at : at + 4] = body[source : source + 4]
    refused_or_exact(sealed(body))


def content(
    examples: int,
    labels: list[bytes],
    cells: list[list[int]],
    keys: list[tuple[int, int, int, int, int]],
    weights: tuple[int, list[list[int]], list[int]] | None = None,
    declared: list[bytes] | None = None,
) -> bytes:
    """A well-formed body with any values: cells per label, and keys that end with their number of occurrences."""

    def column(values: list[int]) -> bytes:
        width = (max(values, default=0).bit_length() + 7) // 8
        return bytes([width]) + b"".join(value.to_bytes(width, "little") for value in values)

    def number(value: int) -> bytes:
        raw = value.to_bytes((value.bit_length() + 7) // 8, "little")
        return varint(len(raw)) + raw

    parts = [b"\x89SEV\r\n\x02\x01\x01", b"\0" if declared is None else b"\1\1"]
    if declared is not None:
        parts += [varint(len(declared)), *(varint(2 * len(name)) + name for name in declared)]
    parts += [b"\0", varint(examples), varint(len(labels)), *(varint(2 * len(name)) + name for name in labels)]
    parts += [column([row[outcome] for row in cells]) for outcome in range(5)]
    parts += [varint(len(keys)), *(column([key[part] for key in keys]) for part in range(5))]
    if weights is None:
        return sealed(b"".join([*parts, b"\0"]))
    scale, sums, key_sums = weights
    parts += [b"\1", varint(scale), *(number(value) for row in sums for value in row), *map(number, key_sums)]
    return sealed(b"".join(parts))


def test_the_helper_writes_what_the_package_writes():
    ev = se.Evaluator([])
    ev.update({"a", "b"}, {"a"})
    ev.update({"a"}, {"b"})
    assert ev.to_bytes() == content(
        2, [b"a", b"b"], [[0, 1, 0, 1, 0], [0, 1, 1, 0, 0]], [(1, 1, 0, 0, 1), (2, 1, 1, 0, 1)]
    )
    weighed = se.Evaluator([], labels=["a"])
    weighed.update({"a"}, {"a"}, weight=0.75)
    assert weighed.to_bytes() == content(
        1, [], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (2, [[0, 0, 3, 0]], [3]), declared=[b"a"]
    )


CONTRADICTIONS = {
    "more examples than keys tell": content(2, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)]),
    "fewer examples than keys tell": content(0, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)]),
    "a key that no example has": content(1, [b"a"], [[0, 0, 0, 1, 0]], [(0, 0, 0, 0, 0), (1, 1, 1, 0, 1)]),
    "keys out of order": content(2, [b"a"], [[0, 0, 1, 1, 0]], [(1, 1, 1, 0, 1), (0, 1, 0, 0, 1)]),
    "a key twice": content(2, [b"a"], [[0, 0, 0, 2, 0]], [(1, 1, 1, 0, 1), (1, 1, 1, 0, 1)]),
    "more hits than predictions": content(1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 0, 1, 0, 1)]),
    "more labels in an example than there are": content(1, [b"a"], [[0, 1, 0, 0, 0]], [(2, 0, 0, 0, 1)]),
    "more cells of a label than examples": content(1, [b"a"], [[1, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)]),
    "marginals that disagree on hits": content(1, [b"a"], [[0, 1, 0, 0, 0]], [(1, 1, 1, 0, 1)]),
    "marginals that disagree on masks": content(1, [b"a"], [[0, 0, 0, 0, 1]], [(0, 0, 0, 0, 1)]),
    "a label that nothing mentions": content(1, [b"a", b"b"], [[0, 0, 0, 1, 0], [0] * 5], [(1, 1, 1, 0, 1)]),
    "labels out of order": content(1, [b"b", b"a"], [[0, 0, 0, 1, 0]] * 2, [(2, 2, 2, 0, 1)]),
    "a label twice": content(1, [b"a", b"a"], [[0, 0, 0, 1, 0]] * 2, [(2, 2, 2, 0, 1)]),
    "a met label that is declared": content(
        1, [b"a"], [[0, 0, 0, 1, 0]] * 2, [(2, 2, 2, 0, 1)], declared=[b"a"]
    ),
    "a label that is no text": content(1, [b"\xff"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)]),
    "a label with a surrogate": content(1, [b"\xed\xa0\x80"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)]),
    "true negatives of a declared label": content(1, [], [[1, 0, 0, 0, 0]], [(0, 0, 0, 0, 1)], declared=[b"a"]),
    "examples past 63 bits": content(2**63, [], [], [(0, 0, 0, 0, 2**63)]),
    "keys past 63 bits": content(
        2**63, [b"a"], [[0, 0, 2**62, 0, 0]], [(0, 0, 0, 0, 2**62), (0, 1, 0, 0, 2**62)]
    ),
    "numbers that agree but for multiples of 2**64": content(
        1, [b"%d" % number for number in range(8)], [[0, 0, 0, 1, 0]] * 8,
        [*((true, pred, 0, 0, 2**62) for true in (0, 4) for pred in (0, 4)), (8, 8, 8, 0, 1)],
    ),
    "cells past 63 bits": content(1, [b"a"], [[0, 0, 0, 2**63, 0]], [(2**63, 2**63, 2**63, 0, 1)]),
    "weights that are the counts": content(
        1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (0, [[0, 0, 1, 0]], [1])
    ),
    "a unit finer than needed": content(1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (3, [[0, 0, 2, 0]], [2])),
    "a unit finer than any weight": content(
        1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (1074 + 65 + 53 + 1, [[0, 0, 1, 0]], [1])
    ),
    "a label heavier than all examples": content(
        1, [b"a", b"b"], [[0, 0, 0, 1, 0]] * 2, [(2, 2, 2, 0, 1)], (0, [[0, 0, 3, 0], [0, 0, 1, 0]], [2])
    ),
    "weight where nothing was counted": content(
        1, [b"a", b"b"], [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]], [(1, 1, 0, 0, 1)], (0, [[1, 1, 0, 0]] * 2, [2])
    ),
    "weights that disagree": content(1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (0, [[0, 0, 2, 0]], [3])),
    "a weight no float64 sum can be": content(
        1, [b"a"], [[0, 0, 0, 1, 0]], [(1, 1, 1, 0, 1)], (0, [[0, 0, 2**2400, 0]], [2**2400])
    ),
}  # fmt: skip


@with_each("kind", CONTRADICTIONS)
def test_impossible_contents_are_refused(kind: str):
    with pytest.raises(se.FormatError):
        se.Evaluator.from_bytes(CONTRADICTIONS[kind])


@settings(max_examples=cases(400))
@given(st.data())
def test_random_contents_are_refused_or_read_exactly_as_written(data: st.DataObject):
    width = data.draw(st.integers(0, 3))
    small = st.integers(0, 2) | st.sampled_from([255, 2**62, 2**63 - 1])
    cells = data.draw(st.lists(st.lists(small, min_size=5, max_size=5), min_size=width, max_size=width))
    fn, fp, tp, masked = (sum(row[outcome] for row in cells) for outcome in range(1, 5))
    # In half of the cases a single key agrees with the cells, so that checks after those of sums are reached.
    key = st.tuples(small, small, small, small, small)
    keys = data.draw(st.lists(key, max_size=3) | st.just([(tp + fn, tp + fp, tp, masked, 1)]))
    keys = sorted(set(keys)) if data.draw(st.booleans()) else keys
    examples = data.draw(st.just(sum(times for *_, times in keys)) | small)
    sums = st.integers(0, 3) | st.just(2**1000)
    weights = data.draw(
        st.none()
        | st.tuples(
            st.integers(0, 3) | st.just(1074),
            st.lists(st.lists(sums, min_size=4, max_size=4), min_size=width, max_size=width),
            st.lists(sums, min_size=len(keys), max_size=len(keys)),
        )
    )
    if max((*(part for row in cells for part in row), *(part for one in keys for part in one)), default=0) >= 2**64:
        return
    refused_or_exact(content(examples, [b"a", b"b", b"c"][:width], cells, keys, weights))


@pytest.mark.parametrize("image", IMAGES)
def test_invalid_metric_names_are_refused_as_damage(image: str):
    body = IMAGES[image]().to_bytes()[:-4]
    name = {"unweighted": b"f1_macro", "weighted": b"mcc_macro"}.get(image, b"f1_micro")
    start = body.index(name)
    for position in range(start, start + len(name)):
        for value in b"aoi_ (=2\x00\xff":
            edited = bytearray(body)
            edited[position] = value
            refused_or_exact(sealed(edited))
    for other in (
        b"",
        b"f1",
        b"nonsense",
        b"F1_macro",
        b"f1_macro()",
        b"f1_macro(zero_division=0)",
        b" f1_macro",
        b"dice_macro",
        b"x" * 1000,
    ):
        edited = body[: start - 1] + varint(len(other)) + other + body[start + len(name) :]
        with pytest.raises(se.FormatError) as caught:
            se.Evaluator.from_bytes(sealed(edited))
        assert len(str(caught.value)) < 500


def test_a_metric_named_twice_is_refused():
    body = se.Evaluator(["f1_macro"]).to_bytes()[:-4]
    at = body.index(b"\x01\x08f1_macro")
    edited = body[:at] + b"\x02\x08f1_macro\x08f1_macro" + body[at + 10 :]
    with pytest.raises(se.FormatError):
        se.Evaluator.from_bytes(sealed(edited))


def test_invalid_thresholds_are_refused():
    body = se.Evaluator([], threshold=0.5).to_bytes()[:-4]
    half = struct.pack("<d", 0.5)
    for wrong in (math.nan, -0.0):
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(sealed(body.replace(half, struct.pack("<d", wrong))))
    signalling = struct.pack("<Q", 0x7FF0000000000001)
    with pytest.raises(se.FormatError):
        se.Evaluator.from_bytes(sealed(body.replace(half, signalling)))
    for right in (math.inf, -math.inf, 0.0, 5e-324):
        assert refused_or_exact(sealed(body.replace(half, struct.pack("<d", right))))


# -- memory -----------------------------------------------------------------------------------------------------------

HEAD = b"\x89SEV\r\n\x01\x00"
GROWING = HEAD + b"\0\0\0\0"
"""A configuration without labels, threshold or metrics."""


def hostile() -> Iterator[tuple[str, bytes]]:
    """Bodies that declare far larger sizes than they have."""
    for size in (2**16, 2**31, 2**40, 2**62, 2**63, 2**64 - 1, 2**69):
        huge = varint(size)
        for tail in (b"", bytes(40), b"\1" * 40):
            yield f"declared labels {size}", HEAD + b"\1\0\0" + huge + tail
            yield f"thresholds {size}", HEAD + b"\0\0\2" + huge + tail
            yield f"metrics {size}", HEAD + b"\0\0\0" + huge + tail
            yield f"length of a metric name {size}", HEAD + b"\0\0\0\1" + huge + tail
            yield f"length of a label {size}", HEAD + b"\1\0\0\1" + huge + tail
            yield f"examples {size}", GROWING + huge + tail
            yield f"met labels {size}", GROWING + b"\1" + huge + tail
            yield f"length of a met label {size}", GROWING + b"\1\1" + huge + tail
            yield f"distinct keys {size}", GROWING + b"\1\0" + bytes(5) + huge + tail
            yield f"scale {size}", GROWING + b"\0\0" + bytes(5) + b"\0" + bytes(5) + b"\1" + huge + tail
            yield (
                f"scale of one {size}",
                GROWING + b"\1\0" + bytes(5) + b"\1" + bytes(4) + b"\1\1" + b"\1" + huge + tail,
            )
            yield f"length of a sum {size}", GROWING + b"\1\0" + bytes(5) + b"\1" + bytes(4) + b"\1\1\1\0" + huge + tail
        for width in (8, 9, 200, 255):
            yield f"width {width}", GROWING + b"\1\1\2a" + bytes([width]) + bytes(30)
    yield "a varint without end", GROWING + b"\xff" * 100_000
    yield "a varint of zeros", GROWING + b"\x80" * 100_000


def large() -> Iterator[tuple[str, bytes]]:
    """Larger bodies in which every byte declares a size."""
    count = 300_000
    some = varint(count)
    columns = bytes(5)
    yield "keys of no bytes", GROWING + b"\0\0" + columns + some + bytes(count)
    yield (
        "keys of no bytes, each once",
        GROWING + some + b"\0" + columns + some + bytes(4) + b"\1" + b"\1" * count + b"\0",
    )
    yield "keys of one byte", GROWING + some + b"\0" + columns + some + (b"\1" + b"\1" * count) * 5 + b"\0"
    much = b"\x08" + (2**62).to_bytes(8, "little")
    yield (
        "keys of no bytes next to a cell of many",
        GROWING + some + b"\1\2a" + bytes(3) + much + b"\0" + some + bytes(4) + b"\1" + b"\1" * count + b"\0",
    )
    yield "empty labels", GROWING + b"\0" + some + bytes(2 * count)
    yield "empty declared labels", HEAD + b"\1\0\0" + some + bytes(2 * count)
    yield "empty metric names", HEAD + b"\0\0\0" + some + bytes(2 * count)
    yield "thresholds", HEAD + b"\0\0\2" + varint(count // 9) + bytes(count)
    yield "one long label", HEAD + b"\1\0\0\1" + varint(2 * count) + b"a" * count + bytes(20)
    yield "one long number", HEAD + b"\1\0\0\1" + varint(2 * count + 1) + b"\7" * count + bytes(20)
    yield "one long metric name", HEAD + b"\0\0\0\1" + some + b"a" * count + bytes(20)
    names = [b"%c%c%c" % (a, b, c) for a in range(65, 91) for b in range(65, 91) for c in range(65, 91)]
    written = varint(len(names)) + b"".join(b"\6" + name for name in names)
    yield "many labels that nothing mentions", GROWING + b"\0" + written + columns + b"\0" + columns + b"\0"
    yield "many declared labels and nothing else", HEAD + b"\1\0\0" + written
    yield "many thresholds", HEAD + b"\0\0\2" + varint(len(names)) + b"".join(b"\6" + n + bytes(8) for n in names)


CASES = {f"{place}: {name}": body for place, make in (("tiny", hostile), ("large", large)) for name, body in make()}


@with_each("kind", sorted(CASES, key=lambda name: (name.startswith("large"), name)))
def test_memory_is_bounded_by_the_size_of_the_bytes(kind: str):
    data = sealed(CASES[kind])
    tracemalloc.start()
    try:
        with pytest.raises(se.FormatError) as caught:
            se.Evaluator.from_bytes(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 500
    assert peak <= 64 * len(data) + 2**20, f"{peak / len(data):.0f} times the input"


def test_bytes_read_earlier_do_not_affect_later_reads():
    made = [
        se.Evaluator(names, labels=labels, unknown=unknown)
        for labels in (["a"], ["ab"], ["a", "b"], ["a", "b", 0], [0, "a"], list(range(130)))
        for unknown in ("error", "add")
        for names in ([], ["f1_micro"], ["f1_micro", "f1_macro"])
    ]
    growing = [se.Evaluator([]) for _ in range(12)]
    for number, ev in enumerate(growing):
        ev.update(set("abcdefgh"[: 1 + number // 2]) | {5} - {5 * (number % 2)}, {"a"})
    images = [ev.to_bytes() for ev in (*made, *growing)]
    draw = random.Random(0)
    for image in draw.choices(images, k=cases(2000)):
        assert se.Evaluator.from_bytes(image).to_bytes() == image
        worse = bytearray(image[:-4])
        worse[draw.randrange(7, len(worse))] = draw.randrange(256)
        refused_or_exact(sealed(worse))


# -- classes and files ------------------------------------------------------------------------------------------------


def test_bytes_of_another_class_are_refused_by_name():
    made = [
        se.Evaluator(["f1_macro"]),
        se.Evaluator([]),
        se.F1(),
        se.F1(average="micro"),
        se.Precision(),
        se.FBeta(beta=2),
    ]
    for one in made:
        for other in made:
            if type(one) is type(other):
                back = type(one).from_bytes(other.to_bytes())
                assert back == other
                assert type(back) is type(other)
                continue
            with pytest.raises(se.FormatError) as caught:
                type(one).from_bytes(other.to_bytes())
            assert type(one).__name__ in str(caught.value)
            assert ("Evaluator" if isinstance(other, se.Evaluator) else other.spec.key) in str(caught.value)
            assert "load" in str(caught.value)


def test_the_base_class_of_metrics_refuses_or_reads_bytes():
    for target in (se.F1(average="micro"), se.Evaluator([])):
        try:
            back = se.Metric.from_bytes(target.to_bytes())
        except se.FormatError:
            continue
        assert type(back) is type(target)
        assert back == target


@pytest.mark.parametrize("entry", decided_entries(), ids=lambda entry: entry.name)
def test_load_gives_the_class_that_was_saved(entry: se.MetricInfo, tmp_path: Path):
    for average in entry.averages:
        target = se.metric(entry.name, average=average, labels=["a", "b"], unknown="ignore", threshold=0.25)
        target.update({"a"}, {"a": 0.5, "b": 0.3}, weight=0.7)
        target.save(tmp_path / "saved")
        back = se.load(tmp_path / "saved")
        assert type(back) is type(target)
        assert back == target
        assert back.spec == target.spec
        assert back.to_bytes() == target.to_bytes()
        assert (tmp_path / "saved").read_bytes() == target.to_bytes()


def test_load_gives_the_evaluator_that_was_saved(tmp_path: Path):
    for make in IMAGES.values():
        make().save(str(tmp_path / "saved"))
        back = se.load(str(tmp_path / "saved"))
        assert type(back) is se.Evaluator
        assert back == make()
        assert back.metrics == make().metrics
        assert back.get() == make().get()


def test_load_refuses_damaged_and_foreign_files(tmp_path: Path):
    path = tmp_path / "saved"
    data = weighted().to_bytes()
    single = bytearray(se.Evaluator([]).to_bytes()[:-4])
    single[7] = 2  # the kind is a single metric, but the bytes name none
    wrong = bytearray(se.F1().to_bytes()[:-4]).replace(b"f1_macro", b"f2_macro")
    for damaged in (b"", data[:-1], data + b"\0", data[1:], pickle.dumps(1), b"text", sealed(single), sealed(wrong)):
        path.write_bytes(damaged)
        with pytest.raises(se.FormatError):
            se.load(path)
    with pytest.raises(FileNotFoundError):
        se.load(tmp_path / "missing")


@pytest.mark.parametrize("call", ["fsync", "replace", "fdopen"])
@pytest.mark.parametrize(
    "error", [OSError(28, "no space left"), KeyboardInterrupt()], ids=["OSError", "KeyboardInterrupt"]
)
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "saved"
    unweighted().save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Path if call == "replace" else os, call, fail)
    with pytest.raises(type(error)):
        weighted().save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["saved"]
    with pytest.raises(FileNotFoundError):
        weighted().save(tmp_path / "no such folder" / "saved")
    weighted().save(path)
    assert se.load(path) == weighted()
    assert [entry.name for entry in tmp_path.iterdir()] == ["saved"]


def test_saving_changes_nothing_and_can_be_repeated(tmp_path: Path):
    ev = weighted()
    before = ev.to_bytes()
    for name in ("saved", "with space \U0001f642", "x" * 200):
        for _ in range(2):
            ev.save(tmp_path / name)
            assert se.load(tmp_path / name) == ev
    assert ev.to_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


def test_saving_to_a_bare_name_writes_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    weighted().save("saved")
    assert se.load("saved") == weighted()
    assert [entry.name for entry in tmp_path.iterdir()] == ["saved"]


# -- extremes that must be read back ----------------------------------------------------------------------------------


def test_labels_weights_and_counts_of_any_size_are_read_back():
    ev = se.Evaluator(["f1_micro"])
    ev.update({0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63) - 1, 2**2000}, {"", "a" * 100_000, "\x00", "\U0010ffff"})
    for weight in (5e-324, 2.2250738585072014e-308, 1.0, 1.7976931348623157e308):
        for _ in range(3):
            ev.update({0}, {"", 1}, weight=weight)
            assert refused_or_exact(ev.to_bytes())
    for _ in range(58):
        ev.merge(ev)
    assert ev.examples == 13 * 2**58
    back = se.Evaluator.from_bytes(ev.to_bytes())
    assert back == ev
    assert back.get() == ev.get()
    assert back.weight == math.inf


def test_images_survive_copies_and_pickles():
    for make in IMAGES.values():
        data = make().to_bytes()
        assert copy.deepcopy(make()).to_bytes() == data
        assert pickle.loads(pickle.dumps(make())).to_bytes() == data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only there are pipes with names")
def test_saving_does_not_replace_a_path_that_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="not a regular file"):
        se.Evaluator().save(tmp_path / "pipe")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()
