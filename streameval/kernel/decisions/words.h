/* Lists of few columns: the labels of a row are the bits of a word, and no branch asks how long a list is. A full load of
   words of a group of rows is counted at once, added bit by bit in the lanes of vectors. */

#ifndef STREAMEVAL_WORDS_H
#define STREAMEVAL_WORDS_H

#define SE_FEW 64     /* columns */
#define SE_TABLE 4096 /* places that lead to them */
#define SE_STEPS 4    /* places of a list that are read at once */
#define SE_SMALL 16   /* rows with fewer labels on each side are counted in a table */

/* Rows of a group that are not counted yet; behind SE_LOAD of them are zeros, for vectors of any kind. */
typedef struct {
    uint64_t true_[256], pred[256];
    int64_t rows;
} se_load;

/* The bit of the column where each place leads. */
typedef struct {
    uint64_t *bits;
    uint64_t mask; /* one less than how many there are, a power of two: no place is read beyond them */
} se_bits;

/* What is kept of so many places of a list. */
static const uint64_t SE_STORED[SE_STEPS + 1][SE_STEPS] = {
    {0, 0, 0, 0}, {~0ull, 0, 0, 0}, {~0ull, ~0ull, 0, 0}, {~0ull, ~0ull, ~0ull, 0}, {~0ull, ~0ull, ~0ull, ~0ull}};

static size_t se_bits_held(const se_lists *in) {
    size_t held = 1;
    while (held < (size_t)in->limit) held *= 2;
    return held;
}

/* Whether all columns are below SE_FEW. */
static int se_fill(const se_lists *in, const se_bits *to) {
    for (int64_t place = 0; place < in->limit; place++) {
        const int64_t column = in->columns ? in->columns[place] : place;
        if (column >= SE_FEW) return 0;
        to->bits[place] = (uint64_t)1 << column;
    }
    return 1;
}

/* Whether all places of the lists are below their limit; those of lists out of order are not all looked at. */
SE_INLINE int se_within(ptrdiff_t rows, const se_lists *in, int wide) {
    const int64_t first = se_at(in->offsets, wide, 0), last = se_at(in->offsets, wide, rows);
    const uint64_t top = (uint64_t)in->limit - 1;
    uint64_t beyond = 0; /* its first bit */
    uint32_t narrow = 0;
    if (first < 0 || last > in->held) return 0;
    if (wide) {
        const uint64_t *places = (const uint64_t *)in->places;
        for (int64_t at = first; at < last; at++) beyond |= places[at] | (top - places[at]);
    } else {
        const uint32_t *places = (const uint32_t *)in->places;
        for (int64_t at = first; at < last; at++) narrow |= places[at] | ((uint32_t)top - places[at]);
    }
    return !(beyond >> 63) && !(narrow >> 31);
}

/* The labels of one list. What is read behind it is left out, for it is hard to predict how long a list is. */
SE_INLINE uint64_t se_word_of(const se_lists *in, int wide, int64_t start, int64_t length, se_bits of) {
#define SE_BIT(step) of.bits[se_place_at(in->places, wide, start + (step)) & of.mask]
    uint64_t word = 0;
    for (; length > SE_STEPS; length -= SE_STEPS, start += SE_STEPS)
        word |= SE_BIT(0) | SE_BIT(1) | SE_BIT(2) | SE_BIT(3);
    if (in->held - start < SE_STEPS) {
        for (int64_t step = 0; step < length; step++) word |= SE_BIT(step);
        return word;
    }
    const uint64_t *keep = SE_STORED[length];
    return word | (SE_BIT(0) & keep[0]) | (SE_BIT(1) & keep[1]) | (SE_BIT(2) & keep[2]) | (SE_BIT(3) & keep[3]);
#undef SE_BIT
}

/* How many bits of a word are set; `counts` says whether the processor has an instruction for it. */
SE_INLINE uint64_t se_ones(uint64_t word, int counts) {
#if defined(__GNUC__)
    if (counts) return (uint64_t)__builtin_popcountll(word);
#endif
    (void)counts;
    word -= word >> 1 & 0x5555555555555555ull;
    word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
    return ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full) * 0x0101010101010101ull >> 56;
}

/* Count the rows of a load, and empty it. 0 if memory ran out. */
SE_INLINE int se_unload(
    se_load *load, int counts, int vector, const se_pairs *pairs, uint64_t group, uint32_t *small, se_sums *h) {
    uint32_t *trues = pairs->true_ + group * (uint64_t)pairs->width, sums[3][SE_FEW] = {{0}};
    uint64_t *preds = pairs->pred + group * (uint64_t)pairs->width;
    const size_t left = (size_t)(SE_LOAD - load->rows) * sizeof(uint64_t);
    memset(load->true_ + load->rows, 0, left);
    memset(load->pred + load->rows, 0, left);
    SE_USED(vector, sum_words, load->true_, load->true_, load->rows, sums[0]);
    SE_USED(vector, sum_words, load->pred, load->pred, load->rows, sums[1]);
    SE_USED(vector, sum_words, load->true_, load->pred, load->rows, sums[2]);
    for (ptrdiff_t column = 0; column < pairs->width && column < SE_FEW; column++) {
        trues[column] += sums[0][column];
        preds[column] += sums[1][column] | (uint64_t)sums[2][column] << 32;
    }
    if (!se_sums_reserve(h, SE_LOAD)) return 0;
    for (int64_t row = 0; row < load->rows; row++) {
        const uint64_t t = load->true_[row], p = load->pred[row];
        const uint64_t nt = se_ones(t, counts), np = se_ones(p, counts), nb = se_ones(t & p, counts);
        if (!pairs->codes && (nt | np) < SE_SMALL) small[(nt * SE_SMALL + np) * SE_SMALL + nb]++;
        else se_sums_add(h, nt | np << 32, nb | group << 32, 1); /* no label is masked, so there is room for the group */
    }
    load->rows = 0;
    return 1;
}

SE_INLINE int se_count_words_of(
    ptrdiff_t rows, const se_lists *in_true, const se_lists *in_pred, int wide, int counts, int vector,
    const se_pairs *pairs, se_bits t_bits, se_bits p_bits, se_load *loads, uint32_t *small, se_sums *h) {
    const se_lists t = *in_true, p = *in_pred;
    const int64_t *codes = pairs->codes;
    uint64_t group = 0;
    if (!se_within(rows, &t, wide) || !se_within(rows, &p, wide)) return -2;
    int64_t t_start = se_at(t.offsets, wide, 0), p_start = se_at(p.offsets, wide, 0);
    for (ptrdiff_t r = 0; r < rows; r++) {
        const int64_t t_end = se_at(t.offsets, wide, r + 1), p_end = se_at(p.offsets, wide, r + 1);
        if (t_end < t_start || t_end > t.held || p_end < p_start || p_end > p.held) return -2;
        if (codes) group = (uint64_t)codes[r];
        if (group >= (uint64_t)pairs->groups) return -2;
        se_load *load = loads + group;
        load->true_[load->rows] = se_word_of(&t, wide, t_start, t_end - t_start, t_bits);
        load->pred[load->rows] = se_word_of(&p, wide, p_start, p_end - p_start, p_bits);
        if (++load->rows == SE_LOAD && !se_unload(load, counts, vector, pairs, group, small, h)) return -1;
        t_start = t_end;
        p_start = p_end;
    }
    for (group = 0; group < (uint64_t)pairs->groups; group++) {
        if (!se_unload(loads + group, counts, vector, pairs, group, small, h)) return -1;
    }
    return 0;
}

#define SE_WORDS(NAME, TARGET, COUNTS)                                                                                 \
    TARGET static int NAME(                                                                                            \
        ptrdiff_t rows, const se_lists *t, const se_lists *p, int wide, int vector, const se_pairs *pairs,             \
        se_bits t_bits, se_bits p_bits, se_load *loads, uint32_t *small, se_sums *h) {                                 \
        if (wide) return se_count_words_of(rows, t, p, 1, COUNTS, vector, pairs, t_bits, p_bits, loads, small, h);     \
        return se_count_words_of(rows, t, p, 0, COUNTS, vector, pairs, t_bits, p_bits, loads, small, h);               \
    }

SE_WORDS(se_words_portable, , 0)
#ifdef SE_X86
SE_WORDS(se_words_avx2, __attribute__((target("avx2,popcnt"))), 1)
#endif

/* Count rows as words. Returns what se_count_lists does, or 1 if there are too many columns, or too few rows. */
static int se_count_words(
    ptrdiff_t rows, const se_lists *in_true, const se_lists *in_pred, int wide, int vector, const se_pairs *pairs,
    se_sums *h) {
    if (rows < SE_LOAD * pairs->groups || in_true->limit > SE_TABLE || in_pred->limit > SE_TABLE) return 1;
    const size_t t_held = se_bits_held(in_true), p_held = se_bits_held(in_pred);
    const size_t small = SE_SMALL * SE_SMALL * SE_SMALL / 2, words = sizeof(se_load) / sizeof(uint64_t);
    uint64_t *memory = (uint64_t *)calloc(
        t_held + p_held + small + words * (size_t)pairs->groups, sizeof(uint64_t));
    if (!memory) return -1;
    const se_bits t_bits = {memory, t_held - 1}, p_bits = {memory + t_held, p_held - 1};
    uint32_t *counts = (uint32_t *)(memory + t_held + p_held);
    se_load *loads = (se_load *)(memory + t_held + p_held + small);
    int done = 1;
    if (se_fill(in_true, &t_bits) && se_fill(in_pred, &p_bits)) {
#ifdef SE_X86
        if (vector > SE_WORD)
            done = se_words_avx2(rows, in_true, in_pred, wide, vector, pairs, t_bits, p_bits, loads, counts, h);
        else
#endif
            done = se_words_portable(rows, in_true, in_pred, wide, SE_WORD, pairs, t_bits, p_bits, loads, counts, h);
    }
    for (uint64_t key = 0; key < 2 * small && done == 0; key++) {
        if (!counts[key]) continue;
        if (!se_sums_reserve(h, 1)) done = -1;
        else se_sums_add(h, key / SE_SMALL / SE_SMALL | (key / SE_SMALL % SE_SMALL) << 32, key % SE_SMALL, counts[key]);
    }
    free(memory);
    return done;
}

#endif
