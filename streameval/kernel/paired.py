"""The kernel of label pairs, of the same backend as the rest; loaded only when pairs are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval import kernel
from streameval.kernel import _paired_numpy

__all__ = ["Pairs"]

if TYPE_CHECKING or kernel.BACKEND == "numpy":
    Pairs = _paired_numpy.Pairs
else:
    from streameval.kernel._paired import Pairs
