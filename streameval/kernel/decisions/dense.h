/* se_dense: counts dense rows of 0 and 1, rows of bits, or scores, with the vector loops of vectors.h; for counting.pyx. */

#ifndef STREAMEVAL_DENSE_H
#define STREAMEVAL_DENSE_H

#include <math.h>

#include "counts.h"
#include "vectors.h"

/* Vectors of a block, of one row or two each; byte counters do not overflow. */
#define SE_ROWS 240
#define SE_KEYS (8 * SE_ROWS)

/* The most columns whose packed keys fit into 64 bits; longer rows are counted in parts. */
#define SE_LONG 65472

#define SE_DECIDED 32768

/* -- how many rows had each key ---------------------------------------------------------------------------------------- */

#define SE_PLACES 8192
#define SE_MORE_PLACES 32768

/* The bits of a part of a packed key for rows of this many columns without a mask, at most `most`. Below 112 columns, rows
   seldom have more labels than the smaller table has places for. */
SE_INLINE int se_key_bits(ptrdiff_t rows, ptrdiff_t columns, int most) {
    if (columns < 16) return columns < 8 ? 3 : 4;
    return columns < 112 || (columns < 256 && rows < SE_MORE_PLACES) ? 8 : columns < 1024 ? 10 : most;
}

/* The table is only made if there are as many rows as places to clear and read back; a quarter suffices for wide keys. */
static int se_tally_init(se_tally *to, ptrdiff_t rows, int bits, int parts) {
    const int wide = bits == 10 || parts > 3;
    const uint32_t places = parts * bits <= 12 ? 1u << parts * bits : wide ? SE_MORE_PLACES : SE_PLACES;
    free(to->entries);
    *to = (se_tally){bits, parts, places - 1, NULL};
    if (rows < (ptrdiff_t)(places < SE_PLACES ? places : SE_PLACES) || rows > UINT32_MAX || parts * bits > 32) return 1;
    return (to->entries = (uint64_t *)calloc((size_t)to->last + 1, sizeof(uint64_t))) != NULL;
}

/* Add entries (or keys of one row each, if there is no table) to the hash table. 0 if memory ran out. */
static int se_tally_move(const se_tally *from, const uint64_t *entries, size_t count, se_sums *h) {
    const int bits = from->bits, hides = from->parts > 3, counted = from->entries != NULL;
    const uint64_t field = ((uint64_t)1 << bits) - 1;
    for (size_t start = 0, end; start < count; start = end) {
        end = count - start < SE_ROWS ? count : start + SE_ROWS;
        if (!se_sums_reserve(h, end - start)) return 0;
        /* The first round only prefetches, as the places of many keys are not in the cache. */
        for (int adds = count < 64; adds < 2; adds++) {
            for (size_t at = start; at < end; at++) {
                const uint64_t key = counted ? (uint32_t)entries[at] : entries[at], masked = hides ? key >> 3 * bits : 0;
                const uint64_t outer = (key & field) | (key >> bits & field) << 32;
                const uint64_t inner = (key >> 2 * bits & field) | masked << 32;
                if (adds) se_sums_add(h, outer, inner, counted ? (int64_t)(entries[at] >> 32) : 1);
                else se_sums_prefetch(h, outer, inner);
            }
        }
    }
    return 1;
}

/* Count rows with these packed keys, which are overwritten. 0 if memory ran out. */
static int se_tally_add(const se_tally *to, uint64_t *keys, ptrdiff_t rows, se_sums *h) {
    uint64_t *entries = to->entries;
    const int hides = to->parts > 3, upper = to->last < SE_PLACES ? 11 : 15; /* bits of the key */
    ptrdiff_t gone = entries ? 0 : rows;
    SE_UNROLL
    for (ptrdiff_t r = gone; r < rows; r++) {
        const uint32_t key = (uint32_t)keys[r], mixed = hides ? key * 0x9E3779B1u >> 17 : key + (key >> upper);
        const uint32_t at = mixed & to->last;
        if (SE_RARELY((uint32_t)entries[at] != key)) {
            if (entries[at]) keys[gone++] = entries[at];
            entries[at] = key;
        }
        entries[at] += (uint64_t)1 << 32;
    }
    return se_tally_move(to, keys, (size_t)gone, h);
}

/* Move the table's entries to the hash table, and make room there for `more` keys. 0 if memory ran out. */
static int se_tally_end(se_tally *from, se_sums *h, size_t more) {
    size_t used = 0;
    for (size_t at = 0; from->entries && at <= from->last; at++) {
        from->entries[used] = from->entries[at];
        used += from->entries[used] != 0;
    }
    if (!se_sums_reserve(h, used + more)) return 0;
    se_tally_move(from, from->entries, used, h); /* cannot fail: there is room */
    free(from->entries);
    from->entries = NULL;
    return 1;
}

/* Add to the five counts of a column the times that it was neither, true, predicted, both and masked. */
SE_INLINE void se_add_marginals(int64_t *cell, int64_t neither, int64_t t, int64_t p, int64_t b, int64_t m) {
    cell[0] += neither;
    cell[1] += t - b;
    cell[2] += p - b;
    cell[3] += b;
    cell[4] += m;
}

/* -- rows of bits ------------------------------------------------------------------------------------------------------ */

/* se_dense for rows of bits, of fewer than 2**21 columns, both sides in one order of bits. It returns what se_dense does; a
   bit after the columns that is set counts as a 2. */
static int se_count_bits(
    const se_bit_rows *sides, ptrdiff_t rows, ptrdiff_t columns, int vector, ptrdiff_t fixed, int64_t *cells, se_sums *h,
    se_tally *tally) {
    const se_bits_of of = se_bits_in(sides, vector, se_key_bits(rows, columns, 21));
    const ptrdiff_t longest = sides[0].stride > sides[1].stride ? sides[0].stride : sides[1].stride;
    const ptrdiff_t wide = (longest + 8 * vector - 1) / (8 * vector) * 8 * vector, most = SE_LOAD * of.together;
    uint32_t *sums = (uint32_t *)calloc((size_t)(3 * wide), sizeof *sums);
    uint64_t keys[8 * (SE_LOAD + SE_CHUNK)];
    int done = se_tally_init(tally, rows, of.bits, 3) && sums ? 1 : -1;
    for (ptrdiff_t start = 0; start < rows && done == 1; start += most) {
        const ptrdiff_t some = rows - start < most ? rows - start : most;
        done = SE_USED(vector, bit_block, &of, start, some, wide, sums, keys);
        if (done == 1 && !se_tally_add(tally, keys, some, h)) done = -1;
    }
    for (ptrdiff_t bit = 0; bit < longest && done == 1; bit++) {
        if ((sides->falls ? bit ^ 7 : bit) < columns) continue;
        for (int part = 0; part < 2; part++)
            if (se_bit_sum(sums + part * wide, bit, of.together, vector)) done = 2;
    }
    for (ptrdiff_t column = 0; column < columns && done == 1; column++) {
        const ptrdiff_t bit = sides->falls ? column ^ 7 : column;
        const int64_t t = se_bit_sum(sums, bit, of.together, vector);
        const int64_t p = se_bit_sum(sums + wide, bit, of.together, vector);
        const int64_t b = se_bit_sum(sums + 2 * wide, bit, of.together, vector);
        se_add_marginals(cells + 5 * column, column < fixed ? 0 : rows - t - p + b, t, p, b, 0);
    }
    free(sums);
    return done;
}

/* -- rows of bytes ----------------------------------------------------------------------------------------------------- */

/* The address after the last byte of all rows; with unusual strides, after the first row, which is always readable. */
static const uint8_t *se_end(const uint8_t *first, ptrdiff_t stride, const se_rows *in) {
    return first + (stride >= in->columns ? (in->rows - 1) * stride : 0) + in->columns;
}

/* A part of the rows and columns. */
static se_rows se_cut(const se_rows *in, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t column, ptrdiff_t columns) {
    se_rows part = *in;
    part.rows = in->rows - row < rows ? in->rows - row : rows;
    part.columns = in->columns - column < columns ? in->columns - column : columns;
    if (part.true_) part.true_ += row * in->true_stride + column;
    if (part.pred) part.pred += row * in->pred_stride + column;
    if (part.masked) part.masked += row * in->masked_stride + column;
    return part;
}

/* Count a block of rows whose packed keys do not fit into 64 bits. */
static int se_count_long(const se_rows *in, int vector, const se_block *to, se_sums *h) {
    uint64_t outer[SE_ROWS] = {0}, inner[SE_ROWS] = {0};
    se_block at = *to;
    int seen = 0;
    if (!se_sums_reserve(h, (size_t)in->rows)) return -1;
    for (ptrdiff_t start = 0; start < in->columns; start += SE_LONG) {
        const se_rows part = se_cut(in, 0, in->rows, start, SE_LONG);
        at.sums = to->sums + start;
        seen |= SE_USED(vector, count_block, &part, &at);
        for (ptrdiff_t r = 0; r < in->rows; r++) {
            outer[r] += (to->keys[r] & 0xFFFF) | (to->keys[r] >> 16 & 0xFFFF) << 32;
            inner[r] += (to->keys[r] >> 32 & 0xFFFF) | to->keys[r] >> 48 << 32;
        }
    }
    for (ptrdiff_t r = 0; r < in->rows && seen <= 1; r++) se_sums_add(h, outer[r], inner[r], 1);
    return seen;
}

/* Add the byte counters to totals and clear them. A column has more than one, `room` apart, where rows shared a vector. */
static void se_flush(const se_block *from, int vector, const se_rows *in, uint64_t *__restrict totals) {
    const int room = from->shared ? SE_SHARE : vector;
    const int parts = in->masked ? 4 : 3;
    for (int part = 0; part < parts; part++) {
        for (ptrdiff_t lane = 0; lane < vector; lane += room) {
            const uint8_t *__restrict sums = from->sums + part * from->wide + lane;
            for (ptrdiff_t j = 0; j < in->columns; j++) totals[part * in->columns + j] += sums[j];
        }
    }
    memset(from->sums, 0, (size_t)(parts * from->wide));
}

/* Count rows into `totals` (4 x columns), `tally` and `h`. Returns the union of all bytes, or -1 if memory ran out. */
static int se_count_blocks(
    const se_rows *in, se_scores *scores, uint8_t *bytes, int vector, const se_block *to, ptrdiff_t rows,
    uint64_t *totals, const se_tally *tally, se_sums *h) {
    se_block block = *to;
    int seen = 0;
    for (ptrdiff_t start = 0; start < in->rows && seen <= 1; start += rows) {
        se_rows part = se_cut(in, start, rows, 0, in->columns);
        if (in->true_cells) {
            part.true_ = bytes + rows * in->columns;
            seen |= SE_USED(vector, narrow_cells, in->true_cells, start, part.rows, part.columns, (uint8_t *)part.true_);
        }
        if (scores || in->pred_cells) part.pred = bytes;
        if (scores) {
            scores->finite &= SE_USED(vector, decide, scores, start, part.rows, part.columns, bytes);
            seen |= scores->finite ? 0 : 2;
        } else if (in->pred_cells) {
            seen |= SE_USED(vector, narrow_cells, in->pred_cells, start, part.rows, part.columns, bytes);
        }
        if (part.columns > SE_LONG) {
            const int cells = se_count_long(&part, vector, to, h);
            if (cells < 0) return -1;
            seen |= cells;
        } else if (seen <= 1) {
            seen |= SE_USED(vector, count_block, &part, &block);
            block.keys += part.rows;
        }
        se_flush(to, vector, &part, totals);
        /* Keys of more than one block are added at once, since adding them disturbs the prefetching of rows. Bytes that are
           neither 0 nor 1 make keys that mean nothing, which are dropped. */
        if (seen > 1 || (block.keys - to->keys <= SE_KEYS - rows && start + rows < in->rows)) continue;
        if (!se_tally_add(tally, to->keys, block.keys - to->keys, h)) return -1;
        block.keys = to->keys;
    }
    return seen;
}

/* Copy the bounds for as many rows as are compared in one loop, if rows are contiguous: loops that end with each row are not
   vectorised at their ends, which for 14 columns took three times as long. NULL if memory ran out. */
static void *se_tile(se_scores *scores, ptrdiff_t columns) {
    const ptrdiff_t size = columns * (scores->narrow ? 4 : 8);
    scores->tile = scores->stride == size && columns < 1024 ? 1024 / columns : 1;
    const ptrdiff_t all = scores->tile * size;
    char *bounds = (char *)malloc((size_t)all);
    if (!bounds) return NULL;
    for (ptrdiff_t j = 0; j < columns; j++) {
        const double bound = scores->bounds[scores->by * j];
        float above = (float)bound; /* the least float not below it decides alike */
        if ((double)above < bound) above = nextafterf(above, INFINITY);
        if (scores->narrow) ((float *)bounds)[j] = above;
        else ((double *)bounds)[j] = bound;
    }
    for (ptrdiff_t done = size; done < all; done *= 2)
        memcpy(bounds + done, bounds, (size_t)(all - done < done ? all - done : done));
    scores->tiled = bounds;
    return bounds;
}

/* Whether to convert rows of bytes to bits, so that eight rows share a vector: that takes about half the time if there are
   enough rows to outweigh the final sums over the eight. */
static int se_packs(const se_rows *in, const se_scores *scores, int vector) {
    const int plain = !in->masked && !in->true_cells && !in->pred_cells && !scores;
    return plain && vector == SE_WIDEST && in->columns > SE_SHARE && in->columns <= SE_WIDEST && in->rows >= 512 &&
           in->rows <= UINT32_MAX && in->true_stride == in->columns && in->pred_stride == in->columns;
}

/* Count rows into `cells` (columns x 5) and row keys into `h`. Returns the union of all bytes, or another number above 1 if
   that is above 1: then `cells` are unchanged, and so is `h` if all rows are one block (64 rows of 16,384 cells are); or -1
   if memory ran out. Scores, unless NULL, replace `pred`; one that is not finite counts as a 2. Only columns from `fixed` on
   count true negatives. Row keys that are not in `h` yet are in `tally`, for se_tally_end; below 512 rows there are none. */
static int se_dense(
    const se_rows *all, se_scores *scores, int vector, ptrdiff_t fixed, int64_t *cells, se_sums *h, se_tally *tally) {
    const ptrdiff_t columns = all->columns, wide = (columns + 63) / 64 * 64;
    if (all->bits) return se_count_bits(all->bits, all->rows, columns, vector, fixed, cells, h, tally);
    if (se_packs(all, scores, vector)) {
        const se_bit_rows sides[2] = {{all->true_, NULL, 0, columns, 0, 1}, {all->pred, NULL, 0, columns, 0, 1}};
        return se_count_bits(sides, all->rows, columns, vector, fixed, cells, h, tally);
    }
    if (columns <= SE_SHARE && vector == 64) vector = 32; /* rows that share a vector gain nothing from wider ones */
    const int made = (all->true_cells != NULL) + (scores || all->pred_cells); /* sides that are converted to bytes */
    uint64_t keys[SE_KEYS];
    se_rows in = *all;
    if (in.true_cells) in.true_stride = columns;
    if (scores || in.pred_cells) in.pred_stride = columns;
    const ptrdiff_t ahead = vector < 64 || columns > SE_BROAD ? 8 * (1 + SE_AHEAD / (8 * columns)) : 0;
    const int far = vector == 64 && columns > SE_BROAD && !made && in.rows > SE_FAR / columns;
    /* Short rows have keys of few bits, so that each key can have a place of its own in the tally. */
    const int shared = vector == 32 && columns <= SE_SHARE && in.true_stride >= columns && in.pred_stride >= columns &&
                       (!in.masked || in.masked_stride >= columns);
    const int bits = !in.masked || columns < 8 ? se_key_bits(in.rows, columns, 16) : columns < 256 ? 8 : 16;
    se_block block = {ahead, far, shared, bits, NULL, wide, keys};
    ptrdiff_t rows = shared ? 2 * SE_ROWS : SE_ROWS;
    /* Converted bytes should stay in the first-level cache. */
    const ptrdiff_t most = made ? SE_DECIDED / made / columns : rows;
    if (rows > most) rows = most < 8 ? 8 : most / 8 * 8;
    if (rows > in.rows) rows = in.rows;
    const size_t sums = (size_t)(4 * wide), totals = (size_t)(4 * columns) * sizeof(uint64_t);
    uint8_t *memory = (uint8_t *)calloc(64 + sums + totals, 1), *bytes = NULL;
    int seen = -1;
    void *bounds = scores ? se_tile(scores, columns) : NULL;
    if (bounds || (made && !scores)) bytes = (uint8_t *)malloc((size_t)(2 * rows * columns));
    /* In `bytes`, predictions come before truths. */
    in.true_end = in.true_cells ? bytes + 2 * rows * columns : se_end(in.true_, in.true_stride, &in);
    in.pred_end = scores || in.pred_cells ? bytes + 2 * rows * columns : se_end(in.pred, in.pred_stride, &in);
    in.hidden_end = in.masked ? se_end(in.masked, in.masked_stride, &in) : NULL;
    if (se_tally_init(tally, in.rows, block.bits, in.masked ? 4 : 3) && memory && (bytes || !made)) {
        uint64_t *total = (uint64_t *)(memory + (64 - (uintptr_t)memory % 64) + sums);
        block.sums = (uint8_t *)total - sums;
        seen = se_count_blocks(&in, scores, bytes, vector, &block, rows, total, tally, h);
        for (ptrdiff_t j = 0; j < columns && seen >= 0 && seen <= 1; j++) {
            const int64_t t = (int64_t)total[j], p = (int64_t)total[columns + j], b = (int64_t)total[2 * columns + j];
            const int64_t m = (int64_t)total[3 * columns + j];
            se_add_marginals(cells + 5 * j, j < fixed ? 0 : in.rows - t - p + b - m, t, p, b, m);
        }
    }
    free(memory);
    free(bytes);
    free(bounds);
    return seen;
}

#endif
