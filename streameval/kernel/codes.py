"""The loops over codes, of whichever kernel is in use; apart from the others, since most streams have no columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.kernel import BACKEND, _codes_numpy

__all__ = ["grouped", "taken", "text_codes"]

if TYPE_CHECKING or BACKEND == "numpy":
    grouped, taken, text_codes = _codes_numpy.grouped, _codes_numpy.taken, _codes_numpy.text_codes
else:
    from streameval.kernel._codes import grouped, taken, text_codes
