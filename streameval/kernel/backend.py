"""Chooses between the compiled kernel and its numpy twin, for all folders that import a subject of the kernel.

Each folder next to this file is a subject. Its modules ``compiled`` and ``numpy`` have the same functions; ``numpy`` is
the fallback and the oracle of the tests. A subject is loaded when it is first imported from this module.

``STREAMEVAL_KERNEL`` chooses when the package is imported: ``auto`` (the default: compiled if it was built),
``compiled`` (an error if it was not) or ``numpy``. If the compiled kernel was built and cannot be loaded, ``compiled``
raises an error, and ``auto`` uses numpy with a warning that names the cause.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from streameval.kernel.commit import numpy as commit
    from streameval.kernel.curves import numpy as curves
    from streameval.kernel.decisions import numpy as decisions
    from streameval.kernel.packing import numpy as packing
    from streameval.kernel.pairs import numpy as pairs
    from streameval.kernel.rankings import numpy as rankings
    from streameval.kernel.strings import numpy as strings
    from streameval.kernel.tape import numpy as tape

__all__ = ["BACKEND", "commit", "curves", "decisions", "packing", "pairs", "rankings", "strings", "tape"]


def _chosen() -> Literal["compiled", "numpy"]:
    wanted = os.environ.get("STREAMEVAL_KERNEL", "auto")
    if wanted not in ("auto", "compiled", "numpy"):
        raise ImportError(f"STREAMEVAL_KERNEL must be auto, compiled or numpy, not {wanted!r}")
    if wanted == "numpy":
        return "numpy"
    try:
        import_module("streameval.kernel.decisions.compiled")
    except ImportError as error:
        from pathlib import Path  # lazily, as pathlib takes a tenth of this package's import time

        folder = Path(__file__).parent
        built = [file.name for file in (folder / "decisions").glob("compiled.*") if file.suffix in (".so", ".pyd")]
        problem = "the compiled kernel was not built"
        remedy = "install with a C compiler and STREAMEVAL_BUILD=require to see why"
        if built:
            problem = f"the compiled kernel was built ({built[0]}) but cannot be loaded: {error}"
            remedy = "install streameval again"
        elif not folder.exists():
            problem = "streameval is imported from a zip file, from which no compiled kernel can be loaded"
            remedy = "install it with pip"
        elif (folder.parents[1] / "setup.py").exists():
            problem = "streameval is imported from its source tree, where the kernel is not compiled"
            remedy = "leave that folder, or install with pip install --editable"
        elif wanted == "auto":
            return "numpy"
        if wanted == "compiled":
            raise ImportError(f"STREAMEVAL_KERNEL=compiled, but {problem}; {remedy}") from error
        slower = "the kernel in numpy is 10 to 50 times slower (STREAMEVAL_KERNEL=numpy chooses it silently)"
        warnings.warn(f"{problem}; {remedy}; {slower}", RuntimeWarning, stacklevel=3)
        return "numpy"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # the compiled modules enable it unless a flag forbids that
        harm = "threads that share an object can lose examples or crash"
        warnings.warn(
            f"the kernel requires the GIL, or {harm}; leave out PYTHON_GIL=0 or -X gil=0", RuntimeWarning, stacklevel=3
        )
    return "compiled"


BACKEND: Literal["compiled", "numpy"] = _chosen()


def __getattr__(subject: str) -> Any:
    if subject not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {subject!r}")
    module = globals()[subject] = import_module(f"streameval.kernel.{subject}.{BACKEND}")
    return module
