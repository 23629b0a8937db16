/* The scores of one class of one label: a sorted run of bins, and scores that wait to be put into bins. */

#ifndef STREAMEVAL_RUNS_H
#define STREAMEVAL_RUNS_H

#include "bins.h"

/* Scores are first appended as they come, since that is all but free, and put into bins once there are many of them or
   somebody looks. Floats of rows stay floats, half as large. Of others the key is kept: bin << 40 | residual >> 1; the
   last bit of the residual tells in which run it stands. */
typedef struct {
    union {
        void *start;
        uint64_t *keys;
        float *scores;
    };
    size_t used, room, owed; /* owed: room for what is prepared and not yet committed */
} se_run;

enum { SE_FLOATS = 2, SE_RUNS }; /* which run is that of floats; how many there are */

static inline size_t se_size(int run) { return run == SE_FLOATS ? sizeof(float) : sizeof(uint64_t); }

/* The scores of one class of one label. */
typedef struct {
    uint64_t *index; /* bin << 32 | place, in order */
    se_moments *parts;  /* by place, in `memory` */
    void *memory;
    uint32_t used, room, empty; /* bins; room for them; how many of them count nothing */
    se_run fresh[SE_RUNS];
} se_table;

typedef struct {
    se_table table[2]; /* negatives, positives */
    int64_t binned;    /* scores in both */
    int64_t side[3];   /* mentions without a score: negative (declared labels: 0), positive; masked */
} se_label;

#define SE_PENDING 65536 /* fewer bytes of scores than these are never worth a rebuild */

static inline se_moments *se_moments_at(const se_table *t, uint32_t position) {
    return t->parts + (uint32_t)t->index[position];
}

static int se_extend(se_table *t, int which, size_t more) {
    se_run *run = t->fresh + which;
    if (run->used + more <= run->room) return 1;
    const size_t room = 2 * run->room > run->used + more ? 2 * run->room : run->used + more;
    void *start = realloc(run->start, room * se_size(which));
    if (!start) return 0;
    run->start = start;
    run->room = room;
    return 1;
}

static inline size_t se_pending(const se_table *t) {
    return t->fresh[0].used + t->fresh[1].used + t->fresh[SE_FLOATS].used;
}

/* Parts for that many bins, and where they start: no part lies across two lines of the cache. */
static void *se_new_parts(size_t room, se_moments **parts) {
    void *memory = malloc(room * sizeof(se_moments) + 32);
    if (memory) *parts = (se_moments *)((char *)memory + (32 - (uintptr_t)memory % 32));
    return memory;
}

/* Room for more bins. 0 if memory ran out, and then nothing has changed. */
static int se_enlarge(se_table *t, uint32_t more) {
    if (more <= t->room - t->used) return 1;
    uint32_t room = t->room + t->room / 2 > t->used + more ? t->room + t->room / 2 : t->used + more;
    se_moments *parts;
    void *memory = se_new_parts(room, &parts);
    uint64_t *index = memory ? (uint64_t *)realloc(t->index, room * sizeof(uint64_t)) : NULL;
    if (!index) {
        free(memory);
        return 0;
    }
    if (t->used) memcpy(parts, t->parts, t->used * sizeof(se_moments));
    free(t->memory);
    t->index = index;
    t->parts = parts;
    t->memory = memory;
    t->room = room;
    return 1;
}

/* The first position in the index that is not below a bin. */
static inline uint32_t se_lower(const se_table *t, uint32_t bin) {
    const uint64_t key = (uint64_t)bin << 32;
    uint32_t low = 0, count = t->used;
    while (count) {
        const uint32_t half = count / 2;
        const int right = t->index[low + half] < key;
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

/* The part of a bin, or NULL. */
static inline se_moments *se_seek(const se_table *t, uint32_t bin) {
    const uint32_t at = se_lower(t, bin);
    return at < t->used && t->index[at] >> 32 == bin ? se_moments_at(t, at) : NULL;
}

/* The part of a bin, which is made if need be (there must be room): an empty part counts nothing. */
static inline se_moments *se_moments_of(se_table *t, uint32_t bin) {
    const uint32_t at = se_lower(t, bin);
    if (at < t->used && t->index[at] >> 32 == bin) return se_moments_at(t, at);
    memmove(t->index + at + 1, t->index + at, (t->used - at) * sizeof(uint64_t));
    t->index[at] = (uint64_t)bin << 32 | t->used;
    memset(t->parts + t->used, 0, sizeof(se_moments));
    t->empty++;
    return t->parts + t->used++;
}

/* Sort keys by bin; the result stands in `keys` or in `spare`. */
static uint64_t *se_sort(uint64_t *keys, uint64_t *spare, size_t n) {
    if (n < 48) {
        for (size_t i = 1; i < n; i++) {
            const uint64_t key = keys[i];
            size_t at = i;
            for (; at && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
            keys[at] = key;
        }
        return keys;
    }
    uint64_t low = keys[0], high = keys[0];
    for (size_t i = 1; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    const uint32_t base = (uint32_t)(low >> SE_KEY_SHIFT), span = (uint32_t)(high >> SE_KEY_SHIFT) - base;
    int bits = 0;
    while (bits < 24 && span >> bits) bits++;
    const int passes = (bits + 9) / 10, width = passes ? (bits + passes - 1) / passes : 0;
    for (int pass = 0; pass < passes; pass++) {
        uint32_t start[1024] = {0}, sum = 0, mask = ((uint32_t)1 << width) - 1;
        for (size_t i = 0; i < n; i++) start[((uint32_t)(keys[i] >> SE_KEY_SHIFT) - base) >> pass * width & mask]++;
        for (uint32_t digit = 0; digit <= mask; digit++) {
            const uint32_t size = start[digit];
            start[digit] = sum;
            sum += size;
        }
        for (size_t i = 0; i < n; i++)
            spare[start[((uint32_t)(keys[i] >> SE_KEY_SHIFT) - base) >> pass * width & mask]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static void se_discard(se_table *t) {
    free(t->index);
    free(t->memory);
    for (int run = 0; run < SE_RUNS; run++) free(t->fresh[run].start);
}

/* -- merging -------------------------------------------------------------------------------------------------------- */

/* Make empty parts for the bins of another table. 0 if memory ran out. */
static int se_admit_bins(se_table *t, const se_table *other) {
    uint32_t missing = 0, at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const uint64_t bin = other->index[from] >> 32;
        while (at < t->used && t->index[at] >> 32 < bin) at++;
        missing += at == t->used || t->index[at] >> 32 != bin;
    }
    if (!missing) return 1;
    if (!se_enlarge(t, missing)) return 0;
    /* From behind, so that the index is merged in place. */
    uint32_t to = t->used + missing, left = t->used, from = other->used;
    for (uint32_t place = to; place > t->used; place--) memset(t->parts + place - 1, 0, sizeof(se_moments));
    uint32_t place = to;
    while (from) {
        const uint64_t bin = other->index[from - 1] >> 32;
        if (left && t->index[left - 1] >> 32 >= bin) {
            from -= t->index[left - 1] >> 32 == bin;
            t->index[--to] = t->index[--left];
        } else {
            t->index[--to] = bin << 32 | --place;
            from--;
        }
    }
    t->used += missing;
    t->empty += missing;
    return 1;
}

/* Make room for all that another table holds, which is owed until it comes or does not. 0 if memory ran out. */
static int se_admit(se_table *t, const se_table *other) {
    for (int run = 0; run < SE_RUNS; run++)
        if (!se_extend(t, run, t->fresh[run].owed + other->fresh[run].used)) return 0;
    if (!se_admit_bins(t, other)) return 0;
    for (int run = 0; run < SE_RUNS; run++) t->fresh[run].owed += other->fresh[run].used;
    return 1;
}

static void se_disown(se_table *t, const se_table *other) {
    for (int run = 0; run < SE_RUNS; run++) t->fresh[run].owed -= other->fresh[run].used;
}

/* The part of a bin, from place `at` on, which moves there; NULL if there is none. */
static inline se_moments *se_reach(const se_table *t, uint32_t *at, uint64_t bin) {
    while (*at < t->used && t->index[*at] >> 32 < bin) ++*at;
    return *at < t->used && t->index[*at] >> 32 == bin ? se_moments_at(t, *at) : NULL;
}

/* Add all that another table holds, which was admitted. Who reads in between may drop the empty parts; then they are
   made again: 0 if memory runs out there. */
static int se_unite(se_table *t, const se_table *other) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const uint64_t bin = other->index[from] >> 32;
        se_moments *part = se_reach(t, &at, bin);
        if (!part) {
            if (!se_admit_bins(t, other)) return 0;
            at = 0;
            part = se_reach(t, &at, bin);
        }
        const uint32_t before = (uint32_t)se_blank(part);
        se_join(part, se_moments_at(other, from));
        t->empty -= before - (uint32_t)se_blank(part);
    }
    for (int run = 0; run < SE_RUNS; run++) {
        se_run *to = &t->fresh[run];
        const size_t more = other->fresh[run].used, size = se_size(run);
        if (!se_extend(t, run, more)) return 0;
        if (more) memcpy((char *)to->start + to->used * size, other->fresh[run].start, more * size);
        to->used += more;
    }
    return 1;
}

/* Whether no bin counts too many scores once those of another table are added. All scores of both are in bins. */
static int se_can_add(const se_table *t, const se_table *other) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const se_moments *to = se_reach(t, &at, other->index[from] >> 32);
        if (to && (to->head >> 20) + (se_moments_at(other, from)->head >> 20) > SE_MOST) return 0;
    }
    return 1;
}

/* Whether all scores of another table can be taken from this one, and what is left could be sums of scores. All scores
   of both are in bins. */
static int se_includes(const se_table *t, const se_table *other) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const se_moments *part = se_moments_at(other, from);
        if (se_blank(part)) continue;
        const se_moments *of = se_reach(t, &at, other->index[from] >> 32);
        if (!of || of->head >> 20 < part->head >> 20) return 0;
        se_moments left = *of;
        se_leave(&left, part);
        if (!se_possible(&left)) return 0;
    }
    return 1;
}

/* Take the scores of another table from one that includes them. The two may be the same. */
static void se_subtract(se_table *t, const se_table *other) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const se_moments *part = se_moments_at(other, from);
        if (se_blank(part)) continue;
        se_moments *to = se_reach(t, &at, other->index[from] >> 32);
        if (!to) return;
        se_leave(to, part);
        t->empty += (uint32_t)se_blank(to);
    }
}

#endif
