"""`Placing`, a base class of `Counts`: reads examples of common forms into slots, a row key and a row of scores."""

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.sequence cimport PySequence_Fast_GET_ITEM, PySequence_Fast_GET_SIZE
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from streameval.kernel.commit.compiled cimport Root
from streameval.kernel.decisions.cells cimport (
    SE_DOUBLE, SE_FLOAT, borrow_cells, se_cells, se_plain_narrow_cells, se_reaching, se_rows, se_slots,
)
from streameval.kernel.lists cimport read_score
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.scores cimport se_score_rows

cimport numpy as cnp
import numpy as np

from streameval.kernel.types import EITHER, Lists

cnp.import_array()

cdef extern from "Python.h":
    PyObject* Py_True
    PyObject* Py_False
    int PySet_CheckExact(object)
    int PyFrozenSet_CheckExact(object)
    ctypedef struct setentry:
        PyObject* key
        Py_hash_t hash
    ctypedef struct PySetObject:
        Py_ssize_t mask
        setentry* table
    long PyLong_AsLong(object) except? -1
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    Py_ssize_t PyUnicode_GET_LENGTH(object)

cdef PyObject* NUMPY_TRUE = <PyObject*>np.True_
cdef PyObject* NUMPY_FALSE = <PyObject*>np.False_
cdef dict BITS = {member: 1 << place for place, member in enumerate(EITHER)}  # one bit for each
cdef enum:
    KNOWN = 8192  # the most places of a cache of labels; tables with few columns, as slices have, use fewer


cdef class Placing:
    """The methods of `streameval.kernel.decisions.numpy.Counts` that read single examples."""

    def __cinit__(self, root, Py_ssize_t width):
        self.width = max(width, 8)
        self.root = root if isinstance(root, Root) else Root()  # none for copies, which commit nothing

    def __dealloc__(self):
        forget(self)
        free(self.mark)
        free(self.block)

    cpdef reserve(self, Py_ssize_t width):
        """Make room for columns, and leave all counts as they are."""
        if width > self.width:
            self.width = max(width, 2 * self.width)
            free(self.mark)
            self.mark = NULL
            if self.last < KNOWN - 1:
                forget(self)

    cdef int take_bounds(self, dict columns, object threshold) except -1:
        """Set the number of columns that can be read, and the bound from which a score in each is a prediction."""
        self.size = PyDict_Size(columns)
        self.reserve(self.size)
        self.bounded, self.scored = self.width, threshold is not None
        if threshold is None or PyFloat_CheckExact(threshold):
            self.bound = threshold if self.scored else INFINITY
            self.bounds, self.by = &self.bound, 0
        else:
            self.bounds, self.by, self.thresholds = <const double*>cnp.PyArray_DATA(threshold), 1, threshold
            self.bounded = min(self.width, cnp.PyArray_DIM(threshold, 0))
            self.size = min(self.size, self.bounded)
        return 0

    cdef int begin(self, dict columns, object threshold) except -1:
        self.take_bounds(columns, threshold)
        if self.mark == NULL:
            self.mark = <int64_t*>cleared(3 * self.width + 1, sizeof(int64_t))
            self.touched = self.mark + self.width
            self.bytes = <uint8_t*>(self.touched + self.width + 1)  # `note` writes one entry ahead
        if self.known == NULL:
            self.last = 255
            while self.last < KNOWN - 1 and self.last < <size_t>(8 * self.width):
                self.last = 2 * self.last + 1
            self.known = <Known*>cleared(self.last + 1, sizeof(Known))
        self.turn += 1
        return 0

    cdef bint in_order(self, dict columns, Py_ssize_t fixed, Py_ssize_t width) except -1:
        """Whether a row of ``width`` cells is the first columns: those of all declared labels, or of labels 0, 1, 2 ..."""
        cdef Py_ssize_t column
        if fixed or not width:
            return fixed == width and 0 < width <= self.bounded
        notes = self.root.guard.notes
        if width != len(columns) or notes is None or notes.cell.value.width != width:  # the reader must note it first
            return False
        for column in range(self.numbers, width):  # a label's column never changes
            if columns.get(column) != column:
                return False
        self.numbers = width
        return width <= self.bounded

    cdef Py_ssize_t placed(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred) except -2:
        """Write the slots of an example to ``touched``; return how many, or -1 if the fast path does not handle it."""
        cdef Py_ssize_t count = 0, slots = -1
        if PyDict_CheckExact(y_true) and PyDict_CheckExact(y_pred):
            slots = in_step(self, columns, fixed, y_true, y_pred)
            if slots >= 0:
                return slots
        elif cnp.PyArray_CheckExact(y_true) and cnp.PyArray_CheckExact(y_pred):
            count = row(self, columns, fixed, y_true, False, self.bytes)
            if not count or row(self, columns, fixed, y_pred, self.scored, self.bytes + count) != count:
                return -1
            return se_slots(self.bytes, self.bytes + count, count, fixed, self.touched, self.key)
        return self.sides(columns, fixed, y_true, y_pred, None)

    cdef Py_ssize_t sides(self, dict columns, Py_ssize_t fixed, object y_true, object y_pred, object mask) except -2:
        """As `placed`, for an example whose sides (truths, predictions, masked labels) are read one after the other."""
        cdef Py_ssize_t count = 0
        self.turn += 1
        if not (side(self, columns, fixed, y_true, 1, &count) and side(self, columns, fixed, y_pred, 2, &count)):
            return -1
        if mask is not None and not side(self, columns, fixed, mask, 8, &count):
            return -1
        return outcomes_of(self, count, fixed)

    cdef tuple row_key(self):
        return self.key[0] & 0xFFFFFFFF, self.key[0] >> 32, self.key[1] & 0xFFFFFFFF, self.key[1] >> 32

    def place_example(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold):
        cdef cnp.npy_intp size
        self.begin(columns, threshold)
        size = self.placed(columns, fixed, y_true, y_pred)
        if size < 0:
            return None
        slots = cnp.PyArray_EMPTY(1, &size, cnp.NPY_INT64, 0)
        memcpy(cnp.PyArray_DATA(slots), self.touched, size * sizeof(int64_t))
        return slots, self.row_key()

    cdef object row_of_truths(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold):
        """Truths that name labels as a row like the scores, other truths unchanged; None if the fast path does not apply."""
        cdef Py_ssize_t count = 0, at
        cdef uint8_t* to
        if cnp.PyArray_CheckExact(y_true) or not cnp.PyArray_CheckExact(y_pred) or cnp.PyArray_NDIM(y_pred) != 1:
            return y_true
        bits = cnp.PyArray_ZEROS(1, cnp.PyArray_DIMS(y_pred), cnp.NPY_UINT8, 0)  # first, as it may run a finaliser
        to = <uint8_t*>cnp.PyArray_DATA(bits)
        self.begin(columns, threshold)
        if not side(self, columns, fixed, y_true, 1, &count):
            return None
        for at in range(count):
            if self.touched[at] >= cnp.PyArray_DIM(bits, 0) or self.mark[self.touched[at]] & 8:
                return None
            to[self.touched[at]] = self.mark[self.touched[at]] & 1
        return bits

    cdef Py_ssize_t read_rows(
        self, dict columns, y_true, y_pred, threshold, int dimensions, se_score_rows* rows, se_rows* binary
    ) except -2:
        """Read one or a few rows of all labels into ``block``; return the number of slots of the first, or -1 if the fast
        path does not handle them."""
        cdef se_cells true, pred
        cdef Py_ssize_t row, width, cells, size
        y_true = self.row_of_truths(columns, rows.fixed, y_true, y_pred, threshold)
        if not (borrow_cells(y_true, dimensions, &true) and borrow_cells(y_pred, dimensions, &pred)):
            return -1
        if not cnp.PyArray_SAMESHAPE(y_true, y_pred) or not cnp.PyArray_IS_C_CONTIGUOUS(y_pred):
            return -1
        self.begin(columns, threshold)
        rows.rows, rows.width = cnp.PyArray_DIM(y_true, 0) if dimensions == 2 else 1, cnp.PyArray_DIM(y_true, dimensions - 1)
        cells, size = rows.rows * rows.width, cnp.PyArray_ITEMSIZE(y_pred)
        if pred.kind not in (SE_FLOAT, SE_DOUBLE) or not cells or rows.rows > FEW_ROWS:
            return -1
        if not self.in_order(columns, rows.fixed, rows.width):
            return -1
        self.make_block(rows.width, cells)
        rows.columns, rows.scores = self.block, self.block + self.block_width
        rows.true_ = binary.true_ = <uint8_t*>(self.block + self.block_width + cells)
        rows.ranked, rows.limit, rows.single, rows.sorted = NULL, rows.width, pred.kind == SE_FLOAT, True
        binary.masked, binary.true_cells, binary.pred_cells, binary.bits, binary.masked_stride = NULL, NULL, NULL, NULL, 0
        binary.pred, binary.rows, binary.columns = binary.true_ + cells, rows.rows, rows.width
        binary.true_stride = binary.pred_stride = rows.width
        # A copy, as more than one state reads it, and another thread may change the array between these reads.
        memcpy(<void*>rows.scores, pred.at, cells * size)
        pred.at = <const char*>rows.scores
        if se_plain_narrow_cells(&true, 0, rows.rows, rows.width, <uint8_t*>binary.true_) > 1:
            return -1
        width = rows.width if self.by else cells
        for row in range(cells // width):
            if se_reaching(&pred, width, self.bounds, self.by, <uint8_t*>binary.pred + row * width) > 1:
                return -1
            pred.at += width * size
        return se_slots(binary.true_, binary.pred, rows.width, rows.fixed, self.touched, self.key)

    cdef int make_block(self, Py_ssize_t width, Py_ssize_t cells) except -1:
        """Make room for ``width`` columns, which are filled in, and ``cells`` cells in ``block``."""
        cdef Py_ssize_t column
        if width <= self.block_width and cells <= self.block_cells:
            return 0
        width, cells = max(width, self.block_width), max(cells, self.block_cells)
        free(self.block)
        self.block_width = self.block_cells = 0
        self.block = <int64_t*>malloc(width * sizeof(int64_t) + cells * (sizeof(double) + 2))
        check_memory(self.block != NULL)
        self.block_width, self.block_cells = width, cells
        for column in range(width):
            self.block[column] = column
        return 0

    cdef Py_ssize_t read_mapping(self, dict columns, y_true, dict y_pred, mask, threshold, se_score_rows* rows) except -2:
        """Make a row in ``block`` of the labels with a score, then other labels that are true or masked; return the number
        of slots of the example, or -1 if the fast path does not handle it."""
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t position = 0, width = 0, count = 0, truths, room
        cdef int64_t* column
        cdef double* score
        self.begin(columns, threshold)
        if not side(self, columns, rows.fixed, y_true, 1, &count):
            return -1
        if mask is not None and not side(self, columns, rows.fixed, mask, 8, &count):
            return -1
        truths, room = count, count + PyDict_Size(y_pred)
        self.make_block(0, 2 * room + 1)
        column = self.block + self.block_width
        score = <double*>(column + room)
        while PyDict_Next(y_pred, &position, &key, &value):
            column[width] = column_of(self, columns, key)
            if column[width] < 0 or not read_score(value, self.scored, &score[width]):
                return -1
            note(self, column[width], 4 + 2 * (self.scored and score[width] >= self.bounds[self.by * column[width]]), &count)
            width += 1
        rows.single = rows.sorted = False
        self.end_row(width, truths, room, rows)
        return outcomes_of(self, count, rows.fixed)

    cdef bint read_held(
        self, const int32_t* slot, Py_ssize_t slots, const int32_t* columns, const void* scores, Py_ssize_t scored,
        se_score_rows* rows,
    ) except -1:
        """Make the same row from stored slots and scores; False if a label is masked, or is not in these columns."""
        cdef Py_ssize_t at, placed = slots, count = 0
        cdef int64_t* column
        self.make_block(0, 2 * (slots + scored))
        column, rows.sorted = self.block + self.block_width, True
        self.turn += 1
        for at in range(slots):
            if slot[at] % 5 == 4 or slot[at] >= 5 * self.size:
                return False
            note(self, slot[at] // 5, slot[at] % 5 & 1, &count)
        slots = count
        for at in range(scored):
            if columns[at] >= self.size:
                return False
            note(self, columns[at], 4, &count)
            column[at] = columns[at]
            rows.sorted &= columns[at] < rows.fixed and (not at or columns[at - 1] < columns[at])
        if scored:  # else one may be NULL, which memcpy does not allow even for 0 bytes
            memcpy(column + slots + scored, scores, scored * (4 if rows.single else 8))
        self.end_row(scored, slots, slots + scored, rows)
        for at in range(placed):
            self.touched[at] = slot[at]
        rows.slots, rows.placed = self.touched, placed
        return True

    cdef void end_row(self, Py_ssize_t scored, Py_ssize_t noted, Py_ssize_t room, se_score_rows* rows) noexcept:
        """Append to the row in ``block`` the first ``noted`` labels that are true or masked without a score; fill flags."""
        cdef int64_t* column = self.block + self.block_width
        cdef uint8_t* true = <uint8_t*>(column + 2 * room)
        cdef Py_ssize_t at, width = scored
        rows.mask = NULL
        for at in range(noted):
            if self.mark[self.touched[at]] & 8:
                rows.mask = true + 2 * room
            if self.mark[self.touched[at]] & 9 and not self.mark[self.touched[at]] & 4:  # without a score
                column[width] = self.touched[at]
                width += 1
        for at in range(width):
            true[at], true[room + at] = self.mark[column[at]] & 1, self.mark[column[at]] >> 2 & 1
            true[2 * room + at] = self.mark[column[at]] >> 3 & 1
        rows.columns, rows.scores, rows.true_ = column, column + room, true
        rows.ranked = true + room if width > scored else NULL
        rows.rows, rows.width, rows.limit = 1, width, self.size

    def place_scores(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold):
        cdef se_score_rows rows
        cdef se_rows binary
        cdef cnp.npy_intp shape[2]
        cdef cnp.npy_intp size
        cdef bint is_row = not PyDict_CheckExact(y_pred)
        cdef int64_t turn
        cdef int64_t* to
        cdef Py_ssize_t at
        rows.fixed = fixed
        if is_row:
            size = self.read_rows(columns, y_true, y_pred, threshold, 1, &rows, &binary)
        else:
            size = self.read_mapping(columns, y_true, y_pred, None, threshold, &rows)
        if size < 0 or not (is_row or rows.mask == NULL):
            return None
        turn, key, shape[0], shape[1] = self.turn, self.row_key(), 1, len(y_pred)
        slots = cnp.PyArray_EMPTY(1, &size, cnp.NPY_INT64, 0)
        scores = cnp.PyArray_EMPTY(1 + is_row, shape + 1 - is_row, cnp.NPY_FLOAT if rows.single else cnp.NPY_DOUBLE, 0)
        if is_row:
            true, ranked = cnp.PyArray_EMPTY(2, shape, cnp.NPY_UINT8, 0), cnp.PyArray_EMPTY(2, shape, cnp.NPY_UINT8, 0)
        else:
            true, ranked = one_list(key[0]), one_list(shape[1])
        if self.turn != turn or self.mark == NULL:  # a finaliser has read another example here
            return None
        memcpy(cnp.PyArray_DATA(slots), self.touched, size * sizeof(int64_t))
        memcpy(cnp.PyArray_DATA(scores), rows.scores, shape[1] * cnp.PyArray_ITEMSIZE(scores))
        if is_row:
            memcpy(cnp.PyArray_DATA(true), binary.true_, shape[1])
            memcpy(cnp.PyArray_DATA(ranked), binary.pred, shape[1])
        else:
            memcpy(cnp.PyArray_DATA(ranked.places), rows.columns, shape[1] * sizeof(int64_t))
            to = <int64_t*>cnp.PyArray_DATA(true.places)
            for at in range(rows.width):
                if rows.true_[at]:
                    to[0] = rows.columns[at]
                    to += 1
        return slots, key, true, ranked, scores


cdef object one_list(cnp.npy_intp count):
    """One list of ``count`` columns, which the caller writes."""
    cdef cnp.npy_intp bounds = 2
    offsets, places = cnp.PyArray_ZEROS(1, &bounds, cnp.NPY_INT64, 0), cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT64, 0)
    (<int64_t*>cnp.PyArray_DATA(offsets))[1] = count
    return Lists(offsets, places)


cdef void forget(Placing self) noexcept:
    cdef size_t at
    for at in range(self.last + 1 if self.known != NULL else 0):
        drop(&self.known[at])
    free(self.known)
    self.known = NULL


cdef inline void drop(Known* known) noexcept:
    """Release the label of a place, unless it is a number."""
    if not <size_t>known.label & 1:
        Py_XDECREF(known.label)


cdef inline void note(Placing self, Py_ssize_t column, int64_t bit, Py_ssize_t* count) noexcept nogil:
    """Mark a column with a bit. It has no branch on whether the column was marked before, which is not predictable."""
    cdef int64_t start = 16 * self.turn, said = self.mark[column]
    self.mark[column] = (said if said > start else start) | bit
    self.touched[count[0]] = column
    count[0] += said < start


cdef inline int binary_of(Placing self, PyObject* value, bint scored, Py_ssize_t column) except -2:
    """1 for true, 0 for false, -1 for values that the fast path does not handle."""
    cdef double score
    if value == Py_True or value == NUMPY_TRUE:
        return 1
    if value == Py_False or value == NUMPY_FALSE:
        return 0
    if scored:
        return score >= self.bounds[self.by * column] if read_score(value, True, &score) else -1
    if PyLong_CheckExact(<object>value):
        if <object>value == 0:
            return 0
        if <object>value == 1:
            return 1
    return -1


cdef inline Py_ssize_t column_of(Placing self, dict columns, PyObject* label) except -2:
    """The column of a known label that needs no conversion, else -1. Columns are cached by the label's address, since
    examples tend to share label objects. ``columns`` has all labels, numbered from 0; or none, where labels must be
    checked first."""
    cdef Known* known = &self.known[<size_t>label // 32 & self.last]
    if known.label == label and known.column < self.size:
        return known.column
    return searched(self, columns, label, known)


cdef Py_ssize_t searched(Placing self, dict columns, PyObject* label, Known* known) except -2:
    """As `column_of`, for a label that is not at its place: look at the neighbouring place, then in the dict."""
    cdef Known* second = &self.known[known - self.known ^ 1]
    if second.label == label and second.column < self.size:
        return second.column
    return remembered(self, columns, label, known, second)


cdef Py_ssize_t remembered(Placing self, dict columns, PyObject* label, Known* known, Known* second) except -2:
    """Look a label up in the dict, and cache its column. Integers are also cached by number, since equal integers may be
    many objects; the entry is 2 * number + 1, as no object has an odd address."""
    cdef Known* numbered = NULL
    cdef PyObject* value
    cdef Py_ssize_t column
    cdef long long number
    cdef int overflow = 0
    if PyLong_CheckExact(<object>label):
        number = PyLong_AsLongLongAndOverflow(<object>label, &overflow)
        if 0 <= number < INT32_MAX:
            numbered = &self.known[<size_t>number & self.last]
            number = 2 * number + 1
            if <size_t>numbered.label == <size_t>number and numbered.column < self.size:
                return numbered.column
    elif not PyUnicode_CheckExact(<object>label):
        return -1
    value = PyDict_GetItemWithError(columns, <object>label)
    column = -1 if value == NULL else PyLong_AsLong(<object>value)
    if not 0 <= column < self.size:
        return -1
    Py_INCREF(<object>label)
    drop(second)
    second[0] = known[0]
    known.label, known.column = label, column
    if numbered != NULL:
        drop(numbered)
        numbered.label, numbered.column = <PyObject*><size_t>number, column
    return column


cdef inline bint noted(Placing self, dict columns, PyObject* label, int64_t bit, Py_ssize_t* count) except -1:
    """Mark the column of a label with a bit. False if the fast path does not handle the label."""
    cdef Py_ssize_t column = column_of(self, columns, label)
    if column >= 0:
        note(self, column, bit, count)
    return column >= 0


cdef Py_ssize_t in_step(Placing self, dict columns, Py_ssize_t fixed, dict y_true, dict y_pred) except -2:
    """Read two mappings whose keys are the same objects in the same order; the number of slots, or -1 if they differ."""
    cdef PyObject* key
    cdef PyObject* other
    cdef PyObject* actual
    cdef PyObject* guess
    cdef Py_ssize_t at = 0, place = 0, slots = 0, column
    cdef uint64_t outer = 0, inner = 0
    cdef int true, pred
    if PyDict_Size(y_true) != PyDict_Size(y_pred) or PyDict_Size(y_true) > self.width:
        return -1
    while PyDict_Next(y_true, &at, &key, &actual) and PyDict_Next(y_pred, &place, &other, &guess):
        if key != other:
            return -1
        column = column_of(self, columns, key)
        if column < 0:
            return -1
        true, pred = binary_of(self, actual, False, column), binary_of(self, guess, self.scored, column)
        if true < 0 or pred < 0:
            return -1
        if true or pred or column >= fixed:
            self.touched[slots] = 5 * column + true + 2 * pred
            slots += 1
        outer += true | <uint64_t>pred << 32
        inner += true & pred
    self.key[0], self.key[1] = outer, inner
    return slots


cdef int side(Placing self, dict columns, Py_ssize_t fixed, object argument, int bit, Py_ssize_t* count) except -1:
    """Mark the columns of one side of an example with ``bit``. 0 if the fast path does not handle a form, label or value."""
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t at = 0, position = 0, column
    cdef int says, present
    cdef PySetObject* entries
    if PyDict_CheckExact(argument):
        while PyDict_Next(argument, &at, &key, &value):
            column = column_of(self, columns, key)
            if bit == 1 and <object>value is None and column >= 0:
                note(self, column, 8, count)
                continue
            says = binary_of(self, value, self.scored and bit == 2, column) if column >= 0 else -1
            if says < 0:
                return 0
            note(self, column, bit * says, count)
        return 1
    if PySet_CheckExact(argument) or PyFrozenSet_CheckExact(argument):
        entries = <PySetObject*>argument  # an iterator takes twice as long, and may start a garbage collection
        for position in range(entries.mask + 1):
            key = entries.table[position].key
            present = key != NULL and entries.table[position].hash != -1  # -1: a deleted entry
            if present and not noted(self, columns, key, bit, count):
                return 0
        return 1
    if PyList_CheckExact(argument) or PyTuple_CheckExact(argument):
        if may_be_row(argument):
            return 0
        for position in range(PySequence_Fast_GET_SIZE(argument)):
            if not noted(self, columns, PySequence_Fast_GET_ITEM(argument, position), bit, count):
                return 0
        return 1
    for column in range(row(self, columns, fixed, argument, self.scored and bit == 2, self.bytes)):
        position = column + 1
        note(self, column, bit * self.bytes[column], count)
    return position > 0


cdef bint may_be_row(object members) except -1:
    """Whether `streameval.inputs.lists` must check a list: it is indicators only, and repeats one or is 1 and another."""
    cdef Py_ssize_t position, size = PySequence_Fast_GET_SIZE(members)
    cdef PyObject* member
    cdef int bit, seen = 0
    cdef bint repeats = False
    for position in range(size if size > 1 else 0):
        member = PySequence_Fast_GET_ITEM(members, position)
        if PyUnicode_CheckExact(<object>member):
            if PyUnicode_GET_LENGTH(<object>member) > 4:  # longer than any indicator, as most names are
                return False
        elif not PyLong_CheckExact(<object>member):
            return False
        if <object>member not in BITS:
            return False
        bit = BITS[<object>member]
        repeats |= seen & bit
        seen |= bit
    return repeats or size == 2 and members[0] in (1, "1")


cdef Py_ssize_t row(Placing self, dict columns, Py_ssize_t fixed, object argument, bint scored, uint8_t* to) except -1:
    """Read a row of all labels as bytes; return its width, or 0 if the fast path does not handle it."""
    cdef se_cells cells
    cdef Py_ssize_t width
    if not borrow_cells(argument, 1, &cells):
        return 0
    width = cnp.PyArray_DIM(argument, 0)
    if not self.in_order(columns, fixed, width):
        return 0
    if not scored or cnp.PyArray_TYPE(argument) == cnp.NPY_BOOL:
        return 0 if se_plain_narrow_cells(&cells, 0, 1, width, to) > 1 else width
    if cells.kind not in (SE_FLOAT, SE_DOUBLE) or se_reaching(&cells, width, self.bounds, self.by, to) > 1:
        return 0
    return width


cdef Py_ssize_t outcomes_of(Placing self, Py_ssize_t count, Py_ssize_t fixed) noexcept nogil:
    """Replace the columns in ``touched`` by slots, and set the row key; return the number of slots."""
    cdef Py_ssize_t position, column, slots = 0
    cdef uint64_t bits, outer = 0, inner = 0
    for position in range(count):
        column = self.touched[position]
        bits = 4 if self.mark[column] & 8 else self.mark[column] & 3
        if bits or column >= fixed:
            self.touched[slots] = 5 * column + bits
            slots += 1
        outer += bits & 1 | (bits >> 1 & 1) << 32
        inner += (bits == 3) | bits >> 2 << 32
    self.key[0], self.key[1] = outer, inner
    return slots
