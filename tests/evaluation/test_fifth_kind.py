"""A new kind of state: after its registration, every class that holds evaluators supports it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS, Code, Kind
from streameval.metrics import catalogue
from streameval.metrics.catalogue import MetricInfo
from streameval.metrics.spec import Parameter
from streameval.schema.config import StateOptions
from streameval.states.base import Content, State
from streameval.states.weights import ExactSums
from streameval.wire.fields import Option, Sink, Source, WeightForm, require

# -- the options, which a package would define next to the state -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SizeOptions(StateOptions):
    """Examples of ``most`` true labels or more are counted together."""

    kind: ClassVar[str] = "sizes"
    reads: ClassVar[Literal["decisions", "scores"]] = "decisions"

    most: int = 8

    @classmethod
    def of(
        cls, needs: Sequence[Mapping[str, Any]], keep: AbstractSet[str], arguments: Mapping[str, Any]
    ) -> SizeOptions | None:
        del arguments
        return cls(max((need["most"] for need in needs), default=8)) if needs or keep else None


# -- the state: how many examples have each number of true labels ------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SizeContent(Content):
    sizes: tuple[int, ...]
    times: tuple[int, ...]
    weights: tuple[int, ...]


class Sizes(State[int]):
    reads = "decisions"
    __slots__ = ()

    def _keys(self, slots: list[int]) -> list[int]:
        return [min(sum(slot % 5 in (1, 3) for slot in slots), self.options.most)]

    def content(self) -> SizeContent:
        counts, scale = dict(sorted(self._extra.nonzero().items())), self.canonical_scale()
        weights = () if scale is None else self._weights_at(0).read(counts, scale).tolist()
        return SizeContent(*self._head(self.columns(), scale), tuple(counts), tuple(counts.values()), tuple(weights))

    def _fill(self, content: SizeContent) -> None:
        counts = ExactSums(0, dict(zip(content.sizes, content.times, strict=True)))
        self.root.commit(self._prepare_extra([(counts, 1)]))
        self._fill_weights(content.scale, zip(content.sizes, content.weights, strict=content.scale is not None))


# -- its bytes, its formula, and the registration ----------------------------------------------------------------------


def put_sizes(sink: Sink, content: SizeContent) -> None:
    sink.varint(len(content.sizes))
    for column in (content.sizes, content.times):
        sink.column(np.array(column, np.int64), least=1)
    sink.weights(content.scale, content.weights)


def take_sizes(source: Source, options: SizeOptions, labels: tuple[Any, ...], decisions: Any) -> SizeContent:
    length = source.count()
    sizes, times = (tuple(source.column(length, least=1).tolist()) for _ in range(2))
    require(list(sizes) == sorted(set(sizes)) and max(sizes, default=0) <= options.most and all(times))
    require(sum(times) == decisions.examples)
    scale = source.scale()
    weights = () if scale is None else tuple(source.integers(length))
    if scale is not None:
        form = WeightForm(scale)
        form.add(weights, times)
        require(form.holds())
    return SizeContent(decisions.examples, labels, decisions.fixed, scale, sizes, times, weights)


BIT = next(bit for bit in range(1, 32) if bit not in {kind.bit for kind in KINDS.values()})
OPTIONS = (Option(48 + 16 * BIT, "most", Sink.integer, Source.integer),)
KIND = Kind(SizeOptions, BIT, lambda: Code(Sizes, lambda state, _: state, put_sizes, take_sizes, OPTIONS))


def mean_size(state: Sizes, spec: se.MetricSpec) -> float:
    """The weighted mean number of true labels, in exact fractions."""
    content, most = state.content(), int(spec.parameter("most"))
    if most > state.options.most:
        counted = f"sizes are counted up to {state.options.most}"
        raise se.MetricError(f"most is {most}, but {counted}; name this metric when constructing")
    heavy = content.weights if content.scale is not None else content.times
    sizes = [min(size, most) for size in content.sizes]
    return float(Fraction(sum(map(int.__mul__, sizes, heavy)), sum(heavy))) if sum(heavy) else math.nan


ENTRY = MetricInfo(
    "mean_size", "MeanSize", "Mean number of true labels, at most ``most``.", "mean over examples", "tests", "sizes",
    mean_size, high=math.inf, bigger_is_better=None, averages=("samples",), default="samples", bare=True,
    parameters=(Parameter("most", 8, 1, math.inf, whole=True),), needs=lambda spec: {"most": spec.parameter("most")},
)  # fmt: skip


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    se.catalogue()  # loads all families of metrics
    monkeypatch.setitem(KINDS, "sizes", KIND)
    monkeypatch.setitem(catalogue._BY_NAME, "mean_size", ENTRY)


METRICS = ["f1_micro", "mean_size(most=3)", "scumble"]
WEIGHTS = (1.0, 0.1, 2.5, 1e-9)


def stream(seed: int, size: int = 40) -> list[tuple[set[str], set[str], float]]:
    rng = random.Random(seed)
    draw = lambda: {label for label in "abcdefg" if rng.random() < 0.4}  # noqa: E731
    return [(draw(), draw(), rng.choice(WEIGHTS) if seed % 2 else 1.0) for _ in range(size)]


def counted(target: Any, examples: list[tuple[set[str], set[str], float]]) -> Any:
    for true, pred, weight in examples:
        target.update(true, pred, weight=weight)
    return target


def expected(examples: list[tuple[set[str], set[str], float]], most: int = 3) -> float:
    weights = [Fraction(weight) for *_, weight in examples]
    return float(sum(min(len(true), most) * w for (true, *_), w in zip(examples, weights, strict=True)) / sum(weights))


@pytest.mark.parametrize("seed", range(4))
def test_the_laws_hold(seed: int):
    examples = stream(seed)
    ev = counted(se.Evaluator(METRICS), examples)
    assert ev.get()["mean_size(most=3)"] == expected(examples)
    many = se.Evaluator(METRICS)
    true, pred, weights = zip(*examples, strict=True)
    many.update_many(list(true), list(pred), weights=list(weights))
    assert many == ev
    left, right = (counted(se.Evaluator(METRICS), part) for part in (examples[:15], examples[15:]))
    before = left.to_bytes()
    left.merge(right)
    assert left == ev
    assert left.to_bytes() == ev.to_bytes()
    left.unmerge(right)
    assert left.to_bytes() == before
    for true_, pred_, weight in examples[15:]:
        ev.revert(true_, pred_, weight=weight)
    assert ev.to_bytes() == before
    with pytest.raises(se.RevertError):
        ev.revert({"a", "b", "c", "d", "e", "f", "g", "h"}, set())
    assert ev.to_bytes() == before


@pytest.mark.parametrize("seed", [0, 1])
def test_every_holder_counts_and_saves_the_new_kind(seed: int):
    examples = stream(seed)
    ev = se.Evaluator(METRICS)
    sliced = se.Sliced(ev, by=["day"])
    for place, (true, pred, weight) in enumerate(examples):
        sliced.update(true, pred, weight=weight, where={"day": place % 2})
    ledger = se.Ledger(ev)
    ledger.put("p", 1, counted(ev.copy(), examples))
    windows = [
        counted(window, examples)
        for window in (se.Rolling(ev, 7), se.Tumbling(ev, size=5, history=2), se.Fading(ev, half_life=4))
    ]
    assert windows[0].get("mean_size(most=3)") == expected(examples[-7:])
    many = se.Rolling(ev, 20)  # adds and evicts examples in one commit
    for start in range(0, 40, 10):
        true, pred, weights = zip(*examples[start : start + 10], strict=True)
        many.update_many(list(true), list(pred), weights=list(weights))
    assert many.get("mean_size(most=3)") == expected(examples[-20:])
    for holder in (counted(ev.copy(), examples), sliced, ledger, *windows, se.Checkpoint(ev, 3)):
        data = holder.to_bytes()
        assert type(holder).from_bytes(data) == holder
        assert type(holder).from_bytes(data).to_bytes() == data
        for cut in range(8, len(data), 7):
            with pytest.raises(se.FormatError):
                type(holder).from_bytes(data[:cut])


def test_the_registration_defines_options_and_messages():
    retained = se.Evaluator([], keep=["sizes"])
    assert retained._view("sizes", "this").content().sizes == ()
    with pytest.raises(se.MetricError, match=r"most is 9, but sizes are counted up to 8; name this metric"):
        retained.get("mean_size(most=9)")
    two = counted(se.Evaluator(["mean_size(most=2)", "mean_size(most=5)"]), stream(0))
    assert [*two.get().values()] == [expected(stream(0), most) for most in (2, 5)]
    with pytest.raises(se.MergeError, match=r"most differ \(8 and 3\)"):
        se.Evaluator(["mean_size"]).merge(se.Evaluator(["mean_size(most=3)"]))
    with pytest.raises(se.MetricError, match=r"mean_size requires the 'sizes' state; construct with keep=\['sizes'\]"):
        se.Evaluator().get("mean_size")
    with pytest.raises(se.MetricError, match="'sizes'"):
        se.Evaluator(keep=["nothing"])


def test_a_version_without_the_new_kind_refuses_its_bytes_as_those_of_a_newer_version(monkeypatch: pytest.MonkeyPatch):
    data = counted(se.Evaluator(["mean_size(most=5)"]), stream(0)).to_bytes()  # a head that was not read before
    monkeypatch.delitem(KINDS, "sizes")
    with pytest.raises(se.FormatError, match="a state is unknown: the bytes were written by a newer version"):
        se.Evaluator.from_bytes(data)
