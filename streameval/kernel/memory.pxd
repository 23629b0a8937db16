from libc.stdlib cimport calloc


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
