"""What pictures share: reading their sources, shortening names and numbers, colours, axes and legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from streameval.errors import InputError, imported, naming
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.pages import Names, counts_of, counts_of_slices, report_of
from streameval.metrics.spec import MetricSpec
from streameval.report.page.markup import label_strings
from streameval.schema.labels import Label
from streameval.schema.text import cut_distinct, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Words: TypeAlias = tuple[str, str, str | None, str]  # names of both axes, the title, the default title
INK, MUTED = "#1f2933", "#6b7785"  # text, secondary text
MOST = 1e100  # larger weights and scores are drawn as this, so that ticks beyond them are finite

# Okabe & Ito 2008: distinct also for colour-blind readers; colours with the same dashes differ in lightness, so that
# they are distinct in grey print too. Their yellow is left out, because it is hard to see on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1f2933", "#7f5539")
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (1.5, 1.2)))
MARKS = "osD^vP*X"


def holds(source: object) -> bool:
    """Whether a source is an object that counts examples, or a mapping of such, so that ``y_pred`` is not needed."""
    return not isinstance(source, type) and (isinstance(source, Mapping) or hasattr(source, "_guard"))


def runs_of(
    source: Any, y_pred: object = None, keep: Iterable[str] = (), *, by: Names | None = None, whole: bool = False
) -> dict[Any, Any]:
    """Snapshots of evaluators and metrics by name, "" for a single one; if ``whole``, slices give that of all."""
    if y_pred is not None:
        if holds(source):
            raise InputError(f"y_pred and y_score go with y_true; leave {quoted(y_pred)} out")
        ev = Evaluator([], keep=keep) if keep else Evaluator()
        try:
            ev.update_many(source, y_pred)
        except InputError as error:
            raise InputError(str(error).replace("give threshold=0.5", "give y_score >= 0.5")) from None
        return {"": ev}
    if isinstance(source, type):
        raise InputError(f"plots take an object, not a class; write {source.__name__}()")
    if not (holds(source) or hasattr(source, "evaluator")):
        what = "an Evaluator, a metric or a window, and most take y_true with y_pred or y_score"
        raise InputError(f"plots take {what}, not a single {type(source).__name__}")
    if hasattr(source, "slices") and not whole:
        source = dict(counts_of_slices(source, by))
    elif hasattr(source, "evaluators"):
        source = source.copy().evaluators
    elif not isinstance(source, Mapping):
        source = {"": source}
    if not source:
        raise InputError("there is nothing to draw; give an evaluator, evaluators by name or slices that have counted")
    return {name: counts_of(part, "what is drawn") for name, part in source.items()}


def run_of(source: Any, y_pred: object = None, keep: Iterable[str] = ()) -> Any:
    """The single evaluator of a source; for slices, that of all examples."""
    runs = runs_of(source, y_pred, keep, whole=True)
    if len(runs) != 1:
        raise InputError(f"this plot shows one evaluator; choose one of {', '.join(map(repr, runs))}")
    return next(iter(runs.values()))


def of_each(runs: Mapping[Any, Any], read: Callable[[Any], Any]) -> dict[Any, Any]:
    """``read`` of each run; an error names the run if there is more than one."""
    parts = {}
    for name, run in runs.items():
        with naming(quoted(name) if len(runs) > 1 else ""):
            parts[name] = read(run)
    return parts


def values_of(run: Any, spec: MetricSpec) -> dict[Any, float]:
    """The values of a metric by label, or its single value under None; empty without examples."""
    item = report_of(run).value(spec, strict=True)
    return item.by_label if run.examples else {}


def named(labels: Iterable[Label | None], longest: int = 40) -> list[str]:
    """Labels as distinct text of at most ``longest`` characters, which matplotlib does not read as markup."""
    return [text.replace("$", r"\$") for text in cut_distinct(label_strings(labels), longest)]


def short(value: float, *, fraction: bool = False) -> str:
    """A number in at most five characters: fractions in per cent, large counts with a unit; empty for 0."""
    if value == 0 or not math.isfinite(value):
        return ""
    if fraction:
        return f"{100 * value:.0f}%" if value >= 0.005 else "<1%"
    if abs(value) >= 9999.5e9:
        return f"{value:.0e}".replace("+", "")
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            digits = 0 if abs(value / unit) >= 99.95 else 1
            return f"{value / unit:.{digits}f}".removesuffix(".0") + letter
    whole = abs(value) >= 99.5 or float(value).is_integer()
    return f"{value:.{0 if whole else 1 if abs(value) >= 0.95 else 2}f}"


def ink_on(colour: Sequence[float]) -> str:
    """A colour of text that is readable on a background, by the contrast rule of WCAG 2."""
    parts = np.array(colour[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ (0.2126, 0.7152, 0.0722) < 0.25 else INK


def line_style(number: int, *, marked: bool = False) -> dict[str, Any]:
    """Arguments of `Axes.plot` for the line of a number; with a few marks if lines may be too short for dashes."""
    turn = number // len(COLOURS)  # when colours repeat, marks differ
    marks = {"marker": MARKS[(number + turn) % len(MARKS)], "markevery": 0.13, "markersize": 5} if marked else {}
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)], **marks}


def titled(ax: Axes | None, size: tuple[float, float], words: Words, *, pad: float = 10, **text: Any) -> Axes:
    """Set the titles of axes, which are those of a new figure of ``size`` in inches if ``ax`` is None."""
    if ax is None:
        figure, made = imported("matplotlib.pyplot", "a plot").subplots(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
        ax = cast("Axes", made)
    if not hasattr(ax, "set_xlabel"):
        raise InputError(f"ax must be Axes of matplotlib, such as plt.gca(), not {quoted(ax)}")
    x, y, title, default = words
    ax.set_xlabel(x, color=MUTED, fontsize=10, **text)
    ax.set_ylabel(y, color=MUTED, fontsize=10, **text)
    ax.set_title(default if title is None else title, color=INK, fontsize=12, loc="left", pad=pad)
    return ax


def quiet(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Make the frame and the grid light, and draw them behind the data."""
    ax.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    ax.grid(axis=axis, color="#e9ecef", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_color("#cfd5db")


def legend(ax: Axes, where: Any = "best") -> None:
    """Add a legend, if any line has a name."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(
            loc=where, fontsize=9, frameon=True, framealpha=0.9, edgecolor="none", labelcolor=INK, handlelength=3.2
        )


def no_values(ax: Axes) -> Axes:
    ax.text(
        0.5, 0.5, "no values", transform=ax.transAxes, ha="center", va="center", color=MUTED, backgroundcolor="white"
    )
    return ax


def some_of(title: str, drawn: int, every: int, which: str) -> str:
    """A title that says if only some items are drawn."""
    return f"{title}, the {drawn} {which} of {every:,}" if drawn < every else title
