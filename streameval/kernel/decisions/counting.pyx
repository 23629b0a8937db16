"""`Counting`, the base of `Counts` (compiled.pyx), owns an se_counts: counts batches, prepares changes, merges, reads."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MAX as COUNT_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from streameval.kernel.decisions.cells cimport read_rows, se_bit_rows, se_rows, se_scores
from streameval.kernel.lists cimport RELEASE, borrow, check_columns, is_narrow, place_of, se_lists
from streameval.kernel.memory cimport check_memory, data_of
from streameval.kernel.part cimport FULL, REFUSED, se_part_new
from streameval.kernel.scores cimport read_list, room_of, se_mention, se_score_lists
from streameval.kernel.table cimport (
    entries_of, fill, se_sums, se_sums_add, se_sums_copy, se_sums_count, se_sums_init, se_sums_next, se_sums_promise,
    se_sums_reserve, set_seed,
)

cimport numpy as cnp
import numpy as np

from streameval.kernel.lists import list_order as sorted_order
from streameval.kernel.types import DAMAGED, DISTINCT, Weighed

cdef extern from "decisions/counting.h" nogil:
    ctypedef struct se_pairs:
        pass
    ctypedef struct se_weighed:
        const double* weights
        int lowest, highest, limbs
        int64_t* of_column
        se_sums* keys
        int64_t* of_key
    int se_has(int)
    int se_dense(const se_rows*, se_scores*, int, ptrdiff_t, int64_t*, se_sums*, se_tally*)
    int se_tally_end(se_tally*, se_sums*, size_t)
    int SE_FEW
    int se_count_words(ptrdiff_t, const se_lists*, int, ptrdiff_t, int, int64_t*, se_sums*)
    void* se_pairs_init(se_pairs*, const int64_t*, ptrdiff_t, ptrdiff_t)
    void se_add_pairs(const se_pairs*, ptrdiff_t, int64_t*)
    int se_lists_rise(ptrdiff_t, const int32_t*, const int32_t*, int64_t, int64_t)
    int se_count_pairs(ptrdiff_t, const se_lists*, const se_lists*, bint, bint, const se_pairs*, se_sums*)
    int se_count_lists(const se_score_lists*, int64_t*, se_sums*, int64_t*, se_mention*)
    void se_span(const double*, ptrdiff_t, int*, int*)
    int se_weigh_dense(const se_rows*, const se_weighed*)

cdef extern from "decisions/counts.h" nogil:
    int se_counts_init(se_counts*, Py_ssize_t)
    void se_counts_end(se_counts*)
    int se_counts_widen(se_counts*, Py_ssize_t)
    int64_t se_mentions(const se_counts*, Py_ssize_t)
    void se_add_cells(se_counts*, const int64_t*, const int64_t*, Py_ssize_t, Py_ssize_t, int)
    void se_add_counts(se_counts*, const se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t, int)
    int se_includes(se_counts*, const se_counts*, const int64_t*, Py_ssize_t, Py_ssize_t)

cnp.import_array()
set_seed()

cdef uint64_t LOW = 4294967295
cdef int VECTOR = 64 if se_has(64) else 32 if se_has(32) else 8
# Examples from which lists of few columns are counted as words of bits; fewer are counted faster label by label.
cdef Py_ssize_t MANY_LISTS = 2048


def vectors():
    """The columns of a vector, for each kind that this machine has, the kind in use first; 8 are machine words."""
    return (VECTOR, *(columns for columns in (64, 32, 8) if columns != VECTOR and se_has(columns)))


def use_vectors(int columns):
    """Use the kind of vectors with this many columns from now on. For tests: each kind returns the same bits."""
    global VECTOR
    if not se_has(columns):
        raise ValueError(f"this machine has no vectors of {columns} columns")
    VECTOR = columns


cdef class Counting(Placing):
    """The methods of `streameval.kernel.decisions.numpy.Counts` that count many examples, merge and read."""

    def __cinit__(self, root, Py_ssize_t width):
        check_memory(se_counts_init(&self.counted, self.width))

    def __dealloc__(self):
        se_counts_end(&self.counted)

    @property
    def examples(self):
        return self.counted.examples

    cpdef reserve(self, Py_ssize_t width):
        if width > self.width:
            check_memory(se_counts_widen(&self.counted, max(width, 2 * self.width)))
            Placing.reserve(self, width)

    # -- many examples: into new counts, which are dropped on errors and else merged -------------------------------------

    cdef int count_rows(self, se_rows* rows, se_scores* scores, Py_ssize_t fixed, int64_t* cells) except -1:
        """Count rows: outcomes into ``cells``, row keys and examples into this table. Return the union of all bytes, or
        more than 1 if a score is not finite. With more than FEW_ROWS rows, some row keys stay in ``counted.waiting``."""
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

    cdef int count_columns(self, se_rows* rows, se_scores* scores, columns, Py_ssize_t fixed) except -1:
        """Count dense rows of these columns; return the union of all bytes."""
        cdef const int64_t[::1] place = columns
        cdef int64_t[::1] cells = np.zeros(5 * rows.columns + 1, np.int64)
        cdef int seen = self.count_rows(rows, scores, 0, &cells[0])
        if seen <= 1:
            check_memory(se_tally_end(&self.counted.waiting, &self.counted.rows, 0))
            se_add_cells(&self.counted, &cells[0], &place[0] if rows.columns else NULL, rows.columns, fixed, 1)
        return seen

    def count_dense(self, columns, Py_ssize_t fixed, true, pred, masked):
        cdef se_rows rows
        read_rows(&rows, true, pred, masked)
        return self.count_columns(&rows, NULL, columns, fixed)

    def count_scores(self, columns, Py_ssize_t fixed, true, scores, bounds, masked):
        cdef se_rows rows
        cdef se_scores compared
        read_rows(&rows, true, None, masked)
        compared.narrow, compared.finite = scores.dtype == np.float32, True
        compared.at, compared.stride = cnp.PyArray_DATA(scores), cnp.PyArray_STRIDE(scores, 0)
        bounds = np.ascontiguousarray(bounds, np.float64)
        compared.bounds, compared.by = <const double*>cnp.PyArray_DATA(bounds), 1
        return self.count_columns(&rows, &compared, columns, fixed), bool(compared.finite)

    def count_bits(self, columns, Py_ssize_t fixed, true, pred):
        cdef se_rows rows
        cdef se_bit_rows sides[2]
        borrow_bits(&rows, sides, true, pred, len(columns))
        return self.count_columns(&rows, NULL, columns, fixed)

    def count_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, pred, masked, named, everywhere):
        cdef const int64_t[::1] always = everywhere
        cdef int64_t[::1] before
        cdef se_lists sides[2]
        cdef se_score_lists lists
        cdef se_mention* mentions = NULL
        cdef se_pairs paired
        cdef Py_ssize_t position, column
        cdef void* memory
        cdef int written = -1
        cdef bint wide = True, repeats = True, pairs
        pairs = masked is None and named is None and true is not None and pred is not None and examples < MANY
        if pairs:
            wide = not (is_narrow(true) and is_narrow(pred))
            repeats = not (true.distinct and pred.distinct)
            width = self.width
            arrays = [borrow(&sides[0], true, wide, examples, width), borrow(&sides[1], pred, wide, examples, width)]
        else:
            memset(&lists, 0, sizeof(se_score_lists))
            lists.rows, arrays = examples, []
            for side, part in enumerate((true, pred, masked, named)):
                if part is not None:
                    flat = np.ascontiguousarray(part.offsets, np.int64), np.ascontiguousarray(part.flat(), np.int64)
                    read_list(&lists, side, flat, self.width)
                    arrays.append(flat)
            room = room_of(&lists)
            mentions = <se_mention*>PyByteArray_AS_STRING(room)
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
                written = se_count_lists(&lists, self.counted.cell, &self.counted.rows, <int64_t*>memory, mentions) - 1
        free(memory)
        check(written)
        for position in range(always.shape[0]):
            column = always[position]
            self.counted.cell[5 * column] += examples - (se_mentions(&self.counted, column) - before[position])
        for column in range(min(fixed, self.width)):
            self.counted.cell[5 * column] = 0
        self.counted.examples += examples

    cdef int add(self, Counting other) except -1:
        """Add counts of the same columns; the caller drops ``other`` afterwards, which is changed."""
        check_memory(se_tally_end(&other.counted.waiting, &self.counted.rows, other.counted.rows.used))
        se_add_counts(&self.counted, &other.counted, NULL, other.width, 0, 1)
        return 0

    # -- preparing, merging and reading --------------------------------------------------------------------------------------

    cdef prepared(
        self, Counting other, const int64_t* place, Py_ssize_t size, Py_ssize_t fixed, uint64_t outer, uint64_t inner,
        int sign, bint known,
    ):
        """Prepare to count an example with these slots, or to merge ``other``; or to take either back."""
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

    def prepare_example(self, slots, tuple key, Py_ssize_t fixed, int sign, bint known=False):
        slots = cnp.PyArray_FROMANY(slots, cnp.NPY_INT64, 1, 1, cnp.NPY_ARRAY_C_CONTIGUOUS)
        cdef const int64_t* slot = <const int64_t*>cnp.PyArray_DATA(slots)
        cdef Py_ssize_t count = cnp.PyArray_DIM(slots, 0), position
        for position in range(count):
            if not 0 <= slot[position] < 5 * self.width:
                raise IndexError(f"slot {slot[position]} is out of range")
        return self.prepared(None, slot, count, fixed, word_of(key[0], key[1]), word_of(key[2], key[3]), sign, known)

    def prepare_merge(self, Counting other, columns, Py_ssize_t fixed, int sign):
        cdef ptrdiff_t width = other.width
        cdef const int64_t* place = NULL
        if columns is None:
            self.reserve(width)
        else:
            columns = place_of(columns, self.width, &width, &place)
        return self.prepared(other.copy(None) if other is self else other, place, width, fixed, 0, 0, sign, False)

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
        return se_sums_count(&self.counted.rows, word_of(key[0], key[1]), word_of(key[2], key[3]))

    def held(self):
        return self.counted.rows.used

    def compact(self):
        """Nothing to do: the table drops row keys without an example whenever it grows."""

    def restore(self, int64_t examples, cells, keys, times):
        cdef const int64_t[:, ::1] cell
        cdef Py_ssize_t at
        self.reserve(len(cells))
        for at in range(0, len(cells), 4096):  # in parts, as a copy of all cells would take as much memory as the table
            cell = np.ascontiguousarray(cells[at : at + 4096])
            memcpy(<int64_t*>self.counted.cell + 5 * at, &cell[0, 0], 5 * cell.shape[0] * sizeof(int64_t))
        fill(&self.counted.rows, keys, times.reshape(-1, 1))
        self.counted.examples = examples

    def copy(self, root):
        cdef Counting result = type(self)(root, self.width)
        check_memory(se_sums_copy(&result.counted.rows, &self.counted.rows))
        memcpy(result.counted.cell, self.counted.cell, 5 * self.width * sizeof(int64_t))
        result.counted.examples = self.counted.examples
        return result


cdef uint64_t word_of(low, high) except *:
    return <uint64_t>low | <uint64_t>high << 32

# -- prepared parts -----------------------------------------------------------------------------------------------------

cdef void commit_change(void* data) noexcept:
    cdef Change* part = <Change*>data
    cdef se_counts* counts = &(<Counting>part.counts).counted
    if part.other != NULL:
        se_add_counts(counts, &(<Counting>part.other).counted, part.place, part.size, part.fixed, part.by)
    else:
        se_add_example(counts, part.place, part.size, part.outer, part.inner, part.by)
    end_promise(part)


cdef void end_promise(Change* change) noexcept:
    (<Counting>change.counts).counted.rows.promised -= change.promised
    change.promised = 0


cdef void release(void* data) noexcept:
    end_promise(<Change*>data)
    Py_XDECREF((<Change*>data).other)
    free(data)


cdef int borrow_bits(se_rows* rows, se_bit_rows* sides, true, pred, Py_ssize_t columns) except -1:
    """Set ``rows`` and ``sides`` to rows of bits; raise `IndexError` if they reach beyond their bytes."""
    cdef const uint8_t[::1] data
    cdef se_bit_rows* to = sides
    rows.rows, rows.columns, rows.bits = true.examples, columns, sides
    for side in (true, pred):
        data = side.data
        to.at, to.end, to.bytes = NULL, NULL, False
        if data.shape[0]:
            to.at = &data[0]
            to.end = to.at + data.shape[0]
        to.first, to.stride, to.falls = side.first, side.stride, side.falls
        if side.examples != rows.rows or side.columns != columns or to.first < 0 or not 0 <= to.stride - columns <= 7:
            raise IndexError("rows of bits are out of range")
        if (to.falls or to.stride > columns) and (to.first % 8 or to.stride % 8):
            raise IndexError("rows of bits are not whole bytes")
        if rows.rows and (8 * data.shape[0] - to.first) // to.stride < rows.rows:
            raise IndexError("rows of bits are out of range")
        to += 1
    if sides[0].falls != sides[1].falls or rows.rows >= MANY or not 0 < columns < BIT_COLUMNS:
        raise IndexError("rows of bits differ in order, or are too many")
    return 0


cdef int check(int written) except -1:
    """Raise the error that a loop over lists returned as a negative number."""
    check_memory(written != -1)
    if written == -2:
        raise IndexError("a list, a column or a code is out of range")
    return 0


def list_order(offsets, places, int64_t limit):
    cdef const int32_t* offset
    cdef const int32_t* place
    cdef Py_ssize_t rows = len(offsets) - 1, held = len(places)
    cdef int rise = 0
    if rows >= 0 and offsets.dtype == np.int32 and places.dtype == np.int32:
        offset, place = <const int32_t*>data_of(offsets, b"i", 4), <const int32_t*>data_of(places, b"i", 4)
        with nogil:
            rise = se_lists_rise(rows, offset, place, held, limit)
    return DISTINCT if rise > 0 else DAMAGED if rise else sorted_order(offsets, places, limit)


def count_groups(list counts, codes, Py_ssize_t examples, Py_ssize_t width, true, pred):
    cdef const int64_t[::1] code = codes
    cdef se_lists sides[2]
    cdef se_pairs pairs
    cdef se_sums rows
    cdef int64_t* sums
    cdef uint64_t outer, inner
    cdef Counting one
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
    arrays = borrow(&sides[0], true, wide, examples, width), borrow(&sides[1], pred, wide, examples, width)
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
    # One row more than needed, so that no array is empty and all have a first element.
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