"""Pictures, drawn with matplotlib (the extra ``plot``), which is imported when one is drawn, not before."""

from streameval.plots.confusion import plot_confusion_matrix, plot_cooccurrence, plot_multilabel_confusion
from streameval.plots.curves import (
    Curve,
    plot_calibration_curve,
    plot_precision_recall_curve,
    plot_roc_curve,
    plot_thresholds,
)
from streameval.plots.labels import plot_labels

__all__ = [
    "Curve", "plot_calibration_curve", "plot_confusion_matrix", "plot_cooccurrence", "plot_labels",
    "plot_multilabel_confusion", "plot_precision_recall_curve", "plot_roc_curve", "plot_thresholds",
]  # fmt: skip
