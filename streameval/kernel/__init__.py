"""The loops over examples. Callers pass checked arguments; every function adds or returns integers only.

``BACKEND`` names the implementation in use, ``"compiled"`` or ``"numpy"``; both return the same bits. See
`streameval.kernel.backend`, from which all other folders import it.
"""

from streameval.kernel.backend import BACKEND

__all__ = ["BACKEND"]
