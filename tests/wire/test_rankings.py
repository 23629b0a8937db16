"""Rankings in bytes: a rank that no example can have is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.evaluation.core import core_of
from streameval.states.ranking_sums import LABELS
from streameval.wire.fields import Sink, Source
from streameval.wire.rankings import put_rankings, take_rankings


@pytest.mark.parametrize("rank", [2, 3, 4, 2**32 + 2])
def test_a_rank_beyond_the_number_of_labels_is_refused(rank: int):
    ev = se.Evaluator(["lwlrap"])
    ev.update({"a", "b"}, {"a": 0.9, "b": 0.5, "c": 0.1})
    contents: Any = core_of(ev).states.content()
    content, decisions = contents["rankings"], contents["decisions"]
    tables = list(content.tables)
    keys = np.array(tables[LABELS].keys[:])
    keys[keys[:, 1] == 2, 1] = rank
    tables[LABELS] = tables[LABELS]._replace(keys=keys)
    sink = Sink()
    put_rankings(sink, replace(content, tables=tuple(tables)))
    source = Source(b"".join(sink.pieces()), 0)
    if rank <= 3:
        assert take_rankings(source, content.options, decisions.labels, decisions).tables[LABELS].keys.max() == rank
    else:
        with pytest.raises(se.FormatError, match="contradict"):
            take_rankings(source, content.options, decisions.labels, decisions)
