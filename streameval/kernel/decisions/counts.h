/* se_counts: counts by column and by row key (see numpy.py); adds examples, takes them back. For counting.pyx and tape. */

#ifndef STREAMEVAL_COUNTS_H
#define STREAMEVAL_COUNTS_H

#include "table.h"

/* A direct-mapped cache of row keys that fit into 32 bits, in front of the hash table. Similar rows have different places:
   with fewer than 16 columns every key has a place of its own; with more, 32 numbers of true labels, 32 of predicted ones
   and 8 or 32 of both have. With a mask there are too many keys, and places are hashes. */
typedef struct {
    int bits, parts;   /* parts of a packed key, and bits of each part */
    uint32_t last;     /* the last place; the number of places is a power of two */
    uint64_t *entries; /* for each place a key, and above its 32 bits the number of rows that had it */
} se_tally;

typedef struct {
    int64_t examples;
    int64_t *cell; /* five for each column */
    ptrdiff_t width;
    se_sums rows;
    se_tally waiting; /* further row keys, which `Counting.add` moves to `rows` */
    int64_t slack; /* for every column, at least this many examples do not mention it; below 0: unknown */
} se_counts;

/* Make room for `width` columns. 0 if memory ran out. */
static int se_counts_widen(se_counts *c, ptrdiff_t width) {
    int64_t *cell = (int64_t *)realloc(c->cell, 5 * (size_t)width * sizeof(int64_t));
    if (!cell) return 0;
    memset(cell + 5 * c->width, 0, 5 * (size_t)(width - c->width) * sizeof(int64_t));
    c->cell = cell;
    c->width = width;
    return 1;
}

static int se_counts_init(se_counts *c, ptrdiff_t width) {
    memset(c, 0, sizeof *c);
    return se_counts_widen(c, width) && se_sums_init(&c->rows, 64, 1);
}

static void se_counts_end(se_counts *c) {
    free(c->cell);
    free(c->rows.places);
    free(c->waiting.entries);
}

/* The number of examples that mention a column. */
SE_INLINE int64_t se_mentions(const se_counts *c, ptrdiff_t column) {
    const int64_t *cell = c->cell + 5 * column;
    return cell[0] + cell[1] + cell[2] + cell[3] + cell[4];
}

/* -- one example ------------------------------------------------------------------------------------------------------- */

/* Count an example (by 1), for whose row key there must be room, or take it back (by -1), which lowers the slack of columns
   that the example does not mention. */
SE_INLINE void se_add_example(
    se_counts *c, const int64_t *slot, ptrdiff_t slots, uint64_t outer, uint64_t inner, int by) {
    for (ptrdiff_t i = 0; i < slots; i++) c->cell[slot[i]] += by;
    se_sums_add(&c->rows, outer, inner, by);
    c->examples += by;
    c->slack -= by < 0;
}

/* Take back an example that was surely counted; slots beyond the width are skipped. */
static void se_drop_example(se_counts *c, const int32_t *slot, ptrdiff_t slots) {
    static const uint64_t outers[5] = {0, 1, 1ull << 32, 1 | 1ull << 32, 0}, inners[5] = {0, 0, 0, 1, 1ull << 32};
    uint64_t outer = 0, inner = 0;
    for (ptrdiff_t i = 0; i < slots; i++) {
        if (slot[i] < 5 * c->width) c->cell[slot[i]]--;
        outer += outers[slot[i] % 5];
        inner += inners[slot[i] % 5];
    }
    se_sums_add(&c->rows, outer, inner, -1);
    c->examples--;
    c->slack--;
}

/* Whether no example mentions more labels than there are. */
static int se_labels_suffice(const se_counts *c, ptrdiff_t fixed) {
    uint64_t most = 0, present = (uint64_t)fixed, outer, inner;
    for (size_t at = 0; se_sums_next(&c->rows, &at, &outer, &inner);) {
        const uint64_t labels = (uint32_t)outer + (outer >> 32) + (inner >> 32) - (uint32_t)inner;
        if (labels > most) most = labels;
    }
    for (ptrdiff_t column = fixed; column < c->width; column++) present += se_mentions(c, column) != 0;
    return most <= present;
}

/* Whether, after an example with these slots was taken back, no label is mentioned by more examples than there are, and no
   example mentions more labels than there are. */
static int se_stays_possible(se_counts *c, const int64_t *slot, ptrdiff_t slots, ptrdiff_t fixed) {
    int gone = 0; /* whether no example mentions some label any more */
    if (c->slack < 0) {
        c->slack = c->examples;
        for (ptrdiff_t column = 0; column < c->width; column++) {
            const int64_t left = c->examples - se_mentions(c, column);
            if (left < c->slack) c->slack = left;
        }
    }
    for (ptrdiff_t i = 0; i < slots; i++) gone |= slot[i] >= 5 * fixed && !se_mentions(c, slot[i] / 5);
    return c->slack >= 0 && (!gone || se_labels_suffice(c, fixed));
}

/* Take an example back; 0, with nothing changed, if no examples can have the counts that would be left. */
static int se_take_back(
    se_counts *c, const int64_t *slot, ptrdiff_t slots, ptrdiff_t fixed, uint64_t outer, uint64_t inner) {
    if (!c->examples || se_sums_count(&c->rows, outer, inner) < 1) return 0;
    for (ptrdiff_t i = 0; i < slots; i++)
        if (c->cell[slot[i]] < 1) return 0;
    se_add_example(c, slot, slots, outer, inner, -1);
    if (se_stays_possible(c, slot, slots, fixed)) return 1;
    se_add_example(c, slot, slots, outer, inner, 1);
    return 0;
}

/* -- many examples ------------------------------------------------------------------------------------------------------ */

/* Add the cells of another table (by 1) or subtract them (by -1); `place` maps its columns to these, NULL: to the same.
   True negatives of declared labels stay 0, as they are derived. */
static void se_add_cells(
    se_counts *c, const int64_t *cells, const int64_t *place, ptrdiff_t width, ptrdiff_t fixed, int by) {
    int64_t *__restrict same = c->cell;
    if (!place && by > 0) for (ptrdiff_t i = 0; i < 5 * width; i++) same[i] += cells[i];
    if (!place && by < 0) for (ptrdiff_t i = 0; i < 5 * width; i++) same[i] -= cells[i];
    for (ptrdiff_t column = 0; place && column < width; column++) {
        int64_t *cell = c->cell + 5 * place[column];
        for (int outcome = 0; outcome < 5; outcome++) cell[outcome] += by * cells[5 * column + outcome];
        if (place[column] < fixed) cell[0] = 0;
    }
}

/* Add or subtract row keys, for which there must be room. Most keys and unused places are alike in both tables. */
static void se_add_rows(se_counts *c, const se_sums *rows, int by) {
    const size_t places = rows->mask + 1, mask = c->rows.mask;
    const uint64_t *from = rows->places;
    for (size_t at = 0; at < places; at++, from += 3) {
        uint64_t *to = c->rows.places + 3 * (at & mask);
        if (to[0] == from[0] && to[1] == from[1]) to[2] += (uint64_t)by * from[2];
        else if (from[2]) se_sums_add(&c->rows, from[1], from[0] - 1, by * (int64_t)from[2]);
    }
}

static void se_add_counts(
    se_counts *c, const se_counts *other, const int64_t *place, ptrdiff_t width, ptrdiff_t fixed, int by) {
    se_add_cells(c, other->cell, place, width, fixed, by);
    se_add_rows(c, &other->rows, by);
    c->examples += by * other->examples;
    if (by < 0) c->slack = -1;
}

/* Whether other counts can be subtracted: no count becomes negative, and some examples have the counts that are left. */
static int se_includes(
    se_counts *c, const se_counts *other, const int64_t *place, ptrdiff_t width, ptrdiff_t fixed) {
    uint64_t outer, inner;
    const int64_t *sums;
    int possible = c->examples >= other->examples;
    for (ptrdiff_t column = 0; column < width; column++) {
        const int64_t to = place ? place[column] : column;
        for (int outcome = place && to < fixed; outcome < 5; outcome++)
            possible &= c->cell[5 * to + outcome] >= other->cell[5 * column + outcome];
    }
    for (size_t at = 0; (sums = se_sums_next(&other->rows, &at, &outer, &inner));)
        possible &= se_sums_count(&c->rows, outer, inner) >= sums[0];
    if (!possible) return 0;
    se_add_counts(c, other, place, width, fixed, -1);
    for (ptrdiff_t column = 0; column < c->width; column++) possible &= se_mentions(c, column) <= c->examples;
    possible &= se_labels_suffice(c, fixed);
    se_add_counts(c, other, place, width, fixed, 1);
    return possible;
}

#endif
