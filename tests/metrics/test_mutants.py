"""A sample of formulas made wrong on purpose; ``python -m tests.support.mutants`` tries all."""

from __future__ import annotations

import random

import pytest

import streameval as se
from tests.support.each import with_each
from tests.support.equivalents import EQUIVALENT
from tests.support.mutants import is_equivalent, is_killed, is_shared, mutants_of, place_of


@with_each("entry", se.catalogue())
def test_every_entry_has_five_wrong_formulas(entry: se.MetricInfo):
    assert len([mutant for mutant in mutants_of(entry) if not is_equivalent(mutant)]) >= 5


def test_every_change_listed_as_equivalent_is_still_a_mutant_of_a_formula():
    changes = {(place_of(mutant), mutant.change) for entry in se.catalogue() for mutant in mutants_of(entry)}
    assert set(EQUIVALENT) - changes == set()


@pytest.mark.parametrize("entry", se.catalogue()[::2], ids=lambda entry: entry.name)
def test_a_wrong_formula_fails_its_definition(entry: se.MetricInfo):
    mutants = [mutant for mutant in mutants_of(entry) if not is_equivalent(mutant) and not is_shared(mutant)]
    for mutant in random.Random(entry.name).sample(mutants, min(4, len(mutants))):
        assert is_killed(mutant), mutant.change
