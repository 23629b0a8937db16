/* How vectors are made of rows of bits, one for each column. */

#ifndef STREAMEVAL_BITS_H
#define STREAMEVAL_BITS_H

#include "cells.h"

#define SE_WORD 8    /* bytes */
#define SE_LOAD 240  /* vectors that are counted together: as many as a byte can tell */
#define SE_CHUNK 16  /* vectors that are added up before the higher digits of sums are touched */
#define SE_WIDEST 64 /* bytes of a vector */

/* Both sides of a batch. Short rows share a vector, in which each has as many words. */
typedef struct {
    se_bit_rows side[2];
    int together, shifts, bits;              /* rows of a vector; whether some row begins within a byte; of a part of a key */
    uint8_t place[2][SE_WIDEST];             /* the byte where each byte of a vector begins, from the first row of it on */
    uint64_t shift[2][SE_WIDEST / SE_WORD];  /* and the bit of it, which is that of the whole word */
} se_bits_of;

/* Vectors that stand alike begin at whole bytes: eight rows always do, four if their number of bits is even. */
static se_bits_of se_bits_in(const se_bit_rows *sides, int vector, int bits) {
    const ptrdiff_t true_ = sides[0].stride, pred = sides[1].stride, longest = true_ > pred ? true_ : pred;
    const ptrdiff_t every = sides[0].first | true_ | sides[1].first | pred;
    se_bits_of of = {{sides[0], sides[1]}, 1, every % 8 != 0, bits, {{0}}, {{0}}};
    const ptrdiff_t room = 8 * SE_WIDEST - (of.shifts ? 7 : 0);
    if (vector == SE_WIDEST && 8 * longest <= room) of.together = 8;
    else if (vector == SE_WIDEST && 4 * longest <= room && (true_ | pred) % 2 == 0) of.together = 4;
    for (int at = 0; at < 2 * SE_WIDEST; at++) {
        const int side = at / SE_WIDEST, byte = at % SE_WIDEST, row = byte * of.together / SE_WIDEST;
        const ptrdiff_t bit = of.side[side].first % 8 + row * of.side[side].stride;
        of.place[side][byte] = (uint8_t)(bit / 8 + byte - row * SE_WIDEST / of.together);
        of.shift[side][byte / SE_WORD] = (uint64_t)(bit % 8);
    }
    return of;
}

/* Where the vectors of a chunk are read that begins with a row: in a copy, with zeros behind it, if fewer rows are left, or
   if the last vector would reach behind the bytes. */
SE_INLINE const uint8_t *se_chunk(const se_bit_rows *in, ptrdiff_t row, ptrdiff_t left, int together, uint8_t *copy) {
    const ptrdiff_t first = in->first + row * in->stride, most = SE_CHUNK * together;
    const ptrdiff_t bits = first % 8 + (left < most ? left : most) * in->stride;
    const uint8_t *at = in->at + first / 8;
    if (left >= most && in->end - at >= (most - together) * in->stride / 8 + SE_WIDEST) return at;
    memset(copy, 0, (SE_CHUNK + 1) * SE_WIDEST);
    memcpy(copy, at, (size_t)(bits + 7) / 8);
    if (bits % 8) copy[bits / 8] &= (uint8_t)((1 << bits % 8) - 1);
    return copy;
}

/* How often a bit of a row was set, from what `bit_block` has added up. */
SE_INLINE int64_t se_bit_sum(const uint32_t *sums, ptrdiff_t bit, int together, int vector) {
    const ptrdiff_t at = bit & (8 * vector - 1);
    int64_t sum = 0;
    for (int row = 0; row < vector; row += vector / together) sum += sums[bit - at + at % 8 * vector + at / 8 + row];
    return sum;
}

/* A word of bits, of which the first column is the lowest. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SE_LITTLE(word) __builtin_bswap64(word)
#else
#define SE_LITTLE(word) (word)
#endif

#endif
