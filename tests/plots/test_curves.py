"""Curves over scores: what they say, not what they look like."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streameval.errors import InputError
from streameval.plots.curves import (
    Curve,
    plot_calibration_curve,
    plot_precision_recall_curve,
    plot_roc_curve,
    plot_thresholds,
)


def drawn(ax: object) -> object:
    ax.figure.canvas.draw()
    return ax


def test_roc_curves_are_named_and_their_bands_filled():
    x, y = np.array([0, 0.2, 1]), np.array([0, 0.7, 1])
    band = (np.array([0, 0.2, 0.2, 1]), np.array([0, 0, 0.7, 0.7]), np.array([0.7, 0.7, 1, 1]))
    ax = drawn(
        plot_roc_curve([Curve("micro", x, y, band, "AUC 0.75"), Curve(7, x, y)], background=[Curve("c", x, y)] * 30)
    )
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["micro  AUC 0.75", "7"]
    assert len(ax.lines) == 1 + 30 + 2  # guessing, behind, in front
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert ax.lines[-1].get_xydata().tolist() == [[0, 0], [0.2, 0.7], [1, 1]]
    assert len(ax.collections) == 1
    extent = ax.collections[0].get_datalim(ax.transData)
    assert [extent.x0, extent.y0, extent.x1, extent.y1] == [0, 0, 1, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false positive rate", "true positive rate")
    assert ax.get_aspect() == 1


def test_precision_recall_is_drawn_in_steps():
    recall, precision = [1.0, 0.5, 0.0], [0.25, 0.5, 1.0]
    ax = drawn(plot_precision_recall_curve(Curve("a", recall, precision), prevalence=0.25))
    assert ax.lines[-1].get_drawstyle() == "steps-post"
    assert set(ax.lines[0].get_ydata()) == {0.25}
    assert ax.lines[-1].get_xydata().tolist() == [[1, 0.25], [0.5, 0.5], [0, 1]]


def test_points_that_are_no_numbers_are_left_out():
    ax = drawn(plot_roc_curve(Curve("a", [0, math.nan, 1], [0, 0.5, 1])))
    assert ax.lines[-1].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert len(drawn(plot_roc_curve(Curve("a", [math.nan], [math.nan]))).lines[-1].get_xydata()) == 0


def test_curves_that_cannot_be_drawn_are_refused():
    with pytest.raises(InputError, match="too many to distinguish"):
        plot_roc_curve([Curve(str(i), [0, 1], [0, 1]) for i in range(9)])
    with pytest.raises(InputError, match="one length"):
        plot_roc_curve(Curve("a", [0, 1], [0]))
    with pytest.raises(InputError, match="per threshold"):
        plot_thresholds([0.1], [1.0, 1.0], [1.0], [1.0])
    with pytest.raises(InputError, match="per bin"):
        plot_calibration_curve([0.1], [0.1], [3], edges=[0, 0.5, 1])


def test_reliability_leaves_empty_bins_out_and_counts_all():
    predicted, observed = [0.1, math.nan, 0.9], [0.2, math.nan, 0.7]
    ax = drawn(
        plot_calibration_curve(predicted, observed, [1000, 0, 10], low=[0.1, 0, 0.5], high=[0.3, 0, 0.8], name="all")
    )
    assert ax.lines[-1].get_xydata().tolist() == [[0.1, 0.2], [0.9, 0.7]]
    assert [path.vertices.tolist() for path in ax.collections[0].get_paths()] == [
        [[0.1, 0.1], [0.1, 0.3]], [[0.9, 0.5], [0.9, 0.8]],
    ]  # fmt: skip
    strip = ax.child_axes[0]
    assert [bar.get_height() for bar in strip.patches] == [1000, 0, 10]
    assert strip.get_yscale() == "log"
    assert strip.get_xlabel() == "mean score"
    lowest = strip.xaxis.label.get_window_extent()
    assert lowest.y0 >= 0  # nothing is cut off
    drawn(plot_calibration_curve([math.nan], [math.nan], [0]))


def test_a_sweep_draws_three_lines_in_the_order_of_thresholds_and_marks_one():
    ax = drawn(
        plot_thresholds(
            [0.9, math.inf, 0.1], [1, 1, 0.4], [0.2, 0, 1], [0.33, 0, 0.57], chosen=0.1, beta=2, title="cat"
        )
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["precision", "recall", "F2"]
    assert ax.lines[0].get_xydata().tolist() == [[0.1, 0.4], [0.9, 1]]
    assert ax.lines[2].get_xydata().tolist() == [[0.1, 0.57], [0.9, 0.33]]
    assert [text.get_text() for text in ax.texts] == ["0.1"]
    low, high = ax.get_xlim()
    assert low < 0.1 < 0.9 < high < 1.1
    drawn(plot_thresholds([], [], [], []))
