"""Values as text of messages and other formats, suggestions for mistaken words, and checks of arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

import numpy as np

from streameval.errors import InputError, StreamevalError

VERSION = "0.1.0"  # of the package
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")  # how cells begin that a spreadsheet may run, and our mark
_LONG = 14_000  # bits of an integer that Python still writes: its limit is 4,300 digits
_JOINS = re.compile("(?<=[^\0-\x7f\u200c\u200d])[\u200c\u200d](?=[^\0-\x7f\u200c\u200d])")
_ALIKE = re.compile(r"-?(\d+|0x[0-9a-f]+)|True|False|None|OTHER|")  # strings that look like another kind of value


def python_value(value: Any) -> Any:
    """The Python value of a scalar of numpy or Arrow, or of an array or tensor without dimensions."""
    if isinstance(value, np.generic):
        plain = isinstance(value, np.number | np.bool_ | np.str_) and not isinstance(value, np.timedelta64)
        return value.item() if plain else value  # numpy counts a duration among its integers
    if type(value) is dict and value and value.keys() <= {False, True}:  # probabilities of River
        return value.get(True, 0.0)
    if hasattr(value, "as_py"):
        return value.as_py()
    if getattr(value, "ndim", None) != 0 or not (hasattr(value, "item") or hasattr(value, "numpy")):
        return value
    if not hasattr(value, "item"):  # as of TensorFlow
        return python_value(value.numpy())
    return None if np.ma.is_masked(value) else value.item()


def number_or_none(value: Any) -> float | None:
    """A real number as a float64, infinite if too large; None for anything else, also for booleans and strings."""
    if type(value).__name__ == "Decimal" and not value.is_snan():
        return float(value)
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | float | np.integer | np.floating):
        return None  # numpy counts a duration among its integers
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_number(
    name: str, value: object, least: int, top: float = math.inf, error: type[StreamevalError] = InputError
) -> int:
    """An argument as a Python integer; raise ``error`` unless it is an integer from ``least`` to ``top``."""
    number = value if type(value) is int else python_value(value)
    if type(number) is not int or not least <= number <= top:
        limit = f"most {top}" if type(number) is int and number > top else f"least {least}"
        raise error(f"{name} must be an integer of at {limit}, not {quoted(value)}")
    return number


def check_choice(
    name: str, value: object, known: tuple[str | None, ...], error: type[StreamevalError] = InputError
) -> None:
    """Raise ``error`` unless an argument is among the ``known`` strings, or is None and None is among them."""
    if not isinstance(value, str | None) or value not in known:
        listed = ", ".join(map(repr, known))
        raise error(f"{name} must be one of {listed}, not {quoted(value)}{suggestion(value, filter(None, known))}")


def printable(label: object) -> str:
    """A label on one line, whatever it holds; joiners between two letters or emoji stay, as Persian needs them."""
    try:
        string = str(label)
    except ValueError:  # Python writes integers of many thousand digits only like this
        string = f"{label:#x}"
    if string.isprintable():
        return string
    joins = {joint.start() for joint in _JOINS.finditer(string)}
    return "".join(mark if mark.isprintable() or at in joins else ascii(mark)[1:-1] for at, mark in enumerate(string))


def composed(string: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """A string in a form of Unicode in which a letter and its accent are one character."""
    if string.isascii():
        return string
    from unicodedata import normalize  # only for such strings, so that importing the package stays quick

    return normalize(form, string)


def quoted(value: object, limit: int = 60) -> str:
    """A short ``repr`` for messages: never fails, never floods a log."""
    try:
        string = repr(value)
    except Exception:  # a foreign __repr__ may raise anything; the message matters more
        string = f"<{type(value).__name__}>"
    string = " ".join(string.split()) if "\n" in string else string
    if len(composed(string)) < len(string):  # it would look like another string
        string = string.encode("ascii", "backslashreplace").decode()
    return string if len(string) <= limit else string[: limit - 3] + "..."


def suggestion(word: object, known: Iterable[str], most: int = 1, cutoff: float = 0.5) -> str:
    """A hint naming the nearest known words, or nothing."""
    if not isinstance(word, str) or len(word) > 100:
        return ""
    import difflib  # only once something is wrong, so that importing the package stays quick

    words = {each.casefold(): each for each in known}
    near = [*map(words.__getitem__, difflib.get_close_matches(word.casefold(), words, most, cutoff))]
    return f"; did you mean {either(quoted(each, 300) for each in near)}?" if near else ""


def either(words: Iterable[str], last: str = "or") -> str:
    """Words as a sentence lists them: ``a, b or c``."""
    return f" {last} ".join(filter(None, [", ".join((every := [*words])[:-1]), *every[-1:]]))


def common_prefix(names: Collection[str]) -> str:
    """What all names begin with."""
    ends = zip(min(names, default=""), max(names, default=""), strict=False)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))


def cut(name: str, width: int) -> str:
    """A name in no more than so many characters."""
    return name if len(name) <= width else name[: width - 1] + "…"


def width_of(name: str) -> int:
    """How many columns of a terminal a name takes: a wide letter two, a mark on another letter none."""
    if name.isascii():
        return len(name)
    from unicodedata import category, east_asian_width  # only for such names, so that importing the package stays quick

    return sum((east_asian_width(mark) in "WF") + (category(mark) not in ("Mn", "Me", "Cf")) for mark in name)


def cut_distinct(names: Sequence[str], width: int) -> list[str]:
    """Names cut in the middle to so many characters, at least 8; different names stay different."""
    rooms = {name: width * len(name) // size for name in names if (size := width_of(name)) > width}
    groups: dict[str, list[str]] = {}
    for name, room in rooms.items():
        groups.setdefault(f"{name[: room // 2]}…{name[-((room - 1) // 2) :]}", []).append(name)
    shortened = {name: name for name in names if name not in rooms}
    used = {*shortened}
    for short, group in groups.items():
        shared, room = common_prefix(group), min(rooms[name] for name in group)
        differ = max(room // 3, len(shared.rstrip("0123456789")))
        for number, name in enumerate(group, 2):
            text = short if len(group) == 1 else cut(f"{name[: room // 3]}…{name[differ:]}", room)
            while text in used:
                text = f"{name[: room - 1 - len(str(number))]}…{number}"
                number += 1
            used.add(text)
            shortened[name] = text
    return [shortened[name] for name in names]


def number_of(count: int, noun: str) -> str:
    """How many of something, in words: "no examples", "1 example", "1,234 examples"."""
    return f"{count:,} {noun}{'s' * (count != 1)}" if count else f"no {noun}s"


_TYPES = {
    "bool": "booleans", "int64": "64-bit integers", "float": "32-bit floats", "double": "64-bit floats",
    "binary": "bytes", "null": "nulls", **dict.fromkeys(("string", "large_string", "string_view"), "strings"),
}  # fmt: skip


def type_text(kind: Any) -> str:
    """A type of Arrow in words, such as "lists of strings"; a rare type keeps its name."""
    if "list" in str(kind).partition("<")[0]:
        return f"lists of {type_text(kind.value_type)}"
    if str(kind).startswith("dictionary<"):
        return type_text(kind.value_type)
    return _TYPES.get(str(kind), printable(kind))


# -- values as text of other formats ----------------------------------------------------------------------------------
# Different values have different text, which can be read back. With ``mixed``, where some values are no strings,
# strings that look like another kind of value are marked.


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


def label_lines(labels: Iterable[object]) -> list[str]:
    """Labels on one line each, all of them different; None stands for no label."""
    every = list(labels)
    mixed = any(isinstance(label, int) for label in every)
    return ["no label" if label is None else label_text(label, mixed=mixed) for label in every]


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
    from html import escape  # late, as for JSON, so that importing the package stays quick

    text = re.sub(r"[\\`*\[\]|~$]|(?<![a-z0-9])_|_(?![a-z0-9])", r"\\\g<0>", escape(text, quote=False))
    return re.sub("^ | $", "&#32;", text)


def json_content(value: object) -> Any:
    """A value as JSON can hold it: infinities and NaN become null, integers of too many digits strings."""
    import json

    try:
        return json.loads(json.dumps(value), parse_constant=lambda _: None)
    except ValueError:  # integers of more digits than Python writes
        return json.loads(json.dumps(_without_long(value)), parse_constant=lambda _: None)


def _without_long(value: Any) -> Any:
    if isinstance(value, dict):
        return {_without_long(name): _without_long(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_without_long, value)]
    return f"{value:#x}" if type(value) is int and value.bit_length() > _LONG else value


def json_text(value: object, indent: int | None = None) -> str:
    """The text of `json_content`; control characters are escaped, so that none is a command to a terminal."""
    import json

    text = json.dumps(json_content(value), ensure_ascii=False, indent=indent)
    return re.sub(r"[^ -~\n]", lambda mark: mark[0] if mark[0].isprintable() else json.dumps(mark[0])[1:-1], text)


def prometheus_label(value: str | int, *, mixed: bool = False) -> str:
    """A label for Prometheus of at most 200 characters, never empty: Prometheus drops empty labels."""
    return shortened(label_text(value, mixed=mixed), 200)


def mlflow_label(value: str | int, *, mixed: bool = False) -> str:
    """A value in characters of MLflow: all the rest become codes such as ``_x3f_``; ``_x_`` marks ambiguous ones."""
    string = value if isinstance(value, str) else printable(value)
    text = re.sub(r"[^A-Za-z0-9_. -]|_(?=x)", lambda mark: f"_x{ord(mark[0]):x}_", string)
    if not text or (mixed and _is_alike(value)):
        return f"_x_{text}"
    return text if text.strip(".") else text.replace(".", "_x2e_")


def shortened(text: str, length: int) -> str:
    """A text shorter than ``length`` as it is; any other is cut to ``length``, where a part of its SHA-256 ends it."""
    import hashlib  # only here, so that importing the package stays quick

    return text if len(text) < length else f"{text[: length - 33]}_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _visible(value: object) -> str:
    return printable(value.replace("\\", "\\\\") if isinstance(value, str) else value)


def _is_alike(value: object) -> bool:
    return isinstance(value, str) and _ALIKE.fullmatch(value) is not None
