# The hash table of table.h, its keys as arrays of numbers, and its seed; used by all modules with keys.

from libc.stdint cimport int64_t, uint64_t

import numpy as np
from streameval.kernel.memory cimport check_memory

cdef extern from "table.h" nogil:
    uint64_t* se_seed
    ctypedef struct se_sums:
        uint64_t* places
        size_t mask, used, promised
        int sums
    uint64_t* se_sums_find(const se_sums*, uint64_t, uint64_t)
    int se_sums_init(se_sums*, size_t, int)
    int se_sums_copy(se_sums*, const se_sums*)
    int64_t* se_sums_next(const se_sums*, size_t*, uint64_t*, uint64_t*)
    size_t se_sums_live(const se_sums*)
    int se_sums_rebuild(se_sums*, size_t)
    int se_sums_reserve(se_sums*, size_t)
    int se_sums_promise(se_sums*, size_t)
    int64_t* se_sums_at(se_sums*, uint64_t, uint64_t)
    void se_sums_add(se_sums*, uint64_t, uint64_t, int64_t)
    int64_t se_sums_count(const se_sums*, uint64_t, uint64_t)

# The two words of a key, which is four numbers below 2**32; a key of three numbers has 0 as the fourth.

cdef inline uint64_t outer_of(const int64_t[:, :] key, Py_ssize_t row) noexcept:
    return <uint64_t>key[row, 0] | <uint64_t>key[row, 1] << 32

cdef inline uint64_t inner_of(const int64_t[:, :] key, Py_ssize_t row) noexcept:
    return <uint64_t>key[row, 2] | (<uint64_t>key[row, 3] << 32 if key.shape[1] > 3 else 0)


cdef inline entries_of(const se_sums* table):
    """The keys that have an example, shape (distinct, 4), and their sums, shape (distinct, sums)."""
    cdef size_t at = 0
    cdef Py_ssize_t row, part, live = se_sums_live(table)
    cdef uint64_t outer = 0, inner = 0, low = 0xFFFFFFFF
    cdef int64_t* counted
    keys, sums = np.empty((live, 4), np.int64), np.empty((live, table.sums), np.int64)
    cdef int64_t[:, ::1] key = keys
    cdef int64_t[:, ::1] sum_ = sums
    for row in range(live):
        counted = se_sums_next(table, &at, &outer, &inner)
        key[row, 0], key[row, 1], key[row, 2], key[row, 3] = outer & low, outer >> 32, inner & low, inner >> 32
        for part in range(table.sums):
            sum_[row, part] = counted[part]
    return keys, sums


cdef inline int fill(se_sums* table, keys, sums) except -1:
    """Add to the sums of keys, one row of arrays for each key."""
    cdef const int64_t[:, :] key = keys
    cdef const int64_t[:, :] sum_ = sums
    cdef Py_ssize_t row, part
    cdef int64_t* place
    check_memory(se_sums_reserve(table, key.shape[0]))
    for row in range(key.shape[0]):
        place = se_sums_at(table, outer_of(key, row), inner_of(key, row))
        for part in range(table.sums):
            place[part] += sum_[row, part]
    return 0


cdef inline int set_seed() except -1:
    """Set the seed of hashes; each module that uses tables calls this once, on import."""
    from streameval.kernel.types import SEED
    se_seed[0], se_seed[1] = SEED
    return 0
