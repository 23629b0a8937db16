"""Blocks of rows, from wherever they come, and what counts them: a row that is refused is named by its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streameval.errors import DependencyError, InputError, StreamevalError, silent
from streameval.schema.text import quoted
from streameval.tabular.job import Job

_REASONS = 3


class RowError(InputError):
    """A row that cannot be read, and perhaps at which of its characters, from 1."""

    def __init__(self, text: str, column: int | None = None) -> None:
        super().__init__(text)
        self.column = column


class EmptyError(InputError):
    """A file of text that holds nothing, not even the names of its columns."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows: a table or data frame, or a list of objects, in which a `RowError` stands for a row."""

    rows: Any
    place: Callable[[int], str]  # where a row is, such as ``file.jsonl:3``
    size: int = 0  # bytes of the file that it takes
    sep: str | None = None  # what is between labels in a cell of text, if nobody said it


class Counting:
    """What a job has counted so far, a window of its last rows, and the rows that were skipped."""

    def __init__(self, job: Job, *, window: Any = None, skip: Callable[..., None] | None = None) -> None:
        self.job, self.state, self.window = job, job.fresh(), window
        self.skip = skip  # called with a number of rows of which the bad ones are counted, it may raise
        self.rows = self.skipped = self.last_skipped = 0
        self.reasons: list[str] = []
        self._looked, self._labels = False, set[str]()

    def add(self, block: Block) -> None:
        """Count a block; a bad row that is not to be skipped is an error that has its place."""
        rows, columns = block.rows, self.job.columns
        if not isinstance(rows, list):
            from streameval.tabular.arrow import check_cells, table_of

            rows = table_of(rows, columns)
            if not self._looked:
                self._looked = True
                check_cells(rows, columns, block.sep)
        self._add(rows, 0, block)
        self.rows += len(rows)
        if self.skip is not None:
            self.skip(self, self.rows)
        names = rows[:1] if isinstance(rows, list) else [rows.column_names] * bool(rows)
        for labels in [columns.labels_in(name) for name in names if isinstance(name, list | dict)]:
            self._labels = self._labels or labels
            if other := sorted(labels ^ self._labels):
                some = f"some tables have columns for the labels {quoted(other, 300)}, but some have none"
                raise InputError(f"{block.place(0)}: {some}; give those that have the same columns")

    def _add(self, rows: Any, first: int, block: Block) -> None:
        try:
            self._count(rows, block.sep)
        except DependencyError:
            raise
        except StreamevalError as error:
            half = len(rows) // 2
            if not half:
                self._bad(block.place(first), self.rows + first + 1, error)
                return
            for start, stop in ((0, half), (half, len(rows))):
                self._add(rows[start:stop], first + start, block)
            if self.skip is None:  # only together they are wrong
                raise type(error)(self.job.columns.describe(str(error))) from None

    def _count(self, rows: Any, sep: str | None) -> None:
        if isinstance(rows, list) and (wrong := next((row for row in rows if isinstance(row, RowError)), None)):
            raise wrong
        if arguments := self.job.arguments(rows, sep):
            self.state.update_many(**arguments)
            if self.window is not None:
                with silent():  # of what the state has warned
                    self.window.update_many(**{name: value for name, value in arguments.items() if name != "where"})

    def _bad(self, place: str, rows: int, error: StreamevalError) -> None:
        text = self.job.columns.describe(str(error)).replace(" (row 0 of the batch)", "")
        column = getattr(error, "column", None)
        reason = f"{place}{'' if column is None else f':{column}'}: {text}"
        if self.skip is None:
            raise (InputError if isinstance(error, RowError) else type(error))(reason) from None
        self.skip(self, rows - 1)
        self.skipped, self.last_skipped = self.skipped + 1, rows
        if len(self.reasons) < _REASONS:
            self.reasons.append(reason)
