"""The compiled twin of `streameval.kernel.rankings.numpy`, which documents it: `RankCounts`, over ranking.h."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MAX as COUNT_MAX, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from streameval.kernel.lists cimport RELEASE, place_of
from streameval.kernel.memory cimport check_memory, cleared, data_of, widened
from streameval.kernel.part cimport FULL, OTHER, REFUSED, se_follower, se_follower_new, se_part, se_part_new
from streameval.kernel.scores cimport SE_RANKED, read_lists, read_rows, se_score_lists, se_score_rows, se_start
from streameval.kernel.table cimport (
    entries_of, fill, inner_of, outer_of, se_sums, se_sums_copy, se_sums_find, se_sums_init, se_sums_promise, set_seed,
)

from streameval.kernel.types import Records

cdef extern from "rankings/ranking.h" nogil:
    ctypedef struct sr_list:
        int64_t* data
        size_t used
    ctypedef struct sr_sink:
        se_sums* tables
        int64_t* mentions
        int writes
        sr_list by_row, by_group, by_label, mentioned
    size_t SR_ROW, SR_GROUP
    int sr_level "se_has_avx2"()  # AVX-512 was not faster
    int sr_rank(const se_score_rows*, const se_score_lists*, int, int, int64_t*, int64_t*, sr_sink*)
    int sr_enter_all(se_sums*, const sr_sink*, int64_t, int)
    int sr_merge(se_sums*, const se_sums*, int, int)
    void sr_drop(sr_sink*)

set_seed()

cdef int LEVEL = sr_level()


def vector_level(int level=-1):
    """The loops in use: 0 portable, 1 AVX2. Tests can choose a lower level."""
    global LEVEL
    if level >= 0:
        LEVEL = min(level, sr_level())
    return LEVEL


cdef object rows_of(sr_list* values, Py_ssize_t wide):
    out = np.empty((values.used // wide, wide), np.int64)
    if values.used:
        memcpy(<void*>data_of(out, b"i", 8), values.data, values.used * sizeof(int64_t))
    return out


cdef object records(sr_sink* sink):
    if not sink.writes:
        return None
    return Records(rows_of(&sink.by_row, SR_ROW), rows_of(&sink.by_group, SR_GROUP), rows_of(&sink.by_label, 4))


cdef struct Change:
    # A prepared change: adds examples, or all counts of `other` (by 1), or takes them back (by -1).
    PyObject* counts
    PyObject* other  # NULL for examples, which are in `read`; may be `counts` itself
    PyObject* columns
    const int64_t* place  # the map in `columns`; NULL if columns are the same
    ptrdiff_t width
    int by
    size_t promised[3]
    sr_sink read


cdef class RankCounts:
    """See `streameval.kernel.rankings.numpy.RankCounts`."""

    cdef readonly int64_t examples
    cdef int64_t turn
    cdef se_sums table[3]
    cdef int64_t* mention
    cdef int64_t* mark
    cdef Py_ssize_t width
    cdef se_follower following
    cdef bint strict  # whether ties are strict
    cdef object extra_of  # a function from records to sums outside of the tables

    def __cinit__(self, root, Py_ssize_t width):
        cdef int place
        self.reserve(max(width, 8))
        for place in range(3):
            check_memory(se_sums_init(&self.table[place], 16, (3, 1, 6)[place]))

    def __dealloc__(self):
        cdef int place
        for place in range(3):
            free(self.table[place].places)
        free(self.mention)
        free(self.mark)

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider = max(width, 2 * self.width)
        if width > self.width:
            self.mention = <int64_t*>widened(self.mention, self.width, wider, sizeof(int64_t))
            self.width = wider
            free(self.mark)
            self.mark = NULL

    def count(self, scored, place, bint detailed=False):
        cdef sr_sink sink
        memset(&sink, 0, sizeof(sr_sink))
        sink.tables, sink.mentions, sink.writes = self.table, self.mention, 2 if detailed else 0
        try:
            self.examples += self.read(scored, place, &sink)
            return records(&sink)
        finally:
            sr_drop(&sink)

    cdef Py_ssize_t read(self, scored, place, sr_sink* sink) except -1:
        """Rank rows or lists into a sink; return the number of examples."""
        cdef se_score_rows rows
        cdef se_score_lists lists
        cdef const int64_t[::1] places = place
        if scored[0] is not None:
            read_rows(&rows, self.width, scored)
            self.rank(&rows, NULL, place is not None, sink)
            return rows.rows
        read_lists(&lists, self.width if place is None else min(self.width, places.shape[0]), scored)
        if place is not None:
            lists.place = &places[0] if places.shape[0] else NULL
        if self.mark == NULL:
            self.mark, self.turn = <int64_t*>cleared(self.width, sizeof(int64_t)), 0
        self.rank(NULL, &lists, False, sink)
        return lists.rows

    cdef int rank(self, const se_score_rows* rows, const se_score_lists* lists, bint strict, sr_sink* sink) except -1:
        cdef int fine, level = LEVEL
        if (rows.rows * rows.width if lists == NULL else se_start(lists, SE_RANKED, lists.rows)) >= RELEASE:
            with nogil:
                fine = sr_rank(rows, lists, strict, level, self.mark, &self.turn, sink)
        else:
            fine = sr_rank(rows, lists, strict, level, self.mark, &self.turn, sink)
        if not fine:
            free(self.mark)  # some may have been set
            self.mark = NULL
            raise MemoryError
        return 0

    # -- few examples, prepared ----------------------------------------------------------------------------------------

    cdef int prepare(self, const se_score_rows* rows, int by, bint known, se_part* part) except -1:
        """Prepare to count rows (by 1) or to take one back (by -1); 0, or the code for why not."""
        cdef Change* change = <Change*>cleared(1, sizeof(Change))
        cdef int code = -1
        change.counts, change.by, change.read.writes = <PyObject*>self, by, 1 if self.extra_of is None else 2
        try:
            self.rank(rows, NULL, self.strict and rows.sorted, &change.read)
            code = self.check(change)
            if self.strict and not rows.sorted and has_ties(&change.read.by_group):
                code = OTHER
            if by < 0 and not known and self.loses_label(&change.read.mentioned):
                code = OTHER
        finally:
            if code:
                release(change)
        part.commit, part.data, part.release = commit_change, change, release
        return code

    cdef int check(self, Change* change) except -1:
        """Check that the examples in ``read`` can be counted or taken back, and make room; 0, or the code for why not."""
        cdef sr_list* mentioned = &change.read.mentioned
        cdef int64_t examples = change.read.by_row.used // SR_ROW
        cdef size_t at
        if examples > (COUNT_MAX - self.examples if change.by > 0 else self.examples):
            return FULL if change.by > 0 else REFUSED
        for at in range(mentioned.used if change.by < 0 else 0):
            if self.mention[mentioned.data[at]] < examples:
                return REFUSED
        if not sr_enter_all(self.table, &change.read, change.by, True):
            return FULL if change.by > 0 else REFUSED
        if change.by > 0:
            promise(change, change.read.by_group.used // SR_GROUP, examples, examples)
        return 0

    cdef bint loses_label(self, const sr_list* mentioned) noexcept:
        """Whether an example is the last that mentions some label: without it, the other counts may be impossible."""
        cdef size_t at
        for at in range(mentioned.used):
            if self.mention[mentioned.data[at]] == 1:
                return True
        return False

    def follower(self, bint strict, extra_of=None):
        self.strict, self.extra_of, self.following.table = strict, extra_of, <void*>self
        self.following.prepare, self.following.amounts, self.following.reads_scores = prepare_rows, amounts_of, True
        if extra_of is not None:
            self.following.extra = extra_sums_of
        return se_follower_new(&self.following, self)

    def prepare_merge(self, RankCounts other, columns, int sign):
        cdef Change* change = <Change*>cleared(1, sizeof(Change))
        cdef Py_ssize_t column
        cdef int at
        change.counts, change.other, change.by, change.width = <PyObject*>self, <PyObject*>other, sign, other.width
        Py_INCREF(other)
        part = se_part_new(commit_change, change, release, self)
        if columns is None:
            self.reserve(other.width)
        else:
            columns = place_of(columns, self.width, &change.width, &change.place)
            Py_INCREF(columns)
            change.columns = <PyObject*>columns
        if sign > 0 and other.examples > COUNT_MAX - self.examples:
            return FULL
        if sign < 0 and other.examples > self.examples:
            return REFUSED
        for column in range(change.width if sign < 0 else 0):
            if other.mention[column] > self.mention[moved(change, column)]:
                return REFUSED
        for at in range(3):
            if not sr_merge(&self.table[at], &other.table[at], sign, True):
                return REFUSED if sign < 0 else FULL
        if sign > 0:
            promise(change, other.table[0].used, other.table[1].used, other.table[2].used)
        return part

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
        self.examples = examples

    def compact(self):
        """Nothing to do: tables drop keys without an example whenever they grow."""

    def copy(self, root):
        cdef RankCounts result = RankCounts(root, self.width)
        cdef int at
        for at in range(3):
            check_memory(se_sums_copy(&result.table[at], &self.table[at]))
        memcpy(result.mention, self.mention, self.width * sizeof(int64_t))
        result.examples = self.examples
        return result


# -- changes, prepared ---------------------------------------------------------------------------------------------------

cdef int prepare_rows(void* table, const void* rows, int by, bint known, se_part* part) except -1:
    cdef RankCounts counts = <RankCounts>table
    counts.reserve((<const se_score_rows*>rows).limit)
    return counts.prepare(<const se_score_rows*>rows, by, known, part)


cdef object amounts_of(const se_part* part):
    cdef const sr_sink* read = &(<Change*>part.data).read
    cdef const int64_t* row = read.by_row.data
    cdef const int64_t* group = read.by_group.data
    cdef dict sums = {}
    cdef int at
    true, ranked, unranked, masked = row[0], row[1], row[2], row[3]
    for at in range(6):
        if not at or row[3 + at]:
            sums[2, true, ranked, unranked, masked, at] = row[3 + at] if at else 1
    if read.by_group.used:
        sums[1, group[1], group[2], group[3], 0] = 1
    for at in range(<int>(read.by_group.used // SR_GROUP)):
        above, size = group[1], group[2]
        sums[0, true, ranked, above, size, 0] = group[3]
        sums[0, true, ranked, above, size, 1] = group[3] * group[4]
        sums[0, true, ranked, above, size, 2] = group[3] * group[3]
        group += SR_GROUP
    return sums


cdef tuple extra_sums_of(const se_part* part):
    cdef Change* change = <Change*>part.data
    sums = (<RankCounts>change.counts).extra_of(records(&change.read))
    return sums.sums, sums.scale


cdef bint has_ties(const sr_list* groups) noexcept:
    """Whether a true label has the score of another label."""
    cdef size_t at
    for at in range(groups.used // SR_GROUP):  # no step: Cython would make a Python object of it
        if groups.data[at * SR_GROUP + 2] > 1:  # its size
            return True
    return False


cdef inline Py_ssize_t moved(const Change* change, Py_ssize_t column) noexcept:
    return column if change.place == NULL else change.place[column]


cdef int promise(Change* change, size_t groups, size_t first, size_t rows) except -1:
    """Reserve room for keys in each table until the change is released."""
    cdef size_t* keys = [groups, first, rows]
    cdef int at
    for at in range(3):
        check_memory(se_sums_promise(&(<RankCounts>change.counts).table[at], keys[at]))
        change.promised[at] = keys[at]
    return 0


cdef void commit_change(void* data) noexcept:
    cdef Change* change = <Change*>data
    cdef RankCounts counts = <RankCounts>change.counts, other
    cdef sr_list* mentioned = &change.read.mentioned
    cdef int64_t examples = change.by * <int64_t>(change.read.by_row.used // SR_ROW)
    cdef Py_ssize_t column
    cdef size_t at
    if change.other != NULL:
        other = <RankCounts>change.other
        examples = change.by * other.examples
        for column in range(change.width):
            counts.mention[moved(change, column)] += change.by * other.mention[column]
        for at in range(3):
            sr_merge(&counts.table[at], &other.table[at], change.by, False)
    sr_enter_all(counts.table, &change.read, change.by, False)
    for at in range(mentioned.used):
        counts.mention[mentioned.data[at]] += examples
    counts.examples += examples


cdef void release(void* data) noexcept:
    cdef Change* change = <Change*>data
    cdef int at
    for at in range(3):
        (<RankCounts>change.counts).table[at].promised -= change.promised[at]
    Py_XDECREF(change.other)
    Py_XDECREF(change.columns)
    sr_drop(&change.read)
    free(change)
