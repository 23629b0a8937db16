"""Logging to a local store of MLflow itself; run where MLflow is installed."""

from __future__ import annotations

import math
import re
from pathlib import Path

import mlflow
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mlflow.utils.validation import MAX_ENTITY_KEY_LENGTH, MAX_METRICS_PER_BATCH, _validate_metric_name

import streameval as se
from streameval.adapters import mlflow as adapter
from streameval.adapters.mlflow import log, metrics_of
from tests.support.effort import cases

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")  # raised by tables of MLflow

STORES = ["sqlite", "files"]


@pytest.fixture(params=STORES)
def client(request, tmp_path: Path, monkeypatch):
    """A client of a new store with a new experiment."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # without it newer versions require a database
    before = mlflow.get_tracking_uri()
    uri = f"sqlite:///{tmp_path / 'runs.db'}" if request.param == "sqlite" else (tmp_path / "runs").as_uri()
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("tags", artifact_location=(tmp_path / "a").as_uri()))
    yield mlflow.MlflowClient()
    if mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


def filled(metrics: list[str]) -> se.Evaluator:
    ev = se.Evaluator(metrics)
    ev.update({"cat", "a?b/c"}, {"cat"})
    ev.update({"cat"}, {"dog"})
    return ev


def fetched(run: mlflow.entities.Run, path: str) -> Path:
    return Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=path))


def test_metrics_the_page_and_the_state_are_logged(client):
    ev = filled(["f1_macro", "fbeta_micro(beta=2)", "recall_per_label"])
    with mlflow.start_run() as run:
        log(ev, prefix="val_", step=3)
        ev.update({"cat"}, {"cat"})
        log(ev, prefix="val_", step=np.int64(4), report=False)
    logged = client.get_run(run.info.run_id).data.metrics
    assert set(logged) == {
        "val_f1_macro", "val_fbeta_micro_beta_2",
        "val_recall_per_label/cat", "val_recall_per_label/dog", "val_recall_per_label/a_x3f_b_x2f_c",
    }  # fmt: skip
    assert logged["val_f1_macro"] == ev.get("f1_macro")
    history = client.get_metric_history(run.info.run_id, "val_f1_macro")
    assert [(point.step, point.value) for point in history] == [
        (3, filled([]).get("f1_macro")),
        (4, ev.get("f1_macro")),
    ]
    assert se.load(fetched(run, "streameval/val/step-4/state.bin")) == ev
    assert {path.name for path in fetched(run, "streameval/val/step-4").iterdir()} == {"state.bin"}
    page = fetched(run, "streameval/val/step-3/report.html").read_text(encoding="utf-8")
    before = filled(["f1_macro", "fbeta_micro(beta=2)", "recall_per_label"])
    assert "<h1>val</h1>" in page
    assert page.partition("<main>")[2] == before.to_html(title="val").partition("<main>")[2]


def test_windows_and_single_metrics_are_logged(client):
    recent = se.Rolling(se.Evaluator(["f1_micro"]), size=1)
    recent.update({"cat"}, {"dog"})
    recent.update({"cat"}, {"cat"})
    loss = se.HammingLoss()
    loss.update({"cat"}, {"cat", "dog"})
    with mlflow.start_run() as run:
        log(recent, prefix="recent/")
        log(loss)
    assert client.get_run(run.info.run_id).data.metrics == {"recent/f1_micro": 1.0, "hamming_loss": 0.5}
    assert se.load(fetched(run, "streameval/recent/state.bin")) == recent
    assert fetched(run, "streameval/recent/report.html").exists()
    assert se.load(fetched(run, "streameval/state.bin")) == loss
    assert "hamming_loss" in fetched(run, "streameval/report.html").read_text(encoding="utf-8")


def test_metrics_page_and_state_are_of_one_moment(client, monkeypatch):
    ev = filled(["f1_micro"])
    before, real = ev.copy(), adapter.metrics_of
    monkeypatch.setattr(adapter, "metrics_of", lambda *args, **more: (real(*args, **more), ev.update({"x"}, {"x"}))[0])
    with mlflow.start_run() as run:
        log(ev)
    assert client.get_run(run.info.run_id).data.metrics == before.get()
    assert se.load(fetched(run, "streameval/state.bin")) == before != ev


def test_more_metrics_than_one_request_takes_are_logged(client):
    labels = [f"label {number}" for number in range(MAX_METRICS_PER_BATCH + 5)]
    ev = se.Evaluator(["f1_per_label"], labels=labels)
    ev.update(labels, labels[:3])
    with mlflow.start_run() as run:
        log(ev, max_labels=10**6, report=False)
    assert len(client.get_run(run.info.run_id).data.metrics) == len(labels)


def test_invalid_arguments_are_refused_before_anything_is_logged(client):
    with mlflow.start_run() as run:
        for options in ({"step": 1.5}, {"step": True}, {"prefix": 3}, {"max_labels": -1}):
            with pytest.raises(se.InputError, match=next(iter(options))):
                log(se.Evaluator(), **options)
        with pytest.raises(se.InputError, match="evaluator must be"):
            log(3)
    assert client.get_run(run.info.run_id).data.metrics == {}
    assert client.list_artifacts(run.info.run_id) == []


LABELS = st.one_of(
    st.text(max_size=8), st.text("./_x2e-#7 ", max_size=6), st.integers(), st.text("a", min_size=240, max_size=260)
)


@settings(max_examples=cases(60))
@given(st.lists(LABELS, max_size=6, unique=True), st.text("ab/._ ?é-", max_size=5))
def test_names_are_legal_and_no_value_is_lost(labels: list[str | int], prefix: str):
    ev = se.Evaluator(["f1_per_label", "fbeta_macro(beta=0.5, zero_division=1)", "f1_macro"])
    ev.update({*labels}, {*labels[:2]})
    result = metrics_of(ev, prefix=prefix)
    for name in result:
        _validate_metric_name(name)
        assert len(name) <= MAX_ENTITY_KEY_LENGTH
    assert len(result) == len(ev.labels) + 2


def test_labels_that_differ_have_names_that_differ():
    ev = se.Evaluator(["recall_per_label"], labels=HARD)
    ev.update(HARD, HARD)
    result = metrics_of(ev)
    assert len(result) == len(HARD)
    for name in result:
        _validate_metric_name(name)


HARD = [
    "7", 7, "#7", "_x_7", "a?b", "a!b", "a/b", "a_x2f_b", "_x2f?", "a b", ".", "..", "../a", "", "_empty_", "é",
    "b" * 300, "b" * 301, "b" * 220, "\n", "\\n",
]  # fmt: skip


def test_labels_that_look_alike_are_stored_separately(client):
    ev = se.Evaluator(["recall_per_label"], labels=HARD)
    for at in range(len(HARD)):
        ev.update(HARD[: at + 1], HARD[:1])
    with mlflow.start_run() as run:
        log(ev, report=False)
    logged = client.get_run(run.info.run_id).data.metrics
    assert sorted(logged.values()) == sorted(ev.get("recall_per_label").values())


def test_the_most_frequent_labels_are_logged_and_nan_is_not():
    ev = se.Evaluator(["f1_per_label", "recall_macro(zero_division=nan)"])
    assert metrics_of(ev) == {}
    ev.update({"b", "c"}, set())
    ev.update({"c"}, {"c"})
    result = metrics_of(ev, max_labels=1)
    assert result == {"f1_per_label/c": 2 / 3, "recall_macro_zero_division_nan": 0.25}
    assert not any(map(math.isnan, result.values()))


def test_the_page_of_the_documentation_runs(client, capsys):
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8").split("## MLflow")[1]
    names: dict[str, object] = {"se": se}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "monitoring.md", "exec"), names)  # noqa: S102  # our own page
    logged = client.get_run(names["run"].info.run_id).data.metrics
    assert {"val_f1_macro", "val_fbeta_micro_beta_2", "val_f1_per_label/cat"} <= set(logged)
    assert capsys.readouterr().out.endswith("0.5\n")


def test_a_metric_that_cannot_be_read_is_warned_of_and_the_rest_is_logged(client):
    ev = se.Evaluator(["brier_score_macro", "coverage_error"])
    ev.update({"cat"}, {"cat": 3.0, "dog": -1.0})
    with mlflow.start_run() as run, pytest.warns(se.DataWarning, match="^brier_score_macro is not logged: .*probab"):
        log(ev)
    assert client.get_run(run.info.run_id).data.metrics == {"coverage_error": 1.0}
    assert se.load(fetched(run, "streameval/state.bin")) == ev
