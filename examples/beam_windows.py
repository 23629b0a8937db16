"""Predictions of a day, evaluated hour by hour and language by language, on Beam's in-process runner."""

from __future__ import annotations

import random

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.window import FixedWindows, TimestampedValue

import streameval as se
from streameval.adapters.beam import Evaluate

TAGS = [f"tag {number}" for number in range(20)]
HOUR = 3600


def prediction(number: int) -> TimestampedValue:
    """A row of a tagger that gets worse towards the evening."""
    source = random.Random(number)  # noqa: S311  # not used for security
    second = source.randrange(24 * HOUR)
    true = source.sample(TAGS, 3)
    guess = [tag if source.random() > second / (48 * HOUR) else source.choice(TAGS) for tag in true]
    return TimestampedValue({"tags": true, "guess": guess, "language": source.choice(["de", "en"])}, second)


def printed(state: se.Sliced[se.Evaluator], window: object = beam.DoFn.WindowParam) -> None:
    print(f"{window!s:20} f1 {state.total().get('f1_micro'):.3f}, {state.get('f1_micro')}")


def main() -> None:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        rows = pipeline | beam.Create(range(5_000)) | beam.Map(prediction)
        hourly = rows | beam.WindowInto(FixedWindows(6 * HOUR))
        _ = hourly | Evaluate(["f1_micro"], actual="tags", predicted="guess", by="language") | beam.Map(printed)


if __name__ == "__main__":
    main()
