"""The loops of binned scores, of whichever kernel is in use; apart from the others, since few streams need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.kernel import BACKEND, _binned_numpy
from streameval.kernel._binned_numpy import BINS, DROPPED, SCORE_MAX, edges_of, flipped_bins, scores_of

__all__ = ["BINS", "DROPPED", "SCORE_MAX", "Bins", "bins_of", "edges_of", "flipped_bins", "scores_of"]

if TYPE_CHECKING or BACKEND == "numpy":
    Bins, bins_of = _binned_numpy.Bins, _binned_numpy.bins_of
else:
    from streameval.kernel._binned import Bins, bins_of
