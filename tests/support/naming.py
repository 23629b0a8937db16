"""Names of cases that are the same in every process, because pytest-xdist compares them between its workers."""

from __future__ import annotations

import re


def case_name(value: object) -> str:
    """The `repr` of a value, without addresses in memory, and with sets in order."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__} {sorted(value, key=repr)}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
