"""One state for each key, in a data frame: for more keys than a driver wants to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import BinaryType, DoubleType, LongType, MapType, StringType, StructField, StructType

from streameval.adapters.spark.frames import check, mapped
from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.metric import Metric
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.slices import Sliced
from streameval.tabular.columns import Null
from streameval.tabular.job import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["evaluate_by_key"]

_MADE = ("examples", "metrics", "state")
_AT_ONCE = 100_000
"""After how many rows a worker sends its states on. There are no more keys than rows, so its memory is bounded."""


def evaluate_by_key(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    keys: str | Iterable[str],
    metrics: Iterable[MetricLike] | Evaluator | Metric | None = None,
    scores: str | None = None,
    weight: str | None = None,
    mask: str | None = None,
    null: Null = "error",
    threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
) -> DataFrame:
    """Count the rows of each key: states per partition and key, which alone are shuffled, merged per key.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    keys
        One column, or several: strings, integers, booleans; null is a key too.
    metrics, actual, predicted, scores, weight, mask, null, threshold
        As for `evaluate`.

    Returns
    -------
    DataFrame
        The columns of the keys; ``examples bigint``; ``metrics map<string, double>``, without those that have one value
        for each label; ``state binary``, which `streameval.Evaluator.from_bytes` reads. It is computed when an action
        asks for it.

    Raises
    ------
    InputError, LabelError, MetricError
        If an argument cannot be used, or a column is missing or of a wrong type. What only rows can tell is raised by
        the action, within an error of Spark.

    Examples
    --------
    >>> evaluate_by_key(df, "actual", "predicted", keys="user").orderBy("examples").show()  # doctest: +SKIP
    """
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names or set(names) & set(_MADE):
        raise InputError(f"keys is {quoted(keys)}; name one column or more, none of them {' or '.join(_MADE)}")
    job = Job.of(
        metrics,
        actual=actual,
        predicted=predicted,
        scores=scores,
        weight=weight,
        mask=mask,
        null=null,
        threshold=threshold,
    )
    fresh = job.fresh()
    if isinstance(fresh, Sliced):
        raise InputError(f"metrics is a Sliced by {quoted(fresh.by)}; give what it is of, and its names as keys")
    cross = [names] if len(names) > 1 else []
    parts = Job.of(
        Sliced(fresh, by=names, cross=cross, most=2**62),
        actual=actual,
        predicted=predicted,
        scores=scores,
        weight=weight,
        mask=mask,
        null=null,
    )
    check(df, parts)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        held, rows = parts.fresh(), 0
        for batch in batches:
            parts.add(held, batch)
            rows += batch.num_rows
            if rows >= _AT_ONCE:
                yield _by_key(held, names, batch.schema)
                held, rows = parts.fresh(), 0
        if rows:
            yield _by_key(held, names, batch.schema)

    def merge(group: Any) -> Any:
        total = job.merged(group.column("state").to_pylist())
        return _answer(group.slice(0, 1).drop_columns(["state"]), total)

    types = {field.name: field.dataType for field in df.schema.fields}
    key_fields = [StructField(f"key{place}", types[name]) for place, name in enumerate(names)]
    state = StructField("state", BinaryType())
    sent = StructType([*key_fields, state])
    read = [StructField("examples", LongType()), StructField("metrics", MapType(StringType(), DoubleType()))]
    made = mapped(df, parts.columns.names, count, sent).groupBy(*(field.name for field in key_fields))
    return made.applyInArrow(merge, StructType([*key_fields, *read, state])).toDF(*names, *_MADE)


def _by_key(held: Any, names: tuple[str, ...], schema: Any) -> Any:
    import pyarrow as pa

    found = held.slices(names[0] if len(names) == 1 else names)
    columns = [pa.array([part.where[name] for part in found], schema.field(name).type) for name in names]
    states = pa.array([part.evaluator.to_bytes() for part in found], pa.binary())
    return pa.RecordBatch.from_arrays(
        [*columns, states], names=[*(f"key{place}" for place in range(len(names))), "state"]
    )


def _answer(key: Any, total: Any) -> Any:
    import pyarrow as pa

    values = total.get() if isinstance(total, Evaluator) else {total.spec.key: total.get()}
    plain = [(name, value) for name, value in values.items() if isinstance(value, float)]
    return (
        key.append_column("examples", pa.array([total.examples], pa.int64()))
        .append_column("metrics", pa.array([plain], pa.map_(pa.string(), pa.float64())))
        .append_column("state", pa.array([total.to_bytes()], pa.binary()))
    )
