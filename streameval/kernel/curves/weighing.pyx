"""The compiled twin of `Weights` in `streameval.kernel.curves.numpy`, over weighing.h; compiled.pyx exports it."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from itertools import repeat

import numpy as np

from streameval.kernel.curves.mentions cimport read_examples, se_examples
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport REFUSED, part_of
from streameval.kernel.scores cimport se_mention
from streameval.kernel.table cimport se_sums, set_seed

cdef extern from "curves/weighing.h" nogil:
    enum: SW_BLOCK
    int SW_WHOLE
    enum: SW_WORDS
    uint64_t SW_ALL
    int SW_SUMS(int)
    ctypedef struct sw_table:
        se_sums keys
        size_t used, spare
        uint64_t width
        int words
    int sw_init(sw_table*, int)
    void sw_drop(sw_table*)
    int sw_copy(sw_table*, const sw_table*)
    int sw_reserve(sw_table*, size_t)
    uint64_t se_flipped(uint64_t)
    const uint64_t* sw_find(const sw_table*, uint64_t, uint64_t)
    void sw_look(const sw_table*, const int64_t*, const int64_t*, ptrdiff_t, const uint64_t**)
    void sw_unite(const sw_table*, uint64_t*)
    void sw_add_bin(uint64_t**, const uint64_t*, const uint64_t*, const int64_t*, uint64_t, int)
    void sw_enter(sw_table*, uint64_t, uint64_t, const uint64_t*, int)
    int sw_mentions(sw_table*, const uint64_t*, se_mention*, ptrdiff_t)
    int sw_count(sw_table*, const uint64_t*, se_examples*)
    int sw_may_leave(sw_table*, const sw_table*, const int64_t*)
    void sw_merge(sw_table*, const sw_table*, const int64_t*, int)
    int sw_scale(sw_table*, const sw_table*, const uint64_t*, int)

set_seed()


def from_words(words):
    """The integer that an array of words stands for, low word first."""
    return int.from_bytes(words.tobytes(), "little")


cdef class Weights:
    """See `streameval.kernel.curves.numpy.Weights`."""

    cdef readonly int scale
    cdef sw_table table

    def __cinit__(self, int scale=0, int words=1):
        if words > SW_WORDS:
            raise MemoryError("weights so different cannot be summed")
        self.scale = scale
        check_memory(sw_init(&self.table, words))

    def __dealloc__(self):
        sw_drop(&self.table)

    @property
    def words(self):
        return self.table.words

    @property
    def whole(self):
        cdef const uint64_t* sums = sw_find(&self.table, SW_ALL, SW_WHOLE)
        cdef int at
        whole = 0  # not sum(...): comprehensions of Cython 3.3.1 release an item twice if memory runs out
        for at in range(self.table.words):
            whole += <object>sums[1 + at] << 64 * at
        return whole

    def count(self, scored, weights, Py_ssize_t width):
        cdef se_examples examples
        cdef bint enough
        cdef const uint64_t[:, ::1] units = self.as_words(weights, self.table.words)
        cdef const uint64_t* unit = &units[0, 0] if units.shape[0] else NULL
        examples.mark = NULL
        room = read_examples(&examples, width, scored)
        with nogil:
            enough = sw_count(&self.table, unit, &examples)
        free(examples.mark)
        check_memory(enough)

    cdef const uint64_t[:, ::1] as_words(self, values, int words):
        """Python integers as ``words`` 64-bit words each."""
        data = b"".join(map(int.to_bytes, values, repeat(8 * words), repeat("little")))
        return np.frombuffer(data, "<u8").astype(np.uint64, copy=False).reshape(-1, words)

    def fill(self, columns, places, counts, sums):
        cdef const int64_t[::1] column = np.ascontiguousarray(columns, np.int64)
        cdef const int64_t[::1] place = np.ascontiguousarray(places, np.int64)
        cdef const int64_t[::1] count = np.ascontiguousarray(counts, np.int64)
        cdef int words = self.table.words, parts = sums.shape[1], part, at
        cdef const uint64_t[:, ::1] word = self.as_words(sums.ravel().tolist(), words + 2)
        cdef uint64_t* one = <uint64_t*>cleared(SW_SUMS(words), sizeof(uint64_t))
        cdef Py_ssize_t row
        try:
            check_memory(sw_reserve(&self.table, column.shape[0] + np.unique(columns).size))
            for row in range(column.shape[0]):
                one[0], at = count[row], 1
                for part in range(parts):
                    memcpy(one + at, &word[row * parts + part, 0], (words + part) * sizeof(uint64_t))
                    at += words + part
                sw_enter(&self.table, column[row], place[row], one, 1)
                if <uint64_t>column[row] != SW_ALL:
                    for part in range(words + 1, at):
                        one[part] = 0
                    sw_enter(&self.table, column[row], SW_WHOLE, one, 1)
        finally:
            free(one)

    def read(self, columns, places, int parts):
        cdef const int64_t[::1] column = np.ascontiguousarray(columns, np.int64)
        cdef const int64_t[::1] place = np.ascontiguousarray(places, np.int64)
        cdef Py_ssize_t row, start, rows = column.shape[0]
        cdef int words = self.table.words, part, word_at, at
        read = np.zeros((words + parts - 1, rows, parts), np.uint64)
        cdef uint64_t[:, :, ::1] word = read
        cdef const uint64_t* sums[SW_BLOCK]
        for start in range(0, rows, SW_BLOCK):
            sw_look(&self.table, &column[start], &place[start], min(SW_BLOCK, rows - start), sums)
            for row in range(start, min(start + SW_BLOCK, rows)):
                at = 1
                for part in range(parts):
                    for word_at in range(words + part):
                        word[word_at, row, part] = sums[row - start][at]
                        at += 1
        total = read[0].astype(object)
        for at in range(1, words + parts - 1):
            if read[at].any():
                total += read[at].astype(object) << 64 * at
        return total

    def pairs(self, columns, offsets, bins, common):
        cdef const int64_t[::1] place = columns
        cdef const int64_t[::1] offset = offsets
        cdef const int64_t[::1] bin_ = bins
        cdef const int64_t[:, ::1] residual = common
        cdef Py_ssize_t position, at, start, count
        cdef int part, size = 2 * self.table.words + 2
        out = np.zeros((len(columns), 4, size), np.uint64)
        cdef uint64_t[:, :, ::1] word = out
        cdef uint64_t* outs[4]
        cdef int64_t outer[SW_BLOCK]
        cdef int64_t inner[SW_BLOCK]
        cdef const uint64_t* sums[SW_BLOCK]
        for position in range(place.shape[0]):
            for part in range(4):
                outs[part] = &word[position, part, 0]
            for start in range(offset[position], offset[position + 1], SW_BLOCK // 2):
                count = min(SW_BLOCK // 2, offset[position + 1] - start)
                for at in range(2 * count):
                    outer[at], inner[at] = place[position], 2 * bin_[start + at // 2] + at % 2
                sw_look(&self.table, outer, inner, 2 * count, sums)
                for at in range(count):
                    sw_add_bin(outs, sums[2 * at], sums[2 * at + 1], &residual[start + at, 0],
                               se_flipped(bin_[start + at]), self.table.words)
        data, result = out.astype("<u8"), []
        for position in range(place.shape[0]):
            result.append(list(map(from_words, data[position])))
        return result

    def united(self):
        united = np.zeros(self.table.words + 2, np.uint64)
        cdef uint64_t[::1] bits = united
        sw_unite(&self.table, &bits[0])
        return from_words(united.astype("<u8"))

    def copy(self):
        cdef Weights result = Weights(self.scale, self.table.words)
        check_memory(sw_copy(&result.table, &self.table))
        return result

    def compacted(self):
        return self.shaped(self.scale, self.words, 1) if 2 * self.table.spare > self.table.used else self

    def shaped(self, int scale, int words, factor):
        cdef Weights result = Weights(scale, words)
        cdef const uint64_t[:, ::1] by = self.as_words([factor], (factor.bit_length() + 63) // 64 or 1)
        check_memory(sw_scale(&result.table, &self.table, &by[0, 0], by.shape[1]))
        return result

    def prepare_add(self, list added):
        """Prepare to add examples, or to take back ones that were counted: of each (mentions, sign), a scale and its weight,
        negative to take it back. Returns parts, or None if a scale is finer than this table's or sums need more words."""
        cdef uint64_t unit[SW_WORDS]
        cdef int at, words = self.table.words
        cdef Weights one
        cdef bytearray mentions
        cdef se_mention* mention
        whole, parts = self.whole, []
        for (mentions, sign), scale, weight in added:
            units = abs(weight) << max(0, self.scale - scale)
            whole += units
            if scale > self.scale or whole.bit_length() // 64 >= words:
                return None
            one = Weights(self.scale, words)
            for at in range(words):
                unit[at] = units >> 64 * at & 0xFFFFFFFFFFFFFFFF
            mention = <se_mention*>PyByteArray_AS_STRING(mentions)
            check_memory(sw_mentions(&one.table, unit, mention, len(mentions) // sizeof(se_mention)))
            parts.append(self.prepare_merge(one, None, sign, True))
        return parts

    def prepare_merge(self, Weights other, columns, int sign, bint known=False):
        cdef Change change = Change(self, other, columns, sign)
        if sign < 0 and not known and not sw_may_leave(&self.table, &change.other.table, change.place):
            return REFUSED
        return part_of(commit_change, change)


@cython.final
@cython.no_gc_clear
cdef class Change:
    """A prepared merge: adds the sums of a table of the same shape to another (sign 1), or subtracts them (sign -1)."""

    cdef Weights weights, other
    cdef object columns
    cdef const int64_t* place  # into `columns`; NULL if columns are the same in both tables
    cdef int sign
    cdef size_t promised

    def __cinit__(self, Weights weights, Weights other, columns, int sign):
        cdef const int64_t[::1] place
        if weights.table.words != other.table.words or weights.scale != other.scale:
            raise ValueError("tables of different shapes")
        self.weights, self.other, self.sign = weights, other.copy() if other is weights else other, sign
        if columns is not None:
            self.columns = place = np.ascontiguousarray(columns, np.int64)
            self.place = &place[0] if place.shape[0] else NULL
            if other.table.width > <size_t>place.shape[0]:
                raise IndexError("a column is out of range")
        if sign > 0:
            check_memory(sw_reserve(&weights.table, other.table.used - other.table.spare))
            self.promised = other.table.used - other.table.spare
            weights.table.keys.promised += self.promised

    def __dealloc__(self):
        if self.promised:
            self.weights.table.keys.promised -= self.promised


cdef void commit_change(void* data) noexcept:
    cdef Change change = <Change>data
    change.weights.table.keys.promised -= change.promised
    change.promised = 0
    sw_merge(&change.weights.table, &change.other.table, change.place, change.sign)
