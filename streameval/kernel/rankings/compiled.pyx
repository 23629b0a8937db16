"""The loops of `streameval.kernel.rankings.numpy`, compiled: same names, same signatures, same bits."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from streameval.kernel.part cimport se_part_new
from streameval.kernel.table cimport (
    se_sums, se_sums_at, se_sums_find, se_sums_init, se_sums_next, se_sums_promise, se_sums_reserve, set_seed,
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
        sr_list by_row
        sr_list by_group
        sr_list by_label
    ctypedef struct sr_matrix:
        const uint8_t* true_
        const uint8_t* ranked
        const uint8_t* mask
        const int64_t* columns
        ptrdiff_t rows
        ptrdiff_t width
    ctypedef struct sr_lists:
        const int64_t* true_offsets
        const int64_t* true_columns
        const int64_t* ranked_offsets
        const int64_t* ranked_columns
        const int64_t* mask_offsets
        const int64_t* mask_columns
        const double* scores
        const int64_t* place
        ptrdiff_t rows
        ptrdiff_t width
        ptrdiff_t fixed
    int sr_level()
    int sr_rows_float(const sr_matrix*, const float*, int, int, sr_sink*)
    int sr_rows_double(const sr_matrix*, const double*, int, int, sr_sink*)
    int sr_rank_lists(const sr_lists*, int, int, int64_t*, int64_t*, int64_t*, sr_sink*)
    int sr_fits(const se_sums*, const se_sums*, int)
    void sr_merge(se_sums*, const se_sums*, int)

set_seed()

cdef int LEVEL = sr_level()
cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
cdef uint64_t LOW = 4294967295
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 65536


def vector_level(int level=-1):
    """Which loops run: 0 portable, 1 AVX2. A lower level can be chosen, for tests."""
    global LEVEL
    if level >= 0:
        LEVEL = min(level, sr_level())
    return LEVEL


cdef int rank_matrix(columns, true, scores, ranked, mask, bint strict, sr_sink* sink) except -1:
    """Rank dense rows into a sink."""
    cdef const uint8_t[:, ::1] truth = true
    cdef const uint8_t[:, ::1] cells
    cdef const float[:, ::1] narrow
    cdef const double[:, ::1] wide
    cdef const int64_t[::1] places = columns
    cdef sr_matrix rows
    cdef int fine
    cdef bint release = truth.shape[0] * truth.shape[1] >= RELEASE
    cdef int level = LEVEL
    cdef uint8_t nothing = 0
    cdef double zero = 0.0
    cdef const float* floats = NULL
    cdef const double* doubles = &zero
    rows.rows, rows.width = truth.shape[0], truth.shape[1]
    rows.true_, rows.ranked, rows.mask, rows.columns = &nothing, NULL, NULL, NULL
    if rows.rows and rows.width:
        if scores.shape[0] != rows.rows or scores.shape[1] != rows.width or places.shape[0] != rows.width:
            raise ValueError("shapes differ")
        rows.true_, rows.columns = &truth[0, 0], &places[0]
        for name, part in (("ranked", ranked), ("mask", mask)):
            if part is None:
                continue
            cells = part
            if cells.shape[0] != rows.rows or cells.shape[1] != rows.width:
                raise ValueError("shapes differ")
            if name == "ranked":
                rows.ranked = &cells[0, 0]
            else:
                rows.mask = &cells[0, 0]
        if scores.dtype == np.float32:
            narrow = scores
            floats = &narrow[0, 0]
        else:
            wide = scores
            doubles = &wide[0, 0]
    if release:
        with nogil:
            if floats != NULL:
                fine = sr_rows_float(&rows, floats, strict, level, sink)
            else:
                fine = sr_rows_double(&rows, doubles, strict, level, sink)
    elif floats != NULL:
        fine = sr_rows_float(&rows, floats, strict, level, sink)
    else:
        fine = sr_rows_double(&rows, doubles, strict, level, sink)
    if not fine:
        raise MemoryError
    return 0


cdef int rank_sparse(Py_ssize_t examples, Py_ssize_t fixed, Py_ssize_t width, true, ranked, scores, mask, place,
                     int64_t* mark, int64_t* turn, int64_t* mentions, sr_sink* sink) except -1:
    """Rank lists into a sink."""
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] values
    cdef const double[::1] score = scores
    cdef const int64_t[::1] places
    cdef sr_lists lists
    cdef int64_t none = 0
    cdef double zero = 0.0
    cdef int fine, level = LEVEL, strict = place is not None
    cdef Py_ssize_t side = 0
    lists.rows, lists.width, lists.fixed = examples, width, fixed
    lists.scores = &score[0] if score.shape[0] else &zero
    lists.place = &none
    lists.mask_offsets = lists.mask_columns = NULL
    if strict:
        places = place
        if places.shape[0] < width:
            raise ValueError("a column has no place")
        if width:
            lists.place = &places[0]
    for part in (true, ranked, mask):
        if part is not None:
            offsets, values = part
            if offsets.shape[0] != examples + 1 or offsets[examples] > values.shape[0] or offsets[0] < 0:
                raise ValueError("offsets and columns do not fit")
            if side == 0:
                lists.true_offsets, lists.true_columns = &offsets[0], &values[0] if values.shape[0] else &none
            elif side == 1:
                if offsets[examples] > score.shape[0]:
                    raise ValueError("a label has no score")
                lists.ranked_offsets, lists.ranked_columns = &offsets[0], &values[0] if values.shape[0] else &none
            else:
                lists.mask_offsets, lists.mask_columns = &offsets[0], &values[0] if values.shape[0] else &none
        side += 1
    if lists.ranked_offsets[examples] >= RELEASE:
        with nogil:
            fine = sr_rank_lists(&lists, strict, level, mark, turn, mentions, sink)
    else:
        fine = sr_rank_lists(&lists, strict, level, mark, turn, mentions, sink)
    if fine == -2:
        raise IndexError("a column is out of range")
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
    return Records(rows_of(&sink.by_row, 9), rows_of(&sink.by_group, 5), rows_of(&sink.by_label, 4))


cdef uint64_t outer_of(const int64_t[:, :] key, Py_ssize_t row) noexcept:
    return <uint64_t>key[row, 0] | <uint64_t>key[row, 1] << 32


cdef uint64_t inner_of(const int64_t[:, :] key, Py_ssize_t row, int which) noexcept:
    return <uint64_t>key[row, 2] | (0 if which == 1 else <uint64_t>key[row, 3] << 32)


cdef void drop(sr_sink* sink) noexcept:
    free(sink.by_row.data)
    free(sink.by_group.data)
    free(sink.by_label.data)


cdef class RankCounts:
    """See `streameval.kernel.rankings.numpy.RankCounts`."""

    cdef int64_t n
    cdef se_sums table[3]
    cdef int64_t* mention
    cdef int64_t* mark
    cdef int64_t turn
    cdef Py_ssize_t width
    cdef Py_ssize_t marked

    def __cinit__(self, root, Py_ssize_t width):
        cdef int place
        self.n = self.turn = 0
        self.width = max(width, 8)
        self.marked = 0
        self.mark = NULL
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

    def count_rows(self, columns, Py_ssize_t fixed, true, scores, ranked, mask, bint strict,
                   bint detailed=False):
        cdef sr_sink sink
        cdef const int64_t[::1] column = columns
        cdef Py_ssize_t j, examples = len(true)
        for j in range(column.shape[0]):
            if not 0 <= column[j] < self.width:
                raise IndexError("a column is out of range")
        self.into(&sink, detailed)
        try:
            rank_matrix(columns, true, scores, ranked, mask, strict, &sink)
            for j in range(column.shape[0]):
                if column[j] >= fixed:
                    self.mention[column[j]] += examples
            self.n += examples
            return records(&sink) if detailed else None
        finally:
            drop(&sink)

    def count_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, ranked, scores, mask, place,
                    bint detailed=False):
        cdef sr_sink sink
        self.into(&sink, detailed)
        try:
            self.rank_lists(examples, fixed, true, ranked, scores, mask, place, self.mention, &sink)
            self.n += examples
            return records(&sink) if detailed else None
        finally:
            drop(&sink)

    cdef int rank_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, ranked, scores, mask, place,
                        int64_t* mentions, sr_sink* sink) except -1:
        """Rank lists into a sink; without ``mentions``, these are marked behind `mark`."""
        cdef Py_ssize_t width = self.width if place is None else min(self.width, <Py_ssize_t>len(place))
        if self.marked < self.width:
            free(self.mark)
            self.marked, self.turn = 0, 0
            self.mark = <int64_t*>calloc(2 * self.width, sizeof(int64_t))
            if self.mark == NULL:
                raise MemoryError
            self.marked = self.width
        try:
            return rank_sparse(examples, fixed, width, true, ranked, scores, mask, place, self.mark, &self.turn,
                               self.mark + self.marked if mentions == NULL else mentions, sink)
        except MemoryError:
            self.marked = 0  # some marks may be left
            raise

    # -- one example, as counts of its own whose columns are those that it mentions ------------------------------------

    def prepare_row(self, columns, Py_ssize_t fixed, true, scores, ranked, mask, bint strict, int sign):
        cdef sr_sink sink
        cdef const int64_t[::1] column = columns
        cdef RankCounts one = RankCounts(None, column.shape[0])
        cdef Py_ssize_t j
        one.into(&sink, False)
        rank_matrix(columns, true, scores, ranked, mask, strict, &sink)
        for j in range(column.shape[0]):
            one.mention[j] = column[j] >= fixed
        one.n = 1
        return self.prepare_merge(one, columns, sign)

    def prepare_lists(self, Py_ssize_t fixed, true, ranked, scores, mask, place, int sign):
        cdef sr_sink sink
        cdef const int64_t[::1] side
        cdef const int64_t[::1] offsets
        cdef Py_ssize_t j, count = 0, most = len(true[1]) + len(ranked[1]) + (0 if mask is None else len(mask[1]))
        cdef RankCounts one = RankCounts(None, most)
        cdef int64_t* mentions
        one.into(&sink, False)
        self.rank_lists(1, fixed, true, ranked, scores, mask, place, NULL, &sink)
        mentions = self.mark + self.marked
        columns = np.empty(most, np.int64)
        cdef int64_t[::1] column = columns
        for lists in (true, ranked, mask):
            if lists is None:
                continue
            offsets, side = lists
            for j in range(offsets[0], offsets[1]):
                if mentions[side[j]]:
                    mentions[side[j]] = 0
                    column[count] = side[j]
                    one.mention[count] = 1
                    count += 1
        one.n = 1
        return self.prepare_merge(one, columns[:count], sign)

    cdef object merging(self, RankCounts other, columns, int sign):
        """All that a merge needs, prepared; or why it is declined."""
        cdef Merge merge = Merge()
        cdef const int64_t[::1] place
        cdef Py_ssize_t column
        cdef int at
        merge.counts, merge.other, merge.sign, merge.width = self, other, sign, other.width
        if columns is None:
            self.reserve(other.width)
        else:
            merge.columns = np.ascontiguousarray(columns, np.int64)
            place = merge.columns
            merge.width = min(other.width, place.shape[0])
            merge.place = &place[0] if merge.width else NULL
        for column in range(merge.width):
            if other.mention[column] and not 0 <= merge.to(column) < self.width:
                raise IndexError("a column is out of range")
        if sign > 0 and other.n > COUNT_MAX - self.n:
            return FULL
        if sign < 0 and other.n > self.n:
            return REFUSED
        for column in range(merge.width if sign < 0 else 0):
            if other.mention[column] and other.mention[column] > self.mention[merge.to(column)]:
                return REFUSED
        for at in range(3):
            if sr_fits(&self.table[at], &other.table[at], sign):
                return REFUSED if sign < 0 else FULL
        for at in range(3 if sign > 0 else 0):
            if not se_sums_promise(&self.table[at], other.table[at].used):
                raise MemoryError
            merge.promised[at] = other.table[at].used
        return merge

    def prepare_merge(self, RankCounts other, columns, int sign):
        merge = self.merging(other, columns, sign)
        return se_part_new(commit_merge, <void*>merge, release, merge) if isinstance(merge, Merge) else merge

    def mentions(self, Py_ssize_t width):
        out = np.zeros(width, np.int64)
        cdef int64_t[::1] view = out
        if width:
            memcpy(&view[0], self.mention, min(width, self.width) * sizeof(int64_t))
        return out

    def entries(self, int which):
        cdef se_sums* table = &self.table[which]
        cdef size_t at = 0, live = 0
        cdef Py_ssize_t row = 0, part
        cdef uint64_t outer, inner
        cdef int64_t* counted = se_sums_next(table, &at, &outer, &inner)
        while counted != NULL:
            live += 1
            counted = se_sums_next(table, &at, &outer, &inner)
        keys, sums = np.empty((live, 4), np.int64), np.empty((live, table.sums), np.int64)
        cdef int64_t[:, ::1] key = keys
        cdef int64_t[:, ::1] sum_ = sums
        at = 0
        for row in range(<Py_ssize_t>live):
            counted = se_sums_next(table, &at, &outer, &inner)
            key[row, 0], key[row, 1] = outer & LOW, outer >> 32
            key[row, 2], key[row, 3] = inner & LOW, inner >> 32
            for part in range(table.sums):
                sum_[row, part] = counted[part]
        return keys[:, : 3 if which == 1 else 4], sums

    def sums_of(self, int which, keys):
        cdef const int64_t[:, :] key = keys
        cdef se_sums* table = &self.table[which]
        cdef Py_ssize_t row, part
        cdef uint64_t* place
        out = np.zeros((key.shape[0], table.sums), np.int64)
        cdef int64_t[:, ::1] view = out
        for row in range(key.shape[0]):
            place = se_sums_find(table, outer_of(key, row), inner_of(key, row, which))
            for part in range(table.sums):
                view[row, part] = <int64_t>place[2 + part]
        return out

    def restore(self, int64_t examples, mentions, tables):
        cdef const int64_t[:] mention = mentions
        cdef const int64_t[:, :] key
        cdef const int64_t[:, :] sums
        cdef se_sums* table
        cdef Py_ssize_t row, part
        cdef int which
        cdef int64_t* place
        self.reserve(mention.shape[0])
        for row in range(mention.shape[0]):
            self.mention[row] = mention[row]
        for which, (keys, values) in enumerate(tables):
            key, sums = keys, values
            table = &self.table[which]
            if not se_sums_reserve(table, key.shape[0]):
                raise MemoryError
            for row in range(key.shape[0]):
                place = se_sums_at(table, outer_of(key, row), inner_of(key, row, which))
                for part in range(table.sums):
                    place[part] += sums[row, part]
        self.n = examples

    def compact(self):
        """Nothing to do: tables drop keys of which no example is left whenever they grow."""

    def copy(self, root):
        cdef RankCounts twin = RankCounts(root, self.width)
        merge = twin.merging(self, None, 1)
        commit_merge(<void*>merge)
        return twin


cdef void release(void* data) noexcept:
    """The data of a part are the object that it keeps."""


@cython.final
@cython.no_gc_clear
cdef class Merge:
    """All that other counts hold, on its way into counts, or out of them. They may be the same."""

    cdef RankCounts counts
    cdef RankCounts other
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
