/* Rows of bits, one for each column, as they stand in memory: words of 64 columns are made of them. */

#ifndef STREAMEVAL_BITS_H
#define STREAMEVAL_BITS_H

#include "platform.h"

typedef struct {
    const uint8_t *at, *end;
    ptrdiff_t first, stride; /* bits to the first row, and from row to row; those behind the columns must be 0 */
    int falls;               /* the first column is the highest bit of a byte; rows are whole bytes then */
} se_bit_rows;

#define SE_WORD 8 /* bytes */
#define SE_LOAD 240     /* words that are counted together in each lane of a vector: as many as a byte can tell */
#define SE_BIT_FIELD 21 /* bits of each part of the key of such a row */
/* How many rows of bits are counted at once with vectors of so many bytes: words of both sides and keys stay in the
   first-level cache. */
#define SE_BIT_ROWS(vector) ((vector) == SE_WORD ? SE_LOAD : 4 * SE_LOAD)

SE_INLINE uint64_t se_word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Which bits of a word are columns of a row, and which must be 0. */
typedef struct {
    ptrdiff_t position; /* of the first bit of the first row */
    uint64_t keep, behind;
} se_bit_part;

/* A word of each row has so many columns: as many as stand in eight bytes, wherever they begin. */
SE_INLINE ptrdiff_t se_bit_step(const se_bit_rows *true_, const se_bit_rows *pred) {
    return (true_->first | true_->stride | pred->first | pred->stride) % 8 ? 56 : 64;
}

/* The columns from `column` on of the rows from `start` on. */
SE_INLINE se_bit_part se_part_of_bits(
    const se_bit_rows *in, ptrdiff_t start, ptrdiff_t column, ptrdiff_t columns, ptrdiff_t step) {
    const ptrdiff_t left = columns - column, some = left < step ? left : step;
    se_bit_part part = {in->first + start * in->stride + column, ~0ull >> (64 - some), 0};
    if (left > step) return part;
    part.behind = left < 64 ? (((uint64_t)1 << (in->stride - columns)) - 1) << left : 0;
    if (!in->falls) return part;
    const ptrdiff_t whole = left / 8 * 8; /* whole bytes, and the upper bits of the next */
    part.keep = whole ? ~0ull >> (64 - whole) : 0;
    if (left % 8) part.keep |= (0xFFull << (8 - left % 8) & 0xFF) << whole, part.behind = 0xFFull >> left % 8 << whole;
    return part;
}

/* Words of rows; what is set of all of them. */
SE_INLINE uint64_t se_read_bits(const se_bit_rows *in, ptrdiff_t r, ptrdiff_t rows, const se_bit_part *part, uint64_t *to) {
    const ptrdiff_t within = 8 * (in->end - in->at - SE_WORD) - part->position; /* a word can be read there */
    const ptrdiff_t safe = within >= 0 ? within / in->stride + 1 : 0;
    uint64_t seen = 0;
    for (; r < rows; r++) {
        const size_t bit = (size_t)(part->position + r * in->stride);
        const uint8_t *at = in->at + bit / 8;
        uint8_t last[SE_WORD] = {0};
        if (SE_RARELY(r >= safe)) {
            memcpy(last, at, (size_t)(in->end - at < SE_WORD ? in->end - at : SE_WORD));
            at = last;
        }
        const uint64_t word = se_word_at(at) >> bit % 8;
        seen |= word;
        to[r] = word & part->keep;
    }
    return seen;
}

#endif
