/* se_score_rows, se_score_lists: examples with scores, dense or as lists. Read by curves, pairs, rankings, counting.h. */

#ifndef STREAMEVAL_SCORES_H
#define STREAMEVAL_SCORES_H

#include "platform.h"

/* Eight bytes as a little-endian word on every machine; bytes after the end are zeros. */
SE_INLINE uint64_t se_flags(const uint8_t *at, ptrdiff_t bytes) {
    uint64_t word = 0;
    for (; bytes < 8 && bytes > 0; bytes--) word = word << 8 | at[bytes - 1];
    if (bytes <= 0) return word;
    memcpy(&word, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

#define SE_FLAGS 0x0101010101010101ull /* the lowest bit of each byte */

/* The index of the first byte that is 1; every byte is 0 or 1, and at least one is 1. */
SE_INLINE int se_first_flag(uint64_t bytes) {
#if defined(__GNUC__)
    return __builtin_ctzll(bytes) / 8;
#else
    int at = 0;
    while (!(bytes >> 8 * at & 1)) at++;
    return at;
#endif
}

/* Columns are below `limit`; those below `fixed` belong to declared labels. */
typedef struct {
    const void *scores;                   /* floats if `single`, else doubles */
    const uint8_t *true_, *ranked, *mask; /* the last two may be NULL; rows follow each other without gaps */
    const int64_t *columns;               /* for each column of the rows, the table's column */
    const int64_t *slots;                 /* of a single example, which may have no scores */
    ptrdiff_t rows, width, placed;        /* placed: how many slots */
    int64_t fixed, limit;
    int single, sorted;                   /* sorted: columns stand in the canonical order of their labels */
} se_score_rows;

/* The lists of an example. Without scores, SE_RANKED has the predicted labels. SE_NAMED has labels of no other list. */
enum { SE_TRUE, SE_RANKED, SE_MASKED, SE_NAMED, SE_SIDES };

typedef struct {
    const int64_t *at[SE_SIDES], *columns[SE_SIDES]; /* offsets, NULL for no lists; columns in any order */
    const double *scores;              /* of the ranked columns, which are distinct in an example */
    const int64_t *place;              /* canonical positions of columns, where ties are strict */
    ptrdiff_t rows, longest[SE_SIDES];
    int64_t fixed;
} se_score_lists;

/* What an example says of a label. `se_mentions_in` sets `score` to a position, and `kind` to one bit for each side. */
typedef struct {
    uint64_t score; /* bits of the score as a double */
    int64_t column;
    int kind;
} se_mention;

/* Where the list of a row starts, which is where the list of the row before ends. */
SE_INLINE int64_t se_start(const se_score_lists *in, int side, ptrdiff_t row) {
    return in->at[side] ? in->at[side][row] : 0;
}

/* Write one mention for each column in the lists of an example; return how many. The mention of a column is at
   `mark[column] - *turn`. Raising `turn` at the end makes all marks old, so that they need no clearing. */
SE_INLINE ptrdiff_t se_mentions_in(
    const se_score_lists *in, ptrdiff_t row, int64_t *mark, int64_t *turn, se_mention *out) {
    ptrdiff_t count = 0;
    for (int side = 0; side < SE_SIDES; side++) {
        for (int64_t i = se_start(in, side, row); i < se_start(in, side, row + 1); i++) {
            const int64_t column = in->columns[side][i];
            if (mark[column] < *turn) {
                mark[column] = *turn + count;
                out[count++] = (se_mention){0, column, 0};
            }
            se_mention *m = out + (mark[column] - *turn);
            m->kind |= 1 << side;
            if (side == SE_RANKED) m->score = (uint64_t)i;
        }
    }
    *turn += count;
    return count;
}

/* Set the longest list of a side. Returns whether offsets rise and all its columns are below `width`. */
static int se_columns_within(se_score_lists *in, int side, ptrdiff_t width) {
    const int64_t *at = in->at[side];
    uint64_t most = 0;
    for (ptrdiff_t r = 0; r < in->rows; r++) {
        if (at[r + 1] < at[r]) return 0;
        if (at[r + 1] - at[r] > in->longest[side]) in->longest[side] = at[r + 1] - at[r];
    }
    for (int64_t i = at[0]; i < at[in->rows]; i++)
        if ((uint64_t)in->columns[side][i] > most) most = (uint64_t)in->columns[side][i];
    return most < (uint64_t)width || !in->longest[side];
}

#endif
