"""Values as text of other formats, a function for each: different values have different text, and it can be read back.

With ``mixed``, where some values are no strings, strings that look like another kind of value are marked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from html import escape

from streameval.schema.text import printable

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")  # how a cell begins that a spreadsheet may run; and our own mark
_ALIKE = re.compile(r"-?(\d+|0x[0-9a-f]+)|True|False|None|OTHER|")  # strings that look like another kind of value


def csv_cell(value: object, *, raw: bool = False, typed: bool = False) -> str:
    r"""A cell of CSV: ``'`` before a string that looks like a formula, control characters as ``\x1b``, ``\`` doubled.

    With ``typed``, where no other column says the kind of a value, ``'`` stands before strings such as ``7`` too, and
    None has a word. With ``raw`` strings stay as they are. Numbers always do.
    """
    if not isinstance(value, str):
        return "" if value is None and not typed else printable(value)
    if raw:
        return value
    return "'" * (value.startswith(_FORMULAS) or (typed and _is_alike(value))) + _visible(value)


def label_text(value: object, *, mixed: bool = False) -> str:
    """A label on one line, as in CSV, but strings that are marked, empty, or begin with ``'`` stand within ``'``."""
    text = _visible(value)
    return f"'{text}'" if text[:1] in ("", "'") or (mixed and _is_alike(value)) else text


def scope_text(where: Mapping[str, object], *, mixed: bool) -> str:
    """The values of a slice, such as ``region=us``; strings that could be taken for more stand within ``'``."""

    def word(value: object) -> str:
        if not isinstance(value, str):
            return printable(value)
        plain = value.strip() == value != "" and not re.search("[=,'\\[\\]]", value)
        return value if plain and not (mixed and _is_alike(value)) else "'" + value.replace("'", "''") + "'"

    return ",".join(f"{word(name)}={word(value)}" for name, value in where.items())


def markdown_cell(text: str) -> str:
    """A cell of a table in Markdown that shows a text: no markup, no HTML, and spaces at its ends."""
    text = re.sub(r"[\\`*\[\]|~$]|(?<![a-z0-9])_|_(?![a-z0-9])", r"\\\g<0>", escape(text, quote=False))
    return re.sub("^ | $", "&#32;", text)


def visible_json(text: str) -> str:
    """JSON with the same content, whose strings show every character, so that none is a command to a terminal."""
    return re.sub(r"[^ -~\n]", lambda mark: mark[0] if mark[0].isprintable() else json.dumps(mark[0])[1:-1], text)


def prometheus_label(value: str | int, *, mixed: bool = False) -> str:
    """A label for Prometheus, to which an empty one is none: at most 200 characters."""
    return shortened(label_text(value, mixed=mixed), 200)


def mlflow_label(value: str | int, *, mixed: bool = False) -> str:
    """A value in characters that MLflow allows; others are their code point, such as ``_x3f_``. ``_x_`` is a mark."""
    string = value if isinstance(value, str) else printable(value)
    text = re.sub(r"[^A-Za-z0-9_. -]|_(?=x)", lambda mark: f"_x{ord(mark[0]):x}_", string)
    if not text or (mixed and _is_alike(value)):
        return f"_x_{text}"
    return text if text.strip(".") else text.replace(".", "_x2e_")


def shortened(text: str, length: int) -> str:
    """A text of less than so many characters; any other is cut to so many, the last of which are of its SHA-256."""
    return text if len(text) < length else f"{text[: length - 33]}_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _visible(value: object) -> str:
    return printable(value.replace("\\", "\\\\") if isinstance(value, str) else value)


def _is_alike(value: object) -> bool:
    return isinstance(value, str) and _ALIKE.fullmatch(value) is not None
