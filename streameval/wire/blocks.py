"""Packed columns of integers: written in blocks before the final width is known, and read slice by slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.backend import packing
from streameval.states.weights import trailing_zeros

ROWS = 2**12
"""How many rows of a large table are written or read at once."""

NEVER_WRITTEN = "they hold values in a form that is never written"

REASONS = {  # why bytes are no valid columns, by the code of the kernel
    packing.CUT: "they end within a column of integers",
    packing.OTHERWISE: NEVER_WRITTEN,
    packing.BEYOND: "a count beyond 64 bits",
    packing.WIDE: "integers of more than 8 bytes",
}

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""Integers of one 64-bit word, or of two words in two columns."""

T = TypeVar("T")


class DamageError(FormatError):
    """Bytes that no version wrote; says what is wrong with a field."""


class Blocks:
    """Integers packed in blocks before the final form is known; those of two words lose low bits that are always 0."""

    def __init__(self, least: int = 0, words: int = 1) -> None:
        self._least, self._words, self._union, self.size = least, words, 0, 0
        self._blocks: list[tuple[int, tuple[int, int], bytes]] = []

    def add(self, numbers: Numbers, *, keep: bool = True) -> None:
        """Add the next integers. If ``keep`` is false, they must be passed to `pieces` again."""
        union = _union(numbers)
        self._union |= union
        self.size += len(numbers)
        if keep:
            form = _form(union, self._least, self._words)
            self._blocks.append((len(numbers), form, _packed(numbers, *form)))

    def pieces(self, again: Iterable[Numbers] = ()) -> Iterator[bytes]:
        """The bytes of all integers. Call this once, because it consumes the blocks."""
        form = _form(self._union, self._least, self._words)
        yield bytes(form[: self._words])
        for numbers in again:
            yield _packed(numbers, *form)
        for size, own, raw in drained(self._blocks):
            yield raw if own == form else _packed(_unpacked(raw, size, self._words, *own), *form)


def drained(parts: list[T]) -> Iterator[T]:
    """The parts of a list, which is emptied meanwhile to free their memory."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _union(numbers: Numbers) -> int:
    union = np.bitwise_or.reduce(numbers, axis=0).tolist()
    return union if numbers.ndim == 1 else union[0] | union[1] << 64  # type: ignore[no-any-return]


def _form(union: int, least: int = 0, words: int = 1) -> tuple[int, int]:
    """How many bytes integers take whose bitwise OR is ``union``, and how many low bits, all 0, are left out."""
    zeros = trailing_zeros([union]) or 0 if words > 1 else 0
    return max(least, ((union >> zeros).bit_length() + 7) // 8), zeros


def _packed(numbers: Numbers, width: int, zeros: int = 0) -> bytes:
    if numbers.ndim == 1:
        return packing.pack_columns(numbers.astype(np.int64, copy=False)[:, np.newaxis], width)[1:]
    raw = np.ascontiguousarray(packing.rotated(numbers, -zeros % 128), "<u8").view(np.uint8).reshape(-1, 16)
    return raw[:, :width].tobytes()


def _unpacked(raw: bytes, length: int, words: int, width: int, zeros: int) -> Any:
    if words == 1:
        return packing.unpack_columns(bytes((width,)) + raw, 0, 1 + len(raw), length, 1, width)[0][:, 0]
    return packing.unpack_words(raw, length, width, zeros)


class Packed:
    """Integers in the bytes that `Blocks` wrote; a slice is unpacked to an array."""

    def __init__(self, data: bytes, at: int, length: int, least: int, words: int, width: int, zeros: int) -> None:
        self._data, self._at, self._length, self._form = data, at, length, (words, width, zeros)
        step = max(width, 1)
        raw = np.frombuffer(data, np.uint8, length * width, at)
        # The OR of all lowest and of all highest bytes determines the only form in which they can be written.
        low, high = (int(np.bitwise_or.reduce(raw[place::step])) for place in (0, step - 1))
        union = (low | high << 8 * (step - 1)) << zeros
        if words == 1 and union >> 63:
            raise DamageError(REASONS[packing.BEYOND])
        if union >> 128 or _form(union, least, words) != (width, zeros):
            raise DamageError(NEVER_WRITTEN)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self._length)
        words, width, zeros = self._form
        raw = self._data[self._at + start * width : self._at + stop * width]
        return _unpacked(raw, stop - start, words, width, zeros)
