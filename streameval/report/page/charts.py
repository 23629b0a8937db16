"""Charts: an SVG without text, which stretches to its space, and axes in HTML around it, whose text keeps its size."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from streameval.kernel.types import FloatArray, IntArray
from streameval.report.page.markup import MINUS, escaped

Numbers: TypeAlias = Sequence[float] | FloatArray

TONES = "abcdefgh"  # classes of lines, whose colours the style sheet has
_SIZE = 1000  # width and height of the picture in units of SVG
_FINEST = 1e-300  # the least span: a quarter still has a finite logarithm and reciprocal
_MOST = 1e300  # the largest end: ranges and the next round numbers are finite
_FINE = 500  # curves are drawn to 1/500 of an axis


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, its ends, and the ticks as (value, text)."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def at(self, values: Numbers) -> FloatArray:
        """The positions of values on the axis, from 0 to 1."""
        places, low, high = np.asarray(values, np.float64), self.low, self.high
        if self.log:
            places, low, high = np.log10(np.maximum(places, low)), math.log10(low), math.log10(high)
        return np.asarray(np.clip((places - low) / ((high - low) or 1.0), 0.0, 1.0))


def unit_axis(title: str) -> Axis:
    return Axis(title, 0.0, 1.0, ((0.0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1")))


def nice_axis(title: str, low: float, high: float, *, tight: bool = False) -> Axis:
    """An axis of round numbers that holds ``low`` and ``high``, with or without 0; a tight one ends at these."""
    low, high = (min(max(end, -_MOST), _MOST) for end in (low, high))
    if tight and high > low:
        ticks = nice_axis(title, low, high).ticks
        return Axis(title, low, high, tuple(tick for tick in ticks if low <= tick[0] <= high))
    # Values that are too close for distinct ticks in float64 are treated as equal.
    span = max((high - low) or abs(high) or 1.0, 1e-9 * max(abs(low), abs(high)), _FINEST)
    raw = span / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple((place * step, _tick(place * step)) for place in range(first, last + 1))
    return Axis(title, first * step, last * step, ticks)


def _tick(value: float) -> str:
    size, text = abs(value), f"{value:.3g}"
    if 1e-4 <= size < 1e12 or not size:
        units = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0, 1, ""))
        unit, mark = next((unit, mark) for least, unit, mark in units if size >= least)
        text = f"{round(value / unit, 10):,.10g}{mark}"
    return text.replace("-", MINUS)


def fraction_axis(title: str, values: Sequence[float]) -> Axis:
    """An axis from 0 to 1, or a narrower one if the values are near each other."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return nice_axis(title, low, high) if 0 < high - low < 0.4 else unit_axis(title)


def log_axis(title: str, low: float, high: float) -> Axis:
    """A logarithmic axis from a little below ``low`` to a little above ``high``, both of which are positive."""
    if 4 <= high - low < 1.5 * low < 1e12:  # a short logarithmic axis has few round numbers
        return nice_axis(title, low / 1.1, high * 1.1, tight=True)
    low, high = max(low / 1.6, math.ulp(0.0)), min(high * 1.6, sys.float_info.max)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil((last - first) / 6))
    within = (1,) if last - first > 4 else (1, 3) if last - first > 2 else (1, 2, 5)
    places = [size * float(f"1e{power}") for power in range(first, last + 1, every) for size in within]
    return Axis(title, low, high, tuple((place, _tick(place)) for place in places if low <= place <= high), log=True)


def thinned(x: FloatArray, y: FloatArray) -> IntArray:
    """Positions of points that a picture can distinguish, and of the last point; x and y are from 0 to 1."""
    cells = np.rint(np.stack([x, y]) * _FINE)
    visible = (np.diff(cells, prepend=-1) != 0).any(axis=0)
    visible[-1:] = True
    return np.flatnonzero(visible).astype(np.int64)


@dataclass
class Chart:
    """A picture to which parts are added."""

    title: str
    description: str
    x: Axis
    y: Axis
    shape: str = "square"
    note: str = ""
    at: Numbers = ()  # along a stream: x of each point, where the script shows all lines' values
    _parts: list[str] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _legend: list[str] = field(default_factory=list)
    _dots: list[tuple[float, float]] = field(default_factory=list)

    def line(
        self,
        name: str,
        x: Numbers,
        y: Numbers,
        tone: str = "a",
        *,
        steps: bool = False,
        marks: Numbers | None = None,
        legend: str | None = None,
        points: bool = False,
        thin: bool = True,
    ) -> bool:
        """Draw a line; returns whether it has points. The script shows ``marks``; ``legend`` is the name by default."""
        defined = np.isfinite(np.asarray(x, np.float64)) & np.isfinite(np.asarray(y, np.float64))
        across, up = self.x.at(x)[defined], self.y.at(y)[defined]
        visible = thinned(across, up) if thin else np.arange(len(across))
        first, *rest = _points(across[visible], up[visible]) or [""]
        if not first:
            return False
        drawn = "".join("H" + point.replace(" ", "V") if steps else f"L{point}" for point in rest)
        data = f' data-name="{escaped(name)}"'
        if marks is not None:
            data += f' data-marks="{" ".join(f"{mark:.4g}" for mark in np.asarray(marks)[defined][visible].tolist())}"'
        self._path(f"line {tone}", f"M{first}{drawn}", data)
        if points:
            self._path(f"dots {tone}", "".join(f"M{point}h0" for point in (first, *rest)))
        if legend != "":
            self._legend.append(f'<li class="{tone}"><bdi>{escaped(name if legend is None else legend)}</bdi></li>')
        return True

    def _path(self, kind: str, drawn: str, data: str = "") -> None:
        self._parts.append(f'<path class="{kind}" d="{drawn}"{data}/>')

    def band(self, x: FloatArray, low: FloatArray, high: FloatArray, tone: str = "a") -> bool:
        """Shade the range between bounds, if it is wider than a line; returns whether it was drawn."""
        defined = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
        across, bottom, top = self.x.at(x[defined]), self.y.at(low[defined]), self.y.at(high[defined])
        if not len(across) or float((top - bottom).max()) * _FINE < 1:
            return False
        order = np.argsort(across, kind="stable")
        cells = np.rint(across[order] * _FINE)
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
        # Take the least and the greatest bound of each cell, so that the band holds all certified values.
        bottom, top = np.minimum.reduceat(bottom[order], starts), np.maximum.reduceat(top[order], starts)
        upper, lower = (_points(cells[starts] / _FINE, side) for side in (top, bottom))
        self._path(f"band {tone}", f"M{'L'.join([*upper, *reversed(lower)])}Z")
        return True

    def dots(self, x: Numbers, y: Numbers, of: str, rows: list[int]) -> None:
        """Draw a dot for each of ``rows`` of the table ``of``, which the script links to them."""
        across, up = self.x.at(x), self.y.at(y)
        self._dots += zip(across.tolist(), up.tolist(), strict=True)
        drawn = "".join(f"M{point}h0" for point in _points(across, up))
        self._path("dots a", drawn, f' data-of="{of}" data-rows="{" ".join(map(str, rows))}"')

    def bars(self, left: FloatArray, right: FloatArray, height: FloatArray) -> None:
        ends = zip(_units(self.x.at(left)), _units(self.x.at(right)), _units(1 - self.y.at(height)), strict=True)
        self._path("bars a", "".join(f"M{a + 2} {_SIZE}V{top}H{b - 2}V{_SIZE}Z" for a, b, top in ends))

    def guide(self, x: Numbers, y: Numbers) -> None:
        """Draw a dotted line between points."""
        self._path("guide", f"M{'L'.join(_points(self.x.at(x), self.y.at(y)))}")

    def names(self, x: Sequence[float], y: Sequence[float], words: Sequence[str]) -> None:
        """Write names next to dots while there is room, earlier ones first; narrow screens have fewer names."""
        places = [*zip(self.x.at(x).tolist(), self.y.at(y).tolist(), words, strict=True)]
        for kind, wide, high in (("name", 0.0105, 0.026), ("name narrow", 0.025, 0.04)):  # size of a letter
            half = np.array([wide / 2, high / 2])
            dots = np.array(self._dots).reshape(-1, 2)
            boxes = np.concatenate([dots - half, dots + half], axis=1)
            for across, up, word in places:
                width = wide * (len(word) + 1.5)
                for step, part in ((0.0, 0), (0.0, 1), (1.6, 0.5), (-1.6, 0.5)):  # right, left, above, below
                    shift, left = step * high, across + wide - part * (width + wide)
                    box = np.array([left, up + shift - high, left + width - wide, up + shift + high])
                    inside = box[0] >= 0 and box[2] <= 1 and box[1] >= -1.1 * high
                    ends = np.add(box, [0, -abs(shift), 0, abs(shift)])  # the gap to its dot holds no other dot
                    near = ((dots > ends[:2]) & (dots < ends[2:])).all(axis=1).sum() > abs(step)
                    taken = ((boxes[:, :2] < box[2:]) & (boxes[:, 2:] > box[:2])).all(axis=1).any()
                    if inside and not near and not taken:
                        boxes = np.append(boxes, [box], axis=0)
                        style = f"left:{100 * across:.1f}%;bottom:{100 * (up + shift):.1f}%"
                        style += f";transform:translate({-100 * part:.0f}%,50%)"
                        self._names.append(f'<span class="{kind}" style="{style}"><bdi>{escaped(word)}</bdi></span>')
                        break

    def html(self, above: str = "") -> str:
        """HTML of the whole figure; ``above`` is HTML of another picture, which comes first."""
        legend = f'<ul class="legend">{"".join(self._legend)}</ul>' if self._legend[1:] or len(self.at) else ""
        note = f"<p>{escaped(self.note)}</p>" if self.note else ""
        caption = f"<figcaption><strong>{escaped(self.title)}</strong>{note}</figcaption>"
        return f'<figure class="chart">{caption}{legend}<div>{above}{self.plot()}</div></figure>'

    def plot(self) -> str:
        """HTML of the picture with its axes, without caption."""
        grid = "".join(f"M0 {place}H{_SIZE}" for place in _units(1 - self.y.at([tick for tick, _ in self.y.ticks])))
        (across, x), (up, y) = _written(self.x, "x", "left"), _written(self.y, "y", "bottom")
        at = f' data-at="{" ".join(f"{value:g}" for value in self.at)}"' if len(self.at) else ""
        return (
            f'<div class="plot {self.shape}" role="img" aria-label="{escaped(self.description)}">'
            f'<div class="up-title" aria-hidden="true">{escaped(self.y.title)}</div>'
            f'<div class="up" aria-hidden="true">{up}</div><div class="area" {x} {y}{at}>'
            f'<svg viewBox="0 0 {_SIZE} {_SIZE}" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
            f'<path class="grid" d="{grid}"/>{"".join(self._parts)}</svg>{"".join(self._names)}</div>'
            f'<div class="across" aria-hidden="true">{across}</div>'
            f'<div class="across-title" aria-hidden="true">{escaped(self.x.title)}</div></div>'
        )


def _written(axis: Axis, side: str, edge: str) -> tuple[str, str]:
    """HTML of the ticks of an axis along an edge, and attributes that the script reads."""
    ticks = zip(axis.at([value for value, _ in axis.ticks]).tolist(), axis.ticks, strict=True)
    log = f" data-{side}-log" if axis.log else ""
    ends = f'data-{side}-low="{float(axis.low)!r}" data-{side}-high="{float(axis.high)!r}"{log}'
    spans = "".join(f'<span style="{edge}:{100 * place:.4g}%">{text}</span>' for place, (_, text) in ticks)
    return spans, f'data-{side}="{escaped(axis.title)}" {ends}'


def _points(across: FloatArray, up: FloatArray) -> list[str]:
    return [f"{x} {y}" for x, y in zip(_units(across), _units(1 - up), strict=True)]


def _units(places: FloatArray) -> list[int]:
    return [round(place) for place in (places * _SIZE).tolist()]
