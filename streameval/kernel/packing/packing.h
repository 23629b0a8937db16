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

SE_INLINE void sp_write_as(const char *from, ptrdiff_t step, ptrdiff_t length, const int width, uint8_t *to) {
    for (ptrdiff_t i = 0; i < length; i++) {
        const uint64_t value = (uint64_t)sp_at(from, step, i);
        for (int byte = 0; byte < width; byte++) to[i * width + byte] = (uint8_t)(value >> 8 * byte);
    }
}

/* The first `width` bytes of each integer, the lowest first. */
static void sp_write(const char *from, ptrdiff_t step, ptrdiff_t length, int width, uint8_t *to) {
    switch (width) {
    case 1: sp_write_as(from, step, length, 1, to); break;
    case 2: sp_write_as(from, step, length, 2, to); break;
    case 3: sp_write_as(from, step, length, 3, to); break;
    case 4: sp_write_as(from, step, length, 4, to); break;
    default: sp_write_as(from, step, length, width, to);
    }
}

SE_INLINE uint64_t sp_read_as(const uint8_t *from, ptrdiff_t length, const int width, int64_t *to) {
    uint64_t all = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        uint64_t value = 0;
        for (int byte = 0; byte < width; byte++) value |= (uint64_t)from[i * width + byte] << 8 * byte;
        to[i] = (int64_t)value;
        all |= value;
    }
    return all;
}

/* Read integers of so many bytes; all their bits, one or another. */
static uint64_t sp_read(const uint8_t *from, ptrdiff_t length, int width, int64_t *to) {
    switch (width) {
    case 1: return sp_read_as(from, length, 1, to);
    case 2: return sp_read_as(from, length, 2, to);
    case 3: return sp_read_as(from, length, 3, to);
    case 4: return sp_read_as(from, length, 4, to);
    default: return sp_read_as(from, length, width, to);
    }
}

#endif
