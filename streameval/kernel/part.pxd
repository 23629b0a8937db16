cdef extern from "part.h":
    object se_part_new(void (*commit)(void*) noexcept, void* data, void (*release)(void*) noexcept, object owner)
