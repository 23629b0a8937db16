"""Tables are of one moment: what they have not read by then they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import streameval as se

READS: dict[str, Callable[[Any], object]] = {
    "rankings": lambda tables: tables.groups,
    "curves": lambda tables: tables.read,
    "pairs": lambda tables: tables.content(),
}
CHANGES: dict[str, Callable[[se.Evaluator], None]] = {
    "update": lambda ev: ev.update({"a"}, {"a": 0.5}),
    "reset": lambda ev: ev.reset(),
    "merge": lambda ev: ev.merge(ev.copy()),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("state", READS)
def test_tables_refuse_what_they_have_not_read_once_the_object_has_changed(state: str, change: str):
    ev = se.Evaluator(threshold=0.4, keep=["rankings", "curves", "pairs"])
    ev.update({"a"}, {"a": 0.7, "b": 0.6})
    tables, known = ev.tables(state), ev.tables(state)
    READS[state](known)
    CHANGES[change](ev)
    READS[state](known)
    with pytest.raises(se.StreamevalError, match=r"the state has changed; call tables\(\) again"):
        READS[state](tables)
    READS[state](ev.tables(state))
