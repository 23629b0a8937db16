"""Tables of counts as bytes, of whichever kernel is in use; apart from the others, since many are never written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.kernel import BACKEND, _packed_numpy
from streameval.kernel._packed_numpy import BEYOND, CUT, OTHERWISE, WIDE

__all__ = ["BEYOND", "CUT", "OTHERWISE", "WIDE", "can_be", "pack_columns", "unpack_columns"]

if TYPE_CHECKING or BACKEND == "numpy":
    can_be, pack_columns, unpack_columns = (
        _packed_numpy.can_be,
        _packed_numpy.pack_columns,
        _packed_numpy.unpack_columns,
    )
else:
    from streameval.kernel._packed import can_be, pack_columns, unpack_columns
