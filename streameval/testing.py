"""A check for tests: a state, ours or yours, gives the same result however its examples are split and merged."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from streameval.errors import InputError, StreamevalError
from streameval.schema.text import quoted

__all__ = ["LAWS", "BrokenLawError", "check_mergeable"]

S = TypeVar("S")
E = TypeVar("E")

LAWS = {
    "fresh": "a new state answers get(), and two new states are equal",
    "same": "the same examples in the same order give the same state",
    "reading": "get(), to_bytes(), repr() and == change nothing",
    "zero": "merging an empty state changes nothing, and merging into an empty state gives the other",
    "commutative": "of two states either may be merged into the other",
    "associative": "three states may be merged in either grouping",
    "split": "any order, sharding and merge tree, empty shards among them, gives what one pass gives",
    "batch": "update_many gives what update gives one by one",
    "no aliasing": "merging leaves its argument as it is, and both are independent afterwards",
    "self": "merging a state with itself gives what merging it with a copy gives",
    "round trip": "from_bytes(to_bytes()) gives an equal state that goes on like the original",
    "copy": "a copy is equal and independent",
    "inverse": "reverting what was counted, in any order, gives the state before",
    "unmerge": "unmerging what was merged gives the state before, and what is no part of it is refused",
    "atomic": "an example that is refused leaves the state as it was",
}
"""The laws, in the order in which they are checked."""


class BrokenLawError(StreamevalError, AssertionError):
    """A state breaks the ``law`` of this name, a key of `LAWS`."""

    def __init__(self, law: str, problem: str) -> None:
        super().__init__(law, problem)
        self.law = law

    def __str__(self) -> str:
        return f"{self.law}: {self.args[1]}; the law is that {LAWS[self.law]}"  # args survive pickling


def check_mergeable(
    factory: Callable[[], S],
    examples: Iterable[E],
    *,
    update: Callable[[S, E], object] | None = None,
    merge: Callable[[S, S], S | None] | None = None,
    revert: Callable[[S, E], object] | None = None,
    update_many: Callable[[S, list[E]], object] | None = None,
    key: Callable[[S], object] | None = None,
    refused: Iterable[object] = (),
    ordered: bool = False,
    laws: Iterable[str] = tuple(LAWS),
    rounds: int = 20,
) -> None:
    """Check the laws of a state over orders, shardings, merge trees and empty shards, and report the first one broken.

    Parameters
    ----------
    factory
        Makes an empty state, which needs ``update(*example)`` and ``merge(other)``. ``get``, ``==``, ``copy``,
        ``to_bytes`` with ``from_bytes`` of its class, ``update_many``, ``revert`` and ``unmerge`` are checked if the
        state has them.
    examples
        Examples to count: tuples of arguments of ``update``; about ten that differ as much as possible.
    update, merge, revert, update_many
        How to count an example, merge, revert an example and count a list of examples, if not by
        ``state.update(*example)``, ``state.merge(other)``, ``state.revert(*example)`` and
        ``state.update_many(y_true, y_pred)``. ``merge`` may return the result instead of changing its first argument.
    key
        Returns what must be equal for two states to be the same; by default these are bytes, ``==`` and ``get()``, as
        far as the state has them.
    refused
        Examples that ``update`` must refuse with an exception.
    ordered
        Whether each shard must count its examples in the order passed, for example because they have times.
    laws
        Names of the laws to check; by default all of `LAWS`.
    rounds
        How many random orders, shardings and trees to try for each law; in the first no shard is empty.

    Raises
    ------
    BrokenLawError
        An `AssertionError` that names the law and how two states differ.
    InputError
        If there are no examples, or the state has no ``merge``.

    Examples
    --------
    >>> import streameval as se
    >>> examples = [({"cat"}, {"cat", "dog"}), ({"dog"}, {"cat"}), (set(), {"bird"})]
    >>> check_mergeable(lambda: se.Evaluator(["f1_macro"]), examples)

    >>> class Largest:
    ...     value = 0
    ...     def update(self, number): self.value = max(self.value, number)
    ...     def merge(self, other): self.value = self.value + other.value
    ...     def get(self): return self.value
    >>> check_mergeable(Largest, [(3,), (5,)])
    Traceback (most recent call last):
        ...
    streameval.testing.BrokenLawError: split: ...
    """
    listed, refused, names = list(examples), list(refused), list(laws)
    made = factory()
    kind: Any = type(made)
    has = {name for name in dir(made) if hasattr(made, name)}
    if not listed:
        raise InputError("examples is empty, so no law can be checked; give about ten")
    if merge is None and "merge" not in has:
        raise InputError(f"{kind.__name__} has no merge(other); say with merge= how it merges")
    if key is None and not {"to_bytes", "get", "__dict__"} & has and kind.__eq__ is object.__eq__:
        raise InputError(f"two {kind.__name__} cannot be compared: they have no ==, get or to_bytes; give key=")
    for example in (*listed, *refused) if update is None else ():
        if not isinstance(example, tuple):
            advice = "or say with update= what it is"
            raise InputError(f"an example must be a tuple of arguments, not {quoted(example)}; {advice}")
    if unknown := [name for name in names if name not in LAWS]:
        raise InputError(f"laws names {quoted(unknown[0])}; the laws are {', '.join(LAWS)}")
    lengths = {len(one) for one in listed if isinstance(one, tuple)}
    if update_many is None and update is None and "update_many" in has and lengths == {2}:
        update_many = _update_many
    merge = merge or (lambda state, other: state.merge(other))  # type: ignore[attr-defined]  # checked above
    revert = revert or (_method("revert") if "revert" in has else None)
    update = update or _method("update")
    checks = _Laws(factory, has, update, merge, revert, update_many, key, refused, ordered, rounds)
    for law in names:
        if reason := checks.broken(law, listed):
            raise BrokenLawError(law, reason)


Seen: TypeAlias = tuple[str, Any, Any] | str
"""Words for the message and two states that must be the same; or a message that says what is wrong."""


@dataclass
class _Laws(Generic[S]):
    """The laws: each method ``law_...`` yields pairs of states that must be the same."""

    factory: Callable[[], S]
    has: set[str]
    update: Callable[[S, Any], object]
    merge: Callable[[S, S], S | None]
    revert: Callable[[S, Any], object] | None
    update_many: Callable[[S, list[Any]], object] | None
    key: Callable[[S], object] | None
    refused: list[Any]
    ordered: bool
    rounds: int
    even: bool = True

    def fed(self, examples: Iterable[Any], state: S | None = None) -> S:
        state = self.factory() if state is None else state
        for example in examples:
            self.update(state, example)
        return state

    def cut(self, examples: list[Any], drawn: random.Random) -> tuple[list[Any], list[Any]]:
        at = len(examples) // 2 if self.even else drawn.randint(0, len(examples))
        return examples[:at], examples[at:]

    def dealt(self, examples: list[Any], shards: int, drawn: random.Random) -> list[list[Any]]:
        """Deal the examples into shards, in their order; unless ``even``, some shards may be empty."""
        if self.even:
            return [examples[place::shards] for place in range(shards)]
        parts: list[list[Any]] = [[] for _ in range(shards)]
        filled = drawn.sample(parts, drawn.randint(1, shards))
        for example in examples:
            drawn.choice(filled).append(example)
        return parts

    def merged(self, state: S, other: S) -> S:
        result = self.merge(state, other)
        return state if result is None else result

    def read(self, state: Any) -> None:
        """Call all methods that must not change the state."""
        repr(state), state == self.factory()
        if self.key is not None:
            self.key(state)
            return
        for name in {"get", "to_bytes"} & self.has:
            getattr(state, name)()

    def differ(self, one: Any, other: Any) -> str | None:
        if self.key is not None:
            return _differ(self.key(one), self.key(other))
        compared = type(one).__eq__ is not object.__eq__  # type: ignore[comparison-overlap]  # of any class
        if "to_bytes" in self.has and one.to_bytes() != other.to_bytes():
            return f"their bytes differ ({quoted(one)} and {quoted(other)})"
        if compared and not one == other:  # noqa: SIM201  # some have no sound !=
            return f"they are not equal ({quoted(one)} and {quoted(other)})"
        if "get" in self.has:
            return _differ(one.get(), other.get(), "get() gives ")
        return None if compared or "to_bytes" in self.has else _differ(vars(one), vars(other))

    def broken(self, law: str, examples: list[Any]) -> str | None:
        check: Callable[[list[Any], random.Random], Iterator[Seen]] = getattr(self, "law_" + law.replace(" ", "_"))
        drawn = random.Random(law)  # noqa: S311  # no secret
        for place in range(self.rounds):
            self.even = not place  # in the first round no shard is empty
            try:
                for seen in check(examples, drawn):
                    if isinstance(seen, str):
                        return seen
                    if problem := self.differ(*seen[1:]):
                        return seen[0] + problem
            except Exception as error:  # any exception of the state breaks the law
                return f"{type(error).__name__}: {error}"
        return None

    def law_fresh(self, _: list[Any], __: random.Random) -> Iterator[Seen]:
        yield "", self.factory(), self.factory()

    def law_same(self, examples: list[Any], _: random.Random) -> Iterator[Seen]:
        yield "", self.fed(examples), self.fed(examples)

    def law_reading(self, examples: list[Any], __: random.Random) -> Iterator[Seen]:
        state, other = self.fed(examples), self.fed(examples)
        for _ in range(3):
            self.read(state)
        yield "after reading, ", state, other
        yield "after reading, ", self.fed(examples[-1:], state), self.fed(examples[-1:], other)

    def law_zero(self, examples: list[Any], _: random.Random) -> Iterator[Seen]:
        whole = self.fed(examples)
        yield "with an empty state merged, ", self.merged(self.fed(examples), self.factory()), whole
        yield "merged into an empty state, ", self.merged(self.factory(), self.fed(examples)), whole

    def law_commutative(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        a, b = self.dealt(examples, 2, drawn)
        yield "", self.merged(self.fed(a), self.fed(b)), self.merged(self.fed(b), self.fed(a))

    def law_associative(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        a, b, c = self.dealt(examples, 3, drawn)
        left = self.merged(self.merged(self.fed(a), self.fed(b)), self.fed(c))
        yield "", left, self.merged(self.fed(a), self.merged(self.fed(b), self.fed(c)))

    def law_split(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        shuffled = examples if self.ordered else drawn.sample(examples, len(examples))
        shards = [self.fed(part) for part in self.dealt(shuffled, 3 if self.even else drawn.randint(1, 5), drawn)]
        sizes = len(shards)
        while len(shards) > 1:
            taken = shards.pop(drawn.randrange(len(shards)))
            at = drawn.randrange(len(shards))
            shards[at] = self.merged(shards[at], taken)
        yield f"{sizes} shards merged and one pass: ", shards[0], self.fed(examples)

    def law_batch(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        if self.update_many is not None:
            state = self.factory()
            for part in filter(None, self.cut(examples, drawn)):
                self.update_many(state, part)
            yield "", state, self.fed(examples)

    def law_no_aliasing(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        first, second = self.dealt(examples, 2, drawn)
        more = examples[-1:] if self.ordered else examples
        other = self.fed(second)
        merged = self.merged(self.fed(first), other)
        yield "the argument of merge was changed: ", other, self.fed(second)
        before = copy.deepcopy(merged)
        self.fed(more, other)
        yield "updating what was merged changed the result of merging: ", merged, before
        other = self.fed(second)
        self.fed(more, self.merged(self.fed(first), other))
        yield "updating the result of merging changed what was merged: ", other, self.fed(second)

    def law_self(self, examples: list[Any], _: random.Random) -> Iterator[Seen]:
        state = self.fed(examples)
        yield "", self.merged(state, state), self.merged(self.fed(examples), self.fed(examples))

    def law_round_trip(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        if not {"to_bytes", "from_bytes"} <= self.has:
            return
        first, second = self.cut(examples, drawn)
        state: Any = self.fed(first)
        data = state.to_bytes()
        back: Any = type(state).from_bytes(data)
        yield "what was read back: ", back, state
        yield "what was read back, after further examples: ", self.fed(second, back), self.fed(examples)
        merged = self.merged(type(state).from_bytes(data), self.fed(second))
        yield "what was read back, after merging: ", merged, self.merged(state, self.fed(second))

    def law_copy(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        if "copy" in self.has:
            first, second = self.cut(examples, drawn)
            state: Any = self.fed(first)
            result = state.copy()
            yield "", state, result
            self.fed(second, result)
            yield "", state, self.fed(first)
            yield "", result, self.fed(examples)

    def law_inverse(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        if self.revert is not None:
            remaining, passing = self.dealt(examples, 2, drawn)
            state = self.fed(drawn.sample([*remaining, *passing], len(examples)))
            for example in drawn.sample(passing, len(passing)):
                self.revert(state, example)
            yield "", state, self.fed(remaining)

    def law_unmerge(self, examples: list[Any], drawn: random.Random) -> Iterator[Seen]:
        if "unmerge" not in self.has:
            return
        first, second = self.dealt(examples, 2, drawn)
        state: Any = self.merged(self.fed(first), self.fed(second))
        part: Any = self.fed(second)
        state.unmerge(part)
        yield "", state, self.fed(first)
        yield "", part, self.fed(second)
        if self.differ(part, self.factory()) is not None:
            state = self.factory()
            try:
                state.unmerge(part)
            except StreamevalError:
                yield "a refused unmerge changed the state: ", state, self.factory()
            else:
                yield "unmerging from an empty state was not refused"

    def law_atomic(self, examples: list[Any], _: random.Random) -> Iterator[Seen]:
        state, before = self.fed(examples), self.fed(examples)
        for example in self.refused:
            try:
                self.update(state, example)
            except Exception:
                yield f"after {quoted(example)} was refused, ", state, before
            else:
                yield f"{quoted(example)} was not refused"


def _method(name: str) -> Callable[[Any, Any], object]:
    return lambda state, example: getattr(state, name)(*example)


def _update_many(state: Any, examples: list[Any]) -> None:
    state.update_many(*map(list, zip(*examples, strict=True)))


def _differ(one: Any, other: Any, words: str = "") -> str | None:
    return None if _same(one, other) else f"{words}{quoted(one)} and {quoted(other)}"


def _same(one: Any, other: Any) -> bool:
    """Equal to the last bit; NaN is the same as NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "tolist") and hasattr(other, "tolist"):  # arrays and numbers of numpy
        return type(one) is type(other) and _same(one.tolist(), other.tolist())
    return bool(one is other or one == other)
