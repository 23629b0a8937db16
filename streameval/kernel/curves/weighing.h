/* sw_table: exact sums of weights, weights * residuals and weights * residuals**2 by column and place; for weighing.pyx. */

#ifndef STREAMEVAL_WEIGHING_H
#define STREAMEVAL_WEIGHING_H

#include "mentions.h"
#include "table.h"

/* A key is a column and a place in it: 2 * bin + class, or one of these. SW_WHOLE is the sum over all other places of the
   column. SW_ALL is an additional column, in which each example counts with its weight. */
enum { SW_WHOLE = 1 << 25, SW_POSITIVE, SW_MASKED };
#define SW_ALL ((uint64_t)1 << 62)

#define SW_WORDS 40 /* the most words of a sum; 2**63 examples of any weights, in units of the least weight, take 35 */
#define SW_SUMS(words) (3 * (words) + 4)

/* The sums of a key: the number of examples; then unsigned integers, low word first: the sum of weights (`words` words), of
   weights times residuals (one word more) and of weights times residuals**2 (two words more). */

/* `sums` holds the sums of all keys; `keys` maps each key to the number of its sums, plus 1. Unused sums are a linked list:
   each starts with 0, the number of its examples, and then the number of the next unused sums, plus 1. */
typedef struct {
    se_sums keys; /* its promised keys have room in `sums`, too */
    uint64_t *sums;
    size_t used, room, spare; /* numbers of sums, of sums that fit, of unused sums */
    uint64_t first;           /* the first unused sums: number plus 1, or 0 */
    uint64_t width;           /* greater than all columns so far */
    int words;
} sw_table;

static const uint64_t sw_none[SW_SUMS(SW_WORDS)] = {0};

static int sw_init(sw_table *t, int words) {
    memset(t, 0, sizeof *t);
    t->words = words;
    return se_sums_init(&t->keys, 16, 1);
}

static void sw_drop(sw_table *t) {
    free(t->keys.places);
    free(t->sums);
}

SE_INLINE uint64_t *sw_sums(const sw_table *t, uint64_t number) {
    return t->sums + (number - 1) * (size_t)SW_SUMS(t->words);
}

/* The sums of a key; all are 0 if the key is absent. */
SE_INLINE const uint64_t *sw_find(const sw_table *t, uint64_t outer, uint64_t inner) {
    const uint64_t number = (uint64_t)se_sums_count(&t->keys, outer, inner);
    return number ? sw_sums(t, number) : sw_none;
}

/* The next key, its column mapped by `place` unless that is NULL, and its sums; NULL after the last. `*at` starts at 0. */
SE_INLINE const uint64_t *sw_next(
    const sw_table *t, const int64_t *place, size_t *at, uint64_t *outer, uint64_t *inner) {
    const int64_t *number = se_sums_next(&t->keys, at, outer, inner);
    if (number && place && *outer != SW_ALL) *outer = (uint64_t)place[*outer];
    return number ? sw_sums(t, (uint64_t)*number) : NULL;
}

/* Make sure that `more` further keys fit. 0 if memory ran out. */
static int sw_reserve(sw_table *t, size_t more) {
    const size_t needed = t->used - t->spare + t->keys.promised + more;
    if (!se_sums_reserve(&t->keys, more)) return 0;
    if (needed <= t->room) return 1;
    const size_t room = needed + needed / 2, bytes = (size_t)SW_SUMS(t->words) * sizeof *t->sums;
    uint64_t *sums = room <= SIZE_MAX / bytes ? (uint64_t *)realloc(t->sums, room * bytes) : NULL;
    if (!sums) return 0;
    t->sums = sums;
    t->room = room;
    return 1;
}

/* The sums of a key, which is added if it is absent; there must be room for it. */
SE_INLINE uint64_t *sw_at(sw_table *t, uint64_t outer, uint64_t inner) {
    uint64_t *number = (uint64_t *)se_sums_at(&t->keys, outer, inner), *sums;
    if (*number) return sw_sums(t, *number);
    if (t->first) {
        *number = t->first;
        t->first = sw_sums(t, *number)[1];
        t->spare--;
    } else {
        *number = ++t->used;
    }
    if (outer != SW_ALL && outer >= t->width) t->width = outer + 1;
    sums = sw_sums(t, *number);
    memset(sums, 0, (size_t)SW_SUMS(t->words) * sizeof *sums);
    return sums;
}

/* Add sums (sign 1) or subtract them (sign -1). */
SE_INLINE void sw_add(uint64_t *to, const uint64_t *from, int words, int sign) {
    *to++ += (uint64_t)sign * *from++;
    for (int size = words; size < words + 3; size++) {
        uint64_t carry = 0;
        for (int i = 0; i < size; i++, to++, from++) {
            const uint64_t old = *to, part = *from + carry;
            *to = sign > 0 ? old + part : old - part;
            carry = (part < carry) | (sign > 0 ? *to < old : *to > old);
        }
    }
}

/* Whether `part` may be subtracted: no sum becomes negative, and all become 0 if no example is left. */
static int sw_holds(const uint64_t *sums, const uint64_t *part, int words) {
    if (*sums <= *part) return !memcmp(sums, part, (size_t)SW_SUMS(words) * sizeof *sums);
    sums++, part++;
    for (int size = words; size < words + 3; sums += size++, part += size - 1) {
        int i = size - 1;
        while (i && sums[i] == part[i]) i--;
        if (sums[i] < part[i]) return 0;
    }
    return 1;
}

/* The sums of one example with a residual. */
SE_INLINE void sw_one(uint64_t *sums, const uint64_t *weight, int words, uint64_t residual) {
    *sums++ = 1;
    memcpy(sums, weight, (size_t)words * sizeof *sums);
    for (int size = words; size < words + 2; sums += size++) {
        uint64_t carry = 0;
        for (int i = 0; i < size; i++) sums[size + i] = se_times(sums[i], residual, carry, &carry);
        sums[2 * size] = carry;
    }
}

/* Add sums to those of a key (sign 1), for which there must be room, or subtract them (sign -1). */
SE_INLINE void sw_enter(sw_table *t, uint64_t outer, uint64_t inner, const uint64_t *sums, int sign) {
    uint64_t *to = sw_at(t, outer, inner);
    sw_add(to, sums, t->words, sign);
    if (*to) return;
    uint64_t *number = (uint64_t *)se_sums_at(&t->keys, outer, inner);
    to[1] = t->first;
    t->first = *number;
    t->spare++;
    *number = 0;
}

#define SW_BLOCK 32

/* Look up the sums of up to SW_BLOCK keys, prefetching all of them, since they are not in the cache. */
SE_INLINE void sw_look(
    const sw_table *t, const int64_t *outer, const int64_t *inner, ptrdiff_t count, const uint64_t **sums) {
    for (ptrdiff_t i = 0; i < count; i++) se_sums_prefetch(&t->keys, (uint64_t)outer[i], (uint64_t)inner[i]);
    for (ptrdiff_t i = 0; i < count; i++) {
        sums[i] = sw_find(t, (uint64_t)outer[i], (uint64_t)inner[i]);
        SE_FETCH(sums[i], 0);
    }
}

/* The bits that are set in any sum: words + 2 words, as many as the longest sum has. */
static void sw_unite(const sw_table *t, uint64_t *bits) {
    const uint64_t *sums = t->sums;
    for (size_t number = 0; number < t->used; number++, sums += SW_SUMS(t->words)) {
        const uint64_t *from = sums + 1;
        for (int size = t->words; *sums && size < t->words + 3; size++)
            for (int i = 0; i < size; i++) bits[i] |= *from++;
    }
}

/* Add the product a * b to a sum of `size` words, which must hold the result. */
SE_INLINE void sw_add_product(uint64_t *sum, int size, const uint64_t *a, int as, const uint64_t *b, int bs) {
    for (int i = 0; i < as; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < size && (j < bs || carry); j++) {
            uint64_t high;
            const uint64_t more = sum[i + j] + carry; /* a product and this are below 2**128 */
            sum[i + j] = se_times(a[i], j < bs ? b[j] : 0, more, &high);
            carry = high + (more < carry);
        }
    }
}

/* Add the weights of both classes in a bin to the totals of the bins below it: negatives, positives, twice the pairs in
   order, and pairs in bins where the residuals of a class differ (`common` is -1). Each has 2 * words + 2 words. */
static void sw_add_bin(uint64_t *const out[4], const uint64_t *neg, const uint64_t *pos, const int64_t common[2],
                       uint64_t flipped, int words) {
    const int size = 2 * words + 2, mixed = common[0] == -1 || common[1] == -1;
    const int equal = common[0] == common[1], above = (common[1] > common[0]) != (int)flipped;
    const uint64_t one = 1;
    uint64_t below[SW_WORDS + 1];
    if (*pos) {
        memset(below, 0, sizeof below);
        for (int twice = 0; twice < 2; twice++) sw_add_product(below, words + 1, out[0], words, &one, 1);
        for (int twice = 0; *neg && !mixed && twice < (equal ? 1 : 2 * above); twice++)
            sw_add_product(below, words + 1, neg + 1, words, &one, 1);
        sw_add_product(out[2], size, below, words + 1, pos + 1, words);
        if (*neg && mixed) sw_add_product(out[3], size, neg + 1, words, pos + 1, words);
        sw_add_product(out[1], size, pos + 1, words, &one, 1);
    }
    sw_add_product(out[0], size, neg + 1, words, &one, 1);
}

/* -- examples ------------------------------------------------------------------------------------------------------------ */

/* Add the mentions of an example, which are overwritten. 0 if memory ran out; nothing is added then. */
static int sw_mentions(sw_table *t, const uint64_t *weight, se_mention *mentions, ptrdiff_t count) {
    uint64_t plain[SW_SUMS(SW_WORDS)], sums[SW_SUMS(SW_WORDS)];
    if (!sw_reserve(t, 2 * (size_t)count + 1)) return 0;
    for (se_mention *m = mentions; m < mentions + count; m++) {
        uint64_t residual = 0;
        m->kind = m->kind < 2 ? (int)(2 * se_bin(m->score, &residual)) + m->kind : m->kind - 2 + SW_WHOLE;
        m->score = residual;
        se_sums_prefetch(&t->keys, (uint64_t)m->column, (uint64_t)m->kind);
    }
    sw_one(plain, weight, t->words, 0);
    sw_enter(t, SW_ALL, SW_WHOLE, plain, 1);
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        if (m->kind == SW_WHOLE) continue; /* negatives without a score */
        sw_enter(t, (uint64_t)m->column, SW_WHOLE, plain, 1);
        sw_one(sums, weight, t->words, m->score);
        sw_enter(t, (uint64_t)m->column, (uint64_t)m->kind, sums, 1);
    }
    return 1;
}

/* Add examples. 0 if memory ran out. */
static int sw_count(sw_table *t, const uint64_t *weights, se_examples *in) {
    int enough = 1;
    for (ptrdiff_t at = 0; at < in->count && enough; at++, weights += t->words)
        enough = sw_mentions(t, weights, in->mentions, se_mentions_of(in, at));
    return enough;
}

/* -- tables of the same shape -------------------------------------------------------------------------------------------- */

/* Whether the sums of another table, with columns mapped by `place`, may be subtracted. */
static int sw_included(const sw_table *t, const sw_table *other, const int64_t *place) {
    const uint64_t *sums;
    uint64_t outer, inner;
    for (size_t at = 0; (sums = sw_next(other, place, &at, &outer, &inner));)
        if (!sw_holds(sw_find(t, outer, inner), sums, t->words)) return 0;
    return 1;
}

/* Add the sums of another table (sign 1), for which there must be room, or subtract them (sign -1). */
static void sw_merge(sw_table *t, const sw_table *other, const int64_t *place, int sign) {
    const uint64_t *sums;
    uint64_t outer, inner;
    for (size_t at = 0; (sums = sw_next(other, place, &at, &outer, &inner));) sw_enter(t, outer, inner, sums, sign);
}

/* Whether no column has more examples or a greater weight than all examples together. */
static int sw_agrees(const sw_table *t) {
    const uint64_t *all = sw_find(t, SW_ALL, SW_WHOLE);
    for (uint64_t column = 0; column < t->width; column++) {
        const uint64_t *whole = sw_find(t, column, SW_WHOLE);
        if (*whole > *all) return 0;
        for (int i = t->words; i && whole[i] >= all[i]; i--)
            if (whole[i] > all[i]) return 0;
    }
    return 1;
}

/* Whether some examples have the sums that are left without those of another table. The GIL hides the table meanwhile. */
static int sw_may_leave(sw_table *t, const sw_table *other, const int64_t *place) {
    if (!sw_included(t, other, place)) return 0;
    sw_merge(t, other, place, -1);
    const int fits = sw_agrees(t);
    sw_merge(t, other, place, 1);
    return fits;
}

/* Fill an empty table with the sums of another, times a factor. 0 if memory ran out. */
static int sw_scale(sw_table *t, const sw_table *other, const uint64_t *factor, int factors) {
    uint64_t outer, inner;
    const uint64_t *from;
    if (!sw_reserve(t, other->used - other->spare)) return 0;
    for (size_t at = 0; (from = sw_next(other, NULL, &at, &outer, &inner));) {
        uint64_t *to = sw_at(t, outer, inner);
        *to++ = *from++;
        for (int more = 0; more < 3; to += t->words + more, from += other->words + more, more++)
            sw_add_product(to, t->words + more, from, other->words + more, factor, factors);
    }
    return 1;
}

/* Make a new table of the same shape a copy of another. 0 if memory ran out. */
static int sw_copy(sw_table *t, const sw_table *other) {
    const size_t bytes = other->used * (size_t)SW_SUMS(other->words) * sizeof *other->sums;
    t->sums = (uint64_t *)malloc(bytes + 1);
    if (!t->sums || !se_sums_copy(&t->keys, &other->keys)) return 0;
    if (bytes) memcpy(t->sums, other->sums, bytes);
    t->used = t->room = other->used;
    t->spare = other->spare;
    t->first = other->first;
    t->width = other->width;
    return 1;
}

#endif
