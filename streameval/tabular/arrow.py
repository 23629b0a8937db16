"""Columns of Arrow tables, checked and brought into the forms that ``update_many`` reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars
from streameval.kernel import backend
from streameval.schema.text import number_of, quoted
from streameval.tabular.columns import Columns

try:
    import pyarrow as pa
    import pyarrow.compute as pc

    from streameval.tabular import cells
except ImportError:
    raise DependencyError("tables are read through pyarrow, which is not installed; pip install pyarrow") from None

ArrowError = pa.ArrowException


def read_table(batch: object, columns: Columns) -> dict[str, Any]:
    """The arguments of ``update_many`` that say what a batch holds; none if it has no rows."""
    table = table_of(batch, columns)
    arguments: dict[str, Any] = {"y_true": _labels(table, "actual", columns), "null": columns.null}
    if columns.scores is not None:
        arguments["y_pred"] = _scores(table, columns)
    elif columns.predicted is not None:
        arguments["y_pred"] = _labels(table, "predicted", columns)
    if columns.mask is not None:
        arguments["mask"] = _labels(table, "mask", columns)
    if columns.weight is not None:
        arguments["weights"] = _numbers(table.column(columns.weight), columns.weight, columns.sep)
    if columns.by:
        arguments["where"] = {name: table.column(name) for name in columns.by}
    return arguments if table.num_rows else {}


def check_cells(table: Any, columns: Columns, sep: str | None) -> None:
    """Warn of cells with labels that are probably misread."""
    chosen, sep = columns.sep is not None, columns.sep or sep
    labels = [name for name, role in columns.roles if role in ("actual", "predicted", "mask")]
    for name in labels if sep is not None else ():
        if name in table.column_names and cells.is_string(table.column(name).type):
            cells.check_cells(table.column(name), str(sep), name, chosen=chosen)


def without_rows(schema: Any) -> Any:
    """A table of no rows. Arrow's own ``empty_table`` makes no lists of encoded views, as polars has them."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def table_of(batch: object, columns: Columns) -> Any:
    """The columns that matter of a record batch, a table or a data frame, as Arrow."""
    table = _table_of(batch, columns)
    for name, role in columns.roles:
        outer, *path = name.split(".")
        if path and "*" not in name and name not in table.column_names and outer in table.column_names:
            try:
                table = table.append_column(name, pc.struct_field(table.column(outer), path))
            except (pa.ArrowInvalid, NotImplementedError):
                raise columns.missing(name, role, table.column_names) from None
    return table


def _table_of(batch: object, columns: Columns) -> Any:
    if isinstance(batch, pa.RecordBatch | pa.Table):
        columns.check_names(batch.schema.names)
        return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    frame: Any = batch
    if not hasattr(frame, "columns") or not (hasattr(frame, "iloc") or hasattr(frame, "to_arrow")):
        raise InputError(f"a batch must be an Arrow record batch or table, or a data frame, not {quoted(batch)}")
    names = columns.check_names(frame.columns)
    if not hasattr(frame, "iloc"):  # polars
        return arrow_of_polars(frame.select(names))
    try:
        return _table_of_pandas(frame[names], columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise InputError(f"the data frame has a column that is no Arrow type: {error}; give lists") from None


def _table_of_pandas(frame: Any, columns: Columns) -> Any:
    """A data frame as Arrow. Lists of strings are coded at once: Arrow would look at each string twice."""
    lists: dict[str, Any] = {}
    roles = {name for name, role in columns.roles if role in ("actual", "predicted", "mask")}
    for name in roles.intersection(frame.columns):
        coded = backend.strings.listed_codes(frame[name].tolist()) if frame[name].dtype == object else None
        if coded is not None:
            ends, codes, strings = coded
            values = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(strings, pa.large_string()))
            lists[name] = pa.LargeListArray.from_arrays(pa.array(ends), values)
    plain = pa.Table.from_pandas(frame.drop(columns=list(lists)), preserve_index=False)
    return pa.Table.from_arrays([*lists.values(), *plain.columns], [*lists, *plain.column_names])


def _labels(table: Any, role: str, columns: Columns) -> Any:
    """What names the labels of rows, as ``update_many`` reads it."""
    wide = columns.wide(role, table.column_names)
    if wide is not None:
        return _wide(table, wide, columns.sep)
    name: str = getattr(columns, role)
    column = table.column(name)
    kind, advice = column.type, "give a list of labels in every row"
    if cells.is_string(kind):
        if columns.sep is not None:
            return cells.lists_of(column, columns.sep)
        advice = f"split them with sep=',' or what else is between labels, or {advice}"
    elif pa.types.is_nested(kind) or pa.types.is_null(kind):
        inner = kind.value_type if "list" in str(kind).partition("<")[0] else None
        if inner is None or not pa.types.is_binary(inner):
            return column
        raise LabelError(f"column {name!r} holds lists of {inner}; labels are strings or integers: cast them")
    raise InputError(f"column {name!r} holds {kind}, not lists of labels; {advice}")


def _wide(table: Any, labels: dict[str, str], sep: str | None) -> Any:
    """Columns of values as a table of theirs, named by labels."""
    values = [(table.column(name), name) for name in labels]
    if sep is not None:
        values = [(cells.numbers_of(*each) if cells.is_string(each[0].type) else each[0], each[1]) for each in values]
    for column, name in values:
        if cells.is_string(column.type):
            raise InputError(f"column {name!r} holds strings; it stands for a label: convert them to 0 and 1")
    return pa.table([column for column, _ in values], [*labels.values()])


def _numbers(column: Any, name: str, sep: str | None) -> np.ndarray[Any, Any]:
    if cells.is_string(column.type) and sep is not None:
        column = cells.numbers_of(column, name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"column {name!r} holds {kind}; weights are numbers: cast them in the query")
    if column.null_count:
        raise InputError(f"column {name!r} holds {number_of(column.null_count, 'null')}; every row needs a weight")
    return column.to_numpy()  # type: ignore[no-any-return]  # Arrow has no types


def _scores(table: Any, columns: Columns) -> Any:
    wide = columns.wide("scores", table.column_names)
    if wide is not None:
        if columns.predicted is not None:
            raise InputError("scores are in columns of their own, which name their labels; leave predicted out")
        return _wide(table, wide, columns.sep)
    name = str(columns.scores)
    column = table.column(name)
    if cells.is_string(column.type) and columns.sep is not None:
        column = cells.scores_of(column, columns.sep, name, labelled=columns.predicted is None)
    if columns.predicted is not None:
        lists = [
            part if isinstance(part, list) else part.to_pylist()
            for part in (_labels(table, "predicted", columns), column)
        ]
        return [columns.pair(*row) for row in zip(*lists, strict=True)]
    if isinstance(column, list):
        return column
    kind = column.type
    inner = getattr(kind, "value_type", kind)
    if (
        pa.types.is_null(kind)
        or pa.types.is_map(kind)
        or pa.types.is_struct(inner)
        or (pa.types.is_floating(inner) and inner is not kind)
    ):
        return column
    raise InputError(
        f"column {name!r} holds {kind}; scores are a map label -> number, a list of structs (label, number), a struct "
        "with a number for each label, or a list of floating-point numbers in the order of the declared labels"
    )
