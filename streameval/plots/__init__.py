"""Pictures, drawn with matplotlib (the extra ``plot``), which is imported when one is drawn, not before.

Each takes an evaluator, a single metric, a window, or an object that holds one; or arrays of examples x labels,
``y_true`` and ``y_pred`` or ``y_score``. At most ``limit`` labels, slices or rows are drawn; the title says if these
are not all. ``ax`` are the axes to draw on, which are returned; None makes new ones. ``title`` may be "" for no title.
"""

from inspect import signature
from typing import Any

from streameval.errors import InputError, MetricError
from streameval.evaluation.evaluator import specs_of
from streameval.plots.bars import plot_compare, plot_labels, plot_metric, plot_slices
from streameval.plots.confusion import plot_confusion_matrix, plot_cooccurrence, plot_multilabel_confusion
from streameval.plots.curves import plot_calibration_curve, plot_precision_recall_curve, plot_roc_curve, plot_thresholds
from streameval.schema.keywords import explained, refuse_mistaken
from streameval.schema.text import quoted, suggestion

__all__ = [
    "plot_calibration_curve", "plot_compare", "plot_confusion_matrix", "plot_cooccurrence", "plot_labels",
    "plot_metric", "plot_multilabel_confusion", "plot_precision_recall_curve", "plot_roc_curve", "plot_slices",
    "plot_thresholds",
]  # fmt: skip

globals().update({name: explained(globals()[name]) for name in __all__})


_MEANT = {"pr": "precision_recall_curve", "pr_curve": "precision_recall_curve", "reliability": "calibration_curve"}


def draw(source: object, kind: str, **options: Any) -> Any:
    """Draw the picture ``kind``, which is the name of a function without ``plot_``."""
    kinds = [name.removeprefix("plot_") for name in __all__]
    if kind not in kinds:
        hint = f"; a metric is drawn by plot('metric', metrics={quoted(kind)})"
        try:
            specs_of([kind])
        except MetricError:
            hint = suggestion(_MEANT.get(str(kind), kind), kinds) or hint
        raise InputError(f"plot() draws {', '.join(kinds)}, not {quoted(kind)}{hint}")
    drawing = globals()[f"plot_{kind}"]
    placed = sum(name in ("source", "y_pred", "y_score") for name in signature(drawing).parameters)
    refuse_mistaken(drawing, options, placed=placed, name="plot")
    return drawing(source, **options)
