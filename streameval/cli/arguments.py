"""The arguments and options of the commands, with what help pages say of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from streameval.cli.completion import column_names, metric_names
from streameval.cli.outputs import Format
from streameval.cli.settings import Color

_WORDS = """
Input
FILE...           Files to read: JSON Lines, CSV, TSV, Parquet or Arrow. Globs are expanded; '-' reads standard input.
FILE              File that grows: JSON Lines, CSV or TSV.
FILE_OR_STATE...  The same, or a state that was saved with scores.
STATE...          Files that --save wrote.
STATE             File that --save wrote.
STATE_A           The state to compare with.
STATE_B           The other state, such as that of a newer model.
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
[WORD...]               The name of a metric, or words: only the metrics that mention all of them.
--metrics -m NAMES      Metrics, comma-separated, e.g. 'f1_micro,ndcg(k=5)'. List them with 'streameval metrics'.
--beta NUMBER           Weight of recall in F-beta; adds fbeta to the default metrics.
--beta BETA             Maximise F-beta with this beta. [default: 1]
--threshold -t NUMBER   Predict labels scoring at or above this value. A number, or a JSON file of {label: number}.
--zero-division NUMBER  Value of a metric whose denominator is 0: 0, 1 or nan. [default: 0]
--window -w N           Also report the metrics of the last N rows.

Output
--format -f FORMAT   table, json, csv or markdown. [default: table]
--output -o FILE     Write the results to a file: .json, .csv, .md or .txt.
--output -o FILE.html  The file that the page is written to.
--title TEXT         Heading of the page.
--meta NAME=VALUE    Line at the top of the page, e.g. 'model=v7'. Repeatable.
--fail-if CHECK      Exit with status 1 if this holds, e.g. 'f1_micro < 0.7' or 'f1_micro[region] < 0.6'. Repeatable.
--fail-if CHANGE     Exit with status 1 if this holds, e.g. 'change(f1_micro) < -0.01'. Repeatable.
--raw                Write labels to CSV unescaped, with every cell in quotes.
--top N              Number of labels to show. [default: 20; compare: 10]
--every TIME         Least time between two results, e.g. 10s, 5m or 1h. [default: 1s]
--save STATE         Save the state, for the commands merge, show and compare.
--save FILE.json     Write the thresholds as JSON, for 'evaluate --threshold FILE.json'.
--report FILE.html   Write a report page.
--force              Replace files that streameval did not write.
--rows N             Number of rows. [default: 3000]
--write DIR          Write a small data set to DIR instead.
--quiet -q           Write only results, warnings and errors.
--color WHEN         auto, always or never. [default: auto]
--digits N           Decimals of values in tables and Markdown. [default: 4]
"""


def _read_words() -> dict[str, tuple[str, list[str], str, str]]:
    """The panel, names, metavariable and help of each parameter, by its last name and by its usage."""
    described: dict[str, tuple[str, list[str], str, str]] = {}
    for block in _WORDS.strip().split("\n\n"):
        panel, *lines = block.splitlines()
        for line in lines:
            usage, _, text = line.partition("  ")
            names = [word for word in usage.split() if word[:1] == "-"]
            metavar = next((word for word in usage.split() if word[:1] != "-"), "")
            described[usage] = panel, names, metavar, text.strip()
            described.setdefault((names or [metavar])[0], described[usage])
    return described


_DESCRIBED = _read_words()


def _of(name: str, **options: Any) -> Any:
    """The argument or option of this name."""
    panel, names, metavar, text = _DESCRIBED[name]
    options |= {"metavar": metavar or None, "help": text, "rich_help_panel": panel}
    if panel == "Columns":
        options["autocompletion"] = column_names
    return typer.Option(*names, **options) if names else typer.Argument(**options)


RowsOption = StrEnum("RowsOption", ["labels", "indicator"])
UnknownOption = StrEnum("UnknownOption", ["error", "ignore", "add"])
NullOption = StrEnum("NullOption", ["error", "empty"])

Files = Annotated[list[str], _of("FILE...")]
FilesOrState = Annotated[list[str], _of("FILE_OR_STATE...")]
File = Annotated[str, _of("FILE")]
States = Annotated[list[Path], _of("STATE...")]
State = Annotated[Path, _of("STATE")]
StateA = Annotated[Path, _of("STATE_A")]
StateB = Annotated[Path, _of("STATE_B")]
Words = Annotated[list[str] | None, _of("[WORD...]", autocompletion=metric_names)]


class Reading(TypedDict):
    """How rows are read, and which columns hold what."""

    sep: Annotated[str | None, _of("--sep")]
    rows: Annotated[RowsOption | None, _of("--rows")]
    labels: Annotated[list[str] | None, _of("--labels")]
    unknown: Annotated[UnknownOption | None, _of("--unknown")]
    label_limit: Annotated[int | None, _of("--label-limit", min=1)]
    null: Annotated[NullOption | None, _of("--null")]
    truth: Annotated[str | None, _of("--truth")]
    skip_bad: Annotated[bool, _of("--skip-bad")]
    max_bad: Annotated[str | None, _of("--max-bad")]
    allow_empty: Annotated[bool, _of("--allow-empty")]
    explain: Annotated[bool, _of("--explain")]
    strict: Annotated[bool, _of("--strict")]
    actual: Annotated[list[str] | None, _of("--actual")]
    predicted: Annotated[list[str] | None, _of("--predicted")]
    scores: Annotated[list[str] | None, _of("--scores")]
    weight: Annotated[str | None, _of("--weight")]
    mask: Annotated[list[str] | None, _of("--mask")]
    by: Annotated[list[str] | None, _of("--by")]
    example: Annotated[str | None, _of("--example")]
    label: Annotated[str | None, _of("--label")]
    join: Annotated[str | None, _of("--join")]


Metrics = Annotated[list[str] | None, _of("--metrics", autocompletion=metric_names)]
Beta = Annotated[float | None, _of("--beta")]
Threshold = Annotated[str | None, _of("--threshold")]
ZeroDivision = Annotated[float | None, _of("--zero-division")]
Maximised = Annotated[float, _of("--beta BETA")]
LastRows = Annotated[int | None, _of("--window", min=1, max=2**31 - 1)]


class Asking(Reading):
    """The same, and which metrics are computed."""

    metrics: Metrics
    beta: Beta
    threshold: Threshold
    zero_division: ZeroDivision
    window: LastRows


How = Annotated[Format | None, _of("--format")]
Output = Annotated[Path | None, _of("--output")]
FailIf = Annotated[list[str] | None, _of("--fail-if CHECK")]
FailIfChange = Annotated[list[str] | None, _of("--fail-if CHANGE")]
Raw = Annotated[bool, _of("--raw")]
Top = Annotated[int, _of("--top", min=0)]
Every = Annotated[str, _of("--every")]
Save = Annotated[Path | None, _of("--save")]
SaveThresholds = Annotated[Path | None, _of("--save FILE.json")]
Page = Annotated[Path, _of("--output -o FILE.html")]
Title = Annotated[str | None, _of("--title")]
Meta = Annotated[list[str] | None, _of("--meta")]
Report = Annotated[Path | None, _of("--report")]
Force = Annotated[bool, _of("--force")]
DemoRows = Annotated[int, _of("--rows N", min=1)]
Write = Annotated[Path | None, _of("--write")]


class Common(TypedDict):
    """Options of all commands."""

    quiet: Annotated[bool, _of("--quiet")]
    color: Annotated[Color, _of("--color")]
    digits: Annotated[int, _of("--digits", min=0, max=17)]
