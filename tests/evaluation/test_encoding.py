"""Bytes of evaluators with rankings, curves and pairs are canonical and read back; all other bytes are refused."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import random
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.evaluation.encoding import decode, encode, take_states
from streameval.evaluation.kinds import KINDS, reads_scores
from streameval.metrics.catalogue import catalogue, entry_of, parse_spec
from streameval.schema.batch import Example
from streameval.schema.labels import LabelIndex
from streameval.states.curves import CurveContent
from streameval.states.options import PARTS, PairOptions
from streameval.states.pairs import Pairs
from streameval.states.state_set import StateSet
from streameval.wire.blocks import Blocks
from streameval.wire.decisions import put_content
from streameval.wire.fields import Sink, Source
from streameval.wire.pairs import put_pairs, take_pairs
from streameval.wire.rankings import put_rankings
from tests.support.each import with_each
from tests.support.effort import cases, spread
from tests.support.kinds import KEEP, NAMES, SCORED, TRIALS
from tests.support.states import only_pairs, same
from tests.wire.test_decisions import sealed, varint

RANKED = ("ndcg", "label_coverage_at(k=2)", "map_at(k=2, divisor=hits)", "psp_at(k=2)", "psndcg_at(k=3)")
OF_DECISIONS = [metric for name, trial in TRIALS.items() if name not in SCORED for metric in trial.metrics]
PAIRED = (*OF_DECISIONS, "mlcm_recall_micro(values=contributions)", "dependent_pairs")
LABELS = ("a", "b", "c", "z", 0, -7, 2**70)
SCORES = (0.0, 0.25, 0.5, 0.5 + 2**-30, 0.75, 1.0, -3.0, 1e-300, 7.5, float(np.float32(0.3)), 0.1, 0.1 + 2**-56)
WEIGHTS = (1.0, 0.0, 0.1, 2.5, 1e-300, 1e300, 5e-324)
PROPENSITIES = {label: 1 + place / 7 for place, label in enumerate(LABELS)}


class Seen(NamedTuple):
    """One example, with the arguments of `update`."""

    true: set
    pred: Any
    weight: float
    mask: set


def scored(setup: dict) -> bool:
    """Whether predictions are scores."""
    return bool(SCORED & set(setup["keep"]) or set(setup["metrics"]) & set(RANKED)) or setup["threshold"] is not None


@st.composite
def setups(draw: st.DrawFn) -> dict:
    """Keyword arguments for an evaluator that keeps further states."""
    metrics = draw(st.lists(st.sampled_from(RANKED), unique=True, max_size=3))
    setup: dict = {"metrics": metrics, "nan": draw(st.sampled_from(["error", "missing"]))}
    setup["keep"] = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    setup["ties"] = draw(st.sampled_from(["shared", "last"]))
    if any(entry_of(parse_spec(name).name).arguments for name in metrics):
        setup["inverse_propensities"] = PROPENSITIES
    setup["threshold"] = draw(st.sampled_from([None, 0.5, dict.fromkeys(LABELS, 0.25)]))
    if setup["threshold"] is not None or not scored(setup):
        setup["metrics"] = [*metrics, *draw(st.lists(st.sampled_from(PAIRED), unique=True, max_size=2))]
    if draw(st.booleans()):
        setup |= {"labels": draw(st.lists(st.sampled_from(LABELS), unique=True)), "unknown": "add"}
    return setup


@st.composite
def streams(draw: st.DrawFn) -> tuple[dict, list[Seen]]:
    """A setup and examples for it, with growing labels, ties, masks and weights."""
    setup = draw(setups())
    some = st.sets(st.sampled_from(LABELS), max_size=4)
    score = st.sampled_from(SCORES) | (st.just(math.nan) if setup["nan"] == "missing" else st.nothing())
    pred = st.dictionaries(st.sampled_from(LABELS), score, max_size=5) if scored(setup) else some
    weight = st.sampled_from(WEIGHTS) if draw(st.booleans()) else st.just(1.0)
    mask = some if draw(st.booleans()) else st.just(set())
    return setup, draw(st.lists(st.builds(Seen, some, pred, weight, mask), max_size=8))


def counted(setup: dict, examples: list[Seen]) -> se.Evaluator:
    ev = se.Evaluator(**setup)
    for example in examples:
        ev.update(example.true, example.pred, weight=example.weight, mask=example.mask or None)
    return ev


# -- round trips ------------------------------------------------------------------------------------------------------


@settings(max_examples=cases(300))
@given(streams())
def test_written_evaluators_are_read_back(stream: tuple[dict, list[Seen]]):
    ev = counted(*stream)
    data = ev.to_bytes()
    back = se.Evaluator.from_bytes(data)
    assert back == ev
    assert back.to_bytes() == data
    assert back.metrics == ev.metrics
    for name in KEEP:
        retained = ev._core.states.content()
        assert (name in retained) == (name in back._core.states.content())
    for twin in (copy.deepcopy(ev), pickle.loads(pickle.dumps(ev))):
        assert twin.to_bytes() == data


@settings(max_examples=cases(200))
@given(streams(), st.randoms(use_true_random=False))
def test_equal_states_have_equal_bytes_whatever_their_history(stream: tuple[dict, list[Seen]], rng: random.Random):
    setup, examples = stream
    data = counted(setup, examples).to_bytes()
    shuffled = rng.sample(examples, len(examples))
    cut = rng.randint(0, len(examples))
    one, other = counted(setup, shuffled[:cut]), counted(setup, shuffled[cut:])
    assert (one + other).to_bytes() == data
    read = se.Evaluator.from_bytes(other.to_bytes())
    read.merge(se.Evaluator.from_bytes(one.to_bytes()))
    assert read.to_bytes() == data
    for extra in examples:
        read.update(extra.true, extra.pred, weight=extra.weight, mask=extra.mask or None)
    for extra in shuffled:
        read.revert(extra.true, extra.pred, weight=extra.weight, mask=extra.mask or None)
    assert read.to_bytes() == data


@settings(max_examples=cases(200))
@given(streams(), streams())
def test_different_states_have_different_bytes(one: tuple[dict, list[Seen]], other: tuple[dict, list[Seen]]):
    first, second = counted(*one), counted(*other)
    assert (first == second) == (first.to_bytes() == second.to_bytes())


@settings(max_examples=cases(100))
@given(streams())
def test_an_evaluator_that_was_read_counts_further_examples_like_the_original(stream: tuple[dict, list[Seen]]):
    setup, examples = stream
    ev = counted(setup, examples[:4])
    back = se.Evaluator.from_bytes(ev.to_bytes())
    for example in examples[4:]:
        for target in (ev, back):
            target.update(example.true, example.pred, weight=example.weight, mask=example.mask or None)
    assert back == ev
    back.merge(back)
    assert se.Evaluator.from_bytes(back.to_bytes()) == ev + ev


@pytest.mark.parametrize("entry", [entry for entry in catalogue() if entry.state != "decisions"], ids=lambda e: e.name)
def test_single_metrics_are_saved_and_loaded(entry: Any, tmp_path: Path):
    options: dict = dict.fromkeys(entry.arguments, PROPENSITIES)
    options["threshold"] = None if reads_scores(entry) else 0.5
    target = se.metric(entry.name, labels=["a", "b"], unknown="add", **options)
    target.update({"a", "c"}, {"a": 0.3, "b": 0.3, "z": 0.9}, weight=0.7)
    target.save(tmp_path / "saved")
    back = se.load(tmp_path / "saved")
    assert type(back) is type(target)
    assert back == target
    assert back.to_bytes() == target.to_bytes() == copy.copy(target).to_bytes()


@settings(max_examples=cases(100))
@given(st.lists(st.integers(0, 2**128 - 1), max_size=6), st.integers(0, 127))
def test_wide_columns_are_read_back(values: list[int], zeros: int):
    values = [value >> zeros << zeros for value in values]
    words = np.array([(value % 2**64, value >> 64) for value in values], np.uint64).reshape(-1, 2)
    sink = Sink()
    blocks = Blocks(words=2)
    blocks.add(words)
    sink.append(blocks.pieces())
    source = Source(b"".join(sink.pieces()), 0)
    assert [low | high << 64 for low, high in source.packed(len(values), words=2)[:].tolist()] == values
    assert not source.left()


@settings(max_examples=cases(200))
@given(st.data())
def test_every_part_of_label_pairs_is_read_back(data: st.DataObject):
    chosen = data.draw(st.sets(st.sampled_from(PARTS)))
    labels = LabelIndex("abcd")
    labels.fixed = 0
    pairs = only_pairs(labels, chosen)
    decisions = pairs.states.decisions
    for _ in range(data.draw(st.integers(0, 6))):
        outcomes = data.draw(st.lists(st.integers(0, 4), min_size=4, max_size=4))
        slots = np.array([5 * column + outcome for column, outcome in enumerate(outcomes) if outcome], np.int64)
        true, pred = (sum(outcome in kinds for outcome in outcomes) for kinds in ((1, 3), (2, 3)))
        key = (true, pred, outcomes.count(3), outcomes.count(4))
        example = Example(slots, key, data.draw(st.sampled_from([1.0, 0.5, 1.5, 0.0])))
        pairs.count_one(example, 1)
    sink = Sink()
    put_pairs(sink, pairs.content())
    source = Source(b"".join(sink.pieces()), 0)
    content = pairs.content()
    options = PairOptions(content.parts)
    contents = {"decisions": decisions.content()}
    contents["pairs"] = take_pairs(source, options, content.labels, decisions.content())
    again = StateSet.of(LabelIndex(content.labels, 0), [(Pairs, options)], contents)
    assert same(again.states["pairs"].content(), content)
    assert not source.left()


# -- damage -----------------------------------------------------------------------------------------------------------


def plain() -> se.Evaluator:
    ev = se.Evaluator(["ndcg", "label_coverage_at(k=2)", "map_at(k=2, divisor=hits)"], keep=["curves"])
    for _ in range(2):
        ev.update({"a", "b"}, {"a": 0.5, "c": 0.25, "b": 0.1})
        ev.update({"b"}, {"a": 0.5 + 2**-40, "b": 0.7}, mask={"c"})
    ev.update({"d"}, {})
    return ev


def weighted() -> se.Evaluator:
    ev = se.Evaluator(["psp_at(k=2)"], keep=["curves"], inverse_propensities={"a": 1.5, "b": 2.0}, nan="missing")
    ev.update({"a", "b"}, {"a": 0.5, "b": math.nan}, weight=0.25)
    ev.update({"a"}, {"a": 0.5 + 2**-40, "b": 0.5}, weight=3.0)
    ev.update({"b"}, {"a": 0.125}, weight=0.0)
    return ev


def paired() -> se.Evaluator:
    ev = se.Evaluator(["f1_micro"], keep=["pairs", "curves"], labels=["x", 1, "y"], unknown="add", threshold=0.5)
    ev.update({"x", "y"}, {"x": 0.6, "z": 3.0, 1: -2.0})
    ev.update({"x"}, {"y": 0.6, "z": 0.9, 1: 0.2}, weight=1.5, mask={1})
    ev.update({"x", 1}, {"x": 0.6, 1: 0.9, "y": 0.7})
    return ev


def parted() -> se.Evaluator:
    ev = se.Evaluator(["mlcm_f1_macro(values=contributions)", "scumble"], keep=["contributions"], labels=["x", "y"])
    ev.update({"x", "y"}, {"x"})
    ev.update({"y"}, {"x", "y"}, weight=0.5)
    ev.update(set(), {"y"}, mask={"x"})
    return ev


@pytest.mark.parametrize("missing", [[0, 1], [1, 0], [0, 0, 1], [0, 1, 3]], ids=str)
def test_labels_that_a_state_lacks_must_be_listed_in_ascending_order(missing: list[int]):
    ev = se.Evaluator([], keep=["rankings"], threshold=0.5)
    ev.update({"m": 0, "n": 0, "o": 1}, {"o": 0.6})  # rankings lack false labels without a score
    decisions, rankings = ev._core.states.content().values()
    sink = Sink()
    put_content(sink, decisions)
    sink.varint(len(missing))
    sink.column(np.array(missing))
    put_rankings(sink, rankings)
    with pytest.raises(se.FormatError) if missing != [0, 1] else nullcontext():
        take_states(Source(b"".join(sink.pieces()), 0), ev._core.config)


@pytest.mark.parametrize("metric", ["lrap", "roc_auc_macro"])
def test_a_state_that_lacks_a_label_is_read_back(metric: str):
    ev = se.Evaluator([metric], nan="missing")
    ev.update({"m"}, {"m": 0.5, "l": math.nan, "n": 0.25})
    back = se.Evaluator.from_bytes(ev.to_bytes())
    assert (back, back.get()) == (ev, ev.get())


IMAGES: dict[str, Callable[[], se.Evaluator]] = {
    "plain": plain,
    "weighted": weighted,
    "paired": paired,
    "parted": parted,
}


def sound(data: bytes) -> bool:
    """Whether bytes are accepted; if so, check that the object writes the same bytes and can be used."""
    try:
        ev = se.Evaluator.from_bytes(data)
    except se.FormatError:
        return False
    assert ev.to_bytes() == data
    assert {state.examples for state in ev._core.states.states.values()} == {ev.examples}
    if ev.examples < 2**62:
        twin = ev.copy()
        twin.merge(ev)
        assert twin.examples == 2 * ev.examples
        assert se.Evaluator.from_bytes(twin.to_bytes()) == twin
    for entry in catalogue():
        config = ev._core.config
        retained = entry.state in config.states or (entry.state == "decisions" and config.has_decisions)
        spec = entry.spec
        if not retained or (entry.needs(spec) and entry.state == "rankings"):
            continue
        try:
            value = ev.get(spec)
        except se.MetricError:  # the scores are no probabilities
            continue
        for part in value.values() if isinstance(value, dict) else [value]:
            if isinstance(part, float):
                assert math.isnan(part) or entry.low <= part <= entry.high, (entry.name, part)
    return True


@pytest.mark.parametrize("image", IMAGES)
def test_damage_with_a_right_checksum_is_refused_or_read_exactly_as_written(image: str):
    body = IMAGES[image]().to_bytes()[:-4]
    rng = random.Random(image)
    start = body.index(IMAGES[image]().metrics[-1].key.encode()) + len(IMAGES[image]().metrics[-1].key)
    refused, tried = 0, cases(7000)
    for _ in range(tried):
        edited = bytearray(body)
        for _ in range(rng.choice([1, 1, 2, 3])):
            at = rng.randrange(start, len(edited))
            kind = rng.choice(["set", "near", "insert", "delete", "copy"])
            if kind == "set":
                edited[at] = rng.choice([0, 1, 2, 127, 128, 255, rng.randrange(256)])
            elif kind == "near":
                edited[at] = (edited[at] + rng.choice([-1, 1])) % 256
            elif kind == "insert":
                edited[at:at] = rng.randbytes(rng.randint(1, 3))
            elif kind == "delete":
                del edited[at : at + rng.randint(1, 3)]
            else:
                source = rng.randrange(start, len(edited))
                edited[at : at + 4] = edited[source : source + 4]
        refused += not sound(sealed(edited))
    assert refused > tried * (3 if image != "parted" else 2) // 7


@pytest.mark.parametrize("image", IMAGES)
def test_every_state_that_the_configuration_declares_must_be_in_the_bytes(image: str):
    body = bytearray(IMAGES[image]().to_bytes()[:-4])
    for flags in range(256):
        edited = body.copy()
        edited[8] = flags
        if flags != body[8]:
            sound(sealed(edited))
    bare = bytearray(se.Evaluator(["f1_micro"]).to_bytes()[:-4])
    assert bare[8] == 1
    for flags in range(256):
        if flags != 1:
            bare[8] = flags
            with pytest.raises(se.FormatError):
                se.Evaluator.from_bytes(sealed(bare))
    window = se.Fading(se.Evaluator(["f1_micro"]), half_life=3)
    edited = bytearray(window.to_bytes()[:-4])
    edited[9] |= 2
    with pytest.raises(se.FormatError):
        se.Fading.from_bytes(sealed(edited))


@pytest.mark.parametrize("chosen", [(), ("confusions",), ("cooccurrence",), ("confusions", "contributions")], ids=str)
def test_pairs_that_no_evaluator_counts_are_refused_as_damage(chosen: tuple[str, ...]):
    saved = decode(se.Evaluator([], keep=["pairs"]).to_bytes(), "Evaluator")
    pairs = only_pairs(LabelIndex(), set(chosen)).content()
    data = b"".join(encode(dataclasses.replace(saved, contents={**saved.contents, "pairs": pairs})))
    with pytest.raises(se.FormatError, match="the bytes are damaged"):
        se.Evaluator.from_bytes(data)


def test_the_error_for_bytes_with_a_refused_metric_gives_the_reason():
    saved = decode(se.Evaluator(["precision_at(k=2, divisor=ranked)"]).to_bytes(), "Evaluator")
    changed = b"".join(
        encode(dataclasses.replace(saved, metrics=("precision_at(k=2, divisor=ranked, unranked=last)",)))
    )
    with pytest.raises(se.FormatError, match=r"damaged: .* needs unranked=never"):
        se.Evaluator.from_bytes(changed)


def test_bytes_with_metrics_that_need_other_states_are_refused():
    saved = decode(se.Evaluator(["ndcg"]).to_bytes(), "Evaluator")
    for metrics in (("roc_auc_macro",), ("label_coverage_at(k=2)",), ("psp_at(k=2)",)):
        changed = b"".join(encode(dataclasses.replace(saved, metrics=metrics)))
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(changed)
    more = se.Evaluator(["ndcg"], keep=["curves"])
    single = bytearray(more.to_bytes()[:-4])
    single[7] = 2
    with pytest.raises(se.FormatError):
        se.Metric.from_bytes(sealed(single))
    saved = decode(se.F1().to_bytes(), "F1")
    for kind in (se.Evaluator, se.F1, se.Metric):
        with pytest.raises(se.FormatError):
            kind.from_bytes(b"".join(encode(dataclasses.replace(saved, metrics=("f1_macro", "f1_micro")))))


@pytest.mark.parametrize("image", IMAGES)
def test_huge_numbers_anywhere_in_the_bytes_use_little_memory(image: str):
    body = IMAGES[image]().to_bytes()[:-4]
    sizes, places = (2**16, 2**31, 2**62, 2**64 - 1), range(8, len(body))
    for at, size in spread([(at, size) for at in places for size in sizes], 403):
        data = sealed(body[:at] + varint(size) + body[at + 1 :])
        tracemalloc.start()
        try:
            sound(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= 2**21, (size, at)


@pytest.mark.parametrize("name", KEEP)
def test_contents_of_other_examples_than_the_decisions_are_refused(name: str):
    setup = {"metrics": TRIALS[name].metrics, "threshold": 0.5, **TRIALS[name].arguments("abc")}
    examples = [Seen({"a"}, {"a": 0.75, "b": 0.5}, 0.5, set()), Seen({"b", "c"}, {"a": 0.25}, 1.0, set())]
    one, more = (decode(counted(setup, some).to_bytes(), "Evaluator") for some in (examples, examples * 2))
    assert b"".join(encode(one)) == counted(setup, examples).to_bytes()
    contents = {**one.contents, name: more.contents[name]}
    with pytest.raises(se.FormatError):
        se.Evaluator.from_bytes(b"".join(encode(dataclasses.replace(one, contents=contents))))


@pytest.mark.parametrize("keep", NAMES)
@pytest.mark.parametrize(
    "weights", [{"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 1.5}, dict.fromkeys(("ab", "ac", "db", "dc"), 0.5)], ids=str
)
def test_weights_in_finer_units_than_their_total_are_read_back(keep: str, weights: dict[str, float]):
    ev = se.Evaluator([], keep=[keep], threshold=0.5)
    for true, weight in weights.items():
        ev.update({*true}, dict.fromkeys("abcd", 0.25), weight=weight)
    assert se.Evaluator.from_bytes(ev.to_bytes()) == ev


def finer(content: Any) -> Any:
    """The same weights in units of half the size."""
    twice = dataclasses.replace(content, scale=content.scale + 1, weight=2 * content.weight)
    if isinstance(content, CurveContent):
        side_weights = [[2 * weight for weight in sides] for sides in content.side_weights]
        blocks = [
            block._replace(weigh=lambda block=block: (2 * np.array(block.weigh(), object)).tolist())
            for block in content.blocks()
        ]
        return dataclasses.replace(twice, side_weights=side_weights, blocks=lambda: blocks)
    double = [(*block[:2], [2 * weight for weight in block[2]]) for block in content.sets()]
    pairs = {
        kind: [(*block[:2], [2 * weight for weight in block[2]]) for block in blocks()]
        for kind, blocks in content.pairs.items()
    }
    return dataclasses.replace(
        twice, sets=lambda: double, pairs={kind: lambda kind=kind: pairs[kind] for kind in pairs}
    )


def of_bins(change: Callable[[list, list, list], None]) -> Callable[[Any], Any]:
    """A function that changes the counts, sums and weights of the bins of a content."""

    def changed(content: Any) -> Any:
        (block,) = content.blocks()
        counts, sums, weights = block.counts.copy(), block.sums.copy(), copy.deepcopy(block.weigh())
        change(counts, sums, weights)
        blocks = [block._replace(counts=counts, sums=sums, weigh=lambda: weights)]
        return dataclasses.replace(content, blocks=lambda: blocks)

    return changed


def without_scores(counts: Any, sums: Any, weights: Any) -> None:
    counts[1], sums[1], weights[1] = 0, 0, [[0, 0, 0], [0, 0, 0]]


def squares_too_large(counts: Any, sums: Any, weights: Any) -> None:
    weights[0][1][2] = weights[0][1][1] * 2**42


def squares_too_small(counts: Any, sums: Any, weights: Any) -> None:
    weights[0][1][2] = weights[0][1][1] ** 2 // weights[0][1][0] - 1


def of_sets(*sets: tuple[tuple[int, ...], int, int]) -> Callable[[Any], Any]:
    """A function that replaces the label sets of a content, with their times and weights."""
    blocks = [tuple(map(list, zip(*sets, strict=True)))]
    return lambda content: dataclasses.replace(content, sets=lambda: blocks)


def of_pairs(kind: int, times: int, weight: int) -> Callable[[Any], Any]:
    """A function that adds ``times`` and ``weight`` to each pair of one kind."""

    def changed(content: Any) -> Any:
        more = [(keys, n + times, [w + weight for w in weights]) for keys, n, weights in content.pairs[kind]()]
        return dataclasses.replace(content, pairs={**content.pairs, kind: lambda: more})

    return changed


# "a" has two bins and "b" has one. Label sets: {a} once with weight 1, {a, b} once with 3, {b} once with 4.
IMPOSSIBLE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "bins in units finer than needed": ("curves", finer),
    "a bin without scores": ("curves", of_bins(without_scores)),
    "squares of residuals larger than all can be": ("curves", of_bins(squares_too_large)),
    "squares of residuals smaller than their sum demands": ("curves", of_bins(squares_too_small)),
    "pairs in units finer than needed": ("pairs", finer),
    "pairs without weights": ("pairs", lambda content: dataclasses.replace(content, scale=None)),
    "more confusions than decisions": ("pairs", of_pairs(1, 1, 0)),
    "heavier confusions than decisions": ("pairs", of_pairs(1, 0, 8)),
    "heavier co-occurrences than labels": ("pairs", of_pairs(3, 0, 8)),
    "a set that never occurs": ("pairs", of_sets(((), 0, 0), ((0,), 1, 1), ((0, 1), 1, 3), ((1,), 1, 4))),
    "more sets than examples": ("pairs", of_sets(((), 1, 0), ((0,), 1, 1), ((0, 1), 1, 3), ((1,), 1, 4))),
    "a set twice": ("pairs", of_sets(((0,), 1, 1), ((0, 1), 1, 3), ((1,), 0, 2), ((1,), 1, 2))),
    "sets of other labels": ("pairs", of_sets(((0,), 1, 1), ((0, 1), 2, 7))),
    "labels of a set out of order": ("pairs", of_sets(((0,), 1, 1), ((1,), 1, 4), ((1, 0), 1, 3))),
    "a label before the first": ("pairs", of_sets(((-1,), 1, 4), ((-1, 0), 1, 3), ((0,), 1, 1))),
}  # fmt: skip


@with_each("name", IMPOSSIBLE)
def test_impossible_contents_of_curves_and_pairs_are_refused(name: str):
    ev = se.Evaluator([], keep=[*PARTS, "curves"], threshold=0.5)
    ev.update({"a"}, {"a": 0.25, "b": 0.75}, weight=0.5)
    ev.update({"a", "b"}, {"a": 0.25 + 2**-40, "b": 0.75}, weight=1.5)
    ev.update({"b"}, {"a": 0.5}, weight=2.0)
    saved = decode(ev.to_bytes(), "Evaluator")
    assert b"".join(encode(saved)) == ev.to_bytes()
    kind, change = IMPOSSIBLE[name]
    contents = {**saved.contents, kind: change(saved.contents[kind])}
    with pytest.raises(se.FormatError):
        se.Evaluator.from_bytes(b"".join(encode(dataclasses.replace(saved, contents=contents))))


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_further_states_add_few_bytes():
    rng = np.random.default_rng(5)
    true = (rng.random((2000, 8)) < 0.3).astype(np.uint8)
    scores = np.clip(rng.random((2000, 8)), 0.01, 0.99).astype(np.float32)
    sizes = {}
    for name in KINDS:
        ev = se.Evaluator(["f1_micro"], labels=range(8), threshold=0.5, keep=[name])
        bare = se.Evaluator(["f1_micro"], labels=range(8), threshold=0.5)
        for target in (ev, bare):
            target.update_many(true, scores)
        sizes[name] = len(ev.to_bytes()) - len(bare.to_bytes())
        if name == "curves":
            bins = sum(len(block.bins) for block in ev._core.states.content()["curves"].blocks())
        if name == "pairs":
            pairs = sum(len(keys) for make in ev._core.states.content()["pairs"].pairs.values() for keys, *_ in make())
        if name == "rankings":
            rows = sum(len(table.keys) for table in ev._core.states.content()["rankings"].tables)
    assert sizes["curves"] <= 16 * bins
    assert sizes["pairs"] <= 8 * pairs
    assert sizes["rankings"] <= 12 * rows


def test_a_label_takes_at_most_25_bytes_besides_its_name():
    names = [f"label {number}" for number in range(10_000)]
    ev = se.Evaluator(["f1_macro"])
    for start in range(0, 10_000, 20):
        ev.update(names[start : start + 20], names[start + 5 : start + 25], mask=names[start : start + 3])
    text = sum(len(name.encode()) for name in names)
    for _ in range(36):  # up to 3e13 examples
        ev.merge(ev)
    assert len(ev.to_bytes()) - text <= 25 * len(names)
    assert ev.examples > 10**13
    assert set(ev.labels) == set(names)
