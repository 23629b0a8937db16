"""The loops of `streameval.kernel.rankings.numpy`, compiled: same names, same signatures, same bits."""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from streameval.kernel.part cimport part_of
from streameval.kernel.scores cimport SE_RANKED, check_one, read_lists, read_rows, se_score_lists, se_score_rows, se_start
from streameval.kernel.table cimport (
    entries_of, fill, inner_of, outer_of, se_sums, se_sums_copy, se_sums_find, se_sums_init, se_sums_promise, set_seed,
)

from streameval.kernel.types import FULL, REFUSED, Records

cdef extern from "rankings/ranking.h" nogil:
    ctypedef struct sr_list:
        int64_t* data
        size_t used
    ctypedef struct sr_sink:
        se_sums* groups
        se_sums* first
        se_sums* rows
        int writes
        sr_list by_row, by_group, by_label
    int sr_level "se_has_avx2"()  # AVX-512 was no quicker
    int sr_rank_rows(const se_score_rows*, int, int, sr_sink*)
    int sr_rank_lists(const se_score_lists*, int, int64_t*, int64_t*, int64_t*, sr_sink*)
    int sr_fits(const se_sums*, const se_sums*, int)
    void sr_merge(se_sums*, const se_sums*, int)

set_seed()

cdef int LEVEL = sr_level()
cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 65536


def vector_level(int level=-1):
    """Which loops run: 0 portable, 1 AVX2. A lower level can be chosen, for tests."""
    global LEVEL
    if level >= 0:
        LEVEL = min(level, sr_level())
    return LEVEL


cdef int rank_rows(const se_score_rows* rows, bint strict, sr_sink* sink) except -1:
    """Rank dense rows into a sink."""
    cdef int fine, level = LEVEL
    if rows.rows * rows.width >= RELEASE:
        with nogil:
            fine = sr_rank_rows(rows, strict, level, sink)
    else:
        fine = sr_rank_rows(rows, strict, level, sink)
    if not fine:
        raise MemoryError
    return 0


cdef object rows_of(sr_list* values, Py_ssize_t wide):
    """A list as rows of an array."""
    out = np.empty((values.used // wide, wide), np.int64)
    cdef int64_t[:, ::1] view = out
    if values.used:
        memcpy(&view[0, 0], values.data, values.used * sizeof(int64_t))
    return out


cdef object records(sr_sink* sink):
    if not sink.writes:
        return None
    return Records(rows_of(&sink.by_row, 9), rows_of(&sink.by_group, 5), rows_of(&sink.by_label, 4))


cdef void drop(sr_sink* sink) noexcept:
    free(sink.by_row.data)
    free(sink.by_group.data)
    free(sink.by_label.data)


cdef class RankCounts:
    """See `streameval.kernel.rankings.numpy.RankCounts`."""

    cdef int64_t n, turn
    cdef se_sums table[3]
    cdef int64_t* mention
    cdef int64_t* mark
    cdef Py_ssize_t width, marked

    def __cinit__(self, root, Py_ssize_t width):
        cdef int place
        self.width = max(width, 8)
        self.mention = <int64_t*>calloc(self.width, sizeof(int64_t))
        if self.mention == NULL:
            raise MemoryError
        for place in range(3):
            if not se_sums_init(&self.table[place], 16, (3, 1, 6)[place]):
                raise MemoryError

    def __dealloc__(self):
        cdef int place
        for place in range(3):
            free(self.table[place].places)
        free(self.mention)
        free(self.mark)

    @property
    def examples(self):
        return self.n

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider = max(width, 2 * self.width)
        cdef int64_t* mention
        if width <= self.width:
            return
        mention = <int64_t*>calloc(wider, sizeof(int64_t))
        if mention == NULL:
            raise MemoryError
        memcpy(mention, self.mention, self.width * sizeof(int64_t))
        free(self.mention)
        self.mention = mention
        self.width = wider

    def clear(self):
        cdef int place
        cdef se_sums* table
        for place in range(3):
            table = &self.table[place]
            memset(table.places, 0, (table.mask + 1) * (table.sums + 2) * sizeof(uint64_t))
            table.used = 0
        memset(self.mention, 0, self.width * sizeof(int64_t))
        self.n = 0

    cdef void into(self, sr_sink* sink, bint detailed) noexcept:
        memset(sink, 0, sizeof(sr_sink))
        sink.writes = detailed
        sink.groups, sink.first, sink.rows = &self.table[0], &self.table[1], &self.table[2]

    def count(self, scored, place, bint detailed=False):
        cdef sr_sink sink
        cdef se_score_rows rows
        cdef se_score_lists lists
        cdef Py_ssize_t j
        self.into(&sink, detailed)
        try:
            if scored[0] is None:
                self.read(&lists, scored, place)
                self.rank(&lists, self.mention, &sink)
                self.n += lists.rows
            else:
                read_rows(&rows, self.width, scored)
                rank_rows(&rows, place is not None, &sink)
                for j in range(rows.width):
                    if rows.columns[j] >= rows.fixed:
                        self.mention[rows.columns[j]] += rows.rows
                self.n += rows.rows
            return records(&sink)
        finally:
            drop(&sink)

    cdef int read(self, se_score_lists* lists, scored, place) except -1:
        """Point to lists whose columns can be marked."""
        cdef const int64_t[::1] places = place
        read_lists(lists, self.width if place is None else min(self.width, places.shape[0]), scored)
        if place is not None:
            lists.place = &places[0]
        if self.marked < self.width:
            free(self.mark)
            self.marked, self.turn = 0, 0
            self.mark = <int64_t*>calloc(2 * self.width, sizeof(int64_t))
            if self.mark == NULL:
                raise MemoryError
            self.marked = self.width
        return 0

    cdef int rank(self, const se_score_lists* lists, int64_t* mentions, sr_sink* sink) except -1:
        """Rank lists into a sink."""
        cdef int fine, level = LEVEL
        if se_start(lists, SE_RANKED, lists.rows) >= RELEASE:
            with nogil:
                fine = sr_rank_lists(lists, level, self.mark, &self.turn, mentions, sink)
        else:
            fine = sr_rank_lists(lists, level, self.mark, &self.turn, mentions, sink)
        if not fine:
            self.marked = 0  # some marks may be left
            raise MemoryError
        return 0

    # -- one example, as counts of its own whose columns are those that it mentions ------------------------------------

    def prepare_example(self, scored, place, int sign):
        cdef sr_sink sink
        cdef se_score_rows rows
        cdef se_score_lists lists
        cdef RankCounts one
        cdef Py_ssize_t j
        columns = scored[0]
        if columns is None:
            self.read(&lists, scored, place)
            check_one(lists.rows)
            columns = np.empty(lists.longest[0] + lists.longest[1] + lists.longest[2], np.int64)
            one = RankCounts(None, len(columns))
            one.into(&sink, False)
            self.rank(&lists, self.mark + self.marked, &sink)  # behind the marks
            columns = columns[: self.take_mentions(&lists, columns, one)]
        else:
            read_rows(&rows, self.width, scored)
            check_one(rows.rows)
            one = RankCounts(None, rows.width)
            one.into(&sink, False)
            rank_rows(&rows, place is not None, &sink)
            for j in range(rows.width):
                one.mention[j] = rows.columns[j] >= rows.fixed
        one.n = 1
        return self.prepare_merge(one, columns, sign)

    cdef Py_ssize_t take_mentions(self, const se_score_lists* lists, int64_t[::1] places, RankCounts one) except -1:
        """Move the mentions of one example from behind the marks to counts of its own; how many columns these have."""
        cdef Py_ssize_t j, side, column, count = 0
        cdef int64_t* mentions = self.mark + self.marked
        for side in range(3):
            for j in range(se_start(lists, side, 0), se_start(lists, side, 1)):
                column = lists.columns[side][j]
                if mentions[column]:
                    mentions[column] = 0
                    places[count] = column
                    one.mention[count] = 1
                    count += 1
        return count

    def prepare_merge(self, RankCounts other, columns, int sign):
        cdef Merge merge = Merge()
        cdef const int64_t[::1] place
        cdef Py_ssize_t column
        cdef int at
        merge.counts, merge.other, merge.sign, merge.width = self, other, sign, other.width
        if columns is None:
            self.reserve(other.width)
        else:
            merge.columns = place = np.ascontiguousarray(columns, np.int64)
            merge.width = min(other.width, place.shape[0])
            merge.place = &place[0] if merge.width else NULL
        if sign > 0 and other.n > COUNT_MAX - self.n:
            return FULL
        if sign < 0 and other.n > self.n:
            return REFUSED
        for column in range(merge.width):
            if not other.mention[column]:
                continue
            if not 0 <= merge.to(column) < self.width:
                raise IndexError("a column is out of range")
            if sign < 0 and other.mention[column] > self.mention[merge.to(column)]:
                return REFUSED
        for at in range(3):
            if not sr_fits(&self.table[at], &other.table[at], sign):
                return REFUSED if sign < 0 else FULL
        for at in range(3 if sign > 0 else 0):
            if not se_sums_promise(&self.table[at], other.table[at].used):
                raise MemoryError
            merge.promised[at] = other.table[at].used
        return part_of(commit_merge, merge)

    def mentions(self, Py_ssize_t width):
        out = np.zeros(width, np.int64)
        cdef int64_t[::1] view = out
        if width:
            memcpy(&view[0], self.mention, min(width, self.width) * sizeof(int64_t))
        return out

    def entries(self, int which):
        keys, sums = entries_of(&self.table[which])
        return keys[:, : 3 if which == 1 else 4], sums

    def sums_of(self, int which, keys):
        cdef const int64_t[:, :] key = keys
        cdef se_sums* table = &self.table[which]
        cdef Py_ssize_t row, part
        cdef uint64_t* place
        out = np.zeros((key.shape[0], table.sums), np.int64)
        cdef int64_t[:, ::1] view = out
        for row in range(key.shape[0]):
            place = se_sums_find(table, outer_of(key, row), inner_of(key, row))
            for part in range(table.sums):
                view[row, part] = <int64_t>place[2 + part]
        return out

    def restore(self, int64_t examples, mentions, tables):
        cdef const int64_t[:] mention = mentions
        cdef Py_ssize_t row
        cdef int which
        self.reserve(mention.shape[0])
        for row in range(mention.shape[0]):
            self.mention[row] = mention[row]
        for which, (keys, sums) in enumerate(tables):
            fill(&self.table[which], keys, sums)
        self.n = examples

    def compact(self):
        """Nothing to do: tables drop keys of which no example is left whenever they grow."""

    def copy(self, root):
        cdef RankCounts twin = RankCounts(root, self.width)
        cdef int at
        for at in range(3):
            if not se_sums_copy(&twin.table[at], &self.table[at]):
                raise MemoryError
        memcpy(twin.mention, self.mention, self.width * sizeof(int64_t))
        twin.n = self.n
        return twin


@cython.final
@cython.no_gc_clear
cdef class Merge:
    """All that other counts hold, on its way into counts, or out of them. They may be the same."""

    cdef RankCounts counts, other
    cdef object columns
    cdef const int64_t* place  # of `columns`; NULL if columns are the same
    cdef Py_ssize_t width
    cdef size_t promised[3]
    cdef int sign

    def __dealloc__(self):
        cdef int at
        for at in range(3 if self.counts is not None else 0):
            self.counts.table[at].promised -= self.promised[at]

    cdef inline Py_ssize_t to(self, Py_ssize_t column) noexcept:
        return column if self.place == NULL else self.place[column]


cdef void commit_merge(void* data) noexcept:
    cdef Merge merge = <Merge>data
    cdef RankCounts counts = merge.counts, other = merge.other
    cdef Py_ssize_t column
    cdef int at
    for column in range(merge.width):
        if other.mention[column]:
            counts.mention[merge.to(column)] += merge.sign * other.mention[column]
    for at in range(3):
        sr_merge(&counts.table[at], &other.table[at], merge.sign)
    counts.n += merge.sign * other.n
