"""Columns of Arrow tables, in the forms that ``update_many`` reads; among them cells of strings that hold labels."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Set as AbstractSet
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, LabelError, warn
from streameval.evaluation.core import config_of
from streameval.inputs.lists import mapping_of
from streameval.kernel import backend
from streameval.schema.text import number_of, quoted, type_text
from streameval.tabular.columns import SEPARATORS, Columns

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError:
    raise DependencyError("reading tables needs pyarrow, which is not installed; pip install pyarrow") from None

ArrowError = pa.ArrowException
_NO_LITERAL = (ValueError, SyntaxError, MemoryError, RecursionError)
_NO_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError)

_LOOKED_AT = 10_000  # distinct cells, which tell how labels are separated
_TOKEN = re.compile(
    r"""\s*(np\.\w+\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,:'"\[\]{}()]+)(?(1)\))\s*,?""", re.DOTALL
)
_CALL = re.compile(
    r"(?:set|frozenset|dict_keys|dict_values|deque|Counter|array|tensor)\(([\[{(].*[\]})])?(?:,\s*\w+=['\w<>.]+)*\)",
    re.DOTALL,
)
_OBJECT = re.compile(r"\[.*\]|\{.*\}|\w+\((?:<class '\w+'>, )?[\[{].*\)", re.DOTALL)  # or a type of its own
_WRITTEN = re.compile(rf"\s*(?:\(.*\)|{_OBJECT.pattern}|{_CALL.pattern})\s*", re.DOTALL)
_FLAGS = {"true", "false"}, {"0.0", "1.0"}
_DIGITS = re.compile("[01]{3,}")
_NUMBER, _FLAG = r"^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$", "^(true|false|0|1)$"  # which Arrow reads
_WORDS = {"true": True, "false": False, "np.true_": True, "np.false_": False, "nan": float("nan")}
_MISSING = frozenset(["None", "nan", "NaN", "null", "NULL", r"\N"])  # what programs write in place of an empty cell


def read_table(table: Any, columns: Columns) -> dict[str, Any]:
    """The arguments of ``update_many`` that say what a table of `table_of` holds; none if it has no rows."""
    arguments: dict[str, Any] = {"y_true": _labels(table, "actual", columns), "null": columns.null}
    if columns.scores is not None:
        arguments["y_pred"] = _scores(table, columns)
    elif columns.predicted is not None:
        arguments["y_pred"] = _labels(table, "predicted", columns)
    if columns.mask is not None:
        arguments["mask"] = _labels(table, "mask", columns)
    if columns.weight is not None:
        arguments["weights"] = _numbers(table.column(columns.weight), columns.weight, columns.sep)
    for name in columns.by:
        kind = table.column(name).type
        if any(is_wrong(kind) for is_wrong in (pa.types.is_nested, pa.types.is_temporal, pa.types.is_decimal)):
            advice = "examples are sliced by strings, integers and booleans: cast it"
            raise InputError(f"column {name!r} (by) holds {type_text(kind)}; {advice}")
    if columns.by:
        arguments["where"] = {name: table.column(name) for name in columns.by}
    return arguments if table.num_rows else {}


def table_of(batch: object, columns: Columns) -> Any:
    """The columns that matter of a record batch, a table or a data frame, as Arrow; of a schema, a table of no rows.

    Of a data frame whose objects Arrow cannot hold as they are, a list of its rows.
    """
    table = _table_of(batch, columns)
    if isinstance(table, list):
        return table
    for name, role in columns.roles:
        outer, *path = name.split(".")
        if path and "*" not in name and name not in table.column_names and outer in table.column_names:
            try:
                table = table.append_column(name, pc.struct_field(table.column(outer), path))
            except (pa.ArrowInvalid, NotImplementedError):
                raise columns.missing(name, role, table.column_names) from None
    return table


def _table_of(batch: Any, columns: Columns) -> Any:
    if isinstance(batch, pa.Schema):  # its own ``empty_table`` makes no lists of encoded views, as polars has them
        batch = pa.Table.from_arrays([pa.nulls(0, field.type) for field in batch], schema=batch)
    if isinstance(batch, pa.RecordBatch | pa.Table):
        columns.check_names(batch.schema.names)
        return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    frame = batch
    if not hasattr(frame, "columns") or not (hasattr(frame, "iloc") or hasattr(frame, "to_arrow")):
        raise InputError(f"a batch must be an Arrow record batch or table, or a data frame, not {quoted(batch)}")
    names = columns.check_names(frame.columns)
    if not hasattr(frame, "iloc"):  # polars
        return frame.select(names).to_arrow()
    try:
        return _table_of_pandas(frame[names], columns)
    except _NO_ARROW as error:
        raise InputError(f"the data frame has a column that is not an Arrow type: {error}; cast it") from None


def _table_of_pandas(frame: Any, columns: Columns) -> Any:
    """A data frame as Arrow, or as rows. Lists of strings are coded at once: Arrow would look at each string twice."""
    lists, objects = dict[str, Any](), dict[str, list[Any]]()
    names = {name for name, role in columns.roles if role in ("actual", "predicted", "scores", "mask")}
    names |= {name.partition(".")[0] for name, _ in columns.roles if name not in frame}
    for name in [name for name in names.intersection(frame.columns) if frame[name].dtype == object]:
        values = frame[name].tolist()
        if (coded := backend.strings.listed_codes(values)) is not None:
            ends, codes, strings = coded
            labels = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(strings, pa.large_string()))
            lists[name] = pa.LargeListArray.from_arrays(pa.array(ends), labels)
        elif _is_plain(values):
            with suppress(*_NO_ARROW):
                lists[name] = pa.array(values, from_pandas=True)
        if name not in lists:
            objects[name] = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    plain = pa.Table.from_pandas(frame.drop(columns=[*lists, *objects]), preserve_index=False)
    table = pa.Table.from_arrays([*lists.values(), *plain.columns], [*lists, *plain.column_names])
    if not objects:
        return table
    cells = [dict(zip(objects, row, strict=True)) for row in zip(*objects.values(), strict=True)]
    return [{**row, **own} for row, own in zip(rows_of(table) or [{}] * len(frame), cells, strict=True)]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as mappings, and what is a map in it too, of which Arrow makes a list of pairs."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for name in [field.name for field in table.schema if pa.types.is_map(field.type)]:
        for row in rows:
            row[name] = None if row[name] is None else mapping_of(row[name], f"column {name!r}")
    return rows


def _is_plain(values: list[Any]) -> bool:
    """Whether Arrow holds objects as they are.

    It would give each mapping the keys of all, with nulls, which stand for labels whose truth is unknown; put labels of
    a set in an order, which says that they are no row; and make 1.0 of 1 and of True where another list has a float.
    """
    if any(issubclass(kind, Mapping | AbstractSet) for kind in set(map(type, values))):
        return False
    arrays = {value.dtype.char for value in values if isinstance(value, np.ndarray)} - {"O"}
    lists = (value for value in values if isinstance(value, list | tuple) or getattr(value, "dtype", None) == "O")
    members = set(map(type, chain.from_iterable(lists))) - {type(None)}
    return len(arrays) + len(members) < 2 and members.isdisjoint((list, tuple, dict))


def _labels(table: Any, role: str, columns: Columns) -> Any:
    """What names the labels of rows, as ``update_many`` reads it."""
    wide = columns.wide(role, table.column_names)
    if wide is not None:
        return _wide(table, wide, columns.sep, flags=True)
    name: str = getattr(columns, role)
    column = table.column(name)
    kind, advice = column.type, "give a list of labels in every row"
    if is_string(kind):
        if columns.sep is not None:
            return lists_of(column, columns.sep)
        advice = f"split them with sep=',' or another separator, or {advice}"
    elif (pa.types.is_nested(kind) and not _is_deep(kind)) or pa.types.is_null(kind):
        inner = kind.value_type if "list" in str(kind).partition("<")[0] else None
        if inner is None or not pa.types.is_binary(inner):
            return column
        advice = "labels are strings or integers: cast them"
        raise LabelError(f"column {name!r} holds lists of {type_text(inner)}; {advice}")
    else:
        advice += ", name a column for each label by a pattern such as 'true_*', or give example= and label="
    raise InputError(f"column {name!r} holds {type_text(kind)}, not lists of labels; {advice}")


def _is_deep(kind: Any) -> bool:
    """Whether a struct has lists or structs in it, such as a vector of Spark: it has no value for each label."""
    return pa.types.is_struct(kind) and any(pa.types.is_nested(field.type) for field in kind)


def _wide(table: Any, labels: dict[str, str], sep: str | None, *, flags: bool) -> Any:
    """Columns of values as a table of theirs, named by labels."""
    columns = []
    for name in labels:
        column = table.column(name)
        if is_string(column.type) and sep is None:
            kind = "0 and 1" if flags else "numbers"
            raise InputError(f"column {name!r} holds strings; convert them to {kind}")
        columns.append(numbers_of(column, name, flags=flags) if is_string(column.type) else column)
    return pa.table(columns, [*labels.values()])


def _numbers(column: Any, name: str, sep: str | None) -> Any:
    if is_string(column.type) and sep is not None:
        column = numbers_of(column, name, flags=False)
    column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"column {name!r} holds {type_text(kind)}; weights are numbers: cast them in the query")
    if column.null_count:
        raise InputError(f"column {name!r} holds {number_of(column.null_count, 'null')}; every row needs a weight")
    return column.to_pylist() if pa.types.is_decimal(kind) else column.to_numpy()


def _scores(table: Any, columns: Columns) -> Any:
    wide = columns.wide("scores", table.column_names)
    if wide is not None:
        if columns.predicted is not None:
            raise InputError("scores are in columns of their own, which name their labels; leave predicted out")
        return _wide(table, wide, columns.sep, flags=False)
    name = str(columns.scores)
    column = table.column(name)
    kind = column.type
    sep, labelled = columns.sep if is_string(kind) else None, columns.predicted is None
    if sep is not None or not labelled:
        cells = column.to_pylist()
        labels = cells if labelled else _labels(table, "predicted", columns)
        labels = labels if isinstance(labels, list) else labels.to_pylist()
        if sep is not None:
            cells = [None if cell is None else scores_of(cell, sep, name, labelled=labelled) for cell in cells]
        return [columns.scores_of(*row) for row in zip(labels, cells, strict=True)]
    inner = getattr(kind, "value_type", kind)
    named = pa.types.is_null(kind) or pa.types.is_map(kind) or (pa.types.is_struct(inner) and not _is_deep(inner))
    if named or (inner is not kind and (pa.types.is_floating(inner) or pa.types.is_decimal(inner))):
        return column
    raise InputError(
        f"column {name!r} holds {type_text(kind)}; scores are a map label -> number, a list of structs (label, "
        "number), a struct with a number for each label, or a list of floating-point numbers in the order of the "
        "declared labels"
    )


# -- cells of strings -------------------------------------------------------------------------------------------------


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
    """Whether an Arrow type is one of strings, encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def list_of(cell: str, sep: str) -> Any:
    """The list or object that a cell writes out, or its parts between separators."""
    text = cell.strip()
    if (call := _CALL.fullmatch(text)) is not None:
        return list_of(call[1], sep) if call[1] else []
    if text.startswith("(") and text.endswith(")"):
        with suppress(*_NO_LITERAL):
            if isinstance(value := ast.literal_eval(text), tuple):
                return [*value]
    if not _OBJECT.fullmatch(text):
        return [part for piece in text.split(sep) if (part := piece.strip())]
    try:
        return STRICT.decode(text) or []  # of Postgres {} is a list
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
        if at == len(inside):
            return [_value(token, braces=braces) for token in tokens]
        value = ast.literal_eval(text)  # such as pairs
        if isinstance(value, list | dict):
            return value
    except _NO_LITERAL:
        pass
    raise InputError(f"the cell {quoted(cell)} is not a list as JSON, Python, numpy or Postgres write it")


def _value(word: str, *, braces: bool) -> Any:
    """An element of a list of Python or numpy, or of an array of Postgres, whose strings need no quotes."""
    if braces and word[0] not in "'\"" and word != "NULL":
        return word
    value = _WORDS[word.lower()] if word.lower() in _WORDS else ast.literal_eval(word)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"{word} is no label")  # such as the dots with which numpy shortens


def _joined(column: Any) -> Any:
    """A chunked array of strings in one piece, without codes and nulls."""
    return column.cast(pa.large_string()).fill_null("").combine_chunks()


def lists_of(column: Any, sep: str) -> Any:
    """What the cells of a column hold, as an array of lists if none of them writes a list out."""
    cells, nulls = pc.utf8_trim_whitespace(_joined(column)), column.is_null().combine_chunks()
    first = pc.is_in(pc.utf8_slice_codeunits(cells, 0, 1), pa.array(["[", "{"], cells.type))
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
    """The numbers that cells are, none in empty ones; or, with ``flags``, the booleans."""
    text = pc.utf8_trim_whitespace(_joined(column))
    text = pc.if_else(pc.equal(text, ""), None, text)
    kinds = [(pa.float64(), _NUMBER), (pa.bool_(), _FLAG)][: 1 + flags]
    for kind, _ in kinds:
        with suppress(pa.ArrowInvalid):
            values = text.cast(kind)
            sizes = np.abs(values.to_numpy(zero_copy_only=False)) if kind == "double" else np.zeros(0)
            for row in np.flatnonzero(sizes >= 2.0**53).tolist():
                _check_held(text[row].as_py(), name, f" (row {row} of the batch)")
            return pa.chunked_array([values])
    wrong = max(pc.index(pc.match_substring_regex(text, form, ignore_case=True), False).as_py() for _, form in kinds)
    cell = column[wrong].as_py()
    what = "0 and 1" if flags else "numbers with a decimal point" if "," in cell else "numbers"
    raise InputError(f"column {name!r} must hold {what}, not {quoted(cell)} (row {wrong} of the batch)")


def _check_held(cell: str, name: str, place: str = "") -> None:
    """Raise for an integer that no float64 equals, which other files refuse too, and for a number beyond them all."""
    number, (whole, _, fraction) = float(cell), cell.partition(".")
    digits = "" if fraction.strip("0") else whole.lstrip("+-0")
    if "n" not in cell.lower() and (math.isinf(number) or (digits.isdigit() and int(digits) != abs(number))):
        raise InputError(f"column {name!r}{place} is {cell}, and no float64 equals it; round or scale it first")


def scores_of(cell: str, sep: str, name: str, *, labelled: bool) -> Any:
    """The scores in a cell such as ``cat:0.9|dog:0.2``; without labels, where these are in another column."""
    parts, text = list_of(cell, sep), cell.strip()
    is_array = text[:1] == "{" and isinstance(parts, list)  # of Postgres, without quotes
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
        advice = "if each row is of one label, give example= and label="
        raise InputError(f"column {name!r} must hold scores like {like}, not {quoted(cell)}; {advice}") from None
    return mapping_of(pairs, f"column {name!r}")


def _score(text: str, name: str) -> float:
    if "_" in text or not text.isascii():  # which Python reads
        raise ValueError(text)
    if abs(number := float(text)) >= 2.0**53:
        _check_held(text.strip(), name)
    return number


def check_cells(table: Any, columns: Columns, sep: str | None, state: Any) -> None:
    """Warn of cells with labels that are probably misread, or refuse them, in the first rows that a state counts.

    ``sep`` is what is between labels if nobody chose it; and where the state reads lists as labels, cells hold labels.
    """
    rows = [row for row in table if isinstance(row, Mapping)] if isinstance(table, list) else None
    if state.examples or (rows is not None and (not rows or columns.sep is None)):
        return
    names = table.column_names if rows is None else [*rows[0]]
    labels = config_of(state).rows == "labels"
    chosen, sep = columns.sep is not None, columns.sep or sep
    single = {role for role in ("actual", "predicted", "mask") if columns.wide(role, names) is None}
    wide = columns.labels_in(names)
    for name in dict.fromkeys(name for name, role in columns.roles if role in single) if sep is not None else ():
        cells: list[Any] = []
        if rows is not None:
            cells = [*dict.fromkeys(cell for row in rows if isinstance(cell := row.get(name), str))]
        elif name in names and is_string(table.column(name).type):
            cells = pc.unique(table.column(name)).to_pylist()
        cells = [cell for cell in cells[:_LOOKED_AT] if cell and not _WRITTEN.fullmatch(cell)]
        _check_cells(cells, str(sep), columns.describe(f"column {name!r}"), wide, labels, chosen=chosen)


def _check_cells(cells: list[str], sep: str, title: str, wide: set[str], labels: bool, *, chosen: bool) -> None:
    # A space is taken for a separator only if nobody chose another.
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
        raise InputError(f"{rows}; separate these, or if they are labels, give sep={sep!r}")
    parts = [cell.lower().split(sep) for cell in cells]
    if cells and not labels and any({*flat} <= kind for flat in [[*chain(*parts)]] for kind in _FLAGS):
        write = "1 for yes and 0 for no, and give rows='indicator'"
        if max(map(len, parts)) > 1:
            raise InputError(f"{title} holds rows of indicators; write {quoted(cells[0])} with {write}")
        only = " and ".join(map(quoted, cells[:2]))
        warn(f"{title} holds only {only}, read as labels; if they say whether one label is true, write {write}")
    for other in "" if any(sep in cell for cell in cells) else SEPARATORS[: -1 if chosen else None]:
        split = {cell: {*map(str.strip, cell.split(other))} - {""} for cell in cells}
        pieces = Counter(chain.from_iterable(split.values()))
        many = next((cell for cell in cells if other in cell), None)
        is_label = other in ",;" and any(split.keys() & split[cell] for cell in cells if other in cell)
        if many is not None and (is_label or sum(count > 1 for count in pieces.values()) * 2 > len(pieces)):
            some = f"no cell of {title} holds the separator {sep!r}, but some hold {other!r}, such as {quoted(many)}"
            warn(f"{some}; if this separates labels, give sep={other!r}")
            return
