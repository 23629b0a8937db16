"""Keywords that other libraries have, and what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from streameval.errors import InputError
from streameval.schema.text import quoted, suggestion

CallT = TypeVar("CallT", bound=Callable[..., Any])

_IN_NAME = "it is part of the name of a metric, such as"
_LABELS = "write labels=[...], in the order of the columns"
_WEIGHTS = "write weights=[...], one for each example"
_WINDOW = "write size=..., a number of examples (Rolling), or period=..., a time (TimeRolling)"
ADVICE = {
    "average": f"{_IN_NAME} 'f1_macro'",
    **dict.fromkeys(("beta", "k"), f"{_IN_NAME} 'fbeta_micro(beta=2)' or 'ndcg(k=5)'"),
    "top_k": f"{_IN_NAME} 'precision_at(k=5)' or 'f1_at(k=3)'",
    "zero_division": f"{_IN_NAME} 'f1_macro(zero_division=1)'",
    **dict.fromkeys(("target_names", "classes", "num_labels", "num_classes", "n_labels"), _LABELS),
    **dict.fromkeys(("weight", "w", "sample_weight", "sample_weights"), _WEIGHTS),
    **dict.fromkeys(("window", "window_size", "maxlen", "period", "duration"), _WINDOW),
    **dict.fromkeys(
        ("alpha", "fading_factor", "decay"), "write half_life=..., a number of examples or a timedelta (Fading)"
    ),
    **dict.fromkeys(("preds", "input", "y_score", "y_prob", "y_proba", "scores"), "it is y_pred, the second argument"),
    **dict.fromkeys(("target", "truth", "actual"), "it is y_true, the first argument"),
}
"""By keyword of scikit-learn, torchmetrics or River."""

ATTRIBUTES = {
    **dict.fromkeys(("compute", "result", "forward"), "call get()"),
    "works_with": "for a loop of River wrap it: RiverMetric(...) of streameval.adapters.river",
}
"""By method of torchmetrics, Keras or River."""


def advice_on(name: str, known: Iterable[str], *, of_metric: bool = False) -> str:
    """What to write in place of a keyword that there is not, of a metric or a call; nothing where that is not known."""
    if name not in ADVICE or (of_metric and ADVICE[name].startswith(_IN_NAME)):
        return suggestion(name, known)
    return f"; {'write weight=...' if ADVICE[name] is _WEIGHTS and 'weight' in known else ADVICE[name]}"


def refuse_mistaken(call: Callable[..., object], mistaken: Mapping[str, object]) -> None:
    """Raise `InputError` for keywords that a call does not have."""
    for name in mistaken:
        parts = inspect.signature(call).parameters.values()
        hint = advice_on(
            name, [part.name for part in parts if part.name != "self" and part.kind is not part.VAR_KEYWORD]
        )
        raise InputError(f"{call.__qualname__.removesuffix('.__init__').split('.')[-1]} has no argument {name}={hint}")


def checked(call: CallT) -> CallT:
    """A call, usually a constructor, that refuses other keywords with what to write instead."""
    known = inspect.signature(call).parameters

    @wraps(call)
    def checking(*args: Any, **options: Any) -> Any:
        refuse_mistaken(call, {name: value for name, value in options.items() if name not in known})
        return call(*args, **options)

    return checking  # type: ignore[return-value]


def meant_weights(call: Callable[..., object], weights: Any, mistaken: Mapping[str, Any]) -> Any:
    """The weights of a call, which scikit-learn calls ``sample_weight``; other keywords are refused."""
    remaining = dict(mistaken)
    named = remaining.pop("sample_weight", None)
    refuse_mistaken(call, remaining)
    if named is not None and weights is not None:
        raise InputError(f"weights and sample_weight are the same; give one of them, not also {quoted(named)}")
    return weights if named is None else named


def forgiving(call: CallT) -> CallT:
    """Leave the parameter that takes the keywords of other libraries out of what help shows of a call."""
    signature = inspect.signature(call)
    parts = [part for part in signature.parameters.values() if part.kind is not part.VAR_KEYWORD]
    call.__signature__ = signature.replace(parameters=parts)  # type: ignore[attr-defined]
    return call
