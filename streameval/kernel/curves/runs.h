/* The scores of one class of one label: a sorted run of bins, and scores that wait to be put into bins. */

#ifndef STREAMEVAL_RUNS_H
#define STREAMEVAL_RUNS_H

#include "bins.h"

typedef union {
    void *start;
    float *floats;
    uint64_t *doubles;
} se_scores;

/* The scores of one class of one label. They are first appended as they come, since that is all but free, and put into
   bins once there are many of them or somebody looks. */
typedef struct {
    uint64_t *index;            /* bin << 40 | place << 16 | note, in order */
    se_moments *parts;          /* by place, in `memory` */
    void *memory;
    uint32_t used, room, empty; /* bins; room for them; how many of them count nothing */
    uint8_t many;               /* whether some bin may hold SE_MANY scores or more */
    uint8_t single;             /* whether floats wait; else doubles, as bits */
    se_scores fresh;            /* those that wait, in `space` bytes */
    size_t waiting, space, owed; /* owed: room for what is prepared and not yet committed */
} se_table;

typedef struct {
    se_table table[2]; /* negatives, positives */
    int64_t binned;    /* scores in both */
    int64_t side[3];   /* mentions without a score: negative (declared labels: 0), positive; masked */
} se_label;

#define SE_PENDING 65536 /* fewer bytes of scores than these are never worth sorting */

/* A note has what areas need of a bin, so that they seldom read parts, which take four times the memory: the number of
   scores, at most SE_MANY; of a single score the five highest bits of its residual; of several whether they differ. */
#define SE_MANY 1023
#define SE_MIXED 1024
#define SE_NOTE 16
#define SE_PREFIX 11 /* bits below the residual's */
#define SE_LANES 8   /* entries that are read at once; an index with room for SE_SPARE bins has so many more at its end */
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
    uint64_t mixed = count * part->square != part->sum * part->sum; /* modulo 2**64, which is nearly always enough */
    if (SE_RARELY(!mixed && count > 1)) mixed = se_common(part) == -1;
    t->index[position] = before >> SE_NOTE << SE_NOTE | (count < SE_MANY ? count : SE_MANY) | mixed * SE_MIXED |
                         (count == 1 ? part->sum >> (SE_DROPPED - 5) << SE_PREFIX : 0);
    t->empty += (uint32_t)!count - (uint32_t)!(before & SE_MANY);
    t->many |= count >= SE_MANY;
}

static inline size_t se_size(const se_table *t) { return t->single ? sizeof(float) : sizeof(uint64_t); }

/* The bits, as of a double, of a score that waits. */
static inline uint64_t se_waiting_at(const se_table *t, size_t i) {
    return t->single ? se_bits_of_float(t->fresh.floats + i) : t->fresh.doubles[i];
}

/* Room for more scores to wait. 0 if memory ran out. */
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

/* Let floats wait, or doubles, among which floats are widened. 0 if memory ran out. */
static int se_accept(se_table *t, int single) {
    if (!t->waiting && !t->owed) t->single = single;
    if (single || !t->single) return 1;
    if (!se_extend(t, t->waiting + 2 * t->owed)) return 0; /* each takes the place of two */
    for (size_t i = t->waiting; i-- > 0;) t->fresh.doubles[i] = se_bits_of_float(t->fresh.floats + i);
    t->single = 0;
    return 1;
}

/* Room for more bins. 0 if memory ran out, and then nothing has changed. */
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
    /* No part lies across two lines of the cache. */
    se_moments *parts = (se_moments *)((char *)memory + (32 - (uintptr_t)memory % 32));
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

/* The part of a bin, which is at position `at` or, from there on, would be; NULL if there is none. */
static inline se_moments *se_part_at(const se_table *t, uint32_t at, uint64_t bin) {
    return at < t->used && se_bin_at(t, at) == bin ? se_moments_at(t, at) : NULL;
}

/* The position of a bin, which is made if need be (there must be room): an empty part counts nothing. */
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

/* Make empty parts for the bins of another table. 0 if memory ran out. */
static int se_admit_bins(se_table *t, const se_table *other) {
    uint32_t missing = 0, at = 0;
    for (uint32_t from = 0; from < other->used; from++) {
        const uint64_t bin = se_bin_at(other, from);
        while (at < t->used && se_bin_at(t, at) < bin) at++;
        missing += !se_part_at(t, at, bin);
    }
    if (!missing) return 1;
    if (!se_enlarge(t, missing)) return 0;
    /* From behind, so that the index is merged in place. */
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

/* Make room for all that another table holds, which is owed until it comes or does not. 0 if memory ran out. */
static int se_admit(se_table *t, const se_table *other) {
    if (other->waiting && !se_accept(t, other->single)) return 0;
    if (!se_extend(t, t->owed + other->waiting) || !se_admit_bins(t, other)) return 0;
    t->owed += other->waiting;
    return 1;
}

/* The part of a bin, from place `at` on, which moves there; NULL if there is none. */
static inline se_moments *se_reach(const se_table *t, uint32_t *at, uint64_t bin) {
    while (*at < t->used && se_bin_at(t, *at) < bin) ++*at;
    return se_part_at(t, *at, bin);
}

/* Add all that another table holds, which was admitted (sign 1), or take it from a table that includes it (sign -1), with
   all scores in bins. The two may be the same. Who reads in between may drop the empty parts; then they are made again: 0
   if memory runs out there. */
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

/* Whether no bin counts too many scores once those of another table are added (sign 1); or whether all of these can be
   taken away (sign -1), and what is left could be sums of scores. All scores of both are in bins. */
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
