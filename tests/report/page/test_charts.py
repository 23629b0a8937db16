"""Axes, and how curves and bands are drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from streameval.report.page.charts import Axis, Chart, fraction_axis, log_axis, nice_axis, thinned
from streameval.report.page.markup import MINUS
from tests.support.effort import cases


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
@example(0.0, 5e-324)
@example(5e-324, 5e-324)
@example(-1e-310, 1e-310)
@example(-1e9, -999999999.9999999)
def test_axes_contain_their_values_and_have_2_to_8_ticks(one: float, two: float):
    low, high = sorted((one, two))
    axis = nice_axis("x", low, high)
    slack = 1e-6 * max(abs(low), abs(high), 1e-300)
    assert axis.low <= low + slack
    assert axis.high >= high - slack
    assert 2 <= len(axis.ticks) <= 8
    assert axis.at([axis.low, axis.high]).tolist() == [0, 1]


@given(st.floats(1e-6, 1e12), st.floats(1e-6, 1e12))
def test_logarithmic_axes_contain_their_values_and_have_ticks(one: float, two: float):
    axis = log_axis("x", min(one, two), max(one, two))
    assert axis.low < min(one, two)
    assert axis.high > max(one, two)
    assert 1 <= len(axis.ticks) <= 13
    assert all(axis.low <= place <= axis.high for place, _ in axis.ticks)


@pytest.mark.parametrize(("axis", "ends", "ticks"), [
    (nice_axis("", 0, 9000), (0, 10_000), "0 2,500 5,000 7,500 10k"),
    (nice_axis("", -20_000, 20_000), (-20_000, 20_000), "-20k -10k 0 10k 20k"),
    (nice_axis("", 0, 2e6), (0, 2e6), "0 500k 1M 1.5M 2M"),
    (nice_axis("", 0, 4e9), (0, 4e9), "0 1G 2G 3G 4G"),
    (nice_axis("", -2e12, 2e12), (-2e12, 2e12), "-2e+12 -1e+12 0 1e+12 2e+12"),
    (nice_axis("", -3e-5, 3e-5), (-4e-5, 4e-5), "-4e-05 -2e-05 0 2e-05 4e-05"),
    (nice_axis("", -2, 1.5), (-2, 2), "-2 -1 0 1 2"),
    (nice_axis("", 3, 17, tight=True), (3, 17), "5 10 15"),
    (fraction_axis("", [0.5, 0.6]), (0.5, 0.6), "0.5 0.525 0.55 0.575 0.6"),
    (fraction_axis("", [0.5, 0.95]), (0, 1), "0 0.25 0.5 0.75 1"),
    (fraction_axis("", [0.5, 0.5]), (0, 1), "0 0.25 0.5 0.75 1"),
    (log_axis("", 10, 14), (10 / 1.1, 15.4), "10 12 14"),
    (log_axis("", 2, 7), (1.25, 11.2), "2 5 10"),
    (log_axis("", 10, 13), (6.25, 20.8), "10 20"),
    (log_axis("", 2, 100), (1.25, 160), "3 10 30 100"),
    (log_axis("", 1, 1000), (0.625, 1600), "1 10 100 1,000"),
    (log_axis("", 1, 1e9), (0.625, 1.6e9), "10 1,000 100k 10M 1G"),
])  # fmt: skip
def test_ticks_are_few_round_and_short(axis: Axis, ends: tuple[float, float], ticks: str):
    assert (axis.low, axis.high) == pytest.approx(ends)
    assert [text for _, text in axis.ticks] == ticks.replace("-", MINUS).split()


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=50))
def test_thinning_leaves_out_only_points_that_cannot_be_distinguished(points: list[tuple[float, float]]):
    x, y = np.array(points).T
    retained = thinned(x, y)
    assert retained[0] == 0
    assert retained[-1] == len(x) - 1
    for place in range(len(x)):
        before = retained[np.searchsorted(retained, place, "right") - 1]
        assert max(abs(x[place] - x[before]), abs(y[place] - y[before])) <= 0.002 + 1e-12


@settings(max_examples=cases(50))
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30))
def test_a_drawn_band_contains_the_certified_bounds(points: list[tuple[float, float, float]]):
    x, one, two = np.array(sorted(points)).T
    low, high = np.minimum(one, two), np.maximum(one, two)
    chart = Chart("", "", Axis("x", 0, 1, ()), Axis("y", 0, 1, ()))
    drawn = chart.band(x, low, high)
    assert drawn == (float((high - low).max()) * 500 >= 1)
    if not drawn:
        return
    places = np.array(re.findall(r"(\d+) (\d+)", chart.plot().split('class="band')[1]), int)
    upper, lower = places[: len(places) // 2], places[len(places) // 2 :]
    for across, bottom, top in zip(x, low, high, strict=True):
        place = np.abs(upper[:, 0] - 1000 * across) <= 2
        assert upper[place, 1].min() <= 1000 * (1 - top) + 1
        assert lower[np.abs(lower[:, 0] - 1000 * across) <= 2, 1].max() >= 1000 * (1 - bottom) - 1


def test_a_name_is_next_to_its_dot_or_above_it_or_left_out_but_never_between_two_dots():
    axis = Axis("x", 0.0, 1.0, ((0.0, "0"), (1.0, "1")))
    places = {"first": (0.5, 0.5), "middle": (0.57, 0.5), "last": (0.64, 0.5)}
    chart = Chart("", "", axis, axis)
    x, y = zip(*places.values(), strict=True)
    chart.dots(x, y, "", [0, 1, 2])
    chart.names(x, y, [*places])
    pattern = r'"name" style="left:(.*?)%;bottom:(.*?)%;transform:translate\((.*?)%,50%\)"><bdi>(.*?)<'
    placed = re.findall(pattern, chart.html())
    assert {name: (float(left), float(up) > 50, float(back)) for left, up, back, name in placed} == {
        "first": (50, False, -100),
        "middle": (57, True, -50),
        "last": (64, False, 0),
    }
    crowd = Chart("", "", axis, axis)
    crowd.dots([0.5, 0.5, 0.48, 0.52], [0.5, 0.57, 0.5, 0.5], "", [0, 1, 2, 3])
    crowd.names([0.5], [0.5], ["crowded"])
    assert "crowded" not in crowd.html()
