"""Many cases in one test: an item of its own takes three milliseconds of workers and controller, most cases less."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable

from tests.support.naming import case_name


def with_each(name: str, values: Iterable[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, but within one test; what fails is noted on the error.

    For tests that skip nothing within, and whose fixtures hold nothing of the case before.
    """
    values = list(values)
    assert values

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def together(**arguments: object) -> None:
            for value in values:
                try:
                    test(**arguments, **{name: value})
                except BaseException as error:
                    error.add_note(f"{name} = {case_name(value)}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        assert len(left) < len(signature.parameters), name
        together.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return together

    return decorate
