"""The arguments and options of the commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from streameval.cli.completion import column_names, metric_names
from streameval.cli.render import Format
from streameval.cli.usage import COLUMNS, INPUT, METRICS, OUTPUT

RowsOption = StrEnum("RowsOption", ["labels", "indicator"])
UnknownOption = StrEnum("UnknownOption", ["error", "ignore", "add"])
NullOption = StrEnum("NullOption", ["error", "empty"])


def _input(*names: str, metavar: str | None = None, help: str) -> Any:  # noqa: A002  # as typer calls it
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=INPUT)


def _column(*names: str, help: str) -> Any:  # noqa: A002
    panel: dict[str, Any] = {"rich_help_panel": COLUMNS, "autocompletion": column_names}
    return typer.Option(*names, metavar="COLUMN", help=help, **panel)


def _metric(*names: str, metavar: str, help: str, **options: Any) -> Any:  # noqa: A002
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=METRICS, **options)


def _output(*names: str, metavar: str | None = None, help: str, **options: Any) -> Any:  # noqa: A002
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=OUTPUT, **options)


_FILES = "JSON Lines, CSV, TSV, Parquet or Arrow. Glob patterns are expanded; '-' reads standard input."
Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help=f"Files or folders to read: {_FILES}", rich_help_panel=INPUT)
]
StateOrFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", rich_help_panel=INPUT, help=f"A state saved with scores, or files to read: {_FILES}"
    ),
]
Followed = Annotated[
    str, typer.Argument(metavar="FILE", help="File that grows: JSON Lines, CSV or TSV.", rich_help_panel=INPUT)
]
States = Annotated[
    list[Path], typer.Argument(metavar="STATE...", help="Files that --save wrote.", rich_help_panel=INPUT)
]
State = Annotated[Path, typer.Argument(metavar="STATE", help="File that --save wrote.", rich_help_panel=INPUT)]
StateA = Annotated[Path, typer.Argument(metavar="STATE_A", help="The state to compare with.", rich_help_panel=INPUT)]
StateB = Annotated[
    Path,
    typer.Argument(metavar="STATE_B", help="The other state, such as that of a newer model.", rich_help_panel=INPUT),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[WORD...]", rich_help_panel=METRICS, autocompletion=metric_names,
        help="The name of a metric, or words: only the metrics that mention all of them.",
    ),
]  # fmt: skip


class Reading(TypedDict):
    """How rows are read, and which columns hold what."""

    sep: Annotated[
        str | None,
        _input(
            "--sep",
            metavar="TEXT",
            help="Separator between labels in one cell, e.g. ',' or ';'. In CSV '|' unless set.",
        ),
    ]
    rows: Annotated[
        RowsOption | None,
        _input(
            "--rows", metavar="KIND", help="Read lists such as [1, 0, 1] as labels or as an indicator of each label."
        ),
    ]
    labels: Annotated[
        list[str] | None,
        _input("--labels", metavar="LABEL", help="Declare a label, or a JSON list of labels in order. Repeatable."),
    ]
    unknown: Annotated[
        UnknownOption | None,
        _input(
            "--unknown", metavar="ACTION", help="What to do with labels that are not declared: error, ignore or add."
        ),
    ]
    label_limit: Annotated[
        int | None, _input("--label-limit", metavar="N", help="Refuse rows that bring more than N labels.")
    ]
    null: Annotated[
        NullOption | None, _input("--null", metavar="ACTION", help="Read a null list as an error, or as empty.")
    ]
    truth: Annotated[
        str | None, _input("--truth", metavar="FILE", help="Read the true labels from this file; needs --join.")
    ]
    skip_bad: Annotated[bool, _input("--skip-bad", help="Skip rows that cannot be read.")]
    max_bad: Annotated[
        str | None,
        _input(
            "--max-bad", metavar="N|P%", help="With --skip-bad, fail if more rows than this are skipped. [default: 1%]"
        ),
    ]
    allow_empty: Annotated[bool, _input("--allow-empty", help="Accept input without rows, and save an empty state.")]
    strict: Annotated[bool, _input("--strict", help="Make warnings errors, with exit status 2.")]
    actual: Annotated[
        list[str] | None,
        _column(
            "--actual",
            "-a",
            help="True labels, or 'true_*'. [default: y_true, labels, truth or actual, if exactly one is there]",
        ),
    ]
    predicted: Annotated[list[str] | None, _column("--predicted", "-p", help="Predicted labels, or 'pred_*'.")]
    scores: Annotated[list[str] | None, _column("--scores", "-s", help="Scores of labels, or 'score_*'.")]
    weight: Annotated[str | None, _column("--weight", help="Weight of each row.")]
    mask: Annotated[list[str] | None, _column("--mask", help="Labels whose truth is unknown.")]
    by: Annotated[list[str] | None, _column("--by", help="Also report metrics for each value of this column.")]
    example: Annotated[
        str | None, _column("--example", help="Example that a row belongs to, in files with a row for each label.")
    ]
    label: Annotated[str | None, _column("--label", help="With --example: label of the row.")]
    join: Annotated[str | None, _column("--join", help="With --truth: key by which rows of both files are joined.")]


Metrics = Annotated[
    list[str] | None,
    _metric(
        "--metrics", "-m", metavar="NAMES", autocompletion=metric_names,
        help="Metrics to compute, comma-separated, e.g. 'f1_micro,ndcg(k=5)'. List them with 'streameval metrics'.",
    ),
]  # fmt: skip
Beta = Annotated[
    float | None, _metric("--beta", metavar="NUMBER", help="Weight of recall in F-beta; adds fbeta to the metrics.")
]
Threshold = Annotated[
    str | None,
    _metric(
        "--threshold", "-t", metavar="NUMBER",
        help="Predict labels scoring at or above this value. A number, or a JSON file of {label: number}.",
    ),
]  # fmt: skip
ZeroDivision = Annotated[
    float | None,
    _metric(
        "--zero-division", metavar="NUMBER",
        help="Value of a metric whose denominator is 0: 0, 1 or nan. [default: 0]",
    ),
]  # fmt: skip
LastRows = Annotated[
    int | None,
    _metric("--window", "-w", metavar="N", min=1, max=2**31 - 1, help="Also report the metrics of the last N rows."),
]
Maximised = Annotated[float, _metric("--beta", metavar="NUMBER", help="Maximise F-beta with this beta. [default: 1]")]


class Asking(Reading):
    """The same, and which metrics are computed."""

    metrics: Metrics
    beta: Beta
    threshold: Threshold
    zero_division: ZeroDivision
    window: LastRows


How = Annotated[
    Format, _output("--format", "-f", metavar="FORMAT", help="table, json, csv or markdown. [default: table]")
]
Raw = Annotated[bool, _output("--raw", help="Write labels to CSV unescaped, with every cell in quotes.")]
Top = Annotated[int, _output("--top", metavar="N", min=0, help="Number of labels to show. [default: 20]")]
Save = Annotated[
    Path | None, _output("--save", metavar="STATE", help="Save the state, for the commands merge, show and compare.")
]
SaveThresholds = Annotated[
    Path | None,
    _output("--save", metavar="FILE.json", help="Write the thresholds as JSON, for 'evaluate --threshold FILE.json'."),
]
Report = Annotated[Path | None, _output("--report", metavar="FILE.html", help="Write a report page.")]
Force = Annotated[bool, _output("--force", help="Replace files that streameval did not write.")]
Every = Annotated[
    str, _output("--every", metavar="TIME", help="Time between lines in a pipe, such as 10s, 5m or 1h. [default: 10s]")
]
DemoRows = Annotated[int, _output("--rows", metavar="N", min=1, help="Number of rows. [default: 3000]")]
Write = Annotated[Path | None, _output("--write", metavar="DIR", help="Write a small data set to DIR instead.")]
