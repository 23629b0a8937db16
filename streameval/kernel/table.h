/* se_sums: the kernel's hash table (open addressing), from keys to one or more sums. A key is two words; the second never is
   all ones. A key whose first sum is 0 has no example. Used through table.pxd, and by the headers of most subjects. */

#ifndef STREAMEVAL_TABLE_H
#define STREAMEVAL_TABLE_H

#include "platform.h"

typedef struct {
    uint64_t *places; /* each place: second word of the key plus 1 (0 if never used), first word, sums */
    size_t mask;      /* the number of places, a power of two, minus 1 */
    size_t used;
    size_t promised; /* keys that changes will add which are prepared and not yet committed */
    int sums;
} se_sums;

/* Random in each process, so that nobody can choose keys with equal hashes. It decides where keys stand in a table, but not
   the order of anything that callers may rely on. Each module sets the same seed on import (`set_seed` in table.pxd). */
static uint64_t se_seed[2] = {0x9E3779B97F4A7C15ull, 0xD6E8FEB86659FD93ull};

/* Make an empty table with this number of places, a power of two. 0 if memory ran out. */
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

/* The place of a key, or the unused place where it would be added. */
SE_INLINE uint64_t *se_sums_find(const se_sums *table, uint64_t outer, uint64_t inner) {
    size_t at = se_sums_start(table, outer, inner);
    for (;; at = (at + 1) & table->mask) {
        uint64_t *place = se_sums_place(table, at);
        if (!place[0] || (place[0] == inner + 1 && place[1] == outer)) return place;
    }
}

/* The sums of the next key that has an example, and the key; NULL after the last. `*at` is 0 at the start. */
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

/* Rebuild a table with room for `more` further keys, and drop keys without an example. 0 if memory ran out. */
SE_APART int se_sums_rebuild(se_sums *table, size_t more) {
    const size_t keys = se_sums_live(table) + more;
    size_t places = 16, at = 0;
    uint64_t outer, inner;
    int64_t *sums;
    while (places < 4 * keys) places *= 2; /* in fuller tables, keys added in another table's order form long runs */
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

/* Reserve room for keys until `promised` is lowered again, whatever else is added meanwhile. 0 if memory ran out. */
SE_INLINE int se_sums_promise(se_sums *table, size_t keys) {
    if (!se_sums_reserve(table, keys)) return 0;
    table->promised += keys;
    return 1;
}

/* The sums of a key, which is added if it is absent; the table must have room for it. */
SE_INLINE int64_t *se_sums_at(se_sums *table, uint64_t outer, uint64_t inner) {
    uint64_t *place = se_sums_find(table, outer, inner);
    if (!place[0]) {
        place[0] = inner + 1;
        place[1] = outer;
        table->used++;
    }
    return (int64_t *)(place + 2);
}

/* Add to the first sum of a key; the table must have room for the key. */
SE_INLINE void se_sums_add(se_sums *table, uint64_t outer, uint64_t inner, int64_t count) {
    *se_sums_at(table, outer, inner) += count;
}

/* The first sum of a key, 0 if the key is absent. */
SE_INLINE int64_t se_sums_count(const se_sums *table, uint64_t outer, uint64_t inner) {
    return (int64_t)se_sums_find(table, outer, inner)[2];
}

#endif
