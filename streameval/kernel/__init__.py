"""The loops over examples. What reaches them is checked, and every function adds or returns integers only.

``BACKEND`` tells which of two implementations is in use: ``"compiled"`` or ``"numpy"``. They give the same bits.
``STREAMEVAL_KERNEL`` chooses when the package is imported: ``auto`` (the default: compiled if it was built),
``compiled`` (an error if it was not) or ``numpy``.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from streameval.kernel import _numpy, _tape
from streameval.kernel.types import DONE, FULL, OTHER, REFUSED

__all__ = [
    "BACKEND",
    "DONE",
    "FULL",
    "OTHER",
    "REFUSED",
    "Counts",
    "Tape",
    "count_groups",
    "list_order",
    "score_lists",
    "weigh_dense",
    "weigh_lists",
]


def _chosen() -> Literal["compiled", "numpy"]:
    wanted = os.environ.get("STREAMEVAL_KERNEL", "auto")
    if wanted not in ("auto", "compiled", "numpy"):
        raise ImportError(f"STREAMEVAL_KERNEL must be auto, compiled or numpy, not {wanted!r}")
    if wanted == "numpy":
        return "numpy"
    try:
        from streameval.kernel import _compiled, _ranked  # noqa: F401
    except ImportError as error:
        if wanted == "compiled":
            raise ImportError(
                "STREAMEVAL_KERNEL=compiled, but the compiled kernel was not built; install with a C compiler and "
                "STREAMEVAL_BUILD=require to see why"
            ) from error
        if (Path(__file__).parents[2] / "setup.py").exists():
            warnings.warn(
                "streameval is imported from its source tree, where the kernel is not compiled; leave that folder, "
                "install with pip install --editable, or set STREAMEVAL_KERNEL=numpy",
                RuntimeWarning,
                stacklevel=2,
            )
        return "numpy"
    return "compiled"


BACKEND: Literal["compiled", "numpy"] = _chosen()

if TYPE_CHECKING or BACKEND == "numpy":
    Counts, count_groups, list_order, Tape = _numpy.Counts, _numpy.count_groups, _numpy.list_order, _tape.Tape
    score_lists, weigh_dense, weigh_lists = _numpy.score_lists, _numpy.weigh_dense, _numpy.weigh_lists
else:
    from streameval.kernel._compiled import (
        Counts,
        Tape,
        count_groups,
        list_order,
        score_lists,
        weigh_dense,
        weigh_lists,
    )
