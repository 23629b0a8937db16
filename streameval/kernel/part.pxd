cdef extern from "part.h":  # prepared parts of changes, which every module with tables makes
    const char* SE_PART_NAME
    const char* SE_FOLLOWER_NAME
    ctypedef struct se_part:
        void (*commit)(void*) noexcept
        void* data
        void (*release)(void*) noexcept
    ctypedef struct se_follower:
        void* table
        bint reads_scores
        int (*prepare)(void*, const void*, int, bint, se_part*) except -1
        object (*amounts)(const se_part*)
        tuple (*extra)(const se_part*)
    void se_commit(se_part*, int) noexcept
    void se_release(se_part*, int) noexcept
    object se_follower_new(se_follower*, object owner)
    object se_part_new(void (*commit)(void*) noexcept, void* data, void (*release)(void*) noexcept, object owner)
    int commit "se_part_commit"(object part) except 0

cdef enum:
    DONE, OTHER, REFUSED, FULL  # as in `streameval.kernel.types`

cdef inline object part_of(void (*commit)(void*) noexcept, object data):
    """Make a part of one Python object, which is passed to ``commit`` and released with the part."""
    return se_part_new(commit, <void*>data, NULL, data)
