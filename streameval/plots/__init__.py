"""Pictures, drawn with matplotlib (the extra ``plot``), which is imported when one is drawn, not before."""

from streameval.plots.confusion import plot_confusion, plot_cooccurrence, plot_label_panels
from streameval.plots.curves import Curve, plot_precision_recall, plot_reliability, plot_roc, plot_thresholds

__all__ = [
    "Curve", "plot_confusion", "plot_cooccurrence", "plot_label_panels", "plot_precision_recall", "plot_reliability",
    "plot_roc", "plot_thresholds",
]  # fmt: skip
