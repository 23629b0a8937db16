"""The commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from streameval.cli.arguments import Group, command
from streameval.cli.demo import demonstrate, write_sample
from streameval.cli.options import counting_of, names_of, renamed, seconds_of, specs_of, threshold_of
from streameval.cli.outputs import CATALOGUE, THRESHOLDS, Format, check_outputs, identity, write_output, written_to
from streameval.cli.progress import Advance, lines, live, watched
from streameval.cli.reading import Source, UserError, count, growing, sources_of
from streameval.cli.render import Document, json_of, show, show_tables, write_line, write_rows
from streameval.cli.results import Output, Result, comparison, interrupted, load_state, load_states, merged
from streameval.cli.settings import is_terminal, note, say
from streameval.errors import naming
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.guarding import look_at
from streameval.evaluation.pages import to_html
from streameval.kernel import BACKEND
from streameval.metrics.catalogue import MetricInfo, catalogue, entry_of, parse_spec
from streameval.metrics.thresholds import FScore
from streameval.report.model import Table, listed
from streameval.schema.text import VERSION, number_of
from streameval.tabular.evaluate import Counting
from streameval.tabular.sources import check_distinct, matches_of

app = typer.Typer(
    name="streameval", cls=Group, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    streameval demo --write demo
    streameval evaluate demo/photos.jsonl -a true -p predicted --save old.state
    streameval evaluate demo/photos.jsonl -a true -s scores -t .4 --save new.state
    streameval compare old.state new.state
    """,
)  # fmt: skip


def _version(requested: bool) -> None:
    if requested:
        sys.stdout.write(f"streameval {VERSION} ({BACKEND} kernel)\n")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Version and kernel.")
]


@app.callback()
def _main(version: _Version = False) -> None:  # _version() handles the option
    """Exact multi-label evaluation of files and streams."""


@command(app, "rows", "whole files", "metrics", "evaluating", "values", "printing", "labels", "results", "evaluate")
def evaluate(files: list[str], **options: Any) -> int:
    """Compute metrics from the rows of files or of a stream of any size.

    streameval evaluate demo/photos.jsonl --actual true --predicted predicted
    streameval evaluate demo/photos.csv -a 'true_*' -s 'score_*' --threshold 0.5
    streameval evaluate 'part-*.parquet' -a true -p predicted --report today.html
    cat demo/photos.jsonl | streameval evaluate - -a true -p predicted --by region
    """
    sources = sources_of(files)
    output = Output(options, _read(sources, options))
    counting = counting_of(options, sources, checks=output.checks)
    if options["limit"] and (unfit := next((name for name in ("truth", "example") if options.get(name)), "")):
        raise UserError(f"--limit is for rows that are read one by one; leave --{unfit} out")
    result = partial(Result.of, counting.state, counting.window, zero_division=options["zero_division"])
    stopped = _count(sources, counting, watched(sources, result), options)
    names, size = names_of(options["metrics"]), options["window"]
    notes = renamed(names)
    if size is not None and counting.state.examples <= size:
        notes.append(f"--window {size} is left out: there are no more than {number_of(counting.state.examples, 'row')}")
    columns = {"actual", "predicted", "scores", "weight", "mask", "limit"}
    source = {"files": files, **{name: value for name, value in options.items() if name in columns and value}}
    source |= {"skipped": counting.skipped} if counting.skip is not None else {}
    source |= {"interrupted": True} if stopped else {}
    return output.write(result().document(source, names, notes), result(), stopped=stopped)


@command(app, "rows", "metrics", "evaluating", "values")
def watch(
    file: str, every: str = "1s", top: int = 20, save: Path | None = None, force: bool = False, **options: Any
) -> None:
    """Follow a growing file until Ctrl-C: a live table in a terminal, lines of JSON in a pipe.

    streameval watch demo/photos.jsonl --actual true --predicted predicted
    streameval watch demo/photos.jsonl -a true -p predicted --every 10s
    streameval watch demo/photos.jsonl -a true -p predicted --save now.state
    streameval watch demo/photos.csv -a 'true_*' -s 'score_*' --threshold 0.5
    """
    pause = seconds_of(every)
    options |= dict.fromkeys(("truth", "join", "example", "label")) | {"allow_empty": True}
    check_outputs({"--save": save}, [file, *filter(None, [options["threshold"]])], force)
    source = growing(file)
    with source.growing:
        counting, names = counting_of(options, [source]), names_of(options["metrics"])
        result = partial(Result.of, counting.state, counting.window, zero_division=options["zero_division"])

        def document() -> Document:
            return result().document({"file": file}, names)

        is_live = is_terminal(sys.stdout) and is_terminal(sys.stderr)
        seen = live(result, pause=pause) if is_live else lines(lambda: write_line(document()), pause)
        stopped = _count([source], counting, seen, options)
    if save is not None:
        write_output(save, counting.state.to_bytes())
    if is_live:
        show(document(), Format.table, top=top)
    if not stopped:
        raise UserError(source.growing.raw.end)


def _read(sources: list[Source], options: Mapping[str, Any]) -> list[str | Path]:
    """The files that a command reads, including those of options."""
    more = [options[name] for name in ("threshold", "truth") if options.get(name)]
    return [*(file for source in sources for file in source.files), *more]


def _count(
    sources: list[Source], counting: Counting, seen: AbstractContextManager[Advance], options: Mapping[str, Any]
) -> bool:
    """Count all rows of files, and report skipped ones; returns whether Ctrl-C ended the counting."""
    check_distinct(file for source in sources for file in source.files)
    with seen as advance:
        stopped = count(sources, counting, advance, allow_empty=options["allow_empty"], limit=options.get("limit"))
    if counting.skip is not None and not stopped:
        counting.skip(counting, counting.rows, is_all=True)
    if not (counting.rows - counting.skipped or stopped or options["allow_empty"]):
        names = ", ".join(source.path for source in sources)
        why = f"all {counting.rows:,} were skipped" if counting.rows else f"{names} has none"
        raise UserError(f"no rows were read: {why}; --allow-empty accepts that")
    if counting.skip is not None:
        note("\n".join([f"skipped {counting.skipped:,} of {counting.rows:,} rows", *counting.reasons]))
    if options["explain"]:
        columns, sides = counting.job.columns, counting.state.input_summary
        titles = f"actual {columns.actual!r}", f"predicted {columns.scores or columns.predicted!r}"
        described = repr(type(sides)(zip(map(columns.describe, titles), sides.values(), strict=False)))
        say(described.replace(", from the examples", " in the first rows"))
    look_at(counting.state)
    return stopped


@command(app, "values", "printing", "labels", "results")
def merge(states: list[Path], save: Path | None = None, **options: Any) -> int:
    """Merge saved states, in any order, into the state of all their rows.

    streameval merge monday.state tuesday.state
    streameval merge monday.state tuesday.state --save both.state
    streameval merge monday.state tuesday.state --report both.html
    streameval merge *day.state --format json
    """
    states = matches_of(*states)
    read = [path for path in states if save is None or identity(path) != identity(save)]
    output = Output({**options, "save": save}, read)
    result = Result.of(look_at(merged(states, None if options["force"] else save))).with_checks(output.checks)
    notes = [f"{save} was one of the merged states, and now holds their sum"] if len(read) < len(states) else []
    return output.write(result.document({"files": [*map(str, states)]}, notes=notes), result)


@command(app, "metrics", "values", "printing", "labels", "results", name="show")
def show_state(state: Path, shown_by: list[str] | None = None, **options: Any) -> int:
    """Print metrics from a saved state, including metrics not named when it was saved.

    streameval show today.state
    streameval show today.state --metrics recall_macro,f1_per_label --format json
    streameval show today.state --metrics fbeta_micro --beta 2
    streameval show today.state --report today.html
    """
    threshold, zero_division = options["threshold"], options["zero_division"]
    output = Output(options, [state, *filter(None, [threshold])])
    saved, names = Result.of(load_state(state), thresholds=threshold_of(threshold)), names_of(options["metrics"])
    if names and not isinstance(saved.counts, Evaluator):
        raise UserError(f"{state} holds a single metric, {saved.specs[0].key}; leave --metrics out")
    by = names_of(shown_by)
    columns = saved.sliced.by if saved.sliced else ()
    if wrong := next((name for name in by if name not in columns), ""):
        some = f"has slices by {', '.join(columns)}; there are none by {wrong!r}"
        raise UserError(f"{state} {some if columns else 'has no slices; evaluate makes them with --by'}")
    own = tuple(spec.key for spec in (saved.specs if threshold is None else saved.judged_specs))
    specs = specs_of(names or own, options["beta"], zero_division)
    saved.report.values(specs if names else (), strict=True)  # raises for metrics that cannot be read
    result = replace(saved, specs=tuple(specs), zero_division=zero_division, by=by).with_checks(output.checks)
    return output.write(result.document({"files": [str(state)]}, names, renamed(names)), result)


@command(app)
def report(
    states: list[Path], page: Path, title: str | None = None, meta: list[str] | None = None, force: bool = False
) -> None:
    """Write a page about a saved state, or a page that compares several states with the first.

    streameval report today.state --output today.html
    streameval report old.state new.state --output change.html
    streameval report today.state -o today.html --title 'Photos' --meta model=v7
    streameval report monday.state tuesday.state -o days.html --meta data=May
    """
    states = matches_of(*states)
    check_outputs({"--output of a page": page}, states, force)
    if wrong := [fact for fact in meta or () if "=" not in fact]:
        raise UserError(f"--meta {wrong[0]!r} must be NAME=VALUE, such as 'model=v7'")
    names = [path.stem for path in states]
    names = names if len({*names}) == len(names) else [*map(str, states)]
    runs = {name: state for name, (_, state) in zip(names, load_states(states), strict=True)}
    facts = dict(fact.split("=", 1) for fact in meta or ())
    write_output(page, to_html(runs if len(runs) > 1 else runs[names[0]], title=title, meta=facts).encode())


@command(app, "values", "printing", "labels")
def compare(
    first: Path, second: Path, metrics: list[str] | None = None, changes: list[str] | None = None, **options: Any
) -> int:
    """Compare two saved states: the change of each metric, and the labels that changed most.

    streameval compare old.state new.state
    streameval compare old.state new.state --metrics f1_micro,f1_macro
    streameval compare old.state new.state --top 50
    streameval compare old.state new.state --format csv
    """
    paths = first, second
    output = Output({**options, "fail_if": changes}, paths, change=True)
    results = [Result.of(load_state(path)) for path in paths]
    names = names_of(metrics)
    specs = specs_of(names, None, None) if names else [spec for spec in results[0].specs if spec in results[1].specs]
    if not specs and not output.checks:
        raise UserError("these states were saved with different metrics; name some with --metrics")
    checked = [*(specs if names else ()), *(spec for check in output.checks for spec in check.specs)]
    for path, each in zip(paths, results, strict=True):
        with naming(path):
            each.report.values(checked, strict=True)
    old, new = (replace(each, specs=tuple(specs)).with_checks(output.checks) for each in results)
    return output.write(comparison(old, new, paths, renamed(names)))


@command(app, "printing", name="metrics")
def list_metrics(words: list[str] | None = None, **options: Any) -> None:
    """List all metrics, or only those that mention certain words.

    streameval metrics
    streameval metrics ranking loss
    streameval metrics f1_micro
    streameval metrics ndcg@3
    """
    how = Output(options).format
    entries = [entry for entry in catalogue() if all(word.lower() in _text(entry) for word in words or ())]
    if not entries and len(words or ()) > 1:
        raise UserError(f"no metric mentions {' '.join(words or ())!r}; streameval metrics lists all")
    entries = entries or [entry_of(parse_spec(name).name) for name in words or ()]
    values = ((e.name, ",".join(_averages(e)), e.state, e.summary, e.formula, e.source) for e in entries)
    with written_to(options["output"]):
        if write_rows("metrics", CATALOGUE, values, how):
            return
        if len(entries) == 1:
            columns = listed(("", entries[0].name), ("label", "text"), _details(entries[0]))
        else:
            rows = ((each.name, each.state, each.summary) for each in entries)
            columns = listed(("metric", "from", ""), ("label", "text", "text"), rows)
        show_tables([Table("metrics", "", columns)], "")


def _text(entry: MetricInfo) -> str:
    words = (entry.name, *entry.aliases, entry.summary, entry.state, entry.class_name, entry.source, *_averages(entry))
    return " ".join(words).lower()


def _averages(entry: MetricInfo) -> list[str]:
    return [str(average or "per_label") for average in entry.averages]


def _details(entry: MetricInfo) -> Iterator[tuple[str, str]]:
    parameters = (f"{each.name} in {each.range}, default {str(each.default).lower()}" for each in entry.parameters)
    details = {
        "meaning": entry.summary, "formula": entry.formula, "averages": ", ".join(_averages(entry)),
        "parameters": "; ".join(parameters),
        "other names": ", ".join(entry.aliases), "range": f"{entry.low:g} to {entry.high:g}; {entry.direction}",
        "read from": entry.state, "source": entry.source,
    }  # fmt: skip
    return ((name, value) for name, value in details.items() if value)


@command(app, "rows", "whole files", "values", "printing")
def thresholds(
    files_or_state: list[str],
    beta_to_maximise: float = 1.0,
    raw: bool = False,
    thresholds_file: Path | None = None,
    **options: Any,
) -> int:
    """Find the threshold for each label that maximises its F1.

    streameval thresholds demo/photos.jsonl --actual true --scores scores
    streameval thresholds demo/photos.jsonl -a true -s scores --save best.json
    streameval thresholds demo/photos.csv -a 'true_*' -s 'score_*' --beta 2
    streameval thresholds scored.state --format csv
    """
    if not (beta := beta_to_maximise) > 0 or beta == float("inf"):
        raise UserError(f"--beta must be above 0 and finite, not {beta:g}")
    of_rows = options["actual"] or options["scores"]
    sources = sources_of(files_or_state) if of_rows else []
    how = Output({**options, "save": thresholds_file}, [*files_or_state, *_read(sources, options)]).format
    if thresholds_file is not None and thresholds_file.suffix != ".json" and thresholds_file.parts[1:2] != ("dev",):
        raise UserError(f"--save {thresholds_file} must end in .json, so that --threshold reads it")
    stopped = False
    if of_rows:
        counting = counting_of(options, sources, ("roc_auc_micro",))
        state: Any = counting.state
        stopped = _count(sources, counting, watched(sources, partial(Result.of, state)), options)
    elif len(files_or_state) > 1:
        raise UserError("give one saved state, or files of rows with --actual and --scores")
    else:
        try:
            state = Result.of(load_state(Path(files_or_state[0]))).counts
        except UserError as error:
            raise UserError(f"{error}; for rows name their columns with --actual and --scores") from None
    best = state.best_thresholds(FScore(beta))
    if not (of_rows or state.examples or options["allow_empty"]):
        raise UserError(f"{files_or_state[0]} holds no examples; --allow-empty accepts that")
    name = "f1" if beta == 1 else f"fbeta(beta={beta:g})"
    choices = [(label, choice.threshold, choice.value, choice.bound) for label, choice in best.items()]
    if thresholds_file is not None:
        records = [dict(zip(THRESHOLDS, choice, strict=True)) for choice in choices]
        write_output(thresholds_file, json_of({"metric": name, "thresholds": records}).encode())
    with written_to(options["output"]):
        if not write_rows("thresholds", THRESHOLDS, choices, how, raw=raw, metric=name):
            rows = [(*row[:3], "" if best[row[0]].exact else f"at most {row[3]:.4f}") for row in choices]
            columns = listed(("label", "threshold", name, ""), ("label", "fraction", "bar", "text"), rows)
            show_tables([Table("thresholds", "", columns)] if state.examples else [], Result.of(state).headline)
    return interrupted() if stopped else 0


@command(app, "values", "printing")
def demo(write: Path | None = None, report: Path | None = None, **options: Any) -> None:
    """Evaluate a synthetic stream of tagged posts, by region and over the last rows.

    streameval demo
    streameval demo --format json
    streameval demo --write demo
    streameval demo --report demo.html
    """
    if write is not None:
        return write_sample(write, options["force"])
    return demonstrate({**options, "report": report})
