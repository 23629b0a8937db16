# How examples with scores are handed to loops.

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from streameval.kernel.lists cimport check_columns

cdef extern from "scores.h" nogil:
    int SE_TRUE, SE_RANKED, SE_MASKED, SE_SIDES
    ctypedef struct se_score_rows:
        const void* scores
        const uint8_t* true_
        const uint8_t* ranked
        const uint8_t* mask
        const int64_t* columns
        ptrdiff_t rows, width
        int64_t fixed, limit
        int single, sorted
    ctypedef struct se_score_lists:
        const int64_t* at[4]
        const int64_t* columns[4]
        const double* scores
        ptrdiff_t rows
        int64_t fixed
        const int64_t* place
        ptrdiff_t longest[4]
    ctypedef struct se_mention:
        int64_t column
    int64_t se_start(const se_score_lists*, int, ptrdiff_t)
    int se_columns_within(se_score_lists*, int, ptrdiff_t)


cdef inline const uint8_t* start_of(array, const se_score_rows* rows) except? NULL:
    cdef const uint8_t[:, ::1] cells
    if array is None:
        return NULL
    cells = array
    if cells.shape[0] != rows.rows or cells.shape[1] != rows.width:
        raise ValueError("columns, truths and scores differ in shape")
    return &cells[0, 0] if rows.rows * rows.width else NULL


cdef inline int read_rows(se_score_rows* rows, Py_ssize_t limit, scored) except -1:
    """Point to rows; see `streameval.kernel.types.Scored`."""
    cdef const int64_t[::1] place
    cdef const float[:, ::1] narrow
    cdef const double[:, ::1] wide
    columns, fixed, true, scores, ranked, mask = scored
    place = columns
    check_columns(place, limit)
    rows.rows, rows.width, rows.fixed, rows.limit = len(true), place.shape[0], fixed, limit
    rows.columns = &place[0] if rows.width else NULL
    rows.true_, rows.ranked, rows.mask = start_of(true, rows), start_of(ranked, rows), start_of(mask, rows)
    if scores.shape != true.shape:
        raise ValueError("columns, truths and scores differ in shape")
    rows.single, rows.scores = scores.itemsize == 4, NULL
    if not rows.rows * rows.width:
        return 0
    if rows.single:
        narrow = scores
        rows.scores = &narrow[0, 0]
    else:
        wide = scores
        rows.scores = &wide[0, 0]
    return 0


cdef inline int check_one(Py_ssize_t rows) except -1:
    if rows != 1:
        raise ValueError("one example is needed")
    return 0


cdef inline int read_list(se_score_lists* lists, int side, part, Py_ssize_t limit) except -1:
    """Point to the lists of one side, if there are any."""
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] columns
    if part is None:
        return 0
    offsets, columns = part
    if lists.rows < 0 or offsets.shape[0] != lists.rows + 1 or offsets[lists.rows] > columns.shape[0] or offsets[0] < 0:
        raise IndexError("offsets and columns do not fit")
    lists.at[side], lists.columns[side] = &offsets[0], &columns[0] if columns.shape[0] else NULL
    if not se_columns_within(lists, side, limit):
        raise IndexError("a column is out of range")
    return 0


cdef inline bytearray room_of(const se_score_lists* lists):
    """Room for the mentions of one example."""
    cdef Py_ssize_t side, size = 0
    for side in range(SE_SIDES):
        size += lists.longest[side]
    return PyByteArray_FromStringAndSize(NULL, size * sizeof(se_mention))


cdef inline int read_lists(se_score_lists* lists, Py_ssize_t limit, scored) except -1:
    """Point to lists; see `streameval.kernel.types.Scored`."""
    cdef const double[::1] score
    _, fixed, true, scores, ranked, mask = scored
    score = scores
    if score.shape[0] < len(ranked[1]):
        raise ValueError("a label has no score")
    memset(lists, 0, sizeof(se_score_lists))
    lists.rows, lists.fixed = len(true[0]) - 1, fixed
    lists.scores = &score[0] if score.shape[0] else NULL
    read_list(lists, SE_TRUE, true, limit)
    read_list(lists, SE_RANKED, ranked, limit)
    read_list(lists, SE_MASKED, mask, limit)
    return 0
