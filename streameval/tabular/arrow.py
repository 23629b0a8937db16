"""Columns of Arrow tables, checked and brought into the forms that ``update_many`` reads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from streameval.errors import DependencyError, InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars
from streameval.kernel.codes import listed_codes
from streameval.schema.text import quoted, suggestion
from streameval.tabular.columns import Columns

__all__ = ["in_columns", "read", "refuse_missing"]

_ROLES = {"y_true": "actual", "y_pred": "predicted", "mask": "mask", "weights": "weight", "weight": "weight"}
_OPENING = re.compile(rf"^({'|'.join(_ROLES)})\b(\[(\d+)\])?")


def read(batch: object, columns: Columns) -> dict[str, Any] | None:
    """The arguments of ``update_many`` that say what a batch holds; None if it has no rows."""
    table = _table_of(batch, columns)
    given: dict[str, Any] = {}
    given["y_true"] = _plain_lists(_column(table, columns.actual, "actual"), columns.actual, columns.null)
    if columns.scores is not None:
        given["y_pred"] = _scores(table, columns)
    elif columns.predicted is not None:
        column = _column(table, columns.predicted, "predicted")
        given["y_pred"] = _plain_lists(column, columns.predicted, columns.null)
    if columns.mask is not None:
        given["mask"] = _plain_lists(_column(table, columns.mask, "mask"), columns.mask, columns.null)
    if columns.weight is not None:
        given["weights"] = _numbers(_column(table, columns.weight, "weight"), columns.weight)
    if columns.by:
        given["where"] = {name: _column(table, name, "by") for name in columns.by}
    return given if table.num_rows else None


def in_columns(text: str, columns: Columns) -> str:
    """A message about an argument, as one about the column that it came from."""

    def column(match: re.Match[str]) -> str:
        role = _ROLES[match[1]]
        name = columns.scores if role == "predicted" and columns.scores is not None else getattr(columns, role)
        return f"column {name!r}" + (f", row {match[3]} of the batch" if match[3] else "")

    return _OPENING.sub(column, text)


def _table_of(batch: object, columns: Columns) -> Any:
    """The columns that matter of a record batch, a table or a data frame, as Arrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise DependencyError(
            "columns are read through pyarrow, which is not installed; pip install pyarrow"
        ) from error
    if isinstance(batch, pa.RecordBatch | pa.Table):
        return batch
    frame: Any = batch
    if hasattr(frame, "columns") and hasattr(frame, "iloc"):  # pandas
        there = [name for name in columns.names if name in frame.columns]
        names = list(frame.columns)
        for name in there:
            if names.count(name) > 1:
                raise _repeated(name, names.count(name))
        try:
            return _table_of_pandas(frame[there], columns)
        except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
            raise InputError(f"the data frame has a column that is no Arrow type: {error}; give lists") from None
    if hasattr(frame, "columns") and hasattr(frame, "to_arrow"):  # polars
        there = [name for name in columns.names if name in frame.columns]
        return arrow_of_polars(frame.select(there))
    raise InputError(f"a batch must be an Arrow record batch or table, or a data frame, not {quoted(batch)}")


def _table_of_pandas(frame: Any, columns: Columns) -> Any:
    """A data frame as Arrow. Lists of texts are coded at once: Arrow would look at each text twice."""
    import pyarrow as pa

    coded: dict[int, Any] = {}
    for place, (name, column) in enumerate(frame.items()):
        if name in (columns.actual, columns.predicted, columns.mask) and column.dtype == object:
            found = listed_codes(column.tolist())
            if found is not None:
                ends, codes, texts = found
                texts_of_codes = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts, pa.large_string()))
                coded[place] = pa.LargeListArray.from_arrays(pa.array(ends), texts_of_codes)
    if not coded:
        return pa.Table.from_pandas(frame, preserve_index=False)
    arrays, names = list(coded.values()), [frame.columns[place] for place in coded]
    others = [place for place in range(len(frame.columns)) if place not in coded]
    if others:
        rest = pa.Table.from_pandas(frame.iloc[:, others], preserve_index=False)
        arrays, names = [*arrays, *rest.columns], [*names, *rest.column_names]
    return pa.Table.from_arrays(arrays, names)


def _column(table: Any, name: str, role: str) -> Any:
    names = table.schema.names
    found = names.count(name)
    if found == 1:
        return table.column(name)
    if found:
        raise _repeated(name, found)
    raise _missing(name, role, names)


def _repeated(name: str, found: int) -> InputError:
    return InputError(f"{found} columns are named {name!r}; give each a name of its own")


def _missing(name: str, role: str, names: list[str]) -> InputError:
    hint = suggestion(name, list(map(str, names)))
    return InputError(f"there is no column {name!r} ({role}){hint or '; the columns are ' + quoted(names)}")


def refuse_missing(columns: Columns, names: list[str]) -> None:
    """Raise if one of the columns is not among these."""
    for name, role in columns.roles:
        if name not in names:
            raise _missing(name, role, names)


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _plain_lists(column: Any, name: str, null: str) -> Any:
    """A column of lists of labels, without nulls, as lists or large lists; or booleans as the rows of an array."""
    import pyarrow as pa

    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    is_other = pa.types.is_fixed_size_list(kind) or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    if pa.types.is_null(kind) and (null == "empty" or not len(column)):
        return pa.array([[]] * len(column), pa.list_(pa.string()))
    if not is_list and not is_other:
        raise InputError(
            f"column {name!r} holds {kind}, not lists of labels; "
            + ("wrap each label in a list" if _is_label(kind) else "give a list of labels in every row")
        )
    if column.null_count and null == "error":
        raise InputError(
            f"column {name!r} holds {column.null_count} null lists; drop those rows, or say with null='empty' that "
            "they are lists without labels"
        )
    inner = kind.value_type
    if pa.types.is_boolean(inner):
        return _rows(column, name)
    if pa.types.is_fixed_size_list(kind) and pa.types.is_integer(inner):
        raise InputError(
            f"column {name!r} holds {kind}, which may be labels or decisions; cast it to a list of {inner} if these "
            "are labels, or to a list of booleans if they are decisions in the order of the declared labels"
        )
    if not _is_label(inner) and not pa.types.is_null(inner):
        raise LabelError(
            f"column {name!r} holds lists of {inner}; labels are strings or integers: cast them in the query"
        )
    if is_list and not column.null_count and not pa.types.is_null(inner):
        return column
    return pa.chunked_array([_rebuilt(chunk) for chunk in _chunks(column)], pa.large_list(_label_type(inner)))


def _is_label(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(text or pa.types.is_integer(kind))


def _label_type(kind: Any) -> Any:
    import pyarrow as pa

    return pa.string() if pa.types.is_null(kind) else kind


def _rebuilt(chunk: Any) -> Any:
    """The lists of a chunk of any list type, nulls as empty ones, as a plain list array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    values = pc.list_flatten(chunk)
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    return pa.LargeListArray.from_arrays(pa.array(offsets), values)


def _rows(column: Any, name: str) -> np.ndarray[Any, Any]:
    """Lists of one length, as the rows of an array."""
    import pyarrow.compute as pc

    if column.null_count:
        raise InputError(f"column {name!r} holds null rows, which say nothing of any label; drop them")
    parts = []
    for chunk in _chunks(column):
        lengths = pc.list_value_length(chunk).to_numpy(zero_copy_only=False)
        values = pc.list_flatten(chunk)
        if values.null_count:
            raise InputError(f"column {name!r} holds null values within its lists; fill them")
        if len(lengths) and (lengths != lengths[0]).any():
            raise InputError(
                f"column {name!r} holds lists of {values.type} of different lengths; give one value for each of the "
                "declared labels"
            )
        if len(lengths):
            parts.append(values.to_numpy(zero_copy_only=False).reshape(len(lengths), -1))
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError(f"column {name!r} holds lists of different lengths; give one value for each declared label")
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.bool_)


def _numbers(column: Any, name: str) -> np.ndarray[Any, Any]:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"column {name!r} holds {kind}; weights are numbers: cast them in the query")
    if column.null_count:
        raise InputError(f"column {name!r} holds {column.null_count} nulls; every row needs a weight")
    parts = [chunk.to_numpy(zero_copy_only=False) for chunk in _chunks(column)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _scores(table: Any, columns: Columns) -> Any:
    import pyarrow as pa

    name = str(columns.scores)
    column = _column(table, name, "scores")
    kind = column.type
    if column.null_count and columns.null == "error":
        raise InputError(
            f"column {name!r} holds {column.null_count} nulls; drop those rows, or say with null='empty' that they "
            "have no scores"
        )
    if columns.predicted is not None:
        labels = _plain_lists(_column(table, columns.predicted, "predicted"), columns.predicted, columns.null)
        return _paired(labels, column, columns)
    if pa.types.is_struct(kind):
        return _struct(column, name)
    if pa.types.is_map(kind):
        return [_mapping(pairs, name) for pairs in column.to_pylist()]
    inner = kind.value_type if hasattr(kind, "value_type") else kind
    if pa.types.is_struct(inner) and inner.num_fields == 2:
        label, score = inner.field(0).name, inner.field(1).name
        rows = column.to_pylist()
        return [_mapping([(pair[label], pair[score]) for pair in row or ()], name) for row in rows]
    if pa.types.is_floating(inner) and inner is not kind:
        return _rows(column, name)
    raise InputError(
        f"column {name!r} holds {kind}; scores are a map label -> number, a list of structs (label, number), a struct "
        "with a number for each label, or a list of floating-point numbers in the order of the declared labels"
    )


def _paired(labels: Any, column: Any, columns: Columns) -> list[dict[Any, Any]]:
    """Lists of labels beside lists of their scores, as mappings."""
    told = f"{columns.predicted!r} and {columns.scores!r}"
    if isinstance(labels, np.ndarray) or not hasattr(column.type, "value_type"):
        raise InputError(f"columns {told} must hold lists of labels and lists of their scores, not {column.type}")
    made = []
    for names, scores in zip(labels.to_pylist(), column.to_pylist(), strict=True):
        if len(names) != len(scores or ()):
            raise InputError(f"columns {told} hold a row of {len(names)} labels and {len(scores or ())} scores")
        made.append(_mapping(list(zip(names, scores or (), strict=True)), str(columns.scores)))
    return made


def _mapping(pairs: list[tuple[Any, Any]] | None, name: str) -> dict[Any, Any]:
    found = dict(pairs or ())
    if len(found) < len(pairs or ()):
        raise InputError(f"column {name!r} names a label twice in one row; name each label once")
    for label, score in found.items():
        if score is None:
            raise InputError(f"column {name!r} holds a null score for label {quoted(label)}; drop it")
    return found


def _struct(column: Any, name: str) -> Any:
    """The fields of a struct, as a table."""
    import pyarrow as pa

    names = [column.type.field(place).name for place in range(column.type.num_fields)]
    if column.null_count:
        raise InputError(f"column {name!r} holds null structs, which have no scores; drop those rows")
    parts = [chunk.flatten() for chunk in _chunks(column)]
    if not parts:
        return pa.table({field: pa.array([], pa.float64()) for field in names})
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(part, names) for part in parts])
