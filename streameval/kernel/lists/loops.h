/* The order of lists, and lists of some rows, in C: what each function computes is said in numpy.py. */

#ifndef STREAMEVAL_LIST_LOOPS_H
#define STREAMEVAL_LIST_LOOPS_H

#include "lists/lists.h"

#define SE_DAMAGED -2

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

/* -- lists of some rows -------------------------------------------------------------------------------------------- */

/* How many entries the lists of some rows have; what is read is checked before it is used as an address. */
static int64_t se_held(const se_lists *in, int wide, int64_t lists, const int64_t *rows, int64_t count) {
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        if (rows[i] < 0 || rows[i] >= lists) return SE_DAMAGED;
        const int64_t start = se_at(in->offsets, wide, rows[i]), end = se_at(in->offsets, wide, rows[i] + 1);
        if (start < 0 || end < start || end > in->held) return SE_DAMAGED;
        total += end - start;
    }
    return total;
}

/* Short lists are copied as SE_WIDTH entries, since a loop that ends after one or three is mostly mispredicted; what is
   too much is overwritten by the next list. */
#define SE_WIDTH 8

/* The lists of some rows, whose places are `total`, one behind the other. */
SE_INLINE void se_take_of(
    const se_lists *in, int wide, const int64_t *rows, int64_t count, void *ends, char *taken, int64_t total) {
    const int64_t size = wide ? 8 : 4;
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t from = se_at(in->offsets, wide, rows[i]), length = se_at(in->offsets, wide, rows[i] + 1) - from;
        const char *places = (const char *)in->places + from * size;
        if (length <= SE_WIDTH && from + SE_WIDTH <= in->held && at + SE_WIDTH <= total)
            memcpy(taken + at * size, places, (size_t)(SE_WIDTH * size));
        else
            memcpy(taken + at * size, places, (size_t)(length * size));
        at += length;
        if (wide) ((int64_t *)ends)[i + 1] = at;
        else ((int32_t *)ends)[i + 1] = (int32_t)at;
    }
}

static void se_take(
    const se_lists *in, int wide, const int64_t *rows, int64_t count, void *ends, void *taken, int64_t total) {
    if (wide) se_take_of(in, 1, rows, count, ends, (char *)taken, total);
    else se_take_of(in, 0, rows, count, ends, (char *)taken, total);
}

#endif
