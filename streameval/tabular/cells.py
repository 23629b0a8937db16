"""Cells of strings that hold labels or scores: lists that they write out, and parts between separators."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, option, warn, wording
from streameval.evaluation.core import config_of
from streameval.inputs.lists import mapping_of
from streameval.schema.text import quoted
from streameval.tabular.columns import SEPARATORS, Columns

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError:
    raise DependencyError("reading tables needs pyarrow, which is not installed; pip install pyarrow") from None

_NO_LITERAL = (ValueError, SyntaxError, MemoryError, RecursionError)
_LITERALS = ("(", ")"), ('"', '"')  # the ends of tuples, and of strings that may hold a list
_SAMPLE = 10_000  # distinct cells at most, by which the separator is judged
_TOKEN = re.compile(
    r"""\s*(np\.\w+\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,:'"\[\]{}()]+)(?(1)\))\s*,?""", re.DOTALL
)
_SCALAR = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\bnp\.(?:(?:float|u?int)\d+\(([^()'"]*)\)|(True|False)_)"""
)
_CALL = re.compile(
    r"(?:set|frozenset|dict_keys|dict_values|deque|Counter|array|tensor)\(([\[{(].*[\]})])?(?:,\s*\w+=['\w<>.]+)*\)",
    re.DOTALL,
)
_OBJECT = re.compile(r"\[.*\]|\{.*\}|\w+\((?:<class '\w+'>, )?[\[{].*\)", re.DOTALL)  # or OrderedDict([...])
_BARE = re.compile(r"(?!(?:none|null|nan|inf|infinity|true|false)$)[^\W\d][^,'\"\[\]{}()]*", re.IGNORECASE)
_OPEN = re.compile(r"[\[{][^]})]+")  # a list that was cut off; a single bracket is a label
_WRITTEN = re.compile(rf"\s*(?:\(.*\)|{_OBJECT.pattern}|{_CALL.pattern})\s*", re.DOTALL)
_FLAGS = {"true", "false"}, {"0.0", "1.0"}
_SCORE = re.compile(r":\s*[+-]?[\d.]+(e[+-]?\d+)?(?=\s*([|,;/+&\s]|$))", re.IGNORECASE)
_DIGITS = re.compile("[01]{3,}")
_NUMBER, _FLAG = r"^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$", "^(true|false|0|1)$"  # as Arrow casts
_WORDS = {"true": True, "false": False, "np.true_": True, "np.false_": False, "nan": float("nan")}
_MISSING = frozenset(["None", "none", "nan", "NaN", "NA", "N/A", "n/a", "null", "NULL", r"\N", "-"])
"""What programs write in place of an empty cell."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if twice := [key for key in keys if keys.count(key) > 1] if len(set(keys)) < len(keys) else []:
        raise InputError(f"the key {quoted(twice[0])} occurs twice")
    return dict(pairs)


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise InputError(f"the integer {quoted(digits)[1:-1]} needs more than 64 bits; write it as a string")
    return int(digits)


def _float(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise InputError(f"no float64 is as large as the number {quoted(digits)[1:-1]}; scale it first")
    return number


NO_JSON = "{} is not valid JSON; write null where a truth is unknown, leave out a label without a score"


def _constant(word: str) -> Any:
    raise ValueError(NO_JSON.format(word))


class _Strict(json.JSONDecoder):
    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            return super().raw_decode(s, idx)
        except RecursionError:
            raise InputError("a list or an object is nested too deeply") from None


STRICT = _Strict(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
"""Reads JSON as orjson does, and refuses what orjson would change in silence."""


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is a string type, or a dictionary of strings."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def list_of(cell: str, sep: str) -> Any:
    """The list or object that a cell writes out, or its parts between separators."""
    text = cell.strip()
    if "np." in text and text[0] in "[({":  # np.float64(0.5), as Python prints numbers of numpy in lists
        text = _SCALAR.sub(lambda match: match[1] or match[2] or match[3], text)
    if (call := _CALL.fullmatch(text)) is not None:
        return list_of(call[1], sep) if call[1] else []
    if (text[:1], text[-1:]) in _LITERALS:
        with suppress(*_NO_LITERAL):
            if isinstance(value := ast.literal_eval(text), tuple) and text[0] == "(":
                return [*value]
            if isinstance(value, str) and _OBJECT.fullmatch(value):  # a list that was converted to text twice
                return list_of(value, sep)
    if not (is_open := _OPEN.fullmatch(text)) and not _OBJECT.fullmatch(text):
        return [part for piece in text.split(sep) if (part := piece.strip())]
    try:
        return STRICT.decode(text) or []  # {} is an empty list of Postgres
    except InputError:
        raise
    except ValueError:
        pass
    inside, tokens, at, braces = text[1:-1].rstrip(), list[str](), 0, text[0] == "{"
    while (token := _TOKEN.match(inside, at)) is not None and not (braces and at and inside[at - 1] != ","):
        at = token.end()
        tokens.append(token[2])
    try:
        if braces and at == len(inside) and len(tokens) > 1 and {*tokens} <= {"t", "f"}:  # booleans of Postgres
            return [{"t": True, "f": False}[word] for word in tokens]
        if at == len(inside) and not is_open:
            return [_value(token, braces=braces) for token in tokens]
        value = ast.literal_eval(text)  # lists in lists, such as pairs
        if isinstance(value, list | dict):
            return value
    except _NO_LITERAL:
        pass
    # Java, Spark and DuckDB write lists without quotes: a comma may be part of a label, unless ``sep`` is a comma.
    parts = [*map(str.strip, inside.split(","))]
    are_bare = text[0] == "[" and not is_open and all(map(_BARE.fullmatch, parts))
    if are_bare and sep == ",":
        return parts
    advice = f"; if commas separate its labels, give {option('sep', ',')}" * are_bare
    raise InputError(f"the cell {quoted(cell)} is not a list as JSON, Python, numpy or Postgres write it{advice}")


def _value(word: str, *, braces: bool) -> Any:
    """An element of a list of Python or numpy, or of an array of Postgres, whose strings need no quotes."""
    if braces and word[0] not in "'\"" and word != "NULL":
        return word
    value = _WORDS[word.lower()] if word.lower() in _WORDS else ast.literal_eval(word)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"{word} is no label")  # such as "..." in arrays that numpy shortened


def _joined(column: Any) -> Any:
    """A chunked array of strings in one piece, without codes and nulls."""
    return column.cast(pa.large_string()).fill_null("").combine_chunks()


def lists_of(column: Any, sep: str) -> Any:
    """The parts of each cell of a column: an Arrow array of lists, or a Python list if a cell spells out a list."""
    cells, nulls = pc.utf8_trim_whitespace(_joined(column)), column.is_null().combine_chunks()
    first = pc.is_in(pc.utf8_slice_codeunits(cells, 0, 1), pa.array(["[", "{", '"'], cells.type))
    if pc.any(pc.or_(first, pc.ends_with(cells, ")"))).as_py():
        values = {cell: list_of(cell, sep) for cell in pc.unique(column).to_pylist() if cell is not None}
        return [None if cell is None else values[cell] for cell in column.to_pylist()]
    lists = pc.split_pattern(cells, sep)
    ends, parts = lists.offsets.to_numpy(), pc.utf8_trim_whitespace(lists.flatten())
    some = pc.not_equal(parts, "").to_numpy(zero_copy_only=False)
    if not some.all():
        ends, parts = np.concatenate([[0], np.cumsum(some)])[ends], parts.filter(pa.array(some))
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), parts, mask=nulls if column.null_count else None)


def numbers_of(column: Any, name: str, *, flags: bool = True) -> Any:
    """Cells of text as numbers, or as booleans if ``flags`` allows them; an empty cell becomes null."""
    text = pc.utf8_trim_whitespace(_joined(column))
    text = pc.if_else(pc.equal(text, ""), None, text)
    kinds = [(pa.float64(), _NUMBER), (pa.bool_(), _FLAG)][: 1 + flags]
    for kind, _ in kinds:
        with suppress(pa.ArrowInvalid):
            values = text.cast(kind)
            sizes = np.abs(values.to_numpy(zero_copy_only=False)) if kind == "double" else np.zeros(0)
            for row in np.flatnonzero(sizes >= 2.0**53).tolist():
                _check_exact(text[row].as_py(), name, f" (row {row} of the batch)")
            return pa.chunked_array([values])
    wrong = max(pc.index(pc.match_substring_regex(text, form, ignore_case=True), False).as_py() for _, form in kinds)
    cell = column[wrong].as_py()
    what = "0 and 1" if flags else "numbers with a decimal point" if "," in cell else "numbers"
    advice = "; write 1 for yes and 0 for no" * (flags and cell.isalpha() and cell.lower() not in _WORDS)
    raise InputError(f"column {name!r} must hold {what}, not {quoted(cell)}{advice} (row {wrong} of the batch)")


def _check_exact(cell: str, name: str, place: str = "") -> None:
    """Raise for an integer that no float64 equals, as for files of other formats, and for a number beyond float64."""
    number, (whole, _, fraction) = float(cell), cell.partition(".")
    digits = "" if fraction.strip("0") else whole.lstrip("+-0")
    if "n" not in cell.lower() and (math.isinf(number) or (digits.isdigit() and int(digits) != abs(number))):
        raise InputError(f"column {name!r}{place} is {cell}, and no float64 equals it; round or scale it first")


def scores_of(cell: str, sep: str, name: str, *, labelled: bool) -> Any:
    """The scores in a cell such as ``cat:0.9|dog:0.2``, or ``0.9|0.2`` if another column has the labels."""
    parts, text = list_of(cell, sep), cell.strip()
    is_array = text[:1] == "{" and isinstance(parts, list)  # an array of Postgres
    if _OBJECT.fullmatch(text) and not is_array:
        return parts
    try:
        if is_array or not labelled:
            return [_score(part, name) for part in parts]
        pairs = [(label.strip(), _score(score, name)) for label, score in (part.rsplit(":", 1) for part in parts)]
    except InputError:
        raise
    except ValueError:
        like = f"cat:0.9{sep}dog:0.2" if labelled else f"0.9{sep}0.2"
        advice = "if each row is of one label, give " + wording("example= and label=", "--example and --label")
        raise InputError(f"column {name!r} must hold scores like {like}, not {quoted(cell)}; {advice}") from None
    return mapping_of(pairs, f"column {name!r}")


def _score(text: str, name: str) -> float:
    if "_" in text or not text.isascii():  # float() reads "1_000", and digits of all scripts
        raise ValueError(text)
    if abs(number := float(text)) >= 2.0**53:
        _check_exact(text.strip(), name)
    return number


def check_cells(table: Any, columns: Columns, sep: str | None, state: Any) -> None:
    """Warn of, or refuse, cells whose labels are probably misread, in the first rows that a state counts."""
    rows = [row for row in table if isinstance(row, Mapping)] if isinstance(table, list) else None
    if state.examples or (rows is not None and (not rows or columns.sep is None)):
        return
    names = table.column_names if rows is None else [*rows[0]]
    labels = config_of(state).rows == "labels"  # the user said that lists hold labels
    chosen, sep = columns.sep is not None, columns.sep or sep  # ``sep`` is the default of the format
    roles = ("actual", "predicted", "mask", "scores")
    single = {name: role for name, role in columns.roles if role in roles and columns.wide(role, names) is None}
    wide = columns.labels_in(names)
    strings = dict[str, list[str]]()
    for name, role in single.items() if sep is not None else ():
        cells: list[Any] = []
        if rows is not None:
            cells = [*dict.fromkeys(cell for row in rows if isinstance(cell := row.get(name), str))]
        elif name in names and is_string(table.column(name).type):
            cells = pc.unique(table.column(name)).to_pylist()
        strings[name] = [cell for cell in cells[:_SAMPLE] if cell and not _WRITTEN.fullmatch(cell)]
        if role == "scores":
            bare = {cell: _SCORE.sub("", cell) for cell in strings[name]}
            strings[name] = [*dict.fromkeys(labels for cell, labels in bare.items() if labels != cell)]
    whole = {*chain(*strings.values())}
    for name, cells in strings.items():
        title = columns.describe(f"column {name!r}")
        if single[name] != "scores":
            _check_labels(cells, str(sep), title, wide, labels, chosen=chosen)
        _check_separator(cells, whole, str(sep), title, chosen=chosen)


def _check_labels(cells: list[str], sep: str, title: str, wide: set[str], labels: bool, *, chosen: bool) -> None:
    """Warn of, or refuse, cells of one column that are probably no labels."""
    if wide and cells and {"0", "1"}.issuperset(cells) and not wide.issuperset(cells):
        name = title.split("'")[1]
        like = next((f" such as {name.removesuffix(label) + '*'!r}" for label in wide if name.endswith(label)), "")
        only = f"{title} holds only 0 and 1, but the labels have columns of their own"
        raise InputError(f"{only}: name these on both sides, as by a pattern{like}")
    missing = sorted(_MISSING.intersection(part.strip() for cell in cells for part in cell.split(sep)))
    if missing:
        warn(f"{title} holds the label {missing[0]!r}, which may stand for no label; leave these cells empty")
    are_alike = len(cells) > 1 and len({*map(len, cells)}) == 1
    if are_alike and not (chosen or labels) and all(map(_DIGITS.fullmatch, cells)):
        rows = f"{title} holds cells such as {quoted(cells[0])}, which may be rows of indicators"
        raise InputError(f"{rows}; separate these, or if they are labels, give {option('sep', sep)}")
    parts = [cell.lower().split(sep) for cell in cells]
    if cells and not labels and any({*flat} <= kind for flat in [[*chain(*parts)]] for kind in _FLAGS):
        write = f"1 for yes and 0 for no, and give {option('rows', 'indicator')}"
        if max(map(len, parts)) > 1:
            raise InputError(f"{title} holds rows of indicators; write {quoted(cells[0])} with {write}")
        only = " and ".join(map(quoted, cells[:2]))
        warn(f"{title} holds only {only}, read as labels; if they say whether one label is true, write {write}")


def _check_separator(cells: list[str], whole: set[str], sep: str, title: str, *, chosen: bool) -> None:
    """Warn if the cells of one column, without scores, seem to have another separator; ``whole``: those of all."""
    # A space is tried only if the user chose no separator.
    for other in "" if any(sep in cell for cell in cells) else SEPARATORS[: -1 if chosen else None]:
        if other in "+&:#" and any("" in cell.split(other) for cell in cells):  # labels such as "A+" and "C++"
            continue
        split = {cell: {*map(str.strip, cell.split(other))} - {""} for cell in cells}
        pieces = Counter(chain.from_iterable(split.values()))
        many = next((cell for cell in cells if other in cell), None)
        is_label = other in ",;" and any(whole & split[cell] for cell in cells if other in cell)
        if many is not None and (is_label or sum(count > 1 for count in pieces.values()) * 2 > len(pieces)):
            some = f"no cell of {title} holds the separator {sep!r}, but some hold {other!r}, such as {quoted(many)}"
            marks = [piece for piece in pieces if other == " " and not any(map(str.isalnum, piece))]  # "&" in "a & b"
            warn(f"{some}; if this separates labels, give {option('sep', f' {marks[0]} ' if marks else other)}")
            return
