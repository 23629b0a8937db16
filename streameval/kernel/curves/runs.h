/* se_label and its two se_table: the scores of a class as a sorted run of bins, and scores that wait to be put into bins. */

#ifndef STREAMEVAL_RUNS_H
#define STREAMEVAL_RUNS_H

#include "bins.h"

typedef union {
    void *start;
    float *floats;
    uint64_t *doubles;
} se_scores;

/* The scores of one class of one label. Scores are first appended in the order of arrival, since that is fast, and put into
   bins once there are many of them or a caller reads bins. */
typedef struct {
    uint64_t *index;            /* entries bin << 40 | place << 16 | note, in order */
    se_moments *parts;          /* by place; within `memory` */
    void *memory;
    uint32_t used, room, empty; /* numbers of bins, of bins that fit, of bins without scores */
    uint8_t many;               /* whether some bin may hold SE_MANY scores or more */
    uint8_t single;             /* whether scores wait as floats; else as bits of doubles */
    se_scores fresh;            /* the waiting scores, in `space` bytes */
    size_t waiting, space, owed; /* owed: number of scores of prepared changes, for which room is reserved */
} se_table;

typedef struct {
    se_table table[2]; /* negatives, positives */
    int64_t binned;    /* scores in both */
    int64_t side[3];   /* mentions without a score: negative (declared labels: 0), positive; masked */
} se_label;

#define SE_PENDING 65536 /* bytes of waiting scores below which they are not put into bins yet */

/* A note is a summary of a part for areas.h, so that it seldom reads parts, which take four times the memory: the number of
   scores, at most SE_MANY; for one score the five highest bits of its residual; for more, whether residuals differ. */
#define SE_MANY 1023
#define SE_MIXED 1024
#define SE_NOTE 16
#define SE_PREFIX 11 /* where the five bits of the residual begin */
#define SE_LANES 8   /* entries read at once; an index with room for SE_SPARE bins has this many more entries at its end */
#define SE_SPARE 64

static inline uint64_t se_bin_at(const se_table *t, uint32_t position) { return t->index[position] >> 40; }

static inline se_moments *se_part_of(const se_table *t, uint64_t entry) {
    return t->parts + (entry >> SE_NOTE & 0xFFFFFF);
}

static inline se_moments *se_moments_at(const se_table *t, uint32_t position) { return se_part_of(t, t->index[position]); }

/* Renew the note of a bin whose part has changed. */
static inline void se_note(se_table *t, uint32_t position) {
    const se_moments *part = se_moments_at(t, position);
    const uint64_t count = part->head >> 20, before = t->index[position];
    uint64_t mixed = count * part->square != part->sum * part->sum; /* modulo 2**64, which mostly decides */
    if (SE_RARELY(!mixed && count > 1)) mixed = se_common(part) == -1;
    t->index[position] = before >> SE_NOTE << SE_NOTE | (count < SE_MANY ? count : SE_MANY) | mixed * SE_MIXED |
                         (count == 1 ? part->sum >> (SE_DROPPED - 5) << SE_PREFIX : 0);
    t->empty += (uint32_t)!count - (uint32_t)!(before & SE_MANY);
    t->many |= count >= SE_MANY;
}

static inline size_t se_size(const se_table *t) { return t->single ? sizeof(float) : sizeof(uint64_t); }

/* The bits of a waiting score as a double. */
static inline uint64_t se_waiting_at(const se_table *t, size_t i) {
    return t->single ? se_bits_of_float(t->fresh.floats + i) : t->fresh.doubles[i];
}

/* Make room for `more` waiting scores. 0 if memory ran out. */
static int se_extend(se_table *t, size_t more) {
    const size_t least = (t->waiting + more) * se_size(t);
    if (least <= t->space) return 1;
    const size_t space = 2 * t->space > least ? 2 * t->space : least;
    void *start = realloc(t->fresh.start, space);
    if (!start) return 0;
    t->fresh.start = start;
    t->space = space;
    return 1;
}

/* Let the table append floats (`single`) or doubles; waiting floats are widened for doubles. 0 if memory ran out. */
static int se_accept(se_table *t, int single) {
    if (!t->waiting && !t->owed) t->single = single;
    if (single || !t->single) return 1;
    if (!se_extend(t, t->waiting + 2 * t->owed)) return 0; /* a double takes two floats' space */
    for (size_t i = t->waiting; i-- > 0;) t->fresh.doubles[i] = se_bits_of_float(t->fresh.floats + i);
    t->single = 0;
    return 1;
}

/* Make room for `more` bins. 0 if memory ran out, and then nothing has changed. */
static int se_enlarge(se_table *t, uint32_t more) {
    if (more <= t->room - t->used) return 1;
    uint32_t room = t->room + t->room / 2 > t->used + more ? t->room + t->room / 2 : t->used + more;
    void *memory = malloc(room * sizeof(se_moments) + 32);
    const size_t entries = room + (room < SE_SPARE ? 0 : SE_LANES);
    uint64_t *index = memory ? (uint64_t *)realloc(t->index, entries * sizeof(uint64_t)) : NULL;
    if (!index) {
        free(memory);
        return 0;
    }
    /* Aligned, so that no part crosses a cache line. */
    se_moments *parts = (se_moments *)((char *)memory + (32 - (uintptr_t)memory % 32));
    if (t->used) memcpy(parts, t->parts, t->used * sizeof(se_moments));
    free(t->memory);
    t->index = index;
    t->parts = parts;
    t->memory = memory;
    t->room = room;
    return 1;
}

/* The first position in the index whose bin is not below this one. */
static inline uint32_t se_lower(const se_table *t, uint32_t bin) {
    const uint64_t key = (uint64_t)bin << 40;
    uint32_t low = 0, count = t->used;
    while (count) {
        const uint32_t half = count / 2;
        const int right = t->index[low + half] < key;
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

/* The part of a bin, if the bin is at position `at`, else NULL. */
static inline se_moments *se_part_at(const se_table *t, uint32_t at, uint64_t bin) {
    return at < t->used && se_bin_at(t, at) == bin ? se_moments_at(t, at) : NULL;
}

/* The position of a bin, which is added with an empty part if it is absent; there must be room for it. */
static inline uint32_t se_position_of(se_table *t, uint32_t bin) {
    const uint32_t at = se_lower(t, bin);
    if (se_part_at(t, at, bin)) return at;
    memmove(t->index + at + 1, t->index + at, (t->used - at) * sizeof(uint64_t));
    t->index[at] = (uint64_t)bin << 40 | (uint64_t)t->used << SE_NOTE;
    memset(t->parts + t->used++, 0, sizeof(se_moments));
    t->empty++;
    return at;
}

static void se_discard(se_table *t) {
    free(t->index);
    free(t->memory);
    free(t->fresh.start);
}

/* -- merging -------------------------------------------------------------------------------------------------------- */

/* Add the missing bins of another table, with empty parts. 0 if memory ran out. */
static int se_admit_bins(se_table *t, const se_table *other) {
    uint32_t missing = 0, at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const uint64_t bin = se_bin_at(other, from);
        while (at < t->used && se_bin_at(t, at) < bin) at++;
        missing += !se_part_at(t, at, bin);
    }
    if (!missing) return 1;
    if (!se_enlarge(t, missing)) return 0;
    /* From the end, so that the index is merged in place. */
    uint32_t to = t->used + missing, left = t->used, from = other->used;
    for (uint32_t place = to; place > t->used; place--) memset(t->parts + place - 1, 0, sizeof(se_moments));
    uint32_t place = to;
    while (from) {
        const uint64_t bin = se_bin_at(other, from - 1);
        if (left && se_bin_at(t, left - 1) >= bin) {
            from -= se_bin_at(t, left - 1) == bin;
            t->index[--to] = t->index[--left];
        } else {
            t->index[--to] = bin << 40 | (uint64_t)--place << SE_NOTE;
            from--;
        }
    }
    t->used += missing;
    t->empty += missing;
    return 1;
}

/* Make room for all scores of another table; the room is owed until they are added or dropped. 0 if memory ran out. */
static int se_admit(se_table *t, const se_table *other) {
    if (other->waiting && !se_accept(t, other->single)) return 0;
    if (!se_extend(t, t->owed + other->waiting) || !se_admit_bins(t, other)) return 0;
    t->owed += other->waiting;
    return 1;
}

/* Move `*at` on to the first bin that is not below this one; the part of the bin, or NULL if it is absent. */
static inline se_moments *se_reach(const se_table *t, uint32_t *at, uint64_t bin) {
    while (*at < t->used && se_bin_at(t, *at) < bin) ++*at;
    return se_part_at(t, *at, bin);
}

/* Add all scores of another table, which se_admit has prepared (sign 1); or take them back from a table that includes them
   (sign -1), with all scores of both in bins. Both may be the same table. A read since then may have dropped empty bins,
   which are then added again: 0 if memory runs out there. */
static int se_unite(se_table *t, const se_table *other, int sign) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const se_moments *part = se_moments_at(other, from);
        if (se_blank(part)) continue;
        se_moments *to = se_reach(t, &at, se_bin_at(other, from));
        if (!to) {
            if (sign < 0 || !se_admit_bins(t, other)) return 0;
            at = 0;
            to = se_reach(t, &at, se_bin_at(other, from));
        }
        if (sign > 0) se_join(to, part);
        else se_leave(to, part);
        se_note(t, at);
    }
    if (sign < 0 || t == other || !other->waiting) return 1;
    if (!se_accept(t, other->single) || !se_extend(t, other->waiting)) return 0;
    if (t->single == other->single)
        memcpy((char *)t->fresh.start + t->waiting * se_size(t), other->fresh.start, other->waiting * se_size(t));
    for (size_t i = 0; t->single != other->single && i < other->waiting; i++)
        t->fresh.doubles[t->waiting + i] = se_waiting_at(other, i);
    t->waiting += other->waiting;
    return 1;
}

/* Sign 1: whether no bin will count too many scores once those of another table are added. Sign -1: whether these can be
   taken back, and scores can have the sums that are left. All scores of both must be in bins. */
static int se_fits(const se_table *t, const se_table *other, int sign) {
    uint32_t at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const se_moments *part = se_moments_at(other, from);
        if (se_blank(part)) continue;
        const se_moments *of = se_reach(t, &at, se_bin_at(other, from));
        const uint64_t before = of ? of->head >> 20 : 0, change = part->head >> 20;
        if (sign > 0 ? before + change > SE_MOST : before < change) return 0;
        if (sign > 0) continue;
        se_moments left = *of;
        se_leave(&left, part);
        if (!se_possible(&left)) return 0;
    }
    return 1;
}

#endif
