/* Sums by key: the one hash table of the kernel, with open addressing. A key is two words, of which the second is not
   all ones; it has one or more sums, and no example where the first of them is 0. */

#ifndef STREAMEVAL_TABLE_H
#define STREAMEVAL_TABLE_H

#include "platform.h"

typedef struct {
    uint64_t *places; /* of each key the second word plus 1, so that 0 is a place never taken; the first; its sums */
    size_t mask;      /* places - 1, a power of two less one */
    size_t used;
    size_t promised; /* keys that are prepared and not yet committed */
    int sums;
} se_sums;

/* Not known to whoever chose the keys, so they cannot be chosen to have equal hashes. It decides where keys stand, and
   nothing that is returned in an order. Each module sets the same when it is imported. */
static uint64_t se_seed[2] = {0x9E3779B97F4A7C15ull, 0xD6E8FEB86659FD93ull};

/* Whether there was memory for so many places, a power of two. */
static int se_sums_init(se_sums *table, size_t places, int sums) {
    table->places = (uint64_t *)calloc(places * (size_t)(sums + 2), sizeof(uint64_t));
    table->mask = places - 1;
    table->used = table->promised = 0;
    table->sums = sums;
    return table->places != NULL;
}

/* Make a table a copy of another. 0 if memory ran out, and then nothing has changed. */
static inline int se_sums_copy(se_sums *table, const se_sums *other) {
    const size_t bytes = (other->mask + 1) * (size_t)(other->sums + 2) * sizeof(uint64_t);
    uint64_t *places = (uint64_t *)malloc(bytes);
    if (!places) return 0;
    free(table->places);
    *table = *other;
    table->places = (uint64_t *)memcpy(places, other->places, bytes);
    table->promised = 0;
    return 1;
}

SE_INLINE uint64_t *se_sums_place(const se_sums *table, size_t at) {
    return table->places + at * (size_t)(table->sums + 2);
}

SE_INLINE size_t se_sums_start(const se_sums *table, uint64_t outer, uint64_t inner) {
    return (size_t)se_mixed(outer ^ se_seed[0], inner ^ se_seed[1]) & table->mask;
}

/* Prefetch the place of a key: large tables are not in the cache. */
SE_INLINE void se_sums_prefetch(const se_sums *table, uint64_t outer, uint64_t inner) {
    SE_FETCH(se_sums_place(table, se_sums_start(table, outer, inner)), 1);
}

/* Where a key stands, or would stand. */
SE_INLINE uint64_t *se_sums_find(const se_sums *table, uint64_t outer, uint64_t inner) {
    size_t at = se_sums_start(table, outer, inner);
    for (;; at = (at + 1) & table->mask) {
        uint64_t *place = se_sums_place(table, at);
        if (!place[0] || (place[0] == inner + 1 && place[1] == outer)) return place;
    }
}

/* The next key that has an example, and its sums; NULL behind the last. Start at 0. */
SE_INLINE int64_t *se_sums_next(const se_sums *table, size_t *at, uint64_t *outer, uint64_t *inner) {
    while (*at <= table->mask) {
        uint64_t *place = se_sums_place(table, (*at)++);
        if (!place[0] || !place[2]) continue;
        *outer = place[1];
        *inner = place[0] - 1;
        return (int64_t *)(place + 2);
    }
    return NULL;
}

/* How many keys have an example. */
static size_t se_sums_live(const se_sums *table) {
    size_t live = 0, at = 0;
    uint64_t outer, inner;
    while (se_sums_next(table, &at, &outer, &inner)) live++;
    return live;
}

/* A table of the same content with room for `more` further keys, without keys that have no example. */
SE_APART int se_sums_rebuild(se_sums *table, size_t more) {
    const size_t keys = se_sums_live(table) + more;
    size_t places = 16, at = 0;
    uint64_t outer, inner;
    int64_t *sums;
    while (places < 4 * keys) places *= 2; /* fuller, keys that come in the order of another table stand in long runs */
    se_sums fresh;
    if (!se_sums_init(&fresh, places, table->sums)) return 0;
    for (; (sums = se_sums_next(table, &at, &outer, &inner));) {
        memcpy(se_sums_find(&fresh, outer, inner), sums - 2, (size_t)(table->sums + 2) * sizeof(uint64_t));
        fresh.used++;
    }
    free(table->places);
    fresh.promised = table->promised;
    *table = fresh;
    return 1;
}

/* Make sure that `more` further keys fit. 0 if memory ran out. */
SE_INLINE int se_sums_reserve(se_sums *table, size_t more) {
    more += table->promised;
    return 2 * (table->used + more) <= table->mask + 1 || se_sums_rebuild(table, more);
}

/* Make sure that so many keys fit until the promise is taken back, whatever else is added. 0 if memory ran out. */
SE_INLINE int se_sums_promise(se_sums *table, size_t keys) {
    if (!se_sums_reserve(table, keys)) return 0;
    table->promised += keys;
    return 1;
}

/* The sums of a key for which there is room. */
SE_INLINE int64_t *se_sums_at(se_sums *table, uint64_t outer, uint64_t inner) {
    uint64_t *place = se_sums_find(table, outer, inner);
    if (!place[0]) {
        place[0] = inner + 1;
        place[1] = outer;
        table->used++;
    }
    return (int64_t *)(place + 2);
}

/* Add to the first sum of a key for which there is room. */
SE_INLINE void se_sums_add(se_sums *table, uint64_t outer, uint64_t inner, int64_t count) {
    *se_sums_at(table, outer, inner) += count;
}

/* The first sum of a key. */
SE_INLINE int64_t se_sums_count(const se_sums *table, uint64_t outer, uint64_t inner) {
    return (int64_t)se_sums_find(table, outer, inner)[2];
}

#endif
