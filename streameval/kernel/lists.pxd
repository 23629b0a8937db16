# Points se_lists (lists.h) to arrays, checks maps of columns, and reads Python numbers; used by most compiled modules.

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from streameval.kernel.memory cimport data_of

import numpy as np

cdef extern from "lists.h" nogil:
    ctypedef struct se_lists:
        const void* offsets
        const void* places
        const int64_t* columns
        int64_t held, limit


cdef enum:
    RELEASE = 65536  # cells from which a loop releases the GIL; for fewer, releasing it costs more than it gains


cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1


cdef inline bint read_score(PyObject* value, bint is_float, double* score) except -1:
    """Read a finite Python float or, unless ``is_float``, an int within 2**53; return whether ``value`` is one."""
    cdef long long integer
    cdef int overflow = 0
    if PyFloat_CheckExact(<object>value):
        score[0] = PyFloat_AS_DOUBLE(<object>value)
        return score[0] - score[0] == 0
    if is_float or not PyLong_CheckExact(<object>value):
        return False
    integer = PyLong_AsLongLongAndOverflow(<object>value, &overflow)
    score[0] = <double>integer
    return not overflow and -(1LL << 53) <= integer <= 1LL << 53


cdef inline int check_columns(const int64_t[::1] columns, Py_ssize_t limit) except -1:
    """Raise `IndexError` if a column is out of range, as two threads that share an object without a lock can cause."""
    cdef Py_ssize_t position
    for position in range(columns.shape[0]):
        if not 0 <= columns[position] < limit:
            raise IndexError(f"column {columns[position]} is out of range")
    return 0


cdef inline object place_of(columns, Py_ssize_t limit, ptrdiff_t* width, const int64_t** place):
    """Set ``place`` to this table's column for each column of another; the returned array must outlive ``place``."""
    cdef const int64_t[::1] places = np.ascontiguousarray(columns, np.int64)
    width[0] = min(width[0], places.shape[0])
    check_columns(places[: width[0]], limit)
    place[0] = &places[0] if width[0] else NULL
    return places.base


cdef inline bint is_narrow(lists):
    return lists.offsets.dtype == np.int32 and lists.places.dtype == np.int32


cdef inline borrow(se_lists* to, lists, bint wide, Py_ssize_t examples, int64_t width):
    """Set ``to`` to the arrays of lists, as int64 if ``wide``, else int32; the returned arrays must outlive ``to``."""
    cdef int size = 8 if wide else 4
    offsets, places, columns, _ = lists
    if wide:
        offsets, places = np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(places, np.int64)
    if len(offsets) != examples + 1:
        raise IndexError(f"{len(offsets)} offsets do not bound {examples} lists")
    to.offsets, to.places, to.held = data_of(offsets, b"i", size), data_of(places, b"i", size), len(places)
    to.columns, to.limit = NULL, width
    if columns is not None:
        to.columns, to.limit = <const int64_t*>data_of(columns, b"i", 8), len(columns)
        check_columns(columns, width)
    return offsets, places
