"""One state for each key, in a data frame: for more keys than a driver wants to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
from pyspark.sql.types import BinaryType, DoubleType, LongType, MapType, StringType, StructField, StructType

from streameval.adapters.spark.frames import check, mapped
from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.text import quoted
from streameval.slices import Sliced
from streameval.tabular.job import Job, Metrics, RowOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RESULTS = ("examples", "metrics", "state")
_ROWS = 100_000
"""After how many rows a worker sends its states on. There are no more keys than rows, so its memory is bounded."""


def evaluate_by_key(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    keys: str | Iterable[str],
    metrics: Metrics = None,
    **options: Unpack[RowOptions],
) -> DataFrame:
    """Count the rows of each key: states per partition and key, the only rows that are shuffled, merged per key.

    Errors are those of `streameval.evaluate`; what only rows can tell, the action raises within an error of Spark.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    keys
        One column, or several: strings, integers, booleans; null is a key too.
    actual, predicted, metrics, **options
        As for `evaluate`; rows are not sliced besides.

    Returns
    -------
    DataFrame
        The columns of the keys; ``examples bigint``; ``metrics map<string, double>``, without those that have one value
        for each label; ``state binary``, which `streameval.Evaluator.from_bytes` reads. It is computed when an action
        asks for it.

    Examples
    --------
    >>> evaluate_by_key(df, "actual", "predicted", keys="user").orderBy("examples").show()  # doctest: +SKIP
    """
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names or set(names) & set(_RESULTS):
        raise InputError(f"keys is {quoted(keys)}; name one column or more, none of them {' or '.join(_RESULTS)}")
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    fresh = job.fresh()
    if isinstance(fresh, Sliced):
        raise InputError(f"metrics is a Sliced by {quoted(fresh.by)}; give what it is of, and its names as keys")
    sliced = Sliced(fresh, by=names, cross=[names] if len(names) > 1 else [], most=2**62)
    parts = Job(sliced.to_bytes(), replace(job.columns, by=names))
    check(df, parts)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        state = parts.fresh()
        for batch in batches:
            parts.add(state, batch)
            if state.examples >= _ROWS:
                yield _by_key(state, names, batch.schema)
                state = parts.fresh()
        if state.examples:
            yield _by_key(state, names, batch.schema)

    def merge(group: Any) -> Any:
        total = job.merged(group.column("state").to_pylist())
        return _answer(group.slice(0, 1).drop_columns(["state"]), total)

    types = {field.name: field.dataType for field in df.schema.fields}
    key_fields = [StructField(f"key{place}", types[name]) for place, name in enumerate(names)]
    state = StructField("state", BinaryType())
    sent = StructType([*key_fields, state])
    read = [StructField("examples", LongType()), StructField("metrics", MapType(StringType(), DoubleType()))]
    groups = mapped(df, parts.columns.names, count, sent).groupBy(*(field.name for field in key_fields))
    return groups.applyInArrow(merge, StructType([*key_fields, *read, state])).toDF(*names, *_RESULTS)


def _by_key(state: Any, names: tuple[str, ...], schema: Any) -> Any:
    slices = state.slices(names[0] if len(names) == 1 else names)
    keys = ([part.where[name] for part in slices] for name in names)
    columns = {f"key{n}": pa.array(key, schema.field(names[n]).type) for n, key in enumerate(keys)}
    states = pa.array([part.evaluator.to_bytes() for part in slices], pa.binary())
    return pa.RecordBatch.from_pydict({**columns, "state": states})


def _answer(key: Any, total: Any) -> Any:
    values = total.get() if isinstance(total, Evaluator) else {total.spec.key: total.get()}
    numbers = [(name, value) for name, value in values.items() if isinstance(value, float)]
    return (
        key.append_column("examples", pa.array([total.examples], pa.int64()))
        .append_column("metrics", pa.array([numbers], pa.map_(pa.string(), pa.float64())))
        .append_column("state", pa.array([total.to_bytes()], pa.binary()))
    )
