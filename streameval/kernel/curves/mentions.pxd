# Declares mentions.h and points its se_examples to a `Scored`; used by compiled.pyx and weighing.pyx.

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t

from streameval.kernel.memory cimport cleared
from streameval.kernel.scores cimport read_lists, read_rows, room_of, se_mention, se_score_lists, se_score_rows

cdef extern from "curves/mentions.h" nogil:
    ctypedef struct se_examples:
        se_score_rows rows
        se_score_lists lists
        int64_t* mark
        int64_t turn
        ptrdiff_t count
        int listed
        se_mention* mentions
    ptrdiff_t se_mentions_of_row(const se_score_rows*, se_mention*)


cdef inline bytearray read_examples(se_examples* examples, Py_ssize_t width, scored):
    """Set ``examples`` to a `streameval.kernel.types.Scored`; the result holds its mentions, and must outlive it."""
    cdef bytearray room
    examples.listed = scored[0] is None
    if examples.listed:
        read_lists(&examples.lists, width, scored)
        examples.count, room = examples.lists.rows, room_of(&examples.lists)
        if examples.mark == NULL:  # last, since nothing frees the marks if a line above fails
            examples.mark, examples.turn = <int64_t*>cleared(width, sizeof(int64_t)), 1
    else:
        read_rows(&examples.rows, width, scored)
        examples.count = examples.rows.rows
        room = PyByteArray_FromStringAndSize(NULL, examples.rows.width * sizeof(se_mention))
    examples.mentions = <se_mention*>PyByteArray_AS_STRING(room)
    return room
