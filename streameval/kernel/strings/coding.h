/* Strings as codes, in C: what each function computes is said in numpy.py. Nothing here knows of Python. */

#ifndef STREAMEVAL_CODING_H
#define STREAMEVAL_CODING_H

#include "lists/lists.h"

#define SC_MEMORY -1
#define SC_DAMAGED -2

/* -- texts as codes: an open-addressing hash table of all that differ --------------------------------------------- */

/* A text of up to SC_SHORT bytes is told by its length and two words, so that comparing it needs no second look at the
   data. Of a longer one the words are its hash, and where it stands first. */
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
    int64_t *firsts; /* where the text of each code stands first */
    int64_t room;    /* of firsts */
    uint64_t seed, other;
} sc_texts;

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

/* The seed is not known to whoever wrote the texts, so they cannot be chosen to have equal hashes. */
SE_INLINE uint64_t sc_hash(const sc_texts *texts, uint64_t one, uint64_t two, int64_t length) {
    return se_mixed(one ^ texts->seed, two ^ texts->other ^ (uint64_t)length * 0x9E3779B97F4A7C15ull);
}

/* Of two words the first bytes, and zeros. No branch asks how many there are: that is hard to predict. */
SE_INLINE void sc_begins(int64_t length, uint64_t *one, uint64_t *two) {
    static const uint8_t first[2 * SC_SHORT] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    *one &= sc_eight(first + SC_SHORT - length);
    *two &= sc_eight(first + SC_SHORT + 8 - length);
}

/* A text of up to SC_SHORT bytes as two words; sixteen bytes can be read. */
SE_INLINE void sc_words(const uint8_t *text, int64_t length, uint64_t *one, uint64_t *two) {
    *one = sc_eight(text);
    *two = sc_eight(text + 8);
    sc_begins(length, one, two);
}

/* The same where no more than the text can be read. */
SE_APART void sc_last_words(const uint8_t *text, int64_t length, uint64_t *one, uint64_t *two) {
    uint8_t last[SC_SHORT] = {0};
    if (length) memcpy(last, text, (size_t)length);
    sc_words(last, length, one, two);
}

static uint64_t sc_long_hash(const sc_texts *texts, const uint8_t *text, int64_t length) {
    uint64_t hash = texts->seed ^ (uint64_t)length;
    int64_t at = 0;
    for (; at + 16 < length; at += 16)
        hash = se_mixed(sc_eight(text + at) ^ texts->other, sc_eight(text + at + 8) ^ hash);
    at = length - 16;
    return se_mixed(se_mixed(sc_eight(text + at) ^ texts->other, sc_eight(text + at + 8) ^ hash) ^ texts->seed,
                    0x9E3779B97F4A7C15ull);
}

/* So few texts have so many places each, for every text that is not where it is looked for first is mispredicted:
   fifty texts in 512 places took half as long again. */
#define SC_FEW 128
#define SC_SPARSE 32

static int sc_begin(sc_texts *texts, uint64_t seed) {
    texts->mask = 1023;
    texts->used = 0;
    texts->room = 64;
    texts->seed = seed;
    texts->other = seed * 0xD6E8FEB86659FD93ull + 0xA0761D6478BD642Full;
    texts->places = (sc_place *)calloc(texts->mask + 1, sizeof(sc_place));
    texts->firsts = (int64_t *)malloc((size_t)texts->room * sizeof(int64_t));
    return texts->places && texts->firsts ? 0 : SC_MEMORY;
}

static void sc_end(sc_texts *texts) {
    free(texts->places);
    free(texts->firsts);
}

/* Note a text that has no place yet, and where it stands; `place` is the free one that was found for it. */
static int sc_meet(sc_texts *texts, uint64_t place, uint64_t one, uint64_t two, int64_t length, int64_t stands) {
    if (texts->used == INT32_MAX) return SC_MEMORY;
    if (texts->used == texts->room) {
        int64_t *more = (int64_t *)realloc(texts->firsts, (size_t)texts->room * 2 * sizeof(int64_t));
        if (!more) return SC_MEMORY;
        texts->firsts = more;
        texts->room *= 2;
    }
    texts->firsts[texts->used++] = stands;
    texts->places[place] = (sc_place){one, two, length, texts->used};
    if ((uint64_t)texts->used * (texts->used <= SC_FEW ? SC_SPARSE : 2) <= texts->mask) return 0;
    const uint64_t mask = texts->mask * 4 + 3;
    sc_place *places = (sc_place *)calloc(mask + 1, sizeof(sc_place));
    if (!places) return SC_MEMORY;
    for (uint64_t old = 0; old <= texts->mask; old++) {
        const sc_place *moved = texts->places + old;
        if (!moved->number) continue;
        uint64_t at = moved->length > SC_SHORT ? moved->one : sc_hash(texts, moved->one, moved->two, moved->length);
        for (at &= mask; places[at].number;) at = (at + 1) & mask;
        places[at] = *moved;
    }
    free(texts->places);
    texts->places = places;
    texts->mask = mask;
    return 0;
}

/* Where a short text is, or the free place for it. */
SE_INLINE uint64_t sc_place_of(const sc_texts *texts, uint64_t one, uint64_t two, int64_t length) {
    uint64_t at = sc_hash(texts, one, two, length) & texts->mask;
    for (;; at = (at + 1) & texts->mask) {
        const sc_place *here = texts->places + at;
        if (!here->number || (here->one == one && here->two == two && here->length == length)) return at;
    }
}

/* The code of a text that may be at a place, or else becomes the newest there; -1 if memory ran out. */
SE_INLINE int64_t sc_code_at(
    sc_texts *texts, uint64_t at, uint64_t one, uint64_t two, int64_t length, int64_t stands) {
    const int64_t number = texts->places[at].number;
    if (number) return number - 1;
    return sc_meet(texts, at, one, two, length, stands) ? SC_MEMORY : texts->used - 1;
}

SE_INLINE int sc_codes_of(
    sc_texts *texts, const void *offsets, int wide, int64_t count, const uint8_t *data, int64_t size, int32_t *codes) {
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
            at = sc_place_of(texts, one, two, length);
        } else {
            one = sc_long_hash(texts, data + start, length);
            two = (uint64_t)start;
            for (at = one & texts->mask;; at = (at + 1) & texts->mask) {
                const sc_place *here = texts->places + at;
                if (!here->number) break;
                if (here->one == one && here->length == length &&
                    !memcmp(data + here->two, data + start, (size_t)length))
                    break;
            }
        }
        if ((code = sc_code_at(texts, at, one, two, length, i)) < 0) return SC_MEMORY;
        codes[i] = (int32_t)code;
        start = end;
    }
    return 0;
}

static int sc_codes(
    sc_texts *texts, const void *offsets, int wide, int64_t count, const uint8_t *data, int64_t size, int32_t *codes) {
    if (wide) return sc_codes_of(texts, offsets, 1, count, data, size, codes);
    return sc_codes_of(texts, offsets, 0, count, data, size, codes);
}

/* Texts as views: of 16 bytes each, of which the first four say how long the text is. Up to SC_WITHIN bytes follow at
   once; of a longer text its first four, the number of its buffer, and where it stands there. */
#define SC_VIEW 16
#define SC_WITHIN 12

typedef struct {
    const uint8_t *views;
    const uint8_t **data;
    const int64_t *sizes; /* of data */
    int64_t buffers;
} sc_views;

/* Where a long text stands; NULL if outside its buffer. */
SE_INLINE const uint8_t *sc_viewed(const sc_views *in, const uint8_t *view, int64_t length) {
    int32_t buffer, start;
    memcpy(&buffer, view + 8, sizeof buffer);
    memcpy(&start, view + 12, sizeof start);
    if (buffer < 0 || buffer >= in->buffers || start < 0 || start + length > in->sizes[buffer]) return NULL;
    return in->data[buffer] + start;
}

static int sc_view_codes(sc_texts *texts, const sc_views *in, int64_t count, int32_t *codes) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *view = in->views + i * SC_VIEW, *text;
        int32_t length;
        uint64_t one, two, at;
        int64_t code;
        memcpy(&length, view, sizeof length);
        if (SE_RARELY(length < 0)) return SC_DAMAGED;
        if (length <= SC_WITHIN) {
            one = sc_eight(view + 4);
            two = sc_four(view + 12);
            sc_begins(length, &one, &two);
            at = sc_place_of(texts, one, two, length);
        } else {
            text = sc_viewed(in, view, length);
            if (!text) return SC_DAMAGED;
            if (length <= SC_SHORT) {
                sc_last_words(text, length, &one, &two);
                at = sc_place_of(texts, one, two, length);
            } else {
                one = sc_long_hash(texts, text, length);
                two = (uint64_t)i;
                for (at = one & texts->mask;; at = (at + 1) & texts->mask) {
                    const sc_place *here = texts->places + at;
                    if (!here->number) break;
                    if (here->one == one && here->length == length &&
                        !memcmp(sc_viewed(in, in->views + here->two * SC_VIEW, length), text, (size_t)length))
                        break;
                }
            }
        }
        if ((code = sc_code_at(texts, at, one, two, length, i)) < 0) return SC_MEMORY;
        codes[i] = (int32_t)code;
    }
    return 0;
}

#endif
