"""The page of the format describes every byte: a reader written from this page reads all files of the package."""

from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.evaluation import encoding
from streameval.evaluation.core import core_of
from streameval.evaluation.kinds import KINDS
from streameval.progressive.predictions import from_compact
from streameval.schema.config import Config
from streameval.wire.envelope import HOLDERS
from streameval.wire.fields import Option, Sink, Source
from tests.golden import write
from tests.support import reader
from tests.support.each import with_each
from tests.support.kinds import TRIALS, integers
from tests.wire.test_decisions import sealed, varint

FILES = sorted(write.FOLDER.glob("*.bin"))
PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")


def agree(states: dict[str, Any], holder: Any) -> None:
    """Check that the states that the reader read are equal to those of an evaluator or a metric."""
    contents = core_of(holder).states.content()
    assert list(states) == list(contents)
    for name, content in contents.items():
        assert states[name]["labels"] == list(content.labels)
        assert states[name].get("scale") == content.scale
        COMPARED[name](states[name], content)


def compare_decisions(state: dict[str, Any], content: Any) -> None:
    assert state["examples"] == content.examples
    assert integers(state["cells"]) == integers(content.cells.T)
    assert state["keys"] == integers(content.keys.T)
    assert state["times"] == integers(content.times)
    if content.scale is not None:
        assert state["weights"] == list(content.weights())


COMPARED = {"decisions": compare_decisions, **{name: trial.compare for name, trial in TRIALS.items()}}


def test_every_kind_of_state_has_a_golden_file():
    bits = 0
    for path in FILES:
        bits |= reader.read(path.read_bytes()).get("bits", 0)
    assert bits == 1 | sum(1 << kind.bit for kind in KINDS.values())
    assert {reader.read(path.read_bytes())["holder"] for path in FILES} == set(HOLDERS)


@with_each("path", FILES)
def test_the_reader_reads_every_golden_file_with_the_counts_of_the_package(path: Path):
    read, target = reader.read(path.read_bytes()), se.load(path)
    compare(read, target)


def compare(read: dict[str, Any], target: Any) -> None:
    if isinstance(target, se.Checkpoint):
        assert read["position"] == target.position
        compare(read["state"], target.evaluator)
    elif isinstance(target, se.Pending):
        assert read["parameters"] == [*target._parameters().values()]
        assert read["now"] == target._cell.value[0]
        assert read["counts"] == [target.without_prediction, *target.evicted.values()]
        assert [key for key, _, _ in read["waiting"]] == target.keys()
        for (_, t, prediction), (row, since) in zip(read["waiting"], target._waiting.values(), strict=True):
            assert t == since
            said = from_compact(row)
            assert prediction == (said if isinstance(said, set | dict) else list(said))
        compare(read["held"][0][1], target.evaluator)
    elif isinstance(target, se.Trace):
        assert [read["every"], read["metrics"], read["examples"]] == [target.every, target._metrics, target.examples]
        assert [examples for examples, _, _ in read["rows"]] == target.columns()["examples"]
        assert repr([row for _, _, row in read["rows"]]) == repr([row for _, _, row in target._rows])
        for name, state in read["held"]:
            compare(state, target.evaluators[name])
    elif isinstance(target, se.Ledger):
        shards = [(name, (epoch, sequence)) for names, _ in read["sums"] for name, epoch, sequence, _ in names]
        assert sorted(shards, key=str) == sorted(((name, tuple(at)) for name, at in target.shards().items()), key=str)
        assert sum(state["states"]["decisions"]["examples"] for _, state in read["sums"]) == target.examples
        for names, state in read["sums"]:
            if len(names) == 1:
                compare(state, target.state(names[0][0]))
    elif isinstance(target, se.Sliced):
        assert read["names"] == list(target.by)
        for axis, (slices, rest) in zip((*target.by, *target.cross), read["axes"], strict=True):
            states = [*(part for _, part in slices), rest]
            assert sum(part["decisions"]["examples"] for part in states) == target.examples
            for part, state in zip(target.slices(axis), states, strict=False):  # ``slices`` omits an empty rest
                agree(state, part.evaluator)
    elif isinstance(target, se.Rolling | se.TimeRolling):
        assert len(read["lengths"]) == target.examples
        true = sum(outcome in (1, 3) for _, outcome in read["cells"])
        assert true == core_of(target.snapshot()).states.content()["decisions"].cells[:, [1, 3]].sum()
    elif isinstance(target, se.Tumbling | se.Fading):
        total = sum(states["decisions"]["examples"] for _, states in read["blocks"])
        closed = sum(window.evaluator.examples for window in target.closed) if isinstance(target, se.Tumbling) else 0
        assert total == closed + target.examples
        assert len(read["blocks"][0][1]) == read["bits"].bit_count()
    else:
        assert [spec.key for spec in target._core.specs] == read["metrics"]
        agree(read["states"], target)


def test_the_reader_refuses_damaged_bytes():
    data = write.MAKE["everything"]().to_bytes()
    for damaged in (data[:-1], data + b"\0", b"\0" + data, sealed(data[:-4] + b"\0"), sealed(data[:-5])):
        with pytest.raises((AssertionError, IndexError)):
            reader.read(damaged)


def test_the_reader_is_short_and_needs_the_standard_library_only():
    source = Path(reader.__file__).read_text(encoding="utf-8")
    assert sum(not line.isspace() for line in source.splitlines(keepends=True)) <= 200
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert set(names) <= sys.stdlib_module_names


def test_the_page_names_every_kind_and_option():
    for kind in KINDS.values():
        assert f"bit {kind.bit} {kind.name}" in PAGE
        assert f"\n## {kind.name.title()}\n" in PAGE
        for option in kind.code().written:
            assert option.number in range(48 + 16 * kind.bit, 64 + 16 * kind.bit)
            assert f"\n| {option.number} | {kind.name}: " in PAGE
    for number, name in HOLDERS.items():
        assert f"| {name.split()[-1]} | {number} |" in PAGE or f"| single {name.split()[-1]} | {number} |" in PAGE


# -- bytes of a newer version -----------------------------------------------------------------------------------------


def head(bits: int, options: bytes, *metrics: bytes) -> bytes:
    """The bytes of an empty evaluator."""
    names = b"".join(varint(len(name)) + name for name in metrics)
    nothing = se.Evaluator([]).to_bytes()[11:-4]
    return sealed(b"\x89SEV\r\n\x02\x01" + varint(bits) + options + varint(len(metrics)) + names + nothing)


def test_the_helper_writes_what_the_package_writes():
    assert head(1, b"\0") == se.Evaluator([]).to_bytes()
    assert head(1, b"\1\4\1") == se.Evaluator([], nan="missing").to_bytes()


NEWER = {
    "a holder": sealed(b"\x89SEV\r\n\x02\x03" + bytes(40)),
    "a state": head(1 | 1 << 30, b"\0"),
    "an option of the configuration": head(1, b"\1\x3f\0"),
    "an option of a state": head(3, b"\1\x4f\0"),
    "an option of a state that is not there": head(1, b"\1\x40\1"),
    "an option beyond all": head(1, b"\1" + varint(2**40) + b"\0"),
    "a part of pairs": head(9, b"\1\x60\x10"),
}


@pytest.mark.parametrize("what", NEWER)
def test_bytes_of_a_newer_version_are_refused_as_such(what: str):
    with pytest.raises(se.FormatError, match="written by a newer version; upgrade streameval") as caught:
        se.Evaluator.from_bytes(NEWER[what])
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        b"\1\2\0",  # an option with its default value
        b"\1\4\0",
        b"\2\4\1\3\0" + bytes(8),  # options not in order
        b"\2\4\1\4\1",  # an option twice
        b"\1\4\2",  # a choice that does not exist
        b"\1\1\2\2a\2a",  # a label twice
    ],
)
def test_options_in_a_form_that_is_not_written_are_refused(options: bytes):
    with pytest.raises(se.FormatError, match="the bytes are damaged"):
        se.Evaluator.from_bytes(head(1, options))


def test_later_options_change_no_byte_that_is_written_today(monkeypatch: pytest.MonkeyPatch):
    @dataclasses.dataclass(frozen=True)
    class Later(Config):
        later: int = 0

    data = se.Evaluator(["f1_micro"], nan="missing", labels=["a"]).to_bytes()
    monkeypatch.setattr(encoding, "_OPTIONS", (*encoding._OPTIONS, Option(47, "later", Sink.integer, Source.integer)))
    sink = Sink()
    encoding.put_head(sink, Later(("a",), nan="missing"), ("f1_micro",))
    assert b"".join(sink.pieces()) == data[8 : 8 + len(b"".join(sink.pieces()))]
    sink = Sink()
    encoding.put_head(sink, Later(later=7), ())
    assert b"".join(sink.pieces()) == b"\1\1\57\1\7\0"
