/* se_bits_of: how to load rows of bits, one bit for each column, into vectors. vectors.h and dense.h use it. */

#ifndef STREAMEVAL_BITS_H
#define STREAMEVAL_BITS_H

#include "cells.h"

#define SE_WORD 8    /* bytes */
#define SE_LOAD 240  /* vectors that are counted together; a multiple of SE_CHUNK that a byte can count */
#define SE_CHUNK 16  /* vectors that are added up before the higher digits of sums are touched */
#define SE_WIDEST 64 /* bytes of a vector */

/* Both sides of a batch. Short rows share a vector, in which all rows have the same number of words. */
typedef struct {
    se_bit_rows side[2];
    int together, shifts, bits;              /* rows per vector; whether rows begin within bytes; bits of a key's part */
    uint8_t place[2][SE_WIDEST];             /* for each byte of a vector, its byte in memory, from the first row on */
    uint64_t shift[2][SE_WIDEST / SE_WORD];  /* for each word of a vector, its first bit within that byte */
} se_bits_of;

/* Every vector must begin at the same bit of a byte: with eight rows it always does, with four if strides are even. */
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

/* The address of the chunk of vectors that begins with this row; in a copy with zeros at the end if fewer rows are left, or
   if the last vector would reach beyond the bytes. */
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

/* How often a bit of a row was set, from the sums of `bit_block`. */
SE_INLINE int64_t se_bit_sum(const uint32_t *sums, ptrdiff_t bit, int together, int vector) {
    const ptrdiff_t at = bit & (8 * vector - 1);
    int64_t sum = 0;
    for (int row = 0; row < vector; row += vector / together) sum += sums[bit - at + at % 8 * vector + at / 8 + row];
    return sum;
}

/* Convert between a word in memory and one whose lowest bit is the first column. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SE_LITTLE(word) __builtin_bswap64(word)
#else
#define SE_LITTLE(word) (word)
#endif

#endif
