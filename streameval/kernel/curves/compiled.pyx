"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

# These need no loops of their own.
from streameval.kernel.curves.numpy import BINS, DROPPED, SCORE_MAX, edges_of, flipped_bins, possible, scores_of
from streameval.kernel.types import DONE, FULL, REFUSED

cdef extern from "curves/binning.h" nogil:
    uint64_t SE_ONE
    ctypedef struct se_part:
        uint64_t head
        uint64_t sum
        uint64_t square_high
        uint64_t square
    ctypedef struct se_run:
        uint64_t* keys
        size_t used
        size_t owed
    ctypedef struct se_floats:
        size_t used
        size_t owed
    ctypedef struct se_counter:
        uint32_t blocks
    ctypedef struct se_table:
        uint64_t* index
        uint32_t used
        uint32_t empty
        se_run fresh[2]
        se_floats narrow
    ctypedef struct se_label:
        se_table table[2]
        int64_t binned
        int64_t side[3]
    ctypedef struct se_score_rows:
        const void* scores
        const uint8_t* true_
        const uint8_t* ranked
        const uint8_t* hidden
        const int64_t* columns
        ptrdiff_t rows
        ptrdiff_t width
        int single
        int64_t fixed
    ctypedef struct se_score_lists:
        const int64_t* true_at
        const int64_t* true_
        const int64_t* ranked_at
        const int64_t* ranked
        const int64_t* hidden_at
        const int64_t* hidden
        const double* scores
    ctypedef struct se_mention:
        uint64_t residual
        int64_t column
        uint32_t bin
        int kind
    uint64_t se_bits_of_double(const double*)
    uint32_t se_bin(uint64_t, uint64_t*)
    int64_t se_common(const se_part*)
    int se_blank(const se_part*)
    se_part* se_part_at(const se_table*, uint32_t)
    se_part* se_part_of(se_table*, uint32_t)
    int se_enlarge(se_table*, uint32_t)
    int se_settle(se_table*, se_counter*)
    void se_relieve(se_table*, se_counter*)
    void se_compact(se_table*, se_counter*)
    void se_drop_counter(se_counter*)
    void se_discard(se_table*)
    const se_table* se_view(se_table*, se_counter*, se_table*)
    void se_pairs(const se_table*, const se_table*, uint64_t*)
    int se_admit(se_table*, const se_table*)
    void se_unite(se_table*, const se_table*)
    void se_join(se_part*, const se_part*)
    int se_append_rows(se_label*, const se_score_rows*, ptrdiff_t, ptrdiff_t)
    ptrdiff_t se_mentions_of_row(const se_score_rows*, ptrdiff_t, se_mention*)
    ptrdiff_t se_mentions_of_lists(const se_score_lists*, ptrdiff_t, int64_t, int64_t*, se_mention*)
    int se_make_room(se_label*, const se_mention*, ptrdiff_t)
    void se_append_mentions(se_label*, const se_mention*, ptrdiff_t, int64_t)
    int64_t se_said(const se_label*)
    int se_take_back(se_label*, ptrdiff_t, const se_mention*, ptrdiff_t, int64_t, int64_t)

# The same codes as constants of C.
cdef int DONE_CODE = DONE, REFUSED_CODE = REFUSED, FULL_CODE = FULL

cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
cdef int64_t SCORE_LIMIT = 0x7FFFFFFFFFF
cdef uint64_t NOTHING = 0xFFFFFFFFFFFFFFFF
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 16384


def bins_of(scores):
    cdef const double[::1] score = np.ascontiguousarray(scores, np.float64)
    cdef Py_ssize_t position
    bins, residuals = np.empty(score.shape[0], np.int64), np.empty(score.shape[0], np.int64)
    cdef int64_t[::1] bin_ = bins
    cdef int64_t[::1] residual = residuals
    cdef uint64_t x = 0
    for position in range(score.shape[0]):
        bin_[position] = se_bin(se_bits_of_double(&score[position]), &x)
        residual[position] = <int64_t>x
    return bins, residuals


cdef class Bins:
    """See `streameval.kernel.curves.numpy.Bins`."""

    cdef int64_t n
    cdef int64_t held
    cdef se_label* labels
    cdef Py_ssize_t width
    # What the example at hand has said of each column: 4 * turn + bits, so that it needs no clearing.
    cdef int64_t* mark
    cdef int64_t turn
    cdef se_mention* said
    cdef Py_ssize_t room

    def __cinit__(self, Py_ssize_t width):
        self.n = self.held = self.turn = 0
        self.room = 0
        self.said = NULL
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
        free(self.said)

    @property
    def examples(self):
        return self.n

    @property
    def scores(self):
        return self.held

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

    cdef int prepare(self, Py_ssize_t mentions) except -1:
        cdef void* memory
        if self.mark == NULL:
            self.mark = <int64_t*>calloc(self.width, sizeof(int64_t))
            if self.mark == NULL:
                raise MemoryError
            self.turn = 0
        if self.room < mentions:
            memory = realloc(self.said, mentions * sizeof(se_mention))
            if memory == NULL:
                raise MemoryError
            self.said = <se_mention*>memory
            self.room = mentions
        return 0

    cdef int within(self, const int64_t[::1] columns) except -1:
        """Columns can be out of range if two threads use one object without a lock."""
        cdef Py_ssize_t position
        for position in range(columns.shape[0]):
            if not 0 <= columns[position] < self.width:
                raise IndexError(f"column {columns[position]} is out of range; one object is for one thread at a time")
        return 0

    cdef int no_room_for(self, Py_ssize_t examples, int64_t scores) noexcept:
        return examples > COUNT_MAX - self.n or scores > SCORE_LIMIT - self.held

    cdef int one(self, Py_ssize_t count, int64_t fixed, int sign) except -1:
        """Count the example whose mentions are at hand, or take it back."""
        cdef Py_ssize_t position
        cdef int64_t scored = 0
        cdef int taken
        cdef se_counter counter
        for position in range(count):
            scored += self.said[position].kind < 2
        if sign < 0:
            taken = se_take_back(self.labels, self.width, self.said, count, fixed, self.n - 1)
            if taken < 0:
                raise MemoryError
            if not taken:
                return REFUSED_CODE
        else:
            if self.no_room_for(1, scored):
                return FULL_CODE
            memset(&counter, 0, sizeof(se_counter))
            for position in range(count):
                if self.said[position].kind < 2:
                    se_relieve(&self.labels[self.said[position].column].table[self.said[position].kind], &counter)
            se_drop_counter(&counter)
            if not se_make_room(self.labels, self.said, count):
                raise MemoryError
            se_append_mentions(self.labels, self.said, count, fixed)
        self.n += sign
        self.held += sign * scored
        return DONE_CODE

    def count_rows(self, columns, int64_t fixed, true, scores, ranked, hidden, int sign):
        cdef const int64_t[::1] place = columns
        cdef const uint8_t[:, ::1] t = true
        cdef const uint8_t[:, ::1] shown
        cdef const uint8_t[:, ::1] masked
        cdef const float[:, ::1] narrow
        cdef const double[:, ::1] wide
        cdef se_score_rows rows
        cdef se_label* label
        cdef Py_ssize_t position, part
        cdef int64_t[:, ::1] before
        cdef int64_t added
        cdef int enough
        cdef se_counter counter
        rows.rows, rows.width, rows.fixed = t.shape[0], t.shape[1], fixed
        if place.shape[0] != rows.width or scores.shape != true.shape:
            raise ValueError("columns, truths and scores differ in shape")
        self.within(place)
        rows.single = scores.dtype == np.float32
        rows.true_ = rows.ranked = rows.hidden = NULL
        rows.scores = NULL
        rows.columns = NULL
        if rows.rows * rows.width:
            rows.true_, rows.columns = &t[0, 0], &place[0]
            if rows.single:
                narrow = scores
                rows.scores = &narrow[0, 0]
            else:
                wide = scores
                rows.scores = &wide[0, 0]
            if ranked is not None:
                if ranked.shape != true.shape:
                    raise ValueError("ranked and truths differ in shape")
                shown = ranked
                rows.ranked = &shown[0, 0]
            if hidden is not None:
                if hidden.shape != true.shape:
                    raise ValueError("hidden and truths differ in shape")
                masked = hidden
                rows.hidden = &masked[0, 0]
        if rows.rows == 1:
            self.prepare(rows.width)
            return self.one(se_mentions_of_row(&rows, 0, self.said), fixed, sign)
        if sign < 0:
            raise ValueError("examples are taken back one by one")
        if self.no_room_for(rows.rows, rows.rows * rows.width):
            return FULL_CODE
        if not rows.rows * rows.width:
            self.n += rows.rows
            return DONE_CODE
        # Appended scores are forgotten if memory runs out on the way; then nothing has changed.
        known = np.empty((rows.width, 10), np.int64)
        before = known
        memset(&counter, 0, sizeof(se_counter))
        for position in range(rows.width):
            label = self.labels + place[position]
            for part in range(2):
                se_relieve(&label.table[part], &counter)
                before[position, 8 + part] = label.table[part].narrow.used
            for part in range(4):
                before[position, part] = label.table[part // 2].fresh[part % 2].used
            for part in range(3):
                before[position, 4 + part] = label.side[part]
            before[position, 7] = label.binned
        se_drop_counter(&counter)
        if rows.rows * rows.width >= RELEASE:
            with nogil:
                enough = se_append_rows(self.labels, &rows, 0, rows.width)
        else:
            enough = se_append_rows(self.labels, &rows, 0, rows.width)
        added = 0
        for position in range(rows.width):
            label = self.labels + place[position]
            if enough:
                added += label.binned - before[position, 7]
                continue
            for part in range(4):
                label.table[part // 2].fresh[part % 2].used = before[position, part]
            for part in range(2):
                label.table[part].narrow.used = before[position, 8 + part]
            for part in range(3):
                label.side[part] = before[position, 4 + part]
            label.binned = before[position, 7]
        if not enough:
            raise MemoryError
        self.held += added
        self.n += rows.rows
        return DONE_CODE

    def count_lists(self, Py_ssize_t examples, int64_t fixed, true, ranked, scores, hidden, int sign):
        cdef const int64_t[::1] true_at = true[0]
        cdef const int64_t[::1] true_ = true[1]
        cdef const int64_t[::1] ranked_at = ranked[0]
        cdef const int64_t[::1] ranked_ = ranked[1]
        cdef const int64_t[::1] hidden_at
        cdef const int64_t[::1] hidden_
        cdef const double[::1] score = scores
        cdef se_score_lists lists
        cdef Py_ssize_t row, longest = 0, long_, count, position
        cdef bint enough = True
        cdef se_counter counter
        self.within(true_)
        self.within(ranked_)
        if score.shape[0] != ranked_.shape[0]:
            raise ValueError("as many scores as ranked columns are needed")
        lists.true_at, lists.ranked_at = &true_at[0], &ranked_at[0]
        lists.true_ = &true_[0] if true_.shape[0] else NULL
        lists.ranked = &ranked_[0] if ranked_.shape[0] else NULL
        lists.scores = &score[0] if score.shape[0] else NULL
        lists.hidden_at = lists.hidden = NULL
        if hidden is not None and len(hidden[1]):
            hidden_at, hidden_ = hidden
            self.within(hidden_)
            lists.hidden_at, lists.hidden = &hidden_at[0], &hidden_[0]
        for row in range(examples):
            long_ = true_at[row + 1] - true_at[row] + ranked_at[row + 1] - ranked_at[row]
            if lists.hidden_at != NULL:
                long_ += hidden_at[row + 1] - hidden_at[row]
            longest = max(longest, long_)
        self.prepare(longest)
        if examples == 1:
            self.turn += 1
            return self.one(se_mentions_of_lists(&lists, 0, self.turn, self.mark, self.said), fixed, sign)
        if sign < 0:
            raise ValueError("examples are taken back one by one")
        if self.no_room_for(examples, ranked_.shape[0]):
            return FULL_CODE
        # Room for everything first; then nothing can fail.
        counted = self.held
        memset(&counter, 0, sizeof(se_counter))
        with nogil:
            for position in range(self.width):
                se_relieve(&self.labels[position].table[0], &counter)
                se_relieve(&self.labels[position].table[1], &counter)
            se_drop_counter(&counter)
            for row in range(examples):
                self.turn += 1
                count = se_mentions_of_lists(&lists, row, self.turn, self.mark, self.said)
                for position in range(count):
                    self.held += self.said[position].kind < 2
                if not se_make_room(self.labels, self.said, count):
                    enough = False
                    break
                se_append_mentions(self.labels, self.said, count, fixed)
        if not enough:
            raise MemoryError
        self.n += examples
        return DONE_CODE

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def merge(self, Bins other, columns):
        cdef const int64_t[::1] place
        cdef Py_ssize_t column, width, side
        cdef uint32_t position
        cdef se_label* here
        cdef se_label* there
        cdef se_part* part
        cdef bint enough = True
        cdef se_counter counter
        memset(&counter, 0, sizeof(se_counter))
        if self.no_room_for(other.n, other.held):
            return FULL_CODE
        if columns is None:
            self.reserve(other.width)
            width = other.width
        else:
            place = columns
            self.within(place)
            width = min(other.width, place.shape[0])
        with nogil:
            for column in range(width):
                here, there = self.labels + (column if columns is None else place[column]), other.labels + column
                for side in range(2):
                    if here == there:
                        enough = enough and se_settle(&here.table[side], &counter)
                    elif there.binned:
                        se_relieve(&here.table[side], &counter)
                        enough = enough and se_admit(&here.table[side], &there.table[side])
            se_drop_counter(&counter)
            for column in range(width if enough else 0):
                here, there = self.labels + (column if columns is None else place[column]), other.labels + column
                for side in range(2):
                    if here == there:
                        for position in range(here.table[side].used):
                            part = se_part_at(&here.table[side], position)
                            se_join(part, part)
                    elif there.binned:
                        se_unite(&here.table[side], &there.table[side])
                here.binned += there.binned
                for side in range(3):
                    here.side[side] += there.side[side]
            for column in range(width):
                here = self.labels + (column if columns is None else place[column])
                for side in range(4):
                    here.table[side // 2].fresh[side % 2].owed = here.table[side // 2].narrow.owed = 0
        if not enough:
            raise MemoryError
        self.n += other.n
        self.held += other.held
        return DONE_CODE

    def mentioned(self, Py_ssize_t width):
        out = np.zeros(width, np.bool_)
        cdef uint8_t[::1] view = out.view(np.uint8)
        cdef Py_ssize_t column
        for column in range(min(width, self.width)):
            view[column] = se_said(self.labels + column) != 0
        return out

    def sides(self, columns):
        cdef const int64_t[::1] place = columns
        self.within(place)
        out = np.zeros((place.shape[0], 3), np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t position, side
        for position in range(place.shape[0]):
            for side in range(3):
                view[position, side] = self.labels[place[position]].side[side]
        return out

    def read(self, columns, bint sums):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, side, count = place.shape[0], at = 0, most = 0
        cdef uint32_t row[2]
        cdef uint64_t bin_
        cdef se_label* label
        cdef se_table* table
        cdef se_part* part
        cdef bint enough = True
        cdef se_counter counter
        self.within(place)
        memset(&counter, 0, sizeof(se_counter))
        with nogil:
            for position in range(count):
                for side in range(2):
                    enough = enough and se_settle(&self.labels[place[position]].table[side], &counter)
                    most += self.labels[place[position]].table[side].used
            se_drop_counter(&counter)
        if not enough:
            raise MemoryError
        offsets, bins = np.zeros(count + 1, np.int64), np.empty(most, np.int64)
        counts, common = np.zeros((most, 2), np.int64), np.full((most, 2), -2)
        limbs = np.zeros((most if sums else 0, 2, 4), np.uint64)
        cdef int64_t[::1] offset = offsets
        cdef int64_t[::1] found = bins
        cdef int64_t[:, ::1] times = counts
        cdef int64_t[:, ::1] residual = common
        cdef uint64_t[:, :, ::1] limb = limbs
        with nogil:
            for position in range(count):
                label = self.labels + place[position]
                row[0] = row[1] = 0
                while True:
                    bin_ = NOTHING
                    for side in range(2):
                        table = &label.table[side]
                        while row[side] < table.used and se_blank(se_part_at(table, row[side])):
                            row[side] += 1
                        if row[side] < table.used and table.index[row[side]] >> 32 < bin_:
                            bin_ = table.index[row[side]] >> 32
                    if bin_ == NOTHING:
                        break
                    found[at] = <int64_t>bin_
                    for side in range(2):
                        table = &label.table[side]
                        if row[side] == table.used or table.index[row[side]] >> 32 != bin_:
                            continue
                        part = se_part_at(table, row[side])
                        row[side] += 1
                        times[at, side] = <int64_t>(part.head >> 20)
                        residual[at, side] = se_common(part)
                        if sums:
                            limb[at, side, 0] = part.sum
                            limb[at, side, 1] = part.head & (SE_ONE - 1)
                            limb[at, side, 2] = part.square
                            limb[at, side, 3] = part.square_high
                    at += 1
                offset[position + 1] = at
        return offsets, bins[:at], counts[:at], common[:at], limbs[:at] if sums else None

    def pairs(self, columns):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, side, part
        cdef se_label* label
        cdef uint32_t row
        cdef bint enough = True
        cdef se_counter counter
        cdef se_table held[2]
        cdef const se_table* view[2]
        self.within(place)
        memset(&counter, 0, sizeof(se_counter))
        memset(held, 0, sizeof(held))
        counts, sums = np.zeros((place.shape[0], 2), np.int64), np.zeros((place.shape[0], 3, 2), np.uint64)
        cdef int64_t[:, ::1] times = counts
        cdef uint64_t[:, :, ::1] limb = sums
        with nogil:
            for position in range(place.shape[0]):
                label = self.labels + place[position]
                for side in range(2):
                    view[side] = se_view(&label.table[side], &counter, &held[side])
                    enough = enough and view[side] != NULL
                if not enough:
                    break
                se_pairs(view[0], view[1], &limb[position, 0, 0])
                for row in range(view[1].used):
                    times[position, 1] += <int64_t>(se_part_at(view[1], row).head >> 20)
                times[position, 0] = label.binned - times[position, 1]
            se_drop_counter(&counter)
            se_discard(&held[0])
            se_discard(&held[1])
        if not enough:
            raise MemoryError
        return counts, sums

    def compact(self):
        cdef Py_ssize_t column
        cdef se_counter counter
        memset(&counter, 0, sizeof(se_counter))
        for column in range(self.width):
            se_compact(&self.labels[column].table[0], &counter)
            se_compact(&self.labels[column].table[1], &counter)
        se_drop_counter(&counter)

    def restore(self, int64_t examples, sides, offsets, bins, counts, limbs):
        cdef const int64_t[:, ::1] side_ = np.ascontiguousarray(sides, np.int64)
        cdef const int64_t[::1] offset = np.ascontiguousarray(offsets, np.int64)
        cdef const int64_t[::1] bin_ = np.ascontiguousarray(bins, np.int64)
        cdef const int64_t[:, ::1] times = np.ascontiguousarray(counts, np.int64)
        cdef const uint64_t[:, :, ::1] limb = np.ascontiguousarray(limbs, np.uint64)
        cdef Py_ssize_t column, at, side
        cdef se_label* label
        cdef se_part* part
        self.reserve(side_.shape[0])
        for column in range(side_.shape[0]):
            label = self.labels + column
            for side in range(3):
                label.side[side] = side_[column, side]
            for side in range(2):
                if not se_enlarge(&label.table[side], <uint32_t>(offset[column + 1] - offset[column])):
                    raise MemoryError
                for at in range(offset[column], offset[column + 1]):
                    if not times[at, side]:
                        continue
                    part = se_part_of(&label.table[side], <uint32_t>bin_[at])
                    part.head = <uint64_t>times[at, side] << 20 | limb[at, side, 1]
                    part.sum = limb[at, side, 0]
                    part.square = limb[at, side, 2]
                    part.square_high = limb[at, side, 3]
                    label.table[side].empty -= 1
                    label.binned += times[at, side]
                    self.held += times[at, side]
        self.n = examples

    def copy(self):
        cdef Bins twin = Bins(self.width)
        if twin.merge(self, None) != DONE_CODE:
            raise MemoryError
        return twin
