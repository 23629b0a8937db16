from libc.stdint cimport int64_t, uint64_t

cdef extern from "table.h" nogil:
    uint64_t* se_seed
    ctypedef struct se_sums:
        uint64_t* places
        size_t mask
        size_t used
        size_t promised
        int sums
    uint64_t* se_sums_find(const se_sums*, uint64_t, uint64_t)
    int se_sums_init(se_sums*, size_t, int)
    int64_t* se_sums_next(const se_sums*, size_t*, uint64_t*, uint64_t*)
    size_t se_sums_live(const se_sums*)
    int se_sums_rebuild(se_sums*, size_t)
    int se_sums_reserve(se_sums*, size_t)
    int se_sums_promise(se_sums*, size_t)
    int64_t* se_sums_at(se_sums*, uint64_t, uint64_t)
    void se_sums_add(se_sums*, uint64_t, uint64_t, int64_t)
    int64_t se_sums_count(const se_sums*, uint64_t, uint64_t)

cdef inline int set_seed() except -1:
    """Each module with tables calls this once, when it is imported."""
    import os
    se_seed[0] = int.from_bytes(os.urandom(8), "little")
    se_seed[1] = int.from_bytes(os.urandom(8), "little")
    return 0
