"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import os

cimport numpy as cnp
import numpy as np

from streameval.kernel.strings.numpy import are_strings, are_views  # which need no loops of their own

cnp.import_array()

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL

cdef extern from "strings/coding.h" nogil:
    ctypedef struct sc_place:
        pass
    ctypedef struct sc_table:
        int64_t used
        int64_t* firsts
        uint64_t mask
    int SC_MEMORY
    int SC_DAMAGED
    int sc_begin(sc_table*, uint64_t)
    void sc_end(sc_table*)
    ctypedef struct sc_views:
        const uint8_t* views
        const uint8_t** data
        const int64_t* sizes
        int64_t buffers
    int sc_view_codes(sc_table*, const sc_views*, int64_t, int32_t*)
    int sc_codes(sc_table*, const void*, int, int64_t, const uint8_t*, int64_t, int32_t*)

# It decides where strings stand in a table, and nothing that is returned.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


def string_codes(offsets, data):
    cdef const int32_t[::1] narrow_offsets
    cdef const int64_t[::1] wide_offsets
    cdef const uint8_t[::1] held = data
    cdef const void* bounds
    cdef const uint8_t* start = NULL
    cdef int32_t[::1] code
    cdef int32_t* to = NULL
    cdef int64_t count = len(offsets) - 1, size = held.shape[0]
    cdef bint wide = offsets.dtype == np.int64
    cdef sc_table table
    cdef int done
    if count < 0:
        return None
    if wide:
        wide_offsets = offsets
        bounds = &wide_offsets[0]
    else:
        narrow_offsets = offsets
        bounds = &narrow_offsets[0]
    if size:
        start = &held[0]
    codes = np.empty(count, np.int32)
    code = codes
    if count:
        to = &code[0]
    try:
        if sc_begin(&table, SEED):
            raise MemoryError
        with nogil:
            done = sc_codes(&table, bounds, wide, count, start, size, to)
        return result(&table, done, codes)
    finally:
        sc_end(&table)


cdef result(const sc_table* table, int done, codes):
    cdef int64_t[::1] first
    if done == SC_MEMORY:
        raise MemoryError
    if done == SC_DAMAGED:
        return None
    firsts = np.empty(table.used, np.int64)
    first = firsts
    if table.used:
        memcpy(&first[0], table.firsts, table.used * sizeof(int64_t))
    return codes, firsts


def view_codes(views, list buffers):
    cdef const uint8_t[::1] view = views, held
    cdef int32_t[::1] code
    cdef int64_t[::1] size
    cdef int64_t count = view.shape[0] // 16, place
    cdef sc_table table
    cdef sc_views viewed
    cdef int done
    codes, sizes = np.empty(count, np.int32), np.zeros(len(buffers) + 1, np.int64)
    if not count:
        return codes, np.zeros(0, np.int64)
    code, size = codes, sizes
    viewed.views, viewed.sizes, viewed.buffers = &view[0], &size[0], len(buffers)
    viewed.data = <const uint8_t**>malloc((len(buffers) + 1) * sizeof(uint8_t*))
    try:
        if sc_begin(&table, SEED) or viewed.data == NULL:
            raise MemoryError
        for place in range(len(buffers)):
            held = buffers[place]
            size[place] = held.shape[0]
            viewed.data[place] = &held[0] if held.shape[0] else NULL
        with nogil:
            done = sc_view_codes(&table, &viewed, count, &code[0])
        return result(&table, done, codes)
    finally:
        sc_end(&table)
        free(viewed.data)


cdef Py_ssize_t MOST = 2**58  # 32-bit codes for as many would not fit into memory


cdef Py_ssize_t size_of(entries) noexcept:
    """How many objects a list or an array holds; -1 if it is neither, or an array within packed records."""
    if PyList_CheckExact(entries):
        return PyList_GET_SIZE(entries)
    if not cnp.PyArray_CheckExact(entries) or cnp.PyArray_TYPE(entries) != cnp.NPY_OBJECT or cnp.PyArray_NDIM(entries) != 1:
        return -1
    return cnp.PyArray_DIM(entries, 0) if cnp.PyArray_CHKFLAGS(entries, cnp.NPY_ARRAY_ALIGNED) else -1


def listed_codes(list rows):
    cdef Py_ssize_t count = PyList_GET_SIZE(rows), row, place, length, step, total = 0, at = 0
    cdef object entries
    cdef PyObject* string
    cdef PyObject* known
    cdef char* start
    cdef int64_t[::1] end
    cdef int32_t[::1] code
    cdef dict places = {}
    ends = np.zeros(count + 1, np.int64)  # may run a finalizer, after which nothing is as it was
    end = ends
    if PyList_GET_SIZE(rows) != count:
        return None
    for row in range(count):
        length = size_of(<object>PyList_GET_ITEM(rows, row))
        if length < 0:
            return None
        if length > MOST - total:  # arrays may hold one object any number of times
            raise MemoryError
        total += length
        end[row + 1] = total
    codes = np.empty(total, np.int32)  # so may this; what follows runs no code
    code = codes
    if PyList_GET_SIZE(rows) != count:
        return None
    for row in range(count):
        entries = <object>PyList_GET_ITEM(rows, row)
        length = end[row + 1] - end[row]
        if size_of(entries) != length:
            return None
        start, step = NULL, 0
        if not PyList_CheckExact(entries):
            start, step = cnp.PyArray_BYTES(entries), cnp.PyArray_STRIDE(entries, 0)
        for place in range(length):
            string = PyList_GET_ITEM(entries, place) if start == NULL else (<PyObject**>(start + place * step))[0]
            if string == NULL or not PyUnicode_CheckExact(<object>string):
                return None
            known = PyDict_GetItemWithError(places, <object>string)
            if known == NULL:
                code[at] = len(places)
                places[<object>string] = len(places)
            else:
                code[at] = <object>known
            at += 1
    return ends, codes, list(places)
