"""Generate pages and stubs from code: metrics, public names, a table of engines, stubs of metric classes.

Run ``python docs/generate.py`` after a change of the catalogue, of a public name or of the page of an engine; a test
checks that the files are up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # import this tree, not an installed package

import streameval
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
        "This page lists every metric. `tp`, `fp`, `fn`, `tn` are the outcomes of a label (`macro`, `weighted`,",
        "`per_label`), pooled over labels (`micro`), or of an example (`samples`); see [conventions](conventions.md).",
        "The first average is the default. A metric is written as its name and average (`f1_macro`), where the default",
        'average may be left out, as an object of its class (`F1(average="macro")`), or with `streameval.metric`.',
        "The range is that of the default parameters; a parameter such as `normalize=false` can widen it.",
        "",
        "| name | class | formula | averages | range | better | parameters | also known as |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in catalogue():
        cells = (
            f"`{entry.name}`",
            f"`{entry.class_name}`",
            f"{entry.summary}<br>{entry.formula}",
            ", ".join(average or "per_label" for average in entry.averages),
            f"[{entry.low:g}, {entry.high:g}]",
            entry.direction.removesuffix(" is better"),
            ", ".join(f"`{p.name}` in {p.range}, default {choice_text(p.default)}" for p in entry.parameters) or "—",
            ", ".join(f"`{alias}`" for alias in entry.aliases) or "—",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "## Sources", ""]
    lines += [f"- `{entry.name}`: {entry.source}." for entry in catalogue()]
    return "\n".join(lines) + "\n"


PUBLIC = """\
# Public names

You have a program to write. You want the name of a function or a class. You write a name of this page; nothing else is
stable.

Arrays are called `y_true`, `y_pred`, `y_score`. Columns of tables are called `actual`, `predicted`, `scores`, in Python
and in the shell, which also accepts `--y-true`, `--y-pred` and `--y-score`. `weight` is the weight of one example,
`weights` are those of many; `score` and `classification_report` also accept `sample_weight`. `keep=` names states
beyond those that the metrics require. What is not on this page can change at any time. Details are in the reference and
in the docstrings; every metric, with its class, is in [metrics](metrics.md).

{sections}
## Attributes

The classes of single metrics, such as `F1`, have the methods of `Metric`. `roc_curve`, `precision_recall_curve`,
`calibration_curve` and the methods with thresholds require the state `"curves"`; `confusion_matrix`, `cooccurrence`,
`label_sets` and `concurrence` require [pairs](pairs.md).

| class | methods and attributes |
|---|---|
{attributes}
## Modules

{modules}
Adapters to engines and libraries are modules of `streameval.adapters`, with pages of their own: [engines](engines.md),
[River](river.md), [scikit-learn](sklearn.md), [Prometheus and MLflow](monitoring.md).
"""

SECTIONS = {
    "Evaluate": (
        "score", "describe", "classification_report", "evaluate_table", "Evaluator", "Metric", "metric", "save_html",
        "to_html", "load",
    ),
    "Windows and slices": ("Rolling", "TimeRolling", "Tumbling", "ClosedWindow", "Fading", "Sliced"),
    "Models that learn": ("progressive_evaluate", "iter_progressive_evaluate", "Snapshot", "Pending", "Trace"),
    "Shards and crashes": ("Ledger", "Checkpointer", "Checkpoint"),
}  # fmt: skip
"""Sections of the page of public names; names that are in no section follow them."""

MODULES = (
    "metrics.calibration",
    "metrics.curves",
    "metrics.pairs",
    "metrics.thresholds",
    "plots",
    "tabular.job",
    "testing",
)
"""Modules with public names of their own."""

DICTIONARIES = {"testing.LAWS": "The laws, by the name that an error gives."}
"""Descriptions of public dictionaries, which have no docstrings."""


def public_names() -> str:
    metrics = {entry.class_name for entry in catalogue()}
    rest = [name for name in streameval.__all__ if name not in metrics.union(*SECTIONS.values())]
    things = {name: getattr(streameval, name) for name in (*chain(*SECTIONS.values()), *rest)}
    errors = [name for name in rest if inspect.isclass(things[name]) and issubclass(things[name], Exception)]
    sections = {**SECTIONS, "What they return and take": [name for name in rest if name not in errors]}
    text = [f"## {title}\n\n{_table('what it does', names)}" for title, names in sections.items()]
    classes = [name for name in things if inspect.isclass(things[name]) and name not in errors]
    rows = [f"| `{name}` | {', '.join(f'`{member}`' for member in members_of(things[name]))} |\n" for name in classes]
    further = [f"{module}.{name}" for module in MODULES for name in import_module(f"streameval.{module}").__all__]
    return PUBLIC.format(
        sections="\n".join([*text, f"## Errors\n\n{_table('when it is raised', errors)}"]),
        attributes="".join(rows),
        modules=_table("what it does", sorted(further)),
    )


def members_of(thing: type) -> list[str]:
    """The public attributes of a class, without those that exist only to raise an error with advice."""
    names = sorted({*dir(thing), *getattr(thing, "__dataclass_fields__", ())})  # `dir` omits fields without defaults
    absent = [name for name in names if (getattr(thing, name, None).__doc__ or "").startswith("Absent: ")]
    return [name for name in names if name[0] != "_" and name not in absent]


def _table(head: str, names: Iterable[str]) -> str:
    rows = [f"| `{name}` | {_summary(name)} |" for name in names]
    return "\n".join([f"| name | {head} |", "|---|---|", *rows, ""])


def _summary(name: str) -> str:
    """A description of a name: the first sentences of its docstring, or the values that it may have."""
    module, _, last = f"streameval.{name}".rpartition(".")
    thing = getattr(import_module(module), last)
    if isinstance(thing, dict):
        return DICTIONARIES[name]
    if choices := get_args(thing):
        values = [value for choice in choices for value in get_args(choice) or [choice]]
        return "One of " + ", ".join("or None" if value is NoneType else f'`"{value}"`' for value in values)
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def engines() -> str:
    """The page of engines, whose table has the title of each engine's page and its first sentence ("You have ...")."""
    rows = []
    for page in sorted((ROOT / "docs" / "engines").glob("*.md")):
        title, first = page.read_text(encoding="utf-8").split("\n\n", 2)[:2]
        have = first.removeprefix("You have ").partition(". ")[0]
        rows.append(f"| [{title[2:]}](engines/{page.name}) | {have} | `pip install '.[{page.stem}]'` |\n")
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    return re.sub(r"(?<=\n\|---\|---\|---\|\n)(\|.*\n)*", "".join(rows), text, count=1)


STUB = """\
# Written by docs/generate.py from the catalogue: classes with the same parameters share a base.

from collections.abc import Iterable
from typing import Literal, TypeAlias, TypedDict, Unpack

{imports}

class _Options(TypedDict, total=False):
    zero_division: float | None
    labels: Iterable[Label] | None
    unknown: Unknown
    threshold: Threshold
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
class _OfExamples(_OfRankings, total=False):
    average: Literal["samples"]
class _OfGains(_OfExamples, total=False):
    inverse_propensities: ByLabel | None
class _OfHits(_OfExamples, total=False):
    degenerate: Literal["scikit-learn", "drop", "zero", "one"]
class _OfRanks(_OfHits, total=False):
    unranked: Literal["never", "last"]
class _Number(Metric):
    def get(self) -> float: ...
    def bounds(self) -> Bounds: ...
"""

SHARED = {"degenerate": "_OfHits", "unranked": "_OfRanks"}
"""Parameters that many ranking metrics share, and the TypedDicts of options that contain them."""


def stub() -> str:
    imports = """\
from streameval.evaluation.metric import Metric
from streameval.metrics.bounds import Bounds
from streameval.metrics.spec import Empty
from streameval.schema.config import Nan, Rows, Threshold, Ties, Unknown
from streameval.schema.labels import ByLabel, Label"""
    bodies = {
        entry.class_name: _body(_own(entry), entry, [] if _is_of_examples(entry) else [_average(entry)])
        for entry in catalogue()
    }
    entries = {entry.class_name: entry for entry in catalogue()}
    names = ", ".join(f'"{entry.name}_per_label"' for entry in catalogue() if None in entry.averages)
    alias = textwrap.fill(f"_PerLabelName: TypeAlias = Literal[{names}]", 120, subsequent_indent="    ")
    return _shortened(f"{STUB.format(imports=imports)}{SCORES}{_classes(bodies, 'Metric', entries)}{alias}\n")


def river_stub() -> str:
    imports = """\
from typing import Literal, Unpack

from streameval.adapters.river.metric import CountedMetric
from streameval.evaluation.classes import _OfDecisions, _Options
"""
    bodies = {name: _body(_own(metric._entry), metric._entry) for name, metric in CLASSES.items()}
    first = STUB.partition("\n")[0]
    return _shortened(f"{first}\n\n{imports}\n{_classes(bodies, 'CountedMetric', {})}")


def _classes(bodies: dict[str, str], base: str, entries: Mapping[str, MetricInfo]) -> str:
    """Stubs of classes by name; classes with equal bodies inherit from a base that is named after the first of them."""
    uses = Counter(bodies.values())
    lines, bases = [], {}
    for name, body in bodies.items():
        entry = entries.get(name)
        parent = base if entry is None or None in entry.averages else "_Number"
        summary = "..." if entry is None else f'"""{entry.summary}"""'  # editors display it
        if uses[body] == 1:
            lines += [f"class {name}({parent}):", *([f"    {summary}"] if entry else []), body]
            continue
        if body not in bases:
            bases[body] = f"_Like{name}"
            lines += [f"class {bases[body]}({parent}):", body]
        line = f"class {name}({bases[body]}): {summary}"
        lines += [line] if len(line) <= 120 else line.replace(": ", ":\n    ", 1).split("\n")
    return "\n".join(lines) + "\n"


def _body(own: list[str], entry: MetricInfo, first: Sequence[str] = ()) -> str:
    names = list(options_of(entry))
    if entry.state == "decisions":
        options = "_OfDecisions"
    else:
        of_rankings = "_OfExamples" if _is_of_examples(entry) else "_OfRankings"
        options = {"nan": "_OfCurves", "ties": of_rankings, "inverse_propensities": "_OfGains"}.get(
            names[-1] if names else "", "_Options"
        )
    names = [p.name for p in entry.parameters]
    options = next((base for name, base in reversed(SHARED.items()) if name in names), options)
    parts = ["self", *first, *(["*", *own] if own else []), f"**options: Unpack[{options}]"]
    return f"    def __init__({', '.join(parts)}) -> None: ..."


def _is_of_examples(entry: MetricInfo) -> bool:
    """Whether an entry is a ranking metric whose only average is the usual one, which the options already declare."""
    return entry.state == "rankings" and entry.averages == ("samples",)


def _shortened(text: str) -> str:
    """The text of a stub with names for literal types that occur repeatedly."""
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
    """A line; if it is longer than 120 characters, split into lines with as many parameters as fit."""
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
    ROOT / "docs" / "public.md": public_names,
    ROOT / "docs" / "engines.md": engines,
    ROOT / "streameval" / "evaluation" / "classes.pyi": stub,
    ROOT / "streameval" / "adapters" / "river" / "classes.pyi": river_stub,
}

if __name__ == "__main__":
    for path, write in FILES.items():
        path.write_text(write(), encoding="utf-8")
