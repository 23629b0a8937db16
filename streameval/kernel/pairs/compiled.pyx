"""The compiled twin of `streameval.kernel.pairs.numpy`, which documents it: `Pairs`, over pairing.h and the hash table."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MAX as COUNT_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from streameval.kernel.decisions.cells cimport read_rows, se_rows
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport FULL, OTHER, REFUSED, se_follower, se_follower_new, se_part, se_part_new
from streameval.kernel.scores cimport (
    SE_MASKED, SE_RANKED, SE_TRUE, read_list, room_of, se_mention, se_score_lists, se_score_rows,
)
from streameval.kernel.table cimport (
    se_sums, se_sums_add, se_sums_copy, se_sums_count, se_sums_init, se_sums_next, se_sums_promise, se_sums_rebuild,
    se_sums_reserve, set_seed,
)

from streameval.kernel.pairs.pairing import ALL, label_set, pairs_of

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


cdef struct Change:
    # A prepared change: adds an example, or all counts of `other` (maybe the same table), or takes them back.
    PyObject* pairs
    PyObject* other  # NULL for an example, whose labels follow in memory
    PyObject* columns
    sp_places to  # the map in `columns`
    sp_row row  # the example
    size_t promised  # keys reserved in the table
    int sign


cdef class Pairs:
    """See `streameval.kernel.pairs.numpy.Pairs`."""

    cdef readonly int64_t examples
    cdef int parts
    cdef se_sums table
    cdef se_follower following

    def __cinit__(self, root, int parts):
        self.parts = parts
        check_memory(se_sums_init(&self.table, 64, 1))

    def __dealloc__(self):
        free(self.table.places)

    # -- one example --------------------------------------------------------------------------------------------------

    def prepare_example(self, slots, int sign):
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        cdef se_part part
        cdef Py_ssize_t position
        for position in range(slot.shape[0]):
            if not 0 <= slot[position] < 5 * WIDTH_MAX:
                raise IndexError(f"slot {slot[position]} is out of range")
        cdef int code = self.prepare(&slot[0] if slot.shape[0] else NULL, slot.shape[0], sign, &part)
        return code if code else se_part_new(part.commit, part.data, part.release, self)

    cdef int prepare(self, const int64_t* slot, Py_ssize_t slots, int sign, se_part* part) except -1:
        """Prepare to count an example or to take it back, with its labels sorted by outcome; 0, or the code for why not."""
        cdef Change* change = <Change*>cleared(1, sizeof(Change) + (slots + 1) * sizeof(uint32_t))
        cdef uint32_t* labels = <uint32_t*>(change + 1)
        cdef size_t* sizes = &change.row.missed  # followed by `both` and `wrong`
        cdef int* outcomes = [1, 3, 2]
        cdef Py_ssize_t position
        cdef int of
        change.pairs, change.sign, change.row.labels, change.row.none = <PyObject*>self, sign, labels, SP_NONE
        part.commit, part.data, part.release = commit_change, change, release
        for of in range(3):
            for position in range(slots):
                if slot[position] % 5 == outcomes[of]:
                    labels[0] = <uint32_t>(slot[position] // 5)
                    labels += 1
                    sizes[of] += 1
        of = 0
        if sign > 0 and self.examples == COUNT_MAX:
            of = FULL
        elif sign < 0 and (self.examples == 0 or not sp_one(&self.table, 0, &change.row, self.parts)):
            of = REFUSED
        if of or not se_sums_promise(&self.table, sp_pairs(&change.row, self.parts) if sign > 0 else 1):
            release(change)
            check_memory(of)
            return of
        change.promised = sp_pairs(&change.row, self.parts) if sign > 0 else 1
        return 0

    def follower(self, bint has_sets):
        self.following.table, self.following.reads_scores, self.following.prepare = <void*>self, False, prepare_slots
        self.following.amounts = amounts_of
        if has_sets:
            self.following.extra = label_set_of
        return se_follower_new(&self.following, self)

    # -- many examples: callers drop the pairs if this raises ----------------------------------------------------------

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
        cdef Change* merge = <Change*>cleared(1, sizeof(Change))
        cdef const int64_t* count
        cdef uint64_t outer, inner
        cdef size_t at = 0
        merge.pairs, merge.other, merge.sign = <PyObject*>self, <PyObject*>other, sign
        Py_INCREF(other)
        part = se_part_new(commit_change, merge, release, self)
        columns = places_of(columns, &merge.to)
        Py_INCREF(columns)
        merge.columns = <PyObject*>columns
        if sign > 0 and other.examples > COUNT_MAX - self.examples:
            return FULL
        if sign < 0 and other.examples > self.examples:
            return REFUSED
        count = se_sums_next(&other.table, &at, &outer, &inner) if sign < 0 or columns is not None else NULL
        while count != NULL:
            outer = moved(&merge.to, outer, inner)
            if sign < 0 and count[0] > se_sums_count(&self.table, outer, inner):
                return REFUSED
            count = se_sums_next(&other.table, &at, &outer, &inner)
        if sign > 0:
            check_memory(se_sums_promise(&self.table, other.table.used))
            merge.promised = other.table.used
        return part

    def times(self, keys):
        cdef const int64_t[:, ::1] key = np.ascontiguousarray(keys, np.int64)
        out = np.empty(key.shape[0], np.int64)
        cdef int64_t[::1] view = out
        cdef Py_ssize_t row
        for row in range(key.shape[0]):
            view[row] = se_sums_count(&self.table, outer_of(key, row), inner_of(key, row))
        return out

    def items(self):
        return self.at(self._spots(None, -1, np.zeros(1, np.int64)), None)

    def by_row(self, place, int64_t kind):
        ends = np.zeros(len(place), np.int64)
        return ends, self._spots(place, kind, ends)

    cdef object _spots(self, place, int64_t kind, ends):
        """The positions in the table of the pairs of a kind (below 0: of all), by rows, and the ends of these rows."""
        cdef int64_t[::1] end = ends
        cdef sp_places to
        cdef uint32_t[::1] spot
        cdef uint64_t outer, inner
        cdef size_t at = 0
        cdef int64_t row
        cdef bint put
        place = places_of(place, &to)
        if self.table.mask >> 32:
            raise MemoryError("more pairs of labels than can be read")
        for put in range(2):
            while se_sums_next(&self.table, &at, &outer, &inner) != NULL:
                row = 0 if kind < 0 else <int32_t>(moved(&to, outer, inner) >> 32) + 1  # row 0 is for no label
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
        cdef sp_places to
        cdef uint64_t outer, inner
        cdef size_t at
        cdef Py_ssize_t row
        keys, times = np.empty((len(spots), 5), np.int64), np.empty(len(spots), np.int64)
        cdef int64_t[:, ::1] key = keys
        cdef int64_t[::1] time = times
        place = places_of(place, &to)
        for row in range(spots.shape[0]):
            at = spots[row]
            time[row] = se_sums_next(&self.table, &at, &outer, &inner)[0]
            outer = moved(&to, outer, inner)
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


cdef object places_of(columns, sp_places* to):
    """Set ``to`` to a map of columns; the returned array must outlive it."""
    cdef const int64_t[::1] place
    to.place, to.width = NULL, 0
    if columns is not None:
        columns = place = np.ascontiguousarray(columns, np.int64)
        to.width = place.shape[0]
        to.place = &place[0] if to.width else &NOWHERE
    return columns


cdef uint64_t moved(const sp_places* to, uint64_t outer, uint64_t inner) except? 0:
    """The labels of a pair, mapped by ``to``."""
    if not sp_move(to, &outer, inner):
        raise IndexError("a column is out of range")
    return outer


# -- changes, prepared ---------------------------------------------------------------------------------------------------

cdef int prepare_slots(void* table, const void* data, int by, bint known, se_part* part) except -1:
    cdef const se_score_rows* rows = <const se_score_rows*>data
    if rows.rows != 1 or (by < 0 and not known):  # the slow path checks that pairs still fit the decisions
        return OTHER
    return (<Pairs>table).prepare(rows.slots, rows.placed, by, part)


cdef list slots_of(const sp_row* row):
    cdef list slots = []
    cdef size_t at
    for at in range(row.missed + row.both + row.wrong):
        slots.append(5 * <int64_t>row.labels[at] + (1 if at < row.missed else 3 if at < row.missed + row.both else 2))
    return slots


cdef object amounts_of(const se_part* part):
    cdef const Change* change = <const Change*>part.data
    return dict.fromkeys([ALL, *pairs_of(slots_of(&change.row), (<Pairs>change.pairs).parts)], 1)


cdef tuple label_set_of(const se_part* part):
    return {label_set(slots_of(&(<const Change*>part.data).row)): 1}, 0


cdef void commit_change(void* data) noexcept:
    cdef Change* change = <Change*>data
    cdef Pairs pairs = <Pairs>change.pairs, other
    cdef uint64_t outer, inner
    cdef size_t at = 0
    cdef int64_t* count
    pairs.table.promised -= change.promised
    change.promised = 0
    if change.other == NULL:
        sp_one(&pairs.table, change.sign, &change.row, pairs.parts)
        pairs.examples += change.sign
        return
    other = <Pairs>change.other
    count = se_sums_next(&other.table, &at, &outer, &inner)
    while count != NULL:
        sp_move(&change.to, &outer, inner)
        se_sums_add(&pairs.table, outer, inner, change.sign * count[0])
        count = se_sums_next(&other.table, &at, &outer, &inner)
    pairs.examples += change.sign * other.examples


cdef void release(void* data) noexcept:
    cdef Change* change = <Change*>data
    (<Pairs>change.pairs).table.promised -= change.promised
    Py_XDECREF(change.other)
    Py_XDECREF(change.columns)
    free(change)
