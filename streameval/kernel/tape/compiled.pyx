"""The tape of `numpy.py`, compiled. Same names, same signatures; `numpy.py` says what they mean."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from streameval.kernel.decisions.compiled cimport Counts
from streameval.kernel.part cimport commit, se_part_new

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
    void se_buffer_put(se_buffer*, const void*, Py_ssize_t)
    void se_buffer_get(const se_buffer*, Py_ssize_t, Py_ssize_t, void*)
    int se_buffer_widen(se_buffer*)

cdef double ONE = 1.0
cdef int32_t NOTHING = 0


cdef struct Appended:
    PyObject* tape
    PyObject* arrays  # which hold what follows
    Py_ssize_t examples
    Py_ssize_t slots
    Py_ssize_t entries
    Py_ssize_t odd
    bint promised
    bint single
    const int32_t* length
    const int32_t* slot
    const double* weight
    const int64_t* stamp
    const int32_t* many
    const int32_t* column
    const void* score
    int32_t of_one  # what these point to where it is one example, whose slots follow
    double weight_of_one
    int64_t stamp_of_one


cdef struct Dropped:
    PyObject* tape
    PyObject* counts  # or None
    Py_ssize_t examples


cdef const void* start(array, kind, Py_ssize_t items, str what) except? NULL:
    """Where an array of so many items starts, which has a copy of its own."""
    if array.ndim != 1 or array.dtype != kind or len(array) != items:
        raise ValueError(f"{what} do not fit together")
    return <const void*><size_t>array.ctypes.data if items else NULL


cdef class Tape:
    """See `streameval.kernel.tape.numpy.Tape`."""

    cdef readonly bint timed
    cdef readonly Py_ssize_t appended
    cdef se_buffer length, slot, weight, stamp, many, column, score
    cdef Py_ssize_t odd, promised_examples, promised_slots, promised_entries
    # Whether weights and scores are written: not before one is other than 1, or there is one.
    cdef bint weighs, scores

    def __cinit__(self, root, bint timed):
        self.timed = timed
        self.length.size = self.slot.size = self.many.size = self.column.size = self.score.size = 4
        self.weight.size = self.stamp.size = 8

    def __dealloc__(self):
        for items in (<size_t>self.length.items, <size_t>self.slot.items, <size_t>self.weight.items,
                      <size_t>self.stamp.items, <size_t>self.many.items, <size_t>self.column.items,
                      <size_t>self.score.items):
            free(<void*><size_t>items)

    @property
    def examples(self):
        return self.length.last - self.length.first

    @property
    def weighted(self):
        return self.odd

    @property
    def latest(self):
        return (<int64_t*>self.stamp.items)[self.stamp.last - 1] if self.timed and self.examples else None

    cdef int reserve(self, Py_ssize_t examples, Py_ssize_t slots, Py_ssize_t entries) except -1:
        """Room for more, besides what was promised; nothing of what is on the tape changes."""
        examples += self.promised_examples
        if not (
            se_buffer_reserve(&self.length, examples)
            and se_buffer_reserve(&self.slot, slots + self.promised_slots)
            and (not self.timed or se_buffer_reserve(&self.stamp, examples))
            and (not self.weighs or se_buffer_reserve(&self.weight, examples))
            and (not self.scores or se_buffer_reserve(&self.many, examples))
            and (not self.scores or se_buffer_reserve(&self.column, entries + self.promised_entries))
            and (not self.scores or se_buffer_reserve(&self.score, entries + self.promised_entries))
        ):
            raise MemoryError
        return 0

    cdef int widen(self, bint odd, bint scored, bint single) except -1:
        """Write weights or scores from now on, or scores of eight bytes, if there are some."""
        cdef Py_ssize_t position, live = self.length.last - self.length.first
        if self.weighs and not (odd or self.odd or self.promised_examples):
            free(self.weight.items)
            self.weight.items, self.weight.first, self.weight.last = NULL, 0, 0
            self.weight.room = 0
            self.weighs = False
        if odd and not self.weighs:
            if not se_buffer_reserve(&self.weight, live + self.promised_examples):
                raise MemoryError
            for position in range(live):
                se_buffer_put(&self.weight, &ONE, 1)
            self.weighs = True
        if scored and not self.scores:
            if not se_buffer_reserve(&self.many, live + self.promised_examples):
                raise MemoryError
            for position in range(live):
                se_buffer_put(&self.many, &NOTHING, 1)
            self.scores = True
        if scored and not single and self.score.size == 4 and not se_buffer_widen(&self.score):
            raise MemoryError
        return 0

    def slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, int64_t stamp, int64_t limit,
    ):
        cdef Py_ssize_t position
        cdef int32_t slot
        cdef int code
        if self.odd or self.scores or max(counts.width, len(columns)) > 0x7FFFFFFF // 10:
            return OTHER
        self.widen(False, False, True)
        code = counts.count_example(columns, fixed, y_true, y_pred, threshold, 1)
        if code:
            return code
        try:
            self.reserve(1, counts.landed, 0)
        except MemoryError:
            counts.count_example(columns, fixed, y_true, y_pred, threshold, -1)
            raise
        for position in range(counts.landed):
            slot = <int32_t>counts.touched[position]
            se_buffer_put(&self.slot, &slot, 1)
        slot = <int32_t>counts.landed
        se_buffer_put(&self.length, &slot, 1)
        if self.weighs:
            se_buffer_put(&self.weight, &ONE, 1)
        if self.timed:
            se_buffer_put(&self.stamp, &stamp, 1)
        self.appended += 1
        position = self.late(size, limit)
        if position:
            self.take_back(counts, position)
        return DONE

    def prepare_append(self, lengths, slots, weights, stamps, scores=None):
        cdef Appended* data = <Appended*>calloc(1, sizeof(Appended))
        if data == NULL:
            raise MemoryError
        data.tape = <PyObject*>self
        part = se_part_new(commit_append, data, release_append, self)
        if self.timed != (stamps is not None):
            raise ValueError("a timed tape takes stamps, and only that")
        many, columns, values = (None, (), np.zeros(0, np.float32)) if scores is None else scores
        arrays = (
            np.array(lengths, np.int32), np.array(slots, np.int32),
            None if weights is None else np.array(weights, np.float64),
            None if stamps is None else np.array(stamps, np.int64),
            None if many is None else np.array(many, np.int32), np.array(columns, np.int32),
            np.array(values, np.float32 if values.dtype == np.float32 else np.float64),
        )
        Py_INCREF(arrays)
        data.arrays = <PyObject*>arrays
        data.examples, data.slots, data.entries = len(arrays[0]), int(arrays[0].sum()), len(arrays[5])
        data.single = arrays[6].dtype == np.float32
        if data.examples and (arrays[0].min() < 0 or arrays[1].min(initial=0) < 0):
            raise ValueError("a length or a slot is negative")
        data.length = <const int32_t*>start(arrays[0], np.int32, data.examples, "lengths")
        data.slot = <const int32_t*>start(arrays[1], np.int32, data.slots, "lengths and slots")
        if weights is not None:
            data.weight = <const double*>start(arrays[2], np.float64, data.examples, "lengths and weights")
            data.odd = np.count_nonzero(arrays[2] != 1.0)
        if self.timed:
            data.stamp = <const int64_t*>start(arrays[3], np.int64, data.examples, "lengths and stamps")
        if many is not None:
            data.many = <const int32_t*>start(arrays[4], np.int32, data.examples, "lengths and scores")
            data.column = <const int32_t*>start(arrays[5], np.int32, int(arrays[4].sum()), "scores and columns")
            data.score = start(arrays[6], arrays[6].dtype, data.entries, "columns and scores")
        self.widen(data.odd > 0, many is not None, data.single)
        self.reserve(data.examples, data.slots, data.entries)
        self.promise(data, 1)
        return part

    def prepare_one(self, slots, double weight, int64_t stamp):
        cdef const int64_t[::1] slot = slots
        return self.part_of(<Py_ssize_t*>&slot[0] if len(slots) else NULL, slot.shape[0], weight, stamp)

    cdef part_of(self, const Py_ssize_t* slot, Py_ssize_t slots, double weight, int64_t stamp):
        cdef Py_ssize_t position
        cdef Appended* data = <Appended*>calloc(1, sizeof(Appended) + slots * sizeof(int32_t))
        if data == NULL:
            raise MemoryError
        data.tape = <PyObject*>self
        part = se_part_new(commit_append, data, release_append, self)
        for position in range(slots):
            (<int32_t*>(data + 1))[position] = <int32_t>slot[position]
        data.examples, data.slots, data.odd, data.single = 1, slots, weight != 1.0, True
        data.of_one, data.weight_of_one, data.stamp_of_one = <int32_t>slots, weight, stamp
        data.length, data.slot, data.weight = &data.of_one, <int32_t*>(data + 1), &data.weight_of_one
        data.stamp = &data.stamp_of_one
        self.widen(data.odd > 0, False, True)
        self.reserve(1, slots, 0)
        self.promise(data, 1)
        return part

    def prepare_slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, int64_t stamp, int64_t limit,
    ):
        cdef Py_ssize_t late
        if self.odd or self.scores or max(counts.width, len(columns)) > 0x7FFFFFFF // 10:
            return OTHER
        part = counts.prepare_plain(columns, fixed, y_true, y_pred, threshold, 1)
        if isinstance(part, int):
            return part
        parts = [part, self.part_of(counts.touched, counts.landed, 1.0, stamp)]
        late = self.late(size - 1, limit)
        if late:
            parts.append(self.prepare_drop(late, counts))
        return parts

    cdef void promise(self, Appended* data, int by) noexcept:
        self.promised_examples += by * data.examples
        self.promised_slots += by * data.slots
        self.promised_entries += by * data.entries
        data.promised = by > 0

    def extend(self, lengths, slots, weights, stamps, scores=None):
        commit(self.prepare_append(lengths, slots, weights, stamps, scores))

    cdef Py_ssize_t late(self, Py_ssize_t size, int64_t limit) noexcept nogil:
        cdef Py_ssize_t live = self.length.last - self.length.first, position = max(0, live - size)
        if self.timed:
            while position < live and (<int64_t*>self.stamp.items)[self.stamp.first + position] <= limit:
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

    cdef void take_back(self, Counts counts, Py_ssize_t examples) noexcept:
        """Take the oldest examples off the tape; what is on it was counted, so there is nothing to check."""
        cdef Py_ssize_t position
        cdef int32_t entries
        for position in range(max(0, min(examples, self.length.last - self.length.first))):
            entries = (<int32_t*>self.length.items)[self.length.first]
            if counts is not None:
                counts.drop_example(<int32_t*>self.slot.items + self.slot.first, entries)
            self.length.first += 1
            self.slot.first += entries
            if self.timed:
                self.stamp.first += 1
            if self.weighs:
                self.odd -= (<double*>self.weight.items)[self.weight.first] != 1.0
                self.weight.first += 1
            if self.scores:
                entries = (<int32_t*>self.many.items)[self.many.first]
                self.many.first += 1
                self.column.first += entries
                self.score.first += entries

    cdef entries(self, se_buffer* lengths, se_buffer* items, kind, Py_ssize_t first, Py_ssize_t last):
        """Copies of some lengths, and of what they are lengths of."""
        cdef Py_ssize_t position, before = 0, total = 0
        cdef int32_t* length = <int32_t*>lengths.items + lengths.first
        for position in range(first):
            before += length[position]
        for position in range(first, last):
            total += length[position]
        return copied(lengths, np.int32, first, last), copied(items, kind, before, before + total)

    def contents(self, Py_ssize_t start, Py_ssize_t stop):
        start = max(0, min(start, self.examples))
        stop = max(start, min(stop, self.examples))
        lengths, slots = self.entries(&self.length, &self.slot, np.int32, start, stop)
        weights = copied(&self.weight, np.float64, start, stop) if self.odd else None
        return lengths, slots, weights, copied(&self.stamp, np.int64, start, stop) if self.timed else None

    def oldest(self, Py_ssize_t examples):
        cdef Py_ssize_t position, entry, before = self.slot.first
        cdef int32_t slot, totals[5]
        cdef int64_t[::1] to
        result = []
        for position in range(self.length.first, self.length.first + max(0, min(examples, self.examples))):
            slots = np.empty((<int32_t*>self.length.items)[position], np.int64)
            to = slots
            totals[0] = totals[1] = totals[2] = totals[3] = totals[4] = 0
            for entry in range(to.shape[0]):
                slot = (<int32_t*>self.slot.items)[before + entry]
                to[entry] = slot
                totals[slot % 5] += 1
            before += to.shape[0]
            key = totals[1] + totals[3], totals[2] + totals[3], totals[3], totals[4]
            weight = (<double*>self.weight.items)[self.weight.first + position - self.length.first] if self.weighs else 1.0
            result.append((slots, key, weight))
        return result

    def scores_of(self, Py_ssize_t start, Py_ssize_t stop):
        start = max(0, min(start, self.examples))
        stop = max(start, min(stop, self.examples))
        kind = np.float32 if self.score.size == 4 else np.float64
        if not self.scores:
            return np.zeros(stop - start, np.int32), np.zeros(0, np.int32), np.zeros(0, kind)
        lengths, columns = self.entries(&self.many, &self.column, np.int32, start, stop)
        return lengths, columns, self.entries(&self.many, &self.score, kind, start, stop)[1]


cdef copied(se_buffer* buffer, kind, Py_ssize_t start, Py_ssize_t stop):
    array = np.empty(stop - start, kind)
    se_buffer_get(buffer, start, stop, <void*><size_t>array.ctypes.data)
    return array


cdef void commit_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    cdef Tape tape = <Tape>part.tape
    cdef Py_ssize_t position
    cdef double score
    se_buffer_put(&tape.length, part.length, part.examples)
    se_buffer_put(&tape.slot, part.slot, part.slots)
    if tape.timed:
        se_buffer_put(&tape.stamp, part.stamp, part.examples)
    for position in range(part.examples if tape.weighs else 0):
        se_buffer_put(&tape.weight, &ONE if part.weight == NULL else <double*>&part.weight[position], 1)
    for position in range(part.examples if tape.scores else 0):
        se_buffer_put(&tape.many, &NOTHING if part.many == NULL else <int32_t*>&part.many[position], 1)
    se_buffer_put(&tape.column, part.column, part.entries)
    if part.single and tape.score.size == 8:
        for position in range(part.entries):
            score = (<const float*>part.score)[position]
            se_buffer_put(&tape.score, &score, 1)
    else:
        se_buffer_put(&tape.score, part.score, part.entries)
    tape.odd += part.odd
    tape.appended += part.examples
    tape.promise(part, -1)


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
