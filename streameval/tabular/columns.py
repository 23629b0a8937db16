"""The roles of the columns of a table: true labels, predictions, scores, weights and masks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np

from streameval.errors import OPTIONS, InputError, option, public, wording
from streameval.inputs.lists import mapping_of
from streameval.schema.config import NULLS, Null
from streameval.schema.keywords import explain_methods
from streameval.schema.text import check_choice, common_prefix, number_of, quoted, suggestion

Names: TypeAlias = str | Sequence[str]
OneSided: TypeAlias = Literal["error", "ignore"]

SUFFIX = "\0truth"  # ends the names of truths in a join, since both tables may have a column "labels"
SEPARATORS = ",;\t\n|/+&:#\u3001\uff0c\uff1b "  # three of them are Chinese and Japanese
_SINGLE = ("actual", "predicted", "scores", "weight", "mask", "example", "label")
WIDE = ("actual", "predicted", "scores", "mask")
_ORDERED = (list, tuple, np.ndarray)
_ROLES = {"y_true": "actual", "y_pred": "predicted", "mask": "mask", "weights": "weight", "weight": "weight"}
_WAYS = re.compile(r"for indicators give .*? or rows='indicator', for labels sets or")
_CELL = re.compile(r"^column '([^'*]*)\*([^'*]*)'(.*?) is (\S+) for label '([^']*)'")  # one label's column
_EMPTY = re.compile(" is (null|nan); .*")  # the row cannot leave such a label out
_UNSCORED = re.compile("give a number, or leave the label out(, or skip the row with --skip-bad)?")
_SLICED = re.compile(r"^where\[('[^']*')\]")
_OPENING = re.compile(rf"^({'|'.join(_ROLES)})\b(\[(\d+)\])?")


def _are_names(names: object) -> TypeGuard[tuple[str, ...]]:
    return isinstance(names, tuple) and all(isinstance(name, str) for name in names)


@public
@explain_methods
@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of the columns of a table: true labels, predictions, scores, weights and masks.

    Parameters
    ----------
    actual
        The true labels of each row: lists of labels, or lists of booleans in the order of the declared labels. In all
        of these names, ``"answer.labels"`` is a nested key, unless a column has this name.
    predicted
        The predicted labels, likewise.
    scores
        The scores: mappings label -> number, lists of (label, number), structs with a number for each label, or lists
        of numbers in the order of the declared labels; with ``predicted``, lists of numbers that go with its labels.

        If each label has a column of its own, `actual`, `predicted`, `scores` and `mask` may be a pattern such as
        ``"true_*"``, in which the star stands for the label, or several names, which are the labels.
    weight
        How much each row counts.
    mask
        The labels whose truth is unknown, in the forms of ``actual``.
    by
        The columns whose values slice the rows.
    null
        What a null list means, and one that some objects lack: ``"error"``, or ``"empty"``: a list without labels.
    sep
        The separator between labels in columns of strings, such as ``","``; a cell may also be a list as JSON, Python,
        numpy or Postgres write it. None means ``"|"`` in CSV; elsewhere it refuses strings.
    one_sided
        What to do with the column of a label that the other side has no column for: ``"error"``, or ``"ignore"`` it.
    example, label
        In a table with a row for each label of an example: the columns of the example and of the label. The columns of
        truth, predictions and scores then hold one value each.

    Examples
    --------
    >>> Columns("actual", "predicted", by="region").names
    ('actual', 'predicted', 'region')
    """

    actual: Names
    predicted: Names | None = None
    scores: Names | None = None
    weight: str | None = None
    mask: Names | None = None
    by: tuple[str, ...] = ()
    null: Null = "error"
    sep: str | None = None
    one_sided: OneSided = "error"
    example: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        for role in ("by", *WIDE):
            names: Any = getattr(self, role)
            names = names.tolist() if hasattr(names, "tolist") else names  # arrays of numpy and pandas
            names = (names,) if role == "by" and isinstance(names, str) else names
            names = tuple(names) if isinstance(names, list) else names
            if role == "by" and not _are_names(names):
                raise InputError(f"{option('by')} must be a name of a column, or several, not {quoted(names)}")
            if _are_names(names) and len({*names}) < len(names):
                raise InputError(f"{option(role)} names a column twice: {', '.join(names)}")
            one = role != "by" and isinstance(names, tuple) and len(names) == 1
            object.__setattr__(self, role, names[0] if one else names)
        for role in _SINGLE:
            name = getattr(self, role)
            several = role in WIDE and name != () and _are_names(name)
            if not several and not isinstance(name, str) and (name is not None or role == "actual"):
                raise InputError(f"{option(role)} must be the name of a column, not {quoted(name)}")
        if self.predicted is None and self.scores is None:
            raise InputError("neither predicted nor scores names a column; give one of them")
        if (self.example is None) != (self.label is None):
            both = f"{option('example')} and {option('label')} go together"
            raise InputError(f"{both}: give both, for a table with a row for each label")
        check_choice("null", self.null, NULLS)
        check_choice("one_sided", self.one_sided, ("error", "ignore"))
        sep: object = self.sep
        if sep is not None and (not isinstance(sep, str) or not sep):
            raise InputError(f"{option('sep')} must be a string of at least one character, not {quoted(sep)}")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are named, each once; `check_names` finds those that patterns stand for."""
        return tuple(dict.fromkeys(name for name, _ in self.roles))

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Each named column with the argument that names it."""
        columns = [(getattr(self, role) or (), role) for role in (*_SINGLE, "by")]
        named = [((names,) if isinstance(names, str) else names, role) for names, role in columns]
        return tuple((name, role) for names, role in named for name in names)

    def check_names(self, names: Iterable[object]) -> list[str]:
        """The columns that are read, each once, among the names of a table.

        Raises
        ------
        InputError
            If one of the columns is not there, or is there twice; or if wide columns are of different labels.
        """
        names = tuple(names)
        wide, columns = _wide(self, names), list[str]()
        for name, role in self.roles:
            if role in wide:
                columns += wide[role]
                continue
            if not (count := names.count(name)) and (outer := name.partition(".")[0]) in names:
                name, count = outer, names.count(outer)  # a struct that holds it
            if count != 1:
                raise self.missing(name, role, names)
            columns.append(name)
        return [*dict.fromkeys(columns)]

    def names_for(self, _role: str, names: Iterable[object]) -> list[str]:
        """The names of a table that a pattern may match: those without a role of their own."""
        return [name for name in map(str, names) if name not in (*self.by, self.weight)]

    def wide(self, role: str, names: Iterable[object]) -> dict[str, str] | None:
        """The label of each column of a role that has a column for each label; None for a role with a single column."""
        return _wide(self, tuple(names)).get(role)

    def labels_in(self, names: Iterable[object]) -> set[str]:
        """The labels that have columns of their own."""
        return {label for side in _wide(self, tuple(names)).values() for label in side.values()}

    def missing(self, name: str, role: str, names: Iterable[object]) -> InputError:
        """The error for a column that a table does not have once."""
        known, none = list(map(str, names)), "no column matches" if "*" in name else "there is no column"
        if (count := known.count(name)) > 1:
            return InputError(f"{count} columns are named {name!r}; give each a name of its own")
        parts = re.split("[,;] ?", name)
        if role in (*WIDE, "by") and {*parts} <= {*known}:
            lists = wording(f"give a list: {quoted(parts)}", f"repeat {option(role)} for each column")
            return InputError(f"{none} {name!r} ({option(role)}); {lists}")
        like = [one for one in known if one.startswith(name)] if role in WIDE else []
        hint = f"; did you mean {common_prefix(like) + '*'!r}?" if len(like) > 1 else suggestion(name, known)
        joinable = role == "actual" and not hint and "truth" in (OPTIONS.get() or ("truth",))
        joined = f"; {option('truth')} and {option('join')} read it from another file" * joinable
        hint = hint.replace("?", "? The columns are") or "; the columns are"
        return InputError(f"{none} {name!r} ({option(role)}){hint} {quoted(known, 300)}{joined}")

    def describe(self, message: str) -> str:
        """Turn a message about an argument of ``update_many`` into one about its column."""

        def column(match: re.Match[str]) -> str:
            role = _ROLES[match[1]]
            name = self.scores if role == "predicted" and self.scores is not None else getattr(self, role)
            return f"column {name!r}" + (f" (row {match[3]} of the batch)" if match[3] else "")

        message = _OPENING.sub(column, _WAYS.sub("for indicators give rows='indicator', for labels", message))
        message = _SLICED.sub(rf"column \1 ({option('by')})", message)
        if self.example is not None:  # a row is one label with its truth, so that it cannot be left out
            least = "give a number, such as the lowest score where the model has none"
            message = _UNSCORED.sub("give 0 or 1" if self.scores is None else least, message)
        cell = _CELL.sub(r"column '\1\5\2'\3 is \4", message)
        filled = _EMPTY.sub(" is empty; fill it, or skip the row with --skip-bad", cell)
        return cell if cell == message else wording(cell, filled)

    def scores_of(self, labels: Any, scores: Any) -> Any:
        """The scores of a row as ``update_many`` reads them; a mapping, if another column has the ``labels``."""
        if self.predicted is None:
            kinds = set(map(type, scores)) if isinstance(scores, list | tuple) else set()
            if any(issubclass(kind, str) for kind in kinds):
                forms = wording("a mapping label -> number", "an object label: number")
                forms += ", or a list of (label, number) or of numbers"
                raise InputError(f"column {self.scores!r} must hold {forms}, not {quoted(scores)}")
            return np.array(scores) if kinds == {int} else scores  # a list of integers would be read as labels
        if labels is None and scores is None:
            return None
        names = f"columns {self.predicted!r} and {self.scores!r}"
        if not (isinstance(labels, _ORDERED) and isinstance(scores, _ORDERED)):
            both = f"{quoted(labels)} and {quoted(scores)}; name only one of the two columns if they hold anything else"
            raise InputError(f"{names} must hold a list of labels and a list with the score of each, not {both}")
        if len(labels) != len(scores):
            row = f"a row of {number_of(len(labels), 'label')} and {number_of(len(scores), 'score')}"
            leave = f"leave {option('predicted')} out unless it has the label of each score"
            raise InputError(f"{names} hold {row}; {leave}")
        return mapping_of(zip(labels, scores, strict=True), f"column {self.scores!r}")


@lru_cache(maxsize=64)
def _wide(columns: Columns, names: tuple[Any, ...]) -> dict[str, dict[str, str]]:
    """For each role that has a column for each label: the label of each of these columns."""
    wide: dict[str, dict[str, str]] = {}
    for role in WIDE:
        patterns = getattr(columns, role) or ()
        if isinstance(patterns, str):
            if "*" not in patterns or patterns in names:
                continue
            patterns = (patterns,)
        labels, own = dict[str, str](), columns.names_for(role, names)
        for pattern in patterns:
            if pattern.count("*") > 1:
                raise InputError(f"column {pattern!r} ({option(role)}) has two stars; one star stands for the label")
            stems = {pattern: pattern.removesuffix(SUFFIX)}
            if "*" in pattern:
                form = re.compile(re.escape(pattern).replace(r"\*", "(.+)"), re.DOTALL)
                stems = {name: match[1] for name in own if (match := form.fullmatch(name))}
            if not stems:
                raise columns.missing(pattern, role, names)
            labels |= stems
        if len({*labels.values()}) < len(labels):
            raise InputError(f"two {option(role)} columns are of one label: {quoted([*labels])}")
        for name in labels:
            if names.count(name) != 1:
                raise columns.missing(name, role, names)
        wide[role] = labels
    roles = [role for role in ("actual", "scores" if columns.scores is not None else "predicted") if role in wide]
    every = {label for side in (wide.values() if len(roles) == 2 else ()) for label in side.values()}
    lacking = {role: sorted(every.difference(wide[role].values())) for role in roles}
    single = {*chain(*lacking.values())}
    if single and columns.one_sided == "error":
        some = [(option(role), quoted(labels, 300)) for role, labels in lacking.items() if labels]
        absent = ", and ".join(f"no {role} column for {labels}" for role, labels in some)
        advice = "as by patterns such as 'true_*' and 'pred_*', whose star stands for the label"
        if single < every:
            advice = f"or give {option('unknown', 'ignore')} to drop these"
        raise InputError(f"there is {absent}; name the columns alike, {advice}")
    return {role: {name: label for name, label in side.items() if label not in single} for role, side in wide.items()}
