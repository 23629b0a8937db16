/* Loops that write and read columns of integers as bytes (see numpy.py), for compiled.pyx; no structures, no Python. */

#ifndef STREAMEVAL_PACKING_H
#define STREAMEVAL_PACKING_H

#include "platform.h"

/* Read integer i of a numpy array; `step` is in bytes. */
SE_INLINE int64_t sp_at(const char *from, ptrdiff_t step, ptrdiff_t i) {
    int64_t value;
    memcpy(&value, from + i * step, sizeof value);
    return value;
}

/* The number of bytes into which all of these integers fit; none may be negative. */
static int sp_width(const char *from, ptrdiff_t step, ptrdiff_t length) {
    uint64_t all = 0;
    int width = 0;
    for (ptrdiff_t i = 0; i < length; i++) all |= (uint64_t)sp_at(from, step, i);
    for (; all; all >>= 8) width++;
    return width;
}

/* Convert between the machine's order of bytes and the lowest byte first. */
SE_INLINE uint64_t sp_little(uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Write the low `width` bytes of each integer. Each write has eight bytes, the last of which the next write overwrites. */
static void sp_write(const char *from, ptrdiff_t step, ptrdiff_t length, int width, uint8_t *to) {
    const uint8_t *end = to + length * width;
    for (ptrdiff_t i = 0; i < length; i++, to += width) {
        const uint64_t value = sp_little((uint64_t)sp_at(from, step, i));
        if (end - to >= 8) memcpy(to, &value, 8);
        else memcpy(to, &value, (size_t)(end - to));
    }
}

/* Read integers of `width` bytes, at least 1; return the OR of all of them. */
static uint64_t sp_read(const uint8_t *from, ptrdiff_t length, int width, int64_t *to) {
    const uint8_t *end = from + length * width;
    const uint64_t first = ~0ull >> (64 - 8 * width);
    uint64_t all = 0;
    for (ptrdiff_t i = 0; i < length; i++, from += width) {
        uint64_t value = 0;
        if (end - from >= 8) memcpy(&value, from, 8);
        else memcpy(&value, from, (size_t)(end - from));
        value = sp_little(value) & first;
        to[i] = (int64_t)value;
        all |= value;
    }
    return all;
}

/* Read integers of at most 16 bytes each as two words, low word first, rotated upwards by `zeros` bits. */
static void sp_read_words(const uint8_t *from, ptrdiff_t length, int width, int zeros, uint64_t *to) {
    const uint8_t *end = from + length * width;
    const uint64_t low = width < 8 ? ~(~0ull << 8 * width) : ~0ull;
    const uint64_t high = width < 9 ? 0 : ~0ull >> 8 * (16 - width);
    const int bits = zeros & 63, swapped = zeros >> 6;
    for (ptrdiff_t i = 0; i < length; i++, from += width, to += 2) {
        uint64_t word[2] = {0, 0};
        if (end - from >= 16) memcpy(word, from, 16);
        else memcpy(word, from, (size_t)width);
        const uint64_t a = sp_little(word[swapped]) & (swapped ? high : low);
        const uint64_t b = sp_little(word[!swapped]) & (swapped ? low : high);
        to[0] = bits ? a << bits | b >> (64 - bits) : a;
        to[1] = bits ? b << bits | a >> (64 - bits) : b;
    }
}

#endif
