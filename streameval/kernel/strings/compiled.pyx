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

from streameval.kernel.strings.numpy import are_texts, are_views  # which need no loops of their own

cnp.import_array()

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL

cdef extern from "strings/coding.h" nogil:
    ctypedef struct sc_place:
        pass
    ctypedef struct sc_texts:
        int64_t used
        int64_t* firsts
        uint64_t mask
    int SC_MEMORY
    int SC_DAMAGED
    int sc_begin(sc_texts*, uint64_t)
    void sc_end(sc_texts*)
    ctypedef struct sc_views:
        const uint8_t* views
        const uint8_t** data
        const int64_t* sizes
        int64_t buffers
    int sc_view_codes(sc_texts*, const sc_views*, int64_t, int32_t*)
    int sc_codes(sc_texts*, const void*, int, int64_t, const uint8_t*, int64_t, int32_t*)

# It decides where texts stand in a table, and nothing that is returned.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


def text_codes(offsets, data):
    cdef const int32_t[::1] narrow_offsets
    cdef const int64_t[::1] wide_offsets
    cdef const uint8_t[::1] held = data
    cdef const void* bounds
    cdef const uint8_t* start = NULL
    cdef int32_t[::1] code
    cdef int32_t* to = NULL
    cdef int64_t count = len(offsets) - 1, size = held.shape[0]
    cdef bint wide = offsets.dtype == np.int64
    cdef sc_texts texts
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
        if sc_begin(&texts, SEED):
            raise MemoryError
        with nogil:
            done = sc_codes(&texts, bounds, wide, count, start, size, to)
        return result(&texts, done, codes)
    finally:
        sc_end(&texts)


cdef result(const sc_texts* texts, int done, codes):
    cdef int64_t[::1] first
    if done == SC_MEMORY:
        raise MemoryError
    if done == SC_DAMAGED:
        return None
    firsts = np.empty(texts.used, np.int64)
    first = firsts
    if texts.used:
        memcpy(&first[0], texts.firsts, texts.used * sizeof(int64_t))
    return codes, firsts


def view_codes(views, list buffers):
    cdef const uint8_t[::1] view = views, held
    cdef int32_t[::1] code
    cdef int64_t[::1] size
    cdef int64_t count = view.shape[0] // 16, place
    cdef sc_texts texts
    cdef sc_views given
    cdef int done
    codes, sizes = np.empty(count, np.int32), np.zeros(len(buffers) + 1, np.int64)
    if not count:
        return codes, np.zeros(0, np.int64)
    code, size = codes, sizes
    given.views, given.sizes, given.buffers = &view[0], &size[0], len(buffers)
    given.data = <const uint8_t**>malloc((len(buffers) + 1) * sizeof(uint8_t*))
    try:
        if sc_begin(&texts, SEED) or given.data == NULL:
            raise MemoryError
        for place in range(len(buffers)):
            held = buffers[place]
            size[place] = held.shape[0]
            given.data[place] = &held[0] if held.shape[0] else NULL
        with nogil:
            done = sc_view_codes(&texts, &given, count, &code[0])
        return result(&texts, done, codes)
    finally:
        sc_end(&texts)
        free(given.data)


cdef Py_ssize_t MOST = 2**58  # 32-bit codes for as many would not fit into memory


cdef Py_ssize_t size_of(given) noexcept:
    """How many objects a list or an array holds; -1 if it is neither, or an array within packed records."""
    if PyList_CheckExact(given):
        return PyList_GET_SIZE(given)
    if not cnp.PyArray_CheckExact(given) or cnp.PyArray_TYPE(given) != cnp.NPY_OBJECT or cnp.PyArray_NDIM(given) != 1:
        return -1
    return cnp.PyArray_DIM(given, 0) if cnp.PyArray_CHKFLAGS(given, cnp.NPY_ARRAY_ALIGNED) else -1


def listed_codes(list rows):
    cdef Py_ssize_t count = PyList_GET_SIZE(rows), row, place, length, step, total = 0, at = 0
    cdef object given
    cdef PyObject* text
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
        given = <object>PyList_GET_ITEM(rows, row)
        length = end[row + 1] - end[row]
        if size_of(given) != length:
            return None
        start, step = NULL, 0
        if not PyList_CheckExact(given):
            start, step = cnp.PyArray_BYTES(given), cnp.PyArray_STRIDE(given, 0)
        for place in range(length):
            text = PyList_GET_ITEM(given, place) if start == NULL else (<PyObject**>(start + place * step))[0]
            if text == NULL or not PyUnicode_CheckExact(<object>text):
                return None
            known = PyDict_GetItemWithError(places, <object>text)
            if known == NULL:
                code[at] = len(places)
                places[<object>text] = len(places)
            else:
                code[at] = <object>known
            at += 1
    return ends, codes, list(places)
