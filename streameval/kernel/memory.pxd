# Allocation that raises MemoryError, and addresses of arrays; used by all compiled modules.

from libc.stdlib cimport calloc, realloc
from libc.string cimport memset
cimport numpy as cnp

cdef inline int check_memory(bint got) except -1:
    """Raise `MemoryError` if an allocation failed, that is if ``got`` is false."""
    if not got:
        raise MemoryError
    return 0


cdef inline const void* data_of(array, char kind, int size) except NULL:
    """The address of a contiguous array's numbers, which must have this ``dtype.kind`` and itemsize."""
    if not cnp.PyArray_ISCARRAY_RO(array) or (<cnp.dtype>array.dtype).kind != kind or array.itemsize != size:
        raise ValueError("an array of other numbers is needed")
    return cnp.PyArray_DATA(array)


cdef inline void* cleared(size_t count, size_t size) except NULL:
    """Allocate zeroed memory, which the caller frees."""
    cdef void* memory = calloc(count, size)
    check_memory(memory != NULL)
    return memory


cdef inline void* widened(void* memory, size_t count, size_t wider, size_t size) except NULL:
    """Reallocate memory of ``count`` items for ``wider`` items, and zero the new ones."""
    memory = realloc(memory, wider * size)
    check_memory(memory != NULL)
    memset(<char*>memory + count * size, 0, (wider - count) * size)
    return memory
