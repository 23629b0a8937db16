"""The metric classes by name, each made from its entry when it is first used; type checkers read the stub."""

from streameval.evaluation.metric import class_of
from streameval.metrics.catalogue import catalogue, entry_of_class


def __getattr__(name: str) -> object:
    entry = entry_of_class(name) if name[:1].isupper() else None
    if entry is None:
        raise AttributeError(f"there is no metric class {name!r}")
    return class_of(entry)


def __dir__() -> list[str]:
    return [entry.class_name for entry in catalogue()]
