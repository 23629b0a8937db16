# Points se_score_rows and se_score_lists (scores.h) to the arrays of a `Scored`; used by all modules that read scores.

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from streameval.kernel.lists cimport check_columns
from streameval.kernel.memory cimport data_of

cdef extern from "scores.h" nogil:
    int SE_TRUE, SE_RANKED, SE_MASKED, SE_SIDES
    ctypedef struct se_score_rows:
        const void* scores
        const uint8_t* true_
        const uint8_t* ranked
        const uint8_t* mask
        const int64_t* columns
        const int64_t* slots
        ptrdiff_t rows, width, placed
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


cdef inline const void* start_of(array, const se_score_rows* rows, char kind=b"u", int size=1) except? NULL:
    if array is None:
        return NULL
    if array.shape != (rows.rows, rows.width):
        raise ValueError("columns, truths and scores differ in shape")
    return data_of(array, kind, size)


cdef inline int read_rows(se_score_rows* rows, Py_ssize_t limit, scored) except -1:
    """Set ``rows`` to the arrays of dense examples; see `streameval.kernel.types.Scored`."""
    columns, fixed, true, scores, ranked, mask = scored
    check_columns(columns, limit)
    rows.rows, rows.width, rows.fixed, rows.limit = len(true), len(columns), fixed, limit
    rows.columns, rows.single = <const int64_t*>data_of(columns, b"i", 8), scores.itemsize == 4
    rows.true_, rows.ranked = <const uint8_t*>start_of(true, rows), <const uint8_t*>start_of(ranked, rows)
    rows.mask, rows.scores = <const uint8_t*>start_of(mask, rows), start_of(scores, rows, b"f", 4 if rows.single else 8)
    return 0


cdef inline int read_list(se_score_lists* lists, int side, part, Py_ssize_t limit) except -1:
    """Set one side of ``lists`` to the arrays of ``part``, unless that is None."""
    if part is None:
        return 0
    offsets, columns = part
    if lists.rows < 0 or len(offsets) != lists.rows + 1 or offsets[lists.rows] > len(columns) or offsets[0] < 0:
        raise IndexError("offsets and columns do not fit")
    lists.at[side] = <const int64_t*>data_of(offsets, b"i", 8)
    lists.columns[side] = <const int64_t*>data_of(columns, b"i", 8)
    if not se_columns_within(lists, side, limit):
        raise IndexError("a column is out of range")
    return 0


cdef inline bytearray room_of(const se_score_lists* lists):
    """Allocate room for the mentions of any one example."""
    cdef Py_ssize_t side, size = 0
    for side in range(SE_SIDES):
        size += lists.longest[side]
    return PyByteArray_FromStringAndSize(NULL, size * sizeof(se_mention))


cdef inline int read_lists(se_score_lists* lists, Py_ssize_t limit, scored) except -1:
    """Set ``lists`` to the arrays of examples that are lists; see `streameval.kernel.types.Scored`."""
    _, fixed, true, scores, ranked, mask = scored
    if len(scores) < len(ranked[1]):
        raise ValueError("a label has no score")
    memset(lists, 0, sizeof(se_score_lists))
    lists.rows, lists.fixed = len(true[0]) - 1, fixed
    lists.scores = <const double*>data_of(scores, b"f", 8)
    read_list(lists, SE_TRUE, true, limit)
    read_list(lists, SE_RANKED, ranked, limit)
    read_list(lists, SE_MASKED, mask, limit)
    return 0
