"""The loops over examples. Arrays that reach them are checked, C-contiguous and of the stated types.

Every function adds to, or returns, integers only.
"""

from streameval.kernel._numpy import count_dense, count_entries, limbs, tally, weigh_cells, weigh_dense, weigh_groups

__all__ = ["count_dense", "count_entries", "limbs", "tally", "weigh_cells", "weigh_dense", "weigh_groups"]
