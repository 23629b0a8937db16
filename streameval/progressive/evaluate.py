"""Progressive validation: each example is predicted, then counted, then learnt from."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias, TypeVar

from streameval.errors import public
from streameval.evaluation.guarding import Turns
from streameval.progressive.loop import Field, Loop, NoPrediction, Predict, Question, WeightFor
from streameval.progressive.target import Values, values_of
from streameval.schema.keywords import explained
from streameval.schema.text import check_number

EvaluatorT = TypeVar("EvaluatorT")
Stream: TypeAlias = Iterable[tuple[object, ...]]


@public
@dataclass(frozen=True, slots=True)
class Snapshot:
    """Values of the metrics after a number of examples. They do not change later.

    Attributes
    ----------
    step
        How many examples were answered: their truth is known, and they were counted unless nothing was predicted.
    values
        The values by name: a number, or a mapping label -> number.
    time
        When the truth of the last of these examples became known, if there is a ``time=``.
    seconds, prediction
        If requested: the seconds since the start, and the prediction that was counted for the last of these examples;
        None if the model predicted nothing.
    """

    step: int
    values: Values
    time: object = None
    seconds: float | None = None
    prediction: object = None


@explained
def progressive_evaluate(
    dataset: Stream,
    model: object,
    metric: EvaluatorT,
    *,
    predict: Predict = "auto",
    no_prediction: NoPrediction = "skip",
    weight: Field | None = None,
    weight_for: WeightFor = "auto",
    time: Field | None = None,
    delay: object = None,
    learn: bool = True,
) -> EvaluatorT:
    """Evaluate a model while it learns from a stream: predict each example, count it, then learn from it.

    Source: Blum, Kalai and Langford, Beating the hold-out (COLT 1999); with delay: Grzenda, Gomes and Bifet, Delayed
    labelling evaluation for data streams (DMKD, 2019).

    Parameters
    ----------
    dataset
        Pairs ``(x, y)``, or triples ``(x, y, kwargs)`` whose mapping goes to the methods of the model as keywords.
        ``tqdm(dataset)`` shows the progress.
    model
        Anything with ``predict_one(x)`` and ``learn_one(x, y)``, such as the multi-label models of River.
    metric
        Anything with ``update(y_true, y_pred)`` and ``get()``: an `Evaluator`, a metric object, a window, a `Trace`, a
        metric of River. It is used as it is, and returned. A `Trace` records a last row at the end of the stream.
    predict
        ``"labels"`` asks the model's ``predict_one``, ``"scores"`` its ``predict_proba_one``; ``"auto"`` asks for
        scores if the evaluator reads scores: it has a threshold, or a metric of rankings or curves. River's
        probabilities of both outcomes become the one of True.
    no_prediction
        What to do with an example for which the model predicts nothing (None or an empty mapping): ``"skip"`` learns
        from it but does not count it, as River does; ``"empty"`` counts it with no label predicted. A label that is
        predicted as None is not predicted, either way.
    weight
        The weight of an example: the name of a field of ``x``, or a callable of ``(x, y)``. None takes the ``"w"`` of
        ``kwargs``, where there is one.
    weight_for
        Where the weight counts: in ``"learn"``, ``learn_one(x, y, w=...)``; in ``"metric"``, the evaluator; in
        ``"both"``. ``"auto"`` is "learn" for the ``"w"`` of ``kwargs``, as in River, and "both" for ``weight=``; and it
        leaves the weight out where ``learn_one`` takes none.
    time
        The time of an example: the name of a field of ``x``, or a callable of ``x``. It must not go backwards. Windows
        over time get the time at which the truth becomes known as their ``t``. None numbers the examples 0, 1, 2, ...
    delay
        How much later the truth becomes known: something to be added to the time, such as an int or a ``timedelta``,
        the name of a field of ``x``, or a callable of ``(x, y)``. The truths that are due are counted and learnt from
        before the next example is predicted, and the last ones at the end. None: at once.
    learn
        Whether the model learns.

    Raises
    ------
    InputError
        If an argument cannot be understood; if an example has no field of the name, its time goes backwards or cannot
        be added to its delay; if the model predicts single labels. What was counted before stays counted.

    Examples
    --------
    >>> import streameval as se
    >>> class Last:
    ...     "Predicts the labels it saw last."
    ...     labels = None
    ...     def predict_one(self, x):
    ...         return self.labels
    ...     def learn_one(self, x, y):
    ...         self.labels = y
    >>> stream = [({}, {"cat"}), ({}, {"cat", "dog"}), ({}, {"cat", "dog"})]
    >>> progressive_evaluate(stream, Last(), se.Evaluator(["f1_micro", "subset_accuracy"])).get()
    {'f1_micro': 0.8571428571428571, 'subset_accuracy': 0.5}
    """
    Loop(dataset, model, metric, predict, no_prediction, weight, weight_for, time, delay, learn).run()
    return metric


@explained
def iter_progressive_evaluate(
    dataset: Stream,
    model: object,
    metric: object,
    *,
    step: int = 1,
    predict: Predict = "auto",
    no_prediction: NoPrediction = "skip",
    weight: Field | None = None,
    weight_for: WeightFor = "auto",
    time: Field | None = None,
    delay: object = None,
    learn: bool = True,
    seconds: bool = False,
    prediction: bool = False,
) -> Iterator[Snapshot]:
    """Run `progressive_evaluate`, and yield a `Snapshot` every ``step`` answered examples and after the last.

    Wrong arguments raise an error at the call, not with the first snapshot.

    Parameters
    ----------
    seconds, prediction
        Whether snapshots hold the elapsed time, and the last prediction.
    dataset, model, metric, predict, no_prediction, weight, weight_for, time, delay, learn
        As for `progressive_evaluate`.

    Examples
    --------
    >>> import streameval as se
    >>> class Always:
    ...     def predict_one(self, x):
    ...         return {"cat"}
    >>> stream = [({}, {"cat"}), ({}, {"dog"}), ({}, {"cat"})]
    >>> for snapshot in iter_progressive_evaluate(stream, Always(), se.SubsetAccuracy(), step=2, learn=False):
    ...     print(snapshot.step, snapshot.values)
    2 {'subset_accuracy': 0.5}
    3 {'subset_accuracy': 0.6666666666666666}
    """
    step = check_number("step", step, 1)
    loop = Loop(dataset, model, metric, predict, no_prediction, weight, weight_for, time, delay, learn)

    def snapshots() -> Iterator[Snapshot]:
        start, answered, question = perf_counter(), 0, None

        def snapshot(last: Question) -> Snapshot:
            taken = perf_counter() - start if seconds else None
            counted = copy.copy(last.y_pred) if prediction else None
            return Snapshot(answered, values_of(metric), None if time is None else last.due, taken, counted)

        for answered, question in enumerate(loop.answers(), 1):
            if answered % step == 0:
                yield snapshot(question)
        if question is not None and answered % step:
            yield snapshot(question)

    return Turns(snapshots(), metric)
