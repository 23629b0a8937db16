# The loops over many examples, and how arrays are handed to them.

from libc.stdint cimport int64_t, uint8_t

from streameval.kernel.decisions.cells cimport se_cells
from streameval.kernel.lists.lists cimport se_lists
from streameval.kernel.table cimport se_sums

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
    int se_has(int)
    ctypedef struct se_scores:
        const void* at
        const void* bounds
        double bound
        ptrdiff_t stride
        int narrow
        int finite
    int se_dense(const se_rows*, se_scores*, int, ptrdiff_t, int64_t*, se_sums*)
    ctypedef struct se_pairs:
        pass
    void* se_pairs_init(se_pairs*, const int64_t*, ptrdiff_t, ptrdiff_t)
    void se_add_pairs(const se_pairs*, ptrdiff_t, int64_t*)
    int se_count_pairs(ptrdiff_t, const se_lists*, const se_lists*, bint, bint, int, const se_pairs*, se_sums*)
    int se_count_lists(ptrdiff_t, const se_lists*, ptrdiff_t, int64_t*, se_sums*, int64_t*, const se_weighed*)
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


cdef inline const uint8_t* start_of_bytes(array, ptrdiff_t* stride) except? NULL:
    cdef const uint8_t[:, :] cells
    stride[0] = 0
    if array is None:
        return NULL
    cells = array
    stride[0] = cells.strides[0]
    return &cells[0, 0] if cells.shape[0] and cells.shape[1] else NULL


cdef inline int read_rows(se_rows* rows, true, pred, masked) except -1:
    """Point to rows of 0 and 1; without predictions, scores take their place."""
    rows.rows, rows.columns = true.shape
    rows.true_cells = rows.pred_cells = NULL
    rows.true_ = start_of_bytes(true, &rows.true_stride)
    rows.pred = start_of_bytes(pred, &rows.pred_stride)
    rows.masked = start_of_bytes(masked, &rows.masked_stride)
    return 0


cdef inline int check(int written) except -1:
    """Raise what is wrong where a loop over lists could not go on."""
    if written == -1:
        raise MemoryError
    if written == -2:
        raise IndexError("a list, a column or a code is out of range")
    return 0
