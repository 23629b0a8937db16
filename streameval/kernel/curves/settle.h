/* Scores that wait, put into bins; and what is read of bins. */

#ifndef STREAMEVAL_SETTLE_H
#define STREAMEVAL_SETTLE_H

#include "floats.h"

/* Put all scores into bins, and drop bins that are empty. 0 if memory ran out; no count is lost then. */
static int se_rebuild(se_table *t, se_counter *counter) {
    uint64_t *sorted[2];
    size_t at[2], most, old = 0;
    uint32_t head[2], used = 0;
    if (t->fresh[SE_FLOATS].used && !se_settle_floats(t, counter)) return 0;
    if (!se_pending(t) && 2 * t->empty <= t->used) return 1;
    most = t->used - t->empty;
    for (int run = 0; run < 2; run++) {
        se_run *r = &t->fresh[run];
        at[run] = 0;
        head[run] = UINT32_MAX;
        if (!r->used) continue;
        uint64_t *spare = (uint64_t *)malloc((r->used + r->owed) * sizeof(uint64_t));
        if (!spare) return 0; /* runs may be sorted by now, which tells the same */
        sorted[run] = se_sort(r->keys, spare, r->used);
        if (sorted[run] == spare) {
            spare = r->keys;
            r->keys = sorted[run];
            r->room = r->used + r->owed;
        }
        free(spare);
        head[run] = (uint32_t)(r->keys[0] >> SE_KEY_SHIFT);
        most++;
        for (size_t i = 1; i < r->used; i++) most += (r->keys[i] ^ r->keys[i - 1]) >> SE_KEY_SHIFT != 0;
    }
    se_moments *parts = NULL;
    void *memory = se_new_parts(most, &parts);
    uint64_t *index = memory ? (uint64_t *)malloc((most + 1) * sizeof(uint64_t)) : NULL;
    if (!index) {
        free(memory);
        return 0;
    }
    for (;;) {
        uint32_t bin = UINT32_MAX;
        while (old < t->used && se_blank(se_moments_at(t, (uint32_t)old))) old++;
        if (old < t->used) bin = (uint32_t)(t->index[old] >> 32);
        for (int run = 0; run < 2; run++) bin = head[run] < bin ? head[run] : bin;
        if (bin == UINT32_MAX) break;
        se_moments part = {0};
        if (old < t->used && (uint32_t)(t->index[old] >> 32) == bin) part = *se_moments_at(t, (uint32_t)old++);
        for (int run = 0; run < 2; run++) {
            if (head[run] != bin) continue;
            const uint64_t *keys = sorted[run];
            size_t i = at[run];
            const size_t end = t->fresh[run].used;
            for (; i < end && (uint32_t)(keys[i] >> SE_KEY_SHIFT) == bin; i++)
                se_put(&part, (keys[i] & SE_KEY_LOW) << 1 | (uint64_t)run);
            at[run] = i;
            head[run] = i < end ? (uint32_t)(keys[i] >> SE_KEY_SHIFT) : UINT32_MAX;
        }
        index[used] = (uint64_t)bin << 32 | used;
        parts[used++] = part;
    }
    free(t->index);
    free(t->memory);
    t->index = index;
    t->parts = parts;
    t->memory = memory;
    t->used = used;
    t->room = (uint32_t)most;
    t->empty = 0;
    for (int run = 0; run < 2; run++) t->fresh[run].used = 0;
    return 1;
}

static inline void se_count_score(se_table *t, se_moments *part, uint64_t x, int sign) {
    if (sign > 0) {
        t->empty -= (uint32_t)se_blank(part);
        se_put(part, x);
    } else {
        se_drop(part, x);
        t->empty += (uint32_t)se_blank(part);
    }
}

/* Put all scores into bins. 0 if memory ran out; no count is lost then. */
static int se_settle(se_table *t, se_counter *counter) {
    const size_t pending = se_pending(t);
    if (!pending) return 1;
    if (pending > 8 + t->used / 32 || 2 * t->empty > t->used) return se_rebuild(t, counter);
    if (!se_enlarge(t, (uint32_t)pending)) return 0;
    if (!se_widen(t)) return 0;
    for (int run = 0; run < 2; run++) {
        for (size_t i = 0; i < t->fresh[run].used; i++) {
            const uint64_t key = t->fresh[run].keys[i];
            se_moments *part = se_moments_of(t, (uint32_t)(key >> SE_KEY_SHIFT));
            se_count_score(t, part, (key & SE_KEY_LOW) << 1 | (uint64_t)run, 1);
        }
        t->fresh[run].used = 0;
    }
    return 1;
}

/* Put scores into bins once they take as much memory as bins do. Where memory is short they wait. */
static inline void se_relieve(se_table *t, se_counter *counter) {
    const size_t wide = t->fresh[0].used + t->fresh[1].used;
    const size_t pending = wide * sizeof(uint64_t) + t->fresh[SE_FLOATS].used * sizeof(float);
    if (pending >= SE_PENDING && pending >= 64 * (size_t)t->used) se_rebuild(t, counter);
}

/* Drop empty bins if they are the majority. */
static void se_compact(se_table *t, se_counter *counter) {
    if (t->used && 2 * t->empty >= t->used) se_rebuild(t, counter);
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

static inline void se_add_product(uint64_t *sum, uint64_t a, uint64_t b) {
    uint64_t high;
    sum[0] = se_times(a, b, sum[0], &high);
    sum[1] += high;
}

/* Twice the number of (positive, negative) pairs in which the positive has the greater score, a tie being half a pair:
   at least, with every undecided bin as one tie, and at most. A bin is undecided where scores of a class differ. All
   scores are in bins. */
static void se_pairs(const se_table *negative, const se_table *positive, uint64_t sums[6]) {
    uint64_t below = 0;
    uint32_t other = 0;
    for (uint32_t at = 0; at < positive->used; at++) {
        const se_moments *p = se_moments_at(positive, at);
        const uint32_t bin = (uint32_t)(positive->index[at] >> 32);
        for (; other < negative->used && (uint32_t)(negative->index[other] >> 32) < bin; other++)
            below += se_moments_at(negative, other)->head >> 20;
        const uint64_t n = p->head >> 20;
        uint64_t more[3] = {0};
        if (!n) continue;
        if (other < negative->used && (uint32_t)(negative->index[other] >> 32) == bin) {
            const se_moments *negatives = se_moments_at(negative, other);
            const uint64_t tied = negatives->head >> 20;
            const int64_t x = se_common(p), y = se_common(negatives);
            if (x == y && x >= 0) more[0] = more[1] = more[2] = tied;
            else if (x >= 0 && y >= 0) more[0] = more[1] = more[2] = (x > y) != se_flipped(bin) ? 2 * tied : 0;
            else more[1] = tied, more[2] = 2 * tied;
        }
        for (int i = 0; i < 3; i++) se_add_product(sums + 2 * i, n, 2 * below + more[i]);
    }
}

#endif
