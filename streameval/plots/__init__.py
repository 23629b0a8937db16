"""Pictures, drawn with matplotlib (the extra ``plot``), which is imported when one is drawn, not before.

Each takes an evaluator, a single metric, a window, or what holds one; or arrays of examples x labels, ``y_true`` and
``y_pred`` or ``y_score``. Of more labels, slices or rows than ``limit`` only so many are drawn, as the title says.
``ax`` are the axes to draw on, new ones if None, which are returned; ``title`` is the text above, "" for none.
"""

from typing import Any

from streameval.errors import InputError
from streameval.plots.bars import plot_compare, plot_labels, plot_metric, plot_slices
from streameval.plots.confusion import plot_confusion_matrix, plot_cooccurrence, plot_multilabel_confusion
from streameval.plots.curves import plot_calibration_curve, plot_precision_recall_curve, plot_roc_curve, plot_thresholds
from streameval.schema.keywords import explained
from streameval.schema.text import quoted, suggestion

__all__ = [
    "plot_calibration_curve", "plot_compare", "plot_confusion_matrix", "plot_cooccurrence", "plot_labels",
    "plot_metric", "plot_multilabel_confusion", "plot_precision_recall_curve", "plot_roc_curve", "plot_slices",
    "plot_thresholds",
]  # fmt: skip

globals().update({name: explained(globals()[name]) for name in __all__})


def draw(source: object, kind: str, **options: Any) -> Any:
    """Draw a picture of something by its name."""
    kinds = [name.removeprefix("plot_") for name in __all__]
    if kind not in kinds:
        hint = suggestion(kind, kinds) or f"; a metric is drawn by plot('metric', metrics={quoted(kind)})"
        raise InputError(f"plot() draws {', '.join(kinds)}, not {quoted(kind)}{hint}")
    return globals()[f"plot_{kind}"](source, **options)
