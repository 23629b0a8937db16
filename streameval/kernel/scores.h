/* Examples with scores, as loops read them: dense rows, and lists of columns. */

#ifndef STREAMEVAL_SCORES_H
#define STREAMEVAL_SCORES_H

#include "platform.h"

/* Columns below `fixed` belong to declared labels. */
typedef struct {
    const void *scores;                   /* floats if `single`, or doubles */
    const uint8_t *true_, *ranked, *mask; /* the last two may be NULL; rows follow each other without gaps */
    const int64_t *columns;               /* where each column counts */
    ptrdiff_t rows, width;
    int64_t fixed;
    int single;
} se_score_rows;

enum { SE_TRUE, SE_RANKED, SE_MASKED };

typedef struct {
    const int64_t *at[3], *columns[3]; /* offsets (NULL for no masks at all), and columns in any order */
    const double *scores;              /* of the ranked columns, which are distinct in an example */
    const int64_t *place;              /* canonical positions of columns, where ties are strict */
    ptrdiff_t rows, longest[3];
    int64_t fixed;
} se_score_lists;

/* Where the list of a row starts, and that of the row before ends. */
SE_INLINE int64_t se_start(const se_score_lists *in, int side, ptrdiff_t row) {
    return in->at[side] ? in->at[side][row] : 0;
}

/* Set the longest list of a side. Returns whether all its columns are below `width`. */
static int se_within(se_score_lists *in, int side, ptrdiff_t width) {
    const int64_t *at = in->at[side];
    uint64_t most = 0;
    for (ptrdiff_t r = 0; r < in->rows; r++)
        if (at[r + 1] - at[r] > in->longest[side]) in->longest[side] = at[r + 1] - at[r];
    for (int64_t i = at[0]; i < at[in->rows]; i++)
        if ((uint64_t)in->columns[side][i] > most) most = (uint64_t)in->columns[side][i];
    return most < (uint64_t)width || !in->longest[side];
}

#endif
