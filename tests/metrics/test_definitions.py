"""Every entry of the catalogue, by its public name, against an independent definition of it."""

from __future__ import annotations

import copy
import math
import pickle
from contextlib import suppress

import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS, reads_scores
from streameval.metrics.catalogue import build_spec
from tests.support.definitions import (
    INVERSE,
    NAMES,
    Stream,
    bounds_of,
    cases_of,
    evaluator_of,
    expected,
    is_near,
    values_of,
)
from tests.support.effort import BRIEF
from tests.support.ranking_oracle import Ranked

ULPS = {"log_loss": 64}
"""By how many units in the last place a sum of rounded logarithms may be off; the rest is within one unit."""


def test_every_entry_has_a_definition_and_every_definition_an_entry():
    entries = {entry.name: entry.state for entry in se.catalogue()}
    missing = {name: state for name, state in entries.items() if name not in NAMES}
    assert missing == {}, "define them in tests/support: decisions in oracle.py, other states as kinds.py says"
    assert {*entries} == NAMES
    assert pickle.loads(pickle.dumps(se.catalogue())) == copy.deepcopy(se.catalogue()) == se.catalogue()


def test_no_name_is_another_name_with_an_average():
    names = [name for entry in se.catalogue() for name in (entry.name, *entry.aliases)]
    suffixes = ("micro", "macro", "weighted", "samples", "per_label")
    assert not {f"{name}_{suffix}" for name in names for suffix in suffixes} & set(names)


@pytest.mark.parametrize("entry", se.catalogue(), ids=lambda entry: entry.name)
def test_every_average_and_parameter_gives_what_the_definition_says(entry: se.MetricInfo):
    tried = set()
    for place, (stream, specs) in enumerate(cases_of(entry)):
        ev = evaluator_of(entry, stream, specs)
        values = ev.get() if entry.certify is None or place % 4 == 0 else {}
        for spec in specs:
            if entry.certify is not None:
                interval = ev.bounds(spec)
                if values and spec.average is not None:
                    assert repr(values[spec.key]) == repr(interval.value)
                assert bounds_of(entry, stream, spec)(interval), (spec.key, interval)
            else:
                exact = expected(entry, stream, spec)
                assert is_near(values[spec.key], exact), (spec.key, values[spec.key], exact)
            tried |= {("average", spec.average), *spec.parameters}
    assert {average for name, average in tried if name == "average"} == set(entry.averages)
    for parameter in entry.parameters:
        assert {value for name, value in tried if name == parameter.name} >= set(values_of(parameter))


MANY = list("abcdefghijkl")
RANKED = [Ranked({*MANY[:size]}, {label: at / 16 for at, label in enumerate(MANY)}) for size in range(13)]


@pytest.mark.parametrize("entry", [e for e in se.catalogue() if e.needs(e.spec)], ids=lambda entry: entry.name)
def test_a_metric_has_one_value_whether_it_or_keep_chose_the_state_or_it_is_refused(entry: se.MetricInfo):
    whole = {parameter.name: 11 for parameter in entry.parameters if parameter.whole}
    spec, stream = build_spec(entry.name, parameters=whole), Stream(RANKED, labels=MANY)
    keep = [KINDS[entry.state].options.required(entry.needs(spec))]
    with suppress(se.MetricError):
        value = evaluator_of(entry, stream, [], keep).get(spec)
        assert value == evaluator_of(entry, stream, [spec]).get(spec)


@pytest.mark.parametrize("entry", se.catalogue(), ids=lambda entry: entry.name)
def test_a_class_and_a_name_give_the_same_value(entry: se.MetricInfo):
    for stream, specs in cases_of(entry, 1)[-2 if BRIEF else -6 :]:  # cases without ties="last"
        plain = type(stream)(stream.examples)
        for spec in specs:
            arguments = dict.fromkeys(entry.arguments, INVERSE)
            made = getattr(se, entry.class_name)(
                average=spec.average, zero_division=spec.zero_division, labels=stream.labels, **arguments,
                **({"empty": spec.empty} if entry.state == "decisions" else {}), **dict(spec.parameters),
            )  # fmt: skip
            assert made.spec == spec
            for example in stream.examples:
                predicted = (
                    example.scores if reads_scores(entry) else {n for n, s in example.scores.items() if s >= 0.5}
                )
                made.update(example.true, predicted, weight=example.weight, mask=example.hidden)
            exact = expected(entry, plain, spec)
            value = made.get()
            assert is_near(value, exact, ulps=ULPS.get(entry.name, 1)) or math.isnan(exact), spec.key
