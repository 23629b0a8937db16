"""The tape of `numpy.py`, compiled. Same names, same signatures; `numpy.py` says what they mean."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from streameval.kernel.decisions.cells cimport se_rows, se_slots
from streameval.kernel.decisions.compiled cimport FOLLOWERS, Counts
from streameval.kernel.decisions.counting cimport se_add_example, se_drop_example
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport DONE, OTHER, se_commit, se_part, se_part_new, se_release
from streameval.kernel.scores cimport se_score_rows
from streameval.kernel.table cimport se_sums, se_sums_init, se_sums_reserve, set_seed

import numpy as np

cdef extern from "tape/buffer.h" nogil:
    ctypedef struct se_buffer:
        char* items
        Py_ssize_t size, first, last
    int se_buffer_reserve(se_buffer*, Py_ssize_t)
    void se_buffer_put(se_buffer*, Py_ssize_t, const void*, Py_ssize_t, Py_ssize_t)
    void se_buffer_fill(se_buffer*, Py_ssize_t, const void*, Py_ssize_t)
    void se_buffer_get(const se_buffer*, Py_ssize_t, Py_ssize_t, void*)
    int se_buffer_widen(se_buffer*)
    void se_buffer_free(se_buffer*)

# Of each example how many slots it has, its weight, its stamp and how many scores it has; then the slots of all examples,
# and the columns and values of their scores.
cdef enum:
    LENGTH, WEIGHT, STAMP, MANY, SLOT, COLUMN, SCORE, PARTS
    FEW = 64  # examples that are taken back from tables of scores at once, at most

set_seed()

cdef tuple KINDS = (np.int32, np.float64, np.int64, np.int32, np.int32, np.int32, np.float32)
cdef double ONE = 1.0
cdef int32_t NOTHING = 0


cdef struct Appended:
    PyObject* tape
    PyObject* holders  # of the items, unless it is one example
    PyObject* source  # a tape whose examples these are, from `start` on
    Py_ssize_t start  # where nothing is appended: from which example on they stay on the tape
    const int32_t* columns  # where those of the source stand; NULL if they are the same
    Py_ssize_t count[PARTS]
    const void* items[PARTS]  # NULL: weights of 1, no scores
    Py_ssize_t odd, size  # how many weights are other than 1; the bytes of a score
    bint promised
    int32_t length  # of one example
    double weight
    int64_t stamp


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
        """Write weights or scores from now on."""
        cdef Py_ssize_t live = 0 if part > MANY else self.live()
        if not self.written[part]:
            check_memory(se_buffer_reserve(&self.held[part], live + self.promised[part]))
            se_buffer_fill(&self.held[part], 0, &ONE if part == WEIGHT else <void*>&NOTHING, live)
            self.held[part].last, self.written[part] = live, True
        return 0

    cdef int reserve(self, const Appended* data) except -1:
        """Room for more, besides what was promised; nothing of what is on the tape changes."""
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

    def slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, int64_t stamp=INT64_MIN, int64_t limit=INT64_MIN,
    ):
        cdef int code = OTHER
        if self.weighted or max(counts.width, len(columns)) > 0x7FFFFFFF // 10 or stamp < self.earliest:
            return OTHER
        if (self.timed and not (self.live() and stamp >= self.newest())) or not counts.start():
            return OTHER
        try:
            size = self.late(size - 1, limit)
            code = self.slide_rows(counts, columns, fixed, y_true, y_pred, threshold, 1, &stamp, size)
            return code
        finally:
            counts.root.guard.stop(code == DONE)

    cdef void append_placed(self, Counts counts, Py_ssize_t size, int64_t stamp) noexcept:
        """Add the example whose slots were placed last; there is room."""
        cdef int32_t* slots = <int32_t*>self.held[SLOT].items + self.held[SLOT].last
        cdef const int64_t* touched = counts.touched
        cdef Py_ssize_t position
        cdef int part
        for position in range(size):
            slots[position] = <int32_t>touched[position]
        (<int32_t*>self.held[LENGTH].items)[self.held[LENGTH].last] = <int32_t>size
        if self.written[WEIGHT]:
            (<double*>self.held[WEIGHT].items)[self.held[WEIGHT].last] = 1.0
        if self.timed:
            (<int64_t*>self.held[STAMP].items)[self.held[STAMP].last] = stamp
        for part in range(MANY):
            self.held[part].last += self.written[part]
        self.held[SLOT].last += size

    cdef int slide_rows(
        self, Counts counts, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int dimensions,
        const int64_t* stamps, Py_ssize_t oldest,
    ) except -1:
        """The same of an example or, where tables of scores follow, of a few rows, in all or in none; the guard is held."""
        cdef Appended one
        cdef se_rows binary
        cdef se_score_rows row
        cdef se_part part[FOLLOWERS * (FEW + 1)]
        cdef uint64_t totals[3]
        cdef const uint8_t* true
        cdef Py_ssize_t slots, scored
        cdef int at, prepared = 0
        row.fixed, row.mask = fixed, NULL
        try:
            if not counts.following:
                counts.begin(columns, threshold)
                row.rows, slots = 1, counts.placed(columns, fixed, y_true, y_pred, totals)
                if slots < 0 or counts.counted.examples >= counts.most:
                    return OTHER
            elif oldest > FEW or not self.prepare_oldest(counts, columns, threshold, oldest, &row, part, &prepared):
                return OTHER
            else:
                slots = counts.read_scored(columns, y_true, y_pred, threshold, dimensions, &row, &binary, totals)
                if slots < 0 or not counts.follow(&row, 1, False, part, &prepared):
                    return OTHER
            describe(&one, slots if row.rows == 1 else row.rows * row.width, 1.0, 0)
            for at in range(SLOT):
                one.count[at] = row.rows
            if counts.following:
                scored = row.width
                while row.ranked != NULL and scored and not row.ranked[scored - 1]:
                    scored -= 1
                one.items[MANY], one.count[COLUMN], one.count[SCORE] = &scored, row.rows * scored, row.rows * scored
                one.size = 4 if row.single or are_narrow(<const double*>row.scores, row.rows * scored) else 8
            self.reserve(&one)
            if row.rows > 1:
                counts.count_rows(&binary, NULL, fixed, counts.counted.cell)
            else:
                check_memory(se_sums_reserve(&counts.counted.rows, 1))
                se_add_example(&counts.counted, counts.touched, slots, totals[0] | totals[1] << 32, totals[2], 1)
            for at in range(row.rows):
                if row.rows > 1:
                    true = binary.true_ + at * row.width
                    slots = se_slots(true, true + row.rows * row.width, row.width, fixed, counts.touched, totals)
                self.append_placed(counts, slots, stamps[at] if self.timed else 0)
                if counts.following:
                    self.append_scores(&row, at, scored)
            self.take_back(counts, oldest)
            for at in range(prepared):
                se_commit(&part[at])
            return DONE
        finally:
            for at in range(prepared):
                se_release(&part[at])

    cdef bint prepare_oldest(
        self, Counts counts, dict columns, threshold, Py_ssize_t examples, se_score_rows* row, se_part* part, int* prepared
    ) except -1:
        """Prepare to take the oldest examples back from the tables of scores; False if they are not handled."""
        cdef const int32_t* slot = <int32_t*>self.held[SLOT].items + self.held[SLOT].first
        cdef const int32_t* column = <int32_t*>self.held[COLUMN].items + self.held[COLUMN].first
        cdef const char* score = self.held[SCORE].items + self.held[SCORE].first * self.held[SCORE].size
        cdef const int32_t* length = <int32_t*>self.held[LENGTH].items + self.held[LENGTH].first
        cdef const int32_t* many = <int32_t*>self.held[MANY].items + self.held[MANY].first
        cdef Py_ssize_t position
        if examples and not self.written[MANY]:
            return False
        counts.begin(columns, threshold)
        row.single = self.held[SCORE].size == 4
        for position in range(examples):
            if not counts.read_held(slot, length[position], column, score, many[position], row):
                return False
            if not counts.follow(row, -1, True, part, prepared):
                return False
            slot, column = slot + length[position], column + many[position]
            score += many[position] * self.held[SCORE].size
        return True

    cdef void append_scores(self, const se_score_rows* rows, Py_ssize_t row, Py_ssize_t size) noexcept:
        """Add the first scores of a row; there is room."""
        cdef int32_t* column = <int32_t*>self.held[COLUMN].items + self.held[COLUMN].last
        cdef char* to = self.held[SCORE].items + self.held[SCORE].last * self.held[SCORE].size
        cdef double score
        cdef Py_ssize_t at, start = row * rows.width
        for at in range(size):
            column[at] = <int32_t>rows.columns[at]
            score = (<const float*>rows.scores)[start + at] if rows.single else (<const double*>rows.scores)[start + at]
            if self.held[SCORE].size == 4:
                (<float*>to)[at] = <float>score
            else:
                (<double*>to)[at] = score
        (<int32_t*>self.held[MANY].items)[self.held[MANY].last] = <int32_t>size
        self.held[MANY].last += 1
        self.held[COLUMN].last += size
        self.held[SCORE].last += size

    def slide_many(
        self, Counts counts, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, Py_ssize_t size, stamps,
        int64_t limit,
    ):
        cdef Appended data
        cdef se_sums keys
        cdef bytearray slots, lengths
        cdef const int64_t[::1] stamp = stamps
        cdef Py_ssize_t examples = len(y_true), position
        cdef int64_t latest = self.earliest
        cdef int part
        cdef bint done = False
        memset(&data, 0, sizeof(data))
        if self.weighted or max(counts.width, len(columns)) > 0x7FFFFFFF // 10 or not examples:
            return OTHER
        if self.timed:
            if not self.live() or stamp.shape[0] != examples:
                return OTHER
            latest = max(latest, self.newest())
            for position in range(examples):
                if stamp[position] < latest:
                    return OTHER
                latest = stamp[position]
            data.items[STAMP] = &stamp[0]
        if counts.following and (examples >= size or (self.timed and stamp[0] <= limit)):
            return OTHER
        if counts.counted.examples >= counts.most or not counts.start():
            return OTHER
        keys.places = NULL
        try:
            if counts.following:
                examples = self.late(size - examples, limit)
                code = self.slide_rows(
                    counts, columns, fixed, y_true, y_pred, threshold, 2, <const int64_t*>data.items[STAMP], examples
                )
                done = code == DONE
                return code
            check_memory(se_sums_init(&keys, 64, 1))
            lengths = PyByteArray_FromStringAndSize(NULL, examples * sizeof(int32_t))
            data.items[LENGTH] = PyByteArray_AS_STRING(lengths)
            slots = counts.place_examples(
                columns, fixed, y_true, y_pred, threshold, examples, <int32_t*>data.items[LENGTH], &keys
            )
            if slots is None:
                return OTHER
            for part in range(SLOT):
                data.count[part] = examples
            data.items[SLOT], data.count[SLOT] = PyByteArray_AS_STRING(slots), len(slots) // sizeof(int32_t)
            self.reserve(&data)
            check_memory(se_sums_reserve(&counts.counted.rows, keys.used))
            counts.add_examples(slots, &keys, examples)
            self.append(&data)
            self.take_back(counts, self.late(size, limit))
            done = True
            return DONE
        finally:
            counts.root.guard.stop(done)
            free(keys.places)

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
        data.tape = <PyObject*>self
        part = se_part_new(commit_append, data, release_append, self)
        for position in range(slot.shape[0]):
            (<int32_t*>(data + 1))[position] = <int32_t>slot[position]
        data.items[SLOT] = data + 1
        self.reserve(data)
        self.promise(data, 1)
        return part

    def prepare_merge(self, Tape other, Py_ssize_t start, columns=None):
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
        """The examples from one on, where they stand."""
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
        """Add examples, on a timed tape each behind those not stamped later; within the room, so from the newest back."""
        # What is written lies behind all that is still to be moved of either, so the examples may be of this tape too.
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
        """Put the last of some examples before these places, which is where the next are to end."""
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

    cdef void take_back(self, Counts counts, Py_ssize_t examples) noexcept:
        """Take the oldest examples off the tape; what is on it was counted, so there is nothing to check."""
        cdef Py_ssize_t _
        cdef int32_t entries
        cdef int part
        for _ in range(max(0, min(examples, self.live()))):
            entries = (<int32_t*>self.held[LENGTH].items)[self.held[LENGTH].first]
            if counts is not None:
                se_drop_example(&counts.counted, <int32_t*>self.held[SLOT].items + self.held[SLOT].first, entries)
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
        cdef Tape result = Tape(root, self.timed)
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


cdef bint are_narrow(const double* scores, Py_ssize_t size) noexcept:
    """Whether a float32 equals each score."""
    cdef Py_ssize_t at
    for at in range(size):
        if <double><float>scores[at] != scores[at]:
            return False
    return True


cdef void describe(Appended* data, Py_ssize_t slots, double weight, int64_t stamp) noexcept:
    """One example without scores, all but its slots."""
    cdef int part
    memset(data, 0, sizeof(Appended))
    data.length, data.weight, data.stamp, data.odd = <int32_t>slots, weight, stamp, weight != 1.0
    data.items[LENGTH], data.items[WEIGHT], data.items[STAMP] = &data.length, &data.weight, &data.stamp
    for part in range(SLOT):
        data.count[part] = 1
    data.count[SLOT] = slots


cdef void count_last(const Appended* data, Py_ssize_t examples, Py_ssize_t* count) noexcept:
    """How many items the last examples have."""
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
    """How many of the last are stamped later than all the rest, or alike."""
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
    cdef Tape tape = <Tape>part.tape
    tape.promise(part, -1)
    if part.source != NULL:  # of which the items may have moved, as it may be this tape
        (<Tape>part.source).view(part, part.start)
    tape.append(part)


cdef void release_append(void* data) noexcept:
    cdef Appended* part = <Appended*>data
    if part.promised:
        (<Tape>part.tape).promise(part, -1)
    Py_XDECREF(part.holders)
    free(part)


cdef void commit_drop(void* data) noexcept:
    (<Tape>(<Appended*>data).tape).take_back(None, (<Appended*>data).start)
