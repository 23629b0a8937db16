# `Storing`, which owns the buffers (buffer.h) of a tape, and the data of its parts; compiled.pyx uses them.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from streameval.kernel.decisions.counting cimport se_counts

cdef extern from "tape/buffer.h" nogil:
    ctypedef struct se_buffer:
        char* items
        Py_ssize_t size, first, last

# The parts of a tape. One item for each example: number of slots, weight, stamp, number of scores. Then the slots of all
# examples, and the columns and values of their scores.
cdef enum:
    LENGTH, WEIGHT, STAMP, MANY, SLOT, COLUMN, SCORE, PARTS

cdef struct Appended:
    PyObject* tape
    PyObject* holders  # the objects that own the items; NULL for one example
    PyObject* source  # NULL, or the tape whose examples from `start` on are appended
    Py_ssize_t start  # to drop examples instead: the number of the oldest that go
    const int32_t* columns  # for each column of the source, the tape's column; NULL: the same
    Py_ssize_t count[PARTS]
    const void* items[PARTS]  # NULL: weights of 1, no scores
    Py_ssize_t odd, size  # number of weights other than 1; bytes of a score
    bint promised
    int32_t length  # of one example
    double weight
    int64_t stamp

cdef class Storing:
    cdef readonly bint timed
    cdef public int64_t earliest  # the least stamp that `slide` accepts
    cdef se_buffer held[PARTS]
    cdef Py_ssize_t promised[PARTS]
    # Weights are only stored from the first one on that is not 1, scores from the first one on.
    cdef bint written[PARTS]
    cdef readonly Py_ssize_t weighted

    cdef Py_ssize_t live(self) noexcept nogil
    cdef int64_t newest(self) noexcept nogil
    cdef int write(self, int part) except -1
    cdef int reserve(self, const Appended* data) except -1
    cdef object prepared(self, Appended* data)
    cdef void view(self, Appended* data, Py_ssize_t start) noexcept
    cdef void promise(self, Appended* data, int by) noexcept
    cdef Py_ssize_t late(self, Py_ssize_t size, int64_t limit) noexcept nogil
    cdef void append(self, Appended* data) noexcept
    cdef void move(self, Appended* data, Py_ssize_t examples, Py_ssize_t* to) noexcept
    cdef void take_back(self, se_counts* counts, Py_ssize_t examples) noexcept
    cdef copied(self, int part, Py_ssize_t start, Py_ssize_t stop)


cdef inline void describe(Appended* data, Py_ssize_t slots, double weight, int64_t stamp) noexcept:
    """Fill ``data`` for one example without scores; the caller sets its slots."""
    cdef int part
    memset(data, 0, sizeof(Appended))
    data.length, data.weight, data.stamp, data.odd = <int32_t>slots, weight, stamp, weight != 1.0
    data.items[LENGTH], data.items[WEIGHT], data.items[STAMP] = &data.length, &data.weight, &data.stamp
    for part in range(SLOT):
        data.count[part] = 1
    data.count[SLOT] = slots
