"""Write what follows from the catalogue: the reference of metrics, and the type stubs of the metric classes.

Run ``python docs/generate.py`` after changing the catalogue; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from streameval.adapters.river.classes import CLASSES
from streameval.adapters.river.metric import CountedMetric
from streameval.evaluation.metric import score_options
from streameval.metrics.catalogue import catalogue
from streameval.metrics.entry import Entry, Parameter
from streameval.metrics.spec import choice_text

ROOT = Path(__file__).resolve().parent.parent
DIRECTION = {True: "higher", False: "lower", None: "describes the data"}


def reference() -> str:
    lines = [
        "# Metrics",
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
            DIRECTION[entry.bigger_is_better],
            ", ".join(f"`{p.name}` in {p.range}, default {choice_text(p.default)}" for p in entry.parameters) or "—",
            ", ".join(f"`{alias}`" for alias in entry.aliases) or "—",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "## Sources", ""]
    lines += [f"- `{entry.name}`: {entry.source}." for entry in catalogue()]
    return "\n".join(lines) + "\n"


def stub() -> str:
    return "\n".join(
        [
            "# Written by docs/generate.py from the catalogue.",
            "",
            "from collections.abc import Iterable, Mapping",
            "from typing import Literal",
            "",
            "from streameval.schema.config import Nan, Ties, Unknown",
            "from streameval.schema.labels import Label",
            "from streameval.metrics.spec import Empty",
            "from streameval.evaluation.metric import Metric",
            "",
            "__all__ = [",
            *(f'    "{entry.class_name}",' for entry in catalogue()),
            "]",
            "",
            *(line for entry in catalogue() for line in _class(entry)),
        ]
    )


def kind_of(parameter: Parameter) -> str:
    if parameter.choices:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in parameter.choices) + "]"
    kind = "bool" if isinstance(parameter.default, bool) else "int" if parameter.whole else "float"
    return f"{kind} | None" if parameter.default is None else kind


def _class(entry: Entry) -> list[str]:
    named = ", ".join(f'"{average}"' for average in entry.averages if average is not None)
    kinds = [f"Literal[{named}]"] if named else []
    kinds += ["None"] if None in entry.averages else []
    default = "None" if entry.default is None else f'"{entry.default}"'
    return [
        f"class {entry.class_name}(Metric):",
        "    def __init__(",
        "        self,",
        "        *,",
        *(f"        {p.name}: {kind_of(p)} = {p.default!r}," for p in entry.parameters),
        f"        average: {' | '.join(kinds)} = {default},",
        "        zero_division: float | None = None,",
        *(['        empty: Empty = "zero_division",'] if entry.state == "decisions" else []),
        "        labels: Iterable[Label] | None = None,",
        '        unknown: Unknown = "error",',
        "        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,",
        *(SCORE_OPTIONS[name] for name, _ in score_options(entry)),
        "    ) -> None: ...",
        "",
    ]


SCORE_OPTIONS = {
    "nan": '        nan: Nan = "error",',
    "ties": '        ties: Ties = "shared",',
    "inverse_propensities": "        inverse_propensities: Mapping[Label, float] | None = None,",
}


def river_stub() -> str:
    return "\n".join(
        [
            "# Written by docs/generate.py from the catalogue.",
            "",
            "from collections.abc import Iterable, Mapping",
            "from typing import Literal",
            "",
            "from streameval.adapters.river.metric import CountedMetric",
            "from streameval.schema.config import Unknown",
            "from streameval.schema.labels import Label",
            "from streameval.metrics.spec import Empty",
            "",
            "__all__ = [",
            *(f'    "{name}",' for name in CLASSES),
            "]",
            "",
            *(line for name, made in CLASSES.items() for line in _river_class(name, made)),
        ]
    )


def _river_class(name: str, made: type[CountedMetric]) -> list[str]:
    return [
        f"class {name}(CountedMetric):",
        "    def __init__(",
        "        self,",
        "        *,",
        *(f"        {p.name}: {kind_of(p)} = {p.default!r}," for p in made._entry.parameters),
        "        zero_division: float | None = None,",
        *(['        empty: Empty = "zero_division",'] if made._entry.state == "decisions" else []),
        "        labels: Iterable[Label] | None = None,",
        '        unknown: Unknown = "error",',
        "        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,",
        "    ) -> None: ...",
        "",
    ]


FILES = {
    ROOT / "docs" / "metrics.md": reference,
    ROOT / "streameval" / "evaluation" / "classes.pyi": stub,
    ROOT / "streameval" / "adapters" / "river" / "classes.pyi": river_stub,
}

if __name__ == "__main__":
    for path, write in FILES.items():
        path.write_text(write(), encoding="utf-8")
