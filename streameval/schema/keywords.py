"""Keywords that other libraries have, and what to write instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypedDict, TypeVar

from streameval.errors import InputError, MetricError
from streameval.schema.text import number_of, quoted, suggestion

CallT = TypeVar("CallT", bound=Callable[..., Any])
KindT = TypeVar("KindT", bound=type)


class NoKeywords(TypedDict):
    """Type of keywords that a call does not have: type checkers refuse them, and suggest similar ones."""


_IN_NAME = "it is part of the name of a metric, such as"
_LABELS = "write labels=[...], in the order of the columns"
_WEIGHTS = "write weights=[...], one for each example"
_WINDOW = "Rolling takes size=..., a number of examples, and TimeRolling period=..., a time"
_FADING = "write half_life=..., a number of examples or a timedelta (Fading)"
_OWNERS = {
    "Evaluator": ("keep", "label_limit", "labels", "nan", "rows", "threshold", "ties", "unknown"),
    "update of Sliced": ("where",),
    "update of TimeRolling": ("t",),
    "update_many of TimeRolling": ("times",),
}
ADVICE = {
    **{name: f"{owner} takes {name}=..." for owner, names in _OWNERS.items() for name in names},
    "every": "Checkpointer takes every=..., and so does Trace",
    "average": f"{_IN_NAME} 'f1_macro'",
    **dict.fromkeys(("beta", "k"), f"{_IN_NAME} 'fbeta_micro(beta=2)' or 'ndcg(k=5)'"),
    **dict.fromkeys(("top_k", "topk"), f"{_IN_NAME} 'precision_at(k=5)' or 'f1_at(k=3)'"),
    "ignore_index": "unknown truths are NaN in y_true, or true in mask=",
    "task": "every metric is multi-label; leave it out",
    "print_every": "iter_progressive_evaluate takes step=...",
    "yield_predictions": "iter_progressive_evaluate takes prediction=True",
    "zero_division": f"{_IN_NAME} 'f1_macro(zero_division=1)'",
    **dict.fromkeys(("target_names", "classes", "class_names", "num_labels", "num_classes", "n_labels"), _LABELS),
    **dict.fromkeys(("weight", "w", "sample_weight", "sample_weights"), _WEIGHTS),
    **dict.fromkeys(("window", "window_size", "size", "period", "duration"), _WINDOW),
    **dict.fromkeys(("alpha", "fading_factor", "decay"), _FADING),
}
"""Advice by keyword of another class, of scikit-learn, torchmetrics or River."""

_MEANT = {
    **dict.fromkeys(("y_pred", "preds", "input", "y_score", "y_prob", "y_proba", "scores", "pred"), "y_pred"),
    **dict.fromkeys(("y_true", "target", "truth", "actual"), "y_true"),
    **dict.fromkeys(("by", "group", "groups", "slice", "slices", "where"), "where"),
    "labels": "label",
    "avg": "average",
    "every": "size",
    **dict.fromkeys(("delimiter", "separator"), "sep"),
    **dict.fromkeys(("t", "time", "times", "timestamp", "timestamps", "now"), "t"),
}
"""Our argument by the word that users write for it."""

_OTHERWISE = {"y_true": "actual", "y_pred": "predicted", "where": "by", "t": "times"}
"""The name of an argument in calls that take names of columns, or many examples."""

_PLACED = ("y_true", "y_pred", "key")  # arguments that are written without their names
_ORDINALS = ("first", "second")
_EXAMPLES = {"where": "{'region': ...}", "by": "'region'"}
"""Values of arguments, for messages that write a call out."""

ATTRIBUTES = {
    **dict.fromkeys(("compute", "result", "forward"), "call get()"),
    "clone": "call copy(), and reset() on the copy for an empty one",
    **dict.fromkeys(("to_dict", "to_pandas", "to_polars"), "an Evaluator has it; snapshot() and total() return one"),
    "state_dict": "call to_bytes(), and from_bytes of the class",
    "works_with": "for a loop of River wrap it: RiverMetric(...) of streameval.adapters.river",
}
"""Advice by method of torchmetrics, Keras, scikit-learn or River."""


def _advice_on(name: str, known: Sequence[str], *, of_metric: bool, placed: int) -> str:
    """What to write in place of an unknown keyword, or the arguments that remain after ``placed`` positional ones."""
    advice, meant = ADVICE.get(name, ""), _MEANT.get(name, "")
    meant = meant if meant in known else _OTHERWISE.get(meant, meant)
    if meant in known:
        return f"; it is {meant}, the {_ORDINALS[known.index(meant)]} argument" if meant in _PLACED else _written(meant)
    if advice is _WEIGHTS and "weight" in known:
        return _written("weight")
    if advice is _WEIGHTS and "key" in known:
        return "; an example is weighted when its truth is observed"
    if not advice or (of_metric and advice.startswith(_IN_NAME)):
        left = known[placed:] or known
        near = [word for word in left if word.startswith(name) or name.startswith(word)]
        takes = f"; it takes {', '.join(left)}" * bool(left)
        rest = f"; give the values of slices as where={{{name!r}: ...}}" if "where" in known else takes
        return suggestion(name, near or left, cutoff=0.0 if near else 0.76) or rest
    return f"; {advice}"


def _written(name: str) -> str:
    return f"; write {name}={_EXAMPLES.get(name, '...')}"


def refuse_unknown(
    start: str, known: Sequence[str], names: Iterable[str], *, of_metric: bool = False, placed: int = 0
) -> None:
    """Raise `InputError`, or `MetricError` of a metric, if not all of these keywords are known."""
    if (name := next((name for name in names if name not in known), None)) is not None:
        what = f"parameter {name!r}" if of_metric else f"argument {name}="
        advice = _advice_on(name, known, of_metric=of_metric, placed=placed)
        raise (MetricError if of_metric else InputError)(f"{start} no {what}{advice}")


def refuse_mistaken(
    call: Callable[..., object], mistaken: Iterable[str], extra: Sequence[object] = (), placed: int = 0, name: str = ""
) -> None:
    """Raise `InputError` for arguments that a call does not have; the message offers those after ``placed``."""
    if extra:
        _explain(call, (None, None, *extra), {})
    known = [part.name for part in _parts(call) if part.kind not in (part.VAR_POSITIONAL, part.VAR_KEYWORD)]
    refuse_unknown(f"{name or _name(call)} has", known, mistaken, placed=placed)


def _parts(call: Callable[..., object]) -> list[inspect.Parameter]:
    return [part for part in inspect.signature(call).parameters.values() if part.name != "self"]


def _name(call: Callable[..., object]) -> str:
    return call.__qualname__.removesuffix(".__init__").split(".")[-1]


def explained(method: CallT) -> CallT:
    """Wrap a method or constructor: for absent, surplus and unknown arguments it says what to write."""

    # It costs a tenth of a microsecond, so the smallest calls go without it: they take any keyword themselves.
    @wraps(method)
    def explaining(*args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except TypeError:
            _explain(method, args, options)
            raise

    return explaining  # type: ignore[return-value]


def as_method(function: CallT) -> CallT:
    """A function as a method of its first argument, also in messages about its arguments."""
    plain, signature = inspect.unwrap(function), inspect.signature(function)
    first, *rest = signature.parameters.values()

    @wraps(plain)
    def method(self: object, *args: Any, **options: Any) -> Any:
        return plain(self, *args, **options)

    method.__signature__ = signature.replace(parameters=[first.replace(name="self"), *rest])  # type: ignore[attr-defined]
    return explained(method)  # type: ignore[return-value]


def explain_methods(kind: KindT) -> KindT:
    """Wrap the constructor and public methods of a class in `explained`, but not those that take any keyword."""
    for name, method in [*vars(kind).items()]:
        is_public = inspect.isfunction(method) and (name == "__init__" or not name.startswith("_"))
        if is_public and not inspect.unwrap(method).__code__.co_flags & inspect.CO_VARKEYWORDS:
            setattr(kind, name, explained(method))
    return kind


def _explain(method: Callable[..., object], args: Sequence[object], options: Mapping[str, object]) -> None:
    """Raise `InputError` if a method does not take these arguments."""
    every = _parts(method)
    kinds = {part.kind for part in every}
    parts = [part for part in every if part.kind not in (part.VAR_POSITIONAL, part.VAR_KEYWORD)]
    holder, values = (args[:1], args[1:]) if "self" in inspect.signature(method).parameters else ((), args)
    required = [part for part in parts if part.default is part.empty]
    placed = [part.name for part in parts if part.kind is not part.KEYWORD_ONLY]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        refuse_mistaken(method, options, placed=len(placed[: len(values)]))
    absent = [part.name for part in required if part.name not in {*placed[: len(values)], *options}]
    examples = dict(_EXAMPLES)
    if holder and (by := getattr(holder[0], "by", None)):
        examples["where"] = f"{{{', '.join(f'{name!r}: ...' for name in by)}}}"
    words = [one.name if one.name in placed else f"{one.name}={examples.get(one.name, '...')}" for one in required]
    words = words or placed
    name, advice = _name(method), f"write {_name(method)}({', '.join(words)})"
    if len(values) > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        rest = [f"{part.name}=" for part in parts if part.name not in placed]
        advice = f"name the others: {', '.join(rest)}" if rest and not {*absent} - {*placed} else advice
        most = number_of(len(placed), "argument") + " without a name" + f" ({', '.join(placed)})" * bool(placed)
        raise InputError(f"{name} takes {most}, not {len(values)}; {advice}")
    if absent:
        raise InputError(f"{name} is missing {' and '.join(absent)}; {advice}")


@contextmanager
def meant_weights(
    call: Callable[..., object], weights: Any, mistaken: Mapping[str, Any], extra: Sequence[object] = ()
) -> Iterator[Any]:
    """The weights of a call, also when passed as ``sample_weight``, which errors then name; refuse other keywords."""
    remaining = dict(mistaken)
    named = remaining.pop("sample_weight", None)
    refuse_mistaken(call, remaining, extra)
    if named is not None and weights is not None:
        raise InputError(f"weights and sample_weight are the same; give one of them, not also {quoted(named)}")
    try:
        yield weights if named is None else named
    except InputError as error:
        if named is None:
            raise
        # Messages quote labels, so a label called "weights" is not replaced.
        raise type(error)(re.sub(r"(?<!['\"])\bweights\b(?!['\"])", "sample_weight", str(error))) from None


def forgiving(call: CallT) -> CallT:
    """Hide the parameters that collect unknown arguments from the signature that ``help`` shows."""
    signature = inspect.signature(call)
    parts = [part for part in signature.parameters.values() if part.name not in ("extra", "mistaken")]
    call.__signature__ = signature.replace(parameters=parts)  # type: ignore[attr-defined]
    return call
