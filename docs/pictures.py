"""Pictures on the pages, drawn with the package's plots from real results when the site is built.

``python docs/pictures.py`` renews the picture in the README, the only one in the repository; it needs chromium.
"""

from __future__ import annotations

import io
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # import this tree, not an installed package

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from river import datasets, linear_model, multioutput, optim, preprocessing

import streameval as se
from streameval import plots

ROOT = Path(__file__).resolve().parent.parent
README_PICTURE = ROOT / "docs" / "report.png"


@lru_cache(maxsize=1)
def yeast() -> se.Evaluator:
    """An evaluator of a River model after the model has learnt the Yeast stream."""
    model = preprocessing.StandardScaler() | multioutput.PerOutputClassifier(linear_model.LogisticRegression())
    ev = se.Evaluator(["f1_micro", "roc_auc_macro"], threshold=0.5, keep=["pairs"])
    for x, y in datasets.Yeast():
        if odds := model.predict_proba_one(x):
            ev.update(y, {label: odds[label].get(True, 0.0) for label in y})
        model.learn_one(x, y)
    return ev


def figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def rare() -> Figure:
    """A picture of the two most frequent labels and the four rarest ones."""
    table = yeast().per_label()
    order = sorted(range(len(table.labels)), key=lambda place: -int(table.support[place]))
    chosen = [*order[:2], *order[-4:]]
    few = se.LabelTable(
        tuple(table.labels[place] for place in chosen),
        *(part[chosen] for part in (table.tp, table.fp, table.fn, table.tn, table.support, table.predicted)),
    )
    fig = figure(6.2, 4.4)
    plots.plot_multilabel_confusion(few, ax=fig.subplots(), title="")
    return fig


@lru_cache(maxsize=1)
def alarms() -> se.Evaluator:
    """An evaluator of the alarm in docs/choosing.md: one event in a hundred, and a good score."""
    rng = np.random.default_rng(0)
    event = rng.random((20_000, 1)) < 0.01
    ev = se.Evaluator(["roc_auc_macro"], labels=["alarm"])
    ev.update_many(event, rng.normal(2.3 * event, 1.0))
    return ev


def alarm_roc() -> Figure:
    fig = figure(4.6, 4.8)
    alarms().plot("roc_curve", labels=["alarm"], ax=fig.subplots(), title="ROC looks good")
    return fig


def alarm_precision() -> Figure:
    fig = figure(4.6, 4.8)
    alarms().plot("precision_recall_curve", labels=["alarm"], ax=fig.subplots(), title="Precision tells what it costs")
    return fig


def threshold() -> Figure:
    fig = figure(6.4, 4.0)
    yeast().plot("thresholds", label="Class4", ax=fig.subplots(), title="Class4 of Yeast")
    return fig


def calibration() -> Figure:
    fig = figure(4.8, 6.0)
    yeast().plot("calibration_curve", ax=fig.subplots(), title="All labels of Yeast")
    return fig


def confusion() -> Figure:
    fig = figure(8.0, 7.4)
    yeast().plot("confusion_matrix", ax=fig.subplots())
    return fig


def drift() -> Figure:
    """A picture of the stream in examples/drift_rolling.py."""
    example = runpy.run_path(str(ROOT / "examples" / "drift_rolling.py"))
    classifier = linear_model.LogisticRegression(optim.SGD(0.03))
    model = preprocessing.StandardScaler() | multioutput.PerOutputClassifier(classifier)
    parts = {
        "all so far": se.Evaluator(["f1_micro"]),
        "last 300": se.Rolling(se.Evaluator(["f1_micro"]), size=300),
    }
    trace = se.Trace(parts, every=25)
    se.progressive_evaluate(example["drifting"](), model, trace)
    fig = figure(8.0, 3.2)
    ax = trace.plot(ax=fig.subplots())
    ax.axvline(example["DRIFT"], color="#777777", linewidth=1, linestyle=":")
    ax.annotate("drift", (example["DRIFT"], ax.get_ylim()[1]), (4, -12), textcoords="offset points", color="#555555")
    return fig


PICTURES: dict[str, Callable[[], Figure]] = {
    made.__name__: made for made in (rare, alarm_roc, alarm_precision, threshold, calibration, confusion, drift)
}
"""The functions that draw pictures, by name; a page refers to one as ``pictures/NAME.svg``."""


def svg(draw: Callable[[], Figure]) -> str:
    """A picture as SVG text that is equal in every run."""
    with mpl.rc_context({"svg.hashsalt": "streameval"}):
        out = io.StringIO()
        draw().savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def still(path: Path) -> None:
    """Save a screenshot of the top of the report page of ``streameval demo``."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "demo.html")
        subprocess.run([sys.executable, "-m", "streameval", "demo", "--report", page], check=True, cwd=ROOT)
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,860", f"--screenshot={path}"]
        subprocess.run(["chromium", *options, page.as_uri()], check=True)


if __name__ == "__main__":
    still(README_PICTURE)
