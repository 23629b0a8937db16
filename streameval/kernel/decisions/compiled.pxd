from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from streameval.kernel.table cimport se_sums


cdef class Counts:
    cdef int64_t n
    cdef int64_t* cell
    cdef Py_ssize_t width
    cdef se_sums rows
    cdef public bint scratch
    # What the example at hand has said of each column: 4 * turn + bits, so that it needs no clearing.
    cdef int64_t* mark
    cdef int64_t turn
    cdef Py_ssize_t* touched
    # How many of them are slots of the example counted last.
    cdef Py_ssize_t landed
    # Whether numbers in y_pred are scores, and from which on they are predictions.
    cdef bint scored
    cdef double bound
    # What the last full look at all columns found, so that most examples can be taken back without one; see `possible`.
    cdef int64_t spare
    cdef Py_ssize_t* heavy
    cdef Py_ssize_t heavies
    cdef uint64_t present
    # The columns of the keys of the last mappings, by side and position.
    cdef PyObject** known
    cdef Py_ssize_t* column

    cpdef forget_columns(self)
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
    cpdef int count_example(
        self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold, int sign
    ) except -1
    cdef part_of(
        self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed, uint64_t outer, uint64_t inner, int sign
    )
    cdef void apply(self, Counts other, const int64_t* place, Py_ssize_t width, Py_ssize_t fixed, int by) noexcept
    cdef bint holds(self, Counts other, const int64_t* place, Py_ssize_t width, Py_ssize_t fixed) noexcept
    cdef bint is_possible(self, Py_ssize_t fixed) noexcept nogil
    cdef void release_slots(self, const Py_ssize_t* slot, Py_ssize_t slots) noexcept nogil
    cdef void uncount(self) noexcept nogil
    cdef void uncount_row(self, const uint64_t* totals) noexcept nogil
    cdef bint take_back(
        self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed, uint64_t outer, uint64_t inner
    ) noexcept nogil
    cdef bint possible(self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed) noexcept nogil
    cdef bint look(self) noexcept nogil
    cdef uint64_t largest(self) noexcept nogil
    cdef int64_t said(self, Py_ssize_t column) noexcept nogil
    cdef int blank_rows(self, Py_ssize_t rows) except -1
    cdef void place(self, const int64_t* local, const int64_t* columns, Py_ssize_t count, Py_ssize_t fixed) noexcept nogil
    cdef int check(self, const int64_t[::1] slot) except -1
