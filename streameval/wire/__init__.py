"""State to bytes and back: versioned, checksummed, canonical, and never pickle.

Layout, all integers little-endian: magic, format version, kind; configuration; metric names; the decisions state, then
the other states that the configuration names; CRC-32 of all before it. Counts are stored column by column in as few
bytes per value as the largest needs, labels as UTF-8 with a length. Bytes that would not be written exactly so are
refused, so equal states and equal bytes are the same thing.
"""
