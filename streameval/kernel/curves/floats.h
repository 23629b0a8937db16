/* Many floats put into bins at once. */

#ifndef STREAMEVAL_FLOATS_H
#define STREAMEVAL_FLOATS_H

#include "runs.h"

#define SE_BLOCK 16          /* bins */
#define SE_SPAN 524288       /* bins: more than floats between 0 and 1 can meet */
#define SE_AT_ONCE (1 << 23) /* scores: below 2**24, so that the fields below suffice */
#define SE_UNIT 29           /* residuals of floats are multiples of 2**29 */
#define SE_CHUNK 64

/* For each bin from `base` on: how many << 40 | the sum of residuals, and the sum of their squares, in units. All of it
   is zero between uses. */
typedef struct {
    uint64_t (*sums)[2];
    uint8_t *occupied; /* whether any bin of a block holds a score */
    uint32_t blocks, base;
    se_table list; /* what was counted, on its way */
} se_counter;

static void se_drop_counter(se_counter *c) {
    free(c->sums);
    free(c->occupied);
    se_discard(&c->list);
    memset(c, 0, sizeof *c);
}

static int se_widen_counter(se_counter *c, uint32_t blocks) {
    if (blocks <= c->blocks) return 1;
    uint32_t room = 1024;
    while (room < blocks) room *= 2;
    free(c->sums);
    free(c->occupied);
    c->blocks = 0;
    c->sums = (uint64_t(*)[2])calloc((size_t)room * SE_BLOCK, sizeof *c->sums);
    c->occupied = (uint8_t *)calloc(room, 1);
    if (c->sums && c->occupied) c->blocks = room;
    return c->blocks != 0;
}

#define SE_MASK(holds) (0 - (uint32_t)(holds))

/* The bins of normal floats and zeros, and their residuals in units. Without branches, so that compilers use vectors. */
SE_INLINE void se_split_floats(const float *scores, uint32_t *bin, uint32_t *rest) {
    uint32_t bits[SE_CHUNK], upside[SE_CHUNK];
    float complement[SE_CHUNK];
    memcpy(bits, scores, sizeof bits);
    for (int j = 0; j < SE_CHUNK; j++) complement[j] = 1.0f - scores[j]; /* exact where used, never subnormal */
    memcpy(upside, complement, sizeof upside);
    for (int j = 0; j < SE_CHUNK; j++) {
        const uint32_t size = bits[j] & 0x7FFFFFFF, negative = 0 - (bits[j] >> 31);
        const uint32_t below = negative & SE_MASK(size != 0);
        const uint32_t upper = ~negative & SE_MASK(size >= 0x3F000000) & SE_MASK(size <= 0x3F800000);
        const uint32_t beyond = ~negative & SE_MASK(size > 0x3F800000);
        const uint32_t magnitude = (upside[j] & upper) | (size & ~upper);
        const uint32_t code = SE_MASK(magnitude != 0) & ((magnitude >> 12) + ((uint32_t)896 << 11));
        bin[j] = ((code ^ (below | upper)) + SE_FINITE + (upper & (2 * SE_TO_HALF + 1)) +
                  (beyond & (2 * SE_TO_HALF + 1 - SE_TO_ONE))) & 0xFFFFFF;
        rest[j] = magnitude & 0xFFF;
    }
}

/* The least and the greatest score, in the order of their bits as signed numbers; 0 if some are subnormal. */
SE_INLINE int se_extremes(const float *scores, size_t n, float ends[2]) {
    int32_t low = INT32_MAX, high = INT32_MIN;
    uint32_t odd = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, scores + i, sizeof bits);
        const uint32_t size = (uint32_t)bits & 0x7FFFFFFF;
        const int32_t ordered = bits < 0 ? bits ^ 0x7FFFFFFF : bits;
        low = ordered < low ? ordered : low;
        high = ordered > high ? ordered : high;
        odd |= SE_MASK(size < 0x00800000) & size;
    }
    low = low < 0 ? low ^ 0x7FFFFFFF : low;
    high = high < 0 ? high ^ 0x7FFFFFFF : high;
    memcpy(ends, &low, sizeof low);
    memcpy(ends + 1, &high, sizeof high);
    return !odd;
}

SE_INLINE void se_sum_floats(se_counter *c, const float *scores, size_t n) {
    uint64_t(*sums)[2] = c->sums;
    uint8_t *occupied = c->occupied;
    const uint32_t base = c->base;
    for (size_t start = 0; start < n; start += SE_CHUNK) {
        uint32_t bin[SE_CHUNK], rest[SE_CHUNK];
        const size_t count = n - start < SE_CHUNK ? n - start : SE_CHUNK;
        if (count == SE_CHUNK) {
            se_split_floats(scores + start, bin, rest);
        } else {
            float last[SE_CHUNK] = {0};
            memcpy(last, scores + start, count * sizeof(float));
            se_split_floats(last, bin, rest);
        }
        for (size_t j = 0; j < count; j++) {
            const uint32_t at = bin[j] - base;
            sums[at][0] += ((uint64_t)1 << 40) + rest[j];
            sums[at][1] += (uint64_t)rest[j] * rest[j];
            occupied[at / SE_BLOCK] = 1;
        }
    }
}

#define SE_LOOPS(NAME, ATTRIBUTE)                                                                                     \
    ATTRIBUTE static int se_extremes_##NAME(const float *scores, size_t n, float ends[2]) {                           \
        return se_extremes(scores, n, ends);                                                                          \
    }                                                                                                                 \
    ATTRIBUTE static void se_sum_floats_##NAME(se_counter *c, const float *scores, size_t n) {                        \
        se_sum_floats(c, scores, n);                                                                                  \
    }

SE_LOOPS(plain, )
SE_LOOPS(avx2, SE_AVX2)

/* Count floats by bin. Returns how many bins they meet, or 0 if they are too many, too far apart or too small for this,
   or if memory ran out. */
static uint32_t se_count_floats(se_counter *c, const float *scores, size_t n) {
    float ends[2];
    uint64_t unused;
    uint32_t bins = 0;
    const int wide = se_has_avx2();
    if (n > SE_AT_ONCE || !(wide ? se_extremes_avx2 : se_extremes_plain)(scores, n, ends)) return 0;
    const uint32_t first = se_bin(se_bits_of_float(ends), &unused) / SE_BLOCK * SE_BLOCK;
    const uint32_t span = se_bin(se_bits_of_float(ends + 1), &unused) - first + 1;
    if (span > SE_SPAN || !se_widen_counter(c, (span + SE_BLOCK - 1) / SE_BLOCK)) return 0;
    c->base = first;
    (wide ? se_sum_floats_avx2 : se_sum_floats_plain)(c, scores, n);
    for (uint32_t block = 0; block < c->blocks; block++)
        for (uint32_t at = block * SE_BLOCK; c->occupied[block] && at < (block + 1) * SE_BLOCK; at++)
            bins += c->sums[at][0] != 0;
    return bins;
}

/* Move what was counted, in that many bins, to the end of a table, with room if `enough`; clear the counter in any case. */
static void se_take_counted(se_counter *c, se_table *to, int enough) {
    uint32_t used = to->used;
    for (uint32_t block = 0; block < c->blocks; block++) {
        if (!c->occupied[block]) continue;
        for (uint32_t at = block * SE_BLOCK; enough && at < (block + 1) * SE_BLOCK; at++) {
            const uint64_t head = c->sums[at][0], sum = head & SE_KEY_LOW, square = c->sums[at][1];
            if (!head) continue;
            to->index[used] = (uint64_t)(c->base + at) << 32 | used;
            to->parts[used++] = (se_moments){head >> 40 << 20 | sum >> (64 - SE_UNIT), sum << SE_UNIT,
                                             square >> (64 - 2 * SE_UNIT), square << 2 * SE_UNIT};
        }
        memset(c->sums + block * SE_BLOCK, 0, SE_BLOCK * sizeof *c->sums);
        c->occupied[block] = 0;
    }
    to->used = used;
}

/* Append floats as keys. 0 if memory ran out. */
static int se_widen(se_table *t) {
    if (!se_extend(t, 0, t->fresh[SE_FLOATS].used)) return 0;
    for (size_t i = 0; i < t->fresh[SE_FLOATS].used; i++) {
        uint64_t x;
        const uint32_t bin = se_bin(se_bits_of_float(t->fresh[SE_FLOATS].scores + i), &x);
        t->fresh[0].keys[t->fresh[0].used++] = se_key(bin, x);
    }
    t->fresh[SE_FLOATS].used = 0;
    return 1;
}

/* Put floats into bins. 0 if memory ran out; no count is lost then. */
static int se_settle_floats(se_table *t, se_counter *c) {
    const uint32_t counted = se_count_floats(c, t->fresh[SE_FLOATS].scores, t->fresh[SE_FLOATS].used);
    se_table *list = t->used ? &c->list : t;
    if (!counted) return se_widen(t);
    list->used = 0;
    const int enough = se_enlarge(list, counted);
    se_take_counted(c, list, enough);
    if (!enough || (list != t && !se_admit_bins(t, list))) return 0;
    if (list != t) se_unite(t, list);
    t->fresh[SE_FLOATS].used = 0;
    return 1;
}

#endif
