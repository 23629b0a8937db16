"""Exact sums of weights of rows and lists; `streameval.kernel.decisions.rows` says what they mean."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free

from streameval.kernel.decisions.counting cimport (
    check, read_rows, se_count_lists, se_rows, se_span, se_weigh_dense, se_weighed,
)
from streameval.kernel.lists.lists cimport borrow_all, se_lists
from streameval.kernel.table cimport entries_of, se_sums, se_sums_init, set_seed

import numpy as np

from streameval.kernel.types import Weighed

set_seed()


cdef class Sums:
    """Room for sums of weights, and what they become."""

    cdef se_weighed to
    cdef se_sums groups
    cdef object weights, of_column, of_key

    def __cinit__(self, weights, Py_ssize_t columns):
        cdef const double[::1] factors = weights
        cdef Py_ssize_t rows = factors.shape[0]
        cdef int64_t[:, :, ::1] cells
        cdef int64_t[:, ::1] sums
        self.weights = weights
        self.to.weights = &factors[0] if rows else NULL
        se_span(self.to.weights, rows, &self.to.lowest, &self.to.highest)
        self.to.limbs = (self.to.highest - self.to.lowest) // 32 + 3
        # One more than needed, so that nothing is empty.
        cells = self.of_column = np.zeros((columns + 1, 4, self.to.limbs), np.int64)
        sums = self.of_key = np.zeros((rows + 1, self.to.limbs), np.int64)
        self.to.of_column, self.to.of_key, self.to.keys = &cells[0, 0, 0], &sums[0, 0], &self.groups
        if not se_sums_init(&self.groups, 64, 1):
            raise MemoryError

    def __dealloc__(self):
        free(self.groups.places)

    cdef result(self):
        true, pred, both, masked = self.of_column[:len(self.of_column) - 1].transpose(1, 0, 2)
        cells = np.stack([np.zeros_like(both), true - both, pred - both, both, masked], axis=1)
        keys, numbers = entries_of(&self.groups)
        return Weighed(-self.to.lowest, cells, keys, self.of_key[numbers[:, 0] - 1])


def weigh_dense(true, pred, masked, weights):
    cdef Sums sums = Sums(weights, true.shape[1])
    cdef se_rows rows
    cdef int done
    read_rows(&rows, true, pred, masked)
    with nogil:
        done = se_weigh_dense(&rows, &sums.to)
    if not done:
        raise MemoryError
    return sums.result()


def weigh_lists(Py_ssize_t examples, Py_ssize_t width, true, pred, masked, named, weights):
    cdef Sums sums = Sums(weights, width)
    cdef se_lists sides[4]
    cdef int64_t[::1] mark = np.zeros(width + 1, np.int64), cells = np.zeros(5 * width + 1, np.int64)
    cdef se_sums rows
    cdef int written
    arrays = borrow_all(sides, true, pred, masked, named, False, True, examples, width)
    if not se_sums_init(&rows, 64, 1):
        raise MemoryError
    with nogil:
        written = se_count_lists(examples, sides, width, &cells[0], &rows, &mark[0], &sums.to)
    free(rows.places)
    check(written)
    return sums.result()
