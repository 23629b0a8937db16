"""The base of `Pending` and `Trace`, which update evaluators and are saved with them; and helpers for any state."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from streameval.errors import InputError, MergeError
from streameval.evaluation.counting import Accumulator
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.guarding import guards_of
from streameval.evaluation.metric import Metric
from streameval.evaluation.value import Saveable, differences, fresh_of, parameter_differences, take_over
from streameval.kernel.backend import commit
from streameval.progressive.target import Target, check_order
from streameval.report.model import Table
from streameval.schema.text import quoted
from streameval.slices import Sliced
from streameval.windows.base import Window
from streameval.windows.fading import Fading
from streameval.windows.sliding import Rolling, TimeRolling
from streameval.windows.tumbling import Tumbling
from streameval.wire.envelope import METRIC, holder_of, sealed
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import SPAN, put_value, take_value

AnyState: TypeAlias = Evaluator | Metric | Sliced[Any] | Window[Any]
StateT = TypeVar("StateT", bound=AnyState)

_HOLDERS = (Sliced, Rolling, TimeRolling, Tumbling, Fading)


def read_state(data: bytes, *more: Any) -> AnyState:
    """Read a state of any class from its bytes; ``more`` are classes that are accepted besides states."""
    kinds: dict[int | None, Any] = {METRIC: Metric, **{kind._holder: kind for kind in (*_HOLDERS, *more)}}
    kind = kinds.get(holder_of(data), Evaluator)  # raises for other bytes
    return kind.from_bytes(data)  # type: ignore[no-any-return]  # one of these, unless it is one of ``more``


def check_class(state: object, name: str, *more: type) -> None:
    """Raise unless an object is a state of this package; messages call the caller ``name``."""
    if isinstance(state, type):
        raise InputError(f"{name} takes an object, not the class {state.__name__}; write {state.__name__}()")
    if not isinstance(state, (Evaluator, Metric, Sliced, Window, *more)):
        if advice := _advice_for_river(state):
            raise InputError(f"{name} takes no metric of River such as {type(state).__name__}{advice}")
        also = (f"a {kind.__name__}" for kind in more)
        *rest, last = "an Evaluator", "a metric such as F1()", "a Sliced", "a window", *also
        raise InputError(f"{name} takes {', '.join(rest)} or {last}, not {quoted(state)}")


def _advice_for_river(metric: Any) -> str:
    if not type(metric).__module__.startswith("streameval.adapters.river"):
        return ""
    spec = getattr(metric, "spec", None)
    same = "an Evaluator" if spec is None else f"Evaluator([{quoted(spec.key)}])"
    return f"; pass {same}, and RiverMetric(evaluator) to a loop of River"


def check_empty(state: Any, name: str, start: str, advice: str = "") -> None:
    """Raise `InputError` if a state has counted anything; the message says that ``name`` starts ``start``."""
    if state.to_bytes() != emptied(state).to_bytes():
        this = f"this {type(state).__name__} has counted already"
        raise InputError(f"{name} starts {start}, but {this}; give one that has counted nothing{advice}")


def check_compatible(fresh: Any, state: Any, context: str) -> None:
    """Raise `MergeError` unless a state has the configuration of an empty one."""
    if differing := differences(fresh, state):
        same = "the same configuration" if type(fresh) is type(state) else "objects of one class"
        raise MergeError(f"{context}: {'; '.join(differing)}; use {same}")


class Holder(Saveable):
    """Updates evaluators that the user passed, and is saved with them."""

    _saved: ClassVar[tuple[str, ...]]  # the parameters that bytes start with
    _taken: ClassVar[tuple[type, ...]] = ()  # classes that it takes besides evaluators, metrics and windows
    _strict = False  # whether values that cannot be saved are refused on arrival
    _cell: commit.Cell  # holds what changes in one step with the evaluators
    _targets: dict[str, Target]  # the evaluators by name; a single one has the name ""

    def copy(self) -> Self:
        """An independent object with the same content, and evaluators of its own."""
        return copy.deepcopy(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        result = memo[id(self)] = type(self).__new__(type(self))
        with self._guard.reading:
            result.__setstate__(copy.deepcopy(self._contents(), memo))
        return result

    def __getstate__(self) -> dict[str, Any]:
        return copy.deepcopy(self)._contents()  # consistent: it holds the guard

    def __setstate__(self, contents: dict[str, Any]) -> None:
        self.__dict__.update(contents, _guard=commit.Guard(), _cell=commit.Root().cell(contents["_cell"]))

    def _contents(self) -> dict[str, Any]:
        """The attributes that copies have, without objects of the kernel."""
        return {name: value for name, value in vars(self).items() if name != "_guard"} | {"_cell": self._cell.value}

    @property
    def _inner_guards(self) -> list[commit.Guard]:  # type: ignore[override]  # read-only
        return [guard for target in self._targets.values() for guard in guards_of(target.evaluator)]

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """The arguments of the constructor besides the evaluators."""

    @abstractmethod
    def _put(self, sink: Sink) -> None: ...

    @abstractmethod
    def _take(self, source: Source) -> None:
        """Read what `_put` wrote."""

    @classmethod
    def _target(cls, evaluator: object, name: str) -> Target:
        """The target for an evaluator, or `InputError` if it cannot be changed in one step with this and saved."""
        target, kind = Target(evaluator, name), type(evaluator)
        counts = next((base for base in kind.__mro__ if "update" in vars(base)), kind)
        ours = isinstance(evaluator, (Accumulator, Window, *cls._taken))
        if not ours or counts.__module__.partition(".")[0] != "streameval":  # a subclass may count in its own way
            also = "".join(f", a {one.__name__}" for one in cls._taken)
            kinds = f"an Evaluator, a metric object, a window{also}"
            wrong = f"{name} must be one of {kinds}, with the update of this package, not {quoted(evaluator)}"
            raise InputError(f"{wrong}{_advice_for_river(evaluator)}")
        return target

    @classmethod
    def _over(cls, evaluators: Mapping[str, Any], parameters: Mapping[str, Any]) -> Self:
        constructor: Any = cls
        return constructor(evaluators[""] if [*evaluators] == [""] else evaluators, **parameters)  # type: ignore[no-any-return]

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        sink, parameters = Sink(), self._parameters()
        for name in self._saved:
            put_value(sink, parameters[name], SPAN)
        sink.varint(len(self._targets))
        for name, target in self._targets.items():
            sink.string(name)
            data = b"".join(target.evaluator._pieces(compared=compared))
            sink += (varint(len(data)), data)
        self._put(sink)
        return sealed(self._holder, sink.pieces())

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        parameters = {name: take_value(source, SPAN) for name in cls._saved}
        named = [(source.string(), source.raw(source.varint())) for _ in range(source.count())]
        result = cls._over({name: read_state(state, *cls._taken) for name, state in named}, parameters)
        result._take(source)
        require(result.to_bytes()[:-4] == source.since(0))  # without their checksum
        return result

    def __eq__(self, other: object) -> bool:
        try:
            return self is other or super().__eq__(other)
        except InputError:  # what cannot be saved equals only itself
            return False

    def _display(self) -> tuple[str, Sequence[Table]]:
        return repr(self), [table for target in self._targets.values() for table in target.evaluator._display()[1]]

    def _differences(self, other: Self) -> list[str]:
        one, two = (dict(each._parameters(), evaluators=[*each._targets]) for each in (self, other))
        pairs = zip(self._targets.values(), other._targets.values(), strict=False)  # used only if the names agree
        return parameter_differences(one, two) or [
            text for mine, theirs in pairs for text in differences(mine.evaluator, theirs.evaluator)
        ]

    def _moment(self, before: object, t: object) -> object:
        """The time after a call at ``t``."""
        if t is None:
            return before
        check_order(before, t, "t")
        if self._strict:
            put_value(Sink(), t, SPAN, "t")
        return t


def emptied(state: Any) -> Any:
    """A copy that has counted nothing."""
    if not isinstance(state, Holder):
        return fresh_of(state)
    return state._over({name: emptied(one.evaluator) for name, one in state._targets.items()}, state._parameters())


def become(state: Any, source: Any, context: str) -> None:
    """Replace the content of a state, and of what it updates, by another's; `MergeError` if configurations differ."""
    check_compatible(state, source, context)
    if not isinstance(state, Holder):
        take_over(state, source)
        return
    with state._guard:
        for name, target in state._targets.items():
            become(target.evaluator, source._targets[name].evaluator, context)
        vars(state).update({**vars(source), "_targets": state._targets, "_guard": state._guard})


def refuse_unsavable(state: Any) -> None:
    """From now on, let a state refuse values that cannot be saved on arrival, not only when it is saved."""
    if isinstance(state, Holder):
        state._strict = True
        for target in state._targets.values():
            refuse_unsavable(target.evaluator)
