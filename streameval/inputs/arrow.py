"""Arrow columns of lists of labels, read as codes of the labels they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.columns import Argument
from streameval.inputs.examples import columns_among
from streameval.inputs.lists import check_codes
from streameval.kernel.backend import BACKEND, strings
from streameval.kernel.types import BitRows, IntArray, Lists, Places, UInt8Array
from streameval.schema.text import type_text

_CORNERS = (7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)
"""Steps that transpose a square of bits: in each, the masked bits change places with those ``shift`` places above."""


def arrow_of(series: Any) -> Any | None:
    """The Arrow array of a Series of polars, or None if there is none."""
    try:  # for objects, Arrow would hold addresses
        return None if str(getattr(series, "dtype", "")) == "Object" else series.to_arrow()
    except (ModuleNotFoundError, ValueError):  # pyarrow is absent, or lacks the type: integers of 128 bits
        return None


def bits_of_columns(columns: list[Any]) -> BitRows:
    """Columns of booleans, none of them null, as rows of bits."""
    rows, width = len(columns[0]), (len(columns) + 7) // 8
    data = np.empty((rows, width), np.uint8)
    for byte in range(width):
        squares = np.zeros(((rows + 7) // 8, 8), np.uint8)  # of bits, eight rows of eight columns each
        for place, column in enumerate(columns[8 * byte : 8 * byte + 8]):
            squares[:, place] = _bits_of(column)
        words = squares.view("<u8")
        for shift, corner in _CORNERS:
            exchanged = (words >> shift ^ words) & corner
            words ^= exchanged ^ exchanged << shift
        data[:, byte] = squares.reshape(-1)[:rows]
    return BitRows(data.reshape(-1), 0, 8 * width, rows, len(columns), falls=False)


def _bits_of(column: Any) -> UInt8Array:
    """Booleans packed eight to a byte, without a copy if the first one begins a byte."""
    array = column.combine_chunks() if hasattr(column, "num_chunks") else column
    skipped, first = divmod(array.offset, 8)
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)[skipped : skipped + (first + len(array) + 7) // 8]
    if first:
        data = np.packbits(np.unpackbits(data, bitorder="little")[first:], bitorder="little")
    return data[: (len(array) + 7) // 8]


def rows_of_arrow(array: Any) -> np.ndarray[Any, Any] | BitRows | None:
    """Lists of one length, at least 2, as the rows of an array; None for any other lists."""
    import pyarrow.compute as pc

    lengths, values = pc.min_max(pc.list_value_length(array)).as_py(), pc.list_flatten(array)
    width = lengths["max"] or 0  # None if there are no lists
    if width < 2 or lengths["min"] < width:
        return None
    if values.null_count:
        return np.array(values.to_pylist(), object).reshape(-1, width)
    values = values.combine_chunks() if hasattr(values, "chunks") else values
    if str(values.type) == "bool":
        data = np.frombuffer(values.buffers()[1], np.uint8)
        return BitRows(data, values.offset, width, len(array), width, falls=False)
    flat: np.ndarray[Any, Any] = values.to_numpy(zero_copy_only=False)
    return flat.reshape(-1, width)


def _plain(chunk: Any) -> Any:
    """The lists of a chunk of any list type, nulls as empty ones, as a plain list array."""
    plain, kind = str(chunk.type).startswith(("list<", "large_list<")), str(chunk.type.value_type)
    if plain and not chunk.null_count and not kind.startswith(("null", "run_end_encoded<")):
        return chunk
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    values = pc.list_flatten(chunk)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
    values = pc.run_end_decode(values) if kind.startswith("run") else values
    return pa.LargeListArray.from_arrays(offsets, values.cast("string") if kind == "null" else values)


def lists_of_arrow(array: Any, argument: Argument) -> Lists:
    """The lists of an array or chunked array of lists; some columns may be `IGNORED`."""
    chunks = [_plain(chunk) for chunk in (array.chunks if hasattr(array, "chunks") else [array]) if len(chunk)]
    rows = accumulate(map(len, chunks), initial=0)
    read = [_arrow_lists(chunk, argument, first) for chunk, first in zip(chunks, rows, strict=False)]
    if len(read) == 1:
        return Lists(*read[0])
    *starts, entries = accumulate((len(codes) for _, codes, _ in read), initial=0)
    *firsts, labels = accumulate((len(columns) for _, _, columns in read), initial=0)
    kind = np.int32 if max(entries, labels) < 2**31 else np.int64
    offsets, places, leads = [np.zeros(1, kind)], [np.zeros(0, kind)], [np.zeros(0, np.int64)]
    for (bounds, codes, columns), start, first in zip(read, starts, firsts, strict=True):
        offsets.append((bounds[1:] + kind(start)).astype(kind, copy=False))
        places.append((codes + kind(first)).astype(kind, copy=False))
        leads.append(columns)
    return Lists(np.concatenate(offsets), np.concatenate(places), np.concatenate(leads))


def _arrow_lists(chunk: Any, argument: Argument, first: int) -> tuple[Places, Places, IntArray]:
    """The lists of one chunk: where they begin and end, the codes of their labels, and the column of each code."""
    name, bounds = argument.name, chunk.offsets.to_numpy()
    start, end = int(bounds[0]), int(bounds[-1])
    size, dictionary = len(chunk.values), str(chunk.values.type).startswith("dictionary<")
    # Offsets are narrowed rather than codes widened, since there are more codes than offsets.
    kind: Any = np.int32 if max(size, len(chunk.values.dictionary) if dictionary else 0) < 2**31 else np.int64
    if start < 0 or end > size or (bounds[1:] < bounds[:-1]).any():
        raise InputError(f"{name} is damaged: its offsets do not bound lists within its {size} values")
    offsets = (bounds - start).astype(kind)
    values = chunk.values.slice(start, end - start)
    examples = (part.as_py() for part in chunk)
    if values.null_count:
        columns_among([None], examples, argument, first)  # raises
    try:
        codes, labels = encoded(values, name)
    except NotImplementedError:
        raise LabelError(f"{name} holds lists of {type_text(values.type)}; labels are strings or integers") from None
    columns = np.zeros(len(labels) if len(codes) else 0, np.int64)  # without codes, there may be no columns
    if dictionary and len(codes) and (codes.min() < 0 or codes.max() >= len(labels)):
        raise InputError(f"{name} is damaged: its codes lie outside its dictionary of {len(labels)} labels")
    check_codes(offsets, codes, labels, argument, first)
    if dictionary:
        used = np.flatnonzero(np.bincount(codes.astype(np.int64)))  # a label that no list holds does not occur
        columns[used] = columns_among([labels[code] for code in used.tolist()], examples, argument, first)
    else:
        columns[:] = columns_among(labels, examples, argument, first)
    return offsets, np.ascontiguousarray(codes, kind), columns


def _dictionary_codes(values: Any, name: str) -> tuple[Any, list[Any]]:
    encoding = values if str(values.type).startswith("dictionary<") else values.dictionary_encode()
    with _decoding(name):
        labels = encoding.dictionary.to_pylist()
    if not encoding.indices.null_count:
        return encoding.indices.to_numpy(), labels
    codes = encoding.indices.fill_null(0).to_numpy().astype(np.int64)
    codes[encoding.indices.is_null().to_numpy(zero_copy_only=False)] = -1
    return codes, labels


def codes_of_arrow(column: Any, name: str) -> tuple[IntArray, list[Any], bool]:
    """A column as codes, -1 for null; the value of each code; and whether values are distinct and all occur."""
    parts, values = [np.zeros(0, np.int64)], list[Any]()
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        try:
            codes, distinct = encoded(chunk, name)
        except NotImplementedError:
            slices = "examples are sliced by strings, integers and booleans"
            raise InputError(f"{name} holds {chunk.type}; {slices}") from None
        codes = codes.astype(np.int64)
        if len(chunk) == len(column) and not chunk.null_count and not str(chunk.type).startswith("dictionary<"):
            return codes, distinct, True
        codes[codes >= 0] += len(values)
        parts.append(codes)
        values += distinct
    return np.concatenate(parts), values, False


def encoded(values: Any, name: str) -> tuple[Any, list[Any]]:
    """Arrow values as codes, -1 for null, and the value of each; `NotImplementedError` if Arrow cannot encode them."""
    kind = str(values.type)
    if kind == "string_view":
        try:
            values.validate(full=True)
        except (IndexError, ValueError) as error:
            raise InputError(f"{name} is damaged: {error}") from None
        with suppress(NotImplementedError):  # an old Arrow cannot cast views
            values, kind = values.cast("large_string"), "large_string"
    if kind not in ("string", "large_string") or values.null_count:
        return _dictionary_codes(values, name)
    arrays = _strings(values, name)
    if BACKEND == "numpy" and strings.are_strings(*arrays):  # the twin is slower than Arrow
        return _dictionary_codes(values, name)
    with _decoding(name):
        coded: tuple[Any, list[Any]] | None = strings.string_codes(*arrays)
    if coded is None:
        raise _damaged(name)
    return coded


def _strings(values: Any, name: str) -> tuple[Places, UInt8Array]:
    _, bounds, data = values.buffers()
    kind: Any = np.int32 if str(values.type) == "string" else np.int64
    size = np.dtype(kind).itemsize
    if bounds is None or bounds.size < (values.offset + len(values) + 1) * size:
        if len(values):
            raise _damaged(name)
        return np.zeros(1, kind), np.zeros(0, np.uint8)  # without strings there may be no offsets
    offsets = np.frombuffer(bounds, kind, len(values) + 1, values.offset * size)
    return offsets, np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is damaged: it holds a string that is not UTF-8 ({error})") from None


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is damaged: the offsets of its strings do not bound strings within its data")
