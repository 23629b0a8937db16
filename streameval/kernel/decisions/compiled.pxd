from libc.stdint cimport int64_t

from streameval.kernel.commit.compiled cimport Root
from streameval.kernel.decisions.counting cimport Counting
from streameval.kernel.part cimport se_follower


cdef class Counts(Counting):
    cdef Root root
    # Of the weight sums of the same examples: while one has a value, each example needs its weight.
    cdef public tuple weights
    # Of the tables that count the same examples, with scores.
    cdef tuple capsules
    cdef se_follower* follower[4]
    cdef int following
    # For scores that are read: columns, for each row and column a score, a truth and a prediction.
    cdef int64_t* block
    cdef Py_ssize_t block_width, block_cells
    # So many examples are counted by `count_example`, at most.
    cdef public int64_t most
    # How many slots of the example counted last are in `touched`.
    cdef Py_ssize_t landed

    cdef bint start(self)
    cdef bint weighted(self) noexcept
    cdef object take(self, Counts other, int64_t most)
    cdef object refused(self, int64_t examples, int64_t most)
    cdef int make_block(self, Py_ssize_t width, Py_ssize_t cells) except -1
    cdef int count_scored(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int dimensions) except -1
    cdef int count_one(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign) except -1
