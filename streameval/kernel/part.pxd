cdef extern from "part.h":
    const char* SE_PART_NAME
    object se_part_new(void (*commit)(void*) noexcept, void* data, void (*release)(void*) noexcept, object owner)
    int commit "se_part_commit"(object part) except 0
