"""A scrape reads one moment of each source while other threads count, without a lock held by the user."""

from __future__ import annotations

import copy
import random

import streameval as se
from streameval.adapters.prometheus import EvaluationCollector
from tests.support.effort import spread
from tests.support.exploring import Explorer, crowd

METRICS = ["precision_micro", "recall_micro", "f1_macro"]


def scraped(collector: EvaluationCollector) -> dict[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in collector.collect()
        for sample in family.samples
    }


def sources() -> dict[str, object]:
    made = {"all": se.Evaluator(METRICS), "last": se.Rolling(se.Evaluator(METRICS), size=2)}
    for source in made.values():
        for label in "abc":
            source.update({label, "a"}, {label})
    return made


def test_a_scrape_during_any_call_reads_one_moment():
    seen = set()
    for name in sources():

        def made(name: str = name) -> tuple[object, EvaluationCollector]:
            source = sources()[name]
            return source, EvaluationCollector(source)

        calls = {
            "update": lambda pair: pair[0].update({"a"}, {"b"}),
            "update of new labels": lambda pair: pair[0].update({"new"}, {"newer"}, weight=0.7),
            "update_many": lambda pair: pair[0].update_many([{"a"}, {"x"}], [{"b"}, {"y"}]),
            "reset": lambda pair: pair[0].reset(),
            "copy": lambda pair: copy.copy(pair[0]).to_bytes(),
        }
        explorer = Explorer(
            made, lambda pair: pair[0].to_bytes(), {"scrape": lambda pair: scraped(pair[1]), **calls}, seen
        )
        planned = 0
        for act in calls:  # tests/laws tries pairs of these calls
            points = explorer.points(act)
            seen.update(point[:2] for point in points)
            for number, point in enumerate(chosen := spread(points, 60)):
                explorer.explore(act, "scrape", point, same=number % 2 == 0)
            planned += len(chosen)
        explorer.try_each_place(random.Random(name))
        assert explorer.tried > planned // 2 >= len(calls)  # a second run does not reach all places
        assert not explorer.wrong, "\n".join(explorer.wrong[:20])


def test_scrapes_in_many_threads_read_whole_updates_only():
    source = se.Evaluator(METRICS)
    collector = EvaluationCollector(source)

    def read() -> None:
        exposed = scraped(collector)
        (precision,), (recall,) = (
            [value for name, value in exposed.items() if name.startswith(f"streameval_{metric}")]
            for metric in ("precision_micro", "recall_micro")
        )
        assert precision == recall  # each example has as many predicted labels as true ones

    jobs = [lambda: source.update({"a", "c"}, {"b", "c"}), lambda: source.update({"a"}, {"a"}), read, read]
    source.update({"a"}, {"a"})
    ran = crowd(0.3, *jobs)
    assert source.examples == 1 + ran[0] + ran[1]
