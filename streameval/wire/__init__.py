"""State to bytes and back: versioned, checksummed, canonical, never pickle. ``docs/format.md`` specifies every byte.

Bytes that would not be written exactly so are refused, so equal states and equal bytes are the same thing.
"""
