/* se_cells, se_rows, se_bit_rows, se_scores: arrays as loops read them, and loops that convert cells to bytes. */

#ifndef STREAMEVAL_CELLS_H
#define STREAMEVAL_CELLS_H

#include "platform.h"

typedef struct {
    const char *at;
    ptrdiff_t row, step; /* bytes from row to row, and from cell to cell */
    int kind;            /* bytes of an integer, or one of these */
} se_cells;

#define SE_FLOAT 3
#define SE_DOUBLE 5

/* Rows of bits in memory, one bit for each column. */
typedef struct {
    const uint8_t *at, *end;
    ptrdiff_t first, stride; /* bits to the first row, and from row to row; bits after the columns must be 0 */
    int falls;               /* the first column is the highest bit of a byte; rows are whole bytes then */
    int bytes;               /* whether each bit takes a byte (short rows, for the widest vectors only) */
} se_bit_rows;

/* Rows of truths and predictions. */
typedef struct {
    const uint8_t *true_, *pred, *masked; /* masked may be NULL */
    ptrdiff_t true_stride, pred_stride, masked_stride;
    ptrdiff_t rows, columns;
    se_cells *true_cells, *pred_cells; /* unless NULL, read in place of the bytes, block by block */
    const se_bit_rows *bits; /* unless NULL, both sides, read in place of the bytes */
    const uint8_t *true_end, *pred_end, *hidden_end; /* after the last readable byte; se_dense sets them */
} se_rows;

/* Scores to compare with the bounds of columns; read in place of `pred`. */
typedef struct {
    const void *at;       /* floats if `narrow`, else doubles */
    const double *bounds; /* of each column, `by` apart */
    ptrdiff_t stride, by;
    int narrow;
    int finite;           /* set to 0 if a score is not finite */
    const void *tiled;    /* bounds of `tile` contiguous rows, in the type of the scores; se_dense sets it */
    ptrdiff_t tile;
} se_scores;

/* Convert cells that are 0 or 1, which differ in bit BIT, to bytes; return whether any is another value, such as -0.0. */
#define SE_NARROW_AS(TARGET, NAME, TYPE, BIT, ONE)                                                                    \
    TARGET SE_INLINE int NAME(const char *from, ptrdiff_t step, ptrdiff_t cells, uint8_t *__restrict to) {            \
        TYPE odd = 0;                                                                                                 \
        for (ptrdiff_t j = 0; j < cells; j++) {                                                                       \
            TYPE cell;                                                                                                \
            memcpy(&cell, from + j * step, sizeof cell);                                                              \
            const TYPE bit = (TYPE)(cell >> BIT & 1);                                                                 \
            odd |= (TYPE)(cell ^ ((TYPE)(0 - bit) & ONE));                                                            \
            to[j] = (uint8_t)bit;                                                                                     \
        }                                                                                                             \
        return odd != 0;                                                                                              \
    }
#define SE_NARROW_ROW(NAME, TYPE)                                                                                     \
    odd |= in->step == sizeof(TYPE) ? NAME(from, sizeof(TYPE), columns, to) : NAME(from, in->step, columns, to)

/* Convert some rows to bytes; return 1, or 2 if any cell is neither 0 nor 1. */
#define SE_NARROW(TARGET, OF)                                                                                         \
    SE_NARROW_AS(TARGET, OF(narrow_8), uint8_t, 0, 1)                                                                     \
    SE_NARROW_AS(TARGET, OF(narrow_16), uint16_t, 0, 1)                                                                   \
    SE_NARROW_AS(TARGET, OF(narrow_32), uint32_t, 0, 1)                                                                   \
    SE_NARROW_AS(TARGET, OF(narrow_64), uint64_t, 0, 1)                                                                   \
    SE_NARROW_AS(TARGET, OF(narrow_float), uint32_t, 23, 0x3F800000u)                                                     \
    SE_NARROW_AS(TARGET, OF(narrow_double), uint64_t, 52, 0x3FF0000000000000ull)                                          \
    TARGET static int OF(narrow_cells)(                                                                               \
        const se_cells *in, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t columns, uint8_t *to) {                        \
        const char *from = in->at + start * in->row;                                                                  \
        int odd = 0;                                                                                                  \
        if (in->row == columns * in->step) columns *= rows, rows = 1;                                                 \
        for (; rows > 0; rows--, from += in->row, to += columns) {                                                    \
            switch (in->kind) {                                                                                       \
            case 1: SE_NARROW_ROW(OF(narrow_8), uint8_t); break;                                                          \
            case 2: SE_NARROW_ROW(OF(narrow_16), uint16_t); break;                                                        \
            case 4: SE_NARROW_ROW(OF(narrow_32), uint32_t); break;                                                        \
            case 8: SE_NARROW_ROW(OF(narrow_64), uint64_t); break;                                                        \
            case SE_FLOAT: SE_NARROW_ROW(OF(narrow_float), uint32_t); break;                                              \
            default: SE_NARROW_ROW(OF(narrow_double), uint64_t);                                                          \
            }                                                                                                         \
        }                                                                                                             \
        return odd ? 2 : 1;                                                                                           \
    }

#define SE_PLAIN(name) se_plain_##name
SE_NARROW(, SE_PLAIN)

/* Write 1 where a score of a row reaches the bound of its column (bounds are `by` apart); 2 if one is not finite, else 1. */
SE_INLINE int se_reaching(const se_cells *in, ptrdiff_t columns, const double *bounds, ptrdiff_t by, uint8_t *to) {
    int finite = 1;
    for (ptrdiff_t j = 0; j < columns; j++) {
        double score;
        if (in->kind == SE_FLOAT) {
            float narrow;
            memcpy(&narrow, in->at + j * in->step, sizeof narrow);
            score = narrow;
        } else {
            memcpy(&score, in->at + j * in->step, sizeof score);
        }
        to[j] = score >= bounds[by * j];
        finite &= score - score == 0;
    }
    return finite ? 1 : 2;
}

/* Write the slots of a row of bytes and its row key; return the number of slots. */
SE_INLINE ptrdiff_t se_slots(
    const uint8_t *t, const uint8_t *p, ptrdiff_t columns, ptrdiff_t fixed, int64_t *slot, uint64_t *key) {
    ptrdiff_t slots = 0;
    uint64_t true_ = 0, pred = 0, both = 0;
    for (ptrdiff_t column = 0; column < columns; column++) {
        const int outcome = t[column] + 2 * p[column];
        slot[slots] = 5 * column + outcome;
        slots += outcome || column >= fixed;
        true_ += t[column];
        pred += p[column];
        both += outcome == 3;
    }
    key[0] = true_ | pred << 32, key[1] = both;
    return slots;
}

#endif
