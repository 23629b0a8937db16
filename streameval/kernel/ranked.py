"""The loops of rankings, of whichever kernel is in use; apart from the others, since few streams need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.kernel import BACKEND, _ranked_numpy
from streameval.kernel._ranked_numpy import Records

__all__ = ["RankCounts", "Records"]

if TYPE_CHECKING or BACKEND == "numpy":
    RankCounts = _ranked_numpy.RankCounts
else:
    from streameval.kernel._ranked import RankCounts
