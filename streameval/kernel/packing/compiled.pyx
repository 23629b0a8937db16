"""The loops of `numpy.py`, compiled. Same names, same signatures, same answers; `numpy.py` says what they mean."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from streameval.kernel.packing import numpy as twin
from streameval.kernel.packing.numpy import BEYOND, CUT, OTHERWISE, WIDE, increasing

cdef extern from "packing/packing.h" nogil:
    int sp_width(const char*, Py_ssize_t, Py_ssize_t)
    void sp_write(const char*, Py_ssize_t, Py_ssize_t, int, uint8_t*)
    uint64_t sp_read(const uint8_t*, Py_ssize_t, int, int64_t*)
    ctypedef struct sp_marginals:
        const int64_t* cells
        const int64_t* keys
        const int64_t* times
        Py_ssize_t labels
        Py_ssize_t fixed
        Py_ssize_t distinct
        int64_t examples
    int sp_addable(const sp_marginals*)
    int sp_can_be(const sp_marginals*)


def pack_columns(table, int least):
    cdef const int64_t[:, :] cell = table
    cdef Py_ssize_t length = cell.shape[0], columns = cell.shape[1], step = cell.strides[0], column, size = columns
    cdef uint8_t* to
    cdef int width
    cdef bytes out
    cdef list widths = []
    for column in range(columns):
        width = sp_width(<const char*>&cell[0, column], step, length) if length else 0
        width = max(width, least)
        widths.append(width)
        size += width * length
    out = PyBytes_FromStringAndSize(NULL, size)
    to = <uint8_t*>PyBytes_AS_STRING(out)
    for column in range(columns):
        width = widths[column]
        to[0] = width
        if length:
            sp_write(<const char*>&cell[0, column], step, length, width, to + 1)
        to += 1 + width * length
    return out


def unpack_columns(bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t length, Py_ssize_t columns, int least):
    cdef const uint8_t* raw = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef Py_ssize_t size = min(end, PyBytes_GET_SIZE(data)), column
    cdef int64_t[:, ::1] cell
    cdef uint64_t all_
    cdef int width
    table = np.zeros((columns, length), np.int64)
    cell = table
    for column in range(columns):
        if at >= size:
            return table, CUT
        width = raw[at]
        at += 1
        if width > 8:
            return table, WIDE
        if width < least:
            return table, OTHERWISE
        if width and length > (size - at) // width:
            return table, CUT
        all_ = sp_read(raw + at, length, width, &cell[column, 0]) if length else 0
        at += width * length
        if width > least and not all_ >> 8 * (width - 1):
            return table, OTHERWISE
        if all_ >> 63:
            return table, BEYOND
    return table.T, at


def can_be(int64_t examples, Py_ssize_t fixed, cells, keys, times):
    cdef const int64_t[::1, :] cell = np.asfortranarray(cells), key = np.asfortranarray(keys)
    cdef const int64_t[::1] time = np.ascontiguousarray(times)
    cdef sp_marginals to
    if cell.shape[1] != 5 or key.shape[1] != 4 or key.shape[0] != time.shape[0] or not 0 <= fixed <= cell.shape[0]:
        raise IndexError("marginals are of other shapes")
    to.examples, to.fixed, to.labels, to.distinct = examples, fixed, cell.shape[0], time.shape[0]
    to.cells = &cell[0, 0] if to.labels else NULL
    to.keys = &key[0, 0] if to.distinct else NULL
    to.times = &time[0] if to.distinct else NULL
    return bool(sp_can_be(&to)) if sp_addable(&to) else twin.can_be(examples, fixed, cells, keys, times)
