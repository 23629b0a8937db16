/* se_pairs: counts the pairs of a positive and a negative that are in order, walking along bins. `Bins.pairs` calls it. */

#ifndef STREAMEVAL_AREAS_H
#define STREAMEVAL_AREAS_H

#include "settle.h"

#ifdef SE_X86
#include <immintrin.h>
#endif

#define SE_STEPS 256 /* bins of positives that are visited before the bins with both classes are added up */

/* The pairs of a label: twice the pairs in order (a tie is half a pair), except in bins where the notes and parts cannot
   decide the order, whose pairs are `undecided`; and the number of positives. */
typedef struct {
    const se_table *table;
    uint64_t ordered[2], undecided[2], positives;
} se_area;

/* The entries of bins that have both classes, and whether the parts of a bin must be read, as its notes do not suffice. */
typedef struct {
    uint64_t negative[SE_STEPS], positive[SE_STEPS], open[SE_STEPS];
} se_shared;

SE_INLINE void se_add_wide(uint64_t sum[2], uint64_t low, uint64_t high) {
    sum[0] += low;
    sum[1] += high + (sum[0] < low);
}

SE_INLINE void se_add_product(uint64_t sum[2], uint64_t a, uint64_t b) {
    uint64_t high;
    const uint64_t low = se_times(a, b, 0, &high);
    se_add_wide(sum, low, high);
}

SE_INLINE uint64_t se_count_of(const se_table *t, uint64_t entry) {
    const uint64_t count = entry & SE_MANY;
    return SE_RARELY(count == SE_MANY) ? se_part_of(t, entry)->head >> 20 : count;
}

/* Add the pairs of a bin from its parts, where its notes do not suffice. */
SE_APART void se_add_bin(se_area *a, uint64_t negative, uint64_t positive) {
    const se_moments *n = se_part_of(a->table, negative), *p = se_part_of(a->table + 1, positive);
    const uint64_t tied = n->head >> 20, count = p->head >> 20;
    const int64_t x = se_common(n), y = se_common(p);
    if (x == -1 || y == -1) se_add_product(a->undecided, count, tied);
    else se_add_product(a->ordered, x == y ? count : (y > x) != se_flipped(negative >> 40) ? 2 * count : 0, tied);
}

/* Add the pairs of bins that have both classes. The first loop has no branches, since they could not be predicted and would
   keep compilers from using vectors. Parts that must be read are far apart in memory, so all are prefetched first. */
SE_INLINE void se_add_shared(se_area *a, se_shared *s, size_t bins) {
    uint64_t undecided = 0, ordered = 0;
    size_t open = 0;
    for (size_t i = 0; i < bins; i++) {
        const uint64_t n = s->negative[i], p = s->positive[i], tied = n & SE_MANY, count = p & SE_MANY;
        const uint64_t mixed = 0 - ((n | p) / SE_MIXED & 1), x = n >> SE_PREFIX & 31, y = p >> SE_PREFIX & 31;
        const uint64_t above = (y > x) ^ se_flipped(n >> 40);
        const uint64_t pairs = (uint64_t)(uint32_t)tied * (uint32_t)count;
        s->open[i] = (tied == SE_MANY) | (count == SE_MANY) | !(mixed | ((pairs == 1) & (x != y)));
        const uint64_t known = s->open[i] - 1;
        undecided += pairs & mixed & known;
        ordered += 2 * above & ~mixed & known;
    }
    for (size_t i = 0; i < bins; i++) {
        s->negative[open] = s->negative[i];
        s->positive[open] = s->positive[i];
        open += s->open[i];
    }
    for (size_t i = 0; i < open; i++) {
        SE_FETCH(se_part_of(a->table, s->negative[i]), 0);
        SE_FETCH(se_part_of(a->table + 1, s->positive[i]), 0);
    }
    for (size_t i = 0; i < open; i++) se_add_bin(a, s->negative[i], s->positive[i]);
    se_add_wide(a->undecided, undecided, 0);
    se_add_wide(a->ordered, ordered, 0);
}

static void se_walk(se_area *a) {
    const se_table *negative = a->table, *positive = a->table + 1;
    const uint64_t *other = negative->index, *end = other + negative->used;
    uint64_t below = 0;
    se_shared shared;
    for (uint32_t at = 0; at < positive->used;) {
        size_t bins = 0;
        for (; at < positive->used && bins < SE_STEPS; at++) {
            const uint64_t entry = positive->index[at], count = se_count_of(positive, entry);
            for (; other < end && *other >> 40 < entry >> 40; other++) below += se_count_of(negative, *other);
            se_add_product(a->ordered, count, 2 * below);
            a->positives += count;
            shared.negative[bins] = other < end ? *other : 0;
            shared.positive[bins] = entry;
            bins += other < end && *other >> 40 == entry >> 40;
        }
        se_add_shared(a, &shared, bins);
    }
}

#ifdef SE_X86
#define SE_WALKS 4
#define SE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,popcnt")))

/* The state of a walk along the bins of a label. The lanes of `below` sum the negatives so far, those of `ordered` pairs. */
typedef struct {
    const uint64_t *negative, *positive, *end;
    __m512i below, ordered;
    uint64_t positives, *shared;
} se_place;

/* How many scores the bins of these entries hold beyond SE_MANY, where their notes end. */
SE_APART uint64_t se_excess(const se_table *t, const uint64_t *entries, unsigned count) {
    uint64_t excess = 0;
    for (unsigned i = 0; i < count; i++) excess += se_count_of(t, entries[i]) - (entries[i] & SE_MANY);
    return excess;
}

/* One step of a walk: pass those of the next eight negative bins that are below the next positive bin; if these are fewer
   than eight, pass the positive bin, too. `full` must be 1 if any bin holds SE_MANY scores or more. */
SE_AVX512 SE_INLINE void se_step(se_place *at, const se_table *t, int full) {
    const __m512i many = _mm512_set1_epi64(SE_MANY), negatives = _mm512_loadu_si512(at->negative);
    const uint64_t entry = *at->positive;
    const __mmask8 lower = _mm512_cmplt_epu64_mask(negatives, _mm512_set1_epi64((int64_t)(entry >> 40 << 40)));
    const unsigned passed = (unsigned)__builtin_popcount(lower);
    const __m512i tied = _mm512_maskz_and_epi64(lower, negatives, many);
    const uint64_t done = 1 - passed / SE_LANES;
    uint64_t count = entry & SE_MANY & (0 - done);
    at->below = _mm512_add_epi64(at->below, tied);
    if (full && SE_RARELY(_mm512_cmpeq_epi64_mask(tied, many) | (count == SE_MANY))) {
        count += done * se_excess(t + 1, at->positive, 1);
        const int64_t excess = (int64_t)se_excess(t, at->negative, passed);
        at->below = _mm512_add_epi64(at->below, _mm512_maskz_set1_epi64(1, excess));
    }
    at->ordered = _mm512_add_epi64(at->ordered, _mm512_mul_epu32(at->below, _mm512_set1_epi64((int64_t)count)));
    at->positives += count;
    at->negative += passed;
    at->positive += done;
    at->shared[0] = *at->negative;
    at->shared[SE_STEPS] = entry;
    at->shared += done & (uint64_t)((*at->negative ^ entry) >> 40 == 0);
}

#define SE_LIVE(p) ((p).positive < (p).end)

/* Four walks at once, since each step of a walk waits for its previous step. The entries after the last negative bin are
   set to the greatest number. No label has 2**31 scores, so that the lanes do not overflow. */
SE_AVX512 SE_INLINE void se_walk_lanes(se_area areas[SE_WALKS], int full) {
    se_place p[SE_WALKS];
    se_shared shared[SE_WALKS];
    for (int i = 0; i < SE_WALKS; i++) {
        const se_table *t = areas[i].table;
        memset(t->index + t->used, 0xFF, SE_LANES * sizeof(uint64_t));
        p[i] = (se_place){t->index, t[1].index, t[1].index + t[1].used, _mm512_setzero_si512(), _mm512_setzero_si512(), 0, 0};
    }
    do {
        for (int i = 0; i < SE_WALKS; i++) p[i].shared = (uint64_t *)(shared + i);
        se_place a = p[0], b = p[1], c = p[2], d = p[3]; /* so that they stay in registers */
        int left = SE_STEPS;
        for (; left && SE_LIVE(a) & SE_LIVE(b) & SE_LIVE(c) & SE_LIVE(d); left--) {
            se_step(&a, areas[0].table, full);
            se_step(&b, areas[1].table, full);
            se_step(&c, areas[2].table, full);
            se_step(&d, areas[3].table, full);
        }
        p[0] = a, p[1] = b, p[2] = c, p[3] = d;
        for (int i = 0; i < SE_WALKS; i++) {
            for (int more = left; more && SE_LIVE(p[i]); more--) se_step(p + i, areas[i].table, full);
            se_add_shared(areas + i, shared + i, (size_t)(p[i].shared - (uint64_t *)(shared + i)));
        }
    } while (SE_LIVE(p[0]) | SE_LIVE(p[1]) | SE_LIVE(p[2]) | SE_LIVE(p[3]));
    for (int i = 0; i < SE_WALKS; i++) {
        se_add_product(areas[i].ordered, (uint64_t)_mm512_reduce_add_epi64(p[i].ordered), 2);
        areas[i].positives = p[i].positives;
    }
}

SE_AVX512 static void se_walk_together(se_area areas[SE_WALKS], int full) {
    if (full) se_walk_lanes(areas, 1);
    else se_walk_lanes(areas, 0); /* a tenth faster, as `full` is a constant */
}
#else
#define SE_WALKS 1
static void se_walk_together(se_area areas[SE_WALKS], int full) { se_walk(areas); }
#endif

/* For each of these columns, whose scores must all be in bins: the number of negatives and positives; twice the number of
   (positive, negative) pairs in which the positive has the greater score (a tie is half a pair), in bins that decide; and
   the number of pairs in bins that do not, because the scores of a class differ within the bin. */
static void se_pairs(
    const se_label *labels, const int64_t *columns, ptrdiff_t count, int64_t (*counts)[2], uint64_t (*sums)[2][2]) {
    const int vectors = se_has_avx512();
    for (ptrdiff_t start = 0, wide; start < count; start += wide) {
        se_area areas[SE_WALKS];
        int full = 0;
        wide = vectors && count - start >= SE_WALKS ? SE_WALKS : 1;
        for (ptrdiff_t i = 0; i < wide; i++) {
            const se_label *label = labels + columns[start + i];
            areas[i] = (se_area){label->table, {0}, {0}, 0};
            full |= label->table[0].many | label->table[1].many;
            if (label->table->room < SE_SPARE || !label->table[1].used || label->binned >> 31) wide = 1;
        }
        if (wide == SE_WALKS) se_walk_together(areas, full);
        else se_walk(areas);
        for (ptrdiff_t i = 0; i < wide; i++) {
            const se_area *a = areas + i;
            counts[start + i][1] = (int64_t)a->positives;
            counts[start + i][0] = labels[columns[start + i]].binned - (int64_t)a->positives;
            memcpy(sums[start + i][0], a->ordered, sizeof a->ordered);
            memcpy(sums[start + i][1], a->undecided, sizeof a->undecided);
        }
    }
}

#endif
