"""Saved states, read, merged and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streameval.cli.results import Result
from streameval.cli.rows import UserError
from streameval.delivery.checkpoint import load
from streameval.errors import StreamevalError
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.text import printable, suggestion


def load_state(path: Path) -> Any:
    """What a file holds."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file that --save wrote")
    if not path.exists():
        near = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserError(f"there is no file {path}{suggestion(path.name, near)}")
    try:
        return load(path)
    except StreamevalError as error:
        raise UserError(f"{path} is no saved state: {str(error).removeprefix(f'{path}: ')}") from None


def merged(paths: list[Path]) -> Any:
    """The states of some files as one."""
    total = load_state(paths[0])
    for path in paths[1:]:
        part = load_state(path)
        if type(part) is not type(total):
            raise UserError(
                f"{path} holds a {type(part).__name__}, {paths[0]} a {type(total).__name__}; they do not merge"
            )
        try:
            total.merge(part)
        except StreamevalError as error:
            raise UserError(f"{path}: {error}") from None
    return total


def write_results(state: Any, result: Result, save: Path | None, report: Path | None) -> None:
    """Write the state and the page where asked; each whole or not at all."""
    if report is not None:
        if not isinstance(result.counts, Evaluator):
            raise UserError("the report is of an Evaluator, and this is a single metric")
        parts: dict[str, object] = dict(result.windows)
        for where, counts in result.slices():
            parts[", ".join(f"{key} {printable(value)}" for key, value in where.items())] = counts
        result.counts.save_html(report, slices=parts or None)
    if save is not None:
        state.save(save)
