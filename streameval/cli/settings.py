"""What holds for a whole run of the command: how much it says, in which colors, and with how many decimals."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from enum import StrEnum

Color = StrEnum("Color", ["auto", "always", "never"])

QUIET = ContextVar("QUIET", default=False)
COLOR = ContextVar("COLOR", default=Color.auto)
DIGITS = ContextVar("DIGITS", default=4)


def note(text: str) -> None:
    """Say something on standard error that is neither a warning nor an error."""
    if not QUIET.get():
        sys.stderr.write(f"{text}\n")
