"""Tables on one machine, larger than memory: files, queries, lazy frames, data frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Never, Unpack

from streameval.errors import InputError
from streameval.report.progress import with_bar
from streameval.schema.text import check_number, quoted
from streameval.tabular.blocks import Counting
from streameval.tabular.columns import Names
from streameval.tabular.job import Job, JobOptions, Metrics, State

_ROWS = 2**17  # rows of a batch: enough for the cost of a call not to show, few enough to need no memory to speak of


def evaluate_table(
    source: object,
    *arrays: Never,
    actual: Names = "",
    predicted: Names | None = None,
    metrics: Metrics = None,
    batch_size: int | None = None,
    progress: bool = False,
    truth: object = None,
    join: str | None = None,
    **options: Unpack[JobOptions],
) -> State:
    """Compute metrics from the rows of a table or of files, which may be larger than memory.

    The result is new: an `Evaluator`; a metric, where ``metrics`` is one; or a `Sliced`, with ``by``.

    Parameters
    ----------
    source
        A path, a pattern such as ``"predictions/*.parquet"``, a folder, or a list of paths: files of Parquet, Arrow
        (Feather, streams, datasets that Hugging Face saved), CSV or JSON Lines, the last two also compressed by gzip.
        Or a table, record batch, reader or dataset of Arrow; a data frame of pandas or polars; a lazy frame of polars;
        a relation of DuckDB; a dataset of Hugging Face; anything else with an Arrow stream; an iterable of record
        batches, or of rows: mappings, or objects that have the columns as attributes.
    actual, predicted, metrics
        The columns of true and predicted labels, and what is read of them: as for `Job.of`.
    **options
        ``scores``, ``weight``, ``mask``, ``by``, ``null``, ``sep``, ``threshold``, ``rows``, ``labels``,
        ``unknown``, ``label_limit``, ``example`` and ``label``, as for `Job.of`.
    batch_size
        How many rows are read at a time, at most.
    truth, join
        Another source, which has the columns ``actual`` and ``mask``, and the column of the keys by which its rows are
        joined with those of ``source``. Rows without a partner are left out, and a `DataWarning` says how many.
    progress
        Whether to show a progress bar on stderr; it needs tqdm.

    Raises
    ------
    InputError, LabelError, MetricError
        If a file or a column is missing or cannot be read, or an argument cannot be understood.
    DependencyError
        If pyarrow is not installed; or tqdm, with ``progress=True``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"tags": [["cat"], ["cat", "dog"]], "guess": [["cat"], ["dog"]], "region": ["eu", "us"]})
    >>> evaluate_table(table, actual="tags", predicted="guess", metrics=["f1_micro"]).get()
    {'f1_micro': 0.8}
    >>> evaluate_table(table, actual="tags", predicted="guess", metrics=["f1_micro"], by="region").get("f1_micro")
    {'region': {'eu': 1.0, 'us': 0.6666666666666666}}
    """
    if arrays:
        raise InputError("evaluate_table reads one table; for arrays write streameval.score(y_true, y_pred, metrics)")
    if actual == "":
        raise InputError("evaluate_table needs actual=, the column of true labels")
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    if truth is not None or join is not None:
        job = with_truth(job, truth, join)
    return count_rows(job, source, batch_size=batch_size, progress=progress)


def with_truth(job: Job, truth: object, join: str | None) -> Job:
    """The job of rows whose true labels are in another source."""
    if truth is None or join is None:
        raise InputError("truth and join go together: give both, where the true labels are in a table of their own")
    if job.columns.example is not None:
        raise InputError("a table with a row for each label cannot be joined; leave example and label, or truth out")
    from streameval.tabular.joining import Joined  # imported late, since pyarrow is optional

    return replace(job, columns=Joined.of(job.columns, truth, join))


def count_rows(job: Job, source: object, *, batch_size: int | None = None, progress: bool = False) -> State:
    """What a job counts of a source; arguments and errors are those of `evaluate_table`."""
    if batch_size is not None:
        check_number("batch_size", batch_size, 1)
    if not isinstance(progress, bool):
        raise InputError(f"progress must be True or False, not {quoted(progress)}")
    from streameval.tabular.arrow import ArrowError  # imported late, since pyarrow is optional
    from streameval.tabular.sources import open_source

    table = open_source(source, job.columns, batch_size or _ROWS)
    counting = Counting(job)
    blocks = table.blocks
    if progress:
        blocks = with_bar(blocks, table.rows(), " rows", size=lambda block: len(block.rows))
    try:
        for block in blocks:
            counting.add(block)
            del block  # while the next is read
    except (ArrowError, OSError) as error:
        raise InputError(f"the table cannot be read: {error}") from error
    return counting.state
