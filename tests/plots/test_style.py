"""Numbers and colours of pictures."""

from __future__ import annotations

import inspect
import math
from itertools import combinations

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from streameval import plots
from streameval.plots import style as parts

DEFAULT_COLOURS = inspect.signature(plots.plot_confusion_matrix).parameters["cmap"].default


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, ""), (math.nan, ""), (-math.inf, ""), (3.0, "3"), (9999.0, "9999"), (10000.0, "10k"), (12345.0, "12.3k"),
        (999960.0, "1000k"), (1234567.0, "1.2M"), (2e9, "2G"), (0.123, "0.12"), (1.26, "1.3"), (99.6, "100"),
        (-2.5, "-2.5"), (9.999e12, "9999G"), (1e100, "1e100"),
    ],
)  # fmt: skip
def test_numbers_have_few_characters(value: float, text: str):
    assert parts.short(value) == text


def test_fractions_are_written_in_per_cent():
    rounded = [parts.short(value, fraction=True) for value in (0.0, 1e-9, 0.0049, 0.0051, 0.674, 1.0)]
    assert rounded == ["", "<1%", "<1%", "1%", "67%", "100%"]


def luminance_of(colours: np.ndarray) -> np.ndarray:
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_lines_differ_in_their_dashes_or_in_grey_and_for_the_colour_blind():
    looks = [parts.line_style(number) for number in range(len(parts.COLOURS))]
    colours = np.array([to_rgb(look["color"]) for look in looks])
    # Machado, Oliveira & Fernandes 2009: sight without the cones for red, and without the cones for green.
    red = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    green = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    for first, second in combinations(range(len(looks)), 2):
        light, dark = sorted(luminance_of(colours[[first, second]]), reverse=True)
        assert looks[first]["linestyle"] != looks[second]["linestyle"] or (light + 0.05) / (dark + 0.05) > 1.5
        for sight in (np.eye(3), np.array(red), np.array(green)):
            one, other = (sight @ colours[place] for place in (first, second))
            assert np.abs(one - other).max() > 0.15
    looks = [tuple(parts.line_style(number, marked=True).values()) for number in range(60)]
    assert len({*looks}) == len(looks)


def test_colours_get_darker_in_even_steps_and_text_can_be_read_on_all_of_them():
    ramp = colormaps[DEFAULT_COLOURS](np.linspace(0, 1, 64))[:, :3]
    luminance = luminance_of(ramp)
    lightness = 116 * np.cbrt(luminance) - 16  # CIE L*, which differs for colours near black only
    steps = -np.diff(lightness)
    assert (steps > 0).all()
    assert steps.max() < 2.5 * steps.mean()
    ink = {"white": 1.0, parts.INK: 0.02}
    for colour, light in zip(ramp, luminance, strict=True):
        text = ink[parts.ink_on(colour)]
        assert (max(text, light) + 0.05) / (min(text, light) + 0.05) > 3.4
