/* Lists of few columns: the labels of a row are the bits of a word, and no branch asks how long a list is. A full load of
   words of a group of rows is counted at once, added bit by bit in the lanes of vectors. */

#ifndef STREAMEVAL_WORDS_H
#define STREAMEVAL_WORDS_H

#define SE_FEW 64     /* columns */
#define SE_TABLE 4096 /* places that lead to them */
#define SE_STEPS 4    /* places of a list that are read at once */
#define SE_LABELS 8   /* bits of how many labels a row has */

/* Rows of a group that are not counted yet. */
typedef struct {
    uint64_t true_[SE_LOAD], pred[SE_LOAD];
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
        to->bits[place] = SE_LITTLE((uint64_t)1 << column);
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

/* Count the rows of a load, and empty it. 0 if memory ran out. */
static int se_unload(se_load *load, int vector, const se_pairs *pairs, uint64_t group, const se_tally *tally) {
    uint32_t *trues = pairs->true_ + group * (uint64_t)pairs->width, sums[3 * 8 * SE_WIDEST] = {0};
    uint64_t *preds = pairs->pred + group * (uint64_t)pairs->width, keys[SE_LOAD + 8 * SE_CHUNK];
    const uint8_t *ends[2] = {(const uint8_t *)(load->true_ + SE_LOAD), (const uint8_t *)(load->pred + SE_LOAD)};
    const se_bit_rows t = {(const uint8_t *)load->true_, ends[0], 0, SE_FEW, 0};
    const se_bit_rows p = {(const uint8_t *)load->pred, ends[1], 0, SE_FEW, 0};
    const se_bits_of of = se_bits_in(&t, &p, vector, SE_LABELS);
    const ptrdiff_t rows = load->rows, wide = 8 * vector;
    SE_USED(vector, bit_block, &of, 0, rows, wide, sums, keys);
    for (ptrdiff_t column = 0; column < pairs->width && column < SE_FEW; column++) {
        trues[column] += (uint32_t)se_bit_sum(sums, column, of.together, vector);
        preds[column] += (uint64_t)se_bit_sum(sums + wide, column, of.together, vector) |
                         (uint64_t)se_bit_sum(sums + 2 * wide, column, of.together, vector) << 32;
    }
    for (ptrdiff_t row = 0; row < rows; row++) keys[row] |= group << 3 * SE_LABELS; /* no label is masked: there is room */
    load->rows = 0;
    return se_tally_add(tally, keys, rows);
}

SE_INLINE int se_count_words_of(
    ptrdiff_t rows, const se_lists *in_true, const se_lists *in_pred, int wide, int vector, const se_pairs *pairs,
    se_bits t_bits, se_bits p_bits, se_load *loads, const se_tally *tally) {
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
        if (++load->rows == SE_LOAD && !se_unload(load, vector, pairs, group, tally)) return -1;
        t_start = t_end;
        p_start = p_end;
    }
    for (group = 0; group < (uint64_t)pairs->groups; group++) {
        if (!se_unload(loads + group, vector, pairs, group, tally)) return -1;
    }
    return 0;
}

/* Count rows as words. Returns what se_count_lists does, or 1 if there are too many columns, or too few rows. */
static int se_count_words(
    ptrdiff_t rows, const se_lists *t, const se_lists *p, int wide, int vector, const se_pairs *pairs, se_sums *h) {
    if (rows < SE_LOAD * pairs->groups || t->limit > SE_TABLE || p->limit > SE_TABLE) return 1;
    const size_t t_held = se_bits_held(t), p_held = se_bits_held(p), words = sizeof(se_load) / sizeof(uint64_t);
    uint64_t *memory = (uint64_t *)calloc(t_held + p_held + words * (size_t)pairs->groups, sizeof(uint64_t));
    const se_bits t_bits = {memory, t_held - 1}, p_bits = {memory + t_held, p_held - 1};
    se_load *loads = (se_load *)(memory + t_held + p_held);
    se_tally tally = {0};
    int done = memory ? 1 : -1;
    if (memory && se_fill(t, &t_bits) && se_fill(p, &p_bits)) { /* most lists have more columns: no table yet */
        done = -1;
        if (se_tally_init(&tally, rows, SE_LABELS, pairs->codes ? 4 : 3, h))
            done = wide ? se_count_words_of(rows, t, p, 1, vector, pairs, t_bits, p_bits, loads, &tally)
                        : se_count_words_of(rows, t, p, 0, vector, pairs, t_bits, p_bits, loads, &tally);
        if (!done && !se_tally_end(&tally)) done = -1;
    }
    free(memory);
    free(tally.entries);
    free(tally.counters);
    return done;
}

#endif
