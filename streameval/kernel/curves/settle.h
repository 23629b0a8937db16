/* se_settle: puts waiting scores of an se_table into bins (se_counter counts floats, doubles are sorted); reads bins. */

#ifndef STREAMEVAL_SETTLE_H
#define STREAMEVAL_SETTLE_H

#include "runs.h"

/* -- floats, counted by bin ---------------------------------------------------------------------------------------------- */

#define SE_BLOCK 16          /* bins */
#define SE_SPAN 524288       /* bins; floats between 0 and 1 fall into fewer */
#define SE_AT_ONCE (1 << 23) /* scores; below 2**24, so that the fields of se_counter do not overflow */
#define SE_UNIT 29           /* residuals of floats are multiples of 2**29 */
#define SE_CHUNK 64
#define SE_FEWER 256 /* fewer scores than this are sorted, because a scan of all blocks takes longer */

/* For each bin from `base` on: number of scores << 40 | sum of residuals; and the sum of their squares; in units of
   2**SE_UNIT. All are zero between uses. */
typedef struct {
    uint64_t (*sums)[2];
    uint8_t *occupied; /* whether any bin of a block holds a score */
    uint32_t blocks, base;
    se_table list; /* sorted scores in bins, before they join a table */
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

/* The bins and residuals (in units) of floats that are normal or 0. It has no branches, so that compilers use vectors. */
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

/* Count floats by bin. Returns the number of bins that hold one; or 0 if there are too many floats, if they span too many
   bins, if some are subnormal, or if memory ran out. */
SE_INLINE uint32_t se_count_floats(se_counter *c, const float *scores, size_t n) {
    float ends[2];
    uint64_t unused;
    uint32_t bins = 0;
    if (n > SE_AT_ONCE || !se_extremes(scores, n, ends)) return 0;
    const uint32_t first = se_bin(se_bits_of_float(ends), &unused) / SE_BLOCK * SE_BLOCK;
    const uint32_t span = se_bin(se_bits_of_float(ends + 1), &unused) - first + 1;
    if (span > SE_SPAN || !se_widen_counter(c, (span + SE_BLOCK - 1) / SE_BLOCK)) return 0;
    c->base = first;
    se_sum_floats(c, scores, n);
    for (uint32_t block = 0; block < c->blocks; block++)
        for (uint32_t at = block * SE_BLOCK; c->occupied[block] && at < (block + 1) * SE_BLOCK; at++)
            bins += c->sums[at][0] != 0;
    return bins;
}

SE_AVX2 static uint32_t se_count_floats_avx2(se_counter *c, const float *scores, size_t n) {
    return se_count_floats(c, scores, n);
}

/* Append a bin to a table; it must be above the table's last bin. */
static inline void se_push(se_table *to, uint64_t bin, const se_moments *part) {
    to->index[to->used] = bin << 40 | (uint64_t)to->used << SE_NOTE;
    to->parts[to->used] = *part;
    to->empty++;
    se_note(to, to->used++);
}

/* Append a copy of another table's bin, with its note. */
static inline void se_push_from(se_table *to, const se_table *from, uint32_t at) {
    const uint64_t entry = from->index[at];
    to->index[to->used] = (entry & ~((uint64_t)0xFFFFFF << SE_NOTE)) | (uint64_t)to->used << SE_NOTE;
    to->parts[to->used++] = *se_part_of(from, entry);
    to->empty += (uint32_t)!(entry & SE_MANY);
    to->many |= from->many;
}

/* Replace the bins of a table by those of `by`. */
static void se_replace(se_table *t, const se_table *by) {
    free(t->index);
    free(t->memory);
    t->index = by->index;
    t->parts = by->parts;
    t->memory = by->memory;
    t->used = by->used;
    t->room = by->room;
    t->empty = by->empty;
    t->many = by->many;
}

/* Put waiting floats into bins, in one pass with the old bins, which mostly are fewer, into a new table. 0 if the floats
   cannot be counted by bin or memory ran out; nothing has changed then. */
static int se_settle_floats(se_table *t, se_counter *c) {
    const uint32_t counted = (se_has_avx2() ? se_count_floats_avx2 : se_count_floats)(c, t->fresh.floats, t->waiting);
    se_table all = {0};
    const int enough = counted && se_enlarge(&all, counted + t->used);
    uint32_t from = 0;
    for (uint32_t block = 0; counted && block < c->blocks; block++) {
        for (uint32_t at = block * SE_BLOCK; c->occupied[block] && at < (block + 1) * SE_BLOCK; at++) {
            const uint64_t head = c->sums[at][0], sum = head & (((uint64_t)1 << 40) - 1), square = c->sums[at][1];
            const uint64_t bin = c->base + at;
            if (!head) continue;
            c->sums[at][0] = c->sums[at][1] = 0;
            if (!enough) continue;
            se_moments part = {head >> 40 << 20 | sum >> (64 - SE_UNIT), sum << SE_UNIT,
                               square >> (64 - 2 * SE_UNIT), square << 2 * SE_UNIT};
            for (; from < t->used && se_bin_at(t, from) < bin; from++) se_push_from(&all, t, from);
            if (se_part_at(t, from, bin)) se_join(&part, se_moments_at(t, from++));
            se_push(&all, bin, &part);
        }
        c->occupied[block] = 0;
    }
    if (!enough) return 0;
    for (; from < t->used; from++) se_push_from(&all, t, from);
    se_replace(t, &all);
    return 1;
}

/* -- doubles, sorted by bin ---------------------------------------------------------------------------------------------- */

/* Sort keys by bin (radix sort; insertion sort if they are few); `spare` has room for n keys. */
static void se_sort(uint64_t *keys, uint64_t *spare, size_t n) {
    if (n < 48) {
        for (size_t i = 1; i < n; i++) {
            const uint64_t key = keys[i];
            size_t at = i;
            for (; at && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
            keys[at] = key;
        }
        return;
    }
    uint64_t *sorted = keys, low = keys[0], high = keys[0];
    for (size_t i = 1; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    const uint32_t base = (uint32_t)(low >> SE_DROPPED), span = (uint32_t)(high >> SE_DROPPED) - base;
    int bits = 0;
    while (bits < 23 && span >> bits) bits++;
    const int passes = (bits + 9) / 10, width = passes ? (bits + passes - 1) / passes : 0;
    for (int pass = 0; pass < passes; pass++) {
        uint32_t start[1024] = {0}, sum = 0, mask = ((uint32_t)1 << width) - 1;
        for (size_t i = 0; i < n; i++) start[((uint32_t)(sorted[i] >> SE_DROPPED) - base) >> pass * width & mask]++;
        for (uint32_t digit = 0; digit <= mask; digit++) {
            const uint32_t size = start[digit];
            start[digit] = sum;
            sum += size;
        }
        for (size_t i = 0; i < n; i++)
            spare[start[((uint32_t)(sorted[i] >> SE_DROPPED) - base) >> pass * width & mask]++] = sorted[i];
        uint64_t *swap = sorted;
        sorted = spare;
        spare = swap;
    }
    if (sorted != keys) memcpy(keys, sorted, n * sizeof(uint64_t));
}

/* Count the waiting scores of a table by bin, in an empty table. 0 if memory ran out. A key is bin << 41 | residual, which
   drops the highest bit of the bin, so that scores with and without this bit are sorted separately. */
static int se_count_sorted(const se_table *t, se_table *to) {
    const size_t n = t->waiting;
    uint64_t *keys = (uint64_t *)malloc(2 * n * sizeof(uint64_t)), x;
    size_t low = 0, high = n;
    if (!keys) return 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bin = se_bin(se_waiting_at(t, i), &x);
        keys[bin >> 23 ? --high : low++] = bin << SE_DROPPED | x;
    }
    se_sort(keys, keys + n, low);
    se_sort(keys + low, keys + n, n - low);
    for (size_t i = 0, next = 0; i < n; i = next) {
        const uint64_t bin = keys[i] >> SE_DROPPED;
        se_moments part = {0};
        for (; next < (i < low ? low : n) && keys[next] >> SE_DROPPED == bin; next++) se_put(&part, keys[next] & SE_LOWER);
        if (!se_enlarge(to, 1)) {
            free(keys);
            to->used = 0;
            return 0;
        }
        se_push(to, bin | (uint64_t)(i >= low) << 23, &part);
    }
    free(keys);
    return 1;
}

/* -- scores that wait ---------------------------------------------------------------------------------------------------- */

/* Drop empty bins if they are the majority, unless memory runs out. */
static void se_compact(se_table *t) {
    se_table live = {0};
    if (2 * t->empty <= t->used || !se_enlarge(&live, t->used - t->empty)) return;
    for (uint32_t at = 0; at < t->used; at++)
        if (t->index[at] & SE_MANY) se_push_from(&live, t, at);
    se_replace(t, &live);
}

/* Put all waiting scores into bins. 0 if memory ran out; no count is lost then. */
static int se_settle(se_table *t, se_counter *counter) {
    const size_t n = t->waiting;
    if (!n) return 1;
    if (n <= 8 + t->used / 32) {
        if (!se_enlarge(t, (uint32_t)n)) return 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t x;
            const uint32_t at = se_position_of(t, se_bin(se_waiting_at(t, i), &x));
            se_put(se_moments_at(t, at), x);
            se_note(t, at);
        }
    } else if (!(t->single && n >= SE_FEWER && se_settle_floats(t, counter))) {
        se_table *list = t->used ? &counter->list : t;
        list->used = 0;
        if (!se_count_sorted(t, list) || (list != t && (!se_admit_bins(t, list) || !se_unite(t, list, 1)))) return 0;
    }
    t->waiting = 0;
    se_compact(t);
    return 1;
}

/* Put waiting scores into bins once they take as much memory as bins do. If memory runs out, they go on waiting. */
static inline void se_relieve(se_table *t, se_counter *counter) {
    const size_t bytes = t->waiting * se_size(t);
    if (bytes >= SE_PENDING && bytes >= 64 * (size_t)t->used) se_settle(t, counter);
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* The next bin of a label that holds a score, and the part of each class (NULL if absent). 0 after the last bin. `row` has
   the next position of each class. All scores must be in bins. */
SE_INLINE int se_next_bin(const se_label *l, uint32_t row[2], int64_t *bin, const se_moments *parts[2]) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        const se_table *t = l->table + i;
        while (row[i] < t->used && !(t->index[row[i]] & SE_MANY)) row[i]++;
        if (row[i] < t->used && se_bin_at(t, row[i]) < least) least = se_bin_at(t, row[i]);
    }
    if (least == UINT64_MAX) return 0;
    for (int i = 0; i < 2; i++) {
        const se_table *t = l->table + i;
        parts[i] = se_part_at(t, row[i], least);
        row[i] += parts[i] != NULL;
    }
    *bin = (int64_t)least;
    return 1;
}

#endif
