/* Cells of an array of numbers, wherever they stand, as bytes: each is read once. */

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

/* Rows of bits, one for each column, as they stand in memory. */
typedef struct {
    const uint8_t *at, *end;
    ptrdiff_t first, stride; /* bits to the first row, and from row to row; those behind the columns must be 0 */
    int falls;               /* the first column is the highest bit of a byte; rows are whole bytes then */
    int bytes;               /* each bit still takes a byte: only of short rows, for the widest vectors */
} se_bit_rows;

/* Rows of truths and predictions. */
typedef struct {
    const uint8_t *true_, *pred, *masked; /* masked may be NULL */
    ptrdiff_t true_stride, pred_stride, masked_stride;
    ptrdiff_t rows, columns;
    se_cells *true_cells, *pred_cells; /* unless NULL, they take the place of bytes, block by block */
    const se_bit_rows *bits; /* unless NULL, both sides take the place of bytes */
    const uint8_t *true_end, *pred_end, *hidden_end; /* behind the last readable byte; se_dense sets them */
} se_rows;

/* Scores to be compared with bounds of columns; they take the place of `pred`. */
typedef struct {
    const void *at;       /* of float if `narrow`, else of double */
    const double *bounds; /* of each column, `by` apart */
    ptrdiff_t stride, by;
    int narrow;
    int finite;           /* set to 0 if a score is not */
    const void *tiled;    /* bounds of the type of scores for `tile` rows, which stand close together; se_dense sets it */
    ptrdiff_t tile;
} se_scores;

/* 0 and 1 as bytes, where bit BIT tells them apart; whether there is anything else, such as -0.0. */
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

/* Some rows; the union of all bytes, or 2 if there is anything else than 0 and 1. */
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

/* 1 where a float or double of a row reaches the bound of its column, which are `by` apart; 2 if one is not finite, else 1. */
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

/* The slots of a row of bytes, and its key; how many there are. */
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
