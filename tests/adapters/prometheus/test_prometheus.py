"""What Prometheus scrapes; run where prometheus-client and the server of Debian's package prometheus are installed."""

from __future__ import annotations

import json
import math
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, start_http_server
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parsed

import streameval as se
from streameval.adapters.prometheus import EvaluationCollector
from tests.support.effort import cases

ROOT = Path(__file__).resolve().parents[3]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def exposed(collector: EvaluationCollector) -> Samples:
    """Every sample as a scraper reads it; asserts that both formats contain the same samples."""
    registry = CollectorRegistry()
    registry.register(collector)
    plain = [s for f in parsed(generate_latest(registry).decode()) for s in f.samples]
    opened = [s for f in parsed_openmetrics(openmetrics.generate_latest(registry).decode()) for s in f.samples]
    result = {(s.name, frozenset(s.labels.items())): s.value for s in plain}
    assert len(result) == len(plain)
    assert {(s.name, frozenset(s.labels.items())): s.value for s in opened} == result
    return result


def one(result: Samples, name: str, **labels: str) -> float:
    return result[name, frozenset(labels.items())]


def test_metrics_of_evaluators_and_windows_are_exposed():
    names = ["f1_micro", "fbeta_macro", "fbeta_macro(beta=2)", "hamming_loss"]
    total, recent = se.Evaluator(names), se.Rolling(se.Evaluator(names), size=1)
    for each in (total, recent):
        each.update({"cat", "bird"}, {"cat", "dog"})
        each.update({"dog"}, {"dog"})
    result = exposed(EvaluationCollector({"all": total, "last": recent}))
    for window, source in (("all", total), ("last", recent)):
        assert one(result, "streameval_f1_micro", window=window) == source.get("f1_micro")
        assert one(result, "streameval_fbeta_macro", window=window, beta="1") == source.get("fbeta_macro")
        assert one(result, "streameval_fbeta_macro", window=window, beta="2") == source.get("fbeta_macro(beta=2)")
        assert one(result, "streameval_labels", window=window) == len(source.labels)
    assert one(result, "streameval_examples", window="all") == 2
    assert one(result, "streameval_examples", window="last") == 1
    total.revert({"dog"}, {"dog"})  # a counter must not fall
    assert one(exposed(EvaluationCollector(total)), "streameval_examples", window="all") == 1


def test_every_metric_of_the_catalogue_can_be_exposed_with_its_help():
    entries = [entry for entry in se.catalogue() if not entry.arguments]
    ev = se.Evaluator([entry.spec for entry in entries], threshold=0.5)
    ev.update_many(np.eye(4), np.eye(4) * 0.8 + 0.1)
    collector = EvaluationCollector(ev)
    families = {family.name: family for family in collector.collect()}
    assert exposed(collector)
    assert {family.name for family in collector.describe()} == set(families)
    for entry, spec in zip(entries, ev.metrics, strict=True):
        family = families[f"streameval_{spec.key.partition('(')[0]}"]
        assert family.documentation.startswith(entry.summary)
        assert family.type == "gauge"
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_info", "_created"))


@settings(max_examples=cases(30))
@given(st.lists(st.lists(st.one_of(st.text(max_size=4), st.integers(0, 9)), max_size=5), max_size=8), st.integers(0, 4))
def test_labels_are_bounded_by_support_and_the_rest_is_counted(truths: list[list[str | int]], max_labels: int):
    ev = se.Evaluator(["recall_per_label"], rows="labels")
    ev.update_many(truths, [truth[:1] for truth in truths])
    result = exposed(EvaluationCollector(ev, max_labels=max_labels))
    values = [labels for name, labels in result if name == "streameval_recall_per_label"]
    assert len(values) <= max_labels
    support = dict(zip(ev.labels, ev.per_label().support.tolist(), strict=True))
    assert len(values) == min(max_labels, len(support))
    assert one(result, "streameval_labels_not_exposed", window="all") == len(support) - len(values)
    result = exposed(EvaluationCollector(ev, metrics=["f1_macro"], max_labels=max_labels))
    assert one(result, "streameval_labels_not_exposed", window="all") == 0


def test_all_windows_expose_the_same_labels():
    total, recent = se.Evaluator(["f1_per_label"]), se.Rolling(se.Evaluator(["f1_per_label"]), size=2)
    for truth in [{"a"}] * 5 + [{"b"}] * 3 + [{"c"}] * 2:
        total.update(truth, truth)
        recent.update(truth, truth | {"b"})
    result = exposed(EvaluationCollector({"all": total, "last": recent}, max_labels=2))
    pairs = {(dict(labels)["label"], dict(labels)["window"]) for name, labels in result if "per_label" in name}
    assert pairs == {("a", "all"), ("b", "all"), ("b", "last")}
    assert one(result, "streameval_labels_not_exposed", window="last") == 1


def test_undefined_values_are_left_out_and_counted():
    ev = se.Evaluator(["f1_macro(zero_division=nan)", "log_loss_macro", "hamming_loss"], threshold=0.5)
    ev.update({"a"}, {"a": 7.0})
    result = exposed(EvaluationCollector({"x": ev}, metrics=["recall_micro(zero_division=nan)", "log_loss_macro"]))
    assert one(result, "streameval_recall_micro", window="x", zero_division="nan") == 1.0
    assert one(result, "streameval_values_undefined", window="x") == 1
    fresh = exposed(EvaluationCollector(se.Evaluator(["f1_macro(zero_division=nan)"])))
    assert one(fresh, "streameval_values_undefined", window="all") == 1
    assert not any(math.isnan(value) for value in fresh.values())


def test_labels_that_differ_have_series_of_their_own():
    labels = [
        'a"b', "back\\slash", "line\nbreak\x00", "line\\nbreak\\x00", "", "''", "'", "{x}", 7, "7", "'7'",
        "a" * 3000, "a" * 3001, "a" * 200, "a" * 199,
    ]  # fmt: skip
    ev = se.Evaluator(["recall_per_label"], labels=labels)
    for at in range(len(labels)):
        ev.update(labels[: at + 1], labels[:1])
    series = {
        dict(names)["label"]: value
        for name, value in exposed(EvaluationCollector({"": ev})).items()
        if name[0] == "streameval_recall_per_label"
        for names in [name[1]]
        if dict(names)["window"] == "''"
    }
    assert sorted(series.values()) == sorted(ev.get("recall_per_label").values())
    assert {"7", "'7'", "''", r"line\nbreak\x00", r"line\\nbreak\\x00", "a" * 199} < set(series)
    assert max(map(len, series)) == 200


def test_a_scrape_sees_the_state_between_updates():
    total, recent = se.Evaluator(["f1_micro"]), se.Rolling(se.Evaluator(["f1_micro"]), size=10**6)
    collector, both = EvaluationCollector({"all": total, "window": recent}), se.Trace({"all": total, "window": recent})
    stop = threading.Event()

    def loop() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            both.update({number % 3000}, {number % 7})

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        for _ in range(30):
            result = exposed_twice(collector)
            assert result["streameval_examples", "all"] == result["streameval_examples", "window"]
            assert result["streameval_f1_micro", "all"] == result["streameval_f1_micro", "window"]
    finally:
        stop.set()
        thread.join()


def exposed_twice(collector: EvaluationCollector) -> dict[tuple[str, str], float]:
    samples = [sample for family in collector.collect() for sample in family.samples]
    return {(sample.name, sample.labels["window"]): sample.value for sample in samples}


def test_a_registry_refuses_two_collectors_of_equal_names_and_takes_other_namespaces():
    registry = CollectorRegistry()
    registry.register(EvaluationCollector(se.Evaluator()))
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(EvaluationCollector(se.F1()))
    registry.register(EvaluationCollector(se.F1(), namespace="other"))
    assert b"other_f1_macro{" in generate_latest(registry)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (({},), {}, "sources must be"),
        (({1: se.F1()},), {}, "sources must be"),
        (({"a": 3},), {}, "must be an Evaluator, a metric object or a window, not 3"),
        ((se.F1(),), {"max_labels": -1}, "max_labels must be"),
        ((se.F1(),), {"namespace": "a-b"}, "namespace must be"),
        ((se.F1(),), {"namespace": 3}, "namespace must be letters, digits and underscores, not 3"),
        ((se.Evaluator(),), {"metrics": ["f1_marco"]}, "did you mean"),
        ((se.Rolling(se.F1(), 5),), {"metrics": ["roc_auc_macro"]}, "roc_auc_macro requires the 'curves' state"),
    ],
)
def test_arguments_that_cannot_be_exposed_are_refused(arguments: tuple, options: dict, message: str):
    with pytest.raises(se.StreamevalError, match=message):
        EvaluationCollector(*arguments, **options)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def asked(url: str) -> object:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # it begins with http://127.0.0.1
        return json.load(answer)


def test_a_server_scrapes_and_answers_queries(tmp_path: Path):
    server = shutil.which("prometheus")
    assert server, "install Debian's package prometheus"
    total = se.Evaluator(["f1_macro", "f1_per_label", "recall_micro(zero_division=nan)"])
    recent = se.Rolling(total, size=1)
    for each in (total, recent):
        each.update({"cat", "bird", 'a "dog"'}, {"cat", 'a "dog"'})
        each.update({"cat"}, {"bird"})
    registry = CollectorRegistry()
    registry.register(EvaluationCollector({"all": total, "last": recent}, max_labels=2))
    serving, _ = start_http_server(0, addr="127.0.0.1", registry=registry)
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
        "scrape_configs:\n"
        "  - job_name: tagger\n"
        f"    static_configs: [{{targets: ['127.0.0.1:{serving.server_port}']}}]\n"
    )
    port = free_port()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [
                server, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:

        def answer(query: str) -> dict[tuple[str | None, ...], float]:
            url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
            for _ in range(300):
                try:
                    result = asked(url)["data"]["result"]
                except OSError:
                    result = []
                if result:
                    return {(r["metric"].get("window"), r["metric"].get("label")): float(r["value"][1]) for r in result}
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.1)
            raise AssertionError((tmp_path / "log").read_text())

        assert answer("streameval_f1_macro") == {
            ("all", None): total.get("f1_macro"),
            ("last", None): recent.get("f1_macro"),
        }
        assert answer("streameval_examples") == {("all", None): 2, ("last", None): 1}
        by_label = total.get("f1_per_label")
        message = answer('streameval_f1_per_label{window="all"}')
        assert message == {("all", "cat"): by_label["cat"], ("all", 'a "dog"'): by_label['a "dog"']}
        assert answer("streameval_labels_not_exposed") == {("all", None): 1, ("last", None): 1}
        help_text = asked(f"http://127.0.0.1:{port}/api/v1/metadata?metric=streameval_f1_macro")["data"]
        assert help_text["streameval_f1_macro"][0]["type"] == "gauge"
    finally:
        process.terminate()
        process.wait(20)
        serving.shutdown()
        serving.server_close()


def test_the_page_of_the_documentation_runs():
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8").split("## MLflow")[0]
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "monitoring.md", "exec"), names)  # noqa: S102  # our own page
    try:
        text = generate_latest(REGISTRY).decode()
        for name in re.findall(r"`(streameval_\w+(?:\{[^}]*\})?)", page):
            assert name in text, name
    finally:
        REGISTRY.unregister(names["collector"])
        names["server"].shutdown()
        names["server"].server_close()


def test_the_example_runs():
    program = [sys.executable, str(ROOT / "examples" / "prometheus_loop.py"), str(free_port()), "50"]
    message = subprocess.run(program, capture_output=True, text=True, check=True)
    assert message.stdout.startswith("50 examples; f1_micro ")
