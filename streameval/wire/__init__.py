"""State to bytes and back: versioned, checksummed, canonical, and never pickle.

Layout, all integers little-endian: magic, format version, kind; configuration; metric names; the decisions state, then
the other states that the configuration names; CRC-32 of all before it. Counts are stored column by column in as few
bytes per value as the largest needs, labels as UTF-8 with a length. Bytes that would not be written exactly so are
refused, so equal states and equal bytes are the same thing.
"""

from streameval.wire.envelope import SLICES, kind_of
from streameval.wire.files import read_file, write_file
from streameval.wire.saved import RECORDED, WINDOWS, Saved, SavedWindow, decode, encode
from streameval.wire.states import nothing_counted

__all__ = [
    "RECORDED", "SLICES", "WINDOWS", "Saved", "SavedWindow", "decode", "encode", "kind_of",
    "nothing_counted", "read_file", "write_file",
]  # fmt: skip
