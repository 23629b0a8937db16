/* Strings as codes, in C: what each function computes is said in numpy.py. Nothing in this file knows of Python. */

#ifndef STREAMEVAL_CODING_H
#define STREAMEVAL_CODING_H

#include "lists/lists.h"
#include "table.h"

#define SC_MEMORY -1
#define SC_DAMAGED -2

/* Strings between offsets of four or eight bytes, or as views: of 16 bytes each, of which the first four say how long the
   string is. Up to SC_WITHIN bytes follow at once; of a longer string its first four, the number of its buffer, and where
   it stands there. */
enum { SC_NARROW, SC_WIDE, SC_VIEWS };
#define SC_VIEW 16
#define SC_WITHIN 12

typedef struct {
    int kind;
    int64_t count;
    const void *offsets;
    const uint8_t *data; /* between the offsets, or all views */
    int64_t size;        /* of data, in bytes */
    const uint8_t *const *buffers;
    const int64_t *sizes; /* of buffers */
    int64_t held;         /* how many buffers there are */
} sc_strings;

/* Where a string begins, and how many bytes can be read from there; NULL if it is not all there. */
SE_INLINE const uint8_t *sc_string(const sc_strings *in, int kind, int64_t i, int64_t *length, int64_t *readable) {
    if (kind != SC_VIEWS) {
        const int64_t start = se_at(in->offsets, kind, i), end = se_at(in->offsets, kind, i + 1);
        *length = end - start;
        *readable = in->size - start;
        return SE_RARELY((uint64_t)start > (uint64_t)end || (uint64_t)end > (uint64_t)in->size) ? NULL : in->data + start;
    }
    const uint8_t *view = in->data + i * SC_VIEW;
    int32_t size, place[2];
    memcpy(&size, view, sizeof size);
    *length = size;
    if (size <= SC_WITHIN) {
        *readable = in->size - i * SC_VIEW - 4;
        return SE_RARELY(size < 0) ? NULL : view + 4;
    }
    memcpy(place, view + 8, sizeof place);
    if (place[0] < 0 || place[0] >= in->held || place[1] < 0 || place[1] + *length > in->sizes[place[0]]) return NULL;
    *readable = in->sizes[place[0]] - place[1];
    return in->buffers[place[0]] + place[1];
}

/* A key of two words ends with the length of a string of up to SC_SHORT bytes, which stand before it, so that comparing it
   needs no second look at the data. A longer one has its hash and length, and 254 in the end. */
#define SC_SHORT 15
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SC_ENDED(word, last) ((word) | (uint64_t)(last))
#define SC_LONG(length) ((uint64_t)(length) << 8 | 254)
#else
#define SC_ENDED(word, last) ((word) | (uint64_t)(last) << 56)
#define SC_LONG(length) ((uint64_t)(length) | 254ull << 56)
#endif

SE_INLINE uint64_t sc_eight(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The key of a short string, of which 16 bytes can be read. No branch asks how long it is: that is hard to predict. */
SE_INLINE void sc_key(const uint8_t *string, int64_t length, uint64_t *one, uint64_t *two) {
    static const uint8_t first[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    *one = sc_eight(string) & sc_eight(first + 16 - length);
    *two = SC_ENDED(sc_eight(string + 8) & sc_eight(first + 24 - length), length);
}

/* The same where no more than the string can be read. */
SE_APART void sc_last_key(const uint8_t *string, int64_t length, uint64_t *one, uint64_t *two) {
    uint8_t last[16] = {0};
    memcpy(last, string, (size_t)length);
    sc_key(last, length, one, two);
}

static uint64_t sc_hash(const uint8_t *string, int64_t length) {
    uint64_t hash = se_seed[0] ^ (uint64_t)length;
    for (int64_t at = 0; at + 16 < length; at += 16)
        hash = se_mixed(sc_eight(string + at) ^ se_seed[1], sc_eight(string + at + 8) ^ hash);
    return se_mixed(sc_eight(string + length - 16) ^ se_seed[1], sc_eight(string + length - 8) ^ hash);
}

/* The number of a string, its code plus 1, and where its bytes are; zeros if it is new. */
SE_INLINE int64_t *sc_number(const uint8_t *string, int64_t length, int64_t readable, se_sums *table) {
    uint64_t one, two;
    if (length <= SC_SHORT) {
        if (SE_RARELY(readable < 16)) sc_last_key(string, length, &one, &two);
        else sc_key(string, length, &one, &two);
        return se_sums_at(table, one, two);
    }
    for (one = sc_hash(string, length);; one++) {
        int64_t *number = se_sums_at(table, one, SC_LONG(length));
        if (!number[0] || !memcmp((const void *)(uintptr_t)number[1], string, (size_t)length)) return number;
    }
}

/* So few strings have so many places each, for every string that is not where it is looked for first is mispredicted:
   fifty strings in 512 places took half as long again. */
#define SC_FEW 128
#define SC_SPARSE 32

/* The table is a copy until the end, of which the compiler knows that no other pointer leads there. */
SE_INLINE int sc_codes_of(const sc_strings *in, int kind, se_sums *table, int32_t *codes) {
    se_sums copy = *table;
    copy.sums = 2;
    for (int64_t i = 0; i < in->count; i++) {
        int64_t length, readable;
        const uint8_t *string = sc_string(in, kind, i, &length, &readable);
        if (SE_RARELY(!string)) return SC_DAMAGED;
        int64_t *number = sc_number(string, length, readable, &copy);
        if (SE_RARELY(!number[0])) {
            const size_t used = copy.used, room = used <= SC_FEW ? SC_SPARSE / 2 * used : used;
            if (used > INT32_MAX) return SC_MEMORY;
            number[0] = (int64_t)used;
            number[1] = (int64_t)(uintptr_t)string;
            codes[i] = (int32_t)(used - 1);
            *table = copy;
            if (2 * room > copy.mask && !se_sums_rebuild(table, room)) return SC_MEMORY;
            copy = *table;
            copy.sums = 2;
        } else {
            codes[i] = (int32_t)(number[0] - 1);
        }
    }
    *table = copy;
    return 0;
}

static int sc_codes(const sc_strings *in, se_sums *table, int32_t *codes) {
    if (in->kind == SC_VIEWS) return sc_codes_of(in, SC_VIEWS, table, codes);
    if (in->kind == SC_WIDE) return sc_codes_of(in, SC_WIDE, table, codes);
    return sc_codes_of(in, SC_NARROW, table, codes);
}

#endif
