/* se_bin: the bin of a score (see bins.py); se_moments: count, sum and squares of residuals in a bin (see numpy.py).

   All headers of this folder include it, and none uses Python. It uses no floating point, so that rounding modes and
   flushing of subnormal numbers (which libraries can switch on for the whole thread) cannot move a score. */

#ifndef STREAMEVAL_BINS_H
#define STREAMEVAL_BINS_H

#include "platform.h"

/* -- the bin of a score ---------------------------------------------------------------------------------------------- */

#define SE_DROPPED 41 /* bits of the mantissa that a bin drops */
#define SE_LOWER (((uint64_t)1 << SE_DROPPED) - 1)
#define SE_FINITE ((uint32_t)2047 << 11) /* codes of finite magnitudes */
#define SE_TO_HALF ((uint32_t)1022 << 11) /* codes of magnitudes below 0.5 */
#define SE_TO_ONE ((uint32_t)1023 << 11)

static inline uint64_t se_bits_of_double(const double *score) {
    uint64_t bits;
    memcpy(&bits, score, sizeof bits);
    return bits;
}

/* The bits of the same number as a double. */
static inline uint64_t se_bits_of_float(const float *score) {
    uint32_t bits;
    memcpy(&bits, score, sizeof bits);
    uint64_t sign = (uint64_t)(bits >> 31) << 63, rest = bits & 0x7FFFFFFF;
    if (rest >= 0x00800000) return sign | ((rest << 29) + ((uint64_t)896 << 52));
    if (!rest) return sign;
    uint64_t exponent = 897; /* subnormal as float, normal as double */
    for (; rest < 0x00800000; rest <<= 1) exponent--;
    return sign | ((rest & 0x007FFFFF) << 29) | exponent << 52;
}

/* 1 - s for 0.5 <= s <= 1, exact: both are integers in units of 2**-53. */
static inline uint64_t se_complement(uint64_t bits) {
    uint64_t exponent = bits >> 52, units = ((bits & 0xFFFFFFFFFFFFFull) | (uint64_t)1 << 52) << (exponent - 1022);
    units = ((uint64_t)1 << 53) - units;
    if (!units) return 0;
#if defined(__GNUC__)
    int zeros = __builtin_clzll(units) - 11;
#else
    int zeros = 0;
    while (!(units >> (52 - zeros))) zeros++;
#endif
    return ((units << zeros) & 0xFFFFFFFFFFFFFull) | (uint64_t)(1022 - zeros) << 52;
}

/* The bin of a score, below 2**24, and its residual: the bits that the bin drops. */
static inline uint32_t se_bin(uint64_t bits, uint64_t *residual) {
    const uint64_t size = bits & INT64_MAX;
    const uint64_t half = (uint64_t)1022 << 52, one = (uint64_t)1023 << 52;
    const int below = bits != size && size != 0, upper = !below && size >= half && size <= one;
    const uint64_t magnitude = upper ? se_complement(size) : size;
    const uint32_t code = (uint32_t)(magnitude >> SE_DROPPED);
    const uint32_t flip = below | upper ? UINT32_MAX : 0;
    uint32_t start = size > one ? SE_FINITE + 2 * SE_TO_HALF + 1 - SE_TO_ONE : SE_FINITE;
    start = upper ? SE_FINITE + 2 * SE_TO_HALF + 1 : start;
    start = below ? SE_FINITE : start;
    *residual = magnitude & SE_LOWER;
    return (start + (code ^ flip)) & 0xFFFFFF; /* x ^ flip is -x - 1 */
}

/* -- the moments of a class in a bin: number of scores, sum of residuals, sum of their squares ------------------------- */

/* The most scores that are counted, so that the sum of residuals needs 84 bits and the sum of squares 125. */
#define SE_MOST (((int64_t)1 << 43) - 1)

typedef struct {
    uint64_t head; /* number of scores << 20 | sum >> 64 */
    uint64_t sum;
    uint64_t square_high, square;
} se_moments;

#define SE_ONE ((uint64_t)1 << 20)

static inline void se_put(se_moments *p, uint64_t x) {
    const uint64_t high = x >> 21, low = x & (((uint64_t)1 << 21) - 1);
    const uint64_t middle = (high * low << 22) + low * low, square = (high * high << 42) + middle;
    p->sum += x;
    p->head += SE_ONE + (p->sum < x);
    p->square += square;
    p->square_high += (high * high >> 22) + (square < middle) + (p->square < square);
}

static inline void se_join(se_moments *p, const se_moments *other) {
    const uint64_t sum = other->sum, square = other->square;
    p->sum += sum;
    p->head += other->head + (p->sum < sum);
    p->square += square;
    p->square_high += other->square_high + (p->square < square);
}

static inline void se_leave(se_moments *p, const se_moments *other) {
    p->head -= other->head + (p->sum < other->sum);
    p->sum -= other->sum;
    p->square_high -= other->square_high + (p->square < other->square);
    p->square -= other->square;
}

/* The mean of the residuals, rounded down; the remainder of the division goes to `rest`. Not for empty parts. */
static inline uint64_t se_mean(const se_moments *p, uint64_t *rest) {
    const uint64_t n = p->head >> 20;
    uint64_t left = p->head & (SE_ONE - 1), mean = 0;
    if (!left) {
        *rest = p->sum % n;
        return p->sum / n;
    }
    for (int bit = 63; bit >= 0; bit--) {
        left = left << 1 | (p->sum >> bit & 1);
        mean <<= 1;
        if (left >= n) {
            left -= n;
            mean |= 1;
        }
    }
    *rest = left;
    return mean;
}

/* The least sum of squares of residuals with this sum: mean * sum + rest * (mean + 1). */
static inline uint64_t se_least_square(const se_moments *p, uint64_t mean, uint64_t rest, uint64_t *high) {
    uint64_t more, low = se_times(mean, p->sum, 0, high);
    *high += mean * (p->head & (SE_ONE - 1));
    const uint64_t added = se_times(rest, mean + 1, low, &more);
    *high += more;
    return added;
}

/* The residual if all are equal, -1 if they differ, -2 if there is none. By Cauchy and Schwarz they are equal exactly if
   n * (sum of squares) is the square of the sum. */
static inline int64_t se_common(const se_moments *p) {
    uint64_t rest, high;
    if (p->head < SE_ONE) return -2;
    if (p->head < 2 * SE_ONE) return (int64_t)p->sum;
    if ((p->head >> 20) * p->square != p->sum * p->sum) return -1; /* modulo 2**64: saves a division */
    const uint64_t mean = se_mean(p, &rest);
    if (rest) return -1;
    const uint64_t least = se_least_square(p, mean, 0, &high);
    return high == p->square_high && least == p->square ? (int64_t)mean : -1;
}

/* Whether some residuals may have these sums. It checks all that readers rely on, though not every impossible sum. */
static inline int se_possible(const se_moments *p) {
    uint64_t rest, high;
    const uint64_t n = p->head >> 20, carry = p->head & (SE_ONE - 1);
    if (!n) return !(carry | p->sum | p->square_high | p->square);
    if ((p->sum ^ p->square) & 1) return 0; /* a number is odd exactly when its square is */
    const uint64_t mean = se_mean(p, &rest);
    if (mean > SE_LOWER || (mean == SE_LOWER && rest)) return 0;
    uint64_t least = se_least_square(p, mean, rest, &high);
    if (p->square_high < high || (p->square_high == high && p->square < least)) return 0;
    if (n == 1) return p->square_high == high && p->square == least;
    least = se_times(p->sum, SE_LOWER, 0, &high); /* squares are at most the largest residual times the sum */
    high += carry * SE_LOWER;
    return p->square_high < high || (p->square_high == high && p->square <= least);
}

static inline int se_blank(const se_moments *p) { return !(p->head >> 20); }

/* Whether greater residuals of a bin belong to lower scores. */
static inline uint64_t se_flipped(uint64_t bin) {
    return (bin < SE_FINITE) | (bin - SE_FINITE - SE_TO_HALF <= SE_TO_HALF); /* | and not ||: no branches */
}

#endif
