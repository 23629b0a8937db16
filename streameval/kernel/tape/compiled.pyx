"""`Tape`, the compiled twin of `numpy.py`, which documents it. Its base class in storing.pyx stores the examples.

This file counts examples of common forms and takes old ones back in one call, for windows of examples and of times.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from streameval.kernel.decisions.cells cimport se_rows, se_slots
from streameval.kernel.decisions.compiled cimport FOLLOWERS, Counts, Scored, commit_all, is_weight
from streameval.kernel.decisions.counting cimport se_add_example, sums_of_slots
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport DONE, OTHER, se_commit, se_part, se_part_new, se_release
from streameval.kernel.scores cimport se_score_rows
from streameval.kernel.table cimport se_sums, se_sums_init, se_sums_reserve, set_seed
from streameval.kernel.tape.storing cimport (
    COLUMN, LENGTH, MANY, SCORE, SLOT, STAMP, WEIGHT, Appended, Storing, describe,
)

set_seed()

cdef enum:
    FEW = 64  # the most examples that are taken back from followers (part.h) in one call


cdef struct Leaving:
    # A prepared removal of the oldest examples from a tape and its counts; the followers' parts come after it in memory.
    PyObject* tape
    PyObject* counts
    Py_ssize_t examples
    int prepared


cdef class Tape(Storing):
    """See `streameval.kernel.tape.numpy.Tape`."""

    def slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold,
        Py_ssize_t size, weight=1.0, mask=None, int64_t stamp=INT64_MIN, int64_t limit=INT64_MIN,
    ):
        cdef double factor
        cdef int code = OTHER
        if not (is_weight(weight, &factor) and self.handles(counts, columns, stamp) and counts.root.guard.start()):
            return OTHER
        try:
            if factor != 1.0 or self.weighted or counts.weighted():
                code = commit_all(self.prepare_slide(
                    counts, columns, fixed, y_true, y_pred, threshold, size, weight, mask, stamp, limit
                ))
            else:
                size = self.late(size - 1, limit)
                code = self.slide_rows(counts, columns, fixed, y_true, y_pred, threshold, mask, 1, &stamp, size)
            return code
        finally:
            counts.root.guard.stop(code == DONE)

    cdef bint handles(self, Counts counts, dict columns, int64_t stamp) except -1:
        """Whether the fast path applies: slots fit into 32 bits, and a stamp is neither the first nor before the newest."""
        if counts.extra_follows or (self.timed and not (self.live() and stamp >= self.newest())):
            return False
        return stamp >= self.earliest and max(counts.width, len(columns)) <= 0x7FFFFFFF // 10

    cdef void append_placed(self, Counts counts, Py_ssize_t size, int64_t stamp) noexcept:
        """Append the example in ``counts.touched``; there must be room."""
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
        self, Counts counts, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, mask, int dimensions,
        const int64_t* stamps, Py_ssize_t oldest,
    ) except -1:
        """`slide` for an example without weight or, if followers read scores, for a few rows; the caller holds the guard."""
        cdef Appended one
        cdef se_rows binary
        cdef se_score_rows row
        cdef se_part part[FOLLOWERS * (FEW + 1)]
        cdef const uint8_t* true
        cdef Py_ssize_t slots, scored
        cdef int at, prepared = 0
        row.fixed, row.mask = fixed, NULL
        try:
            if counts.following and (
                oldest > FEW or not self.prepare_oldest(counts, columns, threshold, oldest, &row, part, &prepared, None)
            ):
                return OTHER
            slots = counts.read_example(columns, y_true, y_pred, threshold, 1, dimensions, &row, &binary, mask)
            if slots < 0 or row.mask != NULL or not counts.follow(&row, 1, False, part, &prepared):
                return OTHER
            describe(&one, slots if row.rows == 1 else row.rows * row.width, 1.0, 0)
            for at in range(SLOT):
                one.count[at] = row.rows
            if counts.scores_follow:
                scored = scores_in(&row)
                one.items[MANY], one.count[COLUMN], one.count[SCORE] = &scored, row.rows * scored, row.rows * scored
                one.size = 4 if row.single or are_narrow(<const double*>row.scores, row.rows * scored) else 8
            self.reserve(&one)
            if row.rows > 1:
                counts.count_rows(&binary, NULL, fixed, counts.counted.cell)
            else:
                check_memory(se_sums_reserve(&counts.counted.rows, 1))
                se_add_example(&counts.counted, counts.touched, slots, counts.key[0], counts.key[1], 1)
            for at in range(row.rows):
                if row.rows > 1:
                    true = binary.true_ + at * row.width
                    slots = se_slots(true, true + row.rows * row.width, row.width, fixed, counts.touched, counts.key)
                self.append_placed(counts, slots, stamps[at] if self.timed else 0)
                if counts.scores_follow:
                    self.append_scores(&row, at, scored)
            self.take_back(&counts.counted, oldest)
            se_commit(part, prepared)
            return DONE
        finally:
            se_release(part, prepared)

    cdef bint prepare_oldest(
        self, Counts counts, dict columns, threshold, Py_ssize_t examples, se_score_rows* row, se_part* part, int* prepared,
        list added,
    ) except -1:
        """Prepare to take the oldest examples back from all followers, and append to ``added``, unless it is None, what this
        takes from weight sums; False if a follower does not handle them."""
        cdef const int32_t* slot = <int32_t*>self.held[SLOT].items + self.held[SLOT].first
        cdef const int32_t* column = <int32_t*>self.held[COLUMN].items + self.held[COLUMN].first
        cdef const char* score = self.held[SCORE].items + self.held[SCORE].first * self.held[SCORE].size
        cdef const int32_t* length = <int32_t*>self.held[LENGTH].items + self.held[LENGTH].first
        cdef const int32_t* many = <int32_t*>self.held[MANY].items + self.held[MANY].first
        cdef const double* weight = <const double*>self.held[WEIGHT].items + self.held[WEIGHT].first
        cdef Py_ssize_t position, scored
        if examples and counts.scores_follow and not self.written[MANY]:
            return False
        row.single = self.held[SCORE].size == 4
        for position in range(examples):
            if counts.following:
                counts.begin(columns, threshold)  # again, since a finaliser may have read an example
                scored = many[position] if counts.scores_follow else 0
                if not counts.read_held(slot, length[position], column, score, scored, row):
                    return False
                if not counts.follow(row, -1, True, part, prepared):
                    return False
                column += scored
                score += scored * self.held[SCORE].size
            if added is not None:
                counts.weigh(
                    added, sums_of_slots(slot, length[position]), -weight[position] if self.written[WEIGHT] else -1.0,
                    part + prepared[0] - counts.following,
                )
            slot += length[position]
        return True

    cdef void append_scores(self, const se_score_rows* rows, Py_ssize_t row, Py_ssize_t size) noexcept:
        """Append the first ``size`` scores of a row; there must be room."""
        cdef int32_t* column = <int32_t*>self.held[COLUMN].items + self.held[COLUMN].last
        cdef char* to = self.held[SCORE].items + self.held[SCORE].last * self.held[SCORE].size
        write_scores(rows, row * rows.width, size, self.held[SCORE].size == 4, column, to)
        (<int32_t*>self.held[MANY].items)[self.held[MANY].last] = <int32_t>size
        self.held[MANY].last += 1
        self.held[COLUMN].last += size
        self.held[SCORE].last += size

    def prepare_slide(
        self, Counts counts, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, Py_ssize_t size, weight=1.0,
        mask=None, int64_t stamp=INT64_MIN, int64_t limit=INT64_MIN,
    ):
        cdef Py_ssize_t oldest = self.late(size - 1, limit), slots, scored, at
        cdef Scored* data = NULL
        cdef const se_score_rows* row
        cdef se_score_rows old
        cdef Leaving* leaving
        cdef Appended* one
        cdef int32_t* many
        cdef double factor
        cdef list added = None
        if not (self.handles(counts, columns, stamp) and is_weight(weight, &factor)):
            return OTHER
        if factor != 1.0 or self.weighted or counts.weighted():
            added = []
            if oldest > FEW or (factor == 1.0 and self.weighted <= oldest):  # afterwards there may be no weight sums
                return OTHER
        leaving = <Leaving*>cleared(1, sizeof(Leaving) + FOLLOWERS * oldest * sizeof(se_part))
        leaving.tape, leaving.counts, leaving.examples = <PyObject*>self, <PyObject*>counts, oldest
        left = se_part_new(commit_leaving, leaving, release_leaving, counts)
        old.fixed, old.mask = fixed, NULL
        if (counts.following or added is not None) and not self.prepare_oldest(
            counts, columns, threshold, oldest, &old, <se_part*>(leaving + 1), &leaving.prepared, added
        ):
            return OTHER
        counted = counts.prepare_placed(columns, fixed, y_true, y_pred, threshold, 1, &slots, &data, mask)
        if type(counted) is int:
            return counted
        row = &data.rows if counts.scores_follow else NULL
        if row != NULL and row.mask != NULL:
            return OTHER
        scored = 0 if row == NULL else scores_in(row)
        one = <Appended*>cleared(1, sizeof(Appended) + scored * sizeof(double) + (1 + scored + slots) * sizeof(int32_t))
        describe(one, slots, factor, stamp if self.timed else 0)
        many = <int32_t*>(<double*>(one + 1) + scored)
        if row != NULL:
            one.size = 4 if row.single or are_narrow(<const double*>row.scores, scored) else 8
            many[0], one.count[COLUMN], one.count[SCORE] = <int32_t>scored, scored, scored
            one.items[MANY], one.items[COLUMN], one.items[SCORE] = many, many + 1, one + 1
            write_scores(row, 0, scored, one.size == 4, many + 1, <char*>(one + 1))
        one.items[SLOT] = many + 1 + scored
        for at in range(slots):
            many[1 + scored + at] = <int32_t>counts.touched[at]
        parts = [counted, self.prepared(one), left]
        if added is None:
            return parts
        counts.weigh(added, sums_of_slots(many + 1 + scored, slots), factor, NULL if data == NULL else data.part)
        return counts.with_weights(parts, added)

    def slide_many(
        self, Counts counts, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, Py_ssize_t size, stamps,
        int64_t limit,
    ):
        cdef Appended data
        cdef se_sums keys
        cdef bytearray slots, lengths
        cdef const int64_t[::1] stamp = stamps
        cdef Py_ssize_t examples = len(y_true), position
        cdef int part
        cdef bint done = False
        memset(&data, 0, sizeof(data))
        if self.weighted or not examples or (self.timed and stamp.shape[0] != examples):
            return OTHER
        if not self.handles(counts, columns, stamp[0] if self.timed else INT64_MAX):
            return OTHER
        if self.timed:
            for position in range(1, examples):
                if stamp[position] < stamp[position - 1]:
                    return OTHER
            data.items[STAMP] = &stamp[0]
        if counts.scores_follow < counts.following:
            return OTHER
        if counts.following and (examples >= size or (self.timed and stamp[0] <= limit)):
            return OTHER
        if counts.counted.examples >= counts.most or not counts.start():
            return OTHER
        keys.places = NULL
        try:
            if counts.following:
                examples = self.late(size - examples, limit)
                code = self.slide_rows(
                    counts, columns, fixed, y_true, y_pred, threshold, None, 2, <const int64_t*>data.items[STAMP], examples
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
            self.take_back(&counts.counted, self.late(size, limit))
            done = True
            return DONE
        finally:
            counts.root.guard.stop(done)
            free(keys.places)


cdef Py_ssize_t scores_in(const se_score_rows* row) noexcept:
    """The number of labels of a row that have a score; these come first."""
    cdef Py_ssize_t scored = row.width
    while row.ranked != NULL and scored and not row.ranked[scored - 1]:
        scored -= 1
    return scored


cdef void write_scores(
    const se_score_rows* rows, Py_ssize_t start, Py_ssize_t size, bint narrow, int32_t* column, char* to
) noexcept:
    """Write the scores from cell ``start`` on, and their columns."""
    cdef double score
    cdef Py_ssize_t at
    for at in range(size):
        column[at] = <int32_t>rows.columns[at]
        score = (<const float*>rows.scores)[start + at] if rows.single else (<const double*>rows.scores)[start + at]
        if narrow:
            (<float*>to)[at] = <float>score
        else:
            (<double*>to)[at] = score


cdef void commit_leaving(void* data) noexcept:
    cdef Leaving* leaving = <Leaving*>data
    (<Tape>leaving.tape).take_back(&(<Counts>leaving.counts).counted, leaving.examples)
    se_commit(<se_part*>(leaving + 1), leaving.prepared)


cdef void release_leaving(void* data) noexcept:
    se_release(<se_part*>(<Leaving*>data + 1), (<Leaving*>data).prepared)
    free(data)


cdef bint are_narrow(const double* scores, Py_ssize_t size) noexcept:
    """Whether each score is equal to a float32."""
    cdef Py_ssize_t at
    for at in range(size):
        if <double><float>scores[at] != scores[at]:
            return False
    return True
