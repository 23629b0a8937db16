"""Names for what the kernel takes and returns."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
UInt8Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
ScoreArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]] | FloatArray

RowKey: TypeAlias = tuple[int, int, int, int]
"""How many labels of an example are true, predicted, both, and masked."""

Lists: TypeAlias = tuple[IntArray, IntArray]
"""Lists of columns: offsets, one more than there are lists, and what stands between them."""

TapeContents: TypeAlias = tuple[Int32Array, Int32Array, FloatArray | None, IntArray | None]
"""Examples one behind the other: how many slots each has, all slots, weights unless all are 1, stamps if timed."""

DONE, OTHER, REFUSED, FULL = 0, 1, 2, 3
"""What a method answers that can decline; see `streameval.kernel._numpy.Counts`."""
