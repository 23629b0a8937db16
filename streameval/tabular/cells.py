"""Columns of strings: labels between separators, and lists as JSON, Python, numpy and Postgres write them."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from contextlib import suppress
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, warn
from streameval.inputs.lists import mapping_of
from streameval.schema.text import quoted

_SEPARATORS = ",;\t|/ "
_LOOKED_AT = 10_000  # distinct cells, which tell how labels are separated
_TOKEN = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,:'"\[\]{}()]+)\s*,?""", re.DOTALL)
_CALL = re.compile(r"(set|frozenset|array|)\((.*?)(?:,\s*dtype=[\w<>]+)?\)", re.DOTALL)
_DIGITS = re.compile("[01]{3,}")
_WORDS = {"true": True, "false": False, "nan": float("nan")}
_MISSING = frozenset(["None", "nan", "NaN", "null", "NULL"])  # what programs write in place of an empty cell


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if twice := [key for key in keys if keys.count(key) > 1] if len(set(keys)) < len(keys) else []:
        raise InputError(f"the key {quoted(twice[0])} occurs twice")
    return dict(pairs)


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise InputError(f"the integer {quoted(digits)[1:-1]} needs more than 64 bits; write it as a string")
    return int(digits)


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not valid JSON; write null")


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)
"""Reads JSON as orjson does, and refuses what orjson would change in silence."""


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is one of strings, encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_written(text: str) -> bool:
    """Whether a cell writes a list or an object out."""
    return text[:1] + text[-1:] in ("[]", "{}")


def list_of(cell: str, sep: str) -> Any:
    """The list or object that a cell writes out, or its parts between separators."""
    text = cell.strip()
    if text.endswith(")") and (call := _CALL.fullmatch(text)) is not None:
        if call[1]:
            return list_of(call[2], sep) if call[2] else []
        with suppress(ValueError, SyntaxError):
            if isinstance(value := ast.literal_eval(text), tuple):
                return [*value]
    if not is_written(text):
        return [part for piece in text.split(sep) if (part := piece.strip())]
    try:
        return STRICT.decode(text)
    except InputError:
        raise
    except ValueError:
        pass
    inside, tokens, at, braces = text[1:-1].rstrip(), list[str](), 0, text[0] == "{"
    while (token := _TOKEN.match(inside, at)) is not None and not (braces and at and inside[at - 1] != ","):
        at = token.end()
        tokens.append(token[1])
    try:
        if at == len(inside):
            return [_value(token, braces=braces) for token in tokens]
        value = ast.literal_eval(text)  # such as pairs
        if isinstance(value, list | dict):
            return value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    raise InputError(f"the cell {quoted(cell)} is no list as JSON, Python, numpy or Postgres write it")


def _value(word: str, *, braces: bool) -> Any:
    """An element of a list of Python or numpy, or of an array of Postgres, whose strings need no quotes."""
    if braces and word[0] not in "'\"" and word != "NULL":
        return word
    value = _WORDS[word.lower()] if word.lower() in _WORDS else ast.literal_eval(word)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"{word} is no label")  # such as the dots with which numpy shortens


def _parts(column: Any, sep: str) -> tuple[Any, Any] | None:
    """Where the parts of each cell begin and end, and all parts; None if some cell writes a list out."""
    text = pc.utf8_trim_whitespace(column)
    first = pc.is_in(pc.utf8_slice_codeunits(text, 0, 1), pa.array(["[", "{"], text.type))
    if pc.any(pc.or_(first, pc.ends_with(text, ")"))).as_py():
        return None
    lists = pc.split_pattern(text, sep)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(pc.list_value_length(lists).to_numpy(), dtype=np.int64)])
    parts = pc.utf8_trim_whitespace(lists.flatten())
    some = pc.not_equal(parts, "").to_numpy(zero_copy_only=False)
    if not some.all():
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(some, dtype=np.int64)])[ends]
        parts = parts.filter(pa.array(some))
    return pa.array(ends), parts


def _joined(column: Any) -> Any:
    """A chunked array of strings in one piece, without codes and nulls."""
    return column.cast(pa.large_string()).fill_null("").combine_chunks()


def lists_of(column: Any, sep: str) -> Any:
    """What the cells of a column hold, as an array of lists if none of them writes a list out."""
    cells, nulls = _joined(column), column.is_null().combine_chunks()
    parts = _parts(cells, sep)
    if parts is not None:
        return pa.LargeListArray.from_arrays(*parts, mask=nulls if column.null_count else None)
    values = {cell: list_of(cell, sep) for cell in pc.unique(cells).to_pylist()}
    return [None if cell is None else values[cell] for cell in column.to_pylist()]


def numbers_of(column: Any, name: str) -> Any:
    """The numbers or booleans that cells hold, none in empty ones."""
    text = pc.utf8_trim_whitespace(_joined(column))
    text = pc.if_else(pc.equal(text, ""), None, text)
    for kind in (pa.float64(), pa.bool_()):
        try:
            return pa.chunked_array([text.cast(kind)])
        except pa.ArrowInvalid:
            pass
    raise InputError(f"column {name!r} must hold numbers, not {quoted(column[0].as_py())}")


def scores_of(column: Any, sep: str, name: str, *, labelled: bool) -> list[Any]:
    """The scores in cells such as ``cat:0.9|dog:0.2``; without labels, where these are in another column."""
    column = _joined(column)
    parts = _parts(column, sep)
    if parts is None:
        return [list_of(cell, sep) for cell in column.to_pylist()]
    bounds, values = parts[0].to_pylist(), parts[1]
    rows = list(starmap(slice, pairwise(bounds)))
    try:
        if not labelled:
            numbers = values.cast(pa.float64()).to_pylist()
            return [numbers[row] for row in rows]
        pairs = pc.split_pattern(values, ":", max_splits=1, reverse=True)
        labels, numbers = (pc.utf8_trim_whitespace(pc.list_element(pairs, place)) for place in (0, 1))
        encoded, numbers = labels.dictionary_encode(), numbers.cast(pa.float64()).to_pylist()
    except pa.ArrowInvalid:
        like = f"cat:0.9{sep}dog:0.2" if labelled else f"0.9{sep}0.2"
        raise InputError(f"column {name!r} must hold scores like {like}, not {quoted(column[0].as_py())}") from None
    labels = [*map(encoded.dictionary.to_pylist().__getitem__, encoded.indices.to_pylist())]
    return [mapping_of(zip(labels[row], numbers[row], strict=True), f"column {name!r}") for row in rows]


def check_cells(column: Any, sep: str, name: str, *, chosen: bool) -> None:
    """Warn of cells that are probably misread; a space is taken for a separator only if nobody chose another."""
    cells = [cell for cell in pc.unique(column).to_pylist()[:_LOOKED_AT] if cell and not is_written(cell.strip())]
    missing = sorted(_MISSING.intersection(part.strip() for cell in cells for part in cell.split(sep)))
    if missing:
        warn(f"column {name!r} holds the label {missing[0]!r}, which may stand for no label; leave these cells empty")
    if not chosen and len(cells) > 1 and len({*map(len, cells)}) == 1 and all(map(_DIGITS.fullmatch, cells)):
        raise InputError(
            f"column {name!r} holds cells such as {quoted(cells[0])}, which may be rows of indicators; separate "
            f"these, or if they are labels, give sep={sep!r}"
        )
    for other in "" if any(sep in cell for cell in cells) else _SEPARATORS[: -1 if chosen else None]:
        pieces = Counter(piece for cell in cells for part in {*cell.split(other)} if (piece := part.strip()))
        many = next((cell for cell in cells if other in cell), None)
        if many is not None and sum(count > 1 for count in pieces.values()) * 2 > len(pieces):
            warn(
                f"no cell of column {name!r} holds the separator {sep!r}, but some hold {other!r}, such as "
                f"{quoted(many)}; if labels stand between these, give sep={other!r}"
            )
            return
