/* Tables as bytes, in C: what each function computes is said in numpy.py. Nothing in this file knows of Python. */

#ifndef STREAMEVAL_PACKING_H
#define STREAMEVAL_PACKING_H

#include "platform.h"

/* Steps from one integer to the next are bytes, as numpy counts them. */
SE_INLINE int64_t sp_at(const char *from, ptrdiff_t step, ptrdiff_t i) {
    int64_t value;
    memcpy(&value, from + i * step, sizeof value);
    return value;
}

/* In how many bytes all of these integers fit, none of which is negative. */
static int sp_width(const char *from, ptrdiff_t step, ptrdiff_t length) {
    uint64_t all = 0;
    int width = 0;
    for (ptrdiff_t i = 0; i < length; i++) all |= (uint64_t)sp_at(from, step, i);
    for (; all; all >>= 8) width++;
    return width;
}

/* The lowest byte first, on every machine. */
SE_INLINE uint64_t sp_little(uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* The first `width` bytes of each integer, the lowest first. All eight are written, and then overwritten by the next. */
static void sp_write(const char *from, ptrdiff_t step, ptrdiff_t length, int width, uint8_t *to) {
    const uint8_t *end = to + length * width;
    for (ptrdiff_t i = 0; i < length; i++, to += width) {
        const uint64_t value = sp_little((uint64_t)sp_at(from, step, i));
        if (end - to >= 8) memcpy(to, &value, 8);
        else memcpy(to, &value, (size_t)(end - to));
    }
}

/* Read integers of so many bytes; all their bits, one or another. */
static uint64_t sp_read(const uint8_t *from, ptrdiff_t length, int width, int64_t *to) {
    const uint8_t *end = from + length * width;
    const uint64_t first = width ? ~0ull >> (64 - 8 * width) : 0;
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

#endif
