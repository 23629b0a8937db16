# `Guard`, `Root` and `Cell`, whose fields decisions read directly.

cdef class Guard:
    cdef unsigned long thread  # the thread that holds the guard; `free` if none does
    cdef unsigned long free  # 0, or AWAITED while threads wait in the queue
    cdef list queue
    cdef unsigned long forks
    cdef Py_ssize_t depth
    cdef readonly unsigned long long version
    cdef public object notes

    cdef bint start(self) noexcept
    cdef void hold(self) noexcept
    cdef int wait(self, bint changes) except -1
    cdef bint waits(self, tuple me) except -1
    cdef void stop(self, bint changed) noexcept

cdef class Root:
    cdef public Guard guard

cdef class Cell:
    cdef readonly object value
