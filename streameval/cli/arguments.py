"""The arguments and options of the commands, with what help pages say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from streameval.cli.outputs import Format
from streameval.cli.reading import columns_of, sources_of
from streameval.errors import StreamevalError
from streameval.metrics.catalogue import catalogue
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import Null, Rows, Unknown

_WORDS = """
Input
files FILE...      Files to read: JSON Lines, CSV, TSV, Parquet or Arrow. Globs are expanded; '-' reads standard input.
file FILE          File that grows: JSON Lines, CSV or TSV.
files_or_state FILE_OR_STATE...  The same, or a state that was saved with scores.
states STATE...    Files that --save wrote.
state STATE        File that --save wrote.
first STATE_A      The state to compare with.
second STATE_B     The other state, such as that of a newer model.
--sep TEXT        Separator between labels in one cell, e.g. ',' or ';'. In CSV '|' unless set.
--rows KIND       Read lists such as [1, 0, 1] as labels, or as an indicator of each label.
--labels LABEL    Declare a label, or a JSON list of labels in order. Repeatable.
--unknown ACTION  What to do with labels that are not declared: error, ignore or add.
--label-limit N   Refuse rows that bring more than N labels.
--null ACTION     Read a null list as an error, or as empty.
--truth FILE      Read the true labels from this file; needs --join.
--skip-bad        Skip rows that cannot be read.
--max-bad N|P%    Skip them, but fail if there are more than this. [default: 1%]
--allow-empty     Accept input without rows, and save an empty state.
--explain         Say how the first rows were read, on standard error.
--strict          Make warnings errors, with exit status 2.

Columns
--actual -a COLUMN     True labels, or 'true_*'. [default: y_true, labels, truth or actual, if exactly one is there]
--predicted -p COLUMN  Predicted labels, or 'pred_*'.
--scores -s COLUMN     Scores of labels, or 'score_*'.
--weight COLUMN        Weight of each row.
--mask COLUMN          Labels whose truth is unknown.
--by COLUMN            Also report metrics for each value of this column.
--example COLUMN       Example that a row belongs to, in files with a row for each label.
--label COLUMN         With --example: label of the row.
--join COLUMN          With --truth: key by which rows of both files are joined.

Metrics
words [WORD...]         The name of a metric, or words: only the metrics that mention all of them.
--metrics -m NAMES      Metrics, comma-separated, e.g. 'f1_micro,ndcg(k=5)'. List them with 'streameval metrics'.
--beta NUMBER           Weight of recall in F-beta; adds fbeta to the default metrics.
beta_to_maximise --beta BETA  Maximise F-beta with this beta. [default: 1]
--threshold -t NUMBER   Predict labels scoring at or above this value. A number, or a JSON file of {label: number}.
--zero-division NUMBER  Value of a metric whose denominator is 0: 0, 1 or nan. [default: 0]
--window -w N           Also report the metrics of the last N rows.

Output
--format -f FORMAT   table, json, csv or markdown. [default: table]
--output -o FILE     Write the results to a file: .json, .csv, .md or .txt.
page --output -o FILE.html  The file that the page is written to.
--title TEXT         Heading of the page.
--meta NAME=VALUE    Line at the top of the page, e.g. 'model=v7'. Repeatable.
--fail-if CHECK      Exit with status 1 if this holds, e.g. 'f1_micro < 0.7' or 'f1_micro[region] < 0.6'. Repeatable.
changes --fail-if CHANGE  Exit with status 1 if this holds, e.g. 'change(f1_micro) < -0.01'. Repeatable.
--raw                Write labels to CSV unescaped, with every cell in quotes.
--top N              Number of labels to show. [default: 20; compare: 10]
--every TIME         Least time between two results, e.g. 10s, 5m or 1h. [default: 1s]
--save STATE         Save the state, for the commands merge, show and compare.
thresholds_file --save FILE.json  Write the thresholds as JSON, for 'evaluate --threshold FILE.json'.
--report FILE.html   Write a report page.
--force              Replace files that streameval did not write.
number --rows N      Number of rows. [default: 3000]
--write DIR          Write a small data set to DIR instead.
--quiet -q           Write only results, warnings and errors.
--color WHEN         auto, always or never. [default: auto]
--digits N           Decimals of values in tables and Markdown. [default: 4]
"""
"""By panel: names, metavariables and help. The name of a parameter stands first where no option has it."""


def _read_words() -> dict[str, tuple[str, list[str], str, str]]:
    """The panel, names, metavariable and help of each parameter."""
    described: dict[str, tuple[str, list[str], str, str]] = {}
    for block in _WORDS.strip().split("\n\n"):
        panel, *lines = block.splitlines()
        for line in lines:
            usage, _, text = line.partition("  ")
            words = usage.split()
            names = [word for word in words if word.startswith("-")]
            name = names[0][2:].replace("-", "_") if words[0] in names else words.pop(0)
            described[name] = panel, names, " ".join(word for word in words if word not in names), text.strip()
    return described


_DESCRIBED = _read_words()


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics, each after those that stand before a comma."""
    before, comma, start = incomplete.rpartition(",")
    keys = [MetricSpec(entry.name, average).key for entry in catalogue() for average in entry.averages]
    return [f"{before}{comma}{key}" for key in keys if key.startswith(start)]


def column_names(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the first file on the command line."""
    try:
        files = next(value for name, value in ctx.params.items() if name.startswith("file"))
        names = columns_of(sources_of([files] if isinstance(files, str) else files[:1])[0])
    except (StreamevalError, OSError, LookupError, TypeError, StopIteration):
        return []  # a shell shows no errors
    return [name for name in names if name.startswith(incomplete)]


_CHECKED: dict[str, dict[str, Any]] = {
    "label_limit": {"min": 1}, "window": {"min": 1, "max": 2**31 - 1}, "top": {"min": 0}, "number": {"min": 1},
    "digits": {"min": 0, "max": 17},
    "metrics": {"autocompletion": metric_names}, "words": {"autocompletion": metric_names},
}  # fmt: skip


def described(name: str, kind: Any) -> Any:
    """The type of a parameter, with what typer has to know of it."""
    panel, names, metavar, text = _DESCRIBED[name]
    options: dict[str, Any] = {"metavar": metavar or None, "help": text, "rich_help_panel": panel}
    options |= _CHECKED.get(name, {"autocompletion": column_names} if panel == "Columns" else {})
    return Annotated[kind, typer.Option(*names, **options) if names else typer.Argument(**options)]


class Reading(TypedDict):
    """How rows are read, and which columns hold what."""

    sep: str | None
    rows: Rows | None
    labels: list[str] | None
    unknown: Unknown | None
    label_limit: int | None
    null: Null | None
    truth: str | None
    skip_bad: bool
    max_bad: str | None
    allow_empty: bool
    explain: bool
    strict: bool
    actual: list[str] | None
    predicted: list[str] | None
    scores: list[str] | None
    weight: str | None
    mask: list[str] | None
    by: list[str] | None
    example: str | None
    label: str | None
    join: str | None


class Asking(TypedDict):
    """Which metrics are computed."""

    metrics: list[str] | None
    beta: float | None
    threshold: str | None
    zero_division: float | None


class Printing(TypedDict):
    """How results are printed, and where."""

    format: Format | None
    output: Path | None
    force: bool


class Showing(Printing):
    """The same of results with metrics, checks and a page."""

    raw: bool
    top: int
    report: Path | None
    fail_if: list[str] | None


class Evaluating(Reading, Asking):
    """How rows are read, and which metrics are computed of them."""

    window: int | None


class Everything(Evaluating, Showing):
    """The same, and how they are shown."""

    save: Path | None


class Reanalysing(Asking, Showing):
    """Which metrics are computed of a saved state, and how they are shown."""


class Thresholding(Reading, Printing):
    """How rows are read, and where the thresholds are printed."""
