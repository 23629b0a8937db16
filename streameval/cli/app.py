"""The commands and their options."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import streameval
from streameval.cli.counting import count
from streameval.cli.demo import demonstrate
from streameval.cli.options import NullOption, RowsOption, UnknownOption, counting_of, labels_of, names_of, specs_of
from streameval.cli.outputs import check_outputs, identity, write_output
from streameval.cli.progress import watched
from streameval.cli.reading import Source, UserError, sources_of
from streameval.cli.render import Format, json_bytes, show, show_tables, write_rows
from streameval.cli.results import Result, difference_tables, load_state, merged, write_results
from streameval.errors import DataWarning
from streameval.evaluation.evaluator import Evaluator
from streameval.kernel import BACKEND
from streameval.metrics.catalogue import MetricInfo, catalogue
from streameval.metrics.thresholds import FScore
from streameval.report.model import Table, listed
from streameval.tabular.blocks import Counting

app = typer.Typer(
    name="streameval", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, folders, patterns; - is stdin.")]
States = Annotated[list[Path], typer.Argument(metavar="STATE...", help="Files that --save wrote.")]
Actual = Annotated[list[str], typer.Option("--actual", "-a", metavar="COLUMN", help="The true labels; or 'true_*'.")]
Predicted = Annotated[
    list[str] | None, typer.Option("--predicted", "-p", metavar="COLUMN", help="The predicted labels.")
]
Scores = Annotated[list[str] | None, typer.Option("--scores", "-s", metavar="COLUMN", help="A score for each label.")]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="How much each row counts.")]
Mask = Annotated[list[str] | None, typer.Option("--mask", metavar="COLUMN", help="Masked labels: truth unknown.")]
By = Annotated[list[str] | None, typer.Option("--by", metavar="COLUMN", help="Slice by these columns.")]
Metrics = Annotated[list[str] | None, typer.Option("--metrics", "-m", metavar="NAMES", help="f1_micro,ndcg(k=5),...")]
Beta = Annotated[float | None, typer.Option("--beta", metavar="NUMBER", help="For fbeta: the weight of recall.")]
Threshold = Annotated[
    str | None,
    typer.Option("--threshold", "-t", metavar="NUMBER", help="Predict labels that reach it; or .json."),
]
ZeroDivision = Annotated[float | None, typer.Option("--zero-division", metavar="NUMBER", help="0/0 is 0, 1 or nan.")]
LabelLimit = Annotated[int | None, typer.Option("--label-limit", metavar="N", min=1, help="At most N labels.")]
LastRows = Annotated[
    int | None, typer.Option("--window", "-w", metavar="N", min=1, max=2**31 - 1, help="Also the last N rows.")
]
How = Annotated[Format, typer.Option("--format", "-f", help="How results are written.")]
Raw = Annotated[bool, typer.Option("--raw", help="In CSV, leave labels as they are.")]
Top = Annotated[int, typer.Option("--top", metavar="N", min=0, help="How many labels to show.")]
Save = Annotated[Path | None, typer.Option("--save", metavar="STATE", help="Save the state, to merge or show it.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Write the page of the report.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that streameval did not write.")]
Sep = Annotated[str | None, typer.Option("--sep", metavar="TEXT", help="What is between labels in a cell; in CSV |.")]
Rows = Annotated[RowsOption | None, typer.Option("--rows", help="What lists such as [1, 0, 1] are.")]
Labels = Annotated[
    list[str] | None, typer.Option("--labels", metavar="LABEL", help="Declare a label, or a JSON list of them.")
]
UnknownLabels = Annotated[UnknownOption | None, typer.Option("--unknown", help="What is done with other labels.")]
Nulls = Annotated[NullOption | None, typer.Option("--null", help="What a null list is: an error, or empty.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip rows that cannot be read.")]
Example = Annotated[str | None, typer.Option("--example", metavar="COLUMN", help="A row is one label of this example.")]
LabelColumn = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="With --example: which label.")]
Truth = Annotated[str | None, typer.Option("--truth", metavar="FILE", help="Another file, with the true labels.")]
Join = Annotated[str | None, typer.Option("--join", metavar="COLUMN", help="With --truth: the keys of both files.")]
Strict = Annotated[bool, typer.Option("--strict", help="Make warnings errors, with status 2.")]


def _version(requested: bool) -> None:
    if requested:
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
    label_limit: LabelLimit = None,
    window: LastRows = None,
    how: How = Format.table,
    raw: Raw = False,
    top: Top = 20,
    save: Save = None,
    report: Report = None,
    force: Force = False,
    sep: Sep = None,
    skip_bad: SkipBad = False,
    rows: Rows = None,
    labels: Labels = None,
    unknown: UnknownLabels = None,
    null: Nulls = None,
    example: Example = None,
    label: LabelColumn = None,
    truth: Truth = None,
    join: Join = None,
    strict: Strict = False,
) -> int:
    """Evaluate the rows of files, or of a stream, however large."""
    sources = sources_of(files)
    inputs = [file for source in sources for file in source.files] + [*filter(None, [threshold, truth])]
    check_outputs({"--save": save, "--report": report}, inputs, force)
    columns: dict[str, Any] = {
        "actual": actual,
        "predicted": predicted,
        "scores": scores,
        "weight": weight,
        "mask": mask,
    }
    read: dict[str, Any] = {**columns, "by": names_of(by), "sep": sep, "rows": rows, "unknown": unknown, "null": null}
    read |= {"labels": labels_of(labels), "label_limit": label_limit, "example": example, "label": label}
    counting = counting_of(read, names_of(metrics), beta, threshold, zero_division, skip_bad, window, truth, join)
    if len(sources) > 1 and (example or truth):
        raise UserError("rows that belong together must be in one source; give one file, folder or pattern")
    state = counting.state

    def result() -> Result:
        return Result.of(state, (), counting.window, zero_division=zero_division)

    stopped = _count(sources, counting, result, strict)
    extra: dict[str, object] = {"skipped": counting.skipped} if skip_bad else {}
    try:
        write_results(state, result(), save, report)
    finally:  # what was counted is not lost with a disk that has become full
        show(result(), how, top=top, raw=raw, extra=extra | ({"interrupted": True} if stopped else {}))
    if stopped:
        sys.stderr.write("interrupted: this is what was counted until then\n")
    return 130 if stopped else 0


def _count(sources: list[Source], counting: Counting, result: Callable[[], Result], strict: bool) -> bool:
    """Count all rows of some files, and say which were skipped; whether Ctrl-C ended it before."""
    if strict:
        warnings.simplefilter("error", DataWarning)
    with watched(sources, result) as advance:
        stopped = count(sources, counting, advance)
    if counting.skip:
        total = f"{counting.skipped:,} bad row{'s' * (counting.skipped != 1)} skipped"
        sys.stderr.writelines(f"{line}\n" for line in (*(f"skipped {reason}" for reason in counting.reasons), total))
    counting.state._look()
    return stopped


@app.command()
def merge(
    states: States,
    save: Save = None,
    report: Report = None,
    force: Force = False,
    how: How = Format.table,
    raw: Raw = False,
    top: Top = 20,
) -> None:
    """Merge saved states, in any order, into the state of all their rows."""
    read = [path for path in states if save is None or identity(path) != identity(save)]
    check_outputs({"--save": save, "--report": report}, read, force)
    total = merged(states)
    total._look()
    result = Result.of(total)
    write_results(total, result, save, report)
    if len(read) < len(states):
        sys.stderr.write(f"{save} was one of the merged states, and now holds their sum\n")
    show(result, how, top=top, raw=raw)


@app.command(name="show")
def show_state(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="A file that --save wrote.")],
    metrics: Metrics = None,
    beta: Beta = None,
    zero_division: ZeroDivision = None,
    report: Report = None,
    force: Force = False,
    how: How = Format.table,
    raw: Raw = False,
    top: Top = 20,
) -> None:
    """Show a saved state: its metrics, or any that can be read from it."""
    check_outputs({"--report": report}, [state], force)
    loaded = load_state(state)
    loaded._look()
    saved, names = Result.of(loaded), names_of(metrics)
    specs = specs_of(names or tuple(spec.key for spec in saved.specs), beta, zero_division)
    for spec in specs if names else ():
        if not isinstance(saved.counts, Evaluator):
            raise UserError(f"{state} holds a single metric, {saved.specs[0].key}; leave --metrics out")
        saved.counts.get(spec)  # raises for what cannot be read
    result = Result.of(loaded, specs, zero_division=zero_division)
    write_results(loaded, result, None, report)
    show(result, how, top=top, raw=raw)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="STATE_A", help="A saved state.")],
    second: Annotated[Path, typer.Argument(metavar="STATE_B", help="Another, such as that of a newer model.")],
    metrics: Metrics = None,
    how: How = Format.table,
    raw: Raw = False,
    top: Top = 10,
) -> None:
    """Compare two saved states: which metrics changed, and which labels most."""
    results = [Result.of(load_state(path)) for path in (first, second)]
    names = names_of(metrics)
    specs = specs_of(names, None, None) if names else [spec for spec in results[0].specs if spec in results[1].specs]
    if not specs:
        raise UserError("these states were saved with different metrics; name some with --metrics")
    old, new = (Result(each.counts, tuple(specs)) for each in results)
    taken, choices = ("metric", "kind", "label"), ((first.stem, second.stem), (str(first), str(second)))
    heads = next((heads for heads in choices if len({*taken, *heads}) == len(taken) + 2), ("first", "second"))
    pairs = list(zip(old.report.values(), new.report.values(), strict=True))
    if how is Format.csv:
        values = [(one.spec.key, one.by_label, other.by_label) for one, other in pairs]
        rows = [(key, label, a.get(label), b.get(label)) for key, a, b in values for label in a | b]
        write_rows(("metric", "label", *heads), rows, how, raw=raw)
    elif not write_rows(("metric", *heads), ((one.spec.key, one.plain, other.plain) for one, other in pairs), how):
        headline = f"{old.report.headline}; {new.report.headline}"
        show_tables(difference_tables(old, new, heads, top=top), headline, how)


@app.command(name="metrics")
def list_metrics(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD...]", help="Only those that mention all.")] = None,
    how: How = Format.table,
) -> None:
    """List the metrics of the catalogue, or those that mention some words."""
    entries = [entry for entry in catalogue() if all(word.lower() in _text(entry) for word in words or ())]
    if not entries:
        raise UserError(f"no metric mentions {' '.join(words or ())!r}; streameval metrics lists all")
    values = ((e.name, ",".join(_averages(e)), e.state, e.summary, e.formula, e.source) for e in entries)
    if write_rows(("name", "averages", "from", "summary", "formula", "source"), values, how):
        return
    if len(entries) == 1:
        columns = listed(("", entries[0].name), ("label", "text"), _details(entries[0]))
    else:
        rows = ((each.name, each.state, each.summary) for each in entries)
        columns = listed(("metric", "from", ""), ("label", "text", "text"), rows)
    show_tables([Table("metrics", "", columns)], "", how)


def _text(entry: MetricInfo) -> str:
    return " ".join([entry.name, *entry.aliases, entry.summary, entry.state, entry.class_name, entry.source]).lower()


def _averages(entry: MetricInfo) -> list[str]:
    return [str(average or "per_label") for average in entry.averages]


def _details(entry: MetricInfo) -> Iterator[tuple[str, str]]:
    details = {
        "says": entry.summary, "formula": entry.formula, "averages": ", ".join(_averages(entry)),
        "parameters": "; ".join(f"{each.name}={each.default} in {each.range}" for each in entry.parameters),
        "other names": ", ".join(entry.aliases), "range": f"{entry.low:g} to {entry.high:g}",
        "read from": entry.state, "source": entry.source,
    }  # fmt: skip
    return ((name, value) for name, value in details.items() if value)


@app.command()
def thresholds(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="A saved state of scores, or files of rows.")],
    actual: Annotated[list[str] | None, typer.Option("--actual", "-a", metavar="COLUMN", help="True labels.")] = None,
    scores: Scores = None,
    weight: Weight = None,
    mask: Mask = None,
    beta: Annotated[float, typer.Option("--beta", metavar="NUMBER", help="Maximise F-beta with this beta.")] = 1.0,
    how: How = Format.table,
    raw: Raw = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE.json", help="Write them, for evaluate --threshold.")
    ] = None,
    force: Force = False,
    sep: Sep = None,
    skip_bad: SkipBad = False,
    rows: Rows = None,
    labels: Labels = None,
    unknown: UnknownLabels = None,
    null: Nulls = None,
    strict: Strict = False,
) -> int:
    """Find the best threshold of each label, from scores."""
    if not beta > 0 or beta == float("inf"):
        raise UserError(f"--beta must be above 0 and finite, not {beta:g}")
    sources = sources_of(files) if actual else []
    check_outputs({"--save": save}, [file for source in sources for file in source.files] or files, force)
    stopped = False
    if not actual and not scores:
        if len(files) > 1:
            raise UserError("give one saved state, or files of rows with --actual and --scores")
        state: Any = Result.of(load_state(Path(files[0]))).counts
    elif not actual or not scores:
        raise UserError("files of rows need both --actual and --scores")
    else:
        read: dict[str, Any] = {
            "actual": actual,
            "scores": scores,
            "weight": weight,
            "mask": mask,
            "labels": labels_of(labels),
        }
        read |= {"sep": sep, "rows": rows, "unknown": unknown, "null": null}
        counting = counting_of(read, ("roc_auc_micro",), skip_bad=skip_bad)
        state = counting.state
        stopped = _count(sources, counting, lambda: Result.of(state), strict)
    best = state.best_thresholds(FScore(beta))
    if save is not None:
        records = [{"label": label, "threshold": choice.threshold} for label, choice in best.items()]
        write_output(save, json_bytes({"streameval": "thresholds", "thresholds": records}))
    name = "f1" if beta == 1 else f"fbeta(beta={beta:g})"
    choices = [(label, choice.threshold, choice.value, choice.bound) for label, choice in best.items()]
    if not write_rows(("label", "threshold", name, "bound"), choices, how, raw=raw):
        table_rows = [
            (label, threshold, value, "" if best[label].exact else f"at most {bound:.4f}")
            for label, threshold, value, bound in choices
        ]
        columns = listed(("label", "threshold", name, ""), ("label", "fraction", "bar", "text"), table_rows)
        show_tables([Table("thresholds", "", columns)], Result.of(state).report.headline, how)
    return 130 if stopped else 0


@app.command()
def demo(
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="How many.")] = 3000,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE.jsonl", help="Write the rows, to try on.")
    ] = None,
    report: Report = None,
    force: Force = False,
) -> None:
    """Evaluate a made-up stream of tagged posts, in slices, with its last rows."""
    demonstrate(rows, write, report, force)
