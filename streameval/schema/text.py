"""Values in messages, words that were meant, and numbers as arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os.path import commonprefix

import numpy as np

from streameval.errors import InputError

VERSION = "0.1.0"  # of the package


def number_or_none(value: object) -> float | None:
    """A real number as a float64, infinite where too large; None for anything else, booleans and strings among it."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | float | np.integer | np.floating):
        return None  # numpy counts a duration among its integers
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_number(name: str, value: object, least: int, top: float = math.inf) -> None:
    """Raise `InputError` if an argument is not an integer of at least so much."""
    if type(value) is not int or not least <= value <= top:
        raise InputError(f"{name} must be an integer of at least {least}, not {quoted(value)}")


def check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise `InputError` if an argument is not one of some strings."""
    if not isinstance(value, str) or value not in known:
        listed = ", ".join(map(repr, known))
        raise InputError(f"{name} must be one of {listed}, not {quoted(value)}{suggestion(value, known)}")


def printable(label: object) -> str:
    """A label on one line, whatever it holds."""
    try:
        string = str(label)
    except ValueError:  # Python writes integers of many thousand digits only like this
        string = f"{label:#x}"
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in string)


def quoted(value: object, limit: int = 60) -> str:
    """A short ``repr`` for messages: never fails, never floods a log."""
    try:
        string = repr(value)
    except Exception:  # a foreign __repr__ may raise anything; the message matters more
        string = f"<{type(value).__name__}>"
    return string if len(string) <= limit else string[: limit - 3] + "..."


def suggestion(word: object, known: Iterable[str], most: int = 1, cutoff: float = 0.5) -> str:
    """A hint naming the nearest known words, or nothing."""
    if not isinstance(word, str) or len(word) > 100:
        return ""
    import difflib  # only once something is wrong, so that importing the package stays quick

    near = difflib.get_close_matches(word, dict.fromkeys(known), most, cutoff)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def cut(name: str, width: int) -> str:
    """A name in no more than so many characters."""
    return name if len(name) <= width else name[: width - 1] + "…"


def cut_distinct(names: Sequence[str], width: int) -> list[str]:
    """Names in no more than so many characters, at least 8, without their middle; different names stay different."""
    tail = (width - 1) // 2
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        short = name if len(name) <= width else f"{name[: width - 1 - tail]}…{name[-tail:]}"
        groups.setdefault(short, []).append(name)
    texts = {name: name for name in names if len(name) <= width}
    used = {*texts}
    for short, group in groups.items():
        shared = commonprefix(group)  # noqa: RUF071  # of letters, which is meant
        differ = max(width // 3, len(shared.rstrip("0123456789")))
        for number, name in enumerate((name for name in group if name not in texts), 2):
            text = short if len(group) == 1 else cut(f"{name[: width // 3]}…{name[differ:]}", width)
            while text in used:
                text = f"{name[: width - 1 - len(str(number))]}…{number}"
                number += 1
            used.add(text)
            texts[name] = text
    return [texts[name] for name in names]


def number_of(count: int, noun: str) -> str:
    """How many of something, in words: "no examples", "1 example", "1,234 examples"."""
    return f"{count:,} {noun}{'s' * (count != 1)}" if count else f"no {noun}s"
