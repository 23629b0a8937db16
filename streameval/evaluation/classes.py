"""The metric classes, each made from its entry when it is first used.

The stub beside this file, which ``docs/generate.py`` writes, is for type checkers.
"""

from __future__ import annotations

import inspect

from streameval.evaluation.metric import Metric
from streameval.metrics.catalogue import Entry, catalogue, entry_of_class
from streameval.metrics.spec import choice_text, number_text

_MADE: dict[str, type[Metric]] = {}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return [entry.class_name for entry in catalogue()]
    entry = entry_of_class(name) if name[:1].isupper() else None
    if entry is None:
        raise AttributeError(f"there is no metric class {name!r}")
    return class_of(entry)


def __dir__() -> list[str]:
    return sorted(entry.class_name for entry in catalogue())


def class_of(entry: Entry) -> type[Metric]:
    """The class of an entry."""
    body = {
        "__slots__": (),
        "__doc__": summary_of(entry),
        "__module__": "streameval",
        "__signature__": signature_of(entry),
        "_entry": entry,
    }
    if entry.class_name not in _MADE:  # of two threads that make it, one is the first
        _MADE.setdefault(entry.class_name, type(entry.class_name, (Metric,), body))
    return _MADE[entry.class_name]


def options_of(entry: Entry) -> dict[str, object]:
    """The arguments that a metric has because of the state that it is read from, with their defaults."""
    options: dict[str, object] = {"nan": "error"} if entry.scored else {}
    if entry.state == "rankings":
        options["ties"] = "shared"
    return options | dict.fromkeys(entry.arguments)


def signature_of(entry: Entry) -> inspect.Signature:
    """The keyword-only parameters of a metric's class, with its own defaults."""
    shared: dict[str, object] = {"average": entry.default, "zero_division": entry.zero_division}
    if entry.state == "decisions":
        shared["empty"] = "zero_division"
    shared |= {"labels": None, "unknown": "error", "threshold": None} | options_of(entry)
    parts = {p.name: p.default for p in entry.parameters} | shared
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in parts.items()])


def summary_of(entry: Entry, without: str = "") -> str:
    """The docstring of a metric's class; ``without`` names a parameter that it does not have."""
    averages = ", ".join(repr(average) for average in entry.averages)
    descriptions = {p.name: f"In {p.range}; {choice_text(p.default)} by default." for p in entry.parameters}
    descriptions["average"] = f"One of {averages}; {entry.default!r} by default. None gives a mapping label -> value."
    descriptions["zero_division"] = (
        "What 0/0 stands for: 0.0, 1.0, or nan, which leaves it out of means; "
        f"{number_text(entry.zero_division)} by default."
    )
    if entry.state == "decisions":
        descriptions["empty"] = (
            "What an example, or a label, with nothing true and nothing predicted counts where its value is 0/0:\n"
            '    "zero_division", "zero", "one", "nan" (a mean over it is NaN) or "drop".'
        )
    descriptions[", ".join(["labels", "unknown", "threshold", *options_of(entry)])] = "As for `Evaluator`."
    descriptions.pop(without, None)
    return "\n".join(
        [
            entry.summary,
            "",
            f"    {entry.formula}",
            "",
            f"Range [{entry.low:g}, {entry.high:g}]; {entry.direction}. Source: {entry.source}.",
            *(["", entry.notes] if entry.notes else []),
            "",
            "Parameters",
            "----------",
            *(line for name, text in descriptions.items() for line in (name, f"    {text}")),
        ]
    )
