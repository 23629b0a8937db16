# `Counts`, its followers and the data of its parts; tape/compiled.pyx uses them.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from streameval.kernel.decisions.cells cimport se_rows
from streameval.kernel.decisions.counting cimport Counting
from streameval.kernel.part cimport DONE, commit, se_follower, se_part
from streameval.kernel.scores cimport se_score_rows
from streameval.kernel.table cimport se_sums

cdef enum:
    FOLLOWERS = 4

cdef bint is_weight(weight, double* factor) except -1


cdef inline int commit_all(parts) except -1:
    """Commit a list of prepared parts, or return the code that stands for it."""
    if type(parts) is int:
        return parts
    for part in <list>parts:
        commit(part)
    return DONE


cdef struct Scored:
    # The data of a part that counts an example with scores, or takes it back, in the counts and in all followers.
    PyObject* counted  # the part of the counts
    int64_t* block  # the memory of `rows`
    se_score_rows rows
    se_part part[FOLLOWERS]
    int prepared


cdef class Counts(Counting):
    # The cells of weight sums, one for each state; while one has a value, each example is counted with its weight.
    cdef public tuple weights
    # The followers (part.h): tables that count the same examples.
    cdef tuple capsules
    cdef se_follower* follower[FOLLOWERS]
    cdef int following, scores_follow  # number of followers, and of those that read scores
    cdef bint extra_follows  # whether a follower has sums outside of its table, which are in the cells `extra`
    cdef public tuple extra
    # From this number of examples on, `count_example` counts no more; see `streameval.evaluation.suspicions`.
    cdef public int64_t most

    cdef bint start(self)
    cdef bint weighted(self) noexcept
    cdef object take(self, Counts other, int64_t most)
    cdef object refused(self, int64_t examples, int64_t most)
    cdef Py_ssize_t read_example(
        self, dict columns, y_true, y_pred, threshold, int sign, int dimensions, se_score_rows* rows, se_rows* binary, mask
    ) except -2
    cdef bint follow(self, const se_score_rows* rows, int by, bint known, se_part* part, int* prepared) except -1
    cdef object with_extra(self, list parts, const Scored* scored)
    cdef int weigh(self, list added, dict amounts, double weight, const se_part* part) except -1
    cdef object with_weights(self, list parts, list added)
    cdef object prepare_placed(
        self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, int sign, Py_ssize_t* slots, Scored** scored, mask
    )
    cdef bytearray place_examples(
        self, dict columns, Py_ssize_t fixed, y_true, y_pred, threshold, Py_ssize_t examples, int32_t* lengths, se_sums* keys
    )
    cdef void add_examples(self, bytearray slots, const se_sums* keys, Py_ssize_t examples) noexcept
