/* se_lists: for each example a list of columns, all in one array. Read by decisions/counting.h and strings/coding.h. */

#ifndef STREAMEVAL_LISTS_H
#define STREAMEVAL_LISTS_H

#include "platform.h"

/* The arrays of `Lists` in types.py. Loops check each offset and place before they use it as an address. */
typedef struct {
    const void *offsets, *places; /* int64_t where functions get `wide`, else int32_t */
    int64_t held;                 /* how many places there are */
    const int64_t *columns;       /* the column of each place; NULL if places are columns */
    int64_t limit;                /* every place must be below it */
} se_lists;

SE_INLINE int64_t se_at(const void *numbers, int wide, int64_t at) {
    return wide ? ((const int64_t *)numbers)[at] : ((const int32_t *)numbers)[at];
}

/* Reads the number as unsigned, so that a negative one is beyond any limit. */
SE_INLINE uint64_t se_place_at(const void *numbers, int wide, int64_t at) {
    return wide ? ((const uint64_t *)numbers)[at] : ((const uint32_t *)numbers)[at];
}

#endif
