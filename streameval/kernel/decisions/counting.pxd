# `Counting`, which owns an se_counts (counts.h), and the data of its parts; compiled.pyx and the tape use them.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from streameval.kernel.decisions.cells cimport se_bit_rows, se_rows, se_scores
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
    BIT_COLUMNS = 2097152  # rows of bits have fewer columns than this, so that parts of packed keys fit into 21 bits
    MANY = 2147483647  # examples; row numbers and counts of fewer fit into 32 bits

cdef struct Change:
    PyObject* counts
    PyObject* other  # the counts to merge, or NULL for an example
    int by
    size_t promised  # row keys reserved in the table
    uint64_t outer, inner  # row key of an example
    Py_ssize_t fixed, size
    int64_t* place  # the slots of an example; or the column for each column of `other`, NULL: the same

ctypedef fused Slot:
    int32_t
    int64_t


cdef inline dict sums_of_slots(const Slot* slots, Py_ssize_t size):
    """The weight sums, by slot and by row key, to which an example adds its weight; each with the amount 1."""
    cdef int64_t totals[5]
    cdef dict sums = {}
    cdef Py_ssize_t at
    memset(totals, 0, sizeof(totals))
    for at in range(size):
        totals[slots[at] % 5] += 1
        if slots[at] % 5:
            sums[slots[at]] = 1
    sums[totals[1] + totals[3], totals[2] + totals[3], totals[3], totals[4]] = 1
    return sums


cdef class Counting(Placing):
    cdef se_counts counted

    cdef int count_rows(self, se_rows* rows, se_scores* scores, Py_ssize_t fixed, int64_t* cells) except -1
    cdef int count_columns(self, se_rows* rows, se_scores* scores, columns, Py_ssize_t fixed) except -1
    cdef int add(self, Counting other) except -1
    cdef prepared(
        self, Counting other, const int64_t* place, Py_ssize_t size, Py_ssize_t fixed, uint64_t outer, uint64_t inner,
        int sign, bint known,
    )


cdef int borrow_bits(se_rows* rows, se_bit_rows* sides, true, pred, Py_ssize_t columns) except -1
