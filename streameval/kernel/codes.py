"""The loops over codes, of whichever kernel is in use; apart from the others, since most streams have no columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.kernel import BACKEND, _codes_numpy
from streameval.kernel._codes_numpy import are_texts, are_views

__all__ = ["are_texts", "are_views", "from_zero", "grouped", "listed_codes", "taken", "text_codes", "view_codes"]

if TYPE_CHECKING or BACKEND == "numpy":
    from_zero = _codes_numpy.from_zero
    grouped, listed_codes, taken = _codes_numpy.grouped, _codes_numpy.listed_codes, _codes_numpy.taken
    text_codes, view_codes = _codes_numpy.text_codes, _codes_numpy.view_codes
else:
    from streameval.kernel._codes import from_zero, grouped, listed_codes, taken, text_codes, view_codes
