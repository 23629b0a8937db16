"""Numbers and colours of pictures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streameval.plots import style as parts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, ""), (math.nan, ""), (-math.inf, ""), (3.0, "3"), (9999.0, "9999"), (10000.0, "10k"), (12345.0, "12.3k"),
        (999960.0, "1000k"), (1234567.0, "1.2M"), (2e9, "2G"), (0.123, "0.12"), (1.26, "1.3"), (99.6, "100"),
        (-2.5, "-2.5"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str):
    assert parts.short(value) == text


def test_shares_are_per_cent():
    shown = [parts.short(value, fraction=True) for value in (0.0, 1e-9, 0.0049, 0.0051, 0.674, 1.0)]
    assert shown == ["", "<1", "<1", "1", "67", "100"]


def test_colours_get_darker_in_even_steps_and_text_can_be_read_on_all_of_them():
    ramp = parts.colours()(np.linspace(0, 1, 64))[:, :3]
    linear = np.where(ramp <= 0.04045, ramp / 12.92, ((ramp + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    lightness = 116 * np.cbrt(luminance) - 16  # CIE L*, but for the nearly black
    steps = -np.diff(lightness)
    assert (steps > 0).all()
    assert steps.max() < 2.5 * steps.mean()
    ink = {"white": 1.0, parts.INK: 0.02}
    for colour, light in zip(ramp, luminance, strict=True):
        text = ink[parts.ink_on(colour)]
        assert (max(text, light) + 0.05) / (min(text, light) + 0.05) > 3.4
