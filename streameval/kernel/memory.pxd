from libc.stdlib cimport calloc, realloc
from libc.string cimport memset


cdef inline int check_memory(bint got) except -1:
    """`MemoryError` unless memory that was asked for is there."""
    if not got:
        raise MemoryError
    return 0


cdef inline void* cleared(size_t count, size_t size) except NULL:
    """Memory of zeros, which is to be freed."""
    cdef void* memory = calloc(count, size)
    check_memory(memory != NULL)
    return memory


cdef inline void* widened(void* memory, size_t count, size_t wider, size_t size) except NULL:
    """The same memory with room for more, which is of zeros."""
    memory = realloc(memory, wider * size)
    check_memory(memory != NULL)
    memset(<char*>memory + count * size, 0, (wider - count) * size)
    return memory
