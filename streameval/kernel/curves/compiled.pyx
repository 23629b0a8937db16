"""The compiled twin of `streameval.kernel.curves.numpy`, which documents it: `Bins`, over the headers of this folder."""

cimport cython
from libc.stdint cimport INT64_MAX as COUNT_MAX, int64_t, uint8_t, uint32_t, uint64_t
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.object cimport PyObject
from libc.stdlib cimport abort, free
from libc.string cimport memcpy

import os
from functools import partial

import numpy as np

from streameval.kernel.curves.mentions cimport read_examples, se_examples, se_mentions_of_row
from streameval.kernel.lists cimport RELEASE, check_columns, place_of
from streameval.kernel.memory cimport check_memory, cleared, widened
from streameval.kernel.part cimport (
    DONE, FULL, OTHER, REFUSED, commit, part_of, se_follower, se_follower_new, se_part,
)
from streameval.kernel.scores cimport se_mention, se_score_rows

from streameval.kernel.curves.weighing import Weights

cdef extern from "curves/rows.h" nogil:
    uint64_t SE_ONE
    void se_pause()
    int64_t SE_MOST
    ctypedef struct se_moments:
        uint64_t head, sum, square_high, square
    ctypedef struct se_table:
        pass
    ctypedef struct se_label:
        se_table table[2]
        int64_t binned
        int64_t side[3]
    ctypedef struct se_merge:
        se_label* labels
        se_label* added
        const int64_t* place
        ptrdiff_t width, known
        int64_t left
        int sign
    int64_t se_common(const se_moments*)
    int se_possible(const se_moments*)
    void se_put(se_moments*, uint64_t)
    int se_next_bin(const se_label*, uint32_t*, int64_t*, const se_moments**)
    void se_push(se_table*, uint64_t, const se_moments*)
    uint32_t se_lower(const se_table*, uint32_t)
    int se_enlarge(se_table*, uint32_t)
    ptrdiff_t se_settle_all(const se_merge*)
    void se_compact(se_table*)
    void se_discard(se_table*)
    void se_pairs(const se_label*, const int64_t*, ptrdiff_t, int64_t (*)[2], uint64_t (*)[2][2])
    int se_append_rows(se_label*, const se_score_rows*, int)
    void se_owe_rows(se_label*, const se_score_rows*, int)
    int64_t se_mentioned(const se_label*)
    int se_append_examples(se_label*, se_examples*)
    int se_may_leave(se_label*, ptrdiff_t, const se_mention*, ptrdiff_t, int64_t, int)
    void se_leave_mentions(se_label*, const se_mention*, ptrdiff_t)
    ptrdiff_t se_merge_prepare(const se_merge*)
    int se_merge_labels(const se_merge*)


# How many threads change tables without the GIL, and how many are about to fork. A fork would copy a half-changed table to
# its child, so a fork waits until no thread does, and changes that begin meanwhile keep the GIL.
cdef int released = 0, forking = 0


cdef Py_ssize_t without_gil(ptrdiff_t (*work)(const se_merge*) noexcept nogil, const se_merge* tables, bint long):
    """Change tables of a guarded object, without the GIL if it may take long."""
    global released
    cdef Py_ssize_t done
    if forking or not long:
        return work(tables)
    released += 1
    with nogil:
        done = work(tables)
    released -= 1
    return done


def before_fork():
    global forking
    forking += 1
    while released:
        with nogil:  # runs no signal handler, which could raise and so end this wait
            se_pause()


def after_fork(bint child=False):
    global forking
    forking = 0 if child else forking - 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=partial(after_fork, True))


def words_of(counts, written):
    cdef const int64_t[:, :] times = counts
    cdef const uint64_t[:, ::1] total, square
    cdef Py_ssize_t at, side, first, second
    cdef int64_t n
    cdef se_moments part
    words = np.zeros((times.shape[0], 2, 4), np.uint64)
    cdef uint64_t[:, :, ::1] word = words
    for side in range(2):
        total, square = written[2 * side], written[2 * side + 1]
        lengths = [np.count_nonzero(counts[:, side] > 0), np.count_nonzero(counts[:, side] > 1)]
        if [total.shape[0], square.shape[0], total.shape[1], square.shape[1]] != [*lengths, 2, 2]:
            raise IndexError("not the sums of these bins")
        first = second = 0
        for at in range(times.shape[0]):
            n = times[at, side]
            if n <= 0:
                continue
            if n > SE_MOST or total[first, 1] >= SE_ONE:
                return words, False
            part.head = part.sum = part.square = part.square_high = 0
            if n == 1:
                se_put(&part, total[first, 0])
            else:
                part.head, part.sum = <uint64_t>n << 20, total[first, 0]
                part.square, part.square_high = square[second, 0], square[second, 1]
                second += 1
            part.head |= total[first, 1]
            first += 1
            if not se_possible(&part):
                return words, False
            word[at, side, 0], word[at, side, 1] = part.sum, part.head & (SE_ONE - 1)
            word[at, side, 2], word[at, side, 3] = part.square, part.square_high
    return words, True


cdef struct Leaving:
    # An example to take back from bins; its mentions follow the struct in memory.
    PyObject* bins
    Py_ssize_t count


cdef struct Coming:
    # Rows to count in bins; `owed`: room for them is reserved.
    PyObject* bins
    const se_score_rows* rows
    bint owed


cdef class Bins:
    """See `streameval.kernel.curves.numpy.Bins`."""

    cdef readonly int64_t examples
    cdef se_label* labels
    cdef Py_ssize_t width
    cdef se_examples reading  # its marks are reused until the width changes
    cdef se_follower following

    def __cinit__(self, root, Py_ssize_t width):
        self.reserve(max(width, 8))

    def __dealloc__(self):
        cdef Py_ssize_t column
        for column in range(self.width):
            se_discard(&self.labels[column].table[0])
            se_discard(&self.labels[column].table[1])
        free(self.labels)
        free(self.reading.mark)

    @property
    def scores(self):
        # No generator: those of Cython 3.3.1 leak a reference to their type under Python 3.13.
        cdef int64_t binned = 0
        cdef Py_ssize_t column
        for column in range(self.width):
            binned += self.labels[column].binned
        return binned

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider = max(width, 2 * self.width)
        if width > self.width:
            self.labels = <se_label*>widened(self.labels, self.width, wider, sizeof(se_label))
            self.width = wider
            free(self.reading.mark)
            self.reading.mark = NULL

    # -- one example ---------------------------------------------------------------------------------------------------

    cdef int prepare_leaving(self, const se_mention* mention, Py_ssize_t count, bint known, se_part* part) except -1:
        """Prepare to take one example back, which was surely counted if ``known``; 0, or the code that says why not."""
        cdef int fits = se_may_leave(self.labels, self.width, mention, count, self.examples - 1, known)
        cdef Leaving* leaving
        check_memory(fits >= 0)
        if not fits:
            return REFUSED
        leaving = <Leaving*>cleared(1, sizeof(Leaving) + count * sizeof(se_mention))
        leaving.bins, leaving.count = <PyObject*>self, count
        memcpy(leaving + 1, mention, count * sizeof(se_mention))
        part.commit, part.data, part.release = commit_leaving, leaving, free
        return 0

    def follower(self):
        self.following.table, self.following.prepare, self.following.amounts = <void*>self, prepare_rows, amounts_of
        self.following.reads_scores = True
        return se_follower_new(&self.following, self)

    # -- many examples: callers drop the bins if this raises -----------------------------------------------------------

    def count(self, scored):
        cdef Py_ssize_t examples
        cdef bint enough
        room = read_examples(&self.reading, self.width, scored)
        examples = self.reading.count
        if examples > SE_MOST - self.examples:  # an example has at most one score in a bin
            return FULL
        if self.reading.listed or examples * self.reading.rows.width >= RELEASE:
            with nogil:
                enough = se_append_examples(self.labels, &self.reading)
        else:
            enough = se_append_examples(self.labels, &self.reading)
        check_memory(enough)
        self.examples += examples
        return DONE

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def prepare_merge(self, Bins other, columns, int sign):
        cdef Merge merge = Merge()
        cdef Py_ssize_t fits
        if sign > 0 and other.examples > COUNT_MAX - self.examples:
            return FULL
        if sign < 0 and other.examples > self.examples:
            return REFUSED
        merge.bins, merge.other, merge.all.sign, merge.all.width = self, other, sign, other.width
        if columns is None:
            self.reserve(other.width)
        else:
            merge.columns = place_of(columns, self.width, &merge.all.width, &merge.all.place)
        merge.all.labels, merge.all.added, merge.all.known = self.labels, other.labels, self.width
        merge.all.left = self.examples + sign * other.examples
        fits = without_gil(se_merge_prepare, &merge.all, other.examples >= RELEASE // max(merge.all.width, 1))
        check_memory(fits >= 0)
        if not fits:
            return REFUSED if sign < 0 else FULL
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
        cdef Py_ssize_t position
        for position in range(place.shape[0]):
            memcpy(&view[position, 0], self.labels[place[position]].side, 3 * sizeof(int64_t))
        return out

    cdef Py_ssize_t settle(self, const int64_t[::1] place) except -1:
        """Put all waiting scores of columns into bins; return the number of bins."""
        cdef Py_ssize_t bins = 0
        cdef se_merge all
        check_columns(place, self.width)
        if place.shape[0]:
            all.labels, all.place, all.width = self.labels, &place[0], place.shape[0]
            bins = without_gil(se_settle_all, &all, True)
        check_memory(bins >= 0)
        return bins

    def read(self, columns, uint32_t low=0, Py_ssize_t limit=PY_SSIZE_T_MAX):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, side, count = place.shape[0], at = 0, most
        cdef uint32_t row[2]
        cdef const se_moments* part[2]
        cdef se_label* label
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
                while at < most and se_next_bin(label, row, &number[at], part):
                    for side in range(2):
                        if part[side] == NULL:
                            continue
                        times[at, side] = <int64_t>(part[side].head >> 20)
                        residual[at, side] = se_common(part[side])
                        limb[at, side, 0], limb[at, side, 1] = part[side].sum, part[side].head & (SE_ONE - 1)
                        limb[at, side, 2], limb[at, side, 3] = part[side].square, part[side].square_high
                    at += 1
                offset[position + 1] = at
        return offsets, bins[:at], counts[:at], common[:at], limbs[:at]

    def pairs(self, columns):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t count = place.shape[0]
        self.settle(place)
        counts, sums = np.empty((count, 2), np.int64), np.empty((count, 2, 2), np.uint64)
        cdef int64_t[:, ::1] times = counts
        cdef uint64_t[:, :, ::1] limb = sums
        if count:
            with nogil:
                se_pairs(self.labels, &place[0], count, <int64_t (*)[2]>&times[0, 0], <uint64_t (*)[2][2]>&limb[0, 0, 0])
        return counts, sums

    def compact(self):
        cdef Py_ssize_t column
        for column in range(self.width):
            se_compact(&self.labels[column].table[0])
            se_compact(&self.labels[column].table[1])

    def restore(self, int64_t examples, sides):
        cdef const int64_t[:, ::1] side_ = np.ascontiguousarray(sides, np.int64)
        cdef Py_ssize_t column
        self.reserve(side_.shape[0])
        for column in range(side_.shape[0]):
            memcpy(self.labels[column].side, &side_[column, 0], 3 * sizeof(int64_t))
        self.examples = examples

    def restore_bins(self, Py_ssize_t first, offsets, bins, counts, limbs):
        cdef const int64_t[::1] offset = np.ascontiguousarray(offsets, np.int64)
        cdef const int64_t[::1] bin_ = np.ascontiguousarray(bins, np.int64)
        cdef const int64_t[:, ::1] times = np.ascontiguousarray(counts, np.int64)
        cdef const uint64_t[:, :, ::1] limb = np.ascontiguousarray(limbs, np.uint64)
        cdef Py_ssize_t column, at, side
        cdef se_label* label
        cdef se_moments part
        if first < 0 or first + offset.shape[0] - 1 > self.width:
            raise IndexError("a column is out of range")
        for column in range(offset.shape[0] - 1):
            label = self.labels + first + column
            for side in range(2):
                for at in range(offset[column], offset[column + 1]):
                    if not times[at, side]:
                        continue
                    check_memory(se_enlarge(&label.table[side], 1))
                    part.head, part.sum = <uint64_t>times[at, side] << 20 | limb[at, side, 1], limb[at, side, 0]
                    part.square, part.square_high = limb[at, side, 2], limb[at, side, 3]
                    se_push(&label.table[side], bin_[at], &part)
                    label.binned += times[at, side]

    def copy(self, root):
        cdef Bins result = Bins(root, self.width)
        commit(result.prepare_merge(self, None, 1))
        return result


# -- changes, prepared ---------------------------------------------------------------------------------------------------

cdef int prepare_rows(void* table, const void* data, int by, bint known, se_part* part) except -1:
    cdef Bins bins = <Bins>table
    cdef const se_score_rows* rows = <const se_score_rows*>data
    cdef bytearray room
    cdef se_mention* mention
    cdef Coming* coming
    if by > 0 and rows.rows > SE_MOST - bins.examples:  # some bin may be full; the slower path counts them
        return OTHER
    bins.reserve(rows.limit)
    if by < 0:
        room = PyByteArray_FromStringAndSize(NULL, rows.width * sizeof(se_mention))
        mention = <se_mention*>PyByteArray_AS_STRING(room)
        return bins.prepare_leaving(mention, se_mentions_of_row(rows, mention), known, part)
    check_memory(se_append_rows(bins.labels, rows, False))
    coming = <Coming*>PyMem_Malloc(sizeof(Coming))
    check_memory(coming != NULL)
    coming.bins, coming.rows, coming.owed = <PyObject*>table, rows, not known
    if coming.owed:
        se_owe_rows(bins.labels, rows, 1)
    part.commit, part.data, part.release = commit_rows, coming, release_rows
    return 0


cdef object amounts_of(const se_part* part):
    cdef Leaving* leaving = <Leaving*>part.data
    cdef const se_score_rows* rows
    cdef bytearray mentions
    if part.commit == commit_leaving:
        return PyByteArray_FromStringAndSize(<const char*>(leaving + 1), leaving.count * sizeof(se_mention)), -1
    rows = (<Coming*>part.data).rows
    mentions = PyByteArray_FromStringAndSize(NULL, rows.width * sizeof(se_mention))
    PyByteArray_Resize(mentions, se_mentions_of_row(rows, <se_mention*>PyByteArray_AS_STRING(mentions)) * sizeof(se_mention))
    return mentions, 1


cdef void commit_leaving(void* data) noexcept:
    cdef Leaving* leaving = <Leaving*>data
    cdef Bins bins = <Bins>leaving.bins
    se_leave_mentions(bins.labels, <const se_mention*>(leaving + 1), leaving.count)
    bins.examples -= 1


cdef void commit_rows(void* data) noexcept:
    cdef Coming* coming = <Coming*>data
    cdef Bins bins = <Bins>coming.bins
    release_owed(coming)
    if not se_append_rows(bins.labels, coming.rows, True):
        abort()
    bins.examples += coming.rows.rows


cdef void release_rows(void* data) noexcept:
    release_owed(<Coming*>data)
    PyMem_Free(data)


cdef void release_owed(Coming* coming) noexcept:
    if coming.owed:
        se_owe_rows((<Bins>coming.bins).labels, coming.rows, -1)
    coming.owed = False


@cython.final
@cython.no_gc_clear
cdef class Merge:
    """A prepared merge: adds all counts of ``other`` to ``bins`` or takes them back. Both may be the same object."""

    cdef Bins bins, other
    cdef object columns
    cdef se_merge all


cdef void commit_merge(void* data) noexcept:
    cdef Merge merge = <Merge>data
    merge.all.labels, merge.all.added = merge.bins.labels, merge.other.labels  # both may have moved since
    if not se_merge_labels(&merge.all):
        abort()
    merge.bins.examples += merge.all.sign * merge.other.examples
