"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int64_t

from streameval.kernel.lists.lists cimport read_score

import numpy as np

from streameval.kernel.lists.numpy import grouped, list_order, taken  # which need no loops of their own

cdef extern from "Python.h":
    long PyLong_AsLong(object) except? -1



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
