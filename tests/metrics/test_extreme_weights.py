"""Every metric under weights from the least to the greatest float64: values keep their digits, bounds hold, and
the ends of bounds that call themselves ``exact`` are at most one float apart."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest

import streameval as se
from tests.support.definitions import cases_of, evaluator_of, expected, is_near

EXTREMES = (1.0, 0.1, 1e-300, 5e-324, 1e308, 3.0, 0.0)


def rounded(exact: Any) -> Any:
    """The exact value, or infinity where it is larger than every float64."""
    return math.inf if isinstance(exact, Fraction) and exact > sys.float_info.max else exact


@pytest.mark.parametrize("entry", se.catalogue(), ids=lambda entry: entry.name)
def test_values_and_bounds_hold_under_extreme_weights(entry: se.MetricInfo):
    draw = random.Random(entry.name)
    for stream, specs in cases_of(entry, 2)[-3:]:
        stream = replace(stream, examples=[replace(one, weight=draw.choice(EXTREMES)) for one in stream.examples])
        ev = evaluator_of(entry, stream, specs)
        for spec in specs:
            value, exact, bounds = ev.get(spec), expected(entry, stream, spec), ev.bounds(spec)
            if entry.certify is None:
                wanted = (
                    {name: rounded(one) for name, one in exact.items()} if isinstance(exact, dict) else rounded(exact)
                )
                assert is_near(value, wanted), (spec.key, value, exact)
            for name, one in bounds.items() if isinstance(bounds, dict) else [(None, bounds)]:
                true = exact[name] if isinstance(exact, dict) else exact
                if entry.certify is None or true is None or math.isnan(true):
                    continue
                assert not one.exact or one.high <= math.nextafter(one.low, math.inf), (spec.key, one)
                assert one.low <= one.value <= one.high, (spec.key, one)
                assert entry.name == "log_loss" or one.low <= true <= one.high, (spec.key, one)


def log_loss(cells: list[tuple[bool, float, float]], cap: float | None) -> Decimal:
    """The definition, computed with 900 digits: enough for every float64 and for its distance from 1."""
    wide, least = Context(prec=900), Decimal(2) ** -52
    loss = weight = Decimal(0)
    for true, score, of in cells:
        chance = Decimal(score) if true else wide.subtract(1, Decimal(score))
        chance = min(max(chance, least), wide.subtract(1, least))
        cost = -Context(prec=60).ln(chance)
        loss = wide.add(loss, wide.multiply(Decimal(of), cost if cap is None else min(cost, Decimal(cap))))
        weight = wide.add(weight, Decimal(of))
    return wide.divide(loss, weight)


@pytest.mark.parametrize("seed", range(40))
def test_the_log_loss_is_exact_where_all_scores_are_known_and_within_its_bounds_elsewhere(seed: int):
    draw = random.Random(seed)
    scores = (0.3, 0.7, 1e-18, 0.5, 1.0, 0.0, draw.random(), draw.random() ** 30, 1 - draw.random() ** 20)
    cells = [(draw.random() < 0.5, draw.choice(scores), draw.choice(EXTREMES[:-1])) for _ in range(draw.randint(1, 6))]
    for cap in (None, 1.5):
        ev = se.LogLoss(average="micro", cap=cap)
        for true, score, weight in cells:
            ev.update({"a"} if true else set(), {"a": score}, weight=weight)
        exact, got = log_loss(cells, cap), ev.bounds()
        assert isinstance(got, se.Bounds)
        assert got.exact
        assert got.high <= math.nextafter(got.low, math.inf)
        assert Decimal(got.low) <= exact <= Decimal(got.high)
        assert got.value == float(exact)
        close = [(True, scores[-3], 5e-324), (True, math.nextafter(scores[-3], 2.0), 5e-324)]
        for true, score, weight in close:
            ev.update({"a"} if true else set(), {"a": score}, weight=weight)
        exact, got = log_loss([*cells, *close], cap), ev.bounds()
        assert isinstance(got, se.Bounds)
        assert Decimal(got.low) <= exact <= Decimal(got.high)
