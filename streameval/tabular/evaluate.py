"""Tables on one machine, larger than memory: files, queries, lazy frames, data frames, counted block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar, Unpack, overload

from streameval.errors import DependencyError, InputError, StreamevalError, option, silent, warn
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.schema.keywords import explained
from streameval.schema.text import check_number, quoted
from streameval.slices import Sliced
from streameval.tabular.columns import Columns, Names
from streameval.tabular.job import Job, JobOptions, Metrics, RowOptions, State, check_options
from streameval.tabular.rows import Block, RowError

StateT = TypeVar("StateT", bound=State)
_ROWS = 2**17  # rows of a batch: so many that the cost of a call is negligible, so few that its memory is too
_REASONS = 3


def warn_of_same(columns: Columns) -> None:
    """Warn where the truths and the predictions are in one column."""
    if role := next((role for role in ("predicted", "scores") if getattr(columns, role) == columns.actual), ""):
        same = f"{option('actual')} and {option(role)} both name {quoted(columns.actual)}"
        warn(f"{same}, so that every prediction is right; name the column of the predictions")


class Counting:
    """What a job has counted so far, a window of its last rows, and the rows that were skipped."""

    def __init__(self, job: Job, *, window: Any = None, skip: Callable[..., None] | None = None) -> None:
        self.job, self.state, self.window = job, job.fresh(), window
        self.skip = skip  # called with the number of rows that were checked so far; it may raise
        self.rows = self.skipped = self.last_skipped = 0
        self.reasons: list[str] = []
        self._labels = set[str]()
        warn_of_same(job.columns)

    def add(self, block: Block) -> None:
        """Count a block; a bad row that may not be skipped raises an error that says where the row is."""
        rows, columns = block.rows, self.job.columns
        from streameval.tabular.arrow import table_of
        from streameval.tabular.cells import check_cells

        rows = rows if isinstance(rows, list) else table_of(rows, columns)
        try:
            check_cells(rows, columns, block.sep, self.state)
        except InputError as error:
            raise InputError(block.located(str(error), 0, len(rows))) from None
        self._add(rows, 0, block)
        self.rows += len(rows)
        if self.skip is not None:
            self.skip(self, self.rows)
        names = rows[:1] if isinstance(rows, list) else [rows.column_names] * bool(rows)
        for labels in [columns.labels_in(name) for name in names if isinstance(name, list | dict)]:
            self._labels = self._labels or labels
            if other := sorted(labels ^ self._labels):
                some = f"some tables have columns for the labels {quoted(other, 300)}, but some have none"
                raise InputError(f"{block.place(0)}: {some}; give only tables with the same columns")

    def _add(self, rows: Any, first: int, block: Block) -> None:
        try:
            self._count(rows, block.sep)
        except DependencyError:
            raise
        except StreamevalError as error:
            half = len(rows) // 2
            if not half:
                self._bad(block, first, error)
                return
            for start, stop in ((0, half), (half, len(rows))):
                self._add(rows[start:stop], first + start, block)
            if self.skip is None:  # neither half is wrong, only both together
                raise type(error)(block.located(self.job.columns.describe(str(error)), first, len(rows))) from None

    def _count(self, rows: Any, sep: str | None) -> None:
        if isinstance(rows, list) and (wrong := next((row for row in rows if isinstance(row, RowError)), None)):
            raise copy(wrong)  # a raised error is in a cycle with its frames, which would hold the file open
        if arguments := self.job.arguments(rows, sep):
            self.state.update_many(**arguments)
            if self.window is not None:
                with silent():  # the state has warned already
                    self.window.update_many(**{name: value for name, value in arguments.items() if name != "where"})

    def _bad(self, block: Block, row: int, error: StreamevalError) -> None:
        reason = block.located(self.job.columns.describe(str(error)), row, column=getattr(error, "column", None))
        if self.skip is None:
            raise (InputError if isinstance(error, RowError) else type(error))(reason) from None
        self.skip(self, self.rows + row)
        self.skipped, self.last_skipped = self.skipped + 1, self.rows + row + 1
        if len(self.reasons) < _REASONS:
            self.reasons.append(reason)


@overload
def evaluate_table(
    source: object, *, actual: Names, predicted: Names | None = None, metrics: StateT, batch_size: int | None = None,
    truth: object = None, join: str | None = None, by: None = None, **options: Unpack[RowOptions],
) -> StateT: ...  # fmt: skip
@overload
def evaluate_table(
    source: object, *, actual: Names, predicted: Names | None = None, metrics: Iterable[MetricLike] | None = None,
    batch_size: int | None = None, truth: object = None, join: str | None = None, by: None = None,
    **options: Unpack[RowOptions],
) -> Evaluator: ...  # fmt: skip
@overload
def evaluate_table(
    source: object, *, actual: Names, predicted: Names | None = None, metrics: Metrics = None,
    batch_size: int | None = None, truth: object = None, join: str | None = None, by: str | Iterable[str],
    **options: Unpack[RowOptions],
) -> Sliced[Any]: ...  # fmt: skip
@explained
def evaluate_table(
    source: object, *arrays: object, actual: Names = "", predicted: Names | None = None, metrics: Metrics = None,
    batch_size: int | None = None, truth: object = None, join: str | None = None, **options: Unpack[JobOptions],
) -> State:  # fmt: skip
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

    Raises
    ------
    InputError, LabelError, MetricError
        If a file or a column is missing or cannot be read, or an argument cannot be understood.
    DependencyError
        If pyarrow is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"tags": [["cat"], ["cat", "dog"]], "guess": [["cat"], ["dog"]], "region": ["eu", "us"]})
    >>> evaluate_table(table, actual="tags", predicted="guess", metrics=["f1_micro"]).get()
    {'f1_micro': 0.8}
    >>> evaluate_table(table, actual="tags", predicted="guess", metrics=["f1_micro"], by="region").get("f1_micro")
    {'region': {'eu': 1.0, 'us': 0.6666666666666666}}
    """
    check_options("evaluate_table has", options, "batch_size", "truth", "join")
    if arrays:
        named = isinstance(arrays[0], str)
        advice = "write actual=... and predicted=..." if named else "for arrays write streameval.score(y_true, y_pred)"
        advice = "write metrics=..." if actual else advice
        raise InputError(f"evaluate_table reads one table; {advice}")
    if isinstance(actual, str) and not actual:
        raise InputError("evaluate_table needs actual=, the column of true labels")
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    return count_rows(with_truth(job, truth, join), source, batch_size=batch_size)


def with_truth(job: Job, truth: object, join: str | None) -> Job:
    """The job, changed to join its rows with true labels from another source if one is named."""
    if truth is None and join is None:
        return job
    if truth is None or join is None:
        raise InputError(f"{option('truth')} and {option('join')} go together; give both")
    if job.columns.example is not None:
        leave = f"leave {option('example')} and {option('label')}, or {option('truth')} out"
        raise InputError(f"a table with a row for each label cannot be joined; {leave}")
    from streameval.tabular.joining import Joined  # imported late, since pyarrow is optional

    return replace(job, columns=Joined.of(job.columns, truth, join))


def count_rows(job: Job, source: object, *, batch_size: int | None = None) -> State:
    """The state of all rows of a source; arguments and errors are those of `evaluate_table`."""
    if batch_size is not None:
        batch_size = check_number("batch_size", batch_size, 1)
    from streameval.tabular.arrow import ArrowError  # imported late, since pyarrow is optional
    from streameval.tabular.sources import open_source

    counting = Counting(job)
    blocks = open_source(source, job.columns, batch_size or _ROWS).blocks
    try:
        for block in blocks:
            counting.add(block)
            del block  # frees it while the next is read
    except (ArrowError, OSError) as error:
        raise InputError(f"the table cannot be read: {error}") from error
    return counting.state
