/* sp_sink, sp_row: loops that count the pairs of labels of examples, as pairing.py defines them. compiled.pyx calls them.

   This file does not use Python. Loops over dense rows return the union of all bytes, so that one pass both counts and says
   whether all cells were 0 or 1; callers drop the counts if not. */

#ifndef STREAMEVAL_PAIRING_H
#define STREAMEVAL_PAIRING_H

#include "decisions/cells.h"
#include "scores.h"
#include "table.h"

#define SP_NONE 0xFFFFFFFFu /* stands for "no label" as a row or a column */

enum { SP_CONFUSION = 1, SP_CONTRIBUTION, SP_TRUE_TRUE, SP_TRUE_PRED, SP_PRED_PRED, SP_KINDS };
enum { SP_WITH_CONFUSION = 1, SP_WITH_CONTRIBUTIONS = 2, SP_WITH_COOCCURRENCE = 4 };

static inline uint64_t sp_inner(uint64_t kind, uint64_t num, uint64_t den) { return kind << 60 | num << 30 | den; }

static inline uint64_t sp_outer(uint32_t row, uint32_t column) { return (uint64_t)row << 32 | column; }

/* -- where the pairs of an example are counted ------------------------------------------------------------------------- */

#define SP_DENOMINATORS 32
/* The most places that the blocks of a kind may have together. */
#define SP_BLOCKS (1u << 23)

/* Keys are (row << 32 | column, kind << 60 | numerator << 30 | denominator). With `step` 1 or -1 pairs are added to the
   table or subtracted; with 0 they are looked up, and `failed` is set if one is absent; or else if memory runs out.
   If labels are few and examples many, pairs are first counted in square blocks, one for each kind and small denominator, by
   position in the batch; `columns` then maps these positions to columns of the table. */
typedef struct {
    se_sums *table;
    int64_t step;
    int failed;
    uint64_t blocks; /* denominators below this have blocks */
    size_t side; /* positions of the batch, plus one for no label */
    const uint32_t *columns;
    uint32_t *block[SP_KINDS * SP_DENOMINATORS];
} sp_sink;

/* The block for a kind of pair, NULL if it has none or if memory ran out. */
static inline uint32_t *sp_block(sp_sink *s, uint64_t kind, uint64_t num, uint64_t den) {
    if (num != 1 || den >= s->blocks) return NULL;
    uint32_t **block = &s->block[kind * SP_DENOMINATORS + den];
    if (!*block) *block = (uint32_t *)calloc(s->side * s->side, sizeof(uint32_t));
    return *block;
}

static inline void sp_add(sp_sink *s, uint64_t outer, uint64_t inner, int64_t count) {
    se_sums *t = s->table;
    const size_t keys = t->used + t->promised + 1;
    if (SE_RARELY(2 * keys > t->mask + 1) && !se_sums_rebuild(t, keys / 2 + t->promised)) s->failed = 1;
    else se_sums_add(t, outer, inner, count);
}

/* The two labels of a pair as a word; the lower column comes first where order does not matter. */
static inline uint64_t sp_ordered(uint64_t kind, uint32_t row, uint32_t column) {
    const int swaps = (kind == SP_TRUE_TRUE || kind == SP_PRED_PRED) && row > column;
    return swaps ? sp_outer(column, row) : sp_outer(row, column);
}

static inline uint64_t sp_labels(const sp_sink *s, uint64_t kind, uint32_t a, uint32_t b) {
    return s->columns ? sp_ordered(kind, s->columns[a], s->columns[b]) : sp_ordered(kind, a, b);
}

/* A map from the columns of one table to those of another; `place` is NULL if they are the same. */
typedef struct {
    const int64_t *place;
    size_t width;
} sp_places;

/* Map the labels of a pair. 0 if one of them is not in the map. */
static inline int sp_move(const sp_places *to, uint64_t *outer, uint64_t inner) {
    const uint32_t row = (uint32_t)(*outer >> 32), column = (uint32_t)*outer;
    if (!to->place) return 1;
    if ((row != SP_NONE && row >= to->width) || (column != SP_NONE && column >= to->width)) return 0;
    *outer = sp_ordered(inner >> 60, row == SP_NONE ? row : (uint32_t)to->place[row],
                        column == SP_NONE ? column : (uint32_t)to->place[column]);
    return 1;
}

/* Count pairs of every label of one list with every label of another. */
static inline void sp_cross(sp_sink *s, uint64_t kind, uint64_t num, uint64_t den, const uint32_t *rows, size_t height,
                            const uint32_t *columns, size_t width) {
    if (!height || !width) return;
    uint32_t *block = sp_block(s, kind, num, den);
    const uint64_t inner = sp_inner(kind, num, den);
    for (size_t i = 0; i < height; i++) {
        if (block) {
            uint32_t *row = block + rows[i] * s->side;
            for (size_t j = 0; j < width; j++) row[columns[j]]++;
            continue;
        }
        for (size_t j = 0; j < width; j++) se_sums_prefetch(s->table, sp_labels(s, kind, rows[i], columns[j]), inner);
        for (size_t j = 0; j < width; j++) {
            const uint64_t outer = sp_labels(s, kind, rows[i], columns[j]);
            if (s->step) sp_add(s, outer, inner, s->step);
            else if (se_sums_count(s->table, outer, inner) < 1) s->failed = 1;
        }
    }
}

/* Count pairs of every two labels of a list. */
static inline void sp_within(sp_sink *s, uint64_t kind, const uint32_t *labels, size_t count) {
    for (size_t i = 1; i < count; i++) sp_cross(s, kind, 1, 1, labels + i, 1, labels, i);
}

/* Count pairs of every label of a list with itself. */
static inline void sp_diagonal(sp_sink *s, uint64_t kind, uint64_t num, uint64_t den, const uint32_t *labels,
                               size_t count) {
    for (size_t i = 0; i < count; i++) sp_cross(s, kind, num, den, labels + i, 1, labels + i, 1);
}

/* The labels of one example: missed, then both true and predicted, then wrongly predicted, so that the true labels are
   contiguous, and so are the predicted ones. `none` is the number that stands for no label. */
typedef struct {
    const uint32_t *labels;
    size_t missed, both, wrong;
    uint32_t none;
} sp_row;

/* Count confusions or contributions. They differ if all true labels are predicted, or only true ones. */
static inline void sp_confusions(sp_sink *s, const sp_row *e, uint64_t kind) {
    const uint32_t *missed = e->labels, *both = missed + e->missed, *wrong = both + e->both;
    const size_t truths = e->missed + e->both, guesses = e->both + e->wrong;
    const int confusion = kind == SP_CONFUSION;
    if (!truths || !guesses) {
        sp_cross(s, kind, 1, truths || !guesses ? 1 : e->wrong, truths ? missed : &e->none, truths ? e->missed : 1,
                 guesses ? wrong : &e->none, guesses ? e->wrong : 1);
    } else if (!e->missed && e->wrong) {
        sp_diagonal(s, kind, confusion ? 1 : truths, confusion ? 1 + e->wrong : guesses, both, e->both);
        sp_cross(s, kind, 1, confusion ? 1 + e->wrong : guesses, both, e->both, wrong, e->wrong);
    } else {
        sp_diagonal(s, kind, 1, 1, both, e->both);
        if (e->wrong) sp_cross(s, kind, 1, e->wrong, missed, e->missed, wrong, e->wrong);
        else if (confusion) sp_cross(s, kind, 1, 1, missed, e->missed, &e->none, 1);
        else sp_cross(s, kind, 1, guesses, missed, e->missed, both, e->both);
    }
}

static void sp_example(sp_sink *s, const sp_row *e, int parts) {
    const uint32_t *missed = e->labels, *both = missed + e->missed, *wrong = both + e->both;
    if (parts & SP_WITH_CONFUSION) sp_confusions(s, e, SP_CONFUSION);
    if (parts & SP_WITH_CONTRIBUTIONS) sp_confusions(s, e, SP_CONTRIBUTION);
    if (parts & SP_WITH_COOCCURRENCE) {
        sp_within(s, SP_TRUE_TRUE, missed, e->missed + e->both);
        sp_within(s, SP_PRED_PRED, both, e->both + e->wrong);
        sp_cross(s, SP_TRUE_PRED, 1, 1, missed, e->missed, both, e->both + e->wrong);
        sp_cross(s, SP_TRUE_PRED, 1, 1, both, e->both, wrong, e->wrong);
        for (size_t i = 0; i < e->both; i++) { /* not with itself, which the decisions count */
            sp_cross(s, SP_TRUE_PRED, 1, 1, both + i, 1, both, i);
            sp_cross(s, SP_TRUE_PRED, 1, 1, both + i, 1, both + i + 1, e->both - i - 1);
        }
    }
}

/* Add, subtract or look up the pairs of one example; see `sp_sink`. Returns whether that succeeded. */
static int sp_one(se_sums *table, int64_t step, const sp_row *e, int parts) {
    sp_sink sink;
    sink.table = table, sink.step = step, sink.failed = 0, sink.blocks = 0, sink.columns = NULL;
    sp_example(&sink, e, parts);
    return !sink.failed;
}

/* The most pairs that an example may have, for reserving room. */
static size_t sp_pairs(const sp_row *e, int parts) {
    const size_t t = e->missed + e->both + 1, p = e->both + e->wrong + 1;
    const int confusions = !!(parts & SP_WITH_CONFUSION) + !!(parts & SP_WITH_CONTRIBUTIONS);
    return (size_t)confusions * t * p + (parts & SP_WITH_COOCCURRENCE ? t * t + p * p + t * p : 0);
}

/* The denominator below which pairs have blocks. A block costs time for each of its places; the pairs of an example take
   about as much time as 64 places. */
static uint64_t sp_blocks(size_t side, ptrdiff_t rows) {
    if (side > 2048 || side * side / 64 > (size_t)rows || rows > 1 << 30) return 0;
    const uint64_t most = SP_BLOCKS / (side * side);
    return most < SP_DENOMINATORS ? most : SP_DENOMINATORS;
}

/* Add the counts of all blocks to the table, and free the blocks. */
static void sp_drain(sp_sink *s) {
    for (size_t which = 0; which < SP_KINDS * SP_DENOMINATORS; which++) {
        const uint32_t *block = s->block[which];
        if (!block) continue;
        const uint64_t kind = which / SP_DENOMINATORS, inner = sp_inner(kind, 1, which % SP_DENOMINATORS);
        const size_t places = s->side * s->side;
        size_t live = 0;
        for (size_t at = 0; at < places; at++) live += block[at] != 0;
        if (!se_sums_reserve(s->table, live)) s->failed = 1;
        for (size_t at = 0; at < places && !s->failed; at++)
            if (block[at])
                se_sums_add(s->table, sp_labels(s, kind, (uint32_t)(at / s->side), (uint32_t)(at % s->side)), inner,
                            block[at]);
        free(s->block[which]);
        s->block[which] = NULL;
    }
}

/* -- dense rows of 0 and 1 ----------------------------------------------------------------------------------------------- */

/* Append the columns of those of eight bytes that are 1. */
static inline size_t sp_list(uint64_t bytes, ptrdiff_t base, uint32_t *list, size_t count) {
    for (bytes &= SE_FLAGS; bytes; bytes &= bytes - 1) list[count++] = (uint32_t)(base + se_first_flag(bytes));
    return count;
}

/* Count the pairs of rows; `place` has the table's column for each position, and SP_NONE at the end. Returns the union of
   all bytes, or -1 if memory ran out. */
static int sp_dense(const se_rows *in, const uint32_t *place, int parts, se_sums *table) {
    const size_t q = (size_t)in->columns, side = q + 1;
    sp_sink sink = {table, 1, 0, 0, side, place, {NULL}};
    sink.blocks = sp_blocks(side, in->rows);
    uint32_t *list = (uint32_t *)malloc((3 * q + 1) * sizeof(uint32_t));
    if (!list) return -1;
    uint32_t *both = list + q, *wrong = both + q;
    uint64_t seen = 0;
    for (ptrdiff_t r = 0; r < in->rows && !sink.failed; r++) {
        const uint8_t *t = in->true_ + r * in->true_stride, *p = in->pred + r * in->pred_stride;
        const uint8_t *m = in->masked ? in->masked + r * in->masked_stride : NULL;
        sp_row e = {list, 0, 0, 0, (uint32_t)q};
        for (ptrdiff_t j = 0; j < in->columns; j += 8) {
            const uint64_t masked = m ? se_flags(m + j, in->columns - j) : 0;
            const uint64_t a = se_flags(t + j, in->columns - j), b = se_flags(p + j, in->columns - j);
            seen |= a | b | masked;
            e.missed = sp_list(a & ~b & ~masked, j, list, e.missed);
            e.both = sp_list(a & b & ~masked, j, both, e.both);
            e.wrong = sp_list(b & ~a & ~masked, j, wrong, e.wrong);
        }
        memcpy(list + e.missed, both, e.both * sizeof(uint32_t));
        memcpy(list + e.missed + e.both, wrong, e.wrong * sizeof(uint32_t));
        sp_example(&sink, &e, parts);
    }
    free(list);
    sp_drain(&sink);
    if (sink.failed) return -1;
    seen |= seen >> 32;
    seen |= seen >> 16;
    return (int)((seen | seen >> 8) & 255);
}

/* -- lists of columns, any order, with repeats ---------------------------------------------------------------------------- */

/* Count the pairs of lists; `mentions` has room for those of an example. Returns 0 if memory ran out. */
static int sp_count_lists(const se_score_lists *in, ptrdiff_t width, int parts, se_sums *table, se_mention *mentions) {
    static const int order[3] = {1, 3, 2}; /* kinds of mentions: only true, both, only predicted */
    sp_sink sink = {table, 1, 0, sp_blocks((size_t)width + 1, in->rows), (size_t)width + 1, NULL, {NULL}};
    int64_t *mark = (int64_t *)calloc((size_t)width + 1, sizeof(int64_t)), turn = 1;
    uint32_t *room = (uint32_t *)malloc((2 * (size_t)width + 1) * sizeof(uint32_t));
    sink.failed = !mark || !room;
    if (sink.blocks && !sink.failed) {
        uint32_t *columns = room + width;
        for (ptrdiff_t column = 0; column < width; column++) columns[column] = (uint32_t)column;
        columns[width] = SP_NONE;
        sink.columns = columns;
    }
    for (ptrdiff_t r = 0; r < in->rows && !sink.failed; r++) {
        const ptrdiff_t count = se_mentions_in(in, r, mark, &turn, mentions);
        size_t put = 0;
        sp_row e = {room, 0, 0, 0, sink.blocks ? (uint32_t)width : SP_NONE};
        size_t *sizes[3] = {&e.missed, &e.both, &e.wrong};
        for (int part = 0; part < 3; part++)
            for (ptrdiff_t i = 0; i < count; i++)
                if (mentions[i].kind == order[part]) room[put++] = (uint32_t)mentions[i].column, ++*sizes[part];
        sp_example(&sink, &e, parts);
    }
    sp_drain(&sink);
    free(mark);
    free(room);
    return !sink.failed;
}

#endif
