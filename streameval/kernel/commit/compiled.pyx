"""The classes of `numpy.py`, compiled; `numpy.py` documents them and says who calls them."""

from cpython.dict cimport PyDict_DelItem, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject_IsTrue
from cpython.pycapsule cimport PyCapsule_IsValid

from streameval.kernel.part cimport SE_PART_NAME, commit, part_of

import os
from time import sleep

from streameval.errors import StreamevalError
from streameval.kernel.commit.numpy import LONGEST, PATIENCE, REENTERED, SHORTEST, Part

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cdef enum:
    AWAITED = 1  # value of `Guard.thread`: no thread holds the guard, and those in its queue go first

cdef unsigned long forks = 0


def forked():
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked)


cdef class Guard:
    """See `streameval.kernel.commit.numpy.Guard`. No other thread runs between two lines of this class but in ``sleep``."""

    cdef bint start(self) noexcept:
        if self.thread:
            return False
        self.hold()
        return True

    cdef inline void hold(self) noexcept:
        self.thread, self.forks, self.depth = PyThread_get_thread_ident(), forks, 1

    cdef int wait(self, bint changes) except -1:
        cdef double pause = SHORTEST, patience = PATIENCE
        cdef bint again = False
        if self.start():
            return 0
        me = PyThread_get_thread_ident(), forks
        try:
            while True:
                if self.thread > AWAITED and self.forks != forks:
                    self.thread = AWAITED
                if self.thread > AWAITED:
                    if self.thread == me[0]:
                        if changes:
                            raise StreamevalError(REENTERED)
                        self.depth += 1
                        return 0
                    patience = PATIENCE
                elif not self.queue or self.queue[0] == me:
                    self.hold()
                    return 0
                elif patience < 0 or self.queue[0][1] != forks:
                    del self.queue[0]
                    patience = PATIENCE
                    continue
                if again and not self.waits(me):
                    self.queue = self.queue or []
                    self.queue.append(me)
                    self.free, pause = AWAITED, SHORTEST
                again = True
                sleep(pause)
                patience -= pause
                pause = min(2 * pause, <double>LONGEST)
        finally:
            if self.waits(me):
                self.queue.remove(me)
            self.free = AWAITED if self.queue else 0
            if self.thread == AWAITED:
                self.thread = self.free

    cdef bint waits(self, tuple me) except -1:
        return self.queue is not None and me in self.queue

    cdef void stop(self, bint changed) noexcept:
        self.version += changed
        self.depth -= 1
        if not self.depth:
            self.thread = self.free

    def begin(self):
        return self.start()

    def __enter__(self):
        self.wait(True)
        return self

    def __exit__(self, kind, value, traceback):
        self.stop(kind is None)

    @property
    def reading(self):
        cdef Reading reading = Reading.__new__(Reading)
        reading.guard = self
        return reading


cdef class Reading:
    cdef Guard guard

    def __enter__(self):
        self.guard.wait(False)

    def __exit__(self, kind, value, traceback):
        self.guard.stop(False)


cdef class Guards:
    """See `streameval.kernel.commit.numpy.Guards`."""

    cdef tuple changed
    cdef list guards

    def __init__(self, changed, read=()):
        self.changed = tuple(changed)
        self.guards = list(dict.fromkeys((*self.changed, *read)))

    def __enter__(self):
        cdef Py_ssize_t held = 0
        cdef Guard guard
        while held < len(self.guards):
            guard = self.guards[held]
            if guard.start():
                pass
            elif guard.thread == PyThread_get_thread_ident() and guard not in self.changed:
                guard.depth += 1
            else:
                while held:
                    held -= 1
                    (<Guard>self.guards[held]).stop(False)
                guard.wait(guard in self.changed)
                self.guards.remove(guard)
                self.guards.insert(0, guard)
            held += 1

    def __exit__(self, kind, value, traceback):
        cdef Guard guard
        for guard in self.guards:
            guard.stop(kind is None and guard in self.changed)


RETIRED = Guard()
RETIRED.begin()


cdef class Root:
    """See `streameval.kernel.commit.numpy.Root`. It holds no values: compiled tables change where they stand."""

    def __init__(self, guard=None):
        self.guard = Guard() if guard is None else guard

    def cell(self, value):
        return Cell(value)

    def prepare_retire(self):
        cdef Retired data = Retired.__new__(Retired)
        data.root, data.guard = self, RETIRED
        return part_of(commit_retire, data)

    @staticmethod
    def commit(list parts):
        for part in parts:
            if not PyCapsule_IsValid(part, SE_PART_NAME):
                raise TypeError("a part of a change is something else")
        for part in parts:
            commit(part)


cdef class Cell:
    """See `streameval.kernel.commit.numpy.Cell`."""

    def __init__(self, value):
        self.value = value

    def prepare_store(self, new):
        cdef Stored data = Stored.__new__(Stored)
        data.cell, data.value = self, new
        return part_of(commit_store, data)

    def prepare_add(self, list added):
        cdef Added data = Added.__new__(Added)
        cdef dict value = self.value.sums
        cdef list keys = [], new = [], old = []
        total, factor, unit = {}, 1, self.value.scale
        for amounts, scale, times in added:
            if scale > unit:
                return None
            times <<= unit - scale
            if len(added) == 1:
                total, factor = amounts, times
                break
            for key, amount in amounts.items():
                total[key] = total.get(key, 0) + (times if amount == 1 else times * amount)
        data.value, data.keys, data.new, data.old = value, keys, new, old
        for key, amount in total.items():
            before = value.setdefault(key, 0)
            if factor != 1:
                amount = factor if amount == 1 else factor * amount
            keys.append(key)
            old.append(before)
            new.append(before + amount if before else amount)
        return part_of(commit_add, data)


cdef class Stored:
    cdef Cell cell
    cdef object value  # the new one; after the commit, the old one


cdef class Retired:
    cdef Root root
    cdef Guard guard  # the new one; after the commit, the old one


cdef class Added:
    cdef dict value
    cdef list keys, new, old  # `old` holds the old values, so that replacing them releases nothing


cdef void commit_store(void* data) noexcept:
    cdef Stored part = <Stored>data
    part.value, part.cell.value = part.cell.value, part.value


cdef void commit_retire(void* data) noexcept:
    cdef Retired part = <Retired>data
    part.guard, part.root.guard = part.root.guard, part.guard


cdef void commit_add(void* data) noexcept:
    cdef Added part = <Added>data
    cdef Py_ssize_t at
    for at in range(PyList_GET_SIZE(part.keys)):
        if PyObject_IsTrue(<object>PyList_GET_ITEM(part.new, at)):
            PyDict_SetItem(part.value, <object>PyList_GET_ITEM(part.keys, at), <object>PyList_GET_ITEM(part.new, at))
        else:  # without deletion, windows would collect keys whose sums are 0
            PyDict_DelItem(part.value, <object>PyList_GET_ITEM(part.keys, at))
