"""Which columns of a table hold what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from streameval.errors import InputError
from streameval.schema.text import quoted

__all__ = ["Columns", "Null"]

Null: TypeAlias = Literal["error", "empty"]


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

    def __post_init__(self) -> None:
        given: object = self.by
        if isinstance(given, str):
            object.__setattr__(self, "by", (given,))
        elif isinstance(given, list):
            object.__setattr__(self, "by", tuple(given))
        for role in ("actual", "predicted", "scores", "weight", "mask"):
            name = getattr(self, role)
            if not isinstance(name, str) and (name is not None or role == "actual"):
                raise InputError(f"{role} must be the name of a column, not {quoted(name)}")
        names: object = self.by
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise InputError(f"by must be a name of a column, or several, not {quoted(self.by)}")
        if self.predicted is None and self.scores is None:
            raise InputError("neither predicted nor scores names a column; say which holds the predictions")
        if self.null not in ("error", "empty"):
            raise InputError(f"null must be 'error' or 'empty', not {quoted(self.null)}")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once: what an engine needs to scan."""
        return tuple(dict.fromkeys(name for name, _ in self.roles))

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Each of these columns with the argument that names it."""
        given = [(getattr(self, role), role) for role in ("actual", "predicted", "scores", "weight", "mask")]
        return *(pair for pair in given if pair[0] is not None), *((name, "by") for name in self.by)
