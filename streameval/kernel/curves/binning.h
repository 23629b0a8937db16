/* Scores counted per label and bin, in C: what a bin is, and what is kept of it, is said in numpy.py.

   Nothing here knows of Python. No floating point is used, so that neither rounding modes nor flushing of subnormal
   numbers (which other libraries switch on for the whole thread) can move a score. */

#ifndef STREAMEVAL_BINNING_H
#define STREAMEVAL_BINNING_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#define SE_X86
#endif
#ifdef __GNUC__
#define SE_ALWAYS __attribute__((always_inline)) static inline
#else
#define SE_ALWAYS static inline
#endif

/* -- the bin of a score ---------------------------------------------------------------------------------------------- */

#define SE_DROPPED 41 /* bits of the mantissa that a bin does not tell */
#define SE_LOWER (((uint64_t)1 << SE_DROPPED) - 1)
#define SE_FINITE ((uint32_t)2047 << 11) /* codes of finite magnitudes */
#define SE_TO_HALF ((uint32_t)1022 << 11) /* codes of magnitudes below 0.5 */
#define SE_TO_ONE ((uint32_t)1023 << 11)
#define SE_NONE UINT32_MAX

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
    const uint64_t kept = upper ? se_complement(size) : size;
    const uint32_t code = (uint32_t)(kept >> SE_DROPPED);
    const uint32_t flip = below | upper ? UINT32_MAX : 0;
    uint32_t start = size > one ? SE_FINITE + 2 * SE_TO_HALF + 1 - SE_TO_ONE : SE_FINITE;
    start = upper ? SE_FINITE + 2 * SE_TO_HALF + 1 : start;
    start = below ? SE_FINITE : start;
    *residual = kept & SE_LOWER;
    return (start + (code ^ flip)) & 0xFFFFFF; /* x ^ flip is -x - 1 */
}

/* -- what is kept of a class in a bin: how many, the sum of residuals, the sum of their squares ------------------------- */

/* Fewer than 2**43 scores are counted, so the sum of residuals needs 84 bits and that of squares 125. */
typedef struct {
    uint64_t head; /* how many << 20 | sum >> 64 */
    uint64_t sum;
    uint64_t square_high, square;
} se_part;

#define SE_ONE ((uint64_t)1 << 20)

static inline void se_put(se_part *p, uint64_t x) {
    const uint64_t high = x >> 21, low = x & (((uint64_t)1 << 21) - 1);
    const uint64_t middle = (high * low << 22) + low * low, square = (high * high << 42) + middle;
    p->sum += x;
    p->head += SE_ONE + (p->sum < x);
    p->square += square;
    p->square_high += (high * high >> 22) + (square < middle) + (p->square < square);
}

static inline void se_join(se_part *p, const se_part *other) {
    const uint64_t sum = other->sum, square = other->square;
    p->sum += sum;
    p->head += other->head + (p->sum < sum);
    p->square += square;
    p->square_high += other->square_high + (p->square < square);
}

static inline void se_leave(se_part *p, const se_part *other) {
    p->head -= other->head + (p->sum < other->sum);
    p->sum -= other->sum;
    p->square_high -= other->square_high + (p->square < other->square);
    p->square -= other->square;
}

static inline void se_drop(se_part *p, uint64_t x) {
    se_part one = {0};
    se_put(&one, x);
    se_leave(p, &one);
}

/* a * b + c in 128 bits. */
static inline uint64_t se_times(uint64_t a, uint64_t b, uint64_t c, uint64_t *high) {
    const uint64_t al = a & UINT32_MAX, ah = a >> 32, bl = b & UINT32_MAX, bh = b >> 32;
    const uint64_t low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + (m1 & UINT32_MAX);
    const uint64_t product = (m2 << 32) | (low & UINT32_MAX);
    *high = ah * bh + (m1 >> 32) + (m2 >> 32) + (product + c < c);
    return product + c;
}

/* The mean of the residuals, rounded down; the remainder of the division goes to `rest`. Not for empty parts. */
static inline uint64_t se_mean(const se_part *p, uint64_t *rest) {
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

/* Where squares sum to less than this, no residuals have such a sum: mean * sum + rest * (mean + 1). */
static inline uint64_t se_least_square(const se_part *p, uint64_t mean, uint64_t rest, uint64_t *high) {
    uint64_t more, low = se_times(mean, p->sum, 0, high);
    *high += mean * (p->head & (SE_ONE - 1));
    const uint64_t added = se_times(rest, mean + 1, low, &more);
    *high += more;
    return added;
}

/* The residual if all are equal, -1 if not, -2 if there is none. By Cauchy and Schwarz they are equal exactly where
   n * (sum of squares) is the square of the sum. */
static inline int64_t se_common(const se_part *p) {
    uint64_t rest, high;
    if (p->head < SE_ONE) return -2;
    if (p->head < 2 * SE_ONE) return (int64_t)p->sum;
    const uint64_t mean = se_mean(p, &rest);
    if (rest) return -1;
    const uint64_t least = se_least_square(p, mean, 0, &high);
    return high == p->square_high && least == p->square ? (int64_t)mean : -1;
}

/* Whether there may be residuals with these sums; all that later reading relies on is certain. */
static inline int se_possible(const se_part *p) {
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

/* -- the bins of one label ------------------------------------------------------------------------------------------------ */

/* Scores are first appended as they come, since that is all but free, and put into bins once there are many of them or
   somebody looks. Floats of rows stay floats, half as large. Of others the key is kept: bin << 40 | residual >> 1; the
   last bit of the residual tells in which run it stands. */
typedef struct {
    float *scores;
    size_t used, room, owed; /* owed: room that a merge under way has asked for */
    size_t seen;             /* how many there were when they were last read without being binned */
} se_floats;

typedef struct {
    uint64_t *keys;
    size_t used, room, owed;
} se_run;

/* The scores of one class of one label. */
typedef struct {
    uint64_t *index; /* bin << 32 | place, in order */
    se_part *parts;  /* by place, in `memory` */
    void *memory;
    uint32_t used, room, empty; /* bins; room for them; how many of them count nothing */
    se_run fresh[2];            /* by the last bit of the residual */
    se_floats narrow;
} se_table;

typedef struct {
    se_table table[2]; /* negatives, positives */
    int64_t binned;    /* scores in both */
    int64_t side[3];   /* mentions without a score: negative (declared labels: 0), positive; masked */
} se_label;

#define SE_KEY_SHIFT 40
#define SE_KEY_LOW (((uint64_t)1 << SE_KEY_SHIFT) - 1)
#define SE_PENDING 65536 /* fewer bytes of scores than these are never worth a rebuild */

static inline uint64_t se_key(uint32_t bin, uint64_t residual) { return (uint64_t)bin << SE_KEY_SHIFT | residual >> 1; }

static inline int se_blank(const se_part *p) { return !(p->head >> 20); }

static inline se_part *se_part_at(const se_table *t, uint32_t position) {
    return t->parts + (uint32_t)t->index[position];
}

static int se_extend(se_run *run, size_t more) {
    if (run->used + more <= run->room) return 1;
    size_t room = 2 * run->room > run->used + more ? 2 * run->room : run->used + more;
    uint64_t *keys = (uint64_t *)realloc(run->keys, room * sizeof(uint64_t));
    if (!keys) return 0;
    run->keys = keys;
    run->room = room;
    return 1;
}

static int se_extend_floats(se_floats *run, size_t more) {
    if (run->used + more <= run->room) return 1;
    size_t room = 2 * run->room > run->used + more ? 2 * run->room : run->used + more;
    float *scores = (float *)realloc(run->scores, room * sizeof(float));
    if (!scores) return 0;
    run->scores = scores;
    run->room = room;
    return 1;
}

static inline size_t se_pending(const se_table *t) {
    return t->fresh[0].used + t->fresh[1].used + t->narrow.used;
}

/* Parts for that many bins, and where they start: no part lies across two lines of the cache. */
static void *se_new_parts(size_t room, se_part **parts) {
    void *memory = malloc(room * sizeof(se_part) + 32);
    if (memory) *parts = (se_part *)((char *)memory + (32 - (uintptr_t)memory % 32));
    return memory;
}

/* Room for more bins. 0 if memory ran out, and then nothing has changed. */
static int se_enlarge(se_table *t, uint32_t more) {
    if (more <= t->room - t->used) return 1;
    uint32_t room = t->room + t->room / 2 > t->used + more ? t->room + t->room / 2 : t->used + more;
    se_part *parts;
    void *memory = se_new_parts(room, &parts);
    uint64_t *index = memory ? (uint64_t *)realloc(t->index, room * sizeof(uint64_t)) : NULL;
    if (!index) {
        free(memory);
        return 0;
    }
    if (t->used) memcpy(parts, t->parts, t->used * sizeof(se_part));
    free(t->memory);
    t->index = index;
    t->parts = parts;
    t->memory = memory;
    t->room = room;
    return 1;
}

/* The first position in the index that is not below a bin. */
static inline uint32_t se_lower(const se_table *t, uint32_t bin) {
    const uint64_t key = (uint64_t)bin << 32;
    uint32_t low = 0, count = t->used;
    while (count) {
        const uint32_t half = count / 2;
        const int right = t->index[low + half] < key;
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

/* The part of a bin, or NULL. */
static inline se_part *se_seek(const se_table *t, uint32_t bin) {
    const uint32_t at = se_lower(t, bin);
    return at < t->used && t->index[at] >> 32 == bin ? se_part_at(t, at) : NULL;
}

/* The part of a bin, which is made if need be (there must be room): an empty part counts nothing. */
static inline se_part *se_part_of(se_table *t, uint32_t bin) {
    const uint32_t at = se_lower(t, bin);
    if (at < t->used && t->index[at] >> 32 == bin) return se_part_at(t, at);
    memmove(t->index + at + 1, t->index + at, (t->used - at) * sizeof(uint64_t));
    t->index[at] = (uint64_t)bin << 32 | t->used;
    memset(t->parts + t->used, 0, sizeof(se_part));
    t->empty++;
    return t->parts + t->used++;
}

/* Sort keys by bin; the result stands in `keys` or in `spare`. */
static uint64_t *se_sort(uint64_t *keys, uint64_t *spare, size_t n) {
    if (n < 48) {
        for (size_t i = 1; i < n; i++) {
            const uint64_t key = keys[i];
            size_t at = i;
            for (; at && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
            keys[at] = key;
        }
        return keys;
    }
    uint64_t low = keys[0], high = keys[0];
    for (size_t i = 1; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    const uint32_t base = (uint32_t)(low >> SE_KEY_SHIFT), span = (uint32_t)(high >> SE_KEY_SHIFT) - base;
    int bits = 0;
    while (bits < 24 && span >> bits) bits++;
    const int passes = (bits + 9) / 10, width = passes ? (bits + passes - 1) / passes : 0;
    for (int pass = 0; pass < passes; pass++) {
        uint32_t start[1024] = {0}, sum = 0, mask = ((uint32_t)1 << width) - 1;
        for (size_t i = 0; i < n; i++) start[((uint32_t)(keys[i] >> SE_KEY_SHIFT) - base) >> pass * width & mask]++;
        for (uint32_t digit = 0; digit <= mask; digit++) {
            const uint32_t size = start[digit];
            start[digit] = sum;
            sum += size;
        }
        for (size_t i = 0; i < n; i++)
            spare[start[((uint32_t)(keys[i] >> SE_KEY_SHIFT) - base) >> pass * width & mask]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static void se_discard(se_table *t) {
    free(t->index);
    free(t->memory);
    for (int run = 0; run < 2; run++) free(t->fresh[run].keys);
    free(t->narrow.scores);
}

/* -- merging ---------------------------------------------------------------------------------------------------------------- */

/* Make room for all that another label holds: empty parts for its bins, and space for its scores. 0 if memory ran out. */
static int se_admit(se_table *t, const se_table *other) {
    uint32_t missing = 0, here = 0;
    for (int run = 0; run < 2; run++)
        if (!se_extend(&t->fresh[run], t->fresh[run].owed + other->fresh[run].used)) return 0;
        else t->fresh[run].owed += other->fresh[run].used; /* several tables may go into one */
    if (!se_extend_floats(&t->narrow, t->narrow.owed + other->narrow.used)) return 0;
    t->narrow.owed += other->narrow.used;
    for (uint32_t there = 0; there < other->used; there++) {
        const uint64_t bin = other->index[there] >> 32;
        while (here < t->used && t->index[here] >> 32 < bin) here++;
        missing += here == t->used || t->index[here] >> 32 != bin;
    }
    if (!missing) return 1;
    if (!se_enlarge(t, missing)) return 0;
    /* From behind, so that the index is merged in place. */
    uint32_t to = t->used + missing, left = t->used, there = other->used;
    for (uint32_t place = to; place > t->used; place--) memset(t->parts + place - 1, 0, sizeof(se_part));
    uint32_t place = to;
    while (there) {
        const uint64_t bin = other->index[there - 1] >> 32;
        if (left && t->index[left - 1] >> 32 >= bin) {
            there -= t->index[left - 1] >> 32 == bin;
            t->index[--to] = t->index[--left];
        } else {
            t->index[--to] = bin << 32 | --place;
            there--;
        }
    }
    t->used += missing;
    t->empty += missing;
    return 1;
}

/* Add all that another table holds, which was admitted. */
static void se_unite(se_table *t, const se_table *other) {
    uint32_t here = 0;
    for (uint32_t there = 0; there < other->used; there++) {
        const uint64_t bin = other->index[there] >> 32;
        while (t->index[here] >> 32 < bin) here++;
        se_part *part = se_part_at(t, here);
        const uint32_t before = (uint32_t)se_blank(part);
        se_join(part, se_part_at(other, there));
        t->empty -= before - (uint32_t)se_blank(part);
    }
    for (int run = 0; run < 2; run++) {
        const se_run *added = &other->fresh[run];
        if (added->used) memcpy(t->fresh[run].keys + t->fresh[run].used, added->keys, added->used * sizeof(uint64_t));
        t->fresh[run].used += added->used;
    }
    const se_floats *added = &other->narrow;
    if (added->used) memcpy(t->narrow.scores + t->narrow.used, added->scores, added->used * sizeof(float));
    t->narrow.used += added->used;
}

/* -- many floats at once ------------------------------------------------------------------------------------------------- */

#define SE_BLOCK 16          /* bins */
#define SE_SPAN 524288       /* bins: more than floats between 0 and 1 can meet */
#define SE_AT_ONCE (1 << 23) /* scores: below 2**24, so that the fields below suffice */
#define SE_UNIT 29           /* residuals of floats are multiples of 2**29 */
#define SE_CHUNK 64

/* For each bin from `base` on: how many << 40 | the sum of residuals, and the sum of their squares, in units. All of it
   is zero between uses. */
typedef struct {
    uint64_t (*sums)[2];
    uint8_t *met; /* whether any bin of a block holds a score */
    uint32_t blocks, base;
    se_table list; /* what was counted, on its way */
} se_counter;

static void se_drop_counter(se_counter *c) {
    free(c->sums);
    free(c->met);
    se_discard(&c->list);
    memset(c, 0, sizeof *c);
}

static int se_widen_counter(se_counter *c, uint32_t blocks) {
    if (blocks <= c->blocks) return 1;
    uint32_t room = 1024;
    while (room < blocks) room *= 2;
    free(c->sums);
    free(c->met);
    c->blocks = 0;
    c->sums = (uint64_t(*)[2])calloc((size_t)room * SE_BLOCK, sizeof *c->sums);
    c->met = (uint8_t *)calloc(room, 1);
    if (c->sums && c->met) c->blocks = room;
    return c->blocks != 0;
}

#define SE_MASK(holds) (0 - (uint32_t)(holds))

/* The bins of normal floats and zeros, and their residuals in units. Without branches, so that compilers use vectors. */
SE_ALWAYS void se_split_floats(const float *scores, uint32_t *bin, uint32_t *rest) {
    uint32_t bits[SE_CHUNK], upside[SE_CHUNK];
    float complement[SE_CHUNK];
    memcpy(bits, scores, sizeof bits);
    for (int j = 0; j < SE_CHUNK; j++) complement[j] = 1.0f - scores[j]; /* exact where used, never subnormal */
    memcpy(upside, complement, sizeof upside);
    for (int j = 0; j < SE_CHUNK; j++) {
        const uint32_t size = bits[j] & 0x7FFFFFFF, negative = 0 - (bits[j] >> 31);
        const uint32_t below = negative & SE_MASK(size != 0);
        const uint32_t upper = ~negative & SE_MASK(size >= 0x3F000000) & SE_MASK(size <= 0x3F800000);
        const uint32_t beyond = ~negative & SE_MASK(size > 0x3F800000);
        const uint32_t kept = (upside[j] & upper) | (size & ~upper);
        const uint32_t code = SE_MASK(kept != 0) & ((kept >> 12) + ((uint32_t)896 << 11));
        bin[j] = ((code ^ (below | upper)) + SE_FINITE + (upper & (2 * SE_TO_HALF + 1)) +
                  (beyond & (2 * SE_TO_HALF + 1 - SE_TO_ONE))) & 0xFFFFFF;
        rest[j] = kept & 0xFFF;
    }
}

/* The least and the greatest score, in the order of their bits as signed numbers; 0 if some are subnormal. */
SE_ALWAYS int se_extremes(const float *scores, size_t n, float ends[2]) {
    int32_t low = INT32_MAX, high = INT32_MIN;
    uint32_t odd = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, scores + i, sizeof bits);
        const uint32_t size = (uint32_t)bits & 0x7FFFFFFF;
        const int32_t ordered = bits < 0 ? bits ^ 0x7FFFFFFF : bits;
        low = ordered < low ? ordered : low;
        high = ordered > high ? ordered : high;
        odd |= SE_MASK(size < 0x00800000) & size;
    }
    low = low < 0 ? low ^ 0x7FFFFFFF : low;
    high = high < 0 ? high ^ 0x7FFFFFFF : high;
    memcpy(ends, &low, sizeof low);
    memcpy(ends + 1, &high, sizeof high);
    return !odd;
}

SE_ALWAYS void se_sum_floats(se_counter *c, const float *scores, size_t n) {
    uint64_t(*sums)[2] = c->sums;
    uint8_t *met = c->met;
    const uint32_t base = c->base;
    for (size_t start = 0; start < n; start += SE_CHUNK) {
        uint32_t bin[SE_CHUNK], rest[SE_CHUNK];
        const size_t count = n - start < SE_CHUNK ? n - start : SE_CHUNK;
        if (count == SE_CHUNK) {
            se_split_floats(scores + start, bin, rest);
        } else {
            float last[SE_CHUNK] = {0};
            memcpy(last, scores + start, count * sizeof(float));
            se_split_floats(last, bin, rest);
        }
        for (size_t j = 0; j < count; j++) {
            const uint32_t at = bin[j] - base;
            sums[at][0] += ((uint64_t)1 << 40) + rest[j];
            sums[at][1] += (uint64_t)rest[j] * rest[j];
            met[at / SE_BLOCK] = 1;
        }
    }
}

#define SE_FLOATS(NAME, ATTRIBUTE)                                                                                    \
    ATTRIBUTE static int se_extremes_##NAME(const float *scores, size_t n, float ends[2]) {                           \
        return se_extremes(scores, n, ends);                                                                          \
    }                                                                                                                 \
    ATTRIBUTE static void se_sum_floats_##NAME(se_counter *c, const float *scores, size_t n) {                        \
        se_sum_floats(c, scores, n);                                                                                  \
    }

SE_FLOATS(plain, )
#ifdef SE_X86
SE_FLOATS(avx2, __attribute__((target("avx2"))))
#endif

/* Count floats by bin. Returns how many bins they meet, or 0 if they are too many, too far apart or too small for this,
   or if memory ran out. */
static uint32_t se_count_floats(se_counter *c, const float *scores, size_t n) {
    float ends[2];
    uint64_t unused;
    uint32_t found = 0;
    int wide = 0;
    if (n > SE_AT_ONCE) return 0;
#ifdef SE_X86
    __builtin_cpu_init();
    wide = __builtin_cpu_supports("avx2") != 0;
    if (!(wide ? se_extremes_avx2(scores, n, ends) : se_extremes_plain(scores, n, ends))) return 0;
#else
    if (!se_extremes_plain(scores, n, ends)) return 0;
#endif
    const uint32_t first = se_bin(se_bits_of_float(ends), &unused) / SE_BLOCK * SE_BLOCK;
    const uint32_t span = se_bin(se_bits_of_float(ends + 1), &unused) - first + 1;
    if (span > SE_SPAN || !se_widen_counter(c, (span + SE_BLOCK - 1) / SE_BLOCK)) return 0;
    c->base = first;
#ifdef SE_X86
    if (wide) se_sum_floats_avx2(c, scores, n);
    else se_sum_floats_plain(c, scores, n);
#else
    (void)wide;
    se_sum_floats_plain(c, scores, n);
#endif
    for (uint32_t block = 0; block < c->blocks; block++)
        for (uint32_t at = block * SE_BLOCK; c->met[block] && at < (block + 1) * SE_BLOCK; at++)
            found += c->sums[at][0] != 0;
    return found;
}

/* Move what was counted, in that many bins, to the end of a table, together with the bins of another, if any. There must
   be room if `enough`; the counter is cleared in any case. */
static void se_take_counted(se_counter *c, const se_table *other, se_table *to, int enough) {
    uint32_t old = 0, used = to->used;
    const uint32_t olds = other ? other->used : 0;
    for (uint32_t block = 0; block < c->blocks; block++) {
        if (!c->met[block]) continue;
        for (uint32_t at = block * SE_BLOCK; enough && at < (block + 1) * SE_BLOCK; at++) {
            const uint64_t head = c->sums[at][0], sum = head & SE_KEY_LOW, square = c->sums[at][1];
            const uint64_t bin = c->base + at;
            if (!head) continue;
            for (; old < olds && other->index[old] >> 32 < bin; old++, used++) {
                to->index[used] = (other->index[old] & ~(uint64_t)UINT32_MAX) | used;
                to->parts[used] = *se_part_at(other, old);
            }
            se_part *part = to->parts + used;
            part->head = head >> 40 << 20 | sum >> (64 - SE_UNIT);
            part->sum = sum << SE_UNIT;
            part->square_high = square >> (64 - 2 * SE_UNIT);
            part->square = square << 2 * SE_UNIT;
            if (old < olds && other->index[old] >> 32 == bin) se_join(part, se_part_at(other, old++));
            to->index[used] = bin << 32 | used;
            used++;
        }
        memset(c->sums + block * SE_BLOCK, 0, SE_BLOCK * sizeof *c->sums);
        c->met[block] = 0;
    }
    for (; enough && old < olds; old++, used++) {
        to->index[used] = (other->index[old] & ~(uint64_t)UINT32_MAX) | used;
        to->parts[used] = *se_part_at(other, old);
    }
    to->used = used;
}

/* Append floats as keys. 0 if memory ran out. */
static int se_widen(se_table *t) {
    if (!se_extend(&t->fresh[0], t->narrow.used)) return 0;
    for (size_t i = 0; i < t->narrow.used; i++) {
        uint64_t x;
        const uint32_t bin = se_bin(se_bits_of_float(t->narrow.scores + i), &x);
        t->fresh[0].keys[t->fresh[0].used++] = se_key(bin, x);
    }
    t->narrow.used = t->narrow.seen = 0;
    return 1;
}

/* Put floats into bins. 0 if memory ran out; no count is lost then. */
static int se_settle_floats(se_table *t, se_counter *c) {
    const uint32_t counted = se_count_floats(c, t->narrow.scores, t->narrow.used);
    se_table *list = t->used ? &c->list : t;
    if (!counted) return se_widen(t);
    list->used = 0;
    const int enough = se_enlarge(list, counted);
    se_take_counted(c, NULL, list, enough);
    if (!enough || (list != t && !se_admit(t, list))) return 0;
    if (list != t) se_unite(t, list);
    t->narrow.used = t->narrow.seen = 0;
    return 1;
}

/* Put all scores into bins, and drop bins that are empty. 0 if memory ran out; no count is lost then. */
static int se_rebuild(se_table *t, se_counter *counter) {
    uint64_t *sorted[2];
    size_t at[2], most, old = 0;
    uint32_t head[2], used = 0;
    if (t->narrow.used && !se_settle_floats(t, counter)) return 0;
    if (!se_pending(t) && 2 * t->empty <= t->used) return 1;
    most = t->used - t->empty;
    for (int run = 0; run < 2; run++) {
        se_run *r = &t->fresh[run];
        at[run] = 0;
        head[run] = UINT32_MAX;
        if (!r->used) continue;
        uint64_t *spare = (uint64_t *)malloc(r->used * sizeof(uint64_t));
        if (!spare) return 0; /* runs may be sorted by now, which tells the same */
        sorted[run] = se_sort(r->keys, spare, r->used);
        if (sorted[run] == spare) {
            free(r->keys);
            r->keys = spare;
            r->room = r->used;
        } else {
            free(spare);
        }
        sorted[run] = r->keys;
        head[run] = (uint32_t)(r->keys[0] >> SE_KEY_SHIFT);
        most++;
        for (size_t i = 1; i < r->used; i++) most += (r->keys[i] ^ r->keys[i - 1]) >> SE_KEY_SHIFT != 0;
    }
    se_part *parts = NULL;
    void *memory = se_new_parts(most, &parts);
    uint64_t *index = memory ? (uint64_t *)malloc((most + 1) * sizeof(uint64_t)) : NULL;
    if (!index) {
        free(memory);
        return 0;
    }
    for (;;) {
        uint32_t bin = UINT32_MAX;
        while (old < t->used && se_blank(se_part_at(t, (uint32_t)old))) old++;
        if (old < t->used) bin = (uint32_t)(t->index[old] >> 32);
        for (int run = 0; run < 2; run++) bin = head[run] < bin ? head[run] : bin;
        if (bin == UINT32_MAX) break;
        se_part part = {0};
        if (old < t->used && (uint32_t)(t->index[old] >> 32) == bin) part = *se_part_at(t, (uint32_t)old++);
        for (int run = 0; run < 2; run++) {
            if (head[run] != bin) continue;
            const uint64_t *keys = sorted[run];
            size_t i = at[run];
            const size_t end = t->fresh[run].used;
            for (; i < end && (uint32_t)(keys[i] >> SE_KEY_SHIFT) == bin; i++)
                se_put(&part, (keys[i] & SE_KEY_LOW) << 1 | (uint64_t)run);
            at[run] = i;
            head[run] = i < end ? (uint32_t)(keys[i] >> SE_KEY_SHIFT) : UINT32_MAX;
        }
        index[used] = (uint64_t)bin << 32 | used;
        parts[used++] = part;
    }
    free(t->index);
    free(t->memory);
    t->index = index;
    t->parts = parts;
    t->memory = memory;
    t->used = used;
    t->room = (uint32_t)most;
    t->empty = 0;
    for (int run = 0; run < 2; run++) t->fresh[run].used = 0;
    return 1;
}

static inline void se_count_score(se_table *t, se_part *part, uint64_t x, int sign) {
    if (sign > 0) {
        t->empty -= (uint32_t)se_blank(part);
        se_put(part, x);
    } else {
        se_drop(part, x);
        t->empty += (uint32_t)se_blank(part);
    }
}

/* Put all scores into bins. 0 if memory ran out; no count is lost then. */
static int se_settle(se_table *t, se_counter *counter) {
    const size_t pending = se_pending(t);
    if (!pending) return 1;
    if (pending > 8 + t->used / 32 || 2 * t->empty > t->used) return se_rebuild(t, counter);
    if (!se_enlarge(t, (uint32_t)pending)) return 0;
    if (!se_widen(t)) return 0;
    for (int run = 0; run < 2; run++) {
        for (size_t i = 0; i < t->fresh[run].used; i++) {
            const uint64_t key = t->fresh[run].keys[i];
            se_part *part = se_part_of(t, (uint32_t)(key >> SE_KEY_SHIFT));
            se_count_score(t, part, (key & SE_KEY_LOW) << 1 | (uint64_t)run, 1);
        }
        t->fresh[run].used = 0;
    }
    return 1;
}

/* Put scores into bins once they take as much memory as bins do. Where memory is short they wait. */
static inline void se_relieve(se_table *t, se_counter *counter) {
    const size_t wide = t->fresh[0].used + t->fresh[1].used;
    const size_t pending = wide * sizeof(uint64_t) + t->narrow.used * sizeof(float);
    if (pending >= SE_PENDING && pending >= 64 * (size_t)t->used) se_rebuild(t, counter);
}

/* Drop empty bins if they are the majority. */
static void se_compact(se_table *t, se_counter *counter) {
    if (t->used && 2 * t->empty >= t->used) se_rebuild(t, counter);
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* Whether greater residuals of a bin belong to lower scores. */
static inline int se_flipped(uint32_t bin) {
    return bin < SE_FINITE || (bin >= SE_FINITE + SE_TO_HALF && bin <= SE_FINITE + 2 * SE_TO_HALF);
}

static inline void se_add_product(uint64_t *sum, uint64_t a, uint64_t b) {
    uint64_t high;
    sum[0] = se_times(a, b, sum[0], &high);
    sum[1] += high;
}

/* A table as it would be if all its scores were in bins: itself, or `view`, in which floats are counted that stay where
   they are. To make bins of them costs more than to count them, so that is left for the second time they are read. NULL
   if memory ran out. */
static const se_table *se_view(se_table *t, se_counter *c, se_table *view) {
    se_floats *floats = &t->narrow;
    const int settle = t->fresh[0].used || t->fresh[1].used || floats->used <= 2 * floats->seen + 8 + t->used / 32;
    const uint32_t counted = settle ? 0 : se_count_floats(c, floats->scores, floats->used);
    if (!counted) return se_settle(t, c) ? t : NULL;
    floats->seen = floats->used;
    view->used = 0;
    const int enough = se_enlarge(view, counted + t->used);
    se_take_counted(c, t, view, enough);
    return enough ? view : NULL;
}

/* Twice the number of (positive, negative) pairs in which the positive has the greater score, a tie being half a pair:
   at least, with every undecided bin as one tie, and at most. A bin is undecided where scores of a class differ. */
static void se_pairs(const se_table *negative, const se_table *positive, uint64_t sums[6]) {
    uint64_t below = 0;
    uint32_t other = 0;
    for (uint32_t at = 0; at < positive->used; at++) {
        const se_part *p = se_part_at(positive, at);
        const uint32_t bin = (uint32_t)(positive->index[at] >> 32);
        for (; other < negative->used && (uint32_t)(negative->index[other] >> 32) < bin; other++)
            below += se_part_at(negative, other)->head >> 20;
        const uint64_t n = p->head >> 20;
        uint64_t more[3] = {0};
        if (!n) continue;
        if (other < negative->used && (uint32_t)(negative->index[other] >> 32) == bin) {
            const se_part *beside = se_part_at(negative, other);
            const uint64_t tied = beside->head >> 20;
            const int64_t x = se_common(p), y = se_common(beside);
            if (x == y && x >= 0) more[0] = more[1] = more[2] = tied;
            else if (x >= 0 && y >= 0) more[0] = more[1] = more[2] = (x > y) != se_flipped(bin) ? 2 * tied : 0;
            else more[1] = tied, more[2] = 2 * tied;
        }
        for (int i = 0; i < 3; i++) se_add_product(sums + 2 * i, n, 2 * below + more[i]);
    }
}

/* -- rows of scores ------------------------------------------------------------------------------------------------------ */

#define SE_DEEP_TILE 128
#define SE_WIDE_TILE 16

typedef struct {
    const void *scores;
    const uint8_t *true_, *ranked, *hidden; /* the last two may be NULL */
    const int64_t *columns;                 /* where each column counts */
    ptrdiff_t rows, width;
    int single; /* scores are floats, not doubles */
    int64_t fixed;
} se_score_rows;

/* Of how many cells of a row nothing is appended; they are noted beside. */
static inline int se_unscored(const se_score_rows *in, ptrdiff_t at, int64_t side[3]) {
    if (in->hidden && in->hidden[at]) side[2]++;
    else if (in->ranked && !in->ranked[at]) side[in->true_[at] & 1]++;
    else return 0;
    return 1;
}

static int se_append_floats(se_label **labels, const se_score_rows *in, ptrdiff_t column, ptrdiff_t wide,
                            int64_t (*side)[3]) {
    const float *scores = (const float *)in->scores;
    for (ptrdiff_t row = 0; row < in->rows; row += SE_DEEP_TILE) {
        const ptrdiff_t deep = in->rows - row < SE_DEEP_TILE ? in->rows - row : SE_DEEP_TILE;
        float *end[SE_WIDE_TILE][2];
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                se_floats *to = &labels[j]->table[i].narrow;
                /* Most are negative: room for all of a batch at once. */
                const ptrdiff_t ahead = !i && in->rows - row < 4096 ? in->rows - row : deep;
                if (to->room - to->used < (size_t)deep && !se_extend_floats(to, (size_t)ahead)) return 0;
                end[j][i] = to->scores + to->used;
            }
        }
        for (ptrdiff_t at = row * in->width + column; at < (row + deep) * in->width; at += in->width) {
            const uint8_t *true_ = in->true_ + at;
            if (!in->hidden && !in->ranked)
                for (ptrdiff_t j = 0; j < wide; j++) *end[j][true_[j] & 1]++ = scores[at + j];
            else
                for (ptrdiff_t j = 0; j < wide; j++)
                    if (!se_unscored(in, at + j, side[j])) *end[j][true_[j] & 1]++ = scores[at + j];
        }
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                se_floats *to = &labels[j]->table[i].narrow;
                const size_t used = (size_t)(end[j][i] - to->scores);
                labels[j]->binned += (int64_t)(used - to->used);
                to->used = used;
            }
        }
    }
    return 1;
}

static int se_append_doubles(se_label **labels, const se_score_rows *in, ptrdiff_t column, ptrdiff_t wide,
                             int64_t (*side)[3]) {
    const double *scores = (const double *)in->scores;
    for (ptrdiff_t row = 0; row < in->rows; row += SE_DEEP_TILE) {
        const ptrdiff_t deep = in->rows - row < SE_DEEP_TILE ? in->rows - row : SE_DEEP_TILE;
        uint64_t *end[SE_WIDE_TILE][2][2];
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 4; i++) {
                se_run *to = &labels[j]->table[i / 2].fresh[i % 2];
                if (!se_extend(to, (size_t)deep)) return 0;
                end[j][i / 2][i % 2] = to->keys + to->used;
            }
        }
        for (ptrdiff_t at = row * in->width + column; at < (row + deep) * in->width; at += in->width) {
            for (ptrdiff_t j = 0; j < wide; j++) {
                uint64_t x;
                if ((in->hidden || in->ranked) && se_unscored(in, at + j, side[j])) continue;
                const uint32_t bin = se_bin(se_bits_of_double(scores + at + j), &x);
                *end[j][in->true_[at + j] & 1][x & 1]++ = se_key(bin, x);
            }
        }
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 4; i++) {
                se_run *to = &labels[j]->table[i / 2].fresh[i % 2];
                const size_t used = (size_t)(end[j][i / 2][i % 2] - to->keys);
                labels[j]->binned += (int64_t)(used - to->used);
                to->used = used;
            }
        }
    }
    return 1;
}

/* Append the scores of some of the columns. 0 if memory ran out: the caller then undoes what was appended. */
static int se_append_rows(se_label *labels, const se_score_rows *in, ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t column = first; column < last; column += SE_WIDE_TILE) {
        const ptrdiff_t wide = last - column < SE_WIDE_TILE ? last - column : SE_WIDE_TILE;
        se_label *owner[SE_WIDE_TILE];
        int64_t side[SE_WIDE_TILE][3] = {{0}};
        for (ptrdiff_t j = 0; j < wide; j++) owner[j] = labels + in->columns[column + j];
        if (in->single ? !se_append_floats(owner, in, column, wide, side)
                       : !se_append_doubles(owner, in, column, wide, side))
            return 0;
        for (ptrdiff_t j = 0; j < wide; j++) {
            owner[j]->side[0] += in->columns[column + j] < in->fixed ? 0 : side[j][0];
            owner[j]->side[1] += side[j][1];
            owner[j]->side[2] += side[j][2];
        }
    }
    return 1;
}

/* -- example by example -------------------------------------------------------------------------------------------------- */

/* What an example says of a label. Kinds: 0 and 1 a score, 2 and 3 no score, each negative and positive; 4 masked. */
typedef struct {
    uint64_t residual;
    int64_t column;
    uint32_t bin;
    int kind;
} se_mention;

typedef struct {
    const int64_t *true_at, *true_, *ranked_at, *ranked, *hidden_at, *hidden; /* hidden_at may be NULL */
    const double *scores;
} se_score_lists;

/* What one row says of each of its columns. */
static ptrdiff_t se_mentions_of_row(const se_score_rows *in, ptrdiff_t row, se_mention *out) {
    for (ptrdiff_t j = 0; j < in->width; j++) {
        const ptrdiff_t at = row * in->width + j;
        const int ranked = !in->ranked || in->ranked[at];
        out[j].column = in->columns[j];
        out[j].kind = in->hidden && in->hidden[at] ? 4 : (ranked ? 0 : 2) + (in->true_[at] & 1);
        if (out[j].kind < 2)
            out[j].bin = se_bin(in->single ? se_bits_of_float((const float *)in->scores + at)
                                           : se_bits_of_double((const double *)in->scores + at), &out[j].residual);
    }
    return in->width;
}

/* What one example of lists says. Marks tell what it has said of a column: 4 * turn + (1 true, 2 done). */
static ptrdiff_t se_mentions_of_lists(
    const se_score_lists *in, ptrdiff_t row, int64_t turn, int64_t *mark, se_mention *out) {
    const int64_t fresh = 4 * turn;
    ptrdiff_t count = 0;
    for (int64_t i = in->hidden_at ? in->hidden_at[row] : 0; in->hidden_at && i < in->hidden_at[row + 1]; i++) {
        if (mark[in->hidden[i]] >= fresh) continue;
        mark[in->hidden[i]] = fresh + 2;
        out[count].column = in->hidden[i];
        out[count++].kind = 4;
    }
    for (int64_t i = in->true_at[row]; i < in->true_at[row + 1]; i++)
        if (mark[in->true_[i]] < fresh) mark[in->true_[i]] = fresh + 1;
    for (int64_t i = in->ranked_at[row]; i < in->ranked_at[row + 1]; i++) {
        const int64_t seen = mark[in->ranked[i]];
        if (seen == fresh + 2) continue;
        mark[in->ranked[i]] = fresh + 2;
        out[count].column = in->ranked[i];
        out[count].kind = seen == fresh + 1;
        out[count].bin = se_bin(se_bits_of_double(in->scores + i), &out[count].residual);
        count++;
    }
    for (int64_t i = in->true_at[row]; i < in->true_at[row + 1]; i++) {
        if (mark[in->true_[i]] != fresh + 1) continue;
        mark[in->true_[i]] = fresh + 2;
        out[count].column = in->true_[i];
        out[count++].kind = 3;
    }
    return count;
}

/* Make room for what is said, so that counting it cannot fail. 0 if memory ran out. */
static int se_make_room(se_label *labels, const se_mention *said, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        if (said[i].kind > 1) continue;
        se_run *run = &labels[said[i].column].table[said[i].kind].fresh[said[i].residual & 1];
        if (!se_extend(run, run->used == run->room && run->room < 4 ? 4 : 1)) return 0;
    }
    return 1;
}

/* Count what is said; there must be room. */
static void se_append_mentions(se_label *labels, const se_mention *said, ptrdiff_t count, int64_t fixed) {
    for (ptrdiff_t i = 0; i < count; i++) {
        se_label *l = labels + said[i].column;
        if (said[i].kind < 2) {
            se_run *run = &l->table[said[i].kind].fresh[said[i].residual & 1];
            run->keys[run->used++] = se_key(said[i].bin, said[i].residual);
            l->binned++;
        } else if (said[i].kind > 2 || said[i].column >= fixed) {
            l->side[said[i].kind - 2]++;
        }
    }
}

/* Count what is said (sign 1) or take it back (-1) in cells that there are. */
static void se_move_mentions(se_label *labels, const se_mention *said, ptrdiff_t count, int64_t fixed, int sign) {
    for (ptrdiff_t i = 0; i < count; i++) {
        se_label *l = labels + said[i].column;
        if (said[i].kind < 2) {
            se_table *t = &l->table[said[i].kind];
            se_count_score(t, se_seek(t, said[i].bin), said[i].residual, sign);
            l->binned += sign;
        } else if (said[i].kind > 2 || said[i].column >= fixed) {
            l->side[said[i].kind - 2] += sign;
        }
    }
}

static inline int64_t se_said(const se_label *l) { return l->binned + l->side[0] + l->side[1] + l->side[2]; }

/* Take one example back. 0 if what is left could not be the counts of any examples, -1 if memory ran out. */
static int se_take_back(
    se_label *labels, ptrdiff_t width, const se_mention *said, ptrdiff_t count, int64_t fixed, int64_t left) {
    int fits = left >= 0, enough = 1;
    se_counter counter = {0};
    for (ptrdiff_t i = 0; i < count && enough; i++)
        enough = said[i].kind > 1 || se_settle(&labels[said[i].column].table[said[i].kind], &counter);
    se_drop_counter(&counter);
    if (!enough) return -1;
    for (ptrdiff_t i = 0; i < count && fits; i++) {
        const se_label *l = labels + said[i].column;
        if (said[i].kind < 2) {
            const se_part *part = se_seek(&l->table[said[i].kind], said[i].bin);
            fits = part && !se_blank(part);
        } else if (said[i].kind > 2 || said[i].column >= fixed) {
            fits = l->side[said[i].kind - 2] > 0;
        }
    }
    if (!fits) return 0;
    se_move_mentions(labels, said, count, fixed, -1);
    for (ptrdiff_t i = 0; i < count && fits; i++)
        if (said[i].kind < 2) fits = se_possible(se_seek(&labels[said[i].column].table[said[i].kind], said[i].bin));
    for (ptrdiff_t j = 0; j < width && fits; j++) fits = se_said(labels + j) <= left;
    if (!fits) se_move_mentions(labels, said, count, fixed, 1);
    return fits;
}

#endif
