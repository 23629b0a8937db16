from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t


cdef class Placing:
    cdef Py_ssize_t width
    # What the example at hand says of each column: 4 * turn + bits, so that it needs no clearing.
    cdef int64_t* mark
    cdef int64_t turn
    # The columns of the example at hand, and then its slots.
    cdef Py_ssize_t* touched
    # Whether numbers in y_pred are scores, and from which on they are predictions.
    cdef bint scored
    cdef double bound
    # The columns of the keys of the last mappings, by side and position.
    cdef PyObject** known
    cdef Py_ssize_t* column

    cpdef reserve(self, Py_ssize_t width)
    cdef int prepare(self) except -1
    cdef Py_ssize_t column_of(self, dict columns, PyObject* label) except -2
    cdef int note(self, Py_ssize_t column, int64_t bit, Py_ssize_t* count) noexcept nogil
    cdef int says(self, PyObject* value, bint scored) except -2
    cdef Py_ssize_t remembered(self, dict columns, PyObject* key, Py_ssize_t place) except -2
    cdef Py_ssize_t in_step(self, dict columns, Py_ssize_t fixed, dict y_true, dict y_pred, uint64_t* totals) except -2
    cdef int side(self, dict columns, Py_ssize_t fixed, object argument, int bit, Py_ssize_t* count) except -1
    cdef int row(self, object argument, Py_ssize_t fixed, int bit, Py_ssize_t* count) except -1
    cdef int begin(self, dict columns, object threshold) except -1
    cdef Py_ssize_t placed(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, uint64_t* totals) except -2
    cdef Py_ssize_t outcomes_of(self, Py_ssize_t count, Py_ssize_t fixed, uint64_t* totals) noexcept nogil
