"""The loops over examples. What reaches them is checked, and every function adds or returns integers only.

``BACKEND`` is which of two implementations is in use, ``"compiled"`` or ``"numpy"``; they give the same bits. See
`streameval.kernel.backend`.
"""

from streameval.kernel.backend import BACKEND

__all__ = ["BACKEND"]
