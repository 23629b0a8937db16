"""The arguments and options of the commands, their help pages, and the errors of a command line."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from streameval.cli.outputs import Format
from streameval.cli.reading import UserError, columns_of, sources_of
from streameval.cli.settings import COLOR, DIGITS, QUIET, Color
from streameval.errors import OPTIONS, StreamevalError
from streameval.metrics.catalogue import catalogue
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import Null, Rows, Unknown
from streameval.schema.text import suggestion

_WORDS = """
Input
files FILE...      Files to read: JSON Lines, CSV, TSV, Parquet or Arrow. Globs are expanded; '-' reads standard input.
file FILE          The growing file: JSON Lines, CSV or TSV.
files_or_state FILE_OR_STATE...  Files as for 'evaluate', or one saved state that holds scores.
states STATE...    Files that --save or a Checkpointer wrote. Globs are expanded.
state STATE        File that --save or a Checkpointer wrote.
first STATE_A      The state to compare with, such as that of the old model.
second STATE_B     The other state, such as that of the new model.

Input of rows
--sep TEXT        Separator between labels in one cell, e.g. ',' or '\\t'. [default: '|' in CSV]
--rows KIND       How to read lists such as [1, 0, 1]: labels, or indicator (0 or 1 for each label).
--labels LABEL    Declare a label, or a JSON list of labels in order. Repeatable.
--unknown ACTION  What to do with labels that were not declared: error, ignore or add.
--null ACTION     What to do with a null list: error, or empty (no labels).
--skip-bad        Skip rows that cannot be read.
--max-bad N|P%    Skip up to N rows, or P per cent, that cannot be read. [default with --skip-bad: 1%]
--explain         Say how the first rows were read, on standard error.
--strict          Treat warnings as errors (exit status 2).

Input of whole files
--truth FILE      Read the true labels from this file; requires --join.
--allow-empty     Accept input without rows.

Input of evaluate
--limit N         Read only the first N rows.

Columns of rows
--actual -a COLUMN     True labels; repeatable, or 'true_*'. [default: the only one of y_true, labels, truth, actual]
--predicted -p COLUMN  Predicted labels, or 'pred_*'. With lists of numbers in --scores: their labels.
--scores -s COLUMN     Scores of labels, or 'score_*'.
--weight COLUMN        Weight of each row.
--mask COLUMN          Labels whose truth is unknown.

Columns of whole files
--example COLUMN       Key of the example, in files with a row for each label of an example.
--label COLUMN         With --example: the label of the row.
--join COLUMN          With --truth: the key that joins the rows of both files.

Columns of evaluating
--by COLUMN            Also report metrics for each value of this column. Repeatable.

Metrics
words [WORD...]         The name of a metric, or words: list only metrics that mention all of them.
beta_to_maximise --beta BETA  Maximise F-beta with this beta. [default: 1]

Metrics of metrics
--metrics -m NAMES      Metrics, comma-separated, e.g. 'f1_micro,ndcg(k=5)'. List them with 'streameval metrics'.
--beta NUMBER           Weight of recall in F-beta. 'evaluate' and 'watch' add F-beta to the default metrics.
--threshold -t NUMBER   Predict labels scoring at or above this value. A number, or a JSON file of {label: number}.
--zero-division NUMBER  Value of a metric whose denominator is 0: 0, 1 or nan. [default: 0]

Metrics of evaluating
--window -w N           Also report the metrics of the last N rows.

Output
page --output -o FILE.html  File to write the page to.
--meta NAME=VALUE    Line at the top of the page, e.g. 'model=v7'. Repeatable.
changes --fail-if CHANGE  Exit with status 1 if this holds, e.g. 'change(f1_micro) < -0.01'. Repeatable.
shown_by --by COLUMN  Show only the slices by this column. Repeatable.
--every TIME         Minimum time between two results, e.g. 10s, 5m or 1h. [default: 1s]
thresholds_file --save FILE.json  Write the thresholds as JSON, for 'evaluate --threshold FILE.json'.
--write DIR          Write a small data set to DIR instead.
--quiet -q           Write only results, warnings and errors.
--color WHEN         auto, always or never. [default: auto]

Output of values
--digits N           Decimals of values in tables and Markdown. [default: 4]

Output of printing
--format -f FORMAT   table, json, csv or markdown. [default: table]
--output -o FILE     Write the results to a file: .json, .csv, .md or .txt.
--force              Replace files that streameval did not write.

Output of labels
--raw                CSV: do not escape labels; put every cell in quotes.
--top N              Number of labels to show. [default: 20]

Output of results
--report FILE.html   Write a report page.
--title TEXT         Title of the report page.
--fail-if CHECK      Exit with status 1 if this holds, e.g. 'f1_micro < 0.7' or 'f1_micro[region] < 0.6'. Repeatable.

Output of evaluate
--save STATE         Save the state, for 'merge', 'show', 'report', 'compare' and 'thresholds'.
"""
"""By panel and group: names, metavariables and help. A parameter that no option is named after stands first."""

_KINDS: dict[str, Any] = {
    **dict.fromkeys(("labels", "actual", "predicted", "scores", "mask", "by", "metrics", "fail_if"), list[str] | None),
    **dict.fromkeys(("output", "report", "save"), Path | None), **dict.fromkeys(("limit", "window"), int | None),
    **dict.fromkeys(("beta", "zero_division"), float | None), "top": int, "rows": Rows | None,
    "unknown": Unknown | None, "null": Null | None, "format": Format | None, "digits": int,
}  # fmt: skip
"""The types of options of groups; any other option is a string, or a switch if it has no metavariable."""

_GROUPS: dict[str, list[str]] = {}  # the names of options by group, which commands share


def _read_words() -> dict[str, tuple[str, list[str], str, str]]:
    """The panel, names, metavariable and help of each parameter."""
    described: dict[str, tuple[str, list[str], str, str]] = {}
    for block in _WORDS.strip().split("\n\n"):
        heading, *lines = block.splitlines()
        panel, _, group = heading.partition(" of ")
        for line in lines:
            usage, _, text = line.partition("  ")
            words = usage.split()
            names = [word for word in words if word.startswith("-")]
            name = names[0][2:].replace("-", "_") if words[0] in names else words.pop(0)
            described[name] = panel, names, " ".join(word for word in words if word not in names), text.strip()
            _GROUPS.setdefault(group, []).append(name)
    return described


_DESCRIBED = _read_words()


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics that complete the part after the last comma."""
    before, comma, start = incomplete.rpartition(",")
    keys = [MetricSpec(entry.name, average).key for entry in catalogue() for average in entry.averages]
    return [f"{before}{comma}{key}" for key in keys if key.startswith(start)]


def column_names(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the first file on the command line and of that of --truth."""
    # The option to complete has no value yet, so that the parser stops and leaves all arguments in ctx.args.
    try:
        files = [*ctx.args[:1], *filter(None, [ctx.params.get("truth")])]
        names = [name for source in sources_of(files) for name in columns_of(source)]
    except (StreamevalError, OSError):
        return []  # a shell shows no errors
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _file(text: str) -> Path:
    if text.endswith(("/", os.sep)):  # ``Path`` drops the slash
        raise UserError(f"{text} names a folder; name a file in it")
    return Path(text)


_CHECKED: dict[str, dict[str, Any]] = {
    "limit": {"min": 1}, "window": {"min": 1, "max": 2**31 - 1}, "top": {"min": 0},
    "digits": {"min": 0, "max": 17},
    **{name: {"parser": _file} for name in ("output", "report", "save", "page", "thresholds_file")},
    "metrics": {"autocompletion": metric_names}, "words": {"autocompletion": metric_names},
}  # fmt: skip


def described(name: str, kind: Any) -> Any:
    """The type of a parameter, annotated for typer."""
    panel, names, metavar, text = _DESCRIBED[name]
    options: dict[str, Any] = {"metavar": metavar or None, "help": text, "rich_help_panel": panel}
    options |= _CHECKED.get(name, {"autocompletion": column_names} if panel == "Columns" else {})
    return Annotated[kind, typer.Option(*names, **options) if names else typer.Argument(**options)]


# -- help pages and errors ---------------------------------------------------------------------------------------------

_STATUS = "0 success; 1 a check failed; 2 wrong usage or input; 130 interrupted by Ctrl-C"

_MEANT = {
    "--actual": ("--true", "--truths", "--target", "--targets", "--gold", "--reference"),
    "--predicted": ("--pred", "--preds", "--prediction", "--guess"),
    "--scores": ("--score", "--prob", "--probability", "--logits"),
    "--sep": ("--separator", "--delimiter"),
    "--metrics": ("--average",),
    "--fail-if": ("--fail-under", "--fail-below", "--fail-if-worse"),
    "--format": ("--json", "--csv", "--markdown"),
}
"""Options, with wrong names that users try."""


class Command(TyperCommand):
    """A command whose help page has groups of options, and examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        words = [str(each.metavar) for each in self.params if each.param_type_name == "argument"]
        panels: dict[str, list[tuple[str, str]]] = {"Input": [], "Columns": [], "Metrics": [], "Output": []}
        for each in self.get_params(ctx):
            panels[getattr(each, "rich_help_panel", None) or "Output"].append(_described(each))
        _write_help(self, ctx, formatter, " ".join([*words, "[OPTIONS]"]), panels)


class Group(TyperGroup):
    """The whole command line, whose help page lists the commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, each.help or "") for name, each in self.commands.items()]
        sections = {"Commands": commands, "Options": [*map(_described, self.get_params(ctx))]}
        _write_help(self, ctx, formatter, "COMMAND [OPTIONS]", sections)


def _described(param: Any) -> tuple[str, str]:
    names = [", ".join(sorted(param.opts, key=len))] if param.param_type_name == "option" else []
    return " ".join([*names, *filter(None, [param.metavar])]), param.help or ""


def _write_help(command: Any, ctx: Any, formatter: Any, usage: str, sections: dict[str, list[tuple[str, str]]]) -> None:
    formatter.write_usage(ctx.command_path, usage)
    formatter.write_paragraph()
    formatter.write_text(command.help or "")
    for name, rows in sections.items():
        if rows:
            with formatter.section(name):
                formatter.write_dl(rows, col_max=26)
    with formatter.section("Examples"):  # lines are not broken, so that they can be copied
        formatter.write("".join(f"  {line}\n" for line in inspect.cleandoc(command.epilog).splitlines()))
    with formatter.section("Exit status"):
        formatter.write_text(_STATUS)


def command(app: typer.Typer, *groups: str, name: str | None = None) -> Callable[[Any], Any]:
    """Decorator for a command whose ``**options`` are those of ``groups``, and whose docstring ends with examples."""

    def register(function: Any) -> Any:
        def run(quiet: bool = False, color: Color = Color.auto, **rest: Any) -> Any:
            OPTIONS.set(rest)
            QUIET.set(quiet)
            COLOR.set(color)
            DIGITS.set(rest.pop("digits", DIGITS.get()))
            return function(**rest)

        shared = [_option(each) for group in groups for each in _GROUPS[group]]
        parameters = [*_parameters(run), *_parameters(function), *shared]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        sentence, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        app.command(name or function.__name__, cls=Command, help=sentence, epilog=examples)(run)
        return function

    return register


def _parameters(function: Any) -> Iterator[inspect.Parameter]:
    """The parameters of a function without ``**options``, annotated for typer."""
    hints = get_type_hints(function)
    for own in inspect.signature(function).parameters.values():
        if own.kind is not own.VAR_KEYWORD:
            yield own.replace(kind=own.KEYWORD_ONLY, annotation=described(own.name, hints[own.name]))


def _option(name: str) -> inspect.Parameter:
    kind = _KINDS.get(name, str | None if _DESCRIBED[name][2] else bool)
    default = {"top": 20, "digits": DIGITS.get()}.get(name, False if kind is bool else None)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=described(name, kind))


_REWORDED = {
    r"^Value error, ": "",
    r"Input should be a valid number.*": "must be a number",
    r"Input should be a valid integer.*": "must be an integer",
    r"Input should be greater than or equal to (\S+)": r"must be at least \1",
    r"Input should be less than or equal to (\S+)": r"must be at most \1",
    r"^\S+ is not in the range x>=(\S+?)\.?$": r"must be at least \1",
    r"^\S+ is not in the range (\S+?)<=x<=(\S+?)\.?$": r"must be at least \1 and at most \2",
    r"'(.*)' is not a valid float( range)?\.?$": r"must be a number, not '\1'",
    r"'(.*)' is not a valid integer( range)?\.?$": r"must be an integer, not '\1'",
    r"^'(.*)' is not one of (.*?)\.?$": r"must be one of \2, not '\1'",
    r"^Option '(\S+)' requires an argument": r"\1 requires a value",
    r"^Option '(\S+)' does not take a value": r"\1 takes no value",
}
"""Messages of the libraries that parse options, and ours in their place."""


def usage_error(error: Any) -> str:
    text = _translated(error.format_message().rstrip("."))
    command, path = (None, "streameval") if error.ctx is None else (error.ctx.command, error.ctx.command_path)
    if (unknown := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
        options = [name for each in command.get_params(error.ctx) for name in each.opts] if command else []
        meant = next((name for name, words in _MEANT.items() if unknown in words and name in options), None)
        hint = f"; did you mean {meant!r}?" if meant else suggestion(unknown, options, cutoff=0.7)
        return f"there is no option {unknown}{hint or f'; see {path} --help'}"
    if (param := getattr(error, "param", None)) is not None:
        option = f"{max(param.opts, key=len)} " if param.param_type_name == "option" else ""
        if not (option and error.message):
            return f"{option}{param.metavar} is missing; see {path} --help"
        return option + _translated(error.message)
    if command and (name := re.match("No such command '(.*?)'", text)):
        hint = suggestion(name[1], command.commands) or "; see streameval --help"
        return f"there is no command {name[1]!r}{hint}"
    return f"{text[:1].lower()}{text[1:]}" + (f"; see {path} --help" if command else "")


def _translated(message: str) -> str:
    for theirs, ours in _REWORDED.items():
        message = re.sub(theirs, ours, message)
    return message
