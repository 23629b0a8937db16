"""Beam itself, run in this process: bundles, windows, panes and late rows give the bytes of one evaluator."""

from __future__ import annotations

import os
import random
import re
import runpy
from collections import defaultdict
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.coders import registry
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream as Stream
from apache_beam.transforms import trigger, window
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.adapters.beam import (
    Evaluate,
    EvaluatePerKey,
    EvaluatorFn,
    Firing,
    Firings,
    Panes,
    StateCoder,
)
from streameval.tabular.job import Job
from tests.support.effort import cases
from tests.support.tagged import rows_of

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

NAMES = {"actual": "actual", "predicted": "predicted"}
JOB = Job.of(**NAMES)


ROWS = rows_of(20_000, t=lambda draw: draw.randrange(1_000))
FEW = ROWS[:400]


def counted(rows):
    made = se.Evaluator()
    made.update_many([row["actual"] for row in rows], [row["predicted"] for row in rows])
    return made.to_bytes()


class Write(beam.DoFn):
    """Writes each element into a file, because a pipeline returns nothing to the test."""

    def __init__(self, folder):
        self.folder = folder

    def process(self, element, at=beam.DoFn.WindowParam):
        key, state = element if isinstance(element, tuple) else (None, element)
        path = Path(self.folder) / str(random.SystemRandom().getrandbits(64))
        start = None if isinstance(at, window.GlobalWindow) else int(at.start)
        path.write_text(repr((key, start, state.to_bytes())), encoding="utf-8")


def result(folder):
    return [eval(path.read_text(encoding="utf-8")) for path in Path(folder).iterdir()]  # noqa: S307  # our own texts


RUNNERS = {
    "threads": (FnApiRunner, []),
    "bundles": (BundleBasedDirectRunner, []),
}


def run(source, transform, folder, runner="threads"):
    kind, options = RUNNERS[runner]
    with beam.Pipeline(runner=kind(), options=PipelineOptions(options)) as pipeline:
        _ = pipeline | source | transform | beam.ParDo(Write(str(folder)))
    return result(folder)


# -- the same bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runner", ["threads", "bundles"])
@pytest.mark.parametrize(
    "transform", [lambda: Evaluate(**NAMES), lambda: beam.CombineGlobally(EvaluatorFn(JOB))], ids=["bundles", "rows"]
)
def test_rows_give_the_bytes_of_one_process(runner, transform, tmp_path):
    rows = ROWS[:4_000] if runner == "threads" else FEW
    assert run(beam.Create(rows), transform(), tmp_path, runner) == [(None, None, counted(rows))]


def test_tables_and_beam_rows_give_the_bytes_of_one_process(tmp_path):
    tables = pa.Table.from_pylist(ROWS[:19_000]).to_batches(max_chunksize=4_000)
    rows = [beam.Row(actual=row["actual"], predicted=row["predicted"]) for row in ROWS[19_000:]]
    assert run(beam.Create([*tables, *rows]), Evaluate(**NAMES), tmp_path) == [(None, None, counted(ROWS))]


def test_slices_have_the_bytes_of_one_process(tmp_path):
    sliced = se.Sliced(se.Evaluator(), by="region")
    lists = [[row[name] for row in FEW] for name in ("actual", "predicted", "region")]
    sliced.update_many(lists[0], lists[1], where={"region": lists[2]})
    assert run(beam.Create(FEW), Evaluate(by="region", **NAMES), tmp_path) == [(None, None, sliced.to_bytes())]


def test_no_rows_give_a_fresh_object(tmp_path):
    assert run(beam.Create([]), Evaluate(**NAMES), tmp_path) == [(None, None, se.Evaluator().to_bytes())]


def keyed(rows):
    keys = [1, b"1", "1", ("1", 2), None]
    return [(keys[place % 5], row) for place, row in enumerate(rows)]


@pytest.mark.parametrize(
    "transform",
    [lambda: EvaluatePerKey(**NAMES), lambda: beam.CombinePerKey(EvaluatorFn(JOB))],
    ids=["bundles", "rows"],
)
def test_each_key_gives_the_bytes_of_its_rows(transform, tmp_path):
    expected = sorted((repr(key), None, counted(FEW[place::5])) for place, (key, _) in enumerate(keyed(FEW)[:5]))
    assert (
        sorted((repr(key), at, state) for key, at, state in run(beam.Create(keyed(FEW)), transform(), tmp_path))
        == expected
    )


@pytest.mark.parametrize(("windows", "starts"), [
    (window.FixedWindows(100), lambda t: [t // 100 * 100]),
    (window.SlidingWindows(200, 100), lambda t: [t // 100 * 100 - 100, t // 100 * 100]),
])  # fmt: skip
@pytest.mark.parametrize("per_key", [False, True])
def test_each_window_gives_the_bytes_of_its_rows(windows, starts, per_key, tmp_path):
    expected = defaultdict(list)
    for row in FEW:
        for start in starts(row["t"]):
            expected[row["region"] if per_key else None, start].append(row)

    class Steps(beam.PTransform):
        def expand(self, rows):
            timed = rows | beam.Map(lambda row: window.TimestampedValue(row, row["t"])) | beam.WindowInto(windows)
            if not per_key:
                return timed | Evaluate(**NAMES)
            return timed | beam.Map(lambda row: (row["region"], row)) | EvaluatePerKey(**NAMES)

    made = run(beam.Create(FEW), Steps(), tmp_path)
    assert len(made) == len(expected)
    assert {(key, at): state for key, at, state in made} == {place: counted(rows) for place, rows in expected.items()}


class WriteTime(beam.DoFn):
    def __init__(self, folder):
        self.folder = folder

    def process(self, state, at=beam.DoFn.WindowParam, time=beam.DoFn.TimestampParam):
        (Path(self.folder) / str(int(at.start))).write_text(str(int(time)), encoding="utf-8")


@pytest.mark.parametrize(("combiner", "chosen"), [
    (window.TimestampCombiner.OUTPUT_AT_EARLIEST, min),
    (window.TimestampCombiner.OUTPUT_AT_LATEST, max),
    (window.TimestampCombiner.OUTPUT_AT_EOW, lambda times: min(times) // 100 * 100 + 99),
])  # fmt: skip
def test_states_have_the_timestamps_that_the_windowing_chooses(combiner, chosen, tmp_path):
    times = defaultdict(list)
    for row in FEW:
        times[row["t"] // 100 * 100].append(row["t"])
    windows = beam.WindowInto(window.FixedWindows(100), timestamp_combiner=combiner)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        timed = pipeline | beam.Create(FEW) | beam.Map(lambda row: window.TimestampedValue(row, row["t"])) | windows
        _ = timed | Evaluate(**NAMES) | beam.ParDo(WriteTime(str(tmp_path)))
    made = {int(path.name): int(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()}
    assert made == {start: chosen(of_window) for start, of_window in times.items()}


# -- panes ------------------------------------------------------------------------------------------------------------

MODES = {"accumulating": trigger.AccumulationMode.ACCUMULATING, "discarding": trigger.AccumulationMode.DISCARDING}


class WriteFirings(beam.DoFn):
    def __init__(self, folder):
        self.folder = folder

    def process(self, firing):
        path = Path(self.folder) / str(random.SystemRandom().getrandbits(64))
        path.write_text(repr(tuple(firing)), encoding="utf-8")


def at(row, t):
    return window.TimestampedValue(row, t)


def stream():
    """Rows with event times, some of which are late; row 399 is too late and is dropped."""
    made = Stream().advance_watermark_to(0)
    made = made.add_elements([at(row, 1 + place % 9) for place, row in enumerate(FEW[:100])])
    made = made.add_elements([at(row, 1 + place % 9) for place, row in enumerate(FEW[100:150])])
    made = made.advance_watermark_to(12).add_elements([at(row, 15) for row in FEW[150:250]])
    made = made.add_elements([at(row, 5) for row in FEW[250:300]])  # late
    made = made.advance_watermark_to(25).add_elements([at(row, 6) for row in FEW[300:399]])  # later
    made = made.advance_watermark_to(60).add_elements([at(FEW[399], 7)])  # dropped
    return made.advance_watermark_to_infinity()


def fired(mode, transform, folder, windows=None, source=stream):
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"])) as pipeline:
        rows = pipeline | source()
        cut = rows | beam.WindowInto(
            windows or window.FixedWindows(10),
            trigger=trigger.AfterWatermark(early=trigger.AfterCount(1), late=trigger.AfterCount(1)),
            accumulation_mode=MODES[mode],
            allowed_lateness=20,
        )
        _ = cut | transform | Firings() | beam.ParDo(WriteFirings(str(folder)))
    made = [Firing(*eval(path.read_text(encoding="utf-8"))) for path in Path(folder).iterdir()]  # noqa: S307
    return sorted(made, key=lambda firing: (firing.start, firing.end, firing.pane))


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(
    "transform",
    [lambda: Evaluate(**NAMES), lambda: beam.CombineGlobally(EvaluatorFn(JOB)).without_defaults()],
    ids=["bundles", "rows"],
)
def test_panes_of_either_mode_add_up_to_the_rows_that_were_not_dropped(mode, transform, tmp_path):
    firings = fired(mode, transform(), tmp_path)
    assert {firing.timing for firing in firings} == {"EARLY", "ON_TIME", "LATE"}
    first, second = FEW[:150] + FEW[250:399], FEW[150:250]
    for order in (firings, firings[::-1], firings + firings):
        panes = Panes(mode)
        for firing in order:
            panes.put(firing)
        assert [(place.start, place.end) for place in sorted(panes.states())] == [(0, 10**7), (10**7, 2 * 10**7)]
        assert {place.start: state.to_bytes() for place, state in panes.states().items()} == {
            0: counted(first),
            10**7: counted(second),
        }
        assert panes.total().to_bytes() == counted(FEW[:399])


def test_panes_read_in_the_wrong_mode_give_a_wrong_total(tmp_path):
    """`Panes` needs the mode, because panes of one mode that are read as those of the other give a wrong total."""
    for mode, other in (("accumulating", "discarding"), ("discarding", "accumulating")):
        (tmp_path / mode).mkdir()
        panes = Panes(other)
        for firing in fired(mode, Evaluate(**NAMES), tmp_path / mode):
            panes.put(firing)
        assert panes.total().to_bytes() != counted(FEW[:399])


def sessions():
    made = Stream().advance_watermark_to(0).add_elements([at(FEW[0], 1)]).add_elements([at(FEW[1], 20)])
    return made.add_elements([at(FEW[2], 9)]).add_elements([at(FEW[3], 15)]).advance_watermark_to_infinity()


@pytest.mark.parametrize("mode", list(MODES))
def test_a_session_that_has_grown_replaces_its_earlier_panes(mode, tmp_path):
    firings = fired(mode, Evaluate(**NAMES), tmp_path, window.Sessions(10), sessions)
    assert len({firing[1:3] for firing in firings}) > 1
    panes = Panes(mode, sessions=True)
    for firing in firings[::-1]:
        panes.put(firing)
    assert panes.total().to_bytes() == counted(FEW[:4])


def firing_of(rows, pane, start=0):
    return Firing("key", start, start + 10, pane, counted(rows))


@settings(max_examples=cases(100))
@given(
    cuts=st.lists(st.lists(st.integers(0, 40), max_size=4), min_size=1, max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_panes_in_any_order_however_often_they_come_give_the_same_bytes(cuts, order):
    for mode in MODES:
        firings = []
        for place, inner in enumerate(cuts):
            rows, bounds = FEW[place * 40 : (place + 1) * 40], [0, *sorted(inner), 40]
            for pane, end in enumerate(bounds[1:]):
                firings.append(firing_of(rows[0 if mode == "accumulating" else bounds[pane] : end], pane, 10 * place))
        firings += order.choices(firings, k=len(firings))
        order.shuffle(firings)
        panes = Panes(mode)
        for firing in firings:
            panes.put(firing)
        assert panes.total().to_bytes() == counted(FEW[: 40 * len(cuts)])


def test_an_earlier_pane_that_comes_late_and_differs_is_refused_if_discarding_and_else_ignored():
    for mode in MODES:
        panes = Panes(mode)
        for pane in (0, 1):
            panes.put(firing_of(FEW[: 10 + pane], pane))
        before = panes.total().to_bytes()
        if mode == "accumulating":
            panes.put(firing_of(FEW[:5], 0))
        else:
            with pytest.raises(se.ConflictError, match="has two different states"):
                panes.put(firing_of(FEW[:5], 0))
        assert panes.total().to_bytes() == before


def test_an_invalid_pane_is_refused_and_changes_nothing():
    for mode in MODES:
        panes = Panes(mode)
        with pytest.raises(se.InputError, match="no pane was put"):
            panes.total()
        with pytest.raises(se.FormatError):
            panes.put(Firing("key", 0, 10, 0, b"damaged"))
        with pytest.raises(se.InputError, match=r"key must be hashable, not \[1\]"):
            panes.put(Firing([1], 0, 10, 0, se.F1().to_bytes()))
        assert not panes.states()
        panes.put(firing_of(FEW[:10], 0))
        with pytest.raises(se.ConflictError, match=r"key='key'.* has two different states"):
            panes.put(firing_of(FEW[:11], 0))
        for start in (0, 50):
            with pytest.raises(se.MergeError, match="does not match the ledger"):
                panes.put(Firing("key", start, start + 10, 1, se.F1().to_bytes()))
        assert panes.total().to_bytes() == counted(FEW[:10])
    for wrong in ("retracting", True, None, []):
        with pytest.raises(se.InputError, match="mode must be"):
            Panes(wrong)


def test_states_and_totals_of_panes_are_copies():
    panes = Panes("discarding")
    panes.put(firing_of(FEW[:10], 0))
    panes.total().reset()
    next(iter(panes.states().values())).reset()
    panes.put(firing_of(FEW[10:20], 1))
    assert panes.total().to_bytes() == counted(FEW[:20])


# -- the combiner and the coders --------------------------------------------------------------------------------------


def test_combining_does_not_change_its_arguments():
    count = EvaluatorFn(JOB)
    parts = [count.add_inputs(count.create_accumulator(), FEW[start : start + 100]) for start in range(0, 400, 100)]
    states = [count.extract_output(part) for part in parts]
    before = [state.to_bytes() for state in states]
    whole = count.merge_accumulators(iter(parts))
    assert count.apply(states).to_bytes() == whole.to_bytes() == counted(FEW)
    assert [state.to_bytes() for state in states] == before
    assert [count.extract_output(part).to_bytes() for part in parts] == before
    count.extract_output(whole).reset()
    assert count.extract_output(whole).to_bytes() == counted(FEW)


def test_an_accumulator_counts_rows_and_tables_and_is_encoded_as_its_state():
    count = EvaluatorFn(JOB)
    coder = count.get_accumulator_coder()
    part = count.add_inputs(count.create_accumulator(), [*ROWS[:700], pa.Table.from_pylist(ROWS[700:900])])
    whole = counted(ROWS[:900])
    assert coder.encode(part) == count.extract_output(part).to_bytes() == whole
    assert count.extract_output(coder.decode(whole)).to_bytes() == whole
    assert coder == EvaluatorFn(JOB).get_accumulator_coder()
    assert hash(coder) == hash(EvaluatorFn(JOB).get_accumulator_coder())


def test_a_row_that_cannot_be_counted_is_refused_and_changes_nothing():
    count = EvaluatorFn(JOB)
    part = count.add_inputs(count.create_accumulator(), FEW)
    with pytest.raises(se.LabelError, match="actual"):
        count.add_input(part, {"actual": [None], "predicted": []})
    assert count.extract_output(part).to_bytes() == counted(FEW)


@pytest.mark.parametrize("made", [se.Evaluator(), se.F1(average="micro"), se.Sliced(se.F1(), by="region")])
def test_states_are_coded_by_their_bytes(made):
    coder = registry.get_coder(type(made))
    assert isinstance(coder, StateCoder)
    assert coder.is_deterministic()
    assert coder.encode(made) == made.to_bytes()
    assert coder.decode(coder.encode(made)) == made
    assert coder == StateCoder()
    with pytest.raises(se.FormatError):
        coder.decode(b"\x80\x04N.")  # a pickle


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"actual": None, "predicted": []}, "column 'actual'.* is missing"),
        ({"predicted": []}, "there is no column 'actual'"),
        (beam.Row(actual=[], predictd=[]), "there is no column 'predicted' .*did you mean 'predictd'"),
        ({"actual": "cat", "predicted": []}, "column 'actual'.* is the string 'cat'"),
        (pa.table({"actual": ["cat"], "predicted": [["cat"]]}), "column 'actual' holds strings, not lists of labels"),
        ("cat", "a row must be a mapping"),
    ],
)
def test_rows_that_cannot_be_read_are_reported_by_an_error_of_this_package(row, says, tmp_path):
    with pytest.raises(se.InputError, match=says):
        run(beam.Create([row]), Evaluate(**NAMES), tmp_path)


def test_arguments_are_refused_when_the_pipeline_is_built():
    with pytest.raises(se.InputError, match="neither predicted nor scores"):
        Evaluate(actual="actual")
    with pytest.raises(se.InputError, match="job must be a Job"):
        EvaluatorFn("f1")


# -- the example and the page -----------------------------------------------------------------------------------------


def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "beam_windows.py"), run_name="__main__")
    assert "f1" in capsys.readouterr().out


def test_the_page_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "engines" / "beam.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {"__name__": "page"})  # noqa: S102
    assert os.linesep in capsys.readouterr().out
