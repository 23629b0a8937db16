"""Bytes of earlier versions are read exactly, and written again without a change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from tests.golden import write
from tests.support.each import with_each
from tests.wire.test_decisions import sealed

FILES = sorted(write.FOLDER.glob("*.bin"))
VALUES = json.loads(write.VALUES.read_text(encoding="utf-8"))


def test_there_is_a_file_of_every_kind():
    assert [path.name for path in FILES] == sorted(VALUES)
    assert {path.name.split(".")[0] for path in FILES} == set(write.MAKE)


@with_each("path", FILES)
def test_golden_bytes_are_read_and_written_again_as_they_were(path: Path):
    data = path.read_bytes()
    result: Any = se.load(path)
    assert result.to_bytes() == data
    assert type(result).from_bytes(data) == result
    assert json.loads(json.dumps(write.readings(result))) == VALUES[path.name]


@with_each("path", [path for path in FILES if ".v2." in path.name])
def test_this_version_writes_the_same_bytes_for_the_same_examples(path: Path):
    assert write.MAKE[path.name.split(".")[0]]().to_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bytes_of_a_newer_version_are_refused_with_the_version_and_advice(path: Path, tmp_path: Path):
    body = bytearray(path.read_bytes()[:-4])
    body[6] += 1
    newer = tmp_path / "newer"
    newer.write_bytes(sealed(body))
    with pytest.raises(
        se.FormatError, match=rf"{re.escape(str(newer))}: format version 3 is not supported.*upgrade streameval"
    ):
        se.load(newer)
    with pytest.raises(se.FormatError, match="format version 3"):
        type(se.load(path)).from_bytes(sealed(body))


def test_golden_files_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(write, "FOLDER", tmp_path)
    monkeypatch.setattr(write, "VALUES", tmp_path / "values.json")
    (tmp_path / "metric.v2.bin").write_bytes(b"old")
    write.main()
    assert (tmp_path / "metric.v2.bin").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == len(write.MAKE) + 1
    assert set(json.loads((tmp_path / "values.json").read_text())) == {f"{name}.v2.bin" for name in write.MAKE} - {
        "metric.v2.bin"
    }
