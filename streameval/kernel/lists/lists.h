/* Lists of columns, one behind the other, as the loops take them. */

#ifndef STREAMEVAL_LISTS_H
#define STREAMEVAL_LISTS_H

#include "platform.h"

/* Lists as `Lists` of types.py has them. What they say is checked before it is used as an address. */
typedef struct {
    const void *offsets, *places; /* of int32_t or of int64_t, `wide` says which */
    int64_t held;                 /* how many places there are */
    const int64_t *columns;       /* where places lead; NULL if to the column of that number */
    int64_t limit;                /* places are below it */
} se_lists;

SE_INLINE int64_t se_at(const void *numbers, int wide, int64_t at) {
    return wide ? ((const int64_t *)numbers)[at] : ((const int32_t *)numbers)[at];
}

/* A negative number becomes one beyond any limit. */
SE_INLINE uint64_t se_place_at(const void *numbers, int wide, int64_t at) {
    return wide ? ((const uint64_t *)numbers)[at] : ((const uint32_t *)numbers)[at];
}

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

#endif
