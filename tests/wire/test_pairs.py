"""Pairs and sets of labels in bytes: for each check there is a content that only this check refuses."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

from streameval.errors import FormatError
from streameval.states.decisions import DecisionContent
from streameval.states.options import PARTS, PairOptions
from streameval.states.pairs import PairBlock, PairContent
from streameval.wire import pairs as wire
from streameval.wire.fields import Sink, Source
from streameval.wire.pairs import put_pairs, take_pairs

KINDS = ("confusion", "contribution", "true_true", "true_pred", "pred_pred")
# For each kind of pair (row, column, numerator, denominator, times, weight); for each set of true labels its times and
# weight; for each label its false negatives, false positives and true positives, and their weights in units of 1/2.
GOOD: dict[str, Any] = {
    "parts": PARTS, "scale": 1, "of_decisions": 1, "examples": 6, "whole": 13, "labels": ("a", "b", "c"),
    "cells": [[2, 1, 2], [1, 2, 2], [0, 1, 1]], "weights": [[5, 2, 4], [3, 4, 5], [0, 2, 3]],
    "confusion": [(0, 1, 1, 1, 1, 1), (0, 1, 1, 2, 1, 2), (1, -1, 1, 1, 1, 1)],
    "contribution": [(0, 0, 2, 3, 1, 3), (0, 1, 1, 2, 1, 1)],
    "true_true": [(0, 1, 1, 1, 2, 5), (1, 2, 1, 1, 1, 3)],
    "true_pred": [(0, 1, 1, 1, 2, 3), (1, 0, 1, 1, 1, 1)],
    "pred_pred": [(0, 2, 1, 1, 1, 1)],
    "sets": [((), 1, 1), ((0,), 2, 4), ((0, 1), 2, 5), ((1, 2), 1, 3)],
}  # fmt: skip
PLAIN = {"scale": None, "of_decisions": None}
IN_QUARTERS = {"of_decisions": 2, "whole": 26, "weights": [[10, 4, 8], [6, 8, 10], [0, 4, 6]]}
EMPTY = PLAIN | {"parts": ("confusions",), "labels": (), "cells": []}
MANY = PLAIN | {
    "parts": ("confusions",), "labels": tuple("abcd"), "examples": 2**62, "cells": [[2**62, 2**62, 0]] * 4
}  # fmt: skip


def taken(**changes: Any) -> list[PairBlock]:
    """Write these pairs and sets, and return the blocks that are read back."""
    good = GOOD | changes
    labels, scale, parts = good["labels"], good["scale"], good["parts"]
    pairs = {}
    for kind, name in enumerate(KINDS, 1):
        rows = np.array(good[name], object).reshape(-1, 6)
        keys = np.insert(rows[:, :4].astype(np.int64), 0, kind, axis=1)
        pairs[kind] = (keys, rows[:, 4].astype(np.int64), rows[:, 5].tolist())
    sets = tuple(map(list, zip(*good["sets"], strict=True))) if "labelsets" in parts else ([], [], [])
    content = PairContent(
        good["examples"], labels, 0, scale, parts, 0,
        {kind: lambda block=block: [block] for kind, block in pairs.items()}, lambda: [sets],
    )  # fmt: skip
    sink = Sink()
    put_pairs(sink, content)
    source = Source(b"".join(sink.pieces()), 0)
    cells = np.array([[0, *row, 0] for row in good["cells"]], np.int64).reshape(-1, 5)
    weights = [*chain.from_iterable([*row, 0] for row in good["weights"]), good["whole"]]
    keys = np.zeros((0, 4), np.int64)
    decisions = DecisionContent(
        good["examples"], labels, 0, good["of_decisions"], cells, keys, keys[:, 0], lambda: iter(weights)
    )
    read = take_pairs(source, PairOptions(parts), labels[: good.get("known")], decisions)
    return [block for make in read.pairs.values() for block in make()]


RIGHT: dict[str, dict[str, Any]] = {
    "weighted": {},
    "plain": PLAIN,
    "decisions in finer units": IN_QUARTERS,
    "decisions without weights": {
        "of_decisions": None, "sets": [((), 1, 2), ((0,), 2, 4), ((0, 1), 2, 4), ((1, 2), 1, 2)],
        "true_true": [(0, 1, 1, 1, 2, 5)],
    },
    "decisions in coarser units": {
        "of_decisions": 0, "whole": 7, "weights": [[3, 1, 2], [2, 2, 2], [0, 1, 2]],
        "sets": [((), 1, 0), ((0,), 2, 6), ((0, 1), 2, 4), ((1, 2), 1, 4)],
    },
    "weights that make no difference to labels": {
        "scale": None, "whole": 12, "weights": [[4, 2, 4], [2, 4, 4], [0, 2, 2]]
    },
    "sets in finer units than labels": {
        "of_decisions": 0, "examples": 4, "whole": 2, "cells": [[1, 0, 1], [1, 0, 1], [0, 1, 0]],
        "weights": [[1, 0, 0], [1, 0, 0], [0, 1, 0]], "parts": ("labelsets",),
        "sets": [((), 1, 1), ((0,), 1, 1), ((0, 1), 1, 1), ((1,), 1, 1)],
    },
    "labels in finer units than all examples": {
        "examples": 4, "whole": 4, "cells": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "weights": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "parts": ("cooccurrence",),
        "true_true": [], "true_pred": [], "pred_pred": [],
    },
    "weights of 0": {
        "scale": 0, "of_decisions": 0, "whole": 0, "weights": [[0] * 3] * 3, "parts": ("confusions",),
        "confusion": [(0, 1, 1, 1, 1, 0)],
    },
    "examples without labels": EMPTY | {"confusion": [(-1, -1, 1, 1, 6, 0)]},
    "very many examples": MANY | {"confusion": [(0, 1, 1, den, 2**60, 0) for den in range(1, 5)]},
}  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 2, 2**12])
@pytest.mark.parametrize("right", RIGHT)
def test_written_pairs_and_sets_are_read_back(right: str, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "ROWS", at_once)
    taken(**RIGHT[right])


WRONG: dict[str, dict[str, Any]] = {
    "labels other than those of the decisions": EMPTY
    | {"labels": ("a",), "cells": [[1, 1, 1]], "known": 0, "confusion": []},
    "a row beyond all": PLAIN | {"true_pred": [(3, 0, 1, 1, 1, 0)]},
    "a column beyond all": PLAIN | {"true_pred": [(0, 3, 1, 1, 1, 0)]},
    "a numerator of 0": PLAIN | {"contribution": [(0, 0, 0, 3, 1, 0)]},
    "more than a whole": PLAIN | {"contribution": [(0, 0, 3, 2, 1, 0)]},
    "a denominator beyond all": PLAIN | {"confusion": [(0, 1, 1, 4, 1, 0)]},
    "a pair that never occurs": PLAIN | {"true_pred": [(0, 1, 1, 1, 0, 0)]},
    "times that agree but for multiples of 2**64": PLAIN
    | {"confusion": [(0, 1, 1, den, 2**63 - 1, 0) for den in (1, 2)]},
    "sums that agree but for multiples of 2**64": MANY
    | {"confusion": [(0, 1, 1, den, 2**62, 0) for den in range(1, 5)]},
    "true labels out of order": PLAIN | {"true_true": [(1, 0, 1, 1, 1, 0)]},
    "predictions out of order": PLAIN | {"pred_pred": [(1, 0, 1, 1, 1, 0)]},
    "a label true with itself": PLAIN | {"true_true": [(0, 0, 1, 1, 1, 0)]},
    "a label predicted where it is true": PLAIN | {"true_pred": [(0, 0, 1, 1, 1, 0)]},
    "no label true with another": PLAIN | {"true_true": [(-1, 0, 1, 1, 1, 0)]},
    "no label predicted with a true one": PLAIN | {"true_pred": [(0, -1, 1, 1, 1, 0)]},
    "no label true with a predicted one": PLAIN | {"true_pred": [(-1, 0, 1, 1, 1, 0)]},
    "more than one share of another label": PLAIN | {"contribution": [(0, 1, 2, 3, 1, 0)]},
    "pairs out of order": PLAIN | {"true_pred": [(1, 0, 1, 1, 1, 0), (0, 1, 1, 1, 1, 0)]},
    "a pair twice": PLAIN | {"true_pred": [(0, 1, 1, 1, 1, 0), (0, 1, 1, 1, 1, 0)]},
    "more pairs than labels": PLAIN | {"confusion": [(0, 1, 1, 1, 4, 0), (0, 1, 1, 2, 1, 0)]},
    "heavier pairs than labels": {"confusion": [(0, 1, 1, 1, 1, 9), (0, 1, 1, 2, 1, 1)]},
    "decisions in units that are too fine": IN_QUARTERS | {"whole": 27},
    "weights that only the decisions have": {"scale": None},
    "units finer than needed": IN_QUARTERS | {"scale": 2, "parts": ("confusions",), "confusion": [(0, 1, 1, 1, 1, 2)]},
    "a set that never occurs": PLAIN | {"sets": [*GOOD["sets"], ((2,), 0, 0)]},
    "sets out of order": PLAIN | {"sets": [*GOOD["sets"][2:], *GOOD["sets"][:2]]},
    "a set twice": PLAIN
    | {"sets": [((), 1, 0), ((0,), 1, 0), *GOOD["sets"][1:3], ((1, 2), 1, 0)], "examples": 7}
    | {"cells": [[3, 1, 2], [1, 2, 2], [0, 1, 1]]},
    "labels of a set out of order": PLAIN | {"sets": [*GOOD["sets"][:3], ((2, 1), 1, 0)]},
    "a label twice in a set": PLAIN
    | {"sets": [*GOOD["sets"][:3], ((1, 1, 2), 1, 0)], "cells": [[2, 1, 2], [2, 2, 2], [0, 1, 1]]},
    "a label before the first": PLAIN | {"sets": [((), 1, 0), ((-1, 1), 1, 0), *GOOD["sets"][1:3]]},
    "a label behind the last": PLAIN | {"sets": [*GOOD["sets"][:3], ((1, 3), 1, 0)]},
    "more sets than examples": PLAIN | {"sets": [((), 2, 0), *GOOD["sets"][1:]]},
    "heavier sets than examples": {"sets": [((), 1, 2), *GOOD["sets"][1:]]},
    "more sets than labels": PLAIN | {"sets": [((), 1, 0), ((0,), 1, 0), ((0, 1), 3, 0), ((1, 2), 1, 0)]},
}


@pytest.mark.parametrize("at_once", [1, 2**12])
@pytest.mark.parametrize("wrong", WRONG)
def test_pairs_and_sets_that_no_state_writes_are_refused(wrong: str, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "ROWS", at_once)
    with pytest.raises(FormatError):
        taken(**WRONG[wrong])
