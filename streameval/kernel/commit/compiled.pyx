"""The cells of `numpy.py`, compiled, and the one function that commits; `numpy.py` says what they mean."""

from cpython.dict cimport PyDict_SetItem
from cpython.pycapsule cimport PyCapsule_IsValid

from streameval.kernel.part cimport SE_PART_NAME, commit, part_of

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


cdef class Cell:
    """See `streameval.kernel.commit.numpy.Cell`."""

    cdef readonly object value

    def __init__(self, value):
        self.value = value

    def prepare_store(self, new):
        cdef Stored data = Stored.__new__(Stored)
        data.cell, data.value = self, new
        return part_of(commit_store, data)

    def prepare_update(self, dict changes):
        return self._prepare(changes, None)

    def prepare_add(self, dict amounts, factor):
        return self._prepare(amounts, factor)

    cdef _prepare(self, dict changes, factor):
        """Entries become others; with a factor, they grow by so much."""
        cdef Updated data = Updated.__new__(Updated)
        cdef dict value = self.value
        cdef list entries = []
        cdef bint plain = factor == 1
        data.value, data.entries = value, entries
        for key, new in changes.items():
            old = value.setdefault(key, 0)
            if factor is not None:
                new = old + (new if plain else factor * new)
            entries.append(key)
            entries.append(new)
            entries.append(old)
        return part_of(commit_update, data)


cdef class Stored:
    cdef Cell cell
    cdef object value  # the old one, once it was committed


cdef class Updated:
    cdef dict value
    cdef list entries  # keys, new values, and old ones, so that replacing these releases nothing


cdef void commit_store(void* data) noexcept:
    cdef Stored part = <Stored>data
    part.value, part.cell.value = part.cell.value, part.value


cdef void commit_update(void* data) noexcept:
    cdef Updated part = <Updated>data
    cdef Py_ssize_t at
    for at in range(0, len(part.entries), 3):
        PyDict_SetItem(part.value, part.entries[at], part.entries[at + 1])
