# What examples with scores mention, one after the other.

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
    """Point to examples (`streameval.kernel.types.Scored`), and have marks for lists; what has room for mentions."""
    cdef bytearray room
    examples.listed = scored[0] is None
    if examples.listed:
        read_lists(&examples.lists, width, scored)
        examples.count, room = examples.lists.rows, room_of(&examples.lists)
        if examples.mark == NULL:  # last, as they are not freed where this fails
            examples.mark, examples.turn = <int64_t*>cleared(width, sizeof(int64_t)), 1
    else:
        read_rows(&examples.rows, width, scored)
        examples.count = examples.rows.rows
        room = PyByteArray_FromStringAndSize(NULL, examples.rows.width * sizeof(se_mention))
    examples.mentions = <se_mention*>PyByteArray_AS_STRING(room)
    return room
