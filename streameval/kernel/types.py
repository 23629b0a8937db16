"""Names for what the kernel takes and returns."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
UInt8Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
WordArray: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
ScoreArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]] | FloatArray

RowKey: TypeAlias = tuple[int, int, int, int]
"""How many labels of an example are true, predicted, both, and masked."""

Lists: TypeAlias = tuple[IntArray, IntArray]
"""Lists of columns: offsets, one more than there are lists, and what stands between them."""

DONE, OTHER, REFUSED, FULL = 0, 1, 2, 3
"""What a method answers that can decline; see `streameval.kernel._numpy.Counts`."""
