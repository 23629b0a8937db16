from libc.stdlib cimport calloc, realloc
from libc.string cimport memset

cimport numpy as cnp


cdef inline int check_memory(bint got) except -1:
    """`MemoryError` unless memory that was asked for is there."""
    if not got:
        raise MemoryError
    return 0


cdef inline const void* data_of(array, char kind, int size) except NULL:
    """Where the numbers of an array stand, which are of a kind and size, one behind the other."""
    if not cnp.PyArray_ISCARRAY_RO(array) or (<cnp.dtype>array.dtype).kind != kind or array.itemsize != size:
        raise ValueError("an array of other numbers is needed")
    return cnp.PyArray_DATA(array)


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
