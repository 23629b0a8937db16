"""The tape of `numpy.py`, compiled. Same names, same signatures; `numpy.py` says what they mean."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MIN, int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from streameval.kernel.decisions.compiled cimport Counts
from streameval.kernel.part cimport se_part_new

import numpy as np

from streameval.kernel.types import DONE, OTHER

cdef extern from "tape/buffer.h" nogil:
    ctypedef struct se_buffer:
        char* items
        Py_ssize_t size
        Py_ssize_t first
        Py_ssize_t last
        Py_ssize_t room
    int se_buffer_reserve(se_buffer*, Py_ssize_t)
    void se_buffer_put(se_buffer*, const void*, Py_ssize_t, Py_ssize_t)
    void se_buffer_fill(se_buffer*, const void*, Py_ssize_t)
    void se_buffer_get(const se_buffer*, Py_ssize_t, Py_ssize_t, void*)
    int se_buffer_widen(se_buffer*)

# Of each example how many slots it has, its weight, its stamp and how many scores it has; then the slots of all examples,
# and the columns and values of their scores.
cdef enum:
    LENGTH, WEIGHT, STAMP, MANY, SLOT, COLUMN, SCORE, PARTS

cdef tuple KINDS = (np.int32, np.float64, np.int64, np.int32, np.int32, np.int32, np.float32)
cdef double ONE = 1.0
cdef int32_t NOTHING = 0


cdef struct Appended:
    PyObject* tape
    PyObject* arrays  # which hold the items, unless it is one example
    Py_ssize_t count[PARTS]
    const void* items[PARTS]  # NULL: weights of 1, no scores
    Py_ssize_t odd, size  # how many weights are other than 1; the bytes of a score
    bint promised
    int32_t length  # of one example
    double weight
    int64_t stamp


cdef struct Dropped:
    PyObject* tape
    PyObject* counts  # or None
    Py_ssize_t examples


cdef class Tape:
    """See `streameval.kernel.tape.numpy.Tape`."""

    cdef readonly bint timed
    cdef public int64_t earliest  # that `slide` takes
    cdef se_buffer held[PARTS]
    cdef Py_ssize_t promised[PARTS]
    # Weights are not written before one is other than 1, nor scores before there is one.
    cdef bint written[PARTS]
    cdef readonly Py_ssize_t weighted

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
            free(self.held[part].items)

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
        """Write weights or scores from now on."""
        cdef Py_ssize_t live = 0 if part > MANY else self.live()
        if not self.written[part]:
            if not se_buffer_reserve(&self.held[part], live + self.promised[part]):
                raise MemoryError
            se_buffer_fill(&self.held[part], &ONE if part == WEIGHT else <void*>&NOTHING, live)
            self.written[part] = True
        return 0

    cdef int reserve(self, const Appended* data) except -1:
        """Room for more, besides what was promised; nothing of what is on the tape changes."""
        cdef int part
        if self.written[WEIGHT] and not (data.odd or self.weighted or self.promised[LENGTH]):
            free(self.held[WEIGHT].items)
            memset(&self.held[WEIGHT], 0, sizeof(se_buffer))
            self.held[WEIGHT].size, self.written[WEIGHT] = sizeof(double), False
        if data.odd:
            self.write(WEIGHT)
        if data.items[MANY] != NULL:
            for part in (MANY, COLUMN, SCORE):
                self.write(part)
        if data.size > self.held[SCORE].size and not se_buffer_widen(&self.held[SCORE]):
            raise MemoryError
        for part in range(PARTS):
            if self.written[part] and not se_buffer_reserve(&self.held[part], data.count[part] + self.promised[part]):
                raise MemoryError
        return 0

    def slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, int64_t stamp, int64_t limit,
    ):
        cdef Appended one
        cdef Py_ssize_t width = max(counts.width, len(columns)), position
        cdef int32_t slot
        cdef int code = -1
        if self.weighted or self.written[SCORE] or width > 0x7FFFFFFF // 10 or stamp < self.earliest:
            return OTHER
        if (self.timed and self.live() and stamp < self.newest()) or not counts.start():
            return OTHER
        try:
            describe(&one, width, 1.0, stamp)
            self.reserve(&one)
            code = counts.count_one(columns, fixed, y_true, y_pred, threshold, 1)
        finally:
            counts.root.guard.stop(code == 0)
        if code:
            return code
        for position in range(counts.landed):
            slot = <int32_t>counts.touched[position]
            se_buffer_put(&self.held[SLOT], &slot, sizeof(int32_t), 1)
        one.length, one.count[SLOT] = <int32_t>counts.landed, 0
        self.append(&one)
        self.take_back(counts, self.late(size, limit))
        return DONE

    def prepare_append(self, lengths, slots, weights, stamps, scores=None):
        cdef Appended* data = <Appended*>calloc(1, sizeof(Appended))
        cdef int part
        if data == NULL:
            raise MemoryError
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
        data.arrays = <PyObject*>arrays
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
        cdef Appended* data = <Appended*>calloc(1, sizeof(Appended) + slot.shape[0] * sizeof(int32_t))
        if data == NULL:
            raise MemoryError
        describe(data, slot.shape[0], weight, stamp)
        data.tape = <PyObject*>self
        part = se_part_new(commit_append, data, release_append, self)
        for position in range(slot.shape[0]):
            (<int32_t*>(data + 1))[position] = <int32_t>slot[position]
        data.items[SLOT] = data + 1
        self.reserve(data)
        self.promise(data, 1)
        return part

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

    def prepare_drop(self, Py_ssize_t examples, Counts counts=None):
        cdef Dropped* data = <Dropped*>calloc(1, sizeof(Dropped))
        if data == NULL:
            raise MemoryError
        data.tape, data.counts, data.examples = <PyObject*>self, <PyObject*>counts, examples
        Py_INCREF(counts)
        return se_part_new(commit_drop, data, release_drop, self)

    cdef void append(self, const Appended* data) noexcept:
        cdef int part
        for part in range(PARTS):
            if self.written[part] and data.items[part] != NULL:
                se_buffer_put(
                    &self.held[part], data.items[part], data.size if part == SCORE else self.held[part].size, data.count[part]
                )
            elif self.written[part] and part <= MANY:
                se_buffer_fill(&self.held[part], &ONE if part == WEIGHT else <void*>&NOTHING, data.count[part])
        self.weighted += data.odd

    cdef void take_back(self, Counts counts, Py_ssize_t examples) noexcept:
        """Take the oldest examples off the tape; what is on it was counted, so there is nothing to check."""
        cdef Py_ssize_t _
        cdef int32_t entries
        cdef int part
        for _ in range(max(0, min(examples, self.live()))):
            entries = (<int32_t*>self.held[LENGTH].items)[self.held[LENGTH].first]
            if counts is not None:
                counts.drop_example(<int32_t*>self.held[SLOT].items + self.held[SLOT].first, entries)
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
        """Copies of items, or of those that some examples have."""
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
        cdef Tape twin = Tape(root, self.timed)
        cdef int part
        cdef Py_ssize_t live
        twin.earliest, twin.weighted, twin.written = self.earliest, self.weighted, self.written
        for part in range(PARTS):
            live, twin.held[part].size = self.held[part].last - self.held[part].first, self.held[part].size
            if not se_buffer_reserve(&twin.held[part], live):
                raise MemoryError
            se_buffer_get(&self.held[part], 0, live, twin.held[part].items)
            twin.held[part].last = live
        return twin

    def oldest(self, Py_ssize_t examples):
        cdef Py_ssize_t position, entry, before = self.held[SLOT].first
        cdef int32_t slot, totals[5]
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


cdef void describe(Appended* data, Py_ssize_t slots, double weight, int64_t stamp) noexcept:
    """One example without scores, all but its slots."""
    cdef int part
    memset(data, 0, sizeof(Appended))
    data.length, data.weight, data.stamp, data.odd = <int32_t>slots, weight, stamp, weight != 1.0
    data.items[LENGTH], data.items[WEIGHT], data.items[STAMP] = &data.length, &data.weight, &data.stamp
    for part in range(SLOT):
        data.count[part] = 1
    data.count[SLOT] = slots


cdef void commit_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    (<Tape>part.tape).append(part)
    (<Tape>part.tape).promise(part, -1)


cdef void release_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    if part.promised:
        (<Tape>part.tape).promise(part, -1)
    Py_XDECREF(part.arrays)
    free(part)


cdef void commit_drop(void* data) noexcept:
    cdef Dropped* part = <Dropped*>data
    (<Tape>part.tape).take_back(<Counts>part.counts, part.examples)


cdef void release_drop(void* data) noexcept:
    Py_XDECREF((<Dropped*>data).counts)
    free(data)
