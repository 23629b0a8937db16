/* Counts by column and by row key, to which examples are added and from which they are taken back; see numpy.py. */

#ifndef STREAMEVAL_COUNTS_H
#define STREAMEVAL_COUNTS_H

#include "table.h"

/* In front of the histogram stands a table of the packed keys that came last, if these fit into 32 bits, at places where no
   two keys of like rows stand: those of rows of fewer than 16 columns all have places of their own, and longer ones 32
   numbers of true labels, 32 of predicted ones and 8 or 32 of both. With a mask there are too many: places are mixed. */
typedef struct {
    int bits, parts;   /* of a packed key */
    uint32_t last;     /* place of the table, a power of two less one */
    uint64_t *entries; /* of each place, the key and above it how many rows had it */
} se_tally;

typedef struct {
    int64_t examples;
    int64_t *cell; /* five for each column */
    ptrdiff_t width;
    se_sums rows;
    se_tally waiting; /* further rows, of examples that `Counts.take` moves */
    int64_t slack; /* at least so many examples do not mention a column, whichever: below 0 all need a look */
} se_counts;

/* 0 if memory ran out. */
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

/* In how many examples a column is mentioned. */
SE_INLINE int64_t se_mentions(const se_counts *c, ptrdiff_t column) {
    const int64_t *cell = c->cell + 5 * column;
    return cell[0] + cell[1] + cell[2] + cell[3] + cell[4];
}

/* -- one example ------------------------------------------------------------------------------------------------------- */

/* Count an example (by 1), for whose row key there is room, or take it back (by -1): then the columns that it does not
   mention have less slack. */
SE_INLINE void se_add_example(
    se_counts *c, const int64_t *slot, ptrdiff_t slots, uint64_t outer, uint64_t inner, int by) {
    for (ptrdiff_t i = 0; i < slots; i++) c->cell[slot[i]] += by;
    se_sums_add(&c->rows, outer, inner, by);
    c->examples += by;
    c->slack -= by < 0;
}

/* Take back an example that was surely counted; slots of columns that are not there are passed over. */
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

/* Whether no label is mentioned by more examples, and no example mentions more labels, than there are, once an example
   was taken back. */
static int se_stays_possible(se_counts *c, const int64_t *slot, ptrdiff_t slots, ptrdiff_t fixed) {
    int gone = 0; /* whether a label is */
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

/* Take an example back, unless what is left could not be the counts of any examples: then 0. */
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

/* Add counts of some columns, of another table, (by 1) or take them away (by -1). They stand at `place`, or, if that is NULL, at the same.
   True negatives of declared labels are derived. */
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

/* The same of row keys, for which there is room. Most stand at the same place in both tables, as unused places do. */
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

/* Whether other counts can be taken away: each is at least as large, and some examples leave what remains. */
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
