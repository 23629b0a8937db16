from libc.stdint cimport int32_t, int64_t, uint64_t

from streameval.kernel.decisions.cells cimport se_rows, se_scores
from streameval.kernel.decisions.placing cimport Placing
from streameval.kernel.table cimport se_sums

cdef extern from "decisions/counts.h" nogil:
    ctypedef struct se_tally:
        pass
    ctypedef struct se_counts:
        int64_t examples
        int64_t* cell
        Py_ssize_t width
        se_sums rows
        se_tally waiting
    void se_add_example(se_counts*, const int64_t*, Py_ssize_t, uint64_t, uint64_t, int)
    void se_drop_example(se_counts*, const int32_t*, Py_ssize_t)
    int se_take_back(se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t, uint64_t, uint64_t)
    void se_add_rows(se_counts*, const se_sums*, int)

cdef enum:
    BIT_COLUMNS = 2097152  # keys of rows of bits have room for fewer columns
    MANY = 2147483647  # row numbers and counts of so many examples fit into 32 bits


cdef class Counting(Placing):
    cdef se_counts counted

    cdef int count_rows(self, se_rows* rows, se_scores* scores, Py_ssize_t fixed, int64_t* cells) except -1
    cdef int count_columns(self, se_rows* rows, se_scores* scores, columns, Py_ssize_t fixed) except -1
    cdef int add(self, Counting other) except -1
    cdef prepared(
        self, Counting other, const int64_t* place, Py_ssize_t size, Py_ssize_t fixed, uint64_t outer, uint64_t inner,
        int sign, bint known,
    )
