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

/* -- what some stream of examples leaves ------------------------------------------------------------------------------ */

/* Tables by column: five of labels, four of row keys. No number is negative. */
typedef struct {
    const int64_t *cells, *keys, *times;
    ptrdiff_t labels, fixed, distinct;
    int64_t examples;
} sp_marginals;

static double sp_top(const int64_t *numbers, ptrdiff_t length) {
    int64_t top = 0;
    for (ptrdiff_t i = 0; i < length; i++) top = numbers[i] > top ? numbers[i] : top;
    return (double)top;
}

/* Whether all that is added up of them fits into 64 bits, with room to spare. */
static int sp_addable(const sp_marginals *in) {
    const double most = (double)(in->labels > in->distinct ? in->labels : in->distinct);
    const double product = (sp_top(in->keys, 4 * in->distinct) + 1) * (sp_top(in->times, in->distinct) + 1);
    return 5 * product * most < 4e18 && 5 * sp_top(in->cells, 5 * in->labels) * most < 4e18;
}

/* Whether row keys are possible, in order and distinct, and the examples are as many as they say. */
static int sp_keys_hold(const sp_marginals *in, int64_t *totals) {
    int64_t examples = 0;
    for (ptrdiff_t i = 0; i < in->distinct; i++) {
        int64_t key[4], rise = !i;
        for (int part = 0; part < 4; part++) {
            key[part] = in->keys[part * in->distinct + i];
            if (!rise) rise = key[part] - in->keys[part * in->distinct + i - 1];
        }
        const int64_t times = in->times[i], t = key[0], p = key[1], b = key[2], h = key[3];
        if (rise <= 0 || !times || b > t || b > p || t + p - b + h > in->labels) return 0;
        examples += times;
        for (int part = 0; part < 4; part++) totals[part] += times * key[part];
    }
    return examples == in->examples;
}

/* Whether some examples have these marginals; only if sp_addable. */
static int sp_can_be(const sp_marginals *in) {
    int64_t by_example[4] = {0}, by_label[5] = {0};
    if (!sp_keys_hold(in, by_example)) return 0;
    for (ptrdiff_t label = 0; label < in->labels; label++) {
        int64_t mentions = 0;
        for (int part = 0; part < 5; part++) {
            mentions += in->cells[part * in->labels + label];
            by_label[part] += in->cells[part * in->labels + label];
        }
        if (mentions > in->examples) return 0;
        if (label < in->fixed ? in->cells[label] != 0 : !mentions) return 0;
    }
    return by_example[0] == by_label[3] + by_label[1] && by_example[1] == by_label[3] + by_label[2] &&
           by_example[2] == by_label[3] && by_example[3] == by_label[4];
}

#endif
