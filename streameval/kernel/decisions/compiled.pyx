"""`Counts`, the compiled twin of `numpy.py`, which documents it. Its base classes are in counting.pyx and placing.pyx.

This file counts examples of common forms in one call. Evaluators call it; tape/compiled.pyx calls its cdef methods.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.dict cimport PyDict_CheckExact
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.sequence cimport PySequence_Fast_GET_ITEM, PySequence_Fast_GET_SIZE
from libc.stdint cimport INT64_MAX as COUNT_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from streameval.kernel.commit.compiled cimport Cell, Guard
from streameval.kernel.decisions.cells cimport SE_DOUBLE, SE_FLOAT, borrow_cells, se_bit_rows, se_cells, se_rows, se_scores
from streameval.kernel.decisions.counting cimport (
    BIT_COLUMNS, MANY, Change, borrow_bits, se_add_example, se_add_rows, se_take_back, sums_of_slots,
)
from streameval.kernel.decisions.placing cimport FEW_ROWS
from streameval.kernel.lists cimport read_score
from streameval.kernel.memory cimport check_memory, cleared
from streameval.kernel.part cimport (
    DONE, FULL, OTHER, REFUSED, SE_FOLLOWER_NAME, SE_PART_NAME, commit, se_commit, se_follower, se_part, se_part_new,
    se_release,
)
from streameval.kernel.scores cimport se_score_rows
from streameval.kernel.table cimport se_sums, se_sums_add, se_sums_init, se_sums_reserve, set_seed

cimport numpy as cnp
import numpy as np

from streameval.kernel.commit.compiled import RETIRED
from streameval.kernel.decisions.counting import count_groups, list_order, use_vectors, vectors, weigh_dense
from streameval.kernel.decisions.rows import limbs, list_cells, weigh_lists  # not compiled, as numpy has their loops

cnp.import_array()
set_seed()

cdef object FLOAT64 = np.float64
# Up to this many cells of at most FEW_ROWS rows are counted straight into the table: one block, which is checked first.
cdef Py_ssize_t FEW_CELLS = 16384


cdef void commit_scored(void* data) noexcept:
    cdef Scored* scored = <Scored*>data
    commit(<object>scored.counted)
    se_commit(scored.part, scored.prepared)


cdef void release_scored(void* data) noexcept:
    cdef Scored* scored = <Scored*>data
    se_release(scored.part, scored.prepared)
    Py_XDECREF(scored.counted)
    free(scored.block)
    free(scored)


cdef class Counts(Counting):
    """See `streameval.kernel.decisions.numpy.Counts`."""

    def __cinit__(self, root, Py_ssize_t width):
        self.most, self.weights = COUNT_MAX, ()

    # -- one example --------------------------------------------------------------------------------------------------

    @property
    def followers(self):
        return self.capsules

    @followers.setter
    def followers(self, tuple capsules):
        cdef int at, following = len(capsules)
        if following > FOLLOWERS:
            raise ValueError(f"at most {FOLLOWERS} tables follow")
        self.scores_follow = self.extra_follows = 0
        for at in range(following):
            self.follower[at] = <se_follower*>PyCapsule_GetPointer(capsules[at], SE_FOLLOWER_NAME)
            self.scores_follow += self.follower[at].reads_scores
            self.extra_follows |= self.follower[at].extra != NULL
        self.capsules, self.following = capsules, following

    cdef bint start(self):
        """Take the guard for a call that counts without weights; False if it is held, or if there are weights."""
        return not self.weighted() and self.root.guard.start()

    cdef bint weighted(self) noexcept:
        cdef Py_ssize_t at
        for at in range(len(self.weights)):
            if (<Cell>self.weights[at]).value is not None:
                return True
        return False

    def count_example(
        self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, weight=1.0, mask=None, int dimensions=1
    ):
        cdef double factor
        cdef int code = OTHER
        if not is_weight(weight, &factor) or not self.root.guard.start():
            return OTHER
        try:
            if factor == 1.0 and not self.weighted() and not self.extra_follows:
                code = count_placed(self, columns, fixed, y_true, y_pred, threshold, sign, dimensions, mask)
            elif dimensions == 1:
                code = commit_all(self.prepare_plain(columns, fixed, y_true, y_pred, threshold, sign, weight, mask))
            return code
        finally:
            self.root.guard.stop(code == DONE)

    cdef Py_ssize_t read_example(
        self, dict columns, y_true, y_pred, threshold, int sign, int dimensions, se_score_rows* rows, se_rows* binary, mask
    ) except -2:
        """Place an example, or read one or a few rows with scores; the number of slots of the first, or a negated code."""
        cdef Py_ssize_t slots = -OTHER
        rows.mask, rows.rows, rows.width = NULL, 1, 0
        if not self.scores_follow:
            self.begin(columns, threshold)
            if dimensions != 1:
                return -OTHER
            if mask is None:
                slots = self.placed(columns, rows.fixed, y_true, y_pred)
            else:
                slots = self.sides(columns, rows.fixed, y_true, y_pred, mask)
        elif dimensions == 1 and PyDict_CheckExact(y_pred):
            slots = self.read_mapping(columns, y_true, y_pred, mask, threshold, rows)
        elif mask is None and cnp.PyArray_CheckExact(y_pred) and cnp.PyArray_SIZE(y_pred) <= FEW_CELLS:
            slots = self.read_rows(columns, y_true, y_pred, threshold, dimensions, rows, binary)
        # A revert with followers is not fast beyond `most`, either, because a check of the counts may be due.
        if slots >= 0 and (sign > 0 or self.following) and rows.rows > self.most - self.counted.examples:
            return -FULL if sign > 0 and self.most == COUNT_MAX else -OTHER
        rows.slots, rows.placed = self.touched, slots
        return slots

    cdef bint follow(self, const se_score_rows* rows, int by, bint known, se_part* part, int* prepared) except -1:
        """Prepare rows in all followers, whose parts follow the first ``prepared``; False if one does not handle them."""
        cdef int at
        if rows.width > FEW_CELLS:  # for these, followers release the GIL, and another thread may overwrite `block`
            return False
        for at in range(self.following):
            if self.follower[at].prepare(self.follower[at].table, rows, by, known, &part[prepared[0]]):
                return False
            prepared[0] += 1
        return True

    def count_examples(self, dict columns, Py_ssize_t fixed, y_true, y_pred, object threshold):
        cdef se_sums keys
        cdef bytearray slots
        cdef Py_ssize_t examples = PySequence_Fast_GET_SIZE(y_true)
        cdef bint done = False
        if self.following or len(columns) > MANY // 5 or not self.start():
            return OTHER
        keys.places = NULL
        try:
            check_memory(se_sums_init(&keys, 64, 1))
            slots = self.place_examples(columns, fixed, y_true, y_pred, threshold, examples, NULL, &keys)
            if slots is None:
                return OTHER
            if examples > COUNT_MAX - self.counted.examples:
                return FULL
            check_memory(se_sums_reserve(&self.counted.rows, keys.used))
            self.add_examples(slots, &keys, examples)
            done = True
            return DONE
        finally:
            self.root.guard.stop(done)
            free(keys.places)

    cdef bytearray place_examples(
        self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, Py_ssize_t examples, int32_t* lengths, se_sums* keys
    ):
        """The slots of examples as int32; None for other forms. Fills ``lengths`` (unless NULL) and the row ``keys``."""
        cdef Py_ssize_t position, at, slots, used = 0
        cdef int32_t* slot
        cdef PyObject* true
        cdef PyObject* pred
        cdef bytearray held = bytearray()
        if examples != PySequence_Fast_GET_SIZE(y_true) or examples != PySequence_Fast_GET_SIZE(y_pred):
            return None
        self.begin(columns, threshold)
        for position in range(examples):
            true, pred = PySequence_Fast_GET_ITEM(y_true, position), PySequence_Fast_GET_ITEM(y_pred, position)
            slots = self.placed(columns, fixed, <object>true, <object>pred)
            if slots < 0:
                return None
            PyByteArray_Resize(held, (used + slots) * sizeof(int32_t))
            slot = <int32_t*>PyByteArray_AS_STRING(held) + used
            for at in range(slots):
                slot[at] = <int32_t>self.touched[at]
            if lengths != NULL:
                lengths[position] = <int32_t>slots
            used += slots
            check_memory(se_sums_reserve(keys, 1))
            se_sums_add(keys, self.key[0], self.key[1], 1)
        return held

    cdef void add_examples(self, bytearray slots, const se_sums* keys, Py_ssize_t examples) noexcept:
        """Count examples that were placed; there must be room for their row keys."""
        cdef const int32_t* slot = <const int32_t*>PyByteArray_AS_STRING(slots)
        cdef Py_ssize_t at
        for at in range(PyByteArray_GET_SIZE(slots) // <Py_ssize_t>sizeof(int32_t)):
            self.counted.cell[slot[at]] += 1
        se_add_rows(&self.counted, keys, 1)
        self.counted.examples += examples

    def prepare_plain(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, weight=1.0, mask=None):
        cdef double factor
        cdef Py_ssize_t slots
        cdef Scored* scored = NULL
        cdef se_part* counted
        cdef list added = []
        if not is_weight(weight, &factor):
            return OTHER
        weighs = factor != 1.0 or self.weighted()
        if (weighs and (sign < 0 or self.extra_follows)) or (sign < 0 and self.extra_follows):
            return OTHER  # the slow path checks whether the sums that are left are possible
        part = self.prepare_placed(columns, fixed, y_true, y_pred, threshold, sign, &slots, &scored, mask)
        if type(part) is int:
            return part
        if not weighs:
            return self.with_extra([part], scored) if self.extra_follows else [part]
        counted = <se_part*>PyCapsule_GetPointer(part if scored == NULL else <object>scored.counted, SE_PART_NAME)
        amounts = sums_of_slots((<Change*>counted.data).place, slots)
        self.weigh(added, amounts, factor, NULL if scored == NULL else scored.part)
        return self.with_weights([part], added)

    cdef object with_extra(self, list parts, const Scored* scored):
        """Append parts that add an example to the followers' ``extra`` sums; ``OTHER`` if their units are too coarse."""
        cdef int at
        for at in range(self.following):
            if self.follower[at].extra != NULL:
                part = (<Cell>self.extra[1 + at]).prepare_add([self.follower[at].extra(&scored.part[at]) + (1,)])
                if part is None:
                    return OTHER
                parts.append(part)
        return parts

    cdef int weigh(self, list added, dict amounts, double weight, const se_part* part) except -1:
        """Append what an example adds to weight sums: ``amounts`` for the decisions, then those of each follower's part."""
        cdef int at
        times, denominator = weight.as_integer_ratio()
        scale = denominator.bit_length() - 1
        added.append((amounts, scale, times))
        for at in range(self.following):
            added.append((self.follower[at].amounts(&part[at]), scale, times))
        return 0

    cdef object with_weights(self, list parts, list added):
        """Append parts that add ``added`` to weight sums; ``OTHER`` if there are no sums or their units are too coarse."""
        cdef int at, states = 1 + self.following
        for at in range(states):
            held = (<Cell>self.weights[at]).value if len(self.weights) == states else None
            if held is None:
                return OTHER
            part = (self.weights[at] if type(added[at][0]) is dict else held).prepare_add(added[at::states])
            if part is None:
                return OTHER
            parts += part if type(part) is list else [part]
        return parts

    cdef object prepare_placed(
        self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, Py_ssize_t* slots, Scored** scored, mask
    ):
        """A part that counts an example without its weight, or a code. Sets ``slots``, and ``scored`` if tables follow."""
        cdef Scored* data
        cdef se_score_rows rows
        cdef se_rows binary
        rows.fixed = fixed
        slots[0] = self.read_example(columns, y_true, y_pred, threshold, sign, 1, &rows, &binary, mask)
        if slots[0] < 0:
            return -slots[0]
        counted = self.prepared(None, self.touched, slots[0], fixed, self.key[0], self.key[1], sign, False)
        if type(counted) is int or not self.following:
            return counted
        data = <Scored*>cleared(1, sizeof(Scored))
        Py_INCREF(counted)
        data.counted, data.rows, scored[0] = <PyObject*>counted, rows, data
        # The part takes the block along, because another example, read before the commit, would overwrite it.
        data.block, self.block, self.block_width, self.block_cells = self.block, NULL, 0, 0
        part = se_part_new(commit_scored, data, release_scored, self)
        return part if self.follow(&data.rows, sign, False, data.part, &data.prepared) else OTHER

    def count_arrays(self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, mask=None):
        cdef se_rows rows
        cdef se_scores scores
        cdef se_scores* compared = NULL
        cdef se_cells true, pred, masked
        cdef Counts into
        cdef double bound
        code = OTHER
        if self.following:
            if mask is not None or self.scores_follow < self.following:  # pairs take single examples only
                return OTHER
            return self.count_example(columns, fixed, y_true, y_pred, threshold, 1, 1.0, None, 2)
        if not (borrow_cells(y_true, 2, &true) and borrow_cells(y_pred, 2, &pred)):
            return OTHER
        rows.rows, rows.columns = cnp.PyArray_DIM(y_true, 0), cnp.PyArray_DIM(y_true, 1)
        if rows.rows != cnp.PyArray_DIM(y_pred, 0) or rows.columns != cnp.PyArray_DIM(y_pred, 1):
            return OTHER
        self.take_bounds(columns, threshold)
        if not self.in_order(columns, fixed, rows.columns):
            return OTHER
        rows.masked, rows.masked_stride, rows.bits = NULL, 0, NULL
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
            bound = self.bound  # a copy, as another thread may change `self.bound` while scores are read
            scores.bounds, scores.by, compared = self.bounds if self.by else &bound, self.by, &scores
        else:
            return OTHER
        if rows.rows > FEW_ROWS or rows.rows * rows.columns > FEW_CELLS:
            into = Counts(None, rows.columns)
            return OTHER if into.count_rows(&rows, compared, fixed, into.counted.cell) > 1 else self.take(into, self.most)
        if not self.root.guard.start():
            return OTHER
        try:
            code = self.refused(rows.rows, self.most)
            if not code:
                code = OTHER if self.count_rows(&rows, compared, fixed, self.counted.cell) > 1 else DONE
            return code
        finally:
            self.root.guard.stop(code == DONE)

    def count_packed(self, dict columns, Py_ssize_t fixed, true, pred):
        cdef se_rows rows
        cdef se_bit_rows sides[2]
        cdef Counts into
        self.take_bounds(columns, None)
        if self.following or not self.in_order(columns, fixed, true.columns):
            return OTHER
        if (true.examples, true.columns, true.falls) != (pred.examples, pred.columns, pred.falls):
            return OTHER
        if true.examples >= MANY or true.columns >= BIT_COLUMNS:
            return OTHER
        borrow_bits(&rows, sides, true, pred, true.columns)
        into = Counts(None, rows.columns)
        return OTHER if into.count_rows(&rows, NULL, fixed, into.counted.cell) > 1 else self.take(into, self.most)

    def merge_plain(self, Counts other, list labels, list theirs, Py_ssize_t most):
        cdef Guard guard = self.root.guard, read = other.root.guard
        if self.weighted() or other.weighted() or guard is read or guard.thread or read.thread or not self.counted.examples:
            return OTHER  # from here on no other thread runs
        if len(labels) > most or not (labels is theirs or labels == theirs) or not have_same_forms(guard.notes, read.notes):
            return OTHER
        self.reserve(other.width)
        return self.take(other, COUNT_MAX)

    cdef object take(self, Counts other, int64_t most):
        """Add counts of the same columns, up to ``most`` examples in all, unless other states have replaced these."""
        cdef Guard guard = self.root.guard
        code = OTHER
        if guard is RETIRED:  # which is never free
            return OTHER
        guard.wait(True)
        try:
            code = self.refused(other.counted.examples, most) if self.root.guard is guard else OTHER
            if not code:
                self.add(other)
                code = DONE
            return code
        finally:
            guard.stop(code == DONE)

    cdef object refused(self, int64_t examples, int64_t most):
        """The code for why ``examples`` more cannot be counted without weights; None if they can."""
        if self.weighted():
            return OTHER
        if examples > most - self.counted.examples:
            return FULL if most == COUNT_MAX else OTHER
        return None


cdef int count_placed(
    Counts self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, int dimensions, mask
) except -1:
    """Count an example or a few rows of scores, or take an example back: in the counts and in all followers, or in none."""
    cdef se_rows binary
    cdef se_score_rows rows
    cdef se_part part[FOLLOWERS]
    cdef Py_ssize_t slots
    cdef int prepared = 0
    rows.fixed = fixed
    slots = self.read_example(columns, y_true, y_pred, threshold, sign, dimensions, &rows, &binary, mask)
    if slots < 0:
        return -slots
    try:
        if self.following and not self.follow(&rows, sign, sign > 0, part, &prepared):
            return OTHER
        if rows.rows > 1:
            self.count_rows(&binary, NULL, fixed, self.counted.cell)
        elif sign < 0:
            if not se_take_back(&self.counted, self.touched, slots, fixed, self.key[0], self.key[1]):
                return REFUSED
        else:
            check_memory(se_sums_reserve(&self.counted.rows, 1))
            se_add_example(&self.counted, self.touched, slots, self.key[0], self.key[1], 1)
        se_commit(part, prepared)
        return DONE
    finally:
        se_release(part, prepared)


cdef bint is_weight(weight, double* factor) except -1:
    """Read a weight that a float64 represents exactly; return whether it is one."""
    if type(weight) is FLOAT64:
        weight = <double>weight
    return read_score(<PyObject*>weight, False, factor) and factor[0] >= 0


cdef bint have_same_forms(notes, theirs) except -1:
    """Whether the notes of two objects on the forms of their labels are equal and certain."""
    return notes is theirs or not (notes is None or theirs is None or notes.cell.value != theirs.cell.value or notes.cell.value.unsure)


cdef void bytes_of(se_cells* cells, const uint8_t** at, ptrdiff_t* stride, se_cells** rest) noexcept:
    """Set ``at`` to the cells if they are contiguous bytes; else ``rest``, from which loops convert them."""
    at[0], stride[0], rest[0] = <const uint8_t*>cells.at, cells.row, NULL
    if cells.kind != 1 or cells.step != 1:
        at[0], rest[0] = NULL, cells
