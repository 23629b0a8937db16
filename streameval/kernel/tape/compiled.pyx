"""The tape of `numpy.py`, compiled. Same names, same signatures; `numpy.py` says what they mean."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from streameval.kernel.decisions.compiled cimport Counts

import numpy as np

from streameval.kernel.types import DONE, OTHER


cdef void* resized(void* array, size_t size) except NULL:
    cdef void* found = realloc(array, size)
    if found == NULL:
        raise MemoryError
    return found


cdef class Tape:
    """See `streameval.kernel.tape.numpy.Tape`. A gap buffer: what is held moves to the front once the end is reached."""

    cdef readonly bint timed
    cdef int32_t* length
    cdef int32_t* slot
    cdef double* weight  # NULL while all are 1
    cdef int64_t* stamp  # NULL unless timed
    cdef readonly Py_ssize_t appended
    cdef Py_ssize_t first, last, room, first_slot, last_slot, slot_room, odd

    def __cinit__(self, bint timed):
        self.timed = timed

    def __dealloc__(self):
        free(self.length)
        free(self.slot)
        free(self.weight)
        free(self.stamp)

    @property
    def examples(self):
        return self.last - self.first

    @property
    def weighted(self):
        return self.odd > 0

    @property
    def latest(self):
        return self.stamp[self.last - 1] if self.timed and self.last > self.first else None

    cdef int make_room(self, Py_ssize_t examples, Py_ssize_t slots, bint weighted) except -1:
        """Room behind the last example; nothing of what is held changes, also if memory runs out."""
        cdef Py_ssize_t position
        if self.length == NULL or self.last + examples > self.room:
            self.move_examples(self.last - self.first + examples)
        if self.slot == NULL or self.last_slot + slots > self.slot_room:
            self.move_slots(self.last_slot - self.first_slot + slots)
        if weighted and self.weight == NULL:
            self.weight = <double*>malloc(self.room * sizeof(double))
            if self.weight == NULL:
                raise MemoryError
            for position in range(self.last):
                self.weight[position] = 1.0
        return 0

    cdef int move_examples(self, Py_ssize_t needed) except -1:
        """Move what is held to the front, into more room if it takes more than two thirds of it, or into less."""
        cdef Py_ssize_t live = self.last - self.first, room = needed + needed // 2 + 64
        if 3 * needed > 2 * self.room:
            self.resize_examples(room)
        if live and self.first:
            memmove(self.length, self.length + self.first, live * sizeof(int32_t))
            if self.weight != NULL:
                memmove(self.weight, self.weight + self.first, live * sizeof(double))
            if self.timed:
                memmove(self.stamp, self.stamp + self.first, live * sizeof(int64_t))
        self.first, self.last = 0, live
        if self.room > 3 * room:
            self.resize_examples(room)
        return 0

    cdef int resize_examples(self, Py_ssize_t room) except -1:
        # With realloc, since large arrays grow in place. What has grown when another cannot does no harm, and what
        # shrinks is first said to be small.
        self.room = min(self.room, room)
        self.length = <int32_t*>resized(self.length, room * sizeof(int32_t))
        if self.weight != NULL:
            self.weight = <double*>resized(self.weight, room * sizeof(double))
        if self.timed:
            self.stamp = <int64_t*>resized(self.stamp, room * sizeof(int64_t))
        self.room = room
        return 0

    cdef int move_slots(self, Py_ssize_t needed) except -1:
        cdef Py_ssize_t live = self.last_slot - self.first_slot, room = needed + needed // 2 + 256
        if 3 * needed > 2 * self.slot_room:
            self.slot = <int32_t*>resized(self.slot, room * sizeof(int32_t))
            self.slot_room = room
        if live and self.first_slot:
            memmove(self.slot, self.slot + self.first_slot, live * sizeof(int32_t))
        self.first_slot, self.last_slot = 0, live
        if self.slot_room > 3 * room:
            self.slot = <int32_t*>resized(self.slot, room * sizeof(int32_t))
            self.slot_room = room
        return 0

    def slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, int64_t stamp, int64_t limit,
    ):
        cdef Py_ssize_t position
        cdef int code
        if self.odd or max(counts.width, len(columns)) > 0x7FFFFFFF // 10:
            return OTHER
        code = counts.count_example(columns, fixed, y_true, y_pred, threshold, 1)
        if code:
            return code
        try:
            self.make_room(1, counts.landed, False)
        except MemoryError:
            counts.uncount()
            raise
        for position in range(counts.landed):
            self.slot[self.last_slot + position] = <int32_t>counts.touched[position]
        self.length[self.last] = <int32_t>counts.landed
        if self.weight != NULL:
            self.weight[self.last] = 1.0
        if self.timed:
            self.stamp[self.last] = stamp
        self.last_slot += counts.landed
        self.last += 1
        self.appended += 1
        position = self.late(size, limit)
        if position:
            self.take_back(counts, position)
        return DONE

    def extend(self, lengths, slots, weights, stamps):
        cdef const int32_t[::1] length = np.ascontiguousarray(lengths, np.int32)
        cdef const int32_t[::1] slot = np.ascontiguousarray(slots, np.int32)
        cdef const double[::1] weight
        cdef const int64_t[::1] stamp
        cdef Py_ssize_t position, total = 0, examples = length.shape[0], odd = 0
        for position in range(examples):
            total += length[position]
            if length[position] < 0:
                raise ValueError("a length is negative")
        if total != slot.shape[0] or self.timed != (stamps is not None):
            raise ValueError("lengths, slots and stamps do not fit together")
        for position in range(total):
            if slot[position] < 0:
                raise ValueError("a slot is negative")
        if weights is not None:
            weight = np.ascontiguousarray(weights, np.float64)
            if weight.shape[0] != examples:
                raise ValueError("lengths and weights do not fit together")
            for position in range(examples):
                odd += weight[position] != 1.0
        if stamps is not None:
            stamp = np.ascontiguousarray(stamps, np.int64)
            if stamp.shape[0] != examples:
                raise ValueError("lengths and stamps do not fit together")
        if not examples:
            return
        self.make_room(examples, total, odd > 0)
        memcpy(self.length + self.last, &length[0], examples * sizeof(int32_t))
        if total:
            memcpy(self.slot + self.last_slot, &slot[0], total * sizeof(int32_t))
        if self.weight != NULL:
            for position in range(examples):
                self.weight[self.last + position] = 1.0 if weights is None else weight[position]
        if self.timed:
            memcpy(self.stamp + self.last, &stamp[0], examples * sizeof(int64_t))
        self.last_slot += total
        self.last += examples
        self.appended += examples
        self.odd += odd

    cdef Py_ssize_t late(self, Py_ssize_t size, int64_t limit) noexcept nogil:
        cdef Py_ssize_t position = max(0, self.last - self.first - size)
        if self.timed:
            while self.first + position < self.last and self.stamp[self.first + position] <= limit:
                position += 1
        return position

    def overdue(self, Py_ssize_t size, int64_t limit):
        return self.late(size, limit)

    def drop(self, Counts counts, Py_ssize_t examples):
        self.take_back(counts, max(0, min(examples, self.last - self.first)))

    cdef void take_back(self, Counts counts, Py_ssize_t examples) noexcept:
        """Take the oldest examples off the tape; what is on it was counted, so there is nothing to check."""
        cdef Py_ssize_t position, here, width = 0 if counts is None else 5 * counts.width
        cdef int32_t slot
        cdef uint64_t totals[5]
        for position in range(self.first, self.first + examples):
            totals[0] = totals[1] = totals[2] = totals[3] = totals[4] = 0
            for here in range(self.first_slot, self.first_slot + self.length[position]):
                slot = self.slot[here]
                if slot < width:
                    counts.cell[slot] -= 1
                totals[slot % 5] += 1
            if counts is not None:
                counts.uncount_row(totals)
            self.first_slot += self.length[position]
            if self.weight != NULL and self.weight[position] != 1.0:
                self.odd -= 1
        self.first += examples
        if not self.odd:
            free(self.weight)
            self.weight = NULL

    def contents(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t position, before = self.first_slot, total = 0, examples
        start = max(0, min(start, self.last - self.first))
        stop = max(start, min(stop, self.last - self.first))
        examples = stop - start
        for position in range(self.first, self.first + start):
            before += self.length[position]
        for position in range(self.first + start, self.first + stop):
            total += self.length[position]
        lengths, slots = np.empty(examples, np.int32), np.empty(total, np.int32)
        cdef int32_t[::1] length = lengths
        cdef int32_t[::1] slot = slots
        cdef double[::1] weight
        cdef int64_t[::1] stamp
        weights = np.empty(examples, np.float64) if self.odd else None
        stamps = np.empty(examples, np.int64) if self.timed else None
        if total:
            memcpy(&slot[0], self.slot + before, total * sizeof(int32_t))
        if examples:
            memcpy(&length[0], self.length + self.first + start, examples * sizeof(int32_t))
            if weights is not None:
                weight = weights
                memcpy(&weight[0], self.weight + self.first + start, examples * sizeof(double))
            if stamps is not None:
                stamp = stamps
                memcpy(&stamp[0], self.stamp + self.first + start, examples * sizeof(int64_t))
        return lengths, slots, weights, stamps
