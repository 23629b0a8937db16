"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.sequence cimport PySequence_Fast_GET_ITEM, PySequence_Fast_GET_SIZE
from libc.stdint cimport INT64_MAX as COUNT_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from streameval.kernel.commit.compiled cimport Cell, Guard
from streameval.kernel.decisions.cells cimport SE_DOUBLE, SE_FLOAT, borrow_cells, se_cells, se_slots
from streameval.kernel.lists.lists cimport borrow_all, check_columns, is_narrow, se_lists
from streameval.kernel.memory cimport check_memory
from streameval.kernel.part cimport SE_FOLLOWER_NAME, se_commit, se_follower, se_part, se_part_new, se_release
from streameval.kernel.scores cimport se_score_rows
from streameval.kernel.table cimport (
    entries_of, fill, se_sums, se_sums_add, se_sums_copy, se_sums_count, se_sums_init, se_sums_next, se_sums_promise,
    se_sums_reserve, set_seed,
)

cimport numpy as cnp
import numpy as np

from streameval.kernel.commit.compiled import RETIRED
from streameval.kernel.decisions.rows import limbs, list_cells, weigh_lists  # which need no loops of their own
from streameval.kernel.types import DONE, FULL, OTHER, REFUSED, Weighed

cdef extern from "decisions/counting.h" nogil:
    ctypedef struct se_rows:
        const uint8_t* true_
        const uint8_t* pred
        const uint8_t* masked
        ptrdiff_t true_stride
        ptrdiff_t pred_stride
        ptrdiff_t masked_stride
        ptrdiff_t rows
        ptrdiff_t columns
        se_cells* true_cells
        se_cells* pred_cells
    ctypedef struct se_scores:
        const void* at
        const void* bounds
        double bound
        ptrdiff_t stride
        int narrow
        int finite
    ctypedef struct se_bit_rows:
        const uint8_t* at
        const uint8_t* end
        ptrdiff_t first
        ptrdiff_t stride
        int falls
    ctypedef struct se_pairs:
        pass
    ctypedef struct se_weighed:
        const double* weights
        int lowest
        int highest
        int limbs
        int64_t* of_column
        se_sums* keys
        int64_t* of_key
    int se_has(int)
    int se_dense(const se_rows*, se_scores*, int, ptrdiff_t, int64_t*, se_sums*, se_tally*)
    int se_tally_end(se_tally*, se_sums*, size_t)
    int se_count_bits(const se_bit_rows*, const se_bit_rows*, ptrdiff_t, ptrdiff_t, int, ptrdiff_t, int64_t*, se_sums*)
    int SE_FEW
    int se_count_words(ptrdiff_t, const se_lists*, int, ptrdiff_t, int, int64_t*, se_sums*)
    void* se_pairs_init(se_pairs*, const int64_t*, ptrdiff_t, ptrdiff_t)
    void se_add_pairs(const se_pairs*, ptrdiff_t, int64_t*)
    int se_count_pairs(ptrdiff_t, const se_lists*, const se_lists*, bint, bint, const se_pairs*, se_sums*)
    int se_count_lists(ptrdiff_t, const se_lists*, ptrdiff_t, int64_t*, se_sums*, int64_t*)
    void se_span(const double*, ptrdiff_t, int*, int*)
    int se_weigh_dense(const se_rows*, const se_weighed*)

cdef extern from "decisions/counts.h" nogil:
    int se_counts_init(se_counts*, Py_ssize_t)
    void se_counts_end(se_counts*)
    int se_counts_widen(se_counts*, Py_ssize_t)
    int64_t se_mentions(const se_counts*, Py_ssize_t)
    void se_add_example(se_counts*, const int64_t*, Py_ssize_t, uint64_t, uint64_t, int)
    void se_drop_example(se_counts*, const int32_t*, Py_ssize_t)
    int se_take_back(se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t, uint64_t, uint64_t)
    void se_add_cells(se_counts*, const int64_t*, const int64_t*, Py_ssize_t, Py_ssize_t, int)
    void se_add_rows(se_counts*, const se_sums*, int)
    void se_add_counts(se_counts*, const se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t, int)
    int se_includes(se_counts*, const se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t)

cnp.import_array()
set_seed()

# The same codes as constants of C.
cdef int OTHER_CODE = OTHER, REFUSED_CODE = REFUSED, FULL_CODE = FULL

cdef uint64_t LOW = 4294967295
cdef int VECTOR = 64 if se_has(64) else 32 if se_has(32) else 8
# Keys of rows of bits have room for fewer columns.
cdef Py_ssize_t BIT_COLUMNS = 2097152
# Row numbers and counts of so many examples fit into 32 bits.
cdef Py_ssize_t MANY = 2147483647
# From so many examples on, lists of few columns are counted as words of bits: fewer take less time label by label.
cdef Py_ssize_t MANY_LISTS = 2048
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 65536
# Up to so many rows and cells are counted straight into what is held: they are one block, which is checked first.
cdef Py_ssize_t FEW_ROWS = 64, FEW_CELLS = 16384


def vectors():
    """How many columns go into a vector, for each kind that this machine has, the one in use first; 8 are words."""
    return (VECTOR, *(columns for columns in (64, 32, 8) if columns != VECTOR and se_has(columns)))


def use_vectors(int columns):
    """Use another kind from now on. For tests: each kind gives the same bits."""
    global VECTOR
    if not se_has(columns):
        raise ValueError(f"this machine has no vectors of {columns} columns")
    VECTOR = columns


cdef class Counts(Placing):
    """See `streameval.kernel.decisions.numpy.Counts`."""

    def __cinit__(self, root, Py_ssize_t width):
        self.root = root if isinstance(root, Root) else Root()  # as for copies, of which nothing is committed
        self.most, self.weights = COUNT_MAX, ()
        check_memory(se_counts_init(&self.counted, self.width))

    def __dealloc__(self):
        se_counts_end(&self.counted)
        free(self.block)

    @property
    def examples(self):
        return self.counted.examples

    cpdef reserve(self, Py_ssize_t width):
        if width > self.width:
            check_memory(se_counts_widen(&self.counted, max(width, 2 * self.width)))
            Placing.reserve(self, width)

    cdef bint in_order(self, dict columns, Py_ssize_t fixed, Py_ssize_t width) except -1:
        if not fixed and (self.root.guard.notes is None or self.root.guard.notes.cell.value.width != width):
            return False  # for the reader to note
        return Placing.in_order(self, columns, fixed, width)

    # -- one example --------------------------------------------------------------------------------------------------

    @property
    def followers(self):
        return self.capsules

    @followers.setter
    def followers(self, tuple capsules):
        cdef int at, following = len(capsules)
        if following > 4:
            raise ValueError("at most 4 tables follow")
        for at in range(following):
            self.follower[at] = <se_follower*>PyCapsule_GetPointer(capsules[at], SE_FOLLOWER_NAME)
        self.capsules, self.following = capsules, following

    cdef bint start(self):
        """Hold the guard for a call that counts without weights; False if it is held, or there are weights."""
        return not self.weighted() and self.root.guard.start()

    cdef bint weighted(self) noexcept:
        cdef Py_ssize_t at
        for at in range(len(self.weights)):
            if (<Cell>self.weights[at]).value is not None:
                return True
        return False

    def count_example(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, int dimensions=1):
        cdef int code = -1
        if not self.start():
            return OTHER
        try:
            if not self.following:
                code = self.count_one(columns, fixed, y_true, y_pred, threshold, sign)
            elif sign > 0:
                code = self.count_scored(columns, fixed, y_true, y_pred, threshold, dimensions)
            else:
                code = OTHER_CODE
        finally:
            self.root.guard.stop(code == 0)
        return code

    cdef int count_scored(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int dimensions) except -1:
        """Count a few rows of scores here and in the tables that follow, in all of them or in none."""
        cdef se_cells true, pred
        cdef se_rows binary
        cdef se_score_rows rows
        cdef se_part part[4]
        cdef uint64_t totals[3]
        cdef Py_ssize_t slots, cells
        cdef int at, prepared = 0
        y_true = self.row_of_truths(columns, fixed, y_true, y_pred, threshold)
        if not self.borrow_scores(columns, fixed, y_true, y_pred, threshold, dimensions, &true, &pred):
            return OTHER_CODE
        rows.rows, rows.width = cnp.PyArray_DIM(y_true, 0) if dimensions == 2 else 1, cnp.PyArray_DIM(y_true, dimensions - 1)
        cells = rows.rows * rows.width
        if rows.rows > FEW_ROWS or cells > FEW_CELLS or rows.rows > self.most - self.counted.examples:
            return OTHER_CODE
        self.make_block(rows.width, cells)
        binary.true_ = <uint8_t*>(self.block + self.block_width + cells)
        binary.pred = binary.true_ + cells
        rows.columns, rows.scores, rows.true_ = self.block, self.block + self.block_width, binary.true_
        if not self.read_cells(
            &true, &pred, rows.rows, rows.width, <uint8_t*>binary.true_, <uint8_t*>binary.pred, <void*>rows.scores
        ):
            return OTHER_CODE
        rows.ranked = rows.mask = NULL
        rows.fixed, rows.single = fixed, pred.kind == SE_FLOAT
        try:
            for at in range(self.following):
                if self.follower[at].prepare(self.follower[at].table, &rows, &part[at]):
                    return OTHER_CODE
                prepared += 1
            if rows.rows > 1:
                binary.masked, binary.masked_stride, binary.true_cells, binary.pred_cells = NULL, 0, NULL, NULL
                binary.rows, binary.columns = rows.rows, rows.width
                binary.true_stride = binary.pred_stride = rows.width
                count_dense_rows(self, &binary, NULL, fixed, self.counted.cell)
            else:
                check_memory(se_sums_reserve(&self.counted.rows, 1))
                slots = se_slots(binary.true_, binary.pred, rows.width, fixed, self.touched, totals)
                se_add_example(&self.counted, self.touched, slots, totals[0] | totals[1] << 32, totals[2], 1)
            for at in range(prepared):
                se_commit(&part[at])
            return 0
        finally:
            for at in range(prepared):
                se_release(&part[at])

    cdef int make_block(self, Py_ssize_t width, Py_ssize_t cells) except -1:
        """Room for so many columns and cells, with the columns in it."""
        cdef Py_ssize_t column
        if width <= self.block_width and cells <= self.block_cells:
            return 0
        free(self.block)
        self.block_width = self.block_cells = 0
        self.block = <int64_t*>malloc(width * sizeof(int64_t) + cells * (sizeof(double) + 2))
        check_memory(self.block != NULL)
        self.block_width, self.block_cells = width, cells
        for column in range(width):
            self.block[column] = column
        return 0

    cdef int count_one(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign) except -1:
        cdef Py_ssize_t slots
        cdef uint64_t totals[3]
        cdef int done
        self.begin(columns, threshold)
        slots = self.placed(columns, fixed, y_true, y_pred, totals)
        if slots < 0:
            return OTHER_CODE
        if sign > 0 and self.counted.examples >= self.most:
            return FULL_CODE if self.most == COUNT_MAX else OTHER_CODE
        if sign < 0:
            done = se_take_back(&self.counted, self.touched, slots, fixed, totals[0] | totals[1] << 32, totals[2])
            return 0 if done else REFUSED_CODE
        check_memory(se_sums_reserve(&self.counted.rows, 1))
        se_add_example(&self.counted, self.touched, slots, totals[0] | totals[1] << 32, totals[2], 1)
        self.landed = slots
        return 0

    def count_examples(self, dict columns, Py_ssize_t fixed, y_true, y_pred, object threshold):
        cdef Py_ssize_t position, at, slots, used = 0, examples = PySequence_Fast_GET_SIZE(y_true)
        cdef int32_t* slot
        cdef uint64_t totals[3]
        cdef PyObject* true
        cdef PyObject* pred
        cdef bytearray held = bytearray()  # the slots of all examples
        cdef se_sums keys
        cdef bint done = False
        if self.following or examples != PySequence_Fast_GET_SIZE(y_pred) or len(columns) > MANY // 5 or not self.start():
            return OTHER
        keys.places = NULL
        try:
            check_memory(se_sums_init(&keys, 64, 1))
            self.begin(columns, threshold)
            for position in range(examples):
                true, pred = PySequence_Fast_GET_ITEM(y_true, position), PySequence_Fast_GET_ITEM(y_pred, position)
                slots = self.placed(columns, fixed, <object>true, <object>pred, totals)
                if slots < 0:
                    return OTHER
                PyByteArray_Resize(held, (used + slots) * sizeof(int32_t))
                slot = <int32_t*>PyByteArray_AS_STRING(held) + used
                for at in range(slots):
                    slot[at] = <int32_t>self.touched[at]
                used += slots
                check_memory(se_sums_reserve(&keys, 1))
                se_sums_add(&keys, totals[0] | totals[1] << 32, totals[2], 1)
            if examples > COUNT_MAX - self.counted.examples:
                return FULL
            check_memory(se_sums_reserve(&self.counted.rows, keys.used))
            slot = <int32_t*>PyByteArray_AS_STRING(held)
            for at in range(used):
                self.counted.cell[slot[at]] += 1
            se_add_rows(&self.counted, &keys, 1)
            self.counted.examples += examples
            done = True
            return DONE
        finally:
            self.root.guard.stop(done)
            free(keys.places)

    def prepare_example(self, slots, tuple key, Py_ssize_t fixed, int sign, bint known=False):
        slots = cnp.PyArray_FROMANY(slots, cnp.NPY_INT64, 1, 1, cnp.NPY_ARRAY_C_CONTIGUOUS)
        cdef const int64_t* slot = <const int64_t*>cnp.PyArray_DATA(slots)
        cdef Py_ssize_t count = cnp.PyArray_DIM(slots, 0), position
        for position in range(count):
            if not 0 <= slot[position] < 5 * self.width:
                raise IndexError(f"slot {slot[position]} is out of range")
        return part_of(self, None, slot, count, fixed, outer_of(key), inner_of(key), sign, known)

    def prepare_plain(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign):
        cdef Py_ssize_t slots
        cdef uint64_t totals[3]
        if self.following:
            return OTHER
        self.begin(columns, threshold)
        slots = self.placed(columns, fixed, y_true, y_pred, totals)
        if slots < 0:
            return OTHER
        return part_of(self, None, self.touched, slots, fixed, totals[0] | totals[1] << 32, totals[2], sign, False)

    cdef void drop_example(self, const int32_t* slot, Py_ssize_t slots) noexcept nogil:
        """Take back an example that was surely counted. For the tape, whose module has another seed of tables."""
        se_drop_example(&self.counted, slot, slots)

    def count_arrays(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, mask=None):
        cdef se_rows rows
        cdef se_scores scores
        cdef se_scores* compared = NULL
        cdef se_cells true, pred, masked
        cdef Counts into
        code = OTHER
        if self.following:
            return OTHER if mask is not None else self.count_example(columns, fixed, y_true, y_pred, threshold, 1, 2)
        if not (borrow_cells(y_true, 2, &true) and borrow_cells(y_pred, 2, &pred)):
            return OTHER
        rows.rows, rows.columns = cnp.PyArray_DIM(y_true, 0), cnp.PyArray_DIM(y_true, 1)
        if rows.rows != cnp.PyArray_DIM(y_pred, 0) or rows.columns != cnp.PyArray_DIM(y_pred, 1):
            return OTHER
        self.reserve(len(columns))
        if not self.in_order(columns, fixed, rows.columns):
            return OTHER
        rows.masked, rows.masked_stride = NULL, 0
        if mask is not None:
            if not borrow_cells(mask, 2, &masked) or masked.kind != 1 or masked.step != 1:
                return OTHER
            if rows.rows != cnp.PyArray_DIM(mask, 0) or rows.columns != cnp.PyArray_DIM(mask, 1):
                return OTHER
            rows.masked, rows.masked_stride = <const uint8_t*>masked.at, masked.row
        bytes_of(&true, &rows.true_, &rows.true_stride, &rows.true_cells)
        if threshold is None or cnp.PyArray_TYPE(y_pred) == cnp.NPY_BOOL:
            bytes_of(&pred, &rows.pred, &rows.pred_stride, &rows.pred_cells)
        elif pred.kind in (SE_FLOAT, SE_DOUBLE) and pred.step == cnp.PyArray_ITEMSIZE(y_pred):
            rows.pred, rows.pred_cells = NULL, NULL
            scores.at, scores.stride, scores.narrow, scores.finite = pred.at, pred.row, pred.kind == SE_FLOAT, True
            scores.bounds, scores.bound, compared = NULL, threshold, &scores
        else:
            return OTHER
        if rows.rows > FEW_ROWS or rows.rows * rows.columns > FEW_CELLS:
            into = Counts(None, rows.columns)
            return OTHER if count_dense_rows(into, &rows, compared, fixed, into.counted.cell) > 1 else self.take(into, self.most)
        if not self.root.guard.start():
            return OTHER
        try:
            code = self.refused(rows.rows, self.most)
            if not code:
                code = OTHER if count_dense_rows(self, &rows, compared, fixed, self.counted.cell) > 1 else DONE
            return code
        finally:
            self.root.guard.stop(code == DONE)

    def count_packed(self, dict columns, Py_ssize_t fixed, true, pred):
        cdef Counts into
        self.reserve(len(columns))
        if self.following or not self.in_order(columns, fixed, true.columns):
            return OTHER
        if (true.examples, true.columns, true.falls) != (pred.examples, pred.columns, pred.falls):
            return OTHER
        if true.examples >= MANY or true.columns >= BIT_COLUMNS:
            return OTHER
        into = Counts(None, true.columns)
        return OTHER if into.count_bits(np.arange(true.columns), fixed, true, pred) > 1 else self.take(into, self.most)

    def merge_plain(self, Counts other, list labels, list theirs, Py_ssize_t most):
        cdef Guard guard = self.root.guard, read = other.root.guard
        if self.weighted() or other.weighted() or guard is read or guard.thread or read.thread or not self.counted.examples:
            return OTHER  # from here on no other thread runs
        if len(labels) > most or not (labels is theirs or labels == theirs) or not have_same_forms(guard.notes, read.notes):
            return OTHER
        self.reserve(other.width)
        return self.take(other, COUNT_MAX)

    cdef object take(self, Counts other, int64_t most):
        """Add counts of the same columns, up to so many examples, unless other states have replaced these meanwhile."""
        cdef Guard guard = self.root.guard
        code = OTHER
        if guard is RETIRED:  # which nobody releases
            return OTHER
        guard.wait(True)
        try:
            code = self.refused(other.counted.examples, most) if self.root.guard is guard else OTHER
            if not code:
                check_memory(se_tally_end(&other.counted.waiting, &self.counted.rows, other.counted.rows.used))
                se_add_counts(&self.counted, &other.counted, NULL, other.width, 0, 1)
                code = DONE
            return code
        finally:
            guard.stop(code == DONE)

    cdef object refused(self, int64_t examples, int64_t most):
        """Why so many examples cannot be counted here without weights; None if they can."""
        if self.weighted():
            return OTHER
        if examples > most - self.counted.examples:
            return FULL if most == COUNT_MAX else OTHER
        return None

    # -- many examples: only ever into counts of their own, which are then merged ----------------------------------------

    def count_dense(self, columns, Py_ssize_t fixed, true, pred, masked):
        cdef se_rows rows
        read_rows(&rows, true, pred, masked)
        return count_rows(self, &rows, NULL, columns, fixed)

    def count_scores(self, columns, Py_ssize_t fixed, true, scores, bounds, masked):
        cdef se_rows rows
        cdef se_scores compared
        read_rows(&rows, true, None, masked)
        compared.narrow, compared.finite = scores.dtype == np.float32, True
        compared.at, compared.stride = cnp.PyArray_DATA(scores), cnp.PyArray_STRIDE(scores, 0)
        compared.bounds, compared.bound = cnp.PyArray_DATA(bounds), 0
        return count_rows(self, &rows, &compared, columns, fixed), bool(compared.finite)

    def count_bits(self, columns, Py_ssize_t fixed, true, pred):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t width = place.shape[0], rows = true.examples
        cdef se_bit_rows sides[2]
        cdef int64_t[::1] cells = np.zeros(5 * width + 1, np.int64)
        cdef int seen
        borrow_bits(true, rows, width, &sides[0])
        borrow_bits(pred, rows, width, &sides[1])
        if sides[0].falls != sides[1].falls or rows >= MANY or not 0 < width < BIT_COLUMNS:
            raise IndexError("rows of bits differ in order, or are too many")
        with nogil:
            seen = se_count_bits(&sides[0], &sides[1], rows, width, VECTOR, 0, &cells[0], &self.counted.rows)
        check_memory(seen >= 0)
        if seen == 1:
            self.counted.examples += rows
            se_add_cells(&self.counted, &cells[0], &place[0], width, fixed, 1)
        return seen

    def count_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, pred, masked, named, everywhere):
        cdef const int64_t[::1] always = everywhere
        cdef int64_t[::1] before
        cdef se_lists sides[4]
        cdef se_pairs paired
        cdef Py_ssize_t position, column
        cdef void* memory
        cdef int written = -1
        cdef bint wide = True, repeats = True, pairs
        pairs = masked is None and named is None and true is not None and pred is not None and examples < MANY
        if pairs:
            wide = not (is_narrow(true) and is_narrow(pred))
            repeats = not (true.distinct and pred.distinct)
        arrays = borrow_all(sides, true, pred, masked, named, pairs, wide, examples, self.width)
        before = np.empty(always.shape[0], np.int64) if always.shape[0] else None
        for position in range(always.shape[0]):
            before[position] = se_mentions(&self.counted, always[position])
        memory = se_pairs_init(&paired, NULL, 1, self.width) if pairs else calloc(self.width, sizeof(int64_t))
        with nogil:
            if pairs and examples >= MANY_LISTS and self.width <= SE_FEW:
                written = se_count_words(examples, sides, wide, self.width, VECTOR, self.counted.cell, &self.counted.rows)
            elif memory != NULL and pairs:
                written = se_count_pairs(examples, &sides[0], &sides[1], wide, repeats, &paired, &self.counted.rows)
                se_add_pairs(&paired, 0, self.counted.cell)
            elif memory != NULL:
                written = se_count_lists(
                    examples, sides, self.width, self.counted.cell, &self.counted.rows, <int64_t*>memory
                )
        free(memory)
        check(written)
        for position in range(always.shape[0]):
            column = always[position]
            self.counted.cell[5 * column] += examples - (se_mentions(&self.counted, column) - before[position])
        for column in range(min(fixed, self.width)):
            self.counted.cell[5 * column] = 0
        self.counted.examples += examples

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def prepare_merge(self, Counts other, columns, Py_ssize_t fixed, int sign):
        cdef Py_ssize_t width = other.width
        cdef const int64_t[::1] place
        cdef const int64_t* start = NULL
        if columns is None:
            self.reserve(width)
        else:
            place = columns
            width = min(width, place.shape[0])
            check_columns(place[:width], self.width)
            start = &place[0] if width else NULL
        return part_of(self, other.copy(None) if other is self else other, start, width, fixed, 0, 0, sign, False)

    def outcomes(self, columns):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, outcome, count = place.shape[0]
        out = np.empty((5, count), np.int64)
        cdef int64_t[:, ::1] view = out
        check_columns(place, self.width)
        for position in range(count):
            for outcome in range(5):
                view[outcome, position] = self.counted.cell[5 * place[position] + outcome]
        return out

    def row_keys(self):
        keys, times = entries_of(&self.counted.rows)
        return keys, times.reshape(-1)

    def mentioned(self, Py_ssize_t width):
        out = np.zeros(width, np.bool_)
        cdef uint8_t[::1] view = out.view(np.uint8)
        cdef Py_ssize_t column
        for column in range(min(width, self.width)):
            view[column] = se_mentions(&self.counted, column) != 0
        return out

    def times(self, tuple key):
        return se_sums_count(&self.counted.rows, outer_of(key), inner_of(key))

    def held(self):
        return self.counted.rows.used

    def compact(self):
        """Nothing to do: the table drops row keys of which no example is left whenever it grows."""

    def restore(self, int64_t examples, cells, keys, times):
        cdef const int64_t[:, ::1] cell
        cdef Py_ssize_t at
        self.reserve(len(cells))
        for at in range(0, len(cells), 4096):  # some at a time, since a copy of all would take as much as the table
            cell = np.ascontiguousarray(cells[at : at + 4096])
            memcpy(<int64_t*>self.counted.cell + 5 * at, &cell[0, 0], 5 * cell.shape[0] * sizeof(int64_t))
        fill(&self.counted.rows, keys, times.reshape(-1, 1))
        self.counted.examples = examples

    def copy(self, root):
        cdef Counts result = Counts(root, self.width)
        check_memory(se_sums_copy(&result.counted.rows, &self.counted.rows))
        memcpy(result.counted.cell, self.counted.cell, 5 * self.width * sizeof(int64_t))
        result.counted.examples = self.counted.examples
        return result


cdef uint64_t outer_of(tuple key) except *:
    return <uint64_t>key[0] | <uint64_t>key[1] << 32


cdef uint64_t inner_of(tuple key) except *:
    return <uint64_t>key[2] | <uint64_t>key[3] << 32


# -- prepared parts -----------------------------------------------------------------------------------------------------

cdef bint have_same_forms(notes, theirs) except -1:
    """Whether two objects remember the same of the forms of their labels, and are sure of it."""
    return notes is theirs or not (notes is None or theirs is None or notes.cell.value != theirs.cell.value or notes.cell.value.unsure)


cdef struct Change:
    PyObject* counts
    PyObject* other  # that is merged, or NULL for an example
    int by
    size_t promised  # row keys
    uint64_t outer, inner  # of an example
    Py_ssize_t fixed, size
    int64_t* place  # the slots of an example, or where columns of the other go; NULL: to the same


cdef part_of(
    Counts self, Counts other, const int64_t* place, Py_ssize_t size, Py_ssize_t fixed, uint64_t outer, uint64_t inner,
    int sign, bint known,
):
    """Prepare to count an example whose cells are placed, or to merge other counts."""
    cdef Change* data
    cdef size_t promised = 1 if other is None else other.counted.rows.used
    cdef bint possible = True
    if sign > 0 and (1 if other is None else other.counted.examples) > COUNT_MAX - self.counted.examples:
        return FULL
    data = <Change*>calloc(1, sizeof(Change) + (size if place != NULL else 0) * sizeof(int64_t))
    if data == NULL or not se_sums_promise(&self.counted.rows, promised):
        free(data)
        raise MemoryError
    data.counts, data.promised, data.by = <PyObject*>self, promised, sign
    data.outer, data.inner, data.fixed, data.size = outer, inner, fixed, size
    if place != NULL:
        data.place = <int64_t*>(data + 1)
        memcpy(data.place, place, size * sizeof(int64_t))
    if other is not None:
        Py_INCREF(other)
        data.other = <PyObject*>other
    part = se_part_new(commit_change, data, release, self)
    if sign < 0 and not known:
        if other is not None:
            possible = se_includes(&self.counted, &other.counted, data.place, size, fixed)
        else:
            possible = se_take_back(&self.counted, data.place, size, fixed, outer, inner)
            if possible:
                se_add_example(&self.counted, data.place, size, outer, inner, 1)
    return part if possible else REFUSED


cdef void commit_change(void* data) noexcept:
    cdef Change* part = <Change*>data
    cdef se_counts* counts = &(<Counts>part.counts).counted
    if part.other != NULL:
        se_add_counts(counts, &(<Counts>part.other).counted, part.place, part.size, part.fixed, part.by)
    else:
        se_add_example(counts, part.place, part.size, part.outer, part.inner, part.by)
    end_promise(part)


cdef void end_promise(Change* change) noexcept:
    (<Counts>change.counts).counted.rows.promised -= change.promised
    change.promised = 0


cdef void release(void* data) noexcept:
    end_promise(<Change*>data)
    Py_XDECREF((<Change*>data).other)
    free(data)


cdef int count_dense_rows(Counts self, se_rows* rows, se_scores* scores, Py_ssize_t fixed, int64_t* cells) except -1:
    """Count rows into cells, and the rest here; the union of all bytes, or more than 1 if a score is not finite. Of more than
    FEW_ROWS, some row keys are left waiting."""
    cdef int seen = 0
    if not rows.rows or not rows.columns:
        check_memory(se_sums_reserve(&self.counted.rows, 1))
        se_sums_add(&self.counted.rows, 0, 0, rows.rows)
    elif rows.rows * rows.columns >= RELEASE:
        with nogil:
            seen = se_dense(rows, scores, VECTOR, fixed, cells, &self.counted.rows, &self.counted.waiting)
    else:
        seen = se_dense(rows, scores, VECTOR, fixed, cells, &self.counted.rows, &self.counted.waiting)
    check_memory(seen >= 0)
    if seen <= 1:
        self.counted.examples += rows.rows
    return seen


cdef const uint8_t* start_of_bytes(array, ptrdiff_t* stride) except? NULL:
    cdef const uint8_t[:, :] cells
    stride[0] = 0
    if array is None:
        return NULL
    cells = array
    stride[0] = cells.strides[0]
    return &cells[0, 0] if cells.shape[0] and cells.shape[1] else NULL


cdef int read_rows(se_rows* rows, true, pred, masked) except -1:
    """Point to rows of 0 and 1; without predictions, scores take their place."""
    rows.rows, rows.columns = true.shape
    rows.true_cells = rows.pred_cells = NULL
    rows.true_ = start_of_bytes(true, &rows.true_stride)
    rows.pred = start_of_bytes(pred, &rows.pred_stride)
    rows.masked = start_of_bytes(masked, &rows.masked_stride)
    return 0


cdef int borrow_bits(side, Py_ssize_t rows, Py_ssize_t width, se_bit_rows* to) except -1:
    """Point to rows of bits, which must lie within their bytes."""
    cdef const uint8_t[::1] data = side.data
    to.at, to.end = NULL, NULL
    if data.shape[0]:
        to.at = &data[0]
        to.end = to.at + data.shape[0]
    to.first, to.stride, to.falls = side.first, side.stride, side.falls
    if side.examples != rows or side.columns != width or to.first < 0 or to.stride < width or to.stride - width > 7:
        raise IndexError("rows of bits are out of range")
    if (to.falls or to.stride > width) and (to.first % 8 or to.stride % 8):
        raise IndexError("rows of bits are not whole bytes")
    if rows and (8 * data.shape[0] - to.first) // to.stride < rows:
        raise IndexError("rows of bits are out of range")
    return 0


cdef int check(int written) except -1:
    """Raise what is wrong where a loop over lists could not go on."""
    check_memory(written != -1)
    if written == -2:
        raise IndexError("a list, a column or a code is out of range")
    return 0


cdef void bytes_of(se_cells* cells, const uint8_t** at, ptrdiff_t* stride, se_cells** rest) noexcept:
    """Point to cells as bytes where they stand close together, else to what is read."""
    at[0], stride[0], rest[0] = <const uint8_t*>cells.at, cells.row, NULL
    if cells.kind != 1 or cells.step != 1:
        at[0], rest[0] = NULL, cells


cdef int count_rows(Counts self, se_rows* rows, se_scores* scores, columns, Py_ssize_t fixed) except -1:
    """Count dense rows of these columns; the union of all bytes."""
    cdef const int64_t[::1] place = columns
    cdef int64_t[::1] cells = np.zeros(5 * rows.columns + 1, np.int64)
    cdef int seen = count_dense_rows(self, rows, scores, 0, &cells[0])
    if seen <= 1:
        check_memory(se_tally_end(&self.counted.waiting, &self.counted.rows, 0))
        se_add_cells(&self.counted, &cells[0], &place[0] if rows.columns else NULL, rows.columns, fixed, 1)
    return seen


def count_groups(list counts, codes, Py_ssize_t examples, Py_ssize_t width, true, pred):
    cdef const int64_t[::1] code = codes
    cdef se_lists sides[4]
    cdef se_pairs pairs
    cdef se_sums rows
    cdef int64_t* sums
    cdef uint64_t outer, inner
    cdef Counts one
    cdef void* memory = NULL
    cdef Py_ssize_t group, groups = len(counts)
    cdef size_t at = 0
    cdef int written
    cdef bint wide = not (is_narrow(true) and is_narrow(pred))
    if code.shape[0] != examples or examples >= MANY:
        raise IndexError(f"{code.shape[0]} codes are not of {examples} examples")
    if not examples:
        return
    for one in counts:
        one.reserve(width)
    arrays = borrow_all(sides, true, pred, None, None, True, wide, examples, width)
    rows.places = NULL
    try:
        memory = se_pairs_init(&pairs, &code[0], groups, width)
        check_memory(memory != NULL and se_sums_init(&rows, 64, 1))
        with nogil:
            written = se_count_pairs(examples, &sides[0], &sides[1], wide, True, &pairs, &rows)
        check(written)
        for _ in range(<Py_ssize_t>rows.used):
            sums = se_sums_next(&rows, &at, &outer, &inner)
            one = counts[inner >> 32]
            check_memory(se_sums_reserve(&one.counted.rows, 1))
            se_sums_add(&one.counted.rows, outer, inner & LOW, sums[0])
            one.counted.examples += sums[0]
        for group, one in enumerate(counts):
            if one.counted.examples:
                se_add_pairs(&pairs, group, one.counted.cell)
    finally:
        free(memory)
        free(rows.places)


# -- exact sums of weights; `streameval.kernel.decisions.rows` says what they mean ---------------------------------------

def unit_sums(slots, tuple key):
    cdef const int64_t[::1] slot = slots
    cdef dict sums = {key: 1}
    cdef Py_ssize_t position
    for position in range(slot.shape[0]):
        if slot[position] % 5:
            sums[slot[position]] = 1
    return sums


def weigh_dense(true, pred, masked, weights):
    cdef const double[::1] factors = weights
    cdef Py_ssize_t columns = true.shape[1], distinct = factors.shape[0]
    cdef se_rows rows
    cdef se_weighed to
    cdef se_sums groups
    cdef int64_t[:, :, ::1] cells
    cdef int64_t[:, ::1] sums
    cdef int done
    read_rows(&rows, true, pred, masked)
    to.weights = &factors[0] if distinct else NULL
    se_span(to.weights, distinct, &to.lowest, &to.highest)
    to.limbs = (to.highest - to.lowest) // 32 + 3
    # One more than needed, so that nothing is empty.
    cells = of_column = np.zeros((columns + 1, 4, to.limbs), np.int64)
    sums = of_key = np.zeros((distinct + 1, to.limbs), np.int64)
    to.of_column, to.of_key, to.keys = &cells[0, 0, 0], &sums[0, 0], &groups
    check_memory(se_sums_init(&groups, 64, 1))
    try:
        with nogil:
            done = se_weigh_dense(&rows, &to)
        check_memory(done)
        keys, numbers = entries_of(&groups)
    finally:
        free(groups.places)
    in_true, in_pred, both, hidden = of_column[:columns].transpose(1, 0, 2)
    outcomes = np.stack([np.zeros_like(both), in_true - both, in_pred - both, both, hidden], axis=1)
    return Weighed(-to.lowest, outcomes, keys, of_key[numbers[:, 0] - 1])
