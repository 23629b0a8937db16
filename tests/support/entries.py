"""Parts of the catalogue."""

from __future__ import annotations

import streameval as se


def decided_entries() -> list[se.Entry]:
    """The entries that are read from decisions; those of scores have oracles and tests of their own."""
    return [entry for entry in se.catalogue() if entry.state == "decisions"]
