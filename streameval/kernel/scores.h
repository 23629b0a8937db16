/* Examples with scores, as loops read them: dense rows, and lists of columns. */

#ifndef STREAMEVAL_SCORES_H
#define STREAMEVAL_SCORES_H

#include "platform.h"

/* Eight bytes, the first in the lowest bits on every machine, zeros behind the end. */
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

/* Which of eight bytes is the first that is not 0; all are 0 or 1, and some are 1. */
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
    const void *scores;                   /* floats if `single`, or doubles */
    const uint8_t *true_, *ranked, *mask; /* the last two may be NULL; rows follow each other without gaps */
    const int64_t *columns;               /* where each column counts */
    const int64_t *slots;                 /* of a single example, which may have no scores */
    ptrdiff_t rows, width, placed;        /* placed: how many slots */
    int64_t fixed, limit;
    int single, sorted;                   /* whether columns stand in the canonical order of their labels */
} se_score_rows;

/* Sides; what is predicted takes the place of what is ranked, and what is named is on no other side. */
enum { SE_TRUE, SE_RANKED, SE_MASKED, SE_NAMED, SE_SIDES };

typedef struct {
    const int64_t *at[SE_SIDES], *columns[SE_SIDES]; /* offsets (NULL for no lists at all), and columns in any order */
    const double *scores;              /* of the ranked columns, which are distinct in an example */
    const int64_t *place;              /* canonical positions of columns, where ties are strict */
    ptrdiff_t rows, longest[SE_SIDES];
    int64_t fixed;
} se_score_lists;

/* What an example has of a label. */
typedef struct {
    uint64_t score; /* its bits as a double; as it is read, where it stands in the list */
    int64_t column;
    int kind;       /* as it is read, a bit for each side that has it */
} se_mention;

/* Where the list of a row starts, and that of the row before ends. */
SE_INLINE int64_t se_start(const se_score_lists *in, int side, ptrdiff_t row) {
    return in->at[side] ? in->at[side][row] : 0;
}

/* What the lists of one example mention, each column once; how many. Marks say where the mention of a column is, from `turn`
   on, which is then raised, so that they need no clearing. */
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
