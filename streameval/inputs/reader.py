"""The context in which examples are read: which column a label has, and which scores are decisions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import Any, cast

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.kernel.types import FloatArray, IntArray
from streameval.schema.config import Config
from streameval.schema.labels import Label, LabelIndex, is_unicode, normalise
from streameval.schema.text import quoted, suggestion

__all__ = ["HIDDEN", "IGNORED", "NAMES", "PLAIN", "PRED", "TRUE", "Reader", "registered"]

TRUE, PRED, HIDDEN = 1, 2, 4
"""What a positive value of an argument says of its cell; and the bits by which cells are told apart."""

NAMES = {TRUE: "y_true", PRED: "y_pred", HIDDEN: "mask"}

IGNORED = -1
"""The column of a label that ``unknown="ignore"`` drops."""

PLAIN = frozenset((str, int))
"""The types of labels that need no conversion. A bool or float may equal an int as a dict key, but is none of them."""


_FORMS = {dict, set, frozenset, list, tuple}


class Reader:
    """Turns labels into columns and scores into decisions, as a `Config` says."""

    __slots__ = (
        "_counted", "_known", "_placed", "_spelled", "_unnamed", "config", "default_threshold", "labels", "thresholds",
    )  # fmt: skip

    def __init__(self, config: Config, labels: LabelIndex, known: LabelIndex | None = None) -> None:
        """``known`` holds the declared labels if ``labels`` does not: it then registers those that are met."""
        self.config = config
        self.labels = labels
        self._known = labels if known is None else known
        self._unnamed: dict[str, int] = {}
        self._counted: str | None = None
        self._spelled = False
        self._placed: IntArray | None = None
        given = config.threshold
        self.thresholds: dict[Label, float] | None = dict(given) if isinstance(given, tuple) else None
        self.default_threshold: float | None = None if isinstance(given, tuple) else given

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are scores, to be compared with a threshold."""
        return self.config.threshold is not None

    @property
    def drops_nan(self) -> bool:
        """Whether a score that is NaN is a missing one."""
        return self.config.nan == "missing"

    @property
    def grows(self) -> bool:
        """Whether labels that were not declared are registered."""
        return self.config.labels is None or self.config.unknown == "add"

    def column(self, label: object) -> int:
        """The column of a label, after registering it if the configuration lets the label set grow."""
        self._spelled = self._spelled or isinstance(label, str)
        try:
            known = self.labels.columns.get(label) if type(label) in PLAIN else None  # type: ignore[call-overload]
        except TypeError:
            known = None
        if known is not None:
            return int(known)
        name = normalise(label)
        known = self.labels.columns.get(name)
        if known is not None:
            return known
        declared = self.config.labels
        if declared is None or self.config.unknown == "add" or name in self._known.columns:
            return self.labels.add(name)
        if self.config.unknown == "ignore":
            return IGNORED
        hint = suggestion(name, [known for known in declared if isinstance(known, str)])
        raise LabelError(
            f"label {quoted(name)} is not among the {len(declared)} declared labels{hint or ';'} "
            'declare it, or build with unknown="ignore" or unknown="add"'
        )

    def columns(self, labels: Iterable[object]) -> list[int]:
        """The columns of many labels."""
        flat = list(labels)
        if not self._all_plain(flat):
            return [self.column(label) for label in flat]
        known: dict[Any, int] = self.labels.columns
        found = list(map(known.get, flat))
        if None in found:
            self._register(flat)
            found = [known.get(label, IGNORED) for label in flat]
        return cast("list[int]", found)

    def meet(self, examples: object, most: int | None = None) -> None:
        """Register the labels of a list of dicts, sets and lists, or of so many at its beginning.

        Leaves it to others to refuse what cannot be read.
        """
        if type(examples) not in (list, tuple):
            return
        some = cast("list[list[object]]", examples)[:most]
        if not set(map(type, some)) <= _FORMS:
            return
        flat = list(chain.from_iterable(some))
        if self._all_plain(flat):
            with suppress(LabelError):
                self._register(flat)

    def _all_plain(self, labels: list[Any]) -> bool:
        kinds = set(map(type, labels))
        self._spelled = self._spelled or str in kinds
        return kinds <= PLAIN

    def _register(self, labels: list[Any]) -> None:
        """Register those of many plain labels that have no column yet."""
        known = self.labels.columns
        new = [label for label in dict.fromkeys(labels) if label not in known]
        if self.grows and is_unicode("".join([label for label in new if type(label) is str])):
            self.labels.extend(new)
        else:
            for label in new:
                self.column(label)

    def refuse_strings(self, name: str) -> None:
        """Have `refuse_mixture` raise if labels are strings: this argument counts labels 0, 1, 2 ..."""
        self._counted = self._counted or name

    def begin(self) -> None:
        """Forget which arguments had columns without names, and whether any label was a string."""
        self._unnamed.clear()
        self._counted = None
        self._spelled = False
        self._placed = None

    def spell(self) -> None:
        """Have `refuse_mixture` raise if columns have no names: a label is a string."""
        self._spelled = True

    def refuse_mixture(self) -> None:
        """Raise if columns without names, which count as 0, 1, 2 ..., stand beside labels that are strings."""
        name = next(iter(self._unnamed), self._counted)
        if name is not None and self._spelled:
            raise InputError(f"{name} has columns without names, but labels are strings here; build with labels=[...]")

    def positions(self, width: int, name: str) -> IntArray:
        """The columns of a row or matrix that does not name its labels; the same array for all of one call."""
        declared = self.config.labels
        if declared is not None:
            if width != len(declared):
                raise InputError(
                    f"{name} has {width} columns but {len(declared)} labels are declared; give one column per label"
                )
            if self._placed is None:
                if not self.grows and not len(self.labels):
                    self.labels.adopt(self._known)
                self._placed = np.arange(width) if self.labels.fixed else np.array(self.columns(declared), np.int64)
            return self._placed
        for other, given in self._unnamed.items():
            if given != width:
                raise InputError(f"{other} has {given} columns and {name} has {width}; give one column per label")
        self._unnamed[name] = width
        if self._placed is None:
            usual = self.labels.labels[:width] == list(range(width))  # told in a tenth of the time of looking them up
            self._placed = np.arange(width) if usual else np.array(self.columns(range(width)), np.int64)
        return self._placed

    def threshold(self, label: object) -> float:
        """The threshold of one label. Only asked when scores are read."""
        if self.thresholds is None:
            return 0.0 if self.default_threshold is None else self.default_threshold
        value = self.thresholds.get(normalise(label))
        if value is None:
            if self.config.unknown == "ignore":
                return 0.0  # the label is dropped, whatever its score
            raise LabelError(f"no threshold for label {quoted(label)}; give one per label")
        return value

    def threshold_row(self, columns: IntArray) -> float | FloatArray:
        """The thresholds of matrix columns."""
        if self.thresholds is None:
            return self.threshold(None)
        names = self.labels.labels
        return np.array([self.threshold(names[column]) for column in columns.tolist()], np.float64)


def registered(labels: list[object], name: str, reader: Reader) -> list[int]:
    """The columns of labels; errors name the argument that holds them."""
    try:
        return reader.columns(labels)
    except LabelError as error:
        raise LabelError(f"{name}: {error}") from None
    except TypeError:
        raise LabelError(f"{name} holds labels that cannot be hashed, of type {type(labels[0]).__name__}") from None
