"""What pictures are drawn of: evaluators of one moment, whatever holds or makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.pages import counts_of, counts_of_slices
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
    if not (holds(source) or hasattr(source, "evaluator")):
        what = "an Evaluator, a metric or a window, or of y_true with y_pred or y_score"
        raise InputError(f"a picture is drawn of {what}, not of one {type(source).__name__}")
    if hasattr(source, "slices"):
        return dict(counts_of_slices(source, by))
    if hasattr(source, "evaluators"):
        source = source.copy().evaluators
    named = source if isinstance(source, Mapping) else {"": source}
    return {str(name): counts_of(part, "what is drawn") for name, part in named.items()}


def run_of(source: Any, y_pred: object = None, keep: Iterable[str] = ()) -> Any:
    """The only evaluator that a picture is drawn of; of slices that of all examples."""
    runs = runs_of(source.total() if y_pred is None and hasattr(source, "total") else source, y_pred, keep)
    if len(runs) != 1:
        raise InputError(f"this picture is drawn of one evaluator; choose one of {', '.join(map(repr, runs))}")
    return next(iter(runs.values()))
