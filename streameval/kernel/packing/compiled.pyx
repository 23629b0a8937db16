"""The compiled twin of `numpy.py`, which documents it and says who calls it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from streameval.kernel.packing import numpy as twin
from streameval.kernel.packing.numpy import BEYOND, CUT, OTHERWISE, WIDE, rotated

cdef extern from "packing/packing.h" nogil:
    int sp_width(const char*, Py_ssize_t, Py_ssize_t)
    void sp_write(const char*, Py_ssize_t, Py_ssize_t, int, uint8_t*)
    uint64_t sp_read(const uint8_t*, Py_ssize_t, int, int64_t*)
    void sp_read_words(const uint8_t*, Py_ssize_t, int, int, uint64_t*)


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
        all_ = sp_read(raw + at, length, width, &cell[column, 0]) if width and length else 0
        at += width * length
        if width > least and not all_ >> 8 * (width - 1):
            return table, OTHERWISE
        if all_ >> 63:
            return table, BEYOND
    return table.T, at


def unpack_words(bytes raw, Py_ssize_t length, int width, int zeros):
    words = np.empty((length, 2), np.uint64)
    cdef uint64_t[:, ::1] word = words
    if not (0 <= width <= 16 and 0 <= zeros < 128 and width * length == PyBytes_GET_SIZE(raw)):
        raise IndexError("bytes of another length")
    if length:
        sp_read_words(<const uint8_t*>PyBytes_AS_STRING(raw), length, width, zeros, &word[0, 0])
    return words


def can_be(int64_t examples, Py_ssize_t fixed, cells, keys, times):
    cdef const int64_t[:, :] cell = cells, key = keys
    cdef const int64_t[:, :] time = times.reshape(-1, 1)
    cdef Py_ssize_t labels = cell.shape[0], distinct = time.shape[0], place, part
    cdef int64_t by_example[4], by_label[5], total = 0, mentions, rise
    if cell.shape[1] != 5 or key.shape[1] != 4 or key.shape[0] != distinct or not 0 <= fixed <= labels:
        raise IndexError("marginals are of other shapes")
    if 5 * max(top(cell), (top(key) + 1) * (top(time) + 1)) * max(labels, distinct) >= 4e18:
        return twin.can_be(examples, fixed, cells, keys, times)  # sums could pass 64 bits
    by_example[:] = [0, 0, 0, 0]
    by_label[:] = [0, 0, 0, 0, 0]
    for place in range(distinct):
        rise = place == 0
        for part in range(4):
            if not rise:
                rise = key[place, part] - key[place - 1, part]
            by_example[part] += time[place, 0] * key[place, part]
        if rise <= 0 or not time[place, 0] or key[place, 2] > min(key[place, 0], key[place, 1]):
            return False
        if key[place, 0] + key[place, 1] - key[place, 2] + key[place, 3] > labels:
            return False
        total += time[place, 0]
    for place in range(labels):
        mentions = 0
        for part in range(5):
            mentions += cell[place, part]
            by_label[part] += cell[place, part]
        if mentions > examples or (cell[place, 0] != 0 if place < fixed else mentions == 0):
            return False
    return (
        total == examples and by_example[0] == by_label[3] + by_label[1] and by_example[1] == by_label[3] + by_label[2]
        and by_example[2] == by_label[3] and by_example[3] == by_label[4]
    )


cdef double top(const int64_t[:, :] table) noexcept nogil:
    cdef Py_ssize_t row, column
    cdef int64_t most = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            most = max(most, table[row, column])
    return <double>most
