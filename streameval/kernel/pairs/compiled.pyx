"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from streameval.kernel.pairs.numpy import (  # which need no loops of their own
    CONFUSION,
    CONFUSIONS,
    CONTRIBUTION,
    CONTRIBUTIONS,
    COOCCURRENCE,
    NONE,
    PRED_PRED,
    TRUE_PRED,
    TRUE_TRUE,
    distinct_pairs,
    pairs_of,
    placed,
    sorted_pairs,
)
from streameval.kernel.types import DONE, FULL, REFUSED

cdef extern from "pairs/pairing.h" nogil:
    ctypedef struct sp_place:
        uint64_t outer
        uint64_t inner
        int64_t count
    ctypedef struct sp_table:
        sp_place* places
        size_t mask
        size_t used
        int failed
    ctypedef struct sp_sink:
        sp_table* table
        int64_t step
        uint64_t blocks
        const uint32_t* columns
    ctypedef struct sp_row:
        const uint32_t* labels
        size_t missed
        size_t both
        size_t wrong
        uint32_t none
    ctypedef struct sp_rows:
        const uint8_t* true_
        const uint8_t* pred
        const uint8_t* hidden
        ptrdiff_t true_stride
        ptrdiff_t pred_stride
        ptrdiff_t hidden_stride
        ptrdiff_t rows
        ptrdiff_t columns
        const uint32_t* place
    ctypedef struct sp_lists:
        const int64_t* offsets
        const int64_t* columns
    uint32_t SP_NONE
    uint64_t sp_inner(uint64_t, uint64_t, uint64_t)
    uint64_t sp_outer(uint32_t, uint32_t)
    int sp_init(sp_table*, size_t)
    sp_place* sp_find(const sp_table*, uint64_t, uint64_t)
    int sp_rebuild(sp_table*, size_t)
    int sp_reserve(sp_table*, size_t)
    void sp_add(sp_table*, uint64_t, uint64_t, int64_t)
    void sp_example(sp_sink*, const sp_row*, int)
    size_t sp_pairs(const sp_row*, int)
    int sp_dense(const sp_rows*, int, int64_t*, sp_table*)
    int sp_count_lists(ptrdiff_t, const sp_lists*, ptrdiff_t, int, int64_t*, sp_table*, int64_t*, uint32_t*)

cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
cdef Py_ssize_t WIDTH_MAX = 1 << 30
cdef uint64_t LOW = (1 << 30) - 1


cdef uint32_t label_of(int64_t column) noexcept nogil:
    return SP_NONE if column < 0 else <uint32_t>column


cdef int64_t column_of(uint64_t label) noexcept nogil:
    return -1 if label == SP_NONE else <int64_t>label


cdef class Pairs:
    """See `streameval.kernel.pairs.numpy.Pairs`."""

    cdef int64_t n
    cdef int parts
    cdef int64_t* cell
    cdef Py_ssize_t width
    cdef sp_table table

    def __cinit__(self, Py_ssize_t width, int parts):
        self.n = 0
        self.parts = parts
        self.width = max(width, 8)
        self.check_width(width)
        self.cell = <int64_t*>calloc(5 * self.width, sizeof(int64_t))
        if self.cell == NULL or not sp_init(&self.table, 64):
            raise MemoryError

    def __dealloc__(self):
        free(self.cell)
        free(self.table.places)

    cdef int check_width(self, Py_ssize_t width) except -1:
        if width > WIDTH_MAX:
            raise MemoryError(f"pairs of more than {WIDTH_MAX} labels cannot be counted")
        return 0

    @property
    def examples(self):
        return self.n

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider
        cdef int64_t* cell
        if width <= self.width:
            return
        self.check_width(width)
        wider = max(width, 2 * self.width)
        cell = <int64_t*>calloc(5 * wider, sizeof(int64_t))
        if cell == NULL:
            raise MemoryError
        memcpy(cell, self.cell, 5 * self.width * sizeof(int64_t))
        free(self.cell)
        self.cell = cell
        self.width = wider

    # -- one example --------------------------------------------------------------------------------------------------

    def count_slots(self, slots, Py_ssize_t fixed, int sign):
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        cdef Py_ssize_t position, count = slot.shape[0]
        cdef sp_row row
        cdef sp_sink sink
        cdef uint32_t* labels
        cdef int code
        for position in range(count):
            if not 0 <= slot[position] < 5 * self.width:
                raise IndexError(f"slot {slot[position]} is out of range; one object is for one thread at a time")
        labels = <uint32_t*>malloc((count + 1) * sizeof(uint32_t))
        if labels == NULL:
            raise MemoryError
        try:
            sort_slots(slot, labels, &row)
            sink.table, sink.blocks, sink.columns = &self.table, 0, NULL
            if sign < 0:
                return self.take_back(slot, fixed, &row, &sink)
            if self.n == COUNT_MAX:
                return FULL
            if not sp_reserve(&self.table, sp_pairs(&row, self.parts)):
                raise MemoryError
            self.step(slot, 1)
            sink.step = 1
            sp_example(&sink, &row, self.parts)
            return DONE
        finally:
            free(labels)

    cdef void step(self, const int64_t[::1] slot, int64_t sign) noexcept nogil:
        cdef Py_ssize_t position
        for position in range(slot.shape[0]):
            self.cell[slot[position]] += sign
        self.n += sign

    cdef object take_back(self, const int64_t[::1] slot, Py_ssize_t fixed, sp_row* row, sp_sink* sink):
        """Take an example back, unless it cannot have been counted."""
        cdef Py_ssize_t position, column
        if self.n == 0:
            return REFUSED
        for position in range(slot.shape[0]):
            if self.cell[slot[position]] < 1:
                return REFUSED
        sink.step = 0
        self.table.failed = 0
        sp_example(sink, row, self.parts)
        if self.table.failed:
            self.table.failed = 0
            return REFUSED
        self.step(slot, -1)
        for column in range(self.width):
            if self.said(column) > self.n:
                self.step(slot, 1)
                return REFUSED
        sink.step = -1
        sp_example(sink, row, self.parts)
        return DONE

    cdef int64_t said(self, Py_ssize_t column) noexcept nogil:
        """In how many examples a column is mentioned."""
        cdef int64_t* cell = self.cell + 5 * column
        return cell[0] + cell[1] + cell[2] + cell[3] + cell[4]

    # -- many examples: only ever into pairs of their own, which are then merged -----------------------------------------

    def count_dense(self, columns, Py_ssize_t fixed, true, pred, hidden):
        cdef const uint8_t[:, :] t = true
        cdef const uint8_t[:, :] p = pred
        cdef const uint8_t[:, :] m
        cdef sp_rows rows
        cdef int64_t* local = NULL
        cdef int64_t* cell
        cdef Py_ssize_t j, column
        cdef int seen = 0
        place = np.append(columns, 0).astype(np.uint32)
        place[len(columns)] = SP_NONE
        cdef const uint32_t[::1] places = place
        rows.rows, rows.columns = t.shape[0], t.shape[1]
        if not rows.rows:
            return 0
        rows.place = &places[0]
        rows.true_ = rows.pred = rows.hidden = NULL
        rows.true_stride = rows.pred_stride = rows.hidden_stride = 0
        if rows.columns:
            self.reserve(int(columns.max()) + 1)
            rows.true_, rows.true_stride = &t[0, 0], t.strides[0]
            rows.pred, rows.pred_stride = &p[0, 0], p.strides[0]
            if hidden is not None:
                m = hidden
                rows.hidden, rows.hidden_stride = &m[0, 0], m.strides[0]
        local = <int64_t*>calloc(5 * rows.columns + 1, sizeof(int64_t))
        if local == NULL:
            raise MemoryError
        try:
            with nogil:
                seen = sp_dense(&rows, self.parts, local, &self.table)
            if seen < 0:
                raise MemoryError
            for j in range(rows.columns):
                column = places[j]
                cell = self.cell + 5 * column
                if column >= fixed:
                    cell[0] += rows.rows - local[5 * j + 1] - local[5 * j + 2] - local[5 * j + 3] - local[5 * j + 4]
                for outcome in range(1, 5):
                    cell[outcome] += local[5 * j + outcome]
            self.n += rows.rows
            return seen
        finally:
            free(local)

    def count_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, pred, hidden, named, everywhere):
        cdef const int64_t[::1] offsets
        cdef const int64_t[::1] values
        cdef const int64_t[::1] always = everywhere
        cdef sp_lists sides[4]
        cdef Py_ssize_t position, column
        cdef int written
        cdef int64_t* before = NULL
        cdef int64_t* mark = NULL
        cdef uint32_t* room = NULL
        kept = []
        for side, lists in enumerate((hidden, true, pred, named)):
            sides[side].offsets = sides[side].columns = NULL
            if lists is None or not len(lists[1]):
                continue
            offsets, values = lists
            kept.append((offsets, values))
            sides[side].offsets, sides[side].columns = &offsets[0], &values[0]
        try:
            before = <int64_t*>malloc((always.shape[0] + 1) * sizeof(int64_t))
            mark = <int64_t*>calloc(self.width, sizeof(int64_t))
            room = <uint32_t*>malloc((3 * self.width + 1) * sizeof(uint32_t))
            if before == NULL or mark == NULL or room == NULL:
                raise MemoryError
            for position in range(always.shape[0]):
                before[position] = self.said(always[position])
            with nogil:
                written = sp_count_lists(
                    examples, sides, self.width, self.parts, self.cell, &self.table, mark, room)
            if written == -1:
                raise MemoryError
            if written == -2:
                raise IndexError("a column is out of range")
            for position in range(always.shape[0]):
                column = always[position]
                self.cell[5 * column] += examples - (self.said(column) - before[position])
            for column in range(min(fixed, self.width)):
                self.cell[5 * column] = 0
            self.n += examples
        finally:
            free(before)
            free(mark)
            free(room)

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def merge(self, Pairs other, columns):
        cdef const int64_t[::1] place
        cdef Py_ssize_t column, width, outcome
        cdef size_t at
        cdef uint64_t row_label, column_label, kind
        cdef sp_place* here
        if other.n > COUNT_MAX - self.n:
            return FULL
        if columns is None:
            self.reserve(other.width)
            width = other.width
        else:
            place = columns
            width = min(other.width, place.shape[0])
        if columns is None and self.n == 0:
            self.take_over(&other.table)
        elif not sp_reserve(&self.table, other.table.used):
            raise MemoryError
        for column in range(width):
            for outcome in range(5):
                self.cell[5 * (column if columns is None else place[column]) + outcome] += other.cell[5 * column + outcome]
        for at in range(0 if columns is None and self.n == 0 else other.table.mask + 1):
            here = other.table.places + at
            if here.count == 0:
                continue
            if other is self:
                here.count += here.count
                continue
            row_label, column_label = here.outer >> 32, here.outer & 0xFFFFFFFF
            if columns is not None:
                if row_label != SP_NONE:
                    row_label = place[<Py_ssize_t>row_label]
                if column_label != SP_NONE:
                    column_label = place[<Py_ssize_t>column_label]
                kind = here.inner >> 60
                if row_label > column_label and (kind == 3 or kind == 5):
                    row_label, column_label = column_label, row_label
            sp_add(&self.table, row_label << 32 | column_label, here.inner, here.count)
        self.n += other.n
        return DONE

    cdef int take_over(self, const sp_table* given) except -1:
        """Hold a copy of a table instead of one that counts nothing."""
        cdef size_t size = (given.mask + 1) * sizeof(sp_place)
        cdef sp_place* places = <sp_place*>malloc(size)
        if places == NULL:
            raise MemoryError
        memcpy(places, given.places, size)
        free(self.table.places)
        self.table.places, self.table.mask, self.table.used = places, given.mask, given.used
        return 0

    def cells(self, Py_ssize_t width):
        out = np.zeros((width, 5), np.int64)
        cdef int64_t[:, ::1] view = out
        if width:
            memcpy(&view[0, 0], self.cell, 5 * min(width, self.width) * sizeof(int64_t))
        return out

    def mentioned(self, Py_ssize_t width):
        out = np.zeros(width, np.bool_)
        cdef uint8_t[::1] view = out.view(np.uint8)
        cdef Py_ssize_t column
        for column in range(min(width, self.width)):
            view[column] = self.said(column) != 0
        return out

    def at(self, slots):
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        cdef Py_ssize_t position
        out = np.empty(slot.shape[0], np.int64)
        cdef int64_t[::1] view = out
        for position in range(slot.shape[0]):
            view[position] = self.cell[slot[position]] if 0 <= slot[position] < 5 * self.width else 0
        return out

    def times(self, keys):
        cdef const int64_t[:, ::1] key = np.ascontiguousarray(keys, np.int64)
        out = np.empty(key.shape[0], np.int64)
        cdef int64_t[::1] view = out
        cdef Py_ssize_t row
        for row in range(key.shape[0]):
            view[row] = sp_find(&self.table, sp_outer(label_of(key[row, 1]), label_of(key[row, 2])),
                                sp_inner(key[row, 0], key[row, 3], key[row, 4])).count
        return out

    def items(self):
        cdef size_t at, live = 0
        cdef Py_ssize_t row = 0
        cdef sp_place* here
        for at in range(self.table.mask + 1):
            live += self.table.places[at].count != 0
        keys, times = np.empty((live, 5), np.int64), np.empty(live, np.int64)
        cdef int64_t[:, ::1] key = keys
        cdef int64_t[::1] time = times
        for at in range(self.table.mask + 1):
            here = self.table.places + at
            if here.count:
                key[row, 0] = here.inner >> 60
                key[row, 1] = column_of(here.outer >> 32)
                key[row, 2] = column_of(here.outer & 0xFFFFFFFF)
                key[row, 3] = here.inner >> 30 & LOW
                key[row, 4] = here.inner & LOW
                time[row] = here.count
                row += 1
        return keys, times

    def held(self):
        return self.table.used

    def compact(self):
        if not sp_rebuild(&self.table, 0):
            raise MemoryError

    def restore(self, int64_t examples, cells, keys, times):
        cdef const int64_t[:, ::1] cell = np.ascontiguousarray(cells, np.int64)
        cdef const int64_t[:, ::1] key = np.ascontiguousarray(keys, np.int64)
        cdef const int64_t[::1] time = np.ascontiguousarray(times, np.int64)
        cdef Py_ssize_t row, outcome
        self.reserve(cell.shape[0])
        for row in range(cell.shape[0]):
            for outcome in range(5):
                self.cell[5 * row + outcome] = cell[row, outcome]
        if not sp_reserve(&self.table, key.shape[0]):
            raise MemoryError
        for row in range(key.shape[0]):
            sp_add(&self.table, sp_outer(label_of(key[row, 1]), label_of(key[row, 2])),
                   sp_inner(key[row, 0], key[row, 3], key[row, 4]), time[row])
        self.n = examples

    def copy(self):
        cdef Pairs twin = Pairs(self.width, self.parts)
        memcpy(twin.cell, self.cell, 5 * self.width * sizeof(int64_t))
        twin.take_over(&self.table)
        twin.n = self.n
        return twin


cdef void sort_slots(const int64_t[::1] slot, uint32_t* labels, sp_row* row) noexcept nogil:
    """The labels of an example: missed, then both true and predicted, then wrongly predicted."""
    cdef Py_ssize_t position, part, outcome
    cdef size_t put = 0, start
    row.labels, row.none = labels, SP_NONE
    for part in range(3):
        outcome = 1 if part == 0 else 3 if part == 1 else 2
        start = put
        for position in range(slot.shape[0]):
            if slot[position] % 5 == outcome:
                labels[put] = <uint32_t>(slot[position] // 5)
                put += 1
        if part == 0:
            row.missed = put - start
        elif part == 1:
            row.both = put - start
        else:
            row.wrong = put - start
