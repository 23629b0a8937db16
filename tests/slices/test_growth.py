"""The cost of a call does not grow with the number of slices that it does not touch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

import streameval as se
from streameval.inputs.samples import Sample
from streameval.kernel import backend
from streameval.schema.input_notes import InputNotes
from streameval.slices.values import OTHER, rank_of
from tests.support.effort import BRIEF, cases
from tests.support.work import peak, steps

FEW, MANY = 100, 800 if BRIEF else 1_600
NEW = count(10**6)


def filled(size: int, **options: Any) -> se.Sliced[se.Evaluator]:
    """That many slices by region, with one example each, except for region 7, which has more."""
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by=["region", "half"], cross=[("region", "half")], **options)
    regions = [*range(size), *[7] * 50][: 51 * size]
    sliced.update_many([{"a"}] * len(regions), [{"a", "b"}] * len(regions), where=values(regions))
    return sliced


def values(regions: Any) -> dict[str, list[Any]]:
    return {"region": [str(region) for region in regions], "half": [int(region) % 2 for region in regions]}


def one(region: int) -> dict[str, Any]:
    return {name: column[0] for name, column in values([region]).items()}


def part(*regions: int) -> se.Sliced[se.Evaluator]:
    sliced = filled(0, max_slices=10**6)
    sliced.update_many([{"a"}] * len(regions), [{"b"}] * len(regions), where=values(regions))
    return sliced


ACTS: dict[str, Callable[[se.Sliced[se.Evaluator]], object]] = {
    "update of a known slice": lambda sliced: sliced.update({"a"}, {"a"}, where=one(7), weight=2.0),
    "update of a new slice": lambda sliced: sliced.update({"a"}, {"b"}, where=one(next(NEW))),
    "update_many of a known slice": lambda sliced: sliced.update_many([{"a"}], [{"a"}], where=values([7])),
    "update_many of a new slice": lambda sliced: sliced.update_many([{"a"}], [{"a"}], where=values([next(NEW)])),
    "revert": lambda sliced: sliced.revert({"a"}, {"a", "b"}, where=one(7)),
    "merge of a known slice": lambda sliced: sliced.merge(part(7)),
    "merge of new slices": lambda sliced: sliced.merge(part(7, next(NEW))),
}


@pytest.mark.skipif(backend.BACKEND == "numpy", reason="whose every change is a new value")
@pytest.mark.parametrize("act", ACTS)
def test_a_call_takes_no_more_steps_or_bytes_where_there_are_many_other_slices(act: str):
    measured = []
    for size in (FEW, MANY):
        sliced = filled(size, max_slices=10**6)
        ACTS[act](sliced.copy())  # makes what is made once for the class or the process
        ACTS[act](sliced)  # makes what is made once for the object
        twin = sliced.copy()
        measured.append((steps(lambda one=sliced: ACTS[act](one)), peak(lambda one=twin: ACTS[act](one))))
    (few, few_bytes), (many, many_bytes) = measured
    assert many <= few + 40
    assert many_bytes <= few_bytes + 4_096


@pytest.mark.skipif(backend.BACKEND == "numpy", reason="whose every change is a new value")
def test_values_without_a_slice_of_their_own_take_no_more_steps_where_there_are_many_slices():
    measured = []
    for size in (FEW, MANY):
        sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region", max_slices=size)
        sliced.update_many([{"a"}] * size, [{"b"}] * size, where={"region": range(size)})
        last = max(rank_of(((int, region),)) for region in range(size))
        late = (region for region in NEW if rank_of(((int, region),)) > last)
        regions = [next(late), next(late)]

        def act(sliced: se.Sliced[se.Evaluator] = sliced, regions: list[int] = regions) -> None:
            region = regions.pop()
            sliced.update({"a"}, {"b"}, where={"region": region})
            sliced.update({"a"}, {"b"}, where={"region": region}, weight=2.0)
            sliced.update_many([{"a"}] * 2, [{"b"}] * 2, where={"region": [7, region]})
            sliced.revert({"a"}, {"b"}, where={"region": region})

        act()
        measured.append(steps(act))
    assert measured[1] <= measured[0] + 40


def test_slices_after_any_changes_are_those_of_a_new_object_with_the_same_examples():
    """Values are counted, reverted and merged in any order, while their number goes above and below max_slices."""
    rng = random.Random(5)
    for size in (1, 3, 6):
        sliced, counted = (se.Sliced(se.Evaluator(["f1_micro"]), by="n", max_slices=size) for _ in range(2))
        examples = Counter[int]()
        for _ in range(cases(5000)):
            value = rng.randrange(2 * size + 1)
            if rng.random() < 0.6 and (examples[value] or size >= len(+examples)):
                with suppress(se.RevertError):
                    sliced.revert({"a"}, {"a", "b"}, where={"n": value})
                    examples[value] -= 1
                assert examples[value] >= 0
            elif rng.random() < 0.3:
                part = se.Sliced(se.Evaluator(["f1_micro"]), by="n", max_slices=size)
                added = [value, *range(rng.randrange(2 * size))]
                part.update_many([{"a"}] * len(added), [{"a", "b"}] * len(added), where={"n": added})
                sliced.merge(part)
                examples.update(added)
            else:
                sliced.update({"a"}, {"a", "b"}, where={"n": value})
                examples[value] += 1
            values = [*examples.elements()]
            counted.reset()
            counted.update_many([{"a"}] * len(values), [{"a", "b"}] * len(values), where={"n": values})
            assert sliced.to_bytes() == counted.to_bytes()


@pytest.mark.parametrize("refused", [False, True])
def test_a_value_displaces_the_last_slice_even_if_fewer_slices_were_ranked_before(refused: bool):
    """The ranks of slices are cached; ranks from when there were fewer slices would put the new value in the rest."""
    first, second, new, third, last, *_ = sorted(range(20), key=lambda value: rank_of(((int, value),)))
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="n", max_slices=3)

    def count(*numbers: int, into: se.Sliced[se.Evaluator] = sliced) -> None:
        into.update_many([{"a"}] * len(numbers), [{"a", "b"}] * len(numbers), where={"n": numbers})

    def revert(*numbers: int) -> None:
        for number in numbers:
            sliced.revert({"a"}, {"a", "b"}, where={"n": number})

    count(first, second, third)
    if refused:
        revert(third)
        with pytest.raises(se.RevertError):
            revert(last)
        count(third)
    else:
        revert(second, third)
        count(last)
        revert(last)
        count(second)
        count(third)
    full = se.Sliced(se.Evaluator(["f1_micro"]), by="n", max_slices=3)
    count(first, second, third, last, into=full)
    sliced.merge(full)
    sliced.update({"a"}, {"a", "b"}, where={"n": new})
    assert [part.where["n"] for part in sliced.slices()] == [*sorted((first, second, new)), OTHER]


def test_tables_and_copies_do_not_summarize_the_notes_on_input_once_for_each_slice(monkeypatch: pytest.MonkeyPatch):
    sliced, noted = se.Sliced(se.Evaluator(["f1_micro"]), by="n"), list[str]()
    sliced.update_many([{"a"}] * 400, [{"a"}] * 400, where={"n": range(400)})
    for act in (se.Sliced._repr_html_, se.Sliced.copy, se.Sliced.report):
        noted.clear()
        with monkeypatch.context() as patch:
            for kind, method in ((Sample, "summary"), (InputNotes, "copy")):
                real = getattr(kind, method)
                patch.setattr(kind, method, lambda one, real=real: noted.append(real.__name__) or real(one))
            act(sliced)
        assert len(noted) <= 20, act.__name__
    assert sliced.copy().input_summary == sliced.input_summary
