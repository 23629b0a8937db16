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

#endif
