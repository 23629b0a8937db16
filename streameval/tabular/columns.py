"""Which columns of a table hold what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from streameval.errors import InputError, public
from streameval.inputs.lists import mapping_of
from streameval.schema.text import quoted, suggestion

Null: TypeAlias = Literal["error", "empty"]

_SINGLE = ("actual", "predicted", "scores", "weight", "mask")
_ORDERED = (list, tuple, np.ndarray)
_ROLES = {"y_true": "actual", "y_pred": "predicted", "mask": "mask", "weights": "weight", "weight": "weight"}
_OPENING = re.compile(rf"^({'|'.join(_ROLES)})\b(\[(\d+)\])?")


@public
@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table hold what.

    Parameters
    ----------
    actual
        The true labels of each row: lists of labels, or lists of booleans in the order of the declared labels.
    predicted
        The predicted labels, likewise.
    scores
        The scores: mappings label -> number, lists of (label, number), structs with a number for each label, or lists
        of numbers in the order of the declared labels; with ``predicted``, lists of numbers that go with its labels.
    weight
        How much each row counts.
    mask
        The labels whose truth is unknown, in the forms of ``actual``.
    by
        The columns whose values slice the rows.
    null
        What a null list means: ``"error"``, or ``"empty"``: a list without labels.
    sep
        What is between labels in columns of strings, such as ``","``; a cell may also be a list as JSON, Python, numpy
        or Postgres write it. None is ``"|"`` in files of CSV, and refuses strings elsewhere.

    Examples
    --------
    >>> Columns("actual", "predicted", by="region").names
    ('actual', 'predicted', 'region')
    """

    actual: str
    predicted: str | None = None
    scores: str | None = None
    weight: str | None = None
    mask: str | None = None
    by: tuple[str, ...] = ()
    null: Null = "error"
    sep: str | None = None

    def __post_init__(self) -> None:
        names: object = self.by
        by = (names,) if isinstance(names, str) else names
        if not isinstance(by, tuple | list) or not all(isinstance(name, str) for name in by):
            raise InputError(f"by must be a name of a column, or several, not {quoted(by)}")
        object.__setattr__(self, "by", tuple(by))
        for role in _SINGLE:
            name = getattr(self, role)
            if not isinstance(name, str) and (name is not None or role == "actual"):
                raise InputError(f"{role} must be the name of a column, not {quoted(name)}")
        if self.predicted is None and self.scores is None:
            raise InputError("neither predicted nor scores names a column; say which holds the predictions")
        if self.null not in ("error", "empty"):
            raise InputError(f"null must be 'error' or 'empty', not {quoted(self.null)}")
        sep: object = self.sep
        if sep is not None and (not isinstance(sep, str) or not sep):
            raise InputError(f"sep must be a string of at least one character, not {quoted(self.sep)}")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once: what an engine needs to scan."""
        return tuple(dict.fromkeys(name for name, _ in self.roles))

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Each of these columns with the argument that names it."""
        single = [(getattr(self, role), role) for role in _SINGLE]
        return *(pair for pair in single if pair[0] is not None), *((name, "by") for name in self.by)

    def check_names(self, names: Iterable[object]) -> None:
        """Raise `InputError` if one of the columns is not among the names of a table, or is so twice."""
        names = list(names)
        for name, role in self.roles:
            count = names.count(name)
            if count > 1:
                raise InputError(f"{count} columns are named {name!r}; give each a name of its own")
            if not count:
                raise self.missing(name, role, names)

    @staticmethod
    def missing(name: str, role: str, names: Iterable[object]) -> InputError:
        """What to raise where there is no such column."""
        known = list(map(str, names))
        hint = suggestion(name, known) or f"; the columns are {quoted(known)}"
        return InputError(f"there is no column {name!r} ({role}){hint}")

    def check_nulls(self, name: str, count: int, meaning: str) -> None:
        """Raise `InputError` if there are nulls in a column of lists, unless they stand for empty ones."""
        if count and self.null == "error":
            advice = f"drop those rows, or say null='empty', if they are {meaning}"
            raise InputError(f"column {name!r} holds {count} nulls; {advice}")

    def describe(self, message: str) -> str:
        """A message about an argument of ``update_many``, as one about the column that it came from."""

        def column(match: re.Match[str]) -> str:
            role = _ROLES[match[1]]
            name = self.scores if role == "predicted" and self.scores is not None else getattr(self, role)
            return f"column {name!r}" + (f" (row {match[3]} of the batch)" if match[3] else "")

        return _OPENING.sub(column, message)

    def pair(self, labels: Any, scores: Any) -> dict[Any, Any]:
        """The labels of a row with the scores that another column has of them."""
        names = f"columns {self.predicted!r} and {self.scores!r}"
        if not isinstance(labels, _ORDERED) or not isinstance(scores, _ORDERED):
            both = f"{quoted(labels)} and {quoted(scores)}"
            raise InputError(f"{names} must hold a list of labels and a list with the score of each, not {both}")
        if len(labels) != len(scores):
            raise InputError(f"{names} hold a row of {len(labels)} labels and {len(scores)} scores")
        return mapping_of(zip(labels, scores, strict=True), f"column {self.scores!r}")
