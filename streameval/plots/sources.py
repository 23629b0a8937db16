"""What pictures are drawn of: evaluators of one moment, whatever holds or makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.escaping import label_text
from streameval.schema.text import quoted


def holds(source: object) -> bool:
    """Whether something counted examples, so that it comes without ``y_pred``."""
    return isinstance(source, Mapping) or hasattr(source, "_guard")


def runs_of(
    source: Any, y_pred: object = None, keep: Iterable[str] = (), *, by: str | tuple[str, ...] | None = None
) -> dict[str, Any]:
    """Evaluators and metrics by name, each of one moment; a single one has the name "".

    Of arrays an evaluator that counted their examples, with these states.
    """
    if y_pred is not None:
        if holds(source):
            raise InputError(f"y_pred and y_score go with y_true; leave {quoted(y_pred)} out")
        ev = Evaluator([], keep=keep) if keep else Evaluator()
        ev.update_many(source, y_pred)
        return {"": ev}
    if isinstance(source, Mapping):
        parts = [(str(name), runs_of(part)) for name, part in source.items()]
        return {f"{name} {own}".strip(): run for name, runs in parts for own, run in runs.items()}
    if hasattr(source, "slices"):
        return {where_text(part.where): part.evaluator for part in source.slices(by)}
    if hasattr(source, "evaluators"):
        return runs_of(source.copy().evaluators)
    if hasattr(source, "evaluator"):  # a closed window, or what waits
        return runs_of(source.evaluator)
    for verb in ("snapshot", "total", "copy"):
        if hasattr(source, verb) and hasattr(run := getattr(source, verb)(), "per_label"):
            return {"": run}
    raise InputError(
        f"a picture is drawn of an Evaluator, a metric, a window, or y_true and y_pred, not of {quoted(source)}"
    )


def run_of(source: Any, y_pred: object = None, keep: Iterable[str] = ()) -> Any:
    """The only evaluator that a picture is drawn of; of slices that of all examples."""
    runs = runs_of(source.total() if y_pred is None and hasattr(source, "total") else source, y_pred, keep)
    if len(runs) != 1:
        raise InputError(f"this picture is drawn of one evaluator; choose one of {', '.join(map(repr, runs))}")
    return next(iter(runs.values()))


def where_text(where: Mapping[str, object]) -> str:
    """What the examples of a slice have in common."""
    return ", ".join(f"{name} = {label_text(value, mixed=True)}" for name, value in where.items())
