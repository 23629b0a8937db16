"""The column of each label, and the threshold of each column."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, cast

import numpy as np

from streameval.errors import InputError, LabelError, wording
from streameval.kernel.commit.numpy import Part
from streameval.kernel.types import FloatArray, IntArray
from streameval.schema.config import Config, Null
from streameval.schema.input_notes import InputNotes, notes_of
from streameval.schema.labels import Key, Label, LabelIndex, distinct, is_unicode, key_of, normalise
from streameval.schema.text import number_of, printable, quoted, suggestion

TRUE, PRED, MASK = 1, 2, 4  # the bit of a cell that a positive value of an argument sets
NAMES = {TRUE: "y_true", PRED: "y_pred", MASK: "mask"}
SIDES = {"y_true": ("y_true", "the true labels"), "y_pred": ("y_pred", "the predictions"), "mask": ("mask", "the mask")}
LABELS = "labels=[...]", "--labels [...]"
DECLARE = f"construct with {LABELS[0]}", f"give {LABELS[1]}"  # where columns have no names
EXAMPLES = 4096  # Python objects of any size that are read at a time
IGNORED = -1  # the column of a label that ``unknown="ignore"`` drops

_PLAIN = frozenset((str, int))  # labels that need no conversion; a bool or float may equal an int as a dict key
_COLLECTIONS = {dict, set, frozenset, list, tuple}


class Reader:
    """Finds the columns and thresholds of labels, as a `Config` says."""

    def __init__(
        self, config: Config, labels: LabelIndex, known: LabelIndex | None = None, notes: InputNotes | None = None
    ) -> None:
        """``known`` holds the declared labels if ``labels`` does not, but registers only those that occur."""
        self._notes = notes
        self.config, self.labels, self._known = config, labels, labels if known is None else known
        self.reset()
        self.at_once = EXAMPLES
        self.again = bool(config.states)  # cells are read more than once: arrays that may change meanwhile are copied
        self.keeps_scores = bool(config.options) and config.scored  # for a state that reads the scores themselves
        self.reads_scores = config.threshold is not None  # numbers in ``y_pred`` are compared with it
        self.drops_nan = config.nan == "missing"  # scores that are NaN are missing ones
        self.grows = config.labels is None or config.unknown == "add"  # labels that were not declared are registered
        threshold = config.threshold
        of_keys = {key_of(label): value for label, value in threshold} if isinstance(threshold, tuple) else None
        self._thresholds: dict[Key, float] | None = of_keys
        self._threshold: float = 0.0 if threshold is None or isinstance(threshold, tuple) else threshold

    @property
    def notes(self) -> InputNotes:
        """The notes of the object that counts."""
        return notes_of(self.labels.guard) if self._notes is None else self._notes

    def column(self, label: object) -> int:
        """The column of a label, after registering it if the configuration lets the label set grow."""
        plain: Any = label if type(label) in _PLAIN else normalise(label)
        self.has_strings |= isinstance(plain, str)
        known = self.labels.columns.get(plain)
        if known is not None:
            return known
        name, declared = normalise(label), self.config.labels
        if declared is None or self.grows or key_of(name) in self._known.columns:
            self._check_strings(isinstance(name, str))
            return self.labels.add(name)
        if self.config.unknown == "ignore":
            return IGNORED
        strings = [known for known in declared if isinstance(known, str)]
        if isinstance(name, int) and len(strings) == len(declared):
            integer = f"label {quoted(name)} is an integer, but labels are declared as strings"
            rows = wording("arrays for columns", "with --rows indicator lists of 0 and 1")
            raise LabelError(f"{integer}; give names, or {rows} in the order of the labels")
        hint = suggestion(name, strings)
        one = len(declared) == 1
        which = f"the declared label {quoted(declared[0])}" if one else f"among the {len(declared):,} declared labels"
        missing = f"label {quoted(name)} is not {which}{hint or ';'}"
        unknown = 'construct with unknown="ignore" or unknown="add"', "give --unknown ignore or --unknown add"
        raise LabelError(f"{missing} declare it, or {wording(*unknown)}")

    def columns(self, labels: Iterable[object]) -> list[int]:
        flat: list[Any] = list(labels)
        if not self._all_plain(flat):
            return [self.column(label) for label in flat]
        columns = self.labels.columns_of(flat)
        if None in columns:
            self._register([label for label, column in zip(flat, columns, strict=True) if column is None])
            columns = [IGNORED if column is None else column for column in self.labels.columns_of(flat)]
        return cast("list[int]", columns)

    def columns_in(self, labels: Iterable[object], name: str) -> list[int]:
        """The columns of many labels; errors name the argument that holds them."""
        try:
            return self.columns(labels)
        except LabelError as error:
            raise named(error, name) from None

    def register(self, examples: list[Any]) -> None:
        """Register the labels of dicts, sets and lists; never raises."""
        if set(map(type, examples)) <= _COLLECTIONS:
            flat = list(chain.from_iterable(examples))
            if self._all_plain(flat):
                with suppress(InputError):
                    self.columns(flat)

    def _all_plain(self, labels: list[Any]) -> bool:
        kinds = set(map(type, labels))
        self.has_strings |= str in kinds
        return kinds <= _PLAIN

    def _register(self, new: list[Any]) -> None:
        """Register plain labels that have no column yet."""
        strings = [label for label in new if type(label) is str]
        self._check_strings(bool(strings))
        if self.grows and is_unicode("".join(strings)):
            self.labels.register(new)
        else:
            for label in distinct(new):
                self.column(label)

    def reset(self) -> None:
        """Forget what was noted of the arguments of a call."""
        self._unnamed: dict[str, int] = {}
        self.samples: dict[str, Any] = {}
        self.noted = 0  # the number of examples that `samples` describe
        self.integers: str | None = None  # the argument of this call whose labels are 0, 1, 2 ...
        self.has_strings: bool = False  # whether a label of this call is a string
        self._positions: IntArray | None = None

    def _check_forms(self, notes: InputNotes) -> None:
        """Raise if columns without names, which count as 0, 1, 2 ..., are mixed with labels that are strings."""
        name = next(iter(self._unnamed), self.integers)
        if name is not None and (self.has_strings or notes.forms.strings):
            values = number_of(self._unnamed[name], "value") if name in self._unnamed else "values"
            unnamed = f"{name} holds rows of {values} without label names, but the labels are strings"
            raise InputError(f"{unnamed}; {wording(*DECLARE)}")
        self._check_strings(self.has_strings)

    def _check_strings(self, are_strings: bool) -> None:
        """Raise if labels are strings but columns without names were counted, before a string is registered."""
        if are_strings and self.config.labels is None and self.notes.forms.width is not None:
            unnamed = "labels are strings, but columns without names were counted before, as the labels 0, 1, 2 ..."
            raise InputError(f"{unnamed}; {wording(*DECLARE)}")

    def check_label_types(self) -> None:
        """Raise as `confirm` does, and warn of rows that are narrower than those before."""
        if self.config.labels is not None:
            return
        notes, name = self.notes, next(iter(self._unnamed), None)
        self._check_forms(notes)
        width = max(self._unnamed.values(), default=0)
        before = notes.forms.width or 0
        if width < before and self._unnamed:
            narrow = f"{name} has {number_of(width, 'column')} without names, but rows before had {before}"
            absent = f"labels from {width} on are not in these examples"
            advice = f"{wording(*DECLARE)}, so that each row covers all of them"
            notes.warn("width", f"{narrow}: {absent}; {advice}")

    def note(self, examples: int) -> None:
        """Check the labels of the call against those counted before; note how many examples it held."""
        self.check_label_types()
        self.noted = examples

    def confirm(self) -> list[Part]:
        """Prepare to note examples and forms; raise if forms conflict with those counted before. The guard is held."""
        parts = [self.notes.prepare_take(self.samples, self.noted)] if self.samples else []
        if self.config.labels is not None or not (self.has_strings or self._unnamed or self.integers):
            return parts
        notes, before = self.notes, self.notes.forms
        self._check_forms(notes)
        width = max(before.width or 0, *self._unnamed.values(), 0)
        after = before._replace(strings=True, unsure=False) if self.has_strings else before._replace(width=width)
        return parts if after == before else [*parts, notes.cell.prepare_store(after)]

    def positions(self, width: int, name: str) -> IntArray:
        """The columns of a row or matrix that does not name its labels; the same array for all of one call."""
        declared = self.config.labels
        if declared is not None:
            if width != len(declared):
                known = number_of(len(declared), "declared label")
                widths = f"{name} has {number_of(width, 'column')} for {known}"
                raise InputError(f"{widths}; give one column per label")
            if self._positions is None:
                if not self.grows and not len(self.labels):
                    self.labels.adopt(self._known)
                fixed = self.labels.fixed
                self._positions = self.labels.order()[:width] if fixed else np.array(self.columns(declared), np.int64)
            return self._positions
        for other, columns in self._unnamed.items():
            if columns != width and other == name:
                rows = f"{name} has rows of {number_of(columns, 'column')} and of {width}"
                raise InputError(f"{rows}; an array is one row of indicators: for labels give lists or sets")
            if columns != width:
                widths = wording(f" and {name} has {width}", f", but there are {width} in {wording(*SIDES[name])}")
                raise InputError(f"{other} has {number_of(columns, 'column')}{widths}; give one column per label")
        self._unnamed[name] = width
        if self._positions is None:
            numbers, fresh = list[Label](range(width)), not len(self.labels)
            if fresh and 0 < width == len(self._known) and self._known.labels == numbers:
                copied = self._known.copy()  # ten times as fast as registering them
                copied.bound(self.labels.limit, self.labels.check_beyond)
                self.labels.adopt(copied)
            elif fresh:
                self.labels.register(numbers)  # three times as fast as label by label
            usual = fresh or self.labels.labels[:width] == numbers  # ten times as fast as looking them up
            self._positions = np.arange(width) if usual else np.array(self.columns(range(width)), np.int64)
        return self._positions

    def threshold(self, label: object) -> float:
        """The threshold of one label; only called when scores are compared."""
        if self._thresholds is None:
            return self._threshold
        value = self._thresholds.get(key_of(normalise(label)))
        if value is None:
            unnamed = isinstance(label, int) and not any(isinstance(key, int) for key in self._thresholds)
            advice = f"{wording(*DECLARE)}, which name columns" if unnamed else "give one per label"
            if unnamed and (string := printable(label)) in self._thresholds:
                way = wording("give that of the integer, not", "the file has that")
                files = wording("", "; write integers as in files of 'streameval thresholds --save'")
                advice = f"{way} of the string {quoted(string)}{files}"
            raise LabelError(f"no threshold for label {quoted(label)}; {advice}")
        return value

    def threshold_row(self, columns: IntArray) -> float | FloatArray:
        if self._thresholds is None:
            return self._threshold
        names = self.labels.labels
        return np.array([self.threshold(names[column]) for column in columns.tolist()], np.float64)


class Argument:
    """An argument, and how it is read; a matrix without column names takes those of the data ``frames``."""

    def __init__(
        self, role: int, reader: Reader, frames: Sequence[list[object]] = (), many: bool = True, null: Null = "error"
    ) -> None:
        self.role, self.reader, self.frames, self.name, self.many = role, reader, frames, NAMES[role], many
        self.null = null  # what a missing example means
        self.lists = "{}"  # for messages: the expression that makes lists of it
        self.position: int | None = None  # of the present example, if examples are read one by one
        self.compared = role == PRED and reader.reads_scores  # its numbers are compared with a threshold
        self.scored = role == PRED and reader.keeps_scores  # a state reads its scores
        self.rows = reader.config.rows
        self.sample: Any = None  # notes examples, if some are to be noted
        # Whether [1, 0] may be indicators; the positions of such lists, and of rows of two; the width of a matrix.
        self.pairs = self.rows is None and len(reader.config.labels or "??") == 2
        self.turned, self.twos, self.width = deque[tuple[int, Any]](), set[int](), 0

    def at(self, position: int | None) -> str:
        """The name of an example in messages."""
        return f"{self.name}[{position}]" if self.many and position is not None else self.name

    @property
    def place(self) -> str:
        """The name of the present example in messages, or of the argument."""
        return self.at(self.position)

    def columns(self, width: int) -> IntArray:
        """The columns of a matrix: those of the data frames in other arguments, or by position."""
        if not self.frames:
            return self.reader.positions(width, self.name)
        reader, frames = self.reader, [frame for frame in self.frames if len(frame) == width]
        orders = [reader.columns_in(frame, self.name) for frame in frames]
        if width == len(reader.config.labels or ()):
            orders.append(reader.positions(width, self.name).tolist())
        if not orders:
            columns = number_of(width, "column")
            widths = f"{self.name} has {columns} but the data frame of the other argument has {len(self.frames[0])}"
            raise InputError(f"{widths}; give the same columns")
        if any(order != orders[0] for order in orders):
            sources = "the data frame and of labels=" if len(frames) < len(orders) else "the data frames"
            columns = f"{self.name} has no column names, and those of {sources} are in different orders"
            raise InputError(f"{columns}; give {self.name} as a data frame too")
        return np.array(orders[0], np.int64)

    def names(self, columns: IntArray) -> list[Any]:
        """The labels of columns, without ignored ones."""
        names = self.reader.labels.labels
        return [names[column] for column in columns.tolist() if column != IGNORED]


def named(error: LabelError, name: str) -> LabelError:
    """The same error, with the name of the argument that holds the label."""
    message = str(error)
    return error if message.startswith(name) else LabelError(f"{name}: {message}")
