# Declares cells.h and points its structures to numpy arrays, without copies; used by decisions and pairs.

from libc.stdint cimport int64_t, uint8_t, uint64_t

cimport numpy as cnp

cdef extern from "decisions/cells.h" nogil:
    ctypedef struct se_cells:
        const char* at
        ptrdiff_t row, step
        int kind
    ctypedef struct se_bit_rows:
        const uint8_t* at
        const uint8_t* end
        ptrdiff_t first, stride
        int falls, bytes
    ctypedef struct se_rows:
        const uint8_t* true_
        const uint8_t* pred
        const uint8_t* masked
        ptrdiff_t true_stride, pred_stride, masked_stride, rows, columns
        se_cells* true_cells
        se_cells* pred_cells
        const se_bit_rows* bits
    ctypedef struct se_scores:
        const void* at
        const double* bounds
        ptrdiff_t stride, by
        int narrow, finite
    int SE_FLOAT, SE_DOUBLE
    int se_plain_narrow_cells(const se_cells*, ptrdiff_t, ptrdiff_t, ptrdiff_t, uint8_t*)
    int se_reaching(const se_cells*, ptrdiff_t, const double*, ptrdiff_t, uint8_t*)
    ptrdiff_t se_slots(const uint8_t*, const uint8_t*, ptrdiff_t, ptrdiff_t, int64_t*, uint64_t*)


cdef inline bint borrow_cells(object value, int dimensions, se_cells* to) noexcept:
    """Set ``to`` to the cells of a plain array of numbers; False for other values. The caller must keep the array alive."""
    cdef cnp.ndarray array
    if not cnp.PyArray_CheckExact(value):
        return False
    array = <cnp.ndarray>value
    if cnp.PyArray_NDIM(array) != dimensions or not cnp.PyArray_ISBEHAVED_RO(array):
        return False
    if cnp.PyArray_TYPE(array) <= cnp.NPY_ULONGLONG:
        to.kind = <int>cnp.PyArray_ITEMSIZE(array)
    elif cnp.PyArray_TYPE(array) in (cnp.NPY_FLOAT, cnp.NPY_DOUBLE):
        to.kind = SE_FLOAT if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT else SE_DOUBLE
    else:
        return False
    to.at = <const char*>cnp.PyArray_DATA(array)
    to.row, to.step = cnp.PyArray_STRIDE(array, 0), cnp.PyArray_STRIDE(array, dimensions - 1)
    return True


cdef inline const uint8_t* start_of_bytes(array, ptrdiff_t* stride) except? NULL:
    cdef const uint8_t[:, :] cells
    stride[0] = 0
    if array is None:
        return NULL
    cells = array
    stride[0] = cells.strides[0]
    return &cells[0, 0] if cells.shape[0] and cells.shape[1] else NULL


cdef inline int read_rows(se_rows* rows, true, pred, masked) except -1:
    """Set ``rows`` to arrays of 0 and 1; ``pred`` is None where scores take its place, ``masked`` without a mask."""
    rows.rows, rows.columns = true.shape
    rows.true_cells, rows.pred_cells, rows.bits = NULL, NULL, NULL
    rows.true_ = start_of_bytes(true, &rows.true_stride)
    rows.pred = start_of_bytes(pred, &rows.pred_stride)
    rows.masked = start_of_bytes(masked, &rows.masked_stride)
    return 0
