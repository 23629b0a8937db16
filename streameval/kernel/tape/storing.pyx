"""`Storing`, the base of `Tape` (compiled.pyx), owns the buffers of a tape; prepares changes, copies items."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MIN, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from streameval.kernel.decisions.counting cimport se_counts, se_drop_example
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport se_part_new
from streameval.kernel.table cimport set_seed

import numpy as np

cdef extern from "tape/buffer.h" nogil:
    int se_buffer_reserve(se_buffer*, Py_ssize_t)
    void se_buffer_put(se_buffer*, Py_ssize_t, const void*, Py_ssize_t, Py_ssize_t)
    void se_buffer_fill(se_buffer*, Py_ssize_t, const void*, Py_ssize_t)
    void se_buffer_get(const se_buffer*, Py_ssize_t, Py_ssize_t, void*)
    int se_buffer_widen(se_buffer*)
    void se_buffer_free(se_buffer*)

set_seed()

cdef tuple KINDS = (np.int32, np.float64, np.int64, np.int32, np.int32, np.int32, np.float32)
cdef double ONE = 1.0
cdef int32_t NOTHING = 0


cdef class Storing:
    """The methods of `streameval.kernel.tape.numpy.Tape` that append, merge, drop and copy examples."""

    def __cinit__(self, root, bint timed):
        cdef int part
        self.timed, self.earliest = timed, INT64_MIN
        self.written[LENGTH] = self.written[SLOT] = True
        self.written[STAMP] = timed
        for part in range(PARTS):
            self.held[part].size = KINDS[part]().itemsize

    def __dealloc__(self):
        cdef int part
        for part in range(PARTS):
            se_buffer_free(&self.held[part])

    cdef Py_ssize_t live(self) noexcept nogil:
        return self.held[LENGTH].last - self.held[LENGTH].first

    @property
    def examples(self):
        return self.live()

    @property
    def latest(self):
        return self.newest() if self.timed and self.live() else None

    cdef int64_t newest(self) noexcept nogil:
        return (<int64_t*>self.held[STAMP].items)[self.held[STAMP].last - 1]

    cdef int write(self, int part) except -1:
        """Store weights or scores from now on."""
        cdef Py_ssize_t live = 0 if part > MANY else self.live()
        if not self.written[part]:
            check_memory(se_buffer_reserve(&self.held[part], live + self.promised[part]))
            se_buffer_fill(&self.held[part], 0, &ONE if part == WEIGHT else <void*>&NOTHING, live)
            self.held[part].last, self.written[part] = live, True
        return 0

    cdef int reserve(self, const Appended* data) except -1:
        """Make room for more items, beyond the promised ones; the examples on the tape stay as they are."""
        cdef int part
        if self.written[WEIGHT] and not (data.odd or self.weighted or self.promised[LENGTH]):
            se_buffer_free(&self.held[WEIGHT])
            self.written[WEIGHT] = False
        if data.odd:
            self.write(WEIGHT)
        if data.items[MANY] != NULL:
            for part in (MANY, COLUMN, SCORE):
                self.write(part)
        if data.size > self.held[SCORE].size:
            check_memory(se_buffer_widen(&self.held[SCORE]))
        for part in range(PARTS):
            if self.written[part]:
                check_memory(se_buffer_reserve(&self.held[part], data.count[part] + self.promised[part]))
        return 0

    def prepare_append(self, lengths, slots, weights, stamps, scores=None):
        cdef Appended* data = <Appended*>cleared(1, sizeof(Appended))
        cdef int part
        data.tape = <PyObject*>self
        change = se_part_new(commit_append, data, release_append, self)
        if self.timed != (stamps is not None):
            raise ValueError("a timed tape takes stamps, and only that")
        many, columns, values = (None, None, None) if scores is None else scores
        sides = [lengths, weights, stamps, many, slots, columns, values]
        for part in range(PARTS):
            if sides[part] is not None:
                wide = part == SCORE and values.dtype != np.float32
                sides[part] = np.array(sides[part], np.float64 if wide else KINDS[part])
        arrays = tuple(sides)
        Py_INCREF(arrays)
        data.holders = <PyObject*>arrays
        for part in range(PARTS):
            data.count[part] = len(lengths)
        data.count[SLOT] = arrays[LENGTH].sum()
        data.count[COLUMN] = data.count[SCORE] = 0 if many is None else arrays[MANY].sum()
        for part in range(PARTS):
            if arrays[part] is not None:
                if arrays[part].ndim != 1 or len(arrays[part]) != data.count[part]:
                    raise ValueError("lengths, slots, weights, stamps and scores do not fit together")
                data.items[part] = <const void*><size_t>arrays[part].ctypes.data
        if arrays[LENGTH].min(initial=0) < 0 or arrays[SLOT].min(initial=0) < 0:
            raise ValueError("a length or a slot is negative")
        data.odd = 0 if weights is None else np.count_nonzero(arrays[WEIGHT] != 1.0)
        data.size = 0 if many is None else arrays[SCORE].itemsize
        self.reserve(data)
        self.promise(data, 1)
        return change

    def prepare_one(self, slots, double weight, int64_t stamp):
        cdef const int64_t[::1] slot = slots
        cdef Py_ssize_t position
        cdef Appended* data = <Appended*>cleared(1, sizeof(Appended) + slot.shape[0] * sizeof(int32_t))
        describe(data, slot.shape[0], weight, stamp)
        for position in range(slot.shape[0]):
            (<int32_t*>(data + 1))[position] = <int32_t>slot[position]
        data.items[SLOT] = data + 1
        return self.prepared(data)

    cdef object prepared(self, Appended* data):
        """Prepare to append one example; the part frees ``data``, whose memory includes its items."""
        data.tape = <PyObject*>self
        part = se_part_new(commit_append, data, release_append, self)
        self.reserve(data)
        self.promise(data, 1)
        return part

    def prepare_merge(self, Storing other, Py_ssize_t start, columns=None):
        cdef const int32_t[::1] moved
        cdef Py_ssize_t position
        cdef Appended* data = <Appended*>cleared(1, sizeof(Appended))
        data.tape, data.source, data.start = <PyObject*>self, <PyObject*>other, start
        change = se_part_new(commit_append, data, release_append, self)
        if self.timed != other.timed:
            raise ValueError("only one of the tapes is timed")
        if columns is not None and len(columns):
            moved = columns = np.array(columns, np.int32)
            data.columns = &moved[0]
        holders = other, columns
        Py_INCREF(holders)
        data.holders = <PyObject*>holders
        other.view(data, start)
        for position in range(data.count[LENGTH] if other.weighted else 0):
            data.odd += (<const double*>data.items[WEIGHT])[position] != 1.0
        self.reserve(data)
        self.promise(data, 1)
        return change

    cdef void view(self, Appended* data, Py_ssize_t start) noexcept:
        """Point ``data`` to the examples from ``start`` on, without a copy."""
        cdef Py_ssize_t count[PARTS]
        cdef int part
        for part in range(PARTS):
            data.items[part], data.count[part] = NULL, self.live() if part < SLOT else 0
            if self.written[part]:
                data.items[part] = self.held[part].items + self.held[part].first * self.held[part].size
                data.count[part] = self.held[part].last - self.held[part].first
        data.size = self.held[SCORE].size if self.written[SCORE] else 0
        if start > 0:
            count_last(data, max(0, self.live() - start), count)
            for part in range(PARTS):
                if self.written[part]:
                    data.items[part] = <const char*>data.items[part] + (data.count[part] - count[part]) * self.held[part].size
                data.count[part] = count[part]

    cdef void promise(self, Appended* data, int by) noexcept:
        cdef int part
        for part in range(PARTS):
            self.promised[part] += by * data.count[part]
        data.promised = by > 0

    cdef Py_ssize_t late(self, Py_ssize_t size, int64_t limit) noexcept nogil:
        cdef Py_ssize_t position = max(0, self.live() - size)
        if self.timed:
            while position < self.live() and (<int64_t*>self.held[STAMP].items)[self.held[STAMP].first + position] <= limit:
                position += 1
        return position

    def overdue(self, Py_ssize_t size, int64_t limit):
        return self.late(size, limit)

    def prepare_drop(self, Py_ssize_t examples):
        cdef Appended* data = <Appended*>cleared(1, sizeof(Appended))
        data.tape, data.start = <PyObject*>self, examples
        return se_part_new(commit_drop, data, free, self)

    cdef void append(self, Appended* data) noexcept:
        """Merge examples in, by stamp if timed, into room that was reserved; from the newest to the oldest."""
        # Writes are always after all items that are still to be moved, so the examples may be from this tape, too.
        cdef Appended old
        cdef Py_ssize_t to[PARTS]
        cdef Py_ssize_t run
        cdef int part
        self.view(&old, 0)
        old.columns = NULL
        for part in range(PARTS):
            self.held[part].last += data.count[part] if self.written[part] else 0
            to[part] = self.held[part].last
        while data.count[LENGTH]:
            run = run_of(&old, data, False) if self.timed else 0
            if run:
                self.move(&old, run, to)
            self.move(data, run_of(data, &old, True) if self.timed else data.count[LENGTH], to)
        self.weighted += data.odd

    cdef void move(self, Appended* data, Py_ssize_t examples, Py_ssize_t* to) noexcept:
        """Move the last ``examples`` of ``data`` so that they end at ``to``, and set ``to`` to where they begin."""
        cdef Py_ssize_t count[PARTS]
        cdef Py_ssize_t position, size
        cdef const char* items
        cdef int32_t* slot
        cdef int part
        count_last(data, examples, count)
        for part in range(PARTS):
            data.count[part] -= count[part]
            to[part] -= count[part]
            size = data.size if part == SCORE else self.held[part].size
            if self.written[part] and data.items[part] != NULL:
                items = <const char*>data.items[part] + data.count[part] * size
                se_buffer_put(&self.held[part], to[part], items, size, count[part])
            elif self.written[part] and part <= MANY:
                se_buffer_fill(&self.held[part], to[part], &ONE if part == WEIGHT else <void*>&NOTHING, count[part])
        if data.columns != NULL:
            slot = <int32_t*>self.held[SLOT].items + to[SLOT]
            for position in range(count[SLOT]):
                slot[position] = 5 * data.columns[slot[position] // 5] + slot[position] % 5
            slot = <int32_t*>self.held[COLUMN].items + to[COLUMN]
            for position in range(count[COLUMN]):
                slot[position] = data.columns[slot[position]]

    cdef void take_back(self, se_counts* counts, Py_ssize_t examples) noexcept:
        """Take the oldest examples off the tape, and from counts unless NULL: all were counted, so nothing is checked."""
        cdef Py_ssize_t _
        cdef int32_t entries
        cdef int part
        for _ in range(max(0, min(examples, self.live()))):
            entries = (<int32_t*>self.held[LENGTH].items)[self.held[LENGTH].first]
            if counts != NULL:
                se_drop_example(counts, <int32_t*>self.held[SLOT].items + self.held[SLOT].first, entries)
            self.held[SLOT].first += entries
            if self.written[WEIGHT]:
                self.weighted -= (<double*>self.held[WEIGHT].items)[self.held[WEIGHT].first] != 1.0
            if self.written[MANY]:
                entries = (<int32_t*>self.held[MANY].items)[self.held[MANY].first]
                self.held[COLUMN].first += entries
                self.held[SCORE].first += entries
            for part in range(SLOT):
                self.held[part].first += self.written[part]

    cdef copied(self, int part, Py_ssize_t start, Py_ssize_t stop):
        """Copy the items of one part, from ``start`` to before ``stop``, into an array."""
        cdef Py_ssize_t position, before = 0, total = 0
        cdef int32_t* length
        start = max(0, min(start, self.live()))
        stop = max(start, min(stop, self.live()))
        if part >= SLOT and self.written[part]:
            lengths = &self.held[LENGTH if part == SLOT else MANY]
            length = <int32_t*>lengths.items + lengths.first
            for position in range(stop):
                if position < start:
                    before += length[position]
                else:
                    total += length[position]
            start, stop = before, before + total
        elif part >= SLOT:
            stop = start
        array = np.zeros(stop - start, np.float64 if self.held[part].size == 8 and part == SCORE else KINDS[part])
        if self.written[part]:
            se_buffer_get(&self.held[part], start, stop, <void*><size_t>array.ctypes.data)
        return array

    def contents(self, Py_ssize_t start, Py_ssize_t stop):
        weights = self.copied(WEIGHT, start, stop) if self.weighted else None
        stamps = self.copied(STAMP, start, stop) if self.timed else None
        return self.copied(LENGTH, start, stop), self.copied(SLOT, start, stop), weights, stamps

    def scores_of(self, Py_ssize_t start, Py_ssize_t stop):
        return self.copied(MANY, start, stop), self.copied(COLUMN, start, stop), self.copied(SCORE, start, stop)

    def copy(self, root):
        cdef Storing result = type(self)(root, self.timed)
        cdef Appended whole
        memset(&whole, 0, sizeof(whole))
        self.view(&whole, 0)
        result.earliest, whole.odd = self.earliest, self.weighted
        result.reserve(&whole)
        result.append(&whole)
        return result

    def oldest(self, Py_ssize_t examples):
        cdef Py_ssize_t position, entry, before = self.held[SLOT].first
        cdef int32_t slot
        cdef int32_t totals[5]
        cdef int64_t[::1] to
        result = []
        for position in range(max(0, min(examples, self.live()))):
            slots = np.empty((<int32_t*>self.held[LENGTH].items)[self.held[LENGTH].first + position], np.int64)
            to = slots
            memset(totals, 0, sizeof(totals))
            for entry in range(to.shape[0]):
                slot = (<int32_t*>self.held[SLOT].items)[before + entry]
                to[entry] = slot
                totals[slot % 5] += 1
            before += to.shape[0]
            key = totals[1] + totals[3], totals[2] + totals[3], totals[3], totals[4]
            weights = <double*>self.held[WEIGHT].items + self.held[WEIGHT].first
            result.append((slots, key, weights[position] if self.written[WEIGHT] else 1.0))
        return result


cdef void count_last(const Appended* data, Py_ssize_t examples, Py_ssize_t* count) noexcept:
    """Count the items of each part that belong to the last ``examples``."""
    cdef Py_ssize_t position
    cdef const int32_t* lengths = <const int32_t*>data.items[LENGTH]
    cdef const int32_t* many = <const int32_t*>data.items[MANY]
    cdef int part
    for part in range(SLOT):
        count[part] = examples
    count[SLOT] = count[SCORE] = 0
    for position in range(data.count[LENGTH] - examples, data.count[LENGTH]):
        count[SLOT] += lengths[position]
        if many != NULL:
            count[SCORE] += many[position]
    count[COLUMN] = count[SCORE]


cdef Py_ssize_t run_of(const Appended* data, const Appended* rest, bint alike) noexcept:
    """How many of the last examples of ``data`` are stamped after (if ``alike``, not before) all of ``rest``."""
    cdef const int64_t* stamps = <const int64_t*>data.items[STAMP]
    cdef Py_ssize_t before = data.count[LENGTH]
    cdef int64_t last
    if not rest.count[LENGTH]:
        return before
    last = (<const int64_t*>rest.items[STAMP])[rest.count[LENGTH] - 1]
    while before and (stamps[before - 1] > last or (alike and stamps[before - 1] == last)):
        before -= 1
    return data.count[LENGTH] - before


cdef void commit_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    cdef Storing tape = <Storing>part.tape
    tape.promise(part, -1)
    if part.source != NULL:  # its items may have moved, as it may be this tape
        (<Storing>part.source).view(part, part.start)
    tape.append(part)


cdef void release_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    if part.promised:
        (<Storing>part.tape).promise(part, -1)
    Py_XDECREF(part.holders)
    free(part)


cdef void commit_drop(void* data) noexcept:
    (<Storing>(<Appended*>data).tape).take_back(NULL, (<Appended*>data).start)
