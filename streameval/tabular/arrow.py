"""Columns of Arrow tables, checked and brought into the forms that ``update_many`` reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars
from streameval.inputs.lists import mapping_of
from streameval.kernel import backend
from streameval.schema.text import quoted
from streameval.tabular.columns import Columns

try:
    import pyarrow as pa
    import pyarrow.compute as pc

    from streameval.tabular import cells
except ImportError:
    raise DependencyError("tables are read through pyarrow, which is not installed; pip install pyarrow") from None

ArrowError = pa.ArrowException


def read_table(batch: object, columns: Columns, sep: str | None = None) -> dict[str, Any] | None:
    """The arguments of ``update_many`` that say what a batch holds; None if it has no rows.

    ``sep`` is what is between labels in a cell of text where ``columns`` does not say it.
    """
    table = table_of(batch, columns)
    sep = columns.sep or sep
    arguments: dict[str, Any] = {"y_true": _labels(table, "actual", columns, sep)}
    if columns.scores is not None:
        arguments["y_pred"] = _scores(table, columns, sep)
        if isinstance(arguments["y_pred"], list) and hasattr(arguments["y_true"], "to_pylist"):
            arguments["y_true"] = arguments["y_true"].to_pylist()  # both sides of objects take a third of the time
    elif columns.predicted is not None:
        arguments["y_pred"] = _labels(table, "predicted", columns, sep)
    if columns.mask is not None:
        arguments["mask"] = _labels(table, "mask", columns, sep)
    if columns.weight is not None:
        arguments["weights"] = _numbers(table.column(columns.weight), columns.weight, sep)
    if columns.by:
        arguments["where"] = {name: table.column(name) for name in columns.by}
    return arguments if table.num_rows else None


def check_cells(table: Any, columns: Columns, sep: str | None) -> None:
    """Warn of cells with labels that are probably misread."""
    if (between := columns.sep or sep) is not None:
        for name, role in columns.roles:
            if (
                role in ("actual", "predicted", "mask")
                and name in table.column_names
                and cells.is_string(table.column(name).type)
            ):
                cells.check_cells(table.column(name), between, name, chosen=columns.sep is not None)


def without_rows(schema: Any) -> Any:
    """A table of no rows. Arrow's own ``empty_table`` makes no lists of encoded views, as polars has them."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def table_of(batch: object, columns: Columns) -> Any:
    """The columns that matter of a record batch, a table or a data frame, as Arrow."""
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


def _labels(table: Any, role: str, columns: Columns, sep: str | None) -> Any:
    """What names the labels of rows, as ``update_many`` reads it: a column of one type without nulls, or an array."""
    wide = columns.wide(role, table.column_names)
    if wide is not None:
        return _wide(table, wide, sep)
    name: str = getattr(columns, role)
    column = table.column(name)
    kind = column.type
    if pa.types.is_null(kind) and (columns.null == "empty" or not len(column)):
        return pa.array([[]] * len(column), pa.list_(pa.string()))
    columns.check_nulls(name, column.null_count, "lists without labels")
    if cells.is_string(kind) and sep is not None:
        return cells.lists_of(column, sep)
    if pa.types.is_struct(kind):
        return [row or {} for row in column.to_pylist()]
    if pa.types.is_map(kind):
        return [mapping_of(row or (), f"column {name!r}") for row in column.to_pylist()]
    is_list = isinstance(kind, pa.ListType | pa.LargeListType)
    if not is_list and not isinstance(kind, pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType):
        advice = "give a list of labels in every row"
        if _is_label(kind):
            advice = "wrap each label in a list"
        if cells.is_string(kind):
            advice = f"split them with sep=',' or what else is between labels, or {advice}"
        raise InputError(f"column {name!r} holds {kind}, not lists of labels; {advice}")
    inner = kind.value_type
    if pa.types.is_boolean(inner):
        return _rows(column, name)
    if pa.types.is_fixed_size_list(kind) and pa.types.is_integer(inner):
        raise InputError(
            f"column {name!r} holds {kind}, which may be labels or decisions; cast it to a list of {inner} if these "
            "are labels, or to a list of booleans if they are decisions in the order of the declared labels"
        )
    if pa.types.is_floating(inner):  # which update_many takes for rows
        return [row or () for row in column.to_pylist()]
    if not _is_label(inner) and not pa.types.is_null(inner):
        raise LabelError(f"column {name!r} holds lists of {inner}; labels are strings or integers: cast them")
    if is_list and not column.null_count and not pa.types.is_null(inner):
        return column
    plain = pa.large_list(pa.string() if pa.types.is_null(inner) else inner)
    return pa.chunked_array(map(_rebuilt, column.chunks), plain)


def _wide(table: Any, labels: dict[str, str], sep: str | None) -> Any:
    """Columns of values as a table of theirs, named by labels."""
    values = [(table.column(name), name) for name in labels]
    if sep is not None:
        values = [(cells.numbers_of(*each) if cells.is_string(each[0].type) else each[0], each[1]) for each in values]
    for column, name in values:
        if cells.is_string(column.type):
            raise InputError(f"column {name!r} holds strings; it stands for a label: convert them to 0 and 1")
    return pa.table([column for column, _ in values], [*labels.values()])


def _is_label(kind: Any) -> bool:
    return pa.types.is_integer(kind.value_type if pa.types.is_dictionary(kind) else kind) or cells.is_string(kind)


def _rebuilt(chunk: Any) -> Any:
    """The lists of a chunk of any list type, nulls as empty ones, as a plain list array."""
    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    values = pc.list_flatten(chunk)
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    return pa.LargeListArray.from_arrays(pa.array(offsets), values)


def _rows(column: Any, name: str) -> np.ndarray[Any, Any]:
    """Lists of one length, as the rows of an array."""
    if column.null_count:
        raise InputError(f"column {name!r} holds null rows, which say nothing of any label; drop them")
    lengths, values = pc.list_value_length(column).to_numpy(), pc.list_flatten(column)
    if values.null_count:
        raise InputError(f"column {name!r} holds null values within its lists; fill them")
    if len(lengths) and (lengths != lengths[0]).any():
        lists = f"lists of {values.type} of different lengths"
        raise InputError(f"column {name!r} holds {lists}; give one value for each of the declared labels")
    return values.to_numpy().reshape(len(lengths), lengths[0] if len(lengths) else 0)  # type: ignore[no-any-return]


def _numbers(column: Any, name: str, sep: str | None) -> np.ndarray[Any, Any]:
    if cells.is_string(column.type) and sep is not None:
        column = cells.numbers_of(column, name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"column {name!r} holds {kind}; weights are numbers: cast them in the query")
    if column.null_count:
        raise InputError(f"column {name!r} holds {column.null_count} nulls; every row needs a weight")
    return column.to_numpy()  # type: ignore[no-any-return]  # Arrow has no types


def _scores(table: Any, columns: Columns, sep: str | None) -> Any:
    wide = columns.wide("scores", table.column_names)
    if wide is not None:
        if columns.predicted is not None:
            raise InputError("scores are in columns of their own, which name their labels; leave predicted out")
        return _wide(table, wide, sep)
    name = str(columns.scores)
    column = table.column(name)
    columns.check_nulls(name, column.null_count, "rows without scores")
    if cells.is_string(column.type) and sep is not None:
        column = cells.scores_of(column, sep, name, labelled=columns.predicted is None)
        if columns.predicted is None:
            return column
    if columns.predicted is not None:
        labels = _labels(table, "predicted", columns, sep)
        if isinstance(labels, np.ndarray) or not (isinstance(column, list) or hasattr(column.type, "value_type")):
            both = f"columns {columns.predicted!r} and {name!r}"
            raise InputError(f"{both} must hold lists of labels and lists of their scores, not {column.type}")
        lists = (part if isinstance(part, list) else part.to_pylist() for part in (labels, column))
        return [columns.pair(names, scores or ()) for names, scores in zip(*lists, strict=True)]
    kind = column.type
    if pa.types.is_struct(kind):
        if column.null_count:
            raise InputError(f"column {name!r} holds null structs, which have no scores; drop those rows")
        return pa.table(column.flatten(), [field.name for field in kind])
    if pa.types.is_map(kind):
        return [pairs or [] for pairs in column.to_pylist()]
    inner = kind.value_type if hasattr(kind, "value_type") else kind
    if pa.types.is_struct(inner) and inner.num_fields == 2:
        label, score = inner.field(0).name, inner.field(1).name
        return [[(pair[label], pair[score]) for pair in row or ()] for row in column.to_pylist()]
    if pa.types.is_floating(inner) and inner is not kind:
        return _rows(column, name)
    raise InputError(
        f"column {name!r} holds {kind}; scores are a map label -> number, a list of structs (label, number), a struct "
        "with a number for each label, or a list of floating-point numbers in the order of the declared labels"
    )
