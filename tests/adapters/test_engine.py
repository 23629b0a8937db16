"""The functions that adapters share, tested with plain functions in place of an engine."""

from __future__ import annotations

import pytest

import streameval as se
from streameval.adapters import engine
from streameval.adapters.engine import check_job, raise_ours, tree
from streameval.schema.text import check_number
from streameval.tabular.job import Job


@pytest.mark.parametrize("fan_in", [2, 3, 16])
@pytest.mark.parametrize("size", range(9))
def test_a_tree_merges_everything_once_and_at_most_fan_in_states_at_a_time(monkeypatch, size: int, fan_in: int):
    monkeypatch.setattr(engine, "FAN_IN", fan_in)
    widths = []

    def merge(*states: tuple[int, ...]) -> tuple[int, ...]:
        widths.append(len(states))
        return sum(states, ())

    assert tree(merge, [(number,) for number in range(size)]) == tuple(range(size))
    assert all(width <= fan_in for width in widths)
    assert widths == [] if size == 1 else widths


class WrappedError(Exception):
    def __init__(self, inner: object) -> None:
        super().__init__("a long trace")
        self.inner = inner


def test_a_wrapped_error_of_this_package_is_raised_unwrapped():
    with pytest.raises(se.LabelError, match=r"^no such label$") as caught, raise_ours(WrappedError, lambda e: e.inner):
        raise WrappedError(se.LabelError("no such label"))
    assert isinstance(caught.value.__cause__, WrappedError)


def test_a_wrapped_error_of_another_kind_is_raised_unchanged():
    for inner in (ValueError("theirs"), None):
        with pytest.raises(WrappedError), raise_ours(WrappedError, lambda error: error.inner):
            raise WrappedError(inner)


def test_shared_checks_refuse_invalid_arguments():
    check_number("tasks", 1, 1)
    for wrong in (0, True, 1.0, None):
        with pytest.raises(se.InputError, match="tasks must be an integer of at least 1, not"):
            check_number("tasks", wrong, 1)
    check_job(Job.of(actual="a", predicted="b"))
    with pytest.raises(se.InputError, match="job must be a Job"):
        check_job("f1")
    with pytest.raises(se.InputError, match="example= and label= need all rows of an example together"):
        check_job(Job.of(actual="a", predicted="b", example="id", label="tag"))
    with pytest.warns(se.DataWarning, match="actual and predicted both name 'a', so that every prediction is right"):
        check_job(Job.of(actual="a", predicted="a"))
