"""The compiled twin of `numpy.py`, which documents it and says who calls it."""

from cpython.dict cimport PyDict_CheckExact, PyDict_Next, PyDict_Size
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free

from streameval.kernel.lists cimport read_score
from streameval.kernel.memory cimport check_memory, data_of
from streameval.kernel.table cimport se_sums, se_sums_init, se_sums_next, set_seed

cimport numpy as cnp
import numpy as np

from streameval.kernel.strings import numpy as twin
from streameval.kernel.strings.numpy import are_strings  # not compiled, as numpy has its loop

cnp.import_array()

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    long PyLong_AsLong(object) except? -1

cdef extern from "strings/coding.h" nogil:
    int SC_MEMORY
    ctypedef struct sc_strings:
        int wide
        int64_t count
        const void* offsets
        const uint8_t* data
        int64_t size
    int sc_codes(const sc_strings*, se_sums*, int32_t*)
    int64_t SC_LENGTH(uint64_t)

set_seed()


def string_codes(offsets, data):
    cdef const uint8_t[::1] held = data
    cdef sc_strings strings
    cdef se_sums table
    cdef size_t at = 0
    cdef uint64_t one = 0, two = 0
    cdef int64_t* number
    cdef int done
    cdef int32_t[::1] code
    if len(offsets) < 2:
        return twin.string_codes(offsets, data)
    strings.wide, strings.count = offsets.dtype == np.int64, len(offsets) - 1
    strings.offsets = data_of(offsets, b"i", 8 if strings.wide else 4)
    strings.data, strings.size = &held[0] if held.shape[0] else <const uint8_t*>b"", held.shape[0]
    codes = np.empty(strings.count, np.int32)
    code = codes
    check_memory(se_sums_init(&table, 1024, 2))
    try:
        with nogil:
            done = sc_codes(&strings, &table, &code[0])
        check_memory(done != SC_MEMORY)
        if done:
            return None
        distinct = [None] * table.used
        for _ in range(<Py_ssize_t>table.used):
            number = se_sums_next(&table, &at, &one, &two)
            # A copy, because another thread may change the data.
            distinct[number[0] - 1] = <bytes>(<const char*>number[1])[: SC_LENGTH(two)]
        return codes, list(map(bytes.decode, distinct))  # in order: the error names the first that is not UTF-8
    finally:
        free(table.places)


cdef Py_ssize_t MOST = 2**58  # strings whose 32-bit codes would not fit into any memory


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
    ends = np.zeros(count + 1, np.int64)  # may run a finaliser, which can change `rows`
    end = ends
    if PyList_GET_SIZE(rows) != count:
        return None
    for row in range(count):
        length = size_of(<object>PyList_GET_ITEM(rows, row))
        if length < 0:
            return None
        if length > MOST - total:  # lists may repeat one array any number of times
            raise MemoryError
        total += length
        end[row + 1] = total
    codes = np.empty(total, np.int32)  # may run a finaliser, too; the lines below run no code of the user
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


def score_lists(dict columns, list examples):
    cdef Py_ssize_t total = 0, place = 0, at, row = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef PyObject* column
    cdef bint spelled = False
    cdef int64_t[::1] ends, places
    cdef double[::1] scores
    for example in examples:
        if not PyDict_CheckExact(example):
            return None
        total += PyDict_Size(example)
    offsets, chosen, values = np.zeros(len(examples) + 1, np.int64), np.empty(total, np.int64), np.empty(total, np.float64)
    ends, places, scores = offsets, chosen, values
    for example in examples:
        at = 0
        # Nothing in this loop runs code of the user, who could change the dict: labels and scores are plain.
        while PyDict_Next(example, &at, &key, &value):
            if PyUnicode_CheckExact(<object>key):
                spelled = True
            elif not PyLong_CheckExact(<object>key):
                return None
            column = PyDict_GetItemWithError(columns, <object>key)
            if column is NULL or not read_score(value, False, &scores[place]):
                return None
            places[place] = PyLong_AsLong(<object>column)
            place += 1
        row += 1
        ends[row] = place
    return offsets, chosen, values, spelled
