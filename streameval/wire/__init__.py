"""State to bytes and back: versioned, checksummed, canonical, and never pickle.

Layout, all integers little-endian: magic, format version, kind; configuration; metric names; the decisions state, then
the other states that the configuration names; CRC-32 of all before it. Counts are stored column by column in as few
bytes per value as the largest needs, labels as UTF-8 with a length. Bytes that would not be written exactly so are
refused, so equal states and equal bytes are the same thing.
"""

from streameval.wire.envelope import CHECKPOINT, LEDGER, SLICES, VERSION, kind_of
from streameval.wire.files import clear_leftovers, naming_file, read_file, write_file
from streameval.wire.holders import (
    MOST,
    Given,
    SavedSum,
    decode_checkpoint,
    decode_ledger,
    digest,
    encode_checkpoint,
    encode_ledger,
)
from streameval.wire.saved import RECORDED, WINDOWS, Saved, SavedWindow, decode, encode
from streameval.wire.states import nothing_counted

__all__ = [
    "CHECKPOINT", "LEDGER", "MOST", "RECORDED", "SLICES", "VERSION", "WINDOWS", "Given", "Saved", "SavedSum",
    "SavedWindow", "clear_leftovers", "decode", "decode_checkpoint", "decode_ledger", "digest", "encode",
    "encode_checkpoint", "encode_ledger", "kind_of", "naming_file", "nothing_counted", "read_file", "write_file",
]  # fmt: skip
