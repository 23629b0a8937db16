"""Columns of Arrow tables, checked and brought into the forms that ``update_many`` reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars
from streameval.kernel import backend
from streameval.schema.text import quoted
from streameval.tabular.columns import Columns

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError:
    raise DependencyError("tables are read through pyarrow, which is not installed; pip install pyarrow") from None

ArrowError = pa.ArrowException


def read_table(batch: object, columns: Columns) -> dict[str, Any] | None:
    """The arguments of ``update_many`` that say what a batch holds; None if it has no rows."""
    table = _table_of(batch, columns)
    arguments: dict[str, Any] = {"y_true": _plain_lists(table, columns.actual, columns)}
    if columns.scores is not None:
        arguments["y_pred"] = _scores(table, columns)
    elif columns.predicted is not None:
        arguments["y_pred"] = _plain_lists(table, columns.predicted, columns)
    if columns.mask is not None:
        arguments["mask"] = _plain_lists(table, columns.mask, columns)
    if columns.weight is not None:
        arguments["weights"] = _numbers(table.column(columns.weight), columns.weight)
    if columns.by:
        arguments["where"] = {name: table.column(name) for name in columns.by}
    return arguments if table.num_rows else None


def without_rows(schema: Any) -> Any:
    """A table of no rows. Arrow's own ``empty_table`` makes no lists of encoded views, as polars has them."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _table_of(batch: object, columns: Columns) -> Any:
    """The columns that matter of a record batch, a table or a data frame, as Arrow."""
    if isinstance(batch, pa.RecordBatch | pa.Table):
        columns.check_names(batch.schema.names)
        return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    frame: Any = batch
    if not hasattr(frame, "columns") or not (hasattr(frame, "iloc") or hasattr(frame, "to_arrow")):
        raise InputError(f"a batch must be an Arrow record batch or table, or a data frame, not {quoted(batch)}")
    columns.check_names(frame.columns)
    if not hasattr(frame, "iloc"):  # polars
        return arrow_of_polars(frame.select(columns.names))
    try:
        return _table_of_pandas(frame[list(columns.names)], columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise InputError(f"the data frame has a column that is no Arrow type: {error}; give lists") from None


def _table_of_pandas(frame: Any, columns: Columns) -> Any:
    """A data frame as Arrow. Lists of strings are coded at once: Arrow would look at each string twice."""
    lists: dict[str, Any] = {}
    for name in {name for name, role in columns.roles if role in ("actual", "predicted", "mask")}:
        coded = backend.strings.listed_codes(frame[name].tolist()) if frame[name].dtype == object else None
        if coded is not None:
            ends, codes, strings = coded
            values = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(strings, pa.large_string()))
            lists[name] = pa.LargeListArray.from_arrays(pa.array(ends), values)
    plain = pa.Table.from_pandas(frame.drop(columns=list(lists)), preserve_index=False)
    return pa.Table.from_arrays([*lists.values(), *plain.columns], [*lists, *plain.column_names])


def _plain_lists(table: Any, name: str, columns: Columns) -> Any:
    """A column of lists of labels, without nulls, as lists or large lists; or booleans as the rows of an array."""
    column = table.column(name)
    kind = column.type
    is_list = isinstance(kind, pa.ListType | pa.LargeListType)
    if pa.types.is_null(kind) and (columns.null == "empty" or not len(column)):
        return pa.array([[]] * len(column), pa.list_(pa.string()))
    if not is_list and not isinstance(kind, pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType):
        advice = "wrap each label in a list" if _is_label(kind) else "give a list of labels in every row"
        raise InputError(f"column {name!r} holds {kind}, not lists of labels; {advice}")
    columns.check_nulls(name, column.null_count, "lists without labels")
    inner = kind.value_type
    if pa.types.is_boolean(inner):
        return _rows(column, name)
    if pa.types.is_fixed_size_list(kind) and pa.types.is_integer(inner):
        raise InputError(
            f"column {name!r} holds {kind}, which may be labels or decisions; cast it to a list of {inner} if these "
            "are labels, or to a list of booleans if they are decisions in the order of the declared labels"
        )
    if not _is_label(inner) and not pa.types.is_null(inner):
        raise LabelError(f"column {name!r} holds lists of {inner}; labels are strings or integers: cast them")
    if is_list and not column.null_count and not pa.types.is_null(inner):
        return column
    plain = pa.large_list(pa.string() if pa.types.is_null(inner) else inner)
    return pa.chunked_array(map(_rebuilt, column.chunks), plain)


def _is_label(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_integer(kind) or kind in (pa.string(), pa.large_string(), pa.string_view())


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


def _numbers(column: Any, name: str) -> np.ndarray[Any, Any]:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"column {name!r} holds {kind}; weights are numbers: cast them in the query")
    if column.null_count:
        raise InputError(f"column {name!r} holds {column.null_count} nulls; every row needs a weight")
    return column.to_numpy()  # type: ignore[no-any-return]  # Arrow has no types


def _scores(table: Any, columns: Columns) -> Any:
    name = str(columns.scores)
    column = table.column(name)
    kind = column.type
    columns.check_nulls(name, column.null_count, "rows without scores")
    if columns.predicted is not None:
        labels = _plain_lists(table, columns.predicted, columns)
        if isinstance(labels, np.ndarray) or not hasattr(kind, "value_type"):
            both = f"columns {columns.predicted!r} and {name!r}"
            raise InputError(f"{both} must hold lists of labels and lists of their scores, not {kind}")
        lists = zip(labels.to_pylist(), column.to_pylist(), strict=True)
        return [columns.pair(names, scores or ()) for names, scores in lists]
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
