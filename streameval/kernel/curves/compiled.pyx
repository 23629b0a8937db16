"""The loops of `streameval.kernel.curves.numpy`, compiled: same names, same signatures, same bits."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.stdlib cimport abort, calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

from streameval.kernel.lists.lists cimport check_columns
from streameval.kernel.part cimport commit, part_of
from streameval.kernel.scores cimport read_lists, read_rows, se_score_lists, se_score_rows

from streameval.kernel.types import DONE, FULL, REFUSED

cdef extern from "curves/rows.h" nogil:
    uint64_t SE_ONE
    int64_t SE_MOST
    ctypedef struct se_moments:
        uint64_t head
        uint64_t sum
        uint64_t square_high
        uint64_t square
    ctypedef struct se_counter:
        uint32_t blocks
    ctypedef struct se_table:
        uint64_t* index
        uint32_t used
        uint32_t empty
    ctypedef struct se_label:
        se_table table[2]
        int64_t binned
        int64_t side[3]
    ctypedef struct se_mention:
        int64_t column
        int kind
    int64_t se_common(const se_moments*)
    int se_blank(const se_moments*)
    se_moments* se_moments_at(const se_table*, uint32_t)
    se_moments* se_moments_of(se_table*, uint32_t)
    uint32_t se_lower(const se_table*, uint32_t)
    int se_enlarge(se_table*, uint32_t)
    int se_settle(se_table*, se_counter*)
    void se_relieve(se_table*, se_counter*)
    void se_compact(se_table*, se_counter*)
    void se_drop_counter(se_counter*)
    void se_discard(se_table*)
    void se_pairs(const se_table*, const se_table*, uint64_t*)
    int se_admit(se_table*, const se_table*)
    void se_disown(se_table*, const se_table*)
    int se_unite(se_table*, const se_table*)
    int se_can_add(const se_table*, const se_table*)
    int se_includes(const se_table*, const se_table*)
    void se_subtract(se_table*, const se_table*)
    void se_join(se_moments*, const se_moments*)
    int64_t se_append_rows(se_label*, const se_score_rows*)
    ptrdiff_t se_mentions_of_row(const se_score_rows*, ptrdiff_t, se_mention*)
    ptrdiff_t se_mentions_of_lists(const se_score_lists*, ptrdiff_t, int64_t, int64_t*, se_mention*)
    int64_t se_mentioned(const se_label*)
    int se_make_room(se_label*, const se_mention*, ptrdiff_t)
    void se_leave_room(se_label*, const se_mention*, ptrdiff_t)
    int se_append_mentions(se_label*, const se_mention*, ptrdiff_t, int64_t)
    int se_can_count(se_label*, const se_mention*, ptrdiff_t)
    int se_counted(se_label*, ptrdiff_t, const se_mention*, ptrdiff_t, int64_t, int64_t)
    void se_take_back(se_label*, const se_mention*, ptrdiff_t, int64_t)


cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
cdef uint64_t NOTHING = 0xFFFFFFFFFFFFFFFF
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 16384


@cython.final
cdef class Counter:
    """Room for counting floats, released with this object."""

    cdef se_counter room

    def __dealloc__(self):
        se_drop_counter(&self.room)


cdef class Bins:
    """See `streameval.kernel.curves.numpy.Bins`."""

    cdef int64_t n
    cdef se_label* labels
    cdef Py_ssize_t width
    # What the example being read has mentioned: 4 * turn + bits, so that it needs no clearing.
    cdef int64_t* mark
    cdef int64_t turn

    def __cinit__(self, root, Py_ssize_t width):
        self.n = self.turn = 0
        self.mark = NULL
        self.width = max(width, 8)
        self.labels = <se_label*>calloc(self.width, sizeof(se_label))
        if self.labels == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Py_ssize_t column
        if self.labels != NULL:
            for column in range(self.width):
                se_discard(&self.labels[column].table[0])
                se_discard(&self.labels[column].table[1])
        free(self.labels)
        free(self.mark)

    @property
    def examples(self):
        return self.n

    @property
    def scores(self):
        return sum(self.labels[column].binned for column in range(self.width))

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider
        cdef se_label* labels
        if width <= self.width:
            return
        wider = max(width, 2 * self.width)
        labels = <se_label*>realloc(self.labels, wider * sizeof(se_label))
        if labels == NULL:
            raise MemoryError
        memset(labels + self.width, 0, (wider - self.width) * sizeof(se_label))
        self.labels = labels
        self.width = wider
        free(self.mark)
        self.mark = NULL

    # -- one example ---------------------------------------------------------------------------------------------------

    def prepare_row(self, scored, int sign):
        cdef se_score_rows rows
        cdef Example example
        read_rows(&rows, self.width, scored)
        if rows.rows != 1:
            raise ValueError("one example is needed")
        example = Example(self, rows.width, rows.fixed, sign)
        example.count = se_mentions_of_row(&rows, 0, example.mentions)
        return example.prepared()

    def prepare_lists(self, scored, int sign):
        cdef se_score_lists lists
        cdef Example example = self.example_of(&lists, 1, scored, sign)
        self.turn += 1
        example.count = se_mentions_of_lists(&lists, 0, self.turn, self.mark, example.mentions)
        return example.prepared()

    cdef Example example_of(self, se_score_lists* lists, Py_ssize_t examples, scored, int sign):
        """Point to lists; room for the mentions of any of them."""
        read_lists(lists, self.width, examples, scored)
        if self.mark == NULL:
            self.mark = <int64_t*>calloc(self.width, sizeof(int64_t))
            if self.mark == NULL:
                raise MemoryError
            self.turn = 0
        return Example(self, lists.longest[0] + lists.longest[1] + lists.longest[2], lists.fixed, sign)

    # -- many examples: only into bins that are thrown away if this raises ---------------------------------------------

    def count_rows(self, scored):
        cdef se_score_rows rows
        cdef int64_t added
        read_rows(&rows, self.width, scored)
        if rows.rows > SE_MOST - self.n:  # a bin counts an example once
            return FULL
        if rows.rows * rows.width >= RELEASE:
            with nogil:
                added = se_append_rows(self.labels, &rows)
        else:
            added = se_append_rows(self.labels, &rows)
        if added < 0:
            raise MemoryError
        self.n += rows.rows
        return DONE

    def count_lists(self, Py_ssize_t examples, scored):
        cdef se_score_lists lists
        cdef Py_ssize_t row, count
        cdef bint enough = True
        cdef Example example = self.example_of(&lists, examples, scored, 1)
        if examples > SE_MOST - self.n:
            return FULL
        with nogil:
            for row in range(examples):
                self.turn += 1
                count = se_mentions_of_lists(&lists, row, self.turn, self.mark, example.mentions)
                enough = se_make_room(self.labels, example.mentions, count)
                if not enough:
                    break
                se_append_mentions(self.labels, example.mentions, count, lists.fixed)
        if not enough:
            raise MemoryError
        self.n += examples
        return DONE

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def prepare_merge(self, Bins other, columns, int sign):
        cdef Merge merge = Merge()
        cdef const int64_t[::1] place
        if sign > 0 and other.n > COUNT_MAX - self.n:
            return FULL
        if sign < 0 and other.n > self.n:
            return REFUSED
        merge.bins, merge.other, merge.sign, merge.width = self, other, sign, other.width
        if columns is None:
            self.reserve(other.width)
        else:
            merge.columns = np.ascontiguousarray(columns, np.int64)
            place = merge.columns
            check_columns(place, self.width)
            merge.width = min(other.width, place.shape[0])
            merge.place = &place[0] if merge.width else NULL
        if sign < 0 and not merge.included():
            return REFUSED
        if sign > 0:
            if not merge.fits():
                return FULL
            merge.make_room()
        return part_of(commit_merge, merge)

    def mentioned(self, Py_ssize_t width):
        out = np.zeros(width, np.bool_)
        cdef uint8_t[::1] view = out.view(np.uint8)
        cdef Py_ssize_t column
        for column in range(min(width, self.width)):
            view[column] = se_mentioned(self.labels + column) != 0
        return out

    def sides(self, columns):
        cdef const int64_t[::1] place = columns
        check_columns(place, self.width)
        out = np.zeros((place.shape[0], 3), np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t position, side
        for position in range(place.shape[0]):
            for side in range(3):
                view[position, side] = self.labels[place[position]].side[side]
        return out

    cdef Py_ssize_t settle(self, const int64_t[::1] place) except -1:
        """Put all scores of columns into bins; how many these are."""
        cdef Py_ssize_t position, side, bins = 0
        cdef bint enough = True
        cdef Counter counter = Counter()
        check_columns(place, self.width)
        with nogil:
            for position in range(place.shape[0]):
                for side in range(2):
                    enough = enough and se_settle(&self.labels[place[position]].table[side], &counter.room)
                    bins += self.labels[place[position]].table[side].used
        if not enough:
            raise MemoryError
        return bins

    def read(self, columns, uint32_t low=0, Py_ssize_t limit=PY_SSIZE_T_MAX):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, side, count = place.shape[0], at = 0, most
        cdef uint32_t row[2]
        cdef uint64_t bin_
        cdef se_label* label
        cdef se_table* table
        cdef se_moments* part
        most = min(self.settle(place), limit)
        offsets, bins = np.zeros(count + 1, np.int64), np.empty(most, np.int64)
        counts, common = np.zeros((most, 2), np.int64), np.full((most, 2), -2)
        limbs = np.zeros((most, 2, 4), np.uint64)
        cdef int64_t[::1] offset = offsets
        cdef int64_t[::1] number = bins
        cdef int64_t[:, ::1] times = counts
        cdef int64_t[:, ::1] residual = common
        cdef uint64_t[:, :, ::1] limb = limbs
        with nogil:
            for position in range(count):
                label = self.labels + place[position]
                for side in range(2):
                    row[side] = 0 if position else se_lower(&label.table[side], low)
                while at < limit:
                    bin_ = NOTHING
                    for side in range(2):
                        table = &label.table[side]
                        while row[side] < table.used and se_blank(se_moments_at(table, row[side])):
                            row[side] += 1
                        if row[side] < table.used and table.index[row[side]] >> 32 < bin_:
                            bin_ = table.index[row[side]] >> 32
                    if bin_ == NOTHING:
                        break
                    number[at] = <int64_t>bin_
                    for side in range(2):
                        table = &label.table[side]
                        if row[side] == table.used or table.index[row[side]] >> 32 != bin_:
                            continue
                        part = se_moments_at(table, row[side])
                        row[side] += 1
                        times[at, side] = <int64_t>(part.head >> 20)
                        residual[at, side] = se_common(part)
                        limb[at, side, 0], limb[at, side, 1] = part.sum, part.head & (SE_ONE - 1)
                        limb[at, side, 2], limb[at, side, 3] = part.square, part.square_high
                    at += 1
                offset[position + 1] = at
        return offsets, bins[:at], counts[:at], common[:at], limbs[:at]

    def pairs(self, columns):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position
        cdef se_label* label
        cdef se_table* positive
        cdef uint32_t row
        self.settle(place)
        counts, sums = np.zeros((place.shape[0], 2), np.int64), np.zeros((place.shape[0], 3, 2), np.uint64)
        cdef int64_t[:, ::1] times = counts
        cdef uint64_t[:, :, ::1] limb = sums
        with nogil:
            for position in range(place.shape[0]):
                label = self.labels + place[position]
                positive = &label.table[1]
                se_pairs(&label.table[0], positive, &limb[position, 0, 0])
                for row in range(positive.used):
                    times[position, 1] += <int64_t>(se_moments_at(positive, row).head >> 20)
                times[position, 0] = label.binned - times[position, 1]
        return counts, sums

    def compact(self):
        cdef Py_ssize_t column
        cdef Counter counter = Counter()
        for column in range(self.width):
            se_compact(&self.labels[column].table[0], &counter.room)
            se_compact(&self.labels[column].table[1], &counter.room)

    def restore(self, int64_t examples, sides):
        cdef const int64_t[:, ::1] side_ = np.ascontiguousarray(sides, np.int64)
        cdef Py_ssize_t column, side
        self.reserve(side_.shape[0])
        for column in range(side_.shape[0]):
            for side in range(3):
                self.labels[column].side[side] = side_[column, side]
        self.n = examples

    def restore_bins(self, Py_ssize_t first, offsets, bins, counts, limbs):
        cdef const int64_t[::1] offset = np.ascontiguousarray(offsets, np.int64)
        cdef const int64_t[::1] bin_ = np.ascontiguousarray(bins, np.int64)
        cdef const int64_t[:, ::1] times = np.ascontiguousarray(counts, np.int64)
        cdef const uint64_t[:, :, ::1] limb = np.ascontiguousarray(limbs, np.uint64)
        cdef Py_ssize_t column, at, side, filled
        cdef se_label* label
        cdef se_moments* part
        if first < 0 or first + offset.shape[0] - 1 > self.width:
            raise IndexError("a column is out of range")
        for column in range(offset.shape[0] - 1):
            label = self.labels + first + column
            for side in range(2):
                filled = 0
                for at in range(offset[column], offset[column + 1]):
                    filled += times[at, side] != 0
                if not se_enlarge(&label.table[side], <uint32_t>filled):
                    raise MemoryError
                for at in range(offset[column], offset[column + 1]):
                    if not times[at, side]:
                        continue
                    part = se_moments_of(&label.table[side], <uint32_t>bin_[at])
                    part.head = <uint64_t>times[at, side] << 20 | limb[at, side, 1]
                    part.sum = limb[at, side, 0]
                    part.square = limb[at, side, 2]
                    part.square_high = limb[at, side, 3]
                    label.table[side].empty -= 1
                    label.binned += times[at, side]

    def copy(self, root):
        cdef Bins twin = Bins(root, self.width)
        commit(twin.prepare_merge(self, None, 1))
        return twin


# -- changes, prepared ---------------------------------------------------------------------------------------------------


@cython.final
@cython.no_gc_clear
cdef class Example:
    """One example on its way into bins, or out of them."""

    cdef Bins bins
    cdef se_mention* mentions
    cdef Py_ssize_t count
    cdef int64_t fixed
    cdef int sign
    cdef bint owed

    def __cinit__(self, Bins bins, Py_ssize_t most, int64_t fixed, int sign):
        self.bins, self.fixed, self.sign = bins, fixed, sign
        self.count = 0
        self.mentions = <se_mention*>malloc((most + 1) * sizeof(se_mention))
        if self.mentions == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.owed:
            se_leave_room(self.bins.labels, self.mentions, self.count)
        free(self.mentions)

    cdef object prepared(self):
        """The part that counts the mentions, or why they are declined."""
        cdef Bins bins = self.bins
        cdef int counted = 1
        if self.sign < 0:
            counted = se_counted(bins.labels, bins.width, self.mentions, self.count, self.fixed, bins.n - 1)
        elif bins.n >= SE_MOST:
            counted = se_can_count(bins.labels, self.mentions, self.count) if bins.n < COUNT_MAX else 0
        if counted < 0:
            raise MemoryError
        if not counted:
            return REFUSED if self.sign < 0 else FULL
        if self.sign > 0:
            if not se_make_room(bins.labels, self.mentions, self.count):
                raise MemoryError
            self.owed = True
        return part_of(commit_example, self)


cdef void commit_example(void* data) noexcept:
    cdef Example example = <Example>data
    cdef Bins bins = example.bins
    if example.sign < 0:
        se_take_back(bins.labels, example.mentions, example.count, example.fixed)
    elif not se_append_mentions(bins.labels, example.mentions, example.count, example.fixed):
        abort()
    example.owed = False
    bins.n += example.sign


@cython.final
@cython.no_gc_clear
cdef class Merge:
    """All that other bins hold, on its way into bins, or out of them. They may be the same."""

    cdef Bins bins
    cdef Bins other
    cdef object columns
    cdef const int64_t* place  # of `columns`; NULL if columns are the same
    cdef Py_ssize_t width
    cdef int sign

    cdef inline Py_ssize_t to(self, Py_ssize_t column) noexcept:
        return column if self.place == NULL else self.place[column]

    cdef int make_room(self) except -1:
        cdef Py_ssize_t column, side
        cdef se_label* to
        cdef se_label* added
        cdef Counter counter = Counter()
        for column in range(self.width):
            to, added = self.bins.labels + self.to(column), self.other.labels + column
            for side in range(2):
                if to != added and added.binned:
                    se_relieve(&to.table[side], &counter.room)
                    if not se_admit(&to.table[side], &added.table[side]):
                        raise MemoryError
                elif to == added and not se_settle(&to.table[side], &counter.room):
                    raise MemoryError
        for column in range(self.width):  # there is room now, also where several columns are one
            to, added = self.bins.labels + self.to(column), self.other.labels + column
            for side in range(2 if added.binned and to != added else 0):
                se_disown(&to.table[side], &added.table[side])
        return 0

    cdef int fits(self) except -1:
        """Whether no bin counts too many scores then; where several columns are one, all scores must be few enough."""
        cdef Py_ssize_t column, side
        cdef se_table* to
        cdef se_table* added
        cdef Counter counter = Counter()
        if self.bins.n + self.other.n <= SE_MOST:
            return 1
        for column in range(self.width):
            if self.bins.labels[self.to(column)].binned <= SE_MOST - self.other.labels[column].binned:
                continue
            for side in range(2):
                to, added = &self.bins.labels[self.to(column)].table[side], &self.other.labels[column].table[side]
                if not se_settle(to, &counter.room) or not se_settle(added, &counter.room):
                    raise MemoryError
                if not se_can_add(to, added):
                    return 0
        return 1

    cdef int included(self) except -1:
        """Whether the bins may hold what the other bins do; the scores of both are then in bins."""
        cdef Py_ssize_t column, side
        cdef se_label* of
        cdef se_label* gone
        cdef int64_t left = self.bins.n - self.other.n
        cdef bint fits = True, enough = True
        cdef Counter counter = Counter()
        cdef int64_t* leaving = <int64_t*>calloc(self.bins.width, sizeof(int64_t))
        if leaving == NULL:
            raise MemoryError
        for column in range(self.width):
            of, gone = self.bins.labels + self.to(column), self.other.labels + column
            leaving[self.to(column)] += se_mentioned(gone)
            for side in range(3):
                fits = fits and of.side[side] >= gone.side[side]
            for side in range(2 if fits and enough and gone.binned else 0):
                enough = se_settle(&of.table[side], &counter.room) and se_settle(&gone.table[side], &counter.room)
                if not enough:
                    break
                fits = fits and se_includes(&of.table[side], &gone.table[side])
        for column in range(self.bins.width):
            fits = fits and se_mentioned(self.bins.labels + column) - leaving[column] <= left
        free(leaving)
        if not enough:
            raise MemoryError
        return fits


cdef void commit_merge(void* data) noexcept:
    cdef Merge merge = <Merge>data
    cdef Bins bins = merge.bins, other = merge.other
    cdef Py_ssize_t column, side
    cdef uint32_t position
    cdef se_label* to
    cdef se_label* added
    cdef se_moments* part
    for column in range(merge.width):
        to, added = bins.labels + merge.to(column), other.labels + column
        for side in range(2):
            if not added.binned:
                continue
            if merge.sign < 0:
                se_subtract(&to.table[side], &added.table[side])
            elif to == added:
                for position in range(to.table[side].used):
                    part = se_moments_at(&to.table[side], position)
                    se_join(part, part)
            elif not se_unite(&to.table[side], &added.table[side]):
                abort()
        to.binned += merge.sign * added.binned
        for side in range(3):
            to.side[side] += merge.sign * added.side[side]
    bins.n += merge.sign * other.n
