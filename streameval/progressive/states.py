"""States of any class: from bytes, without examples, and compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from streameval.errors import InputError, MergeError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.evaluation.value import differences
from streameval.schema.text import quoted
from streameval.slices import Sliced
from streameval.windows.base import Window
from streameval.windows.fading import Fading
from streameval.windows.sliding import Rolling, TimeRolling
from streameval.windows.tumbling import Tumbling
from streameval.wire.envelope import holder_of

AnyState: TypeAlias = Evaluator | Metric | Sliced[Any] | Window[Any]
StateT = TypeVar("StateT", bound=AnyState)

_CLASSES: tuple[type[AnyState], ...] = (Evaluator, Metric, Sliced, Rolling, TimeRolling, Tumbling, Fading)


def restored(data: bytes, *more: Any) -> AnyState:
    """What `to_bytes` was called on, whichever class it was; ``more`` are classes that are taken besides states."""
    holder = holder_of(data)
    kind: Any = next(
        (kind for kind in (*_CLASSES, *more) if kind._holder == holder), Evaluator
    )  # which says what is wrong
    return kind.from_bytes(data)  # type: ignore[no-any-return]  # one of these, unless it is one of ``more``


def check_class(state: object, name: str, *more: type) -> None:
    """Raise unless this is one of our states; ``name`` is who asks."""
    if isinstance(state, type):
        raise InputError(f"{name} takes an object, not the class {state.__name__}; write {state.__name__}()")
    if not isinstance(state, (Evaluator, Metric, Sliced, Window, *more)):
        *rest, last = (
            "an Evaluator",
            "a metric such as F1()",
            "a Sliced",
            "a window",
            *(f"a {one.__name__}" for one in more),
        )
        raise InputError(f"{name} takes {', '.join(rest)} or {last}, not {quoted(state)}")


def check_empty(state: Any, name: str, start: str, advice: str = "") -> None:
    """Raise `InputError` if a state has counted anything; ``name`` is who asks, and ``start`` how it starts."""
    if state.to_bytes() != state._fresh().to_bytes():
        this = f"this {type(state).__name__} has counted already"
        raise InputError(f"{name} starts {start}, but {this}; give one that has counted nothing{advice}")


def without_limit(state: Any) -> Any:
    """The same content without ``label_limit``, which is no part of what was counted; to be written, not to count."""
    name = next((name for name in ("_template", "_empty") if hasattr(state, name)), None)  # of a window, of slices
    inner: Any = state if name is None else getattr(state, name)
    if inner._config.label_limit is None:
        return state
    twin = state.copy()
    if name is None:
        twin._config = replace(twin._config, label_limit=None)
    else:
        setattr(twin, name, without_limit(inner))
    return twin


def check_compatible(fresh: Any, state: Any, context: str) -> None:
    """Raise `MergeError` unless a state has the configuration of an empty one."""
    if differing := differences(fresh, state):
        same = "the same configuration" if type(fresh) is type(state) else "objects of one class"
        raise MergeError(f"{context}: {'; '.join(differing)}; use {same}")
