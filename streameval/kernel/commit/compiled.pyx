"""The cells of `numpy.py`, compiled, and the one function that commits; `numpy.py` says what they mean."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_IsValid
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF

from streameval.kernel.part cimport SE_PART_NAME, commit, se_part_new

from streameval.kernel.commit.numpy import Part


cdef class Root:
    """See `streameval.kernel.commit.numpy.Root`. It holds nothing: compiled tables change where they stand."""

    def cell(self, value):
        return Cell(value)

    @staticmethod
    def commit(list parts):
        cdef Py_ssize_t at
        for at in range(len(parts)):
            if not PyCapsule_IsValid(parts[at], SE_PART_NAME):
                raise TypeError("a part of a change is something else")
        for at in range(len(parts)):
            commit(parts[at])


cdef struct Stored:
    PyObject* cell
    PyObject* value  # the old one, once it was committed


cdef struct Entry:
    PyObject* key
    PyObject* value
    PyObject* old  # so that replacing it releases nothing


cdef struct Updated:
    PyObject* value
    Py_ssize_t used
    Entry* entries


cdef class Cell:
    """See `streameval.kernel.commit.numpy.Cell`."""

    cdef readonly object value

    def __init__(self, value):
        self.value = value

    def prepare_store(self, new):
        cdef Stored* data = <Stored*>PyMem_Malloc(sizeof(Stored))
        if data == NULL:
            raise MemoryError
        data.cell, data.value = <PyObject*>self, <PyObject*>new
        Py_INCREF(new)
        return se_part_new(commit_store, data, release_store, self)

    def prepare_update(self, dict changes):
        return self._prepare(changes, None)

    def prepare_add(self, dict amounts, factor):
        return self._prepare(amounts, factor)

    cdef _prepare(self, dict changes, factor):
        """Entries become others; with a factor, they grow by so much."""
        cdef dict value = self.value
        cdef Entry* entry
        cdef PyObject* old
        cdef bint plain = factor == 1
        cdef Updated* data = <Updated*>PyMem_Malloc(sizeof(Updated))
        if data == NULL:
            raise MemoryError
        data.value, data.used = NULL, 0
        data.entries = <Entry*>PyMem_Malloc((len(changes) + 1) * sizeof(Entry))
        part = se_part_new(commit_update, data, release_update, self)  # from now on whatever fails releases all
        if data.entries == NULL:
            raise MemoryError
        Py_INCREF(value)
        data.value = <PyObject*>value
        for key, new in changes.items():
            old = PyDict_GetItemWithError(value, key)
            if old == NULL:
                PyDict_SetItem(value, key, 0)
                old = PyDict_GetItemWithError(value, key)
            if factor is not None:
                new = <object>old + (new if plain else factor * new)
            entry = data.entries + data.used
            entry.key, entry.value, entry.old = <PyObject*>key, <PyObject*>new, old
            Py_INCREF(key)
            Py_INCREF(new)
            Py_INCREF(<object>old)
            data.used += 1
        return part


cdef void commit_store(void* data) noexcept:
    cdef Stored* part = <Stored*>data
    cdef Cell cell = <Cell>part.cell
    old = cell.value
    cell.value = <object>part.value
    Py_INCREF(old)
    Py_DECREF(cell.value)
    part.value = <PyObject*>old


cdef void release_store(void* data) noexcept:
    Py_XDECREF((<Stored*>data).value)
    PyMem_Free(data)


cdef void commit_update(void* data) noexcept:
    cdef Updated* part = <Updated*>data
    cdef Py_ssize_t at
    for at in range(part.used):
        PyDict_SetItem(<dict>part.value, <object>part.entries[at].key, <object>part.entries[at].value)


cdef void release_update(void* data) noexcept:
    cdef Updated* part = <Updated*>data
    cdef Py_ssize_t at
    for at in range(part.used):
        Py_XDECREF(part.entries[at].key)
        Py_XDECREF(part.entries[at].value)
        Py_XDECREF(part.entries[at].old)
    Py_XDECREF(part.value)
    PyMem_Free(part.entries)
    PyMem_Free(part)
