"""Every kind of file, in Python and in the shell: it is read as intended, or refused with the option to add."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.cli import main
from tests.support.files import FILES, LABELS, PRED, TRUE, File, names

ARGUMENTS = {"-a": "actual", "-p": "predicted", "-s": "scores"}


def keywords(file: File) -> dict[str, Any]:
    """The arguments of `evaluate_table` that correspond to the options of the command."""
    words = shlex.split(file.command)[3:]
    options = {ARGUMENTS.get(name, name.removeprefix("--")): value for name, value in zip(words[::2], words[1::2])}  # noqa: B905
    options |= {"labels": json.loads(options["labels"])} if "labels" in options else {}
    return options | ({"threshold": float(options["threshold"])} if "threshold" in options else {})


def meant(file: File) -> se.Evaluator:
    options = keywords(file)
    ev = se.Evaluator(labels=options.get("labels"), threshold=options.get("threshold"))
    true = [{name: bool(cell) for name, cell in zip(LABELS, row, strict=True)} for row in TRUE]
    true = [*true[:3], {}] if file.empty else true
    ev.update_many([{name for name in row if row[name]} for row in true], [names(row) for row in PRED])
    return ev


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.name} {file.options}")
def test_every_kind_of_file_is_read_as_intended_or_refused(
    file: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    file.write(Path(file.path))
    status = main([*shlex.split(file.command)[1:], "--metrics", "f1_macro", "--save", "state", "--allow-empty"])
    reported = capsys.readouterr().err
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if file.refused:
            with pytest.raises(se.InputError):
                se.evaluate_table(file.path, **keywords(file))
            assert (status, bool(re.search(file.refused, reported))) == (2, True), reported
            return
        made = se.evaluate_table(file.path, **keywords(file), metrics=["f1_macro"])
    assert (status, [str(each.message) for each in caught] == []) == (0, not file.warned)
    assert file.warned in reported
    assert (reported == "") == (not file.warned), reported
    assert se.load("state") == made
    if not file.warned:
        assert (made.total() if isinstance(made, se.Sliced) else made).get("f1_macro") == meant(file).get("f1_macro")
