/* The order of lists, in C: what it means is said in numpy.py. */

#ifndef STREAMEVAL_LIST_LOOPS_H
#define STREAMEVAL_LIST_LOOPS_H

#include "lists/lists.h"

/* Whether the places from `first` to `last` are below their limit, and how often one does not exceed the one before. Only
   where offsets are known to rise: compiled, the loop may read the place before `first` if `last` is less. */
#define SE_SCAN(NAME, SIGNED, UNSIGNED, MOST)                                                                         \
    SE_INLINE int NAME(const se_lists *in, int64_t first, int64_t last, uint64_t *falls) {                            \
        const SIGNED *places = (const SIGNED *)in->places;                                                            \
        const UNSIGNED top = in->limit > MOST ? MOST : (UNSIGNED)(in->limit - 1);                                     \
        SIGNED outside = 0; /* negative if a place is */                                                              \
        uint64_t fallen = 0;                                                                                          \
        if (first < last) outside = places[first] | (SIGNED)(top - (UNSIGNED)places[first]);                          \
        for (int64_t i = first + 1; i < last; i++) {                                                                  \
            outside |= places[i] | (SIGNED)(top - (UNSIGNED)places[i]);                                               \
            fallen += places[i] <= places[i - 1];                                                                     \
        }                                                                                                             \
        *falls = fallen;                                                                                              \
        return outside >= 0;                                                                                          \
    }
SE_SCAN(se_scan_wide, int64_t, uint64_t, INT64_MAX)
SE_SCAN(se_scan_narrow, int32_t, uint32_t, INT32_MAX)

SE_INLINE int se_scan(const se_lists *in, int wide, int64_t first, int64_t last, uint64_t *falls) {
    return wide ? se_scan_wide(in, first, last, falls) : se_scan_narrow(in, first, last, falls);
}

/* Whether the lists are 0 damaged, 1 distinct, 2 with repeats; -1 if memory ran out.

   Where places do not rise, a list starts or the order is broken. So rows in order, as they mostly are, are recognised by
   two loops without a branch: how often does a place not exceed the one before, and how often where a list starts? */
SE_INLINE int se_order_of(ptrdiff_t rows, const se_lists *in, int wide) {
    const int64_t first = se_at(in->offsets, wide, 0), last = se_at(in->offsets, wide, rows);
    uint64_t falls = 0, starts = 0;
    int back = 0;
    for (ptrdiff_t r = 0; r < rows; r++) back |= se_at(in->offsets, wide, r + 1) < se_at(in->offsets, wide, r);
    if (back || first < 0 || last > in->held || !se_scan(in, wide, first, last, &falls)) return 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        const int64_t at = se_at(in->offsets, wide, r);
        if (at > first && at < last && at < se_at(in->offsets, wide, r + 1))
            starts += se_at(in->places, wide, at) <= se_at(in->places, wide, at - 1);
    }
    if (falls == starts) return 1;
    int64_t *mark = (int64_t *)calloc((size_t)in->limit, sizeof(int64_t));
    int repeats = 0;
    if (!mark) return -1;
    for (ptrdiff_t r = 0; r < rows && !repeats; r++) {
        for (int64_t i = se_at(in->offsets, wide, r); i < se_at(in->offsets, wide, r + 1); i++) {
            const int64_t place = se_at(in->places, wide, i);
            repeats |= mark[place] == r + 1;
            mark[place] = r + 1;
        }
    }
    free(mark);
    return 1 + repeats;
}

static int se_order(ptrdiff_t rows, const se_lists *in, int wide) {
    return wide ? se_order_of(rows, in, 1) : se_order_of(rows, in, 0);
}

#endif
