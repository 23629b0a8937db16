/* Strings as codes, in C: what each function computes is said in numpy.py. Nothing here knows of Python. */

#ifndef STREAMEVAL_CODING_H
#define STREAMEVAL_CODING_H

#include "lists/lists.h"

#define SC_MEMORY -1
#define SC_DAMAGED -2

/* -- strings as codes: an open-addressing hash table of all that differ ------------------------------------------- */

/* A string of up to SC_SHORT bytes is identified by its length and two words, so that comparing it needs no
   second look at the data. Of a longer one the words are its hash, and where it stands first. */
#define SC_SHORT 16

typedef struct {
    uint64_t one, two;
    int64_t length;
    int64_t number; /* its code plus 1; 0 in a place that is free */
} sc_place;

typedef struct {
    sc_place *places;
    uint64_t mask; /* places - 1, a power of two less one */
    int64_t used;
    int64_t *firsts; /* where the string of each code stands first */
    int64_t room;    /* of firsts */
    uint64_t seed, other;
} sc_table;

SE_INLINE uint64_t sc_eight(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Four bytes as the first of eight, the others zero. */
SE_INLINE uint64_t sc_four(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint64_t)word << 32;
#else
    return word;
#endif
}

/* The seed is not known to whoever wrote the strings, so they cannot be chosen to have equal hashes. */
SE_INLINE uint64_t sc_hash(const sc_table *table, uint64_t one, uint64_t two, int64_t length) {
    return se_mixed(one ^ table->seed, two ^ table->other ^ (uint64_t)length * 0x9E3779B97F4A7C15ull);
}

/* Of two words the first bytes, and zeros. No branch asks how many there are: that is hard to predict. */
SE_INLINE void sc_begins(int64_t length, uint64_t *one, uint64_t *two) {
    static const uint8_t first[2 * SC_SHORT] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    *one &= sc_eight(first + SC_SHORT - length);
    *two &= sc_eight(first + SC_SHORT + 8 - length);
}

/* A string of up to SC_SHORT bytes as two words; sixteen bytes can be read. */
SE_INLINE void sc_words(const uint8_t *string, int64_t length, uint64_t *one, uint64_t *two) {
    *one = sc_eight(string);
    *two = sc_eight(string + 8);
    sc_begins(length, one, two);
}

/* The same where no more than the string can be read. */
SE_APART void sc_last_words(const uint8_t *string, int64_t length, uint64_t *one, uint64_t *two) {
    uint8_t last[SC_SHORT] = {0};
    if (length) memcpy(last, string, (size_t)length);
    sc_words(last, length, one, two);
}

static uint64_t sc_long_hash(const sc_table *table, const uint8_t *string, int64_t length) {
    uint64_t hash = table->seed ^ (uint64_t)length;
    int64_t at = 0;
    for (; at + 16 < length; at += 16)
        hash = se_mixed(sc_eight(string + at) ^ table->other, sc_eight(string + at + 8) ^ hash);
    at = length - 16;
    return se_mixed(se_mixed(sc_eight(string + at) ^ table->other, sc_eight(string + at + 8) ^ hash) ^ table->seed,
                    0x9E3779B97F4A7C15ull);
}

/* So few strings have so many places each, for every string that is not where it is looked for first is mispredicted:
   fifty strings in 512 places took half as long again. */
#define SC_FEW 128
#define SC_SPARSE 32

static int sc_begin(sc_table *table, uint64_t seed) {
    table->mask = 1023;
    table->used = 0;
    table->room = 64;
    table->seed = seed;
    table->other = seed * 0xD6E8FEB86659FD93ull + 0xA0761D6478BD642Full;
    table->places = (sc_place *)calloc(table->mask + 1, sizeof(sc_place));
    table->firsts = (int64_t *)malloc((size_t)table->room * sizeof(int64_t));
    return table->places && table->firsts ? 0 : SC_MEMORY;
}

static void sc_end(sc_table *table) {
    free(table->places);
    free(table->firsts);
}

/* Note a string that has no place yet, and where it stands; `place` is a free one. */
static int sc_add(sc_table *table, uint64_t place, uint64_t one, uint64_t two, int64_t length, int64_t stands) {
    if (table->used == INT32_MAX) return SC_MEMORY;
    if (table->used == table->room) {
        int64_t *more = (int64_t *)realloc(table->firsts, (size_t)table->room * 2 * sizeof(int64_t));
        if (!more) return SC_MEMORY;
        table->firsts = more;
        table->room *= 2;
    }
    table->firsts[table->used++] = stands;
    table->places[place] = (sc_place){one, two, length, table->used};
    if ((uint64_t)table->used * (table->used <= SC_FEW ? SC_SPARSE : 2) <= table->mask) return 0;
    const uint64_t mask = table->mask * 4 + 3;
    sc_place *places = (sc_place *)calloc(mask + 1, sizeof(sc_place));
    if (!places) return SC_MEMORY;
    for (uint64_t old = 0; old <= table->mask; old++) {
        const sc_place *moved = table->places + old;
        if (!moved->number) continue;
        uint64_t at = moved->length > SC_SHORT ? moved->one : sc_hash(table, moved->one, moved->two, moved->length);
        for (at &= mask; places[at].number;) at = (at + 1) & mask;
        places[at] = *moved;
    }
    free(table->places);
    table->places = places;
    table->mask = mask;
    return 0;
}

/* Where a short string is, or the free place for it. */
SE_INLINE uint64_t sc_place_of(const sc_table *table, uint64_t one, uint64_t two, int64_t length) {
    uint64_t at = sc_hash(table, one, two, length) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        const sc_place *place = table->places + at;
        if (!place->number || (place->one == one && place->two == two && place->length == length)) return at;
    }
}

/* The code of a string that may be at a place, or else becomes the newest there; -1 if memory ran out. */
SE_INLINE int64_t sc_code_at(
    sc_table *table, uint64_t at, uint64_t one, uint64_t two, int64_t length, int64_t stands) {
    const int64_t number = table->places[at].number;
    if (number) return number - 1;
    return sc_add(table, at, one, two, length, stands) ? SC_MEMORY : table->used - 1;
}

SE_INLINE int sc_codes_of(
    sc_table *table, const void *offsets, int wide, int64_t count, const uint8_t *data, int64_t size, int32_t *codes) {
    int64_t start = se_at(offsets, wide, 0);
    if (start < 0 || start > size) return SC_DAMAGED;
    for (int64_t i = 0; i < count; i++) {
        const int64_t end = se_at(offsets, wide, i + 1), length = end - start;
        uint64_t one, two, at;
        int64_t code;
        if (SE_RARELY(end < start || end > size)) return SC_DAMAGED;
        if (length <= SC_SHORT) {
            if (SE_RARELY(size - start < SC_SHORT))
                sc_last_words(data + start, length, &one, &two);
            else
                sc_words(data + start, length, &one, &two);
            at = sc_place_of(table, one, two, length);
        } else {
            one = sc_long_hash(table, data + start, length);
            two = (uint64_t)start;
            for (at = one & table->mask;; at = (at + 1) & table->mask) {
                const sc_place *place = table->places + at;
                if (!place->number) break;
                if (place->one == one && place->length == length &&
                    !memcmp(data + place->two, data + start, (size_t)length))
                    break;
            }
        }
        if ((code = sc_code_at(table, at, one, two, length, i)) < 0) return SC_MEMORY;
        codes[i] = (int32_t)code;
        start = end;
    }
    return 0;
}

static int sc_codes(
    sc_table *table, const void *offsets, int wide, int64_t count, const uint8_t *data, int64_t size, int32_t *codes) {
    if (wide) return sc_codes_of(table, offsets, 1, count, data, size, codes);
    return sc_codes_of(table, offsets, 0, count, data, size, codes);
}

/* Strings as views: of 16 bytes each, of which the first four say how long the string is. Up to SC_WITHIN bytes
   follow at once; of a longer string its first four, the number of its buffer, and where it stands there. */
#define SC_VIEW 16
#define SC_WITHIN 12

typedef struct {
    const uint8_t *views;
    const uint8_t **data;
    const int64_t *sizes; /* of data */
    int64_t buffers;
} sc_views;

/* Where a long string stands; NULL if outside its buffer. */
SE_INLINE const uint8_t *sc_viewed(const sc_views *in, const uint8_t *view, int64_t length) {
    int32_t buffer, start;
    memcpy(&buffer, view + 8, sizeof buffer);
    memcpy(&start, view + 12, sizeof start);
    if (buffer < 0 || buffer >= in->buffers || start < 0 || start + length > in->sizes[buffer]) return NULL;
    return in->data[buffer] + start;
}

static int sc_view_codes(sc_table *table, const sc_views *in, int64_t count, int32_t *codes) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *view = in->views + i * SC_VIEW, *string;
        int32_t length;
        uint64_t one, two, at;
        int64_t code;
        memcpy(&length, view, sizeof length);
        if (SE_RARELY(length < 0)) return SC_DAMAGED;
        if (length <= SC_WITHIN) {
            one = sc_eight(view + 4);
            two = sc_four(view + 12);
            sc_begins(length, &one, &two);
            at = sc_place_of(table, one, two, length);
        } else {
            string = sc_viewed(in, view, length);
            if (!string) return SC_DAMAGED;
            if (length <= SC_SHORT) {
                sc_last_words(string, length, &one, &two);
                at = sc_place_of(table, one, two, length);
            } else {
                one = sc_long_hash(table, string, length);
                two = (uint64_t)i;
                for (at = one & table->mask;; at = (at + 1) & table->mask) {
                    const sc_place *place = table->places + at;
                    if (!place->number) break;
                    if (place->one == one && place->length == length &&
                        !memcmp(sc_viewed(in, in->views + place->two * SC_VIEW, length), string, (size_t)length))
                        break;
                }
            }
        }
        if ((code = sc_code_at(table, at, one, two, length, i)) < 0) return SC_MEMORY;
        codes[i] = (int32_t)code;
    }
    return 0;
}

#endif
