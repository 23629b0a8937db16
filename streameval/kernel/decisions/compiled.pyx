"""The loops of `numpy.py`, compiled. Same names, same signatures, same bits; `numpy.py` says what they mean."""

from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.list cimport PyList_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from streameval.kernel.part cimport se_part_new
from streameval.kernel.table cimport (
    se_sums,
    se_sums_add,
    se_sums_at,
    se_sums_count,
    se_sums_init,
    se_sums_next,
    se_sums_promise,
    se_sums_reserve,
    set_seed,
)
from streameval.kernel.lists.lists cimport borrow_all, is_narrow, se_lists

import numpy as np

from streameval.kernel.decisions.rows import limbs, list_rows  # which need no loops of their own
from streameval.kernel.types import DONE, FULL, OTHER, REFUSED, Lists, Weighed

cdef extern from "Python.h":
    PyObject* Py_True
    PyObject* Py_False
    int PySet_CheckExact(object)
    int PyFrozenSet_CheckExact(object)
    int _PySet_NextEntry(object, Py_ssize_t*, PyObject**, Py_hash_t*)
    long PyLong_AsLong(object) except? -1
    double PyLong_AsDouble(object) except? -1.0
    Py_ssize_t PySequence_Fast_GET_SIZE(object)
    PyObject* PySequence_Fast_GET_ITEM(object, Py_ssize_t)

cdef extern from "decisions/counting.h" nogil:
    ctypedef struct se_rows:
        const uint8_t* true_
        const uint8_t* pred
        const uint8_t* hidden
        ptrdiff_t true_stride
        ptrdiff_t pred_stride
        ptrdiff_t hidden_stride
        ptrdiff_t rows
        ptrdiff_t columns
    int se_has(int)
    ctypedef struct se_scores:
        const void* at
        const void* bounds
        ptrdiff_t stride
        int narrow
        int finite
    int se_dense(const se_rows*, se_scores*, int, int64_t*, se_sums*)
    int se_count_pairs(ptrdiff_t, const se_lists*, const se_lists*, bint, bint, int, ptrdiff_t, int64_t*, se_sums*)
    ctypedef struct se_pairs:
        pass
    void* se_pairs_init(se_pairs*, const int64_t*, ptrdiff_t, ptrdiff_t)
    void se_add_pairs(const se_pairs*, ptrdiff_t, int64_t*)
    int se_count_groups(ptrdiff_t, const se_lists*, const se_lists*, bint, int, const se_pairs*, se_sums*)
    int se_count_lists(ptrdiff_t, const se_lists*, const se_lists*, const se_lists*, const se_lists*, ptrdiff_t,
                       int64_t*, se_sums*, int64_t*, const se_weighed*)
    ctypedef struct se_weighed:
        const double* weights
        int lowest
        int highest
        int limbs
        int64_t* of_column
        se_sums* keys
        int64_t* of_key
    void se_span(const double*, ptrdiff_t, int*, int*)
    int se_weigh_dense(const se_rows*, const se_weighed*)

set_seed()

cdef PyObject* NUMPY_TRUE = <PyObject*>np.True_
cdef PyObject* NUMPY_FALSE = <PyObject*>np.False_

# The same codes as constants of C.
cdef int OTHER_CODE = OTHER, REFUSED_CODE = REFUSED, FULL_CODE = FULL

# Integers up to here are float64.
cdef object EXACT = 2**53
cdef int64_t COUNT_MAX = 0x7FFFFFFFFFFFFFFF
cdef uint64_t LOW = 4294967295
cdef int VECTOR = 64 if se_has(64) else 32 if se_has(32) else 8
cdef Py_ssize_t REMEMBERED = 4096
# Row numbers and counts of so many examples fit into 32 bits.
cdef Py_ssize_t MANY = 2147483647
# Below this many cells, letting other threads run costs more than it gives.
cdef Py_ssize_t RELEASE = 65536


def vectors():
    """How many columns go into a vector, for each kind that this machine has, the one in use first; 8 are words."""
    return (VECTOR, *(columns for columns in (64, 32, 8) if columns != VECTOR and se_has(columns)))


def use_vectors(int columns):
    """Use another kind from now on. For tests: each kind gives the same bits."""
    global VECTOR
    if not se_has(columns):
        raise ValueError(f"this machine has no vectors of {columns} columns")
    VECTOR = columns


cdef class Sums:
    """Room for sums of weights, and what they become."""

    cdef se_weighed to
    cdef se_sums groups
    cdef object weights, of_column, of_key

    def __cinit__(self, weights, Py_ssize_t columns):
        cdef const double[::1] factors = weights
        cdef Py_ssize_t rows = factors.shape[0]
        cdef int64_t[:, :, ::1] cells
        cdef int64_t[:, ::1] sums
        self.weights = weights
        self.to.weights = &factors[0] if rows else NULL
        se_span(self.to.weights, rows, &self.to.lowest, &self.to.highest)
        self.to.limbs = (self.to.highest - self.to.lowest) // 32 + 3
        # One more than needed, so that nothing is empty.
        cells = self.of_column = np.zeros((columns + 1, 4, self.to.limbs), np.int64)
        sums = self.of_key = np.zeros((rows + 1, self.to.limbs), np.int64)
        self.to.of_column, self.to.of_key, self.to.keys = &cells[0, 0, 0], &sums[0, 0], &self.groups
        if not se_sums_init(&self.groups, 64, 1):
            raise MemoryError

    def __dealloc__(self):
        free(self.groups.places)

    cdef result(self):
        true, pred, both, hidden = self.of_column[:len(self.of_column) - 1].transpose(1, 0, 2)
        cells = np.stack([np.zeros_like(both), true - both, pred - both, both, hidden], axis=1)
        keys, numbers = row_keys_of(&self.groups)
        return Weighed(-self.to.lowest, cells, keys, self.of_key[numbers - 1])


cdef row_keys_of(const se_sums* rows):
    """The keys of a table that have an example, shape (distinct, 4), and the first sum of each."""
    cdef size_t at = 0, live = 0, row = 0
    cdef uint64_t outer = 0, inner = 0
    cdef int64_t* sums
    while se_sums_next(rows, &at, &outer, &inner) != NULL:
        live += 1
    keys, counts = np.empty((live, 4), np.int64), np.empty(live, np.int64)
    cdef int64_t[:, ::1] key = keys
    cdef int64_t[::1] count = counts
    at = 0
    while row < live:
        sums = se_sums_next(rows, &at, &outer, &inner)
        key[row, 0], key[row, 1], key[row, 2], key[row, 3] = outer & LOW, outer >> 32, inner & LOW, inner >> 32
        count[row] = sums[0]
        row += 1
    return keys, counts


def weigh_dense(true, pred, hidden, weights):
    cdef const uint8_t[:, :] t = true
    cdef const uint8_t[:, :] p = pred
    cdef const uint8_t[:, :] m
    cdef Sums sums = Sums(weights, t.shape[1])
    cdef se_rows rows
    cdef int done
    rows.rows, rows.columns = t.shape[0], t.shape[1]
    rows.true_ = rows.pred = rows.hidden = NULL
    rows.true_stride, rows.pred_stride, rows.hidden_stride = t.strides[0], p.strides[0], 0
    if rows.rows and rows.columns:
        rows.true_, rows.pred = &t[0, 0], &p[0, 0]
        if hidden is not None:
            m = hidden
            rows.hidden, rows.hidden_stride = &m[0, 0], m.strides[0]
    with nogil:
        done = se_weigh_dense(&rows, &sums.to)
    if not done:
        raise MemoryError
    return sums.result()


def weigh_lists(Py_ssize_t examples, Py_ssize_t width, true, pred, hidden, named, weights):
    cdef Sums sums = Sums(weights, width)
    cdef se_lists sides[4]
    cdef int64_t* mark = NULL
    cdef int64_t* cells = NULL
    cdef se_sums rows
    cdef int written
    arrays = borrow_all(sides, true, pred, hidden, named, False, True, examples, width)
    rows.places = NULL
    try:
        mark, cells = <int64_t*>calloc(width + 1, sizeof(int64_t)), <int64_t*>calloc(5 * width + 1, sizeof(int64_t))
        if mark == NULL or cells == NULL or not se_sums_init(&rows, 64, 1):
            raise MemoryError
        with nogil:
            written = se_count_lists(examples, &sides[0], &sides[1], &sides[2], &sides[3], width, cells, &rows, mark, &sums.to)
        if written == -1:
            raise MemoryError
        if written == -2:
            raise IndexError("a list or a column is out of range")
        return sums.result()
    finally:
        free(mark)
        free(cells)
        free(rows.places)


cdef class Counts:
    """See `streameval.kernel.decisions.numpy.Counts`."""

    def __cinit__(self, root, Py_ssize_t width):
        self.n = 0
        self.turn = 0
        self.width = max(width, 8)
        self.cell = <int64_t*>calloc(5 * self.width, sizeof(int64_t))
        self.mark = NULL
        self.touched = NULL
        self.spare = self.heavies = self.present = 0
        self.heavy = NULL
        self.known = NULL
        self.column = NULL
        if self.cell == NULL or not se_sums_init(&self.rows, 64, 1):
            raise MemoryError

    def __dealloc__(self):
        self.forget_columns()
        free(self.known)
        free(self.column)
        free(self.cell)
        free(self.mark)
        free(self.touched)
        free(self.heavy)
        free(self.rows.places)

    @property
    def examples(self):
        return self.n

    cpdef forget_columns(self):
        cdef Py_ssize_t at
        if self.known != NULL:
            for at in range(2 * REMEMBERED):
                Py_XDECREF(self.known[at])
                self.known[at] = NULL

    cpdef reserve(self, Py_ssize_t width):
        cdef Py_ssize_t wider
        cdef int64_t* cell
        if width <= self.width:
            return
        wider = max(width, 2 * self.width)
        cell = <int64_t*>calloc(5 * wider, sizeof(int64_t))
        if cell == NULL:
            raise MemoryError
        memcpy(cell, self.cell, 5 * self.width * sizeof(int64_t))
        free(self.cell)
        self.cell = cell
        self.width = wider
        free(self.mark)
        free(self.touched)
        self.mark = NULL
        self.touched = NULL

    cdef int prepare(self) except -1:
        if self.mark == NULL or self.touched == NULL:
            free(self.mark)
            free(self.touched)
            self.mark = <int64_t*>calloc(self.width, sizeof(int64_t))
            self.touched = <Py_ssize_t*>malloc(self.width * sizeof(Py_ssize_t))
            if self.mark == NULL or self.touched == NULL:
                raise MemoryError
            self.turn = 0
        if self.known == NULL or self.column == NULL:
            free(self.known)
            free(self.column)
            self.known = <PyObject**>calloc(2 * REMEMBERED, sizeof(PyObject*))
            self.column = <Py_ssize_t*>calloc(2 * REMEMBERED, sizeof(Py_ssize_t))
            if self.known == NULL or self.column == NULL:
                raise MemoryError
        return 0

    # -- one example --------------------------------------------------------------------------------------------------

    cdef Py_ssize_t column_of(self, dict columns, PyObject* label) except -2:
        """The column of a label that is known and needs no conversion, else -1."""
        cdef PyObject* known
        cdef Py_ssize_t column
        if not (PyUnicode_CheckExact(<object>label) or PyLong_CheckExact(<object>label)):
            return -1
        known = PyDict_GetItemWithError(columns, <object>label)
        if known == NULL:
            return -1
        column = PyLong_AsLong(<object>known)
        return column if column < self.width else -1

    cdef int note(self, Py_ssize_t column, int64_t bit, Py_ssize_t* count) noexcept nogil:
        """Note what a side says of a column."""
        if self.mark[column] < 4 * self.turn:
            self.mark[column] = 4 * self.turn + bit
            self.touched[count[0]] = column
            count[0] += 1
        else:
            self.mark[column] |= bit
        return 0

    cdef int says(self, PyObject* value, bint scored) except -2:
        """1 for true, 0 for false, -1 for what the fast path does not handle."""
        cdef double score
        if value == Py_True or value == NUMPY_TRUE:
            return 1
        if value == Py_False or value == NUMPY_FALSE:
            return 0
        if scored:
            if not PyFloat_CheckExact(<object>value):
                return -1
            score = PyFloat_AS_DOUBLE(<object>value)
            return score >= self.bound if score - score == 0 else -1
        if PyLong_CheckExact(<object>value):
            if <object>value == 0:
                return 0
            if <object>value == 1:
                return 1
        return -1

    cdef Py_ssize_t remembered(self, dict columns, PyObject* key, Py_ssize_t place) except -2:
        """The column of the key at some place of a mapping, which tends to be the key of the last example."""
        cdef Py_ssize_t column
        if self.known[place] == key:
            return self.column[place]
        column = self.column_of(columns, key)
        if column >= 0:
            Py_INCREF(<object>key)
            Py_XDECREF(self.known[place])
            self.known[place] = key
            self.column[place] = column
        return column

    cdef Py_ssize_t in_step(self, dict columns, Py_ssize_t fixed, dict y_true, dict y_pred, uint64_t* totals) except -2:
        """Read two mappings whose keys are the same objects in the same order; how many slots, or -1 if they are not."""
        cdef PyObject* key
        cdef PyObject* other
        cdef PyObject* actual
        cdef PyObject* guess
        cdef Py_ssize_t at = 0, place = 0, position = 0, slots = 0, column
        cdef int true, pred
        if PyDict_Size(y_true) != PyDict_Size(y_pred) or PyDict_Size(y_true) > min(self.width, REMEMBERED):
            return -1
        while PyDict_Next(y_true, &at, &key, &actual) and PyDict_Next(y_pred, &place, &other, &guess):
            if key != other:
                return -1
            true, pred = self.says(actual, False), self.says(guess, self.scored)
            if true < 0 or pred < 0:
                return -1
            column = self.remembered(columns, key, position)
            if column < 0:
                return -1
            position += 1
            if true or pred or column >= fixed:
                self.touched[slots] = 5 * column + true + 2 * pred
                slots += 1
            totals[0] += true
            totals[1] += pred
            totals[2] += true & pred
        return slots

    cdef int side(self, dict columns, Py_ssize_t fixed, object argument, int bit, Py_ssize_t* count) except -1:
        """Note one side of an example. 0 if the fast path does not handle its form, a label or a value."""
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t at = 0, position = 0, column
        cdef Py_hash_t hashed
        cdef int says
        if PyDict_CheckExact(argument):
            while PyDict_Next(argument, &at, &key, &value):
                says = self.says(value, self.scored and bit == 2)
                if says < 0:
                    return 0
                if position < REMEMBERED:
                    column = self.remembered(columns, key, (bit - 1) * REMEMBERED + position)
                else:
                    column = self.column_of(columns, key)
                if column < 0:
                    return 0
                position += 1
                self.note(column, bit * says, count)
            return 1
        if PySet_CheckExact(argument) or PyFrozenSet_CheckExact(argument):
            while _PySet_NextEntry(argument, &at, &key, &hashed):
                column = self.column_of(columns, key)
                if column < 0:
                    return 0
                self.note(column, bit, count)
            return 1
        if PyList_CheckExact(argument) or PyTuple_CheckExact(argument):
            for position in range(PySequence_Fast_GET_SIZE(argument)):
                column = self.column_of(columns, PySequence_Fast_GET_ITEM(argument, position))
                if column < 0:
                    return 0
                self.note(column, bit, count)
            return 1
        if fixed and type(argument) is np.ndarray and not (self.scored and bit == 2 and argument.dtype.char != "?"):
            return self.row(argument, fixed, bit, count)
        return 0

    cdef int row(self, object argument, Py_ssize_t fixed, int bit, Py_ssize_t* count) except -1:
        """Note a 0/1 row in the order of the declared labels."""
        cdef Py_buffer view
        cdef Py_ssize_t column, stride
        cdef const char* data
        cdef uint64_t value
        cdef bint wide = argument.dtype.char in "lq" and argument.dtype.itemsize == 8
        if not (wide or argument.dtype.char in "?B") or argument.ndim != 1 or len(argument) != fixed:
            return 0
        PyObject_GetBuffer(argument, &view, PyBUF_STRIDES)
        try:
            data = <const char*>view.buf
            stride = view.strides[0]
            for column in range(fixed):
                if wide:
                    memcpy(&value, data + column * stride, sizeof(value))
                else:
                    value = (<const uint8_t*>data)[column * stride]
                if value > 1:
                    return 0
                if value:
                    self.note(column, bit, count)
            return 1
        finally:
            PyBuffer_Release(&view)

    cdef int begin(self, dict columns, object threshold) except -1:
        self.reserve(len(columns))
        self.prepare()
        self.scored = threshold is not None
        if self.scored:
            self.bound = threshold
        return 0

    cdef Py_ssize_t placed(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, uint64_t* totals) except -2:
        """Place the cells of an example in ``touched``; how many there are, or -1 if the fast path does not handle it."""
        cdef Py_ssize_t count = 0, slots = -1
        totals[0] = totals[1] = totals[2] = 0
        if PyDict_CheckExact(y_true) and PyDict_CheckExact(y_pred):
            slots = self.in_step(columns, fixed, y_true, y_pred, totals)
        if slots >= 0:
            return slots
        self.turn += 1
        if not (self.side(columns, fixed, y_true, 1, &count) and self.side(columns, fixed, y_pred, 2, &count)):
            return -1
        return self.outcomes_of(count, fixed, totals)

    cdef Py_ssize_t outcomes_of(self, Py_ssize_t count, Py_ssize_t fixed, uint64_t* totals) noexcept nogil:
        """Make slots of the columns in ``touched``; how many there are."""
        cdef Py_ssize_t position, column, slots = 0
        cdef int64_t bits
        totals[0] = totals[1] = totals[2] = 0
        for position in range(count):
            column = self.touched[position]
            bits = self.mark[column] & 3
            if bits or column >= fixed:
                self.touched[slots] = 5 * column + bits
                slots += 1
            totals[0] += bits & 1
            totals[1] += bits >> 1
            totals[2] += bits == 3
        return slots

    cpdef int count_example(
        self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object threshold, int sign
    ) except -1:
        cdef Py_ssize_t position, slots
        cdef uint64_t totals[3]
        self.begin(columns, threshold)
        slots = self.placed(columns, fixed, y_true, y_pred, totals)
        if slots < 0:
            return OTHER_CODE
        if sign > 0 and self.n == COUNT_MAX:
            return FULL_CODE
        if sign > 0 and not se_sums_reserve(&self.rows, 1):
            raise MemoryError
        if sign < 0:
            return 0 if self.take_back(self.touched, slots, fixed, totals[0] | totals[1] << 32, totals[2]) else REFUSED_CODE
        for position in range(slots):
            self.cell[self.touched[position]] += 1
        se_sums_add(&self.rows, totals[0] | totals[1] << 32, totals[2], 1)
        self.n += 1
        self.landed = slots
        return 0

    def count_examples(self, dict columns, Py_ssize_t fixed, list y_true, list y_pred, object threshold):
        cdef Py_ssize_t position, slots, used = 0, room = 256, examples = len(y_true)
        cdef uint64_t totals[3]
        cdef se_sums keys
        cdef size_t at
        cdef uint64_t outer, inner
        cdef int64_t* sums
        cdef Py_ssize_t* slot = <Py_ssize_t*>malloc(room * sizeof(Py_ssize_t))
        cdef Py_ssize_t* more
        keys.places = NULL
        try:
            if slot == NULL or not se_sums_init(&keys, 64, 1):
                raise MemoryError
            self.begin(columns, threshold)
            for position in range(examples):
                slots = self.placed(columns, fixed, y_true[position], y_pred[position], totals)
                if slots < 0:
                    return OTHER
                if used + slots > room:
                    room = 2 * (used + slots)
                    more = <Py_ssize_t*>realloc(slot, room * sizeof(Py_ssize_t))
                    if more == NULL:
                        raise MemoryError
                    slot = more
                memcpy(slot + used, self.touched, slots * sizeof(Py_ssize_t))
                used += slots
                if not se_sums_reserve(&keys, 1):
                    raise MemoryError
                se_sums_add(&keys, totals[0] | totals[1] << 32, totals[2], 1)
            if examples > COUNT_MAX - self.n:
                return FULL
            if not se_sums_reserve(&self.rows, keys.used):
                raise MemoryError
            for position in range(used):
                self.cell[slot[position]] += 1
            at = 0
            while True:
                sums = se_sums_next(&keys, &at, &outer, &inner)
                if sums == NULL:
                    break
                se_sums_add(&self.rows, outer, inner, sums[0])
            self.n += examples
            return DONE
        finally:
            free(slot)
            free(keys.places)

    def place_example(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold):
        cdef Py_ssize_t count
        cdef uint64_t totals[3]
        self.begin(columns, threshold)
        count = self.placed(columns, fixed, y_true, y_pred, totals)
        if count < 0:
            return None
        slots = np.empty(count, np.int64)
        cdef int64_t[::1] slot = slots
        if count:
            memcpy(&slot[0], self.touched, count * sizeof(int64_t))
        return slots, (totals[0], totals[1], totals[2], 0)

    def place_scores(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold):
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t at = 0, position = 0, count = 0, slots, true = 0, column, ranked
        cdef uint64_t totals[3]
        cdef double score
        if not PyDict_CheckExact(y_pred):
            return None
        self.begin(columns, threshold)
        self.turn += 1
        if not self.side(columns, fixed, y_true, 1, &count):
            return None
        ranked = PyDict_Size(y_pred)
        scores = np.empty(ranked, np.float64)
        # The four lists stand in one array, since to make one takes longer than to fill it.
        block = np.empty(4 + 2 * (count + ranked), np.int64)
        cdef double[::1] to = scores
        cdef int64_t[::1] cell = block
        while PyDict_Next(y_pred, &at, &key, &value):
            if PyFloat_CheckExact(<object>value):
                score = PyFloat_AS_DOUBLE(<object>value)
            elif PyLong_CheckExact(<object>value) and not self.scored and -EXACT <= <object>value <= EXACT:
                score = PyLong_AsDouble(<object>value)
            else:
                return None
            if score - score != 0:
                return None
            if position < REMEMBERED:
                column = self.remembered(columns, key, REMEMBERED + position)
            else:
                column = self.column_of(columns, key)
            if column < 0:
                return None
            to[position], cell[4 + position] = score, column
            self.note(column, 2 * (self.scored and score >= self.bound), &count)
            position += 1
        slots = self.outcomes_of(count, fixed, totals)
        count = 4 + ranked
        for position in range(slots):
            if self.touched[position] % 5 & 1:
                cell[count + true] = self.touched[position] // 5
                true += 1
        cell[0], cell[1], cell[2], cell[3] = 0, true, 0, ranked
        if slots:
            memcpy(&cell[count + true], self.touched, slots * sizeof(int64_t))
        return (
            block[count + true:count + true + slots], (totals[0], totals[1], totals[2], 0),
            Lists(block[:2], block[count:count + true]), Lists(block[2:4], block[4:count]), scores,
        )

    cdef void uncount(self) noexcept nogil:
        """Take back the example counted last."""
        cdef Py_ssize_t position
        cdef uint64_t totals[5]
        totals[0] = totals[1] = totals[2] = totals[3] = totals[4] = 0
        for position in range(self.landed):
            self.cell[self.touched[position]] -= 1
            totals[self.touched[position] % 5] += 1
        self.uncount_row(totals)

    cdef void uncount_row(self, const uint64_t* totals) noexcept nogil:
        """Take back the row key of an example with so many cells of each outcome."""
        cdef uint64_t outer = (totals[1] + totals[3]) | (totals[2] + totals[3]) << 32
        se_sums_add(&self.rows, outer, totals[3] | totals[4] << 32, -1)
        self.n -= 1
        self.spare = self.present = 0  # what the last full look found holds no longer

    cdef bint take_back(
        self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed, uint64_t outer, uint64_t inner
    ) noexcept nogil:
        """Take an example back, unless what is left could not be the counts of any examples."""
        cdef Py_ssize_t position
        if self.n == 0 or se_sums_count(&self.rows, outer, inner) < 1:
            return False
        for position in range(slots):
            if self.cell[slot[position]] < 1:
                return False
        for position in range(slots):
            self.cell[slot[position]] -= 1
        se_sums_add(&self.rows, outer, inner, -1)
        self.n -= 1
        if not self.possible(slot, slots, fixed):
            for position in range(slots):
                self.cell[slot[position]] += 1
            se_sums_add(&self.rows, outer, inner, 1)
            self.n += 1
            return False
        return True

    cdef bint possible(self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed) noexcept nogil:
        """Whether no label is mentioned by more examples, and no example mentions more labels, than there are.

        A full look notes the columns that more than half of the examples mention. All others need no look for half as
        many reverts, since an example that is added can raise a column no more than the number of examples.
        """
        cdef Py_ssize_t position
        cdef uint64_t gone = 0, largest
        if self.spare <= 0:
            if not self.look():
                return False
        else:
            self.spare -= 1
            for position in range(self.heavies):
                if self.said(self.heavy[position]) > self.n:
                    return False
        for position in range(slots):
            gone += slot[position] >= 5 * fixed and self.said(slot[position] // 5) == 0
        if not gone:
            return True
        # The columns there were at the last count, less those that are gone since then: there are at least as many.
        self.present -= min(gone, self.present)
        largest = self.largest()
        if fixed + self.present < largest:
            self.present = 0
            for position in range(fixed, self.width):
                self.present += self.said(position) != 0
        return largest <= fixed + self.present

    cdef bint is_possible(self, Py_ssize_t fixed) noexcept nogil:
        """The same of all columns, and nothing is noted."""
        cdef Py_ssize_t column
        cdef uint64_t present = 0
        for column in range(self.width):
            if self.said(column) > self.n:
                return False
            present += column >= fixed and self.said(column) != 0
        return self.largest() <= fixed + present

    cdef bint look(self) noexcept nogil:
        """Whether no label is mentioned by more examples than there are; note how far the next look can wait."""
        cdef Py_ssize_t column
        cdef int64_t said
        free(self.heavy)
        self.heavy = <Py_ssize_t*>malloc(self.width * sizeof(Py_ssize_t))
        self.heavies = self.spare = 0
        for column in range(self.width):
            said = self.said(column)
            if said > self.n:
                return False
            if said > self.n // 2 and self.heavy != NULL:
                self.heavy[self.heavies] = column
                self.heavies += 1
        if self.heavy != NULL:
            self.spare = self.n - self.n // 2
        return True

    cdef uint64_t largest(self) noexcept nogil:
        """How many labels the example with the most of them mentions."""
        cdef uint64_t most = 0, outer, inner
        cdef size_t at = 0
        while se_sums_next(&self.rows, &at, &outer, &inner) != NULL:
            most = max(most, (outer & LOW) + (outer >> 32) + (inner >> 32) - (inner & LOW))
        return most

    cdef int64_t said(self, Py_ssize_t column) noexcept nogil:
        """In how many examples a column is mentioned."""
        cdef int64_t* cell = self.cell + 5 * column
        return cell[0] + cell[1] + cell[2] + cell[3] + cell[4]

    def prepare_example(self, slots, tuple key, Py_ssize_t fixed, int sign):
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        cdef Py_ssize_t count = slot.shape[0]
        self.check(slot)
        return self.part_of(<Py_ssize_t*>&slot[0] if count else NULL, count, fixed, outer_of(key), inner_of(key), sign)

    def prepare_plain(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign):
        cdef uint64_t totals[3]
        self.begin(columns, threshold)
        self.landed = self.placed(columns, fixed, y_true, y_pred, totals)
        if self.landed < 0:
            return OTHER
        return self.part_of(self.touched, self.landed, fixed, totals[0] | totals[1] << 32, totals[2], sign)

    cdef part_of(
        self, const Py_ssize_t* slot, Py_ssize_t slots, Py_ssize_t fixed, uint64_t outer, uint64_t inner, int sign
    ):
        """Prepare to count an example whose cells are placed."""
        cdef Py_ssize_t position
        cdef Counted* data
        if sign > 0 and self.n == COUNT_MAX:
            return FULL
        data = <Counted*>malloc(sizeof(Counted) + slots * sizeof(Py_ssize_t))
        if data == NULL or not se_sums_promise(&self.rows, 1):
            free(data)
            raise MemoryError
        data.counts, data.outer, data.inner = <PyObject*>self, outer, inner
        data.by, data.promised, data.slots, data.slot = sign, True, slots, <Py_ssize_t*>(data + 1)
        for position in range(slots):
            data.slot[position] = slot[position]
        part = se_part_new(commit_example, data, release_example, self)
        if sign < 0:
            if not self.take_back(data.slot, slots, fixed, outer, inner):
                return REFUSED
            for position in range(slots):
                self.cell[data.slot[position]] += 1
            se_sums_add(&self.rows, outer, inner, 1)
            self.n += 1
        return part

    cdef void release_slots(self, const Py_ssize_t* slot, Py_ssize_t slots) noexcept nogil:
        """Note that an example is gone, for what the last full look found; see `possible`."""
        cdef Py_ssize_t position
        cdef uint64_t gone = 0
        self.spare -= self.spare > 0
        for position in range(slots):
            gone += self.said(slot[position] // 5) == 0
        self.present -= min(gone, self.present)

    cdef int check(self, const int64_t[::1] slot) except -1:
        """Slots can be out of range if two threads use one object without a lock."""
        cdef Py_ssize_t position
        for position in range(slot.shape[0]):
            if not 0 <= slot[position] < 5 * self.width:
                raise IndexError(f"slot {slot[position]} is out of range; one object is for one thread at a time")
        return 0

    # -- many examples: only ever into counts of their own, which are then merged ----------------------------------------

    def count_dense(self, columns, Py_ssize_t fixed, true, pred, hidden):
        cdef const uint8_t[:, :] t = true
        cdef const uint8_t[:, :] p = pred
        cdef const uint8_t[:, :] m
        cdef const int64_t[::1] place = columns
        cdef se_rows rows
        cdef int64_t* local
        cdef int seen
        rows.rows, rows.columns = t.shape[0], t.shape[1]
        if not rows.rows:
            return 0
        if not rows.columns:
            self.blank_rows(rows.rows)
            return 0
        rows.true_, rows.true_stride = &t[0, 0], t.strides[0]
        rows.pred, rows.pred_stride = &p[0, 0], p.strides[0]
        rows.hidden, rows.hidden_stride = NULL, 0
        if hidden is not None:
            m = hidden
            rows.hidden, rows.hidden_stride = &m[0, 0], m.strides[0]
        local = <int64_t*>calloc(5 * rows.columns, sizeof(int64_t))
        if local == NULL:
            raise MemoryError
        try:
            if rows.rows * rows.columns >= RELEASE:
                with nogil:
                    seen = se_dense(&rows, NULL, VECTOR, local, &self.rows)
            else:
                seen = se_dense(&rows, NULL, VECTOR, local, &self.rows)
            if seen < 0:
                raise MemoryError
            self.place(local, &place[0], rows.columns, fixed)
            self.n += rows.rows
            return seen
        finally:
            free(local)

    cdef int blank_rows(self, Py_ssize_t rows) except -1:
        if not se_sums_reserve(&self.rows, 1):
            raise MemoryError
        se_sums_add(&self.rows, 0, 0, rows)
        self.n += rows
        return 0

    cdef void place(self, const int64_t* local, const int64_t* columns, Py_ssize_t count, Py_ssize_t fixed) noexcept nogil:
        """Add local counts to the columns they belong to; true negatives of declared labels are derived."""
        cdef Py_ssize_t j, outcome
        for j in range(count):
            for outcome in range(5):
                self.cell[5 * columns[j] + outcome] += local[5 * j + outcome]
            if columns[j] < fixed:
                self.cell[5 * columns[j]] = 0

    def count_scores(self, columns, Py_ssize_t fixed, true, scores, bounds, hidden):
        cdef const uint8_t[:, :] t = true
        cdef const uint8_t[:, :] m
        cdef const float[:, :] narrow
        cdef const float[::1] narrow_bound
        cdef const double[:, :] wide
        cdef const double[::1] wide_bound
        cdef const int64_t[::1] place = columns
        cdef bint single = scores.dtype == np.float32
        cdef se_rows rows
        cdef se_scores compared
        cdef int64_t* local
        cdef int seen
        rows.rows, rows.columns = t.shape[0], t.shape[1]
        if not rows.rows:
            return 0, True
        if not rows.columns:
            self.blank_rows(rows.rows)
            return 0, True
        if single:
            narrow, narrow_bound = scores, bounds
            compared.at, compared.stride, compared.bounds = &narrow[0, 0], narrow.strides[0], &narrow_bound[0]
        else:
            wide, wide_bound = scores, bounds
            compared.at, compared.stride, compared.bounds = &wide[0, 0], wide.strides[0], &wide_bound[0]
        compared.narrow, compared.finite = single, True
        rows.true_, rows.true_stride = &t[0, 0], t.strides[0]
        rows.pred, rows.pred_stride = NULL, 0
        rows.hidden, rows.hidden_stride = NULL, 0
        if hidden is not None:
            m = hidden
            rows.hidden, rows.hidden_stride = &m[0, 0], m.strides[0]
        local = <int64_t*>calloc(5 * rows.columns, sizeof(int64_t))
        if local == NULL:
            raise MemoryError
        try:
            if rows.rows * rows.columns >= RELEASE:
                with nogil:
                    seen = se_dense(&rows, &compared, VECTOR, local, &self.rows)
            else:
                seen = se_dense(&rows, &compared, VECTOR, local, &self.rows)
            if seen < 0:
                raise MemoryError
            self.place(local, &place[0], rows.columns, fixed)
            self.n += rows.rows
            return seen, bool(compared.finite)
        finally:
            free(local)

    def count_lists(self, Py_ssize_t examples, Py_ssize_t fixed, true, pred, hidden, named, everywhere):
        cdef const int64_t[::1] always = everywhere
        cdef se_lists sides[4]
        cdef Py_ssize_t position, column
        cdef int64_t* before = NULL
        cdef int64_t* mark = NULL
        cdef int written
        cdef bint wide = True, repeats = True, pairs
        pairs = hidden is None and named is None and true is not None and pred is not None and examples < MANY
        if pairs:
            wide = not (is_narrow(true) and is_narrow(pred))
            repeats = not (true.distinct and pred.distinct)
        arrays = borrow_all(sides, true, pred, hidden, named, pairs, wide, examples, self.width)
        before = <int64_t*>malloc((always.shape[0] + 1) * sizeof(int64_t))
        try:
            if not pairs:
                mark = <int64_t*>calloc(self.width, sizeof(int64_t))
            if before == NULL or (mark == NULL and not pairs):
                raise MemoryError
            for position in range(always.shape[0]):
                before[position] = self.said(always[position])
            with nogil:
                if pairs:
                    written = se_count_pairs(examples, &sides[0], &sides[1], wide, repeats, VECTOR, self.width, self.cell,
                                             &self.rows)
                else:
                    written = se_count_lists(examples, &sides[0], &sides[1], &sides[2], &sides[3], self.width, self.cell,
                                             &self.rows, mark, NULL)
            if written == -1:
                raise MemoryError
            if written == -2:
                raise IndexError("a list or a column is out of range")
            for position in range(always.shape[0]):
                column = always[position]
                self.cell[5 * column] += examples - (self.said(column) - before[position])
            for column in range(min(fixed, self.width)):
                self.cell[5 * column] = 0
            self.n += examples
        finally:
            free(before)
            free(mark)

    # -- merging and reading ------------------------------------------------------------------------------------------------

    def prepare_merge(self, Counts other, columns, Py_ssize_t fixed, int sign):
        cdef Merged* data
        cdef Py_ssize_t width = other.width, column
        cdef const int64_t[::1] place
        if sign > 0 and other.n > COUNT_MAX - self.n:
            return FULL
        if columns is None:
            self.reserve(width)
        else:
            place = columns
            width = min(width, place.shape[0])
            for column in range(width):
                if not 0 <= place[column] < self.width:
                    raise IndexError(f"column {place[column]} is out of range")
        if other is self or not other.scratch:
            other = other.copy(None)  # which nobody changes before the commit
        if not se_sums_promise(&self.rows, other.rows.used):
            raise MemoryError
        data = <Merged*>calloc(1, sizeof(Merged) + width * sizeof(int64_t))
        if data == NULL:
            self.rows.promised -= other.rows.used
            raise MemoryError
        data.counts, data.other, data.promised = <PyObject*>self, <PyObject*>other, other.rows.used
        Py_INCREF(other)
        data.width, data.fixed, data.by = width, fixed, sign
        if columns is not None and width:
            data.place = <int64_t*>(data + 1)
            memcpy(data.place, &place[0], width * sizeof(int64_t))
        part = se_part_new(commit_merge, data, release_merge, self)
        if sign < 0:
            if not self.holds(other, data.place, width, fixed):
                return REFUSED
            self.apply(other, data.place, width, fixed, -1)
            possible = self.is_possible(fixed)
            self.apply(other, data.place, width, fixed, 1)
            if not possible:
                return REFUSED
        return part

    cdef bint holds(self, Counts other, const int64_t* place, Py_ssize_t width, Py_ssize_t fixed) noexcept:
        """Whether every count is at least that of the other."""
        cdef Py_ssize_t column, outcome, to
        cdef size_t at = 0
        cdef uint64_t outer, inner
        cdef int64_t* sums
        for column in range(width):
            to = column if place == NULL else place[column]
            for outcome in range(place != NULL and to < fixed, 5):
                if self.cell[5 * to + outcome] < other.cell[5 * column + outcome]:
                    return False
        while True:
            sums = se_sums_next(&other.rows, &at, &outer, &inner)
            if sums == NULL:
                return self.n >= other.n
            if se_sums_count(&self.rows, outer, inner) < sums[0]:
                return False

    cdef void apply(self, Counts other, const int64_t* place, Py_ssize_t width, Py_ssize_t fixed, int by) noexcept:
        """Add the other's counts, or take them away; there is room."""
        cdef Py_ssize_t column, outcome, to
        cdef size_t at = 0
        cdef uint64_t outer, inner
        cdef int64_t* sums
        for column in range(width):
            to = column if place == NULL else place[column]
            for outcome in range(place != NULL and to < fixed, 5):
                self.cell[5 * to + outcome] += by * other.cell[5 * column + outcome]
        while True:
            sums = se_sums_next(&other.rows, &at, &outer, &inner)
            if sums == NULL:
                break
            se_sums_add(&self.rows, outer, inner, by * sums[0])
        self.n += by * other.n
        if by < 0:
            self.spare = self.present = 0  # what the last full look found holds no longer

    def cells(self, Py_ssize_t width):
        out = np.zeros((width, 5), np.int64)
        cdef int64_t[:, ::1] view = out
        if width:
            memcpy(&view[0, 0], self.cell, 5 * min(width, self.width) * sizeof(int64_t))
        return out

    def outcomes(self, columns):
        cdef const int64_t[::1] place = columns
        cdef Py_ssize_t position, outcome, count = place.shape[0]
        out = np.empty((5, count), np.int64)
        cdef int64_t[:, ::1] view = out
        for position in range(count):
            if not 0 <= place[position] < self.width:
                raise IndexError(f"column {place[position]} is out of range; one object is for one thread at a time")
            for outcome in range(5):
                view[outcome, position] = self.cell[5 * place[position] + outcome]
        return out

    def row_keys(self):
        return row_keys_of(&self.rows)

    def mentioned(self, Py_ssize_t width):
        out = np.zeros(width, np.bool_)
        cdef uint8_t[::1] view = out.view(np.uint8)
        cdef Py_ssize_t column
        for column in range(min(width, self.width)):
            view[column] = self.said(column) != 0
        return out

    def at(self, slots):
        cdef const int64_t[::1] slot = np.ascontiguousarray(slots, np.int64)
        self.check(slot)
        out = np.empty(slot.shape[0], np.int64)
        cdef int64_t[::1] view = out
        cdef Py_ssize_t position
        for position in range(slot.shape[0]):
            view[position] = self.cell[slot[position]]
        return out

    def times(self, tuple key):
        return se_sums_count(&self.rows, outer_of(key), inner_of(key))

    def held(self):
        return self.rows.used

    def compact(self):
        """Nothing to do: the table drops row keys of which no example is left whenever it grows."""

    def restore(self, int64_t examples, cells, keys, times):
        cdef const int64_t[:, :] cell = cells
        cdef const int64_t[:, :] key = keys
        cdef const int64_t[:] time = times
        cdef Py_ssize_t row, outcome
        self.reserve(cell.shape[0])
        for row in range(cell.shape[0]):
            for outcome in range(5):
                self.cell[5 * row + outcome] = cell[row, outcome]
        if not se_sums_reserve(&self.rows, key.shape[0]):
            raise MemoryError
        for row in range(key.shape[0]):
            se_sums_add(&self.rows, <uint64_t>key[row, 0] | <uint64_t>key[row, 1] << 32,
                        <uint64_t>key[row, 2] | <uint64_t>key[row, 3] << 32, time[row])
        self.n = examples

    def copy(self, root):
        cdef Counts twin = Counts(root, self.width)
        cdef Py_ssize_t words = (self.rows.mask + 1) * 3
        cdef uint64_t* places = <uint64_t*>malloc(words * sizeof(uint64_t))
        if places == NULL:
            raise MemoryError
        free(twin.rows.places)
        twin.rows, twin.rows.places, twin.rows.promised = self.rows, places, 0
        memcpy(places, self.rows.places, words * sizeof(uint64_t))
        memcpy(twin.cell, self.cell, 5 * self.width * sizeof(int64_t))
        twin.n = self.n
        return twin


cdef uint64_t outer_of(tuple key) except *:
    return <uint64_t>key[0] | <uint64_t>key[1] << 32


cdef uint64_t inner_of(tuple key) except *:
    return <uint64_t>key[2] | <uint64_t>key[3] << 32


# -- prepared parts -----------------------------------------------------------------------------------------------------

cdef struct Counted:
    PyObject* counts
    uint64_t outer
    uint64_t inner
    int by
    bint promised
    Py_ssize_t slots
    Py_ssize_t* slot


cdef struct Merged:
    PyObject* counts
    PyObject* other
    size_t promised
    Py_ssize_t width
    Py_ssize_t fixed
    int by
    int64_t* place


cdef void commit_example(void* data) noexcept:
    cdef Counted* part = <Counted*>data
    cdef Counts counts = <Counts>part.counts
    cdef Py_ssize_t position
    for position in range(part.slots):
        counts.cell[part.slot[position]] += part.by
    se_sums_add(&counts.rows, part.outer, part.inner, part.by)
    counts.n += part.by
    if part.by < 0:
        counts.release_slots(part.slot, part.slots)
    release_promise(part)


cdef void release_promise(Counted* part) noexcept:
    (<Counts>part.counts).rows.promised -= part.promised
    part.promised = False


cdef void release_example(void* data) noexcept:
    release_promise(<Counted*>data)
    free(data)


cdef void commit_merge(void* data) noexcept:
    cdef Merged* part = <Merged*>data
    (<Counts>part.counts).apply(<Counts>part.other, part.place, part.width, part.fixed, part.by)
    (<Counts>part.counts).rows.promised -= part.promised
    part.promised = 0


cdef void release_merge(void* data) noexcept:
    cdef Merged* part = <Merged*>data
    (<Counts>part.counts).rows.promised -= part.promised
    Py_XDECREF(part.other)
    free(part)


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
    cdef size_t at
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
        if memory == NULL or not se_sums_init(&rows, 64, 1):
            raise MemoryError
        with nogil:
            written = se_count_groups(examples, &sides[0], &sides[1], wide, VECTOR, &pairs, &rows)
        if written == -1:
            raise MemoryError
        if written == -2:
            raise IndexError("a list, a column or a code is out of range")
        at = 0
        while True:
            sums = se_sums_next(&rows, &at, &outer, &inner)
            if sums == NULL:
                break
            one = counts[inner >> 32]
            if not se_sums_reserve(&one.rows, 1):
                raise MemoryError
            se_sums_add(&one.rows, outer, inner & LOW, sums[0])
            one.n += sums[0]
        for group, one in enumerate(counts):
            if one.n:
                se_add_pairs(&pairs, group, one.cell)
    finally:
        free(memory)
        free(rows.places)
