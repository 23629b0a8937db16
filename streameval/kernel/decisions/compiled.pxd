from libc.stdint cimport int32_t, int64_t

from streameval.kernel.commit.compiled cimport Cell, Root
from streameval.kernel.decisions.placing cimport Placing
from streameval.kernel.table cimport se_sums

cdef extern from "decisions/counts.h" nogil:
    ctypedef struct se_counts:
        int64_t examples
        int64_t* cell
        Py_ssize_t width
        se_sums rows


cdef class Counts(Placing):
    cdef se_counts counted
    cdef Root root
    # Of the weight sums of the same examples: while it has a value, each example needs its weight.
    cdef public Cell weights
    # So many examples are counted by `count_example`, at most.
    cdef public int64_t most
    # How many slots of the example counted last are in `touched`.
    cdef Py_ssize_t landed

    cdef bint start(self)
    cdef int count_one(
        self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold, int sign
    ) except -1
    cdef void drop_example(self, const int32_t* slot, Py_ssize_t slots) noexcept nogil
