# `Placing`, which owns the marks, the cache of labels and the block of the example that it reads; counting.pyx uses it.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from streameval.kernel.commit.compiled cimport Root
from streameval.kernel.decisions.cells cimport se_rows
from streameval.kernel.scores cimport se_score_rows

cdef enum:
    FEW_ROWS = 64  # the most rows that are counted straight into the table

cdef struct Known:
    PyObject* label
    Py_ssize_t column


cdef class Placing:
    cdef Root root
    cdef Py_ssize_t width, size, bounded  # numbers of columns: with room, with labels, with thresholds
    # What the current example says of each column: 16 * turn + bits (1: true, 2: predicted, 4: has a score, 8: masked).
    # A new turn makes all marks old, so that they need no clearing.
    cdef int64_t* mark
    cdef int64_t turn
    # The columns of the current example, later its slots, in the memory after the marks; and its row key.
    cdef int64_t* touched
    cdef uint64_t key[2]
    # Its rows of truths and predictions, as bytes.
    cdef uint8_t* bytes
    # The number of columns, from the first on, that were checked to have the labels 0, 1, 2 ...
    cdef Py_ssize_t numbers
    # Whether numbers in y_pred are scores; the bound from which they are predictions, in all columns or in each of them.
    cdef bint scored
    cdef double bound
    cdef const double* bounds
    cdef Py_ssize_t by  # 1 if each column has a bound of its own, else 0
    cdef object thresholds  # the array that owns `bounds`
    # A cache of the columns of labels, by address or by number; `last` is its last place, a mask for addresses.
    cdef Known* known
    cdef size_t last
    # Memory for examples with scores: columns, and for each cell a score and two bytes.
    cdef int64_t* block
    cdef Py_ssize_t block_width, block_cells

    cpdef reserve(self, Py_ssize_t width)
    cdef int take_bounds(self, dict columns, object threshold) except -1
    cdef int begin(self, dict columns, object threshold) except -1
    cdef bint in_order(self, dict columns, Py_ssize_t fixed, Py_ssize_t width) except -1
    cdef Py_ssize_t placed(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred) except -2
    cdef Py_ssize_t sides(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object mask) except -2
    cdef tuple row_key(self)
    cdef object row_of_truths(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold)
    cdef Py_ssize_t read_rows(
        self, dict columns, y_true, y_pred, threshold, int dimensions, se_score_rows* rows, se_rows* binary
    ) except -2
    cdef int make_block(self, Py_ssize_t width, Py_ssize_t cells) except -1
    cdef Py_ssize_t read_mapping(self, dict columns, y_true, dict y_pred, mask, threshold, se_score_rows* rows) except -2
    cdef bint read_held(
        self, const int32_t* slot, Py_ssize_t slots, const int32_t* columns, const void* scores, Py_ssize_t scored,
        se_score_rows* rows,
    ) except -1
    cdef void end_row(self, Py_ssize_t scored, Py_ssize_t noted, Py_ssize_t room, se_score_rows* rows) noexcept
