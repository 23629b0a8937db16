"""The columns of labels."""

from __future__ import annotations

import random

import pytest

from streameval.schema.labels import LabelIndex, in_order


@pytest.mark.parametrize("declared", [0, 3])
@pytest.mark.parametrize("most", [1, 9, 90])
def test_labels_are_sorted_after_every_addition(declared: int, most: int):
    draw = random.Random(most)
    index = LabelIndex([f"z{n}" for n in range(declared)])
    for _ in range(90):
        for _ in range(draw.randint(1, most)):
            index.add(draw.choice([draw.randrange(10**6), f"s{draw.randrange(10**6)}", 2**70 + draw.randrange(99)]))
        grown = sorted(range(declared, len(index)), key=lambda column: in_order(index.labels[column]))
        assert index.order().tolist() == [*range(declared), *grown]
