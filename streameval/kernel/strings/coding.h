/* sc_codes: integer codes of the strings of an Arrow array (sc_strings), by a hash table. compiled.pyx calls it. */

#ifndef STREAMEVAL_CODING_H
#define STREAMEVAL_CODING_H

#include "lists.h"
#include "table.h"

#define SC_MEMORY -1
#define SC_DAMAGED -2

/* Strings in one array of bytes, between offsets of four bytes or, if `wide`, eight bytes. */
typedef struct {
    int wide;
    int64_t count;
    const void *offsets;
    const uint8_t *data;
    int64_t size; /* of data, in bytes */
} sc_strings;

/* The key of a string of up to SC_SHORT bytes is two words: its bytes, and its length in the last byte; so comparing keys
   suffices. The key of a longer string is its hash and its length, with 254 in the last byte; data are compared, too. */
#define SC_SHORT 15
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SC_ENDED(word, last) ((word) | (uint64_t)(last))
#define SC_LONG(length) ((uint64_t)(length) << 8 | 254)
#define SC_LENGTH(word) (int64_t)(((word) & 255) <= SC_SHORT ? (word) & 255 : (word) >> 8)
#else
#define SC_ENDED(word, last) ((word) | (uint64_t)(last) << 56)
#define SC_LONG(length) ((uint64_t)(length) | 254ull << 56)
#define SC_LENGTH(word) (int64_t)((word) >> 56 <= SC_SHORT ? (word) >> 56 : (word) << 8 >> 8)
#endif

SE_INLINE uint64_t sc_eight(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The key of a short string, where 16 bytes are readable. It has no branch on the length, which is hard to predict. */
SE_INLINE void sc_key(const uint8_t *string, int64_t length, uint64_t *one, uint64_t *two) {
    static const uint8_t first[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    *one = sc_eight(string) & sc_eight(first + 16 - length);
    *two = SC_ENDED(sc_eight(string + 8) & sc_eight(first + 24 - length), length);
}

/* The key of a short string where only its own bytes are readable. */
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

/* The sums of a string's key: its code plus 1, and the address of its bytes; both are 0 if the string is new. */
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

/* Up to SC_FEW strings have SC_SPARSE places each, because each string that is not at its first place is a mispredicted
   branch: fifty strings in 512 places took half as long again. */
#define SC_FEW 128
#define SC_SPARSE 32

/* Works on local copies of strings and table, since the compiler knows that no pointer aliases these. */
SE_INLINE int sc_codes_of(const sc_strings *in, int wide, se_sums *table, int32_t *codes) {
    const sc_strings strings = *in;
    se_sums copy = *table;
    copy.sums = 2;
    for (int64_t i = 0; i < strings.count; i++) {
        const int64_t start = se_at(strings.offsets, wide, i), end = se_at(strings.offsets, wide, i + 1);
        if (SE_RARELY((uint64_t)start > (uint64_t)end || (uint64_t)end > (uint64_t)strings.size)) return SC_DAMAGED;
        const uint8_t *string = strings.data + start;
        int64_t *number = sc_number(string, end - start, strings.size - start, &copy);
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
    return in->wide ? sc_codes_of(in, 1, table, codes) : sc_codes_of(in, 0, table, codes);
}

#endif
