"""A sample of formulas made wrong on purpose; ``python -m tests.support.mutants`` tries all."""

from __future__ import annotations

import random

import pytest

import streameval as se
from tests.support.mutants import is_equivalent, is_killed, mutants_of

SAMPLE = [entry for entry in se.catalogue() if entry.state in ("decisions", "rankings")][::6]


@pytest.mark.parametrize("entry", SAMPLE, ids=lambda entry: entry.name)
def test_a_wrong_formula_fails_its_definition(entry: se.Entry):
    mutants = mutants_of(entry)
    for mutant in random.Random(entry.name).sample(mutants, min(8, len(mutants))):
        assert is_killed(mutant) or is_equivalent(mutant), mutant.change
