"""The loops of `streameval.kernel.pairs.numpy`, compiled: same names, same signatures, same bits."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport INT64_MAX as COUNT_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from streameval.kernel.decisions.cells cimport read_rows, se_rows
from streameval.kernel.memory cimport check_memory
from streameval.kernel.part cimport FULL, REFUSED, part_of
from streameval.kernel.scores cimport SE_MASKED, SE_RANKED, SE_TRUE, read_list, room_of, se_mention, se_score_lists
from streameval.kernel.table cimport (
    se_sums, se_sums_add, se_sums_copy, se_sums_count, se_sums_init, se_sums_next, se_sums_promise, se_sums_rebuild,
    se_sums_reserve, set_seed,
)

cdef extern from "pairs/pairing.h" nogil:
    ctypedef struct sp_row:
        const uint32_t* labels
        size_t missed, both, wrong
        uint32_t none
    ctypedef struct sp_places:
        const int64_t* place
        size_t width
    uint32_t SP_NONE
    uint64_t sp_inner(uint64_t, uint64_t, uint64_t)
    uint64_t sp_outer(uint32_t, uint32_t)
    int sp_move(const sp_places*, uint64_t*, uint64_t)
    int sp_one(se_sums*, int64_t, const sp_row*, int)
    size_t sp_pairs(const sp_row*, int)
    int sp_dense(const se_rows*, const uint32_t*, int, se_sums*)
    int sp_count_lists(const se_score_lists*, ptrdiff_t, int, se_sums*, se_mention*)

set_seed()

cdef Py_ssize_t WIDTH_MAX = 1 << 30
cdef uint64_t LOW = (1 << 30) - 1
cdef int64_t NOWHERE = 0


cdef class Pairs:
    """See `streameval.kernel.pairs.numpy.Pairs`."""

    cdef readonly int64_t examples
    cdef int parts
    cdef se_sums table

    def __cinit__(self, root, int parts):
        self.parts = parts
        check_memory(se_sums_init(&self.table, 64, 1))

    def __dealloc__(self):
        free(self.table.places)

    # -- one example --------------------------------------------------------------------------------------------------

    def prepare_example(self, slots, int sign):
        cdef Change example = Change(None)
        cdef size_t keys
        example.pairs, example.sign = self, sign
        example.read(slots)
        keys = sp_pairs(&example.row, self.parts) if sign > 0 else 1
        if sign > 0 and self.examples == COUNT_MAX:
            return FULL
        if sign < 0 and (self.examples == 0 or not sp_one(&self.table, 0, &example.row, self.parts)):
            return REFUSED
        check_memory(se_sums_promise(&self.table, keys))
        example.promised = keys
        return part_of(commit_change, example)

    # -- many examples: only ever into pairs that are thrown away if this raises ---------------------------------------

    def count_dense(self, columns, true, pred, mask):
        cdef se_rows rows
        cdef int seen = 0
        check_width(len(columns))
        cdef const uint32_t[::1] places = np.append(columns, SP_NONE).astype(np.uint32)
        read_rows(&rows, true, pred, mask)
        with nogil:
            seen = sp_dense(&rows, &places[0], self.parts, &self.table)
        check_memory(seen >= 0)
        self.examples += rows.rows
        return seen

    def count_lists(self, Py_ssize_t examples, Py_ssize_t width, true, pred, mask):
        cdef se_score_lists lists
        cdef se_mention* mentions
        cdef bint enough
        check_width(width)
        memset(&lists, 0, sizeof(se_score_lists))
        lists.rows = examples
        for side, part in ((SE_TRUE, true), (SE_RANKED, pred), (SE_MASKED, mask)):
            read_list(&lists, side, part, width)
        room = room_of(&lists)
        mentions = <se_mention*>PyByteArray_AS_STRING(room)
        with nogil:
            enough = sp_count_lists(&lists, width, self.parts, &self.table, mentions)
        check_memory(enough)
        self.examples += examples

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def prepare_merge(self, Pairs other, columns, int sign):
        cdef Change merge = Change(columns)
        cdef const int64_t* count
        cdef uint64_t outer, inner
        cdef size_t at = 0
        if sign > 0 and other.examples > COUNT_MAX - self.examples:
            return FULL
        if sign < 0 and other.examples > self.examples:
            return REFUSED
        merge.pairs, merge.other, merge.sign = self, other, sign
        count = se_sums_next(&other.table, &at, &outer, &inner) if sign < 0 or columns is not None else NULL
        while count != NULL:
            outer = merge.moved(outer, inner)
            if sign < 0 and count[0] > se_sums_count(&self.table, outer, inner):
                return REFUSED
            count = se_sums_next(&other.table, &at, &outer, &inner)
        if sign > 0:
            check_memory(se_sums_promise(&self.table, other.table.used))
            merge.promised = other.table.used
        return part_of(commit_change, merge)

    def times(self, keys):
        cdef const int64_t[:, ::1] key = np.ascontiguousarray(keys, np.int64)
        out = np.empty(key.shape[0], np.int64)
        cdef int64_t[::1] view = out
        cdef Py_ssize_t row
        for row in range(key.shape[0]):
            view[row] = se_sums_count(&self.table, outer_of(key, row), inner_of(key, row))
        return out

    def items(self):
        return self.at(self._spots(Change(None), -1, np.zeros(1, np.int64)), None)

    def by_row(self, place, int64_t kind):
        ends = np.zeros(len(place), np.int64)
        return ends, self._spots(Change(place), kind, ends)

    cdef object _spots(self, Change merge, int64_t kind, ends):
        """Where pairs of a kind (below 0: all) stand in the table, by rows, and the ends of the rows among them."""
        cdef int64_t[::1] end = ends
        cdef uint32_t[::1] spot
        cdef uint64_t outer, inner
        cdef size_t at = 0
        cdef int64_t row
        cdef bint put
        if self.table.mask >> 32:
            raise MemoryError("more pairs of labels than can be read")
        for put in range(2):
            while se_sums_next(&self.table, &at, &outer, &inner) != NULL:
                row = 0 if kind < 0 else <int32_t>(merge.moved(outer, inner) >> 32) + 1  # 0 is that of no label
                if kind < 0 or inner >> 60 == <uint64_t>kind:
                    if put:
                        spot[end[row]] = <uint32_t>(at - 1)
                    end[row] += 1
            if not put:
                spots, at = np.empty(np.sum(ends), np.uint32), 0
                spot = spots
                ends[:] = np.cumsum(ends) - ends
        return spots

    def at(self, const uint32_t[::1] spots, place):
        cdef Change merge = Change(place)
        cdef uint64_t outer, inner
        cdef size_t at
        cdef Py_ssize_t row
        keys, times = np.empty((len(spots), 5), np.int64), np.empty(len(spots), np.int64)
        cdef int64_t[:, ::1] key = keys
        cdef int64_t[::1] time = times
        for row in range(spots.shape[0]):
            at = spots[row]
            time[row] = se_sums_next(&self.table, &at, &outer, &inner)[0]
            outer = merge.moved(outer, inner)
            key[row, 0], key[row, 1], key[row, 2] = inner >> 60, <int32_t>(outer >> 32), <int32_t>outer
            key[row, 3], key[row, 4] = inner >> 30 & LOW, inner & LOW
        return keys, times

    def compact(self):
        check_memory(se_sums_rebuild(&self.table, self.table.promised))

    def restore(self, int64_t examples, keys, times, Py_ssize_t room=0):
        cdef const int64_t[:, ::1] key = np.ascontiguousarray(keys, np.int64)
        cdef const int64_t[::1] time = np.ascontiguousarray(times, np.int64)
        cdef Py_ssize_t row
        check_memory(se_sums_reserve(&self.table, max(room, key.shape[0])))
        for row in range(key.shape[0]):
            se_sums_add(&self.table, outer_of(key, row), inner_of(key, row), time[row])
        self.examples = examples

    def copy(self, root):
        cdef Pairs result = Pairs(root, self.parts)
        result.examples = self.examples
        check_memory(se_sums_copy(&result.table, &self.table))
        return result


cdef inline uint64_t outer_of(const int64_t[:, ::1] key, Py_ssize_t row) noexcept:
    return sp_outer(<uint32_t>key[row, 1], <uint32_t>key[row, 2])


cdef inline uint64_t inner_of(const int64_t[:, ::1] key, Py_ssize_t row) noexcept:
    return sp_inner(key[row, 0], key[row, 3], key[row, 4])


cdef int check_width(Py_ssize_t width) except -1:
    if width > WIDTH_MAX:
        raise MemoryError(f"pairs of more than {WIDTH_MAX} labels cannot be counted")
    return 0


# -- changes, prepared ---------------------------------------------------------------------------------------------------


@cython.final
@cython.no_gc_clear
cdef class Change:
    """An example, or all that other pairs hold, on its way into pairs, or out of them. The two may be the same."""

    cdef Pairs pairs, other  # None for an example
    cdef object columns
    cdef sp_places to  # of `columns`
    cdef uint32_t* labels
    cdef sp_row row  # the example
    cdef size_t promised  # keys
    cdef int sign

    def __cinit__(self, columns):
        cdef const int64_t[::1] place
        if columns is not None:
            self.columns = place = np.ascontiguousarray(columns, np.int64)
            self.to.width = place.shape[0]
            self.to.place = &place[0] if self.to.width else &NOWHERE

    def __dealloc__(self):
        if self.promised:
            self.pairs.table.promised -= self.promised
        free(self.labels)

    cdef int read(self, slots) except -1:
        """Sort the labels of an example by their outcomes."""
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        cdef Py_ssize_t position, part
        cdef size_t put = 0
        cdef int* outcomes = [1, 3, 2]
        cdef size_t** sizes = [&self.row.missed, &self.row.both, &self.row.wrong]
        self.labels = <uint32_t*>malloc((slot.shape[0] + 1) * sizeof(uint32_t))
        check_memory(self.labels != NULL)
        for position in range(slot.shape[0]):
            if not 0 <= slot[position] < 5 * WIDTH_MAX:
                raise IndexError(f"slot {slot[position]} is out of range")
        for part in range(3):
            for position in range(slot.shape[0]):
                if slot[position] % 5 == outcomes[part]:
                    self.labels[put] = <uint32_t>(slot[position] // 5)
                    put += 1
                    sizes[part][0] += 1
        self.row.labels, self.row.none = self.labels, SP_NONE
        return 0

    cdef uint64_t moved(self, uint64_t outer, uint64_t inner) except? 0:
        """The labels of a pair here."""
        if not sp_move(&self.to, &outer, inner):
            raise IndexError("a column is out of range")
        return outer


cdef void commit_change(void* data) noexcept:
    cdef Change change = <Change>data
    cdef Pairs pairs = change.pairs, other = change.other
    cdef uint64_t outer, inner
    cdef size_t at = 0
    cdef int64_t* count
    pairs.table.promised -= change.promised
    change.promised = 0
    if other is None:
        sp_one(&pairs.table, change.sign, &change.row, pairs.parts)
        pairs.examples += change.sign
        return
    count = se_sums_next(&other.table, &at, &outer, &inner)
    while count != NULL:
        sp_move(&change.to, &outer, inner)
        se_sums_add(&pairs.table, outer, inner, change.sign * count[0])
        count = se_sums_next(&other.table, &at, &outer, &inner)
    pairs.examples += change.sign * other.examples
