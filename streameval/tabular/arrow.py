"""Columns of Arrow tables, in the forms that ``update_many`` reads."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError, option, wording
from streameval.inputs.lists import mapping_of
from streameval.kernel import backend
from streameval.schema.text import number_of, quoted, type_text
from streameval.tabular.cells import is_string, lists_of, numbers_of, scores_of
from streameval.tabular.columns import Columns

# Without pyarrow, the import of `cells` above raises the error that says what to install.
# isort: split
import pyarrow as pa
import pyarrow.compute as pc

ArrowError = pa.ArrowException
_NO_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError)


def read_table(table: Any, columns: Columns) -> dict[str, Any]:
    """The arguments of ``update_many`` for a table from `table_of`; none if it has no rows."""
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
            raise InputError(f"column {name!r} ({option('by')}) holds {type_text(kind)}; {advice}")
    if columns.by:
        arguments["where"] = {name: table.column(name) for name in columns.by}
    return arguments if table.num_rows else {}


def table_of(batch: object, columns: Columns) -> Any:
    """A batch as an Arrow table, or as rows if Arrow cannot hold its values; a schema as a table without rows."""
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
    if isinstance(batch, pa.Schema):  # ``empty_table`` fails for lists of encoded views, which polars writes
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
    """The rows of a table as dicts; its maps, which Arrow would write as lists of pairs, become dicts too."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for name in [field.name for field in table.schema if pa.types.is_map(field.type)]:
        for row in rows:
            row[name] = None if row[name] is None else mapping_of(row[name], f"column {name!r}")
    return rows


def _is_plain(values: list[Any]) -> bool:
    """Whether Arrow can hold these values without a change of meaning.

    It would give each mapping the keys of all mappings, with nulls, which mean that a truth is unknown; make lists of
    sets, although a list may be a row and a set cannot; and make 1.0 of 1 and of True if another list has a float.
    """
    if any(issubclass(kind, Mapping | AbstractSet) for kind in set(map(type, values))):
        return False
    arrays = {value.dtype.char for value in values if isinstance(value, np.ndarray)} - {"O"}
    lists = (value for value in values if isinstance(value, list | tuple) or getattr(value, "dtype", None) == "O")
    members = set(map(type, chain.from_iterable(lists))) - {type(None)}
    return len(arrays) + len(members) < 2 and members.isdisjoint((list, tuple, dict))


def _labels(table: Any, role: str, columns: Columns) -> Any:
    """The labels of each row, in a form that ``update_many`` reads."""
    wide = columns.wide(role, table.column_names)
    if wide is not None:
        return _wide(table, wide, columns.sep, flags=True)
    name: str = getattr(columns, role)
    column = table.column(name)
    kind, advice = column.type, "give a list of labels in every row"
    if is_string(kind):
        if columns.sep is not None:
            return lists_of(column, columns.sep)
        advice = f"split them with {option('sep', ',')} or another separator, or {advice}"
    elif (pa.types.is_nested(kind) and not _is_deep(kind)) or pa.types.is_null(kind):
        inner = kind.value_type if "list" in str(kind).partition("<")[0] else None
        if inner is None or not pa.types.is_binary(inner):
            return column
        advice = "labels are strings or integers: cast them"
        raise LabelError(f"column {name!r} holds lists of {type_text(inner)}; {advice}")
    else:
        advice += ", name a column for each label by a pattern such as 'true_*', or give "
        advice += wording("example= and label=", "--example and --label")
    raise InputError(f"column {name!r} holds {type_text(kind)}, not lists of labels; {advice}")


def _is_deep(kind: Any) -> bool:
    """Whether a struct has lists or structs in it, such as a vector of Spark: it has no value for each label."""
    return pa.types.is_struct(kind) and any(pa.types.is_nested(field.type) for field in kind)


def _wide(table: Any, labels: dict[str, str], sep: str | None, *, flags: bool) -> Any:
    """A table of the columns that have a label each, renamed to these labels."""
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
            raise InputError(f"scores are in columns of their own, which name labels; leave {option('predicted')} out")
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
    forms = "a map label -> number, a list of structs (label, number), a struct with a number for each label"
    forms += ", or a list of floating-point numbers in the order of the declared labels"
    raise InputError(f"column {name!r} holds {type_text(kind)}; scores are {forms}")
