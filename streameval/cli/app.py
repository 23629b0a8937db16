"""The commands and their options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import streameval
from streameval.cli.counting import Counting, count
from streameval.cli.demo import demonstrate
from streameval.cli.options import Wanted, number_of, refuse_unwritable, several, specs_of
from streameval.cli.progress import watched
from streameval.cli.render import Format, console_of, drawn, markdown, plain_json, show
from streameval.cli.rows import UserError
from streameval.cli.sheets import Sheet, Shown, difference_sheets, values_of
from streameval.cli.sources import sources_of
from streameval.cli.states import load_state, merged, write_results
from streameval.evaluation.evaluator import Evaluator
from streameval.kernel import BACKEND
from streameval.metrics import thresholds as choosing
from streameval.metrics.catalogue import catalogue
from streameval.wire.files import write_file

__all__ = ["app"]

app = typer.Typer(
    name="streameval", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip

Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="JSONL, CSV, Parquet, Arrow; patterns; - is stdin.")
]
States = Annotated[list[Path], typer.Argument(metavar="STATE...", help="Files that --save wrote.")]
Actual = Annotated[str, typer.Option("--actual", "-a", metavar="COLUMN", help="The true labels.")]
Predicted = Annotated[str | None, typer.Option("--predicted", "-p", metavar="COLUMN", help="The predicted labels.")]
Scores = Annotated[str | None, typer.Option("--scores", "-s", metavar="COLUMN", help="A score for each label.")]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="How much each row counts.")]
Mask = Annotated[str | None, typer.Option("--mask", metavar="COLUMN", help="Labels whose truth is unknown.")]
By = Annotated[list[str] | None, typer.Option("--by", metavar="COLUMN", help="Slice by these columns.")]
Metrics = Annotated[list[str] | None, typer.Option("--metrics", "-m", metavar="NAMES", help="f1_micro,ndcg(k=5),...")]
Beta = Annotated[float | None, typer.Option("--beta", metavar="NUMBER", help="For fbeta: the weight of recall.")]
Threshold = Annotated[
    str | None,
    typer.Option("--threshold", "-t", metavar="NUMBER", help="From which score on; or a .json file."),
]
ZeroDivision = Annotated[str | None, typer.Option("--zero-division", metavar="NUMBER", help="What 0/0 is: 0, 1, nan.")]
LastRows = Annotated[int | None, typer.Option("--window", "-w", metavar="N", help="Also the last N rows.")]
How = Annotated[Format, typer.Option("--format", "-f", help="How results are written.")]
Top = Annotated[int, typer.Option("--top", metavar="N", min=0, help="How many labels are shown.")]
Save = Annotated[Path | None, typer.Option("--save", metavar="STATE", help="Save the state, to merge or show it.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Write the page of the report.")]
Sep = Annotated[str, typer.Option("--sep", metavar="TEXT", help="What is between labels in a cell of CSV.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip rows that cannot be read, and say how many.")]


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"streameval {streameval.__version__} ({BACKEND} kernel)\n")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # its callback answers
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Version and kernel.")
    ] = False,
) -> None:
    """Exact multi-label evaluation of files and streams."""


@app.command()
def evaluate(
    files: Files,
    actual: Actual,
    predicted: Predicted = None,
    scores: Scores = None,
    weight: Weight = None,
    mask: Mask = None,
    by: By = None,
    metrics: Metrics = None,
    beta: Beta = None,
    threshold: Threshold = None,
    zero_division: ZeroDivision = None,
    window: LastRows = None,
    how: How = Format.table,
    top: Top = 20,
    save: Save = None,
    report: Report = None,
    sep: Sep = "|",
    skip_bad: SkipBad = False,
) -> int:
    """Evaluate the rows of files, or of a stream, however large."""
    refuse_unwritable(save, report)
    undefined = number_of(zero_division, "--zero-division")
    wanted = Wanted(
        actual, predicted, scores, weight, mask, tuple(several(by)), tuple(several(metrics)), beta, threshold, undefined
    )
    return _counted(files, wanted, window, how, top, save, report, sep, skip_bad)


def _counted(
    files: list[str], wanted: Wanted, size: int | None, how: Format, top: int, save: Path | None, report: Path | None,
    sep: str, skip_bad: bool,
) -> int:  # fmt: skip
    if not sep:
        raise UserError("--sep must be at least one character")
    sources = sources_of(files)
    state, columns = wanted.built()
    window = wanted.window(size)
    counting = Counting(state, columns, window=window, skip=skip_bad)

    def shown() -> Shown:
        return Shown.of(state, (), window, zero_division=wanted.zero_division)

    with watched(sources, shown) as advance:
        stopped = count(sources, counting, sep=sep, advance=advance)
    result = shown()
    write_results(state, result, save, report)
    extra: dict[str, object] = {"skipped": counting.skipped} if skip_bad else {}
    show(result, how, top=top, extra=extra | ({"interrupted": True} if stopped else {}))
    for reason in counting.reasons:
        sys.stderr.write(f"skipped {reason}\n")
    if skip_bad:
        sys.stderr.write(f"{counting.skipped:,} bad row{'s' * (counting.skipped != 1)} skipped\n")
    if stopped:
        sys.stderr.write("interrupted: this is what was counted until then\n")
    return 130 if stopped else 0


@app.command()
def merge(states: States, save: Save = None, report: Report = None, how: How = Format.table, top: Top = 20) -> None:
    """Merge saved states, in any order, into the state of all their rows."""
    refuse_unwritable(save, report)
    total = merged(states)
    result = Shown.of(total)
    write_results(total, result, save, report)
    show(result, how, top=top)


@app.command(name="show")
def show_state(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="A file that --save wrote.")],
    metrics: Metrics = None,
    beta: Beta = None,
    zero_division: ZeroDivision = None,
    report: Report = None,
    how: How = Format.table,
    top: Top = 20,
) -> None:
    """Show a saved state: its metrics, or any others that it can answer."""
    refuse_unwritable(report)
    loaded = load_state(state)
    undefined = number_of(zero_division, "--zero-division")
    asked = several(metrics)
    base = Shown.of(loaded)
    specs = specs_of(asked or [spec.key for spec in base.metrics], beta, undefined)
    if asked:
        for spec in specs:
            if not isinstance(base.whole, Evaluator):
                raise UserError(f"{state} holds a single metric, {base.metrics[0].key}; leave --metrics out")
            base.whole.get(spec)  # raises for what cannot be read
    result = Shown.of(loaded, specs, zero_division=undefined)
    write_results(loaded, result, None, report)
    show(result, how, top=top)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="STATE_A", help="A saved state.")],
    second: Annotated[Path, typer.Argument(metavar="STATE_B", help="Another, such as that of a newer model.")],
    metrics: Metrics = None,
    how: How = Format.table,
    top: Top = 10,
) -> None:
    """Compare two saved states: which metrics changed, and which labels most."""
    states = [Shown.of(load_state(path)) for path in (first, second)]
    asked = several(metrics)
    common = [spec for spec in states[0].metrics if spec in states[1].metrics]
    specs = specs_of(asked, None, None) if asked else common
    if not specs:
        raise UserError("these states were saved with different metrics; name some with --metrics")
    mine, theirs = (Shown(each.whole, tuple(specs), sliced=each.sliced) for each in states)
    names = (first.stem, second.stem) if first.stem != second.stem else (str(first), str(second))
    names = names if names[0] != names[1] else ("first", "second")
    values = [values_of(each.whole, specs) for each in (mine, theirs)]
    if how in (Format.json, Format.csv):
        _rows([{"metric": key, names[0]: value, names[1]: values[1][key]} for key, value in values[0].items()], how)
        return
    _sheets(difference_sheets(mine, theirs, names, top=top), f"{mine.headline}; {theirs.headline}", how)


@app.command(name="metrics")
def list_metrics(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD...]", help="Only those that mention all.")] = None,
    how: How = Format.table,
) -> None:
    """List the metrics of the catalogue, or those that mention some words."""
    found = [entry for entry in catalogue() if all(word.lower() in _text(entry) for word in words or ())]
    if not found:
        raise UserError(f"no metric mentions {' '.join(words or ())!r}; streameval metrics lists all")
    if how in (Format.json, Format.csv):
        _rows([{"name": entry.name, "averages": ",".join(str(each or "per_label") for each in entry.averages),
                "from": entry.state, "summary": entry.summary, "formula": entry.formula, "source": entry.source}
               for entry in found], how)  # fmt: skip
        return
    rows: list[tuple[str | int | float | None, ...]] = [(entry.name, entry.state, entry.summary) for entry in found]
    sheets = [Sheet(("metric", "from", ""), rows)]
    if len(found) == 1:
        sheets = [Sheet(("", found[0].name), list(_details(found[0])))]
    _sheets(sheets, "", how)


def _text(entry: Any) -> str:
    return " ".join([entry.name, *entry.aliases, entry.summary, entry.state, entry.class_name, entry.source]).lower()


def _details(entry: Any) -> list[tuple[str, str]]:
    parameters = [f"{each.name}={each.default} in {each.range}" for each in entry.parameters]
    told = {
        "says": entry.summary, "formula": entry.formula,
        "averages": ", ".join(str(each or "per_label") for each in entry.averages),
        "parameters": "; ".join(parameters), "other names": ", ".join(entry.aliases),
        "range": f"{entry.low:g} to {entry.high:g}", "read from": entry.state, "source": entry.source,
    }  # fmt: skip
    return [(name, value) for name, value in told.items() if value]


@app.command()
def thresholds(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="A saved state of scores, or files of rows.")],
    actual: Annotated[str | None, typer.Option("--actual", "-a", metavar="COLUMN", help="The true labels.")] = None,
    scores: Scores = None,
    weight: Weight = None,
    mask: Mask = None,
    beta: Annotated[float, typer.Option("--beta", metavar="NUMBER", help="What to make great: F-beta.")] = 1.0,
    how: How = Format.table,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE.json", help="Write them, for evaluate --threshold.")
    ] = None,
    sep: Sep = "|",
    skip_bad: SkipBad = False,
) -> int:
    """Find the best threshold of each label, from scores."""
    refuse_unwritable(save)
    if not beta > 0 or beta == float("inf"):
        raise UserError(f"--beta must be above 0 and finite, not {beta:g}")
    stopped = False
    if actual is None and scores is None:
        if len(files) > 1:
            raise UserError("give one saved state, or files of rows with --actual and --scores")
        state: Any = Shown.of(load_state(Path(files[0]))).whole
    else:
        if actual is None or scores is None:
            raise UserError("files of rows need both --actual and --scores")
        sources = sources_of(files)
        state, columns = Wanted(actual, None, scores, weight, mask, metrics=("roc_auc_micro",)).built()
        counting = Counting(state, columns, skip=skip_bad)
        with watched(sources, lambda: Shown.of(state)) as advance:
            stopped = count(sources, counting, sep=sep, advance=advance)
        if skip_bad:
            sys.stderr.write(f"{counting.skipped:,} bad row{'s' * (counting.skipped != 1)} skipped\n")
    tables = state.tables("curves")
    found = choosing.best_thresholds(tables, choosing.FScore(beta))
    if save is not None:
        plain = {str(label): choice.threshold for label, choice in found.items()}
        write_file(save, plain_json(plain).encode())
    name = "f1" if beta == 1 else f"fbeta(beta={beta:g})"
    if how in (Format.json, Format.csv):
        _rows([{"label": label, "threshold": choice.threshold, name: choice.value, "bound": choice.bound}
               for label, choice in found.items()], how)  # fmt: skip
    else:
        rows: list[tuple[str | int | float | None, ...]] = [
            (str(label), choice.threshold, choice.value, "" if choice.exact else f"at most {choice.bound:.4f}")
            for label, choice in found.items()
        ]
        _sheets([Sheet(("label", "threshold", name, ""), rows, bar=name)], Shown.of(state).headline, how)
    return 130 if stopped else 0


@app.command()
def demo(
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="How many.")] = 3000,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE.jsonl", help="Write the rows, to try on.")
    ] = None,
    report: Report = None,
) -> None:
    """Evaluate a made-up stream of tagged posts, in slices, with its last rows."""
    refuse_unwritable(write, report)
    demonstrate(rows, write, report)


def _rows(rows: list[dict[str, Any]], how: Format) -> None:
    if how is Format.json:
        sys.stdout.write(plain_json(rows))
        return
    import csv

    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _sheets(sheets: list[Sheet], headline: str, how: Format) -> None:
    if how is Format.markdown:
        sys.stdout.write(markdown(sheets, headline))
    else:
        console = console_of(sys.stdout)
        console.print(drawn(sheets, headline, console))
