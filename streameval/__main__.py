"""``python -m streameval`` is the command ``streameval``."""

from __future__ import annotations

import sys

from streameval.cli import main

if __name__ == "__main__":
    sys.exit(main())
