"""Write what follows from the catalogue: the reference of metrics, and the type stubs of the metric classes.

Run ``python docs/generate.py`` after changing the catalogue; a test compares.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this tree, not what may be installed

from streameval.adapters.river.classes import CLASSES
from streameval.evaluation.metric import options_of
from streameval.metrics.catalogue import MetricInfo, catalogue
from streameval.metrics.spec import Parameter, choice_text

ROOT = Path(__file__).resolve().parent.parent


def reference() -> str:
    lines = [
        "# Metrics",
        "",
        'You have an evaluator. You want a metric. You write its name: `ev.get("f1_macro")`.',
        "",
        "Every metric of the catalogue. `tp`, `fp`, `fn`, `tn` are the outcomes of a label (`macro`, `weighted`,",
        "`per_label`), pooled over labels (`micro`), or of an example (`samples`); see [conventions](conventions.md).",
        "The first average is the default. A metric is asked for by name and average (`f1_macro`), where the default",
        'average may be left out, by class (`F1(average="macro")`), or with `streameval.metric`.',
        "",
        "| name | class | formula | averages | range | better | parameters | also known as |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in catalogue():
        averages = sorted(entry.averages, key=lambda average, entry=entry: average != entry.default)  # type: ignore[misc]
        cells = (
            f"`{entry.name}`",
            f"`{entry.class_name}`",
            f"{entry.summary}<br>{entry.formula}",
            ", ".join(average or "per_label" for average in averages),
            f"[{entry.low:g}, {entry.high:g}]",
            entry.direction.removesuffix(" is better"),
            ", ".join(f"`{p.name}` in {p.range}, default {choice_text(p.default)}" for p in entry.parameters) or "—",
            ", ".join(f"`{alias}`" for alias in entry.aliases) or "—",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "## Sources", ""]
    lines += [f"- `{entry.name}`: {entry.source}." for entry in catalogue()]
    return "\n".join(lines) + "\n"


STUB = """\
# Written by docs/generate.py from the catalogue: classes with the same parameters share a base.

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, TypedDict, Unpack

{imports}

class _Options(TypedDict, total=False):
    zero_division: float | None
    labels: Iterable[Label] | None
    unknown: Unknown
    threshold: float | Mapping[Label, float] | Iterable[float] | None
    label_limit: int | None
    rows: Rows | None
class _OfDecisions(_Options, total=False):
    empty: Empty
"""

SCORES = """\
class _OfCurves(_Options, total=False):
    nan: Nan
class _OfRankings(_OfCurves, total=False):
    ties: Ties
    average: Literal["samples"]
class _OfGains(_OfRankings, total=False):
    inverse_propensities: Mapping[Label, float] | None
class _OfHits(_OfRankings, total=False):
    degenerate: Literal["scikit-learn", "drop", "zero", "one"]
class _OfRanks(_OfHits, total=False):
    unranked: Literal["never", "last"]
"""

SHARED = {"degenerate": "_OfHits", "unranked": "_OfRanks"}
"""Parameters that many metrics of rankings have, besides their one average, and the options that these stand in."""


def stub() -> str:
    imports = """\
from streameval.evaluation.metric import Metric
from streameval.metrics.spec import Empty
from streameval.schema.config import Nan, Rows, Ties, Unknown
from streameval.schema.labels import Label"""
    bodies = {
        entry.class_name: _body(_own(entry), entry, [] if entry.state == "rankings" else [_average(entry)])
        for entry in catalogue()
    }
    return _shortened(STUB.format(imports=imports) + SCORES + _classes(bodies, "Metric"))


def river_stub() -> str:
    imports = """\
from typing import Literal, Unpack

from streameval.adapters.river.metric import CountedMetric
from streameval.evaluation.classes import _OfDecisions, _Options
"""
    bodies = {name: _body(_own(metric._entry), metric._entry) for name, metric in CLASSES.items()}
    first = STUB.partition("\n")[0]
    return _shortened(f"{first}\n\n{imports}\n{_classes(bodies, 'CountedMetric')}")


def _classes(bodies: dict[str, str], base: str) -> str:
    """Classes by name; those with equal bodies inherit them, from a base that is named after the first."""
    uses = Counter(bodies.values())
    lines, bases = [], {}
    for name, body in bodies.items():
        if uses[body] == 1:
            lines += [f"class {name}({base}):", body]
            continue
        if body not in bases:
            bases[body] = f"_Like{name}"
            lines += [f"class {bases[body]}({base}):", body]
        lines.append(f"class {name}({bases[body]}): ...")
    return "\n".join(lines) + "\n"


def _body(own: list[str], entry: MetricInfo, first: Sequence[str] = ()) -> str:
    names = list(options_of(entry))
    if entry.state == "decisions":
        options = "_OfDecisions"
    else:
        options = {"nan": "_OfCurves", "ties": "_OfRankings", "inverse_propensities": "_OfGains"}.get(
            names[-1] if names else "", "_Options"
        )
    names = [p.name for p in entry.parameters]
    options = next((base for name, base in reversed(SHARED.items()) if name in names), options)
    parts = ["self", *first, *(["*", *own] if own else []), f"**options: Unpack[{options}]"]
    return f"    def __init__({', '.join(parts)}) -> None: ..."


def _shortened(text: str) -> str:
    """A stub in which choices that are written several times have a name."""
    names: dict[str, str] = {}
    for parameter, choices in re.findall(r"(\w+): (Literal\[[^]]*\](?: \| None)?) =", text):
        if text.count(f": {choices} =") > 1 and choices not in names:
            number = sum(name.startswith(f"_{parameter.title()}") for name in names.values())
            names[choices] = f"_{parameter.title()}{number + 1 if number else ''}"
    for choices, name in names.items():
        text = text.replace(f": {choices} =", f": {name} =")
    aliases = "".join(f"{name}: TypeAlias = {choices}\n" for choices, name in names.items())
    text = text.replace("\nclass _Options", f"\n{aliases}\nclass _Options", 1) if aliases else text
    return "\n".join(map(_broken, text.split("\n")))


def _broken(line: str) -> str:
    """A line that is longer than 120 characters as several, with as many parameters in each as there is room for."""
    if len(line) <= 120:
        return line
    parts = " ".join(part.replace(" ", "\0") for part in re.split(r"(?<=,) (?=\w+:|\*)", line))
    return textwrap.fill(parts, 120, subsequent_indent=" " * 17, break_on_hyphens=False).replace("\0", " ")


def _own(entry: MetricInfo) -> list[str]:
    return [f"{p.name}: {kind_of(p)} = {p.default!r}" for p in entry.parameters if p.name not in SHARED]


def _average(entry: MetricInfo) -> str:
    named = ", ".join(f'"{average}"' for average in entry.averages if average is not None)
    kinds = [f"Literal[{named}]"] if named else []
    kinds += ["None"] if None in entry.averages else []
    default = "None" if entry.default is None else f'"{entry.default}"'
    return f"average: {' | '.join(kinds)} = {default}"


def kind_of(parameter: Parameter) -> str:
    if parameter.choices:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in parameter.choices) + "]"
    kind = "bool" if isinstance(parameter.default, bool) else "int" if parameter.whole else "float"
    return f"{kind} | None" if parameter.default is None else kind


FILES = {
    ROOT / "docs" / "metrics.md": reference,
    ROOT / "streameval" / "evaluation" / "classes.pyi": stub,
    ROOT / "streameval" / "adapters" / "river" / "classes.pyi": river_stub,
}

if __name__ == "__main__":
    for path, write in FILES.items():
        path.write_text(write(), encoding="utf-8")
