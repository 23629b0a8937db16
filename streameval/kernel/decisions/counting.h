/* Loops over lists of columns (se_pairs) and over weights of dense rows (se_weighed); counting.pyx calls them. No Python. */

#ifndef STREAMEVAL_COUNTING_H
#define STREAMEVAL_COUNTING_H

#include "lists.h"
#include "scores.h"
#include "table.h"

#if defined(SE_X86)
#include <immintrin.h>
#endif

#include "dense.h"

/* How many numbers are not below their `next`; and whether some reach the limit. Not inlined, because compilers that know
   that `next` is `numbers + 1` do not vectorise this. */
#define SE_COUNT_FALLS(TARGET, NAME)                                                                                  \
    TARGET SE_APART uint32_t NAME(                                                                                    \
        const int32_t *numbers, const int32_t *next, int32_t count, uint32_t limit, uint32_t *outside) {              \
        uint32_t falls = 0, beyond = 0;                                                                               \
        for (int32_t i = 0; i < count; i++) {                                                                         \
            beyond |= (uint32_t)numbers[i] >= limit;                                                                  \
            falls += numbers[i] >= next[i];                                                                           \
        }                                                                                                             \
        *outside = beyond;                                                                                            \
        return falls;                                                                                                 \
    }
SE_COUNT_FALLS(, se_count_falls)
SE_COUNT_FALLS(SE_AVX2, se_count_falls_wide)

/* -1 if lists of 32-bit numbers cannot be read, 1 if places rise within every list, so that none is in a list twice, else 0:
   then only sorting shows whether one is. Places may fall where one list ends and the next begins. */
static int se_lists_rise(
    ptrdiff_t rows, const int32_t *offsets, const int32_t *places, int64_t held, int64_t limit) {
    const int32_t first = offsets[0], last = offsets[rows];
    const uint32_t least = limit <= INT32_MAX ? (uint32_t)limit : (uint32_t)1 << 31; /* negative places are greater */
    uint32_t falls = 0, outside;
    int32_t start = first; /* read once, as another thread may change the offsets meanwhile */
    if (first < 0 || last < first || last > held) return -1;
    for (ptrdiff_t r = 0; r < rows; r++) {
        const int32_t end = offsets[r + 1];
        if (end < start) return -1;
        falls += start < end && end < last && places[end - 1] >= places[end];
        start = end;
    }
    if (first == last) return 1;
    falls -= (se_has_avx2() ? se_count_falls_wide : se_count_falls)(
        places + first, places + first + 1, last - first - 1, least, &outside);
    return outside || (uint32_t)places[last - 1] >= least ? -1 : !falls;
}

/* -- lists of columns, any order, with repeats ------------------------------------------------------------------------- */

/* Counts of columns by group, for lists of true and predicted columns only. */
typedef struct {
    uint32_t *in_true, *in_pred; /* the last row, plus 1, that listed the column */
    uint32_t *true_;             /* times true: `width` numbers for each group */
    uint64_t *pred;              /* times predicted | times both << 32: one addition for two counts */
    const int64_t *codes;        /* the group of each row; NULL if there is one */
    ptrdiff_t width, groups;
} se_pairs;

#define SE_TALLIED 2048 /* rows from which a tally saves more time than it takes */

SE_INLINE int se_count_pairs_of(
    ptrdiff_t rows, const se_lists *in_true, const se_lists *in_pred, int plain, int wide, int repeats,
    const se_pairs *pairs, se_sums *h) {
    const se_lists t = *in_true, p = *in_pred;
    uint32_t *const stamps = pairs->in_true, *const predicted = pairs->in_pred;
    uint32_t *trues = pairs->true_;
    uint64_t *preds = pairs->pred, group = 0;
    static const uint64_t counted[2][2] = {{1, 0}, {(uint64_t)1 << 32 | 1, 0}}; /* a table is faster */
    const uint64_t few = pairs->codes || rows < SE_TALLIED ? 0 : 16;
    uint32_t tally[16 * 16 * 16]; /* rows of fewer than 16 labels by key; a quarter of the hash table's time */
    if (few) memset(tally, 0, sizeof tally);
    int64_t t_start = se_at(t.offsets, wide, 0), p_start = se_at(p.offsets, wide, 0);
    if (t_start < 0 || p_start < 0) return -2;
    for (ptrdiff_t r = 0; r < rows; r++) {
        const uint32_t stamp = (uint32_t)r + 1;
        const int64_t t_end = se_at(t.offsets, wide, r + 1), p_end = se_at(p.offsets, wide, r + 1);
        if (t_end < t_start || t_end > t.held || p_end < p_start || p_end > p.held) return -2;
        uint64_t nt = (uint64_t)(t_end - t_start), sum = 0; /* like an entry of `pred` */
        if (r % 512 == 0 && !se_sums_reserve(h, rows - r < 512 ? (size_t)(rows - r) : 512)) return -1;
        if (!plain && pairs->codes) {
            group = (uint64_t)pairs->codes[r];
            if (group >= (uint64_t)pairs->groups) return -2;
            trues = pairs->true_ + group * (uint64_t)pairs->width;
            preds = pairs->pred + group * (uint64_t)pairs->width;
        }
        for (; t_start < t_end; t_start++) {
            uint64_t column = se_place_at(t.places, wide, t_start);
            if (column >= (uint64_t)t.limit) return -2;
            if (!plain && t.columns) column = (uint64_t)t.columns[column];
            const uint32_t again = repeats && stamps[column] == stamp;
            stamps[column] = stamp;
            trues[column] += 1 - again;
            nt -= again;
        }
        for (; p_start < p_end; p_start++) {
            uint64_t column = se_place_at(p.places, wide, p_start);
            if (column >= (uint64_t)p.limit) return -2;
            if (!plain && p.columns) column = (uint64_t)p.columns[column];
            const uint64_t more = counted[stamps[column] == stamp][repeats && predicted[column] == stamp];
            if (repeats) predicted[column] = stamp;
            preds[column] += more;
            sum += more;
        }
        const uint64_t np = (uint32_t)sum, nb = sum >> 32;
        if ((nt | np) < few) tally[nt << 8 | np << 4 | nb]++;
        else se_sums_add(h, nt | np << 32, nb | group << 32, 1); /* the group, as no label is masked */
    }
    for (uint64_t key = 0; few && key < 16 * 16 * 16; key++) {
        if (!se_sums_reserve(h, 1)) return -1;
        if (tally[key]) se_sums_add(h, key >> 8 | (key >> 4 & 15) << 32, key & 15, tally[key]);
    }
    return 0;
}

/* Allocate counts of columns for all groups, which the caller frees; NULL if memory ran out. */
static void *se_pairs_init(se_pairs *pairs, const int64_t *codes, ptrdiff_t groups, ptrdiff_t width) {
    const size_t stamps = (size_t)width + 1, places = (size_t)groups * (size_t)width + 1; /* never 0 bytes */
    uint64_t *memory = (uint64_t *)calloc(places + stamps, sizeof(uint64_t) + sizeof(uint32_t));
    uint32_t *words = (uint32_t *)(memory + places);
    *pairs = (se_pairs){words, words + stamps, words + 2 * stamps, memory, codes, width, groups};
    return memory;
}

/* Add the counts of a group to cells. */
static void se_add_pairs(const se_pairs *pairs, ptrdiff_t group, int64_t *cells) {
    const uint32_t *trues = pairs->true_ + group * pairs->width;
    const uint64_t *preds = pairs->pred + group * pairs->width;
    for (ptrdiff_t column = 0; column < pairs->width; column++) {
        const int64_t p = (uint32_t)preds[column], b = (int64_t)(preds[column] >> 32);
        se_add_marginals(cells + 5 * column, 0, trues[column], p, b, 0);
    }
}

/* Count lists of true and predicted columns into `pairs` and `h`, whose row keys have the group in place of masked labels.
   Returns 0, or -1 if memory ran out, or -2 if a list or column is out of range (some examples are counted then). */
static int se_count_pairs(
    ptrdiff_t rows, const se_lists *in_true, const se_lists *in_pred, int wide, int repeats, const se_pairs *pairs,
    se_sums *h) {
    const int plain = !wide && !repeats && !pairs->codes && !in_true->columns && !in_pred->columns;
    if (plain) return se_count_pairs_of(rows, in_true, in_pred, 1, 0, 0, pairs, h);
    if (wide) return se_count_pairs_of(rows, in_true, in_pred, 0, 1, repeats, pairs, h);
    return se_count_pairs_of(rows, in_true, in_pred, 0, 0, repeats, pairs, h);
}

/* Convert lists of up to SE_FEW columns to rows of bits, one word each. */
#define SE_FEW 64

SE_INLINE int se_words_of(ptrdiff_t rows, const se_lists *lists, int wide, uint64_t *words) {
    const se_lists in = *lists;
    int64_t start = se_at(in.offsets, wide, 0);
    if (start < 0) return -2;
    for (ptrdiff_t r = 0; r < rows; r++) {
        const int64_t end = se_at(in.offsets, wide, r + 1);
        uint64_t word = 0;
        if (end < start || end > in.held) return -2;
        for (; start < end; start++) {
            const uint64_t place = se_place_at(in.places, wide, start);
            if (place >= (uint64_t)in.limit) return -2;
            word |= (uint64_t)1 << (in.columns ? (uint64_t)in.columns[place] : place);
        }
        words[r] = SE_LITTLE(word);
    }
    return 0;
}

/* se_count_pairs for many lists of few columns, by way of bits: with twenty labels in each list it takes a quarter of the
   time. Returns the same codes. */
static int se_count_words(
    ptrdiff_t rows, const se_lists *sides, int wide, ptrdiff_t columns, int vector, int64_t *cells, se_sums *h) {
    uint64_t *words = (uint64_t *)malloc(2 * (size_t)rows * sizeof *words);
    se_bit_rows in[2];
    se_tally tally = {0};
    int done = words ? 0 : -1;
    for (int side = 0; side < 2 && !done; side++) {
        uint64_t *to = words + side * rows;
        in[side] = (se_bit_rows){(uint8_t *)to, (uint8_t *)(to + rows), 0, SE_FEW, 0, 0};
        done = wide ? se_words_of(rows, sides + side, 1, to) : se_words_of(rows, sides + side, 0, to);
    }
    if (!done && se_count_bits(in, rows, columns, vector, columns, cells, h, &tally) < 0) done = -1;
    if (!done && !se_tally_end(&tally, h, 0)) done = -1;
    free(tally.entries);
    free(words);
    return done;
}

/* -- exact sums of weights ---------------------------------------------------------------------------------------------- */

/* The odd number (or 0) which times 2**exponent is the weight; the weight is below 2**top. Sums of weights are limbs,
   sum(limb[i] * 2**(32 * i)), where a limb may be any int64_t. 2**29 numbers can be added. */
static inline uint64_t se_odd(double weight, int *exponent, int *top) {
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    *exponent = (int)(bits >> 52 & 0x7FF);
    mantissa |= (uint64_t)(*exponent != 0) << 52;
    *exponent += (*exponent == 0) - 1075;
    *top = *exponent + 53;
    if (!mantissa) return 0;
#if defined(__GNUC__)
    const int zeros = __builtin_ctzll(mantissa);
    mantissa >>= zeros;
    *exponent += zeros;
#else
    for (; !(mantissa & 1); mantissa >>= 1) ++*exponent;
#endif
    return mantissa;
}

/* The range of weights: all are below 2**highest and multiples of 2**lowest. */
static void se_span(const double *weights, ptrdiff_t rows, int *lowest, int *highest) {
    int low = INT32_MAX, high = INT32_MIN;
    for (ptrdiff_t r = 0; r < rows; r++) {
        int exponent, top;
        if (!se_odd(weights[r], &exponent, &top)) continue;
        low = exponent < low ? exponent : low;
        high = top > high ? top : high;
    }
    *lowest = low < high ? low : 0;
    *highest = low < high ? high : 0;
}

static inline void se_put(int64_t *limbs, uint64_t number, int shift) {
    const uint64_t low32 = 0xFFFFFFFF, low = (number & low32) << shift % 32, high = (number >> 32) << shift % 32;
    int64_t *at = limbs + shift / 32;
    at[0] += (int64_t)(low & low32);
    at[1] += (int64_t)((low >> 32) + (high & low32));
    at[2] += (int64_t)(high >> 32);
}

/* Sums of weights, `limbs` limbs each, in units of 2**lowest: four for each column (true, predicted, both, masked), and one
   for each row key. */
typedef struct {
    const double *weights;
    int lowest, highest, limbs;
    int64_t *of_column;
    se_sums *keys; /* for each row key, the number of its sum, plus 1 */
    int64_t *of_key;
} se_weighed;

static inline void se_put_key(const se_weighed *to, uint64_t outer, uint64_t inner, uint64_t odd, int shift) {
    int64_t *number = se_sums_at(to->keys, outer, inner);
    if (!*number) *number = (int64_t)to->keys->used;
    se_put(to->of_key + (*number - 1) * to->limbs, odd, shift);
}

static inline void se_put_column(const se_weighed *to, int64_t column, int part, uint64_t odd, int shift) {
    se_put(to->of_column + (4 * column + part) * to->limbs, odd, shift);
}

/* Eight rows are counted at a time: their bits of a column make a byte, and a table has the sum of weights for each byte.
   A table holds 56 bits of the weights, so that 32 entries can be added up in 64 bits. */
#define SE_GROUP 8
#define SE_DIGIT 56

/* Bits `from` to `from + SE_DIGIT` of a number shifted to the left. */
static inline uint64_t se_digit(uint64_t number, int shift, int from) {
    const int left = shift - from;
    if (left >= SE_DIGIT || left <= -64) return 0;
    return (left >= 0 ? number << left : number >> -left) & (((uint64_t)1 << SE_DIGIT) - 1);
}

/* Set bit `bit` in the bytes of a group of rows from one row: true, predicted, both (not set), masked; and its row key. */
SE_INLINE void se_gather(
    const se_rows *in, ptrdiff_t r, int bit, int hides, uint8_t *group, uint64_t *outer, uint64_t *inner) {
    const ptrdiff_t columns = in->columns, wide = (columns + SE_WORD - 1) / SE_WORD * SE_WORD;
    const uint8_t *t = in->true_ + r * in->true_stride, *p = in->pred + r * in->pred_stride;
    const uint8_t *m = hides ? in->masked + r * in->masked_stride : NULL, one = (uint8_t)(1 << bit);
    uint8_t *__restrict in_true = group, *__restrict in_pred = group + wide, *__restrict hidden = group + 3 * wide;
    *outer = *inner = 0;
    for (ptrdiff_t start = 0, end; start < columns; start = end) {
        uint8_t nt = 0, np = 0, nb = 0, nm = 0; /* of at most 240 columns, so that they do not overflow */
        end = columns - start < 240 ? columns : start + 240;
        for (ptrdiff_t j = start; j < end; j++) {
            const uint8_t hid = hides ? m[j] : 0, a = t[j] & (hid ^ 1), b = p[j] & (hid ^ 1);
            in_true[j] |= (uint8_t)-a & one;
            in_pred[j] |= (uint8_t)-b & one;
            if (hides) hidden[j] |= (uint8_t)-hid & one;
            nt += a;
            np += b;
            nb += a & b;
            nm += hid;
        }
        *outer += nt | (uint64_t)np << 32;
        *inner += nb | (uint64_t)nm << 32;
    }
}

/* Fill the table of the sums of one digit of eight weights for each byte; 0 if all of it is zero. */
static inline int se_table(const uint64_t *odd, const int *shift, int from, uint64_t *table) {
    uint64_t halves[2][16], any = 0;
    for (int half = 0; half < 2; half++) {
        halves[half][0] = 0;
        for (int i = 0; i < 4; i++) {
            const uint64_t digit = se_digit(odd[4 * half + i], shift[4 * half + i], from);
            any |= digit;
            for (int mask = 0; mask < 1 << i; mask++) halves[half][mask + (1 << i)] = halves[half][mask] + digit;
        }
    }
    for (int high = 0; high < 16; high++) {
        for (int low = 0; low < 16; low++) table[16 * high + low] = halves[1][high] + halves[0][low];
    }
    return any != 0;
}

/* Sum the weights of dense rows where a column is true, predicted, both and masked. 0 if memory ran out. */
static int se_weigh_dense(const se_rows *in, const se_weighed *to) {
    const ptrdiff_t words = (in->columns + SE_WORD - 1) / SE_WORD, wide = words * SE_WORD;
    const int digits = to->highest - to->lowest > SE_DIGIT ? (to->highest - to->lowest + SE_DIGIT - 1) / SE_DIGIT : 1;
    const size_t sums = (size_t)(4 * wide) * (size_t)digits;
    uint64_t *memory = (uint64_t *)calloc((size_t)(4 * words) + sums + 1, sizeof(uint64_t));
    uint64_t *bits = memory, *sum = memory + 4 * words, table[1 << SE_GROUP];
    if (!memory) return 0;
    for (ptrdiff_t r = 0; r < in->rows; r += SE_GROUP) {
        uint64_t odd[SE_GROUP] = {0};
        int shift[SE_GROUP] = {0};
        memset(bits, 0, (size_t)(4 * wide));
        if (!se_sums_reserve(to->keys, SE_GROUP)) {
            free(memory);
            return 0;
        }
        for (int i = 0; i < SE_GROUP && r + i < in->rows; i++) {
            uint64_t outer, inner;
            int top;
            if (in->masked) se_gather(in, r + i, i, 1, (uint8_t *)bits, &outer, &inner);
            else se_gather(in, r + i, i, 0, (uint8_t *)bits, &outer, &inner);
            odd[i] = se_odd(to->weights[r + i], &shift[i], &top);
            shift[i] = odd[i] ? shift[i] - to->lowest : 0;
            se_put_key(to, outer, inner, odd[i], shift[i]);
        }
        for (ptrdiff_t word = 0; word < words; word++) bits[2 * words + word] = bits[word] & bits[words + word];
        for (int digit = 0; digit < digits; digit++) {
            if (!se_table(odd, shift, SE_DIGIT * digit, table)) continue;
            uint64_t *to_sum = sum + 4 * wide * digit;
            const uint8_t *byte = (const uint8_t *)bits;
            for (ptrdiff_t j = 0; j < (in->masked ? 4 : 3) * wide; j++) to_sum[j] += table[byte[j]];
        }
        if (r / SE_GROUP % 32 != 31 && r + SE_GROUP < in->rows) continue;
        for (int digit = 0; digit < digits; digit++) {
            for (int part = 0; part < 4; part++) {
                const uint64_t *from = sum + (4 * digit + part) * wide;
                for (ptrdiff_t j = 0; j < in->columns; j++) se_put_column(to, j, part, from[j], SE_DIGIT * digit);
            }
        }
        memset(sum, 0, sums * sizeof(uint64_t));
    }
    free(memory);
    return 1;
}

/* -- lists of every kind ----------------------------------------------------------------------------------------------- */

/* Count lists of any sides, whose columns were checked; `mark` is zero for each column, `mentions` has room for those of an
   example. 0 if memory ran out (some examples are counted then). */
static int se_count_lists(
    const se_score_lists *in, int64_t *cells, se_sums *h, int64_t *mark, se_mention *mentions) {
    int64_t turn = 1;
    for (ptrdiff_t r = 0; r < in->rows; r++) {
        const ptrdiff_t count = se_mentions_in(in, r, mark, &turn, mentions);
        uint64_t times[5] = {0};
        if (r % 512 == 0 && !se_sums_reserve(h, 512)) return 0;
        for (const se_mention *m = mentions; m < mentions + count; m++) {
            const int outcome = m->kind >> SE_MASKED & 1 ? 4 : m->kind & 3;
            cells[5 * m->column + outcome]++;
            times[outcome]++;
        }
        se_sums_add(h, (times[1] + times[3]) | (times[2] + times[3]) << 32, times[3] | times[4] << 32, 1);
    }
    return 1;
}

#endif
