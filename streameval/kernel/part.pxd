cdef extern from "part.h":
    const char* SE_PART_NAME
    object se_part_new(void (*commit)(void*) noexcept, void* data, void (*release)(void*) noexcept, object owner)
    int commit "se_part_commit"(object part) except 0

cdef inline object part_of(void (*commit)(void*) noexcept, object data):
    """A part whose data are one object, which is committed and then released with it."""
    return se_part_new(commit, <void*>data, NULL, data)
