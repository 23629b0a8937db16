"""Many cases in one test, because a pytest item costs three milliseconds and most cases take less."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable

from tests.support.naming import case_name


def with_each(name: str, values: Iterable[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, but within one test; a note on the error says which case failed.

    Only for tests that do not skip and whose fixtures carry no state from one case to the next.
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
