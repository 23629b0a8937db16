"""Each value has only one form as bytes: only the bytes that would be written are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.schema.labels import Label
from streameval.wire.blocks import Blocks
from streameval.wire.envelope import sized
from streameval.wire.fields import Cached, Sink, Source, ascending_rows, varint, zigzag
from streameval.wire.values import FLOAT, SPAN, TUPLE, put_value, take_value
from tests.support.each import with_each
from tests.support.effort import cases

Put = Callable[[Sink, Any], None]
PIECES: dict[str, tuple[Callable[[Source], Any], Put]] = {
    "varint": (Source.varint, Sink.varint),
    "zigzag": (Source.integer_of_64_bits, lambda result, value: result.append(zigzag(value))),
    "label": (Source.label, Sink.label),
    "labels": (Source.labels, Sink.labels),
    "integer": (Source.integer, Sink.integer),
    "column of 0": (lambda source: source.column(0), Sink.column),
    "column of 3": (lambda source: source.column(3), Sink.column),
    "column of 3, a byte at least": (
        lambda source: source.column(3, least=1),
        lambda result, value: result.column(value, least=1),
    ),
    "2 columns of 3": (lambda source: source.columns(3, 2), Sink.columns),
    "packed column of 2": (lambda source: source.packed(2)[:], lambda result, value: result.append(packed(value))),
    "wide packed column of 2": (
        lambda source: source.packed(2, words=2)[:],
        lambda result, value: result.append(packed(value, words=2)),
    ),
}


def packed(column: np.ndarray, **form: int) -> Iterator[bytes]:
    blocks = Blocks(**form)
    blocks.add(column)
    return blocks.pieces()


@pytest.mark.parametrize("piece", PIECES)
@settings(max_examples=cases(400))
@given(data=st.lists(st.sampled_from((0, 1, 2, 3, 4, 5, 8, 127, 128, 255)) | st.integers(0, 255), max_size=30))
def test_bytes_are_refused_or_equal_to_what_would_be_written(piece: str, data: list[int]):
    take, put = PIECES[piece]
    source = Source(bytes(data), 0)
    try:
        value = take(source)
    except (se.FormatError, UnicodeDecodeError):
        return
    result = Sink()
    put(result, value)
    assert b"".join(result.pieces()) == bytes(data)[: source.place()]


@pytest.mark.parametrize(
    ("piece", "data"),
    [
        ("varint", b"\x80\0"),
        ("zigzag", b"\x81\0"),
        ("label", b"\1"),
        ("label", b"\3\x80"),
        ("label", b"\5\1\0"),
        ("label", b"\x81\0"),
        ("labels", b"\1\1"),
        ("labels", b"\1\3\x80"),
        ("labels", b"\1\5\xff\xff"),
        ("labels", b"\1\x82\0a"),
        ("labels", b"\1" + varint(2 * 70 + 1) + b"\1" + bytes(69)),
        ("integer", b"\1\0"),
        ("integer", b"\2\1\0"),
        ("column of 0", b"\1"),
        ("column of 3", b"\1\0\0\0"),
        ("column of 3", b"\2\1\0\1\0\1\0"),
        ("column of 3", b"\3" + b"\1\1\0" * 3),
        ("column of 3", b"\x08" + b"\1\0\0\0\0\0\0\0" * 3),
        ("column of 3, a byte at least", b"\0"),
        ("column of 3, a byte at least", b"\2" + b"\0\0" * 3),
        ("packed column of 2", b"\1\0\0"),
        ("wide packed column of 2", b"\1\0\2\4"),
    ],
)
def test_a_value_in_another_form_is_refused(piece: str, data: bytes):
    with pytest.raises(se.FormatError, match="in a form that is never written"):
        PIECES[piece][0](Source(data, 0))


@pytest.mark.parametrize(
    ("piece", "data"), [("varint", b"\xff" * 10 + b"\1"), ("packed column of 2", b"\x08" + b"\xff" * 16)]
)
def test_an_integer_of_more_than_64_bits_is_refused(piece: str, data: bytes):
    with pytest.raises(se.FormatError, match="64 bits"):
        PIECES[piece][0](Source(data, 0))


def test_ascending_rows_is_true_only_for_rows_in_order_without_repeats():
    for size in range(4):
        for rows in product([(0, 0), (0, 1), (1, 0)], repeat=size):
            assert ascending_rows(np.array(rows).reshape(-1, 2)) == (list(rows) == sorted(set(rows)))


@settings(max_examples=cases(100))
@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 300), min_size=1, max_size=5),
    st.integers(0, 64),
    st.integers(0, 1),
)
def test_columns_of_every_width_are_read_back(values: list[int], shift: int, least: int):
    column = np.array([value >> shift for value in values], np.int64)
    for order in (column, column[::-1]):
        result = Sink()
        result.column(order, least)
        source = Source(b"".join(result.pieces()), 0)
        assert source.column(len(values), least).tolist() == order.tolist()
        assert source.left() == 0


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (1.5, TUPLE),
        (date(2024, 1, 1), FLOAT),
        (np.datetime64(1, "ns"), TUPLE),
        (pd.Timestamp(1), SPAN),
        (pd.Timedelta(1), SPAN),
        (Decimal(1), SPAN),
    ],
)
def test_values_that_cannot_be_read_back_are_not_written(value: object, top: int):
    with pytest.raises(se.InputError, match="cannot be saved"):
        put_value(Sink(), value, top)


@with_each("kind", [7, 8, 9, SPAN])
def test_times_as_strings_are_refused(kind: int):
    result = Sink()
    result.byte(kind)
    result.label("12")
    with pytest.raises(se.FormatError, match="contradict"):
        take_value(Source(b"".join(result.pieces()), 0), SPAN)


@with_each("label", ["", "a", "é" * 40, "a" * 63, "a" * 64, 0, -1, 127, 128, -128, -129, 2**70, -(2**700)])
def test_labels_of_every_size_are_read_back(label: Label):
    result = Sink()
    result.label(label)
    again = Sink()
    again.labels([label])
    assert b"".join(again.pieces()) == b"\1" + b"".join(result.pieces())
    assert Source(b"".join(result.pieces()), 0).label() == label
    assert Source(b"".join(again.pieces()), 0).labels() == [label]


def test_content_that_changes_between_two_passes_of_writing_is_refused():
    lengths = iter([(2, 3), (2, 4)])
    with pytest.raises(se.InputError, match="another thread counts meanwhile; let one thread count and save"):
        deque(sized(lambda: map(bytes, next(lengths))))


def test_only_a_few_small_values_are_cached():
    read: list[str | int] = []

    def label(source: Source) -> str | int:
        read.append(source.label())
        return read[-1]

    stored = Cached(label)

    def take(value: str) -> None:
        result = Sink()
        result.label(value)
        assert stored.take(Source(b"".join(result.pieces()), 0)) == value

    for value in ("a", "b", "ab", "a", "b", "ab"):
        take(value)
    assert read == ["a", "b", "ab"]
    for _ in range(2):
        take("c" * 2**16)
    assert len(read) == 5
    for number in range(20):
        take(f"{number}")
    take("a")
    assert read[-1] == "a"
    assert len(stored._known) == 8
