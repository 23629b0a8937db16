"""State to bytes and back: versioned, checksummed, canonical, never pickle. ``docs/format.md`` specifies every byte."""
