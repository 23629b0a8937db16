/* Counts scores of rows and lists in labels (se_label), takes one example back, and merges labels. compiled.pyx calls it. */

#ifndef STREAMEVAL_ROWS_H
#define STREAMEVAL_ROWS_H

#include "areas.h"
#include "mentions.h"

/* -- rows of scores ------------------------------------------------------------------------------------------------------ */

#define SE_DEEP_TILE 128
#define SE_WIDE_TILE 16

/* Count a cell without a score or with a masked truth by side; 0 if it has a score, which is to be appended. */
static inline int se_unscored(const se_score_rows *in, ptrdiff_t at, int64_t side[3]) {
    if (in->mask && in->mask[at]) side[2]++;
    else if (in->ranked && !in->ranked[at]) side[in->true_[at] & 1]++;
    else return 0;
    return 1;
}

/* Append the scores of a few columns: floats if `single`, stored as floats if `narrow`. Callers pass constants for both. */
SE_INLINE int se_append_columns(se_label **labels, const se_score_rows *in, ptrdiff_t column, ptrdiff_t wide,
                                int64_t (*side)[3], const int single, const int narrow) {
    const int some = in->mask || in->ranked;
    for (ptrdiff_t row = 0; row < in->rows; row += SE_DEEP_TILE) {
        const ptrdiff_t deep = in->rows - row < SE_DEEP_TILE ? in->rows - row : SE_DEEP_TILE;
        se_scores end[SE_WIDE_TILE][2];
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                /* Most scores are negatives: room for those of a whole batch. */
                const ptrdiff_t ahead = !i && in->rows - row < 4096 ? in->rows - row : deep;
                se_table *t = &labels[j]->table[i];
                if ((t->waiting + (size_t)deep) * se_size(t) > t->space && !se_extend(t, (size_t)ahead)) return 0;
                if (narrow) end[j][i].floats = t->fresh.floats + t->waiting;
                else end[j][i].doubles = t->fresh.doubles + t->waiting;
            }
        }
        for (ptrdiff_t at = row * in->width + column; at < (row + deep) * in->width; at += in->width) {
            for (ptrdiff_t j = 0; j < wide; j++) {
                if (some && se_unscored(in, at + j, side[j])) continue;
                se_scores *to = &end[j][in->true_[at + j] & 1];
                if (narrow) *to->floats++ = ((const float *)in->scores)[at + j];
                else *to->doubles++ = se_score_bits(in, at + j, single);
            }
        }
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                se_table *t = &labels[j]->table[i];
                const se_scores stop = end[j][i];
                const size_t count = (size_t)(narrow ? stop.floats - t->fresh.floats : stop.doubles - t->fresh.doubles);
                labels[j]->binned += (int64_t)(count - t->waiting);
                t->waiting = count;
            }
        }
    }
    return 1;
}

/* Append the scores of all rows if `appends`; else make room for them, beyond the room that is owed, so that appending them
   later allocates nothing. 0 if memory ran out; some scores are appended then. */
SE_APART int se_append_rows(se_label *labels, const se_score_rows *in, int appends) {
    se_counter counter = {0};
    for (ptrdiff_t column = 0, wide; column < in->width && in->rows; column += wide) {
        se_label *owner[SE_WIDE_TILE];
        int64_t side[SE_WIDE_TILE][3] = {{0}};
        int narrow = 0, enough = 1;
        for (wide = 0; wide < SE_WIDE_TILE && wide < in->width - column; wide++) { /* columns of the same type */
            se_table *t = (owner[wide] = labels + in->columns[column + wide])->table;
            for (int i = 0; i < 2; i++) {
                se_relieve(t + i, &counter);
                enough &= se_accept(t + i, in->single);
            }
            if (wide && narrow != (in->single & t[0].single & t[1].single)) break;
            narrow = in->single & t[0].single & t[1].single;
        }
        se_drop_counter(&counter);
        for (ptrdiff_t j = 0; j < wide && in->single && !narrow; j++)
            for (int i = 0; i < 2; i++) enough &= se_accept(&owner[j]->table[i], 0);
        for (ptrdiff_t j = 0; j < wide && !appends; j++)
            for (int i = 0; i < 2; i++) enough &= se_extend(&owner[j]->table[i], owner[j]->table[i].owed + (size_t)in->rows);
        if (!appends && enough) continue;
        if (enough && narrow) enough = se_append_columns(owner, in, column, wide, side, 1, 1);
        else if (enough && in->single) enough = se_append_columns(owner, in, column, wide, side, 1, 0);
        else if (enough) enough = se_append_columns(owner, in, column, wide, side, 0, 0);
        if (!enough) return 0;
        for (ptrdiff_t j = 0; j < wide; j++) {
            owner[j]->side[0] += in->columns[column + j] < in->fixed ? 0 : side[j][0];
            owner[j]->side[1] += side[j][1];
            owner[j]->side[2] += side[j][2];
        }
    }
    return 1;
}

/* Mark the room that was made for rows as owed (by 1), or no longer (by -1). */
static void se_owe_rows(se_label *labels, const se_score_rows *in, int by) {
    for (ptrdiff_t at = 0; at < 2 * in->width; at++) labels[in->columns[at / 2]].table[at % 2].owed += (size_t)(by * in->rows);
}

/* -- example by example -------------------------------------------------------------------------------------------------- */

/* Count mentions. 0 if memory ran out; some are counted then. */
static int se_append_mentions(se_label *labels, const se_mention *mentions, ptrdiff_t count) {
    se_counter counter = {0};
    int enough = 1;
    for (const se_mention *m = mentions; m < mentions + count && enough; m++) {
        se_label *l = labels + m->column;
        if (m->kind > 1) {
            l->side[m->kind - 2]++;
            continue;
        }
        se_table *t = l->table + m->kind;
        se_relieve(t, &counter);
        enough = se_accept(t, 0) && se_extend(t, 4);
        if (enough) t->fresh.doubles[t->waiting++] = m->score, l->binned++;
    }
    se_drop_counter(&counter);
    return enough;
}

/* Count examples. 0 if memory ran out; some are counted then. */
static int se_append_examples(se_label *labels, se_examples *in) {
    if (!in->listed) return se_append_rows(labels, &in->rows, 1);
    for (ptrdiff_t at = 0; at < in->count; at++)
        if (!se_append_mentions(labels, in->mentions, se_mentions_of(in, at))) return 0;
    return 1;
}

/* -- labels -------------------------------------------------------------------------------------------------------------- */

/* The number of examples that mention a label; negatives of declared labels without a score are not stored. */
static inline int64_t se_mentioned(const se_label *l) { return l->binned + l->side[0] + l->side[1] + l->side[2]; }

/* The part of the bin of a score, with the position of the bin and the residual; NULL if the bin does not exist. */
static inline se_moments *se_part_with(const se_table *t, uint64_t score, uint32_t *at, uint64_t *x) {
    const uint64_t bin = se_bin(score, x);
    *at = se_lower(t, (uint32_t)bin);
    return se_part_at(t, *at, bin);
}

/* Whether one example can be taken back from `known` labels, after which `left` examples remain; `surely` says that it was
   counted, and skips checks. Puts all scores of its labels into bins. -1 if memory ran out. */
static int se_may_leave(
    se_label *labels, ptrdiff_t known, const se_mention *mentions, ptrdiff_t count, int64_t left, int surely) {
    se_counter counter = {0};
    ptrdiff_t rest = 0; /* labels that more examples mention than are left, minus those of this example */
    int fits = left >= 0;
    for (const se_mention *m = mentions; m < mentions + count && fits > 0; m++) {
        se_label *l = labels + m->column;
        rest -= se_mentioned(l) > left;
        if (m->kind > 1) {
            fits = l->side[m->kind - 2] > 0;
            continue;
        }
        uint32_t at;
        uint64_t x;
        se_moments one = {0};
        if (!se_settle(l->table + m->kind, &counter)) {
            fits = -1;
            break;
        }
        se_compact(l->table + m->kind); /* bins that earlier calls emptied */
        const se_moments *part = se_part_with(l->table + m->kind, m->score, &at, &x);
        fits = part && !se_blank(part);
        if (!fits || surely) continue;
        se_moments without = *part;
        se_put(&one, x);
        se_leave(&without, &one);
        fits = se_possible(&without);
    }
    se_drop_counter(&counter);
    if (fits <= 0 || surely) return fits;
    for (ptrdiff_t column = 0; column < known; column++) rest += se_mentioned(labels + column) > left;
    return !rest;
}

/* Take back the mentions of one example, which se_may_leave has checked. */
static void se_leave_mentions(se_label *labels, const se_mention *mentions, ptrdiff_t count) {
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        se_label *l = labels + m->column;
        if (m->kind > 1) {
            l->side[m->kind - 2]--;
            continue;
        }
        uint32_t at;
        uint64_t x;
        se_moments one = {0}, *part = se_part_with(l->table + m->kind, m->score, &at, &x);
        se_put(&one, x);
        se_leave(part, &one);
        se_note(l->table + m->kind, at);
        l->binned--;
    }
}

/* A merge: adds all counts of `added` to `labels` or takes them back. Both may be the same. */
typedef struct {
    se_label *labels, *added;
    const int64_t *place; /* for each added label its position in `labels`; NULL: the same */
    ptrdiff_t width, known; /* numbers of added labels, and of labels */
    int64_t left; /* examples, after the merge */
    int sign;
} se_merge;

/* Put all waiting scores of the labels at `place` into bins. Returns the number of bins, or -1 if memory ran out. */
static ptrdiff_t se_settle_all(const se_merge *m) {
    se_counter counter = {0};
    ptrdiff_t bins = 0;
    int enough = 1;
    for (ptrdiff_t i = 0; i < 2 * m->width && enough; i++) {
        se_table *t = m->labels[m->place[i / 2]].table + i % 2;
        enough = se_settle(t, &counter);
        bins += t->used;
    }
    se_drop_counter(&counter);
    return enough ? bins : -1;
}

SE_INLINE se_label *se_target(const se_merge *m, ptrdiff_t column) {
    return m->labels + (m->place ? m->place[column] : column);
}

/* The next added table that holds scores, and the table to add them to. 0 after the last. `*at` is -1 at the start. */
SE_INLINE int se_next(const se_merge *m, ptrdiff_t *at, se_table **to, se_table **from) {
    while (++*at < 2 * m->width) {
        *from = m->added[*at / 2].table + *at % 2;
        if (!(*from)->used && !(*from)->waiting) continue;
        *to = se_target(m, *at / 2)->table + *at % 2;
        return 1;
    }
    return 0;
}

/* Sign 1: whether no bin will count too many scores (columns may only be joined if all scores are at most SE_MOST). Sign -1:
   whether the tables include the added ones; all scores are put into bins. -1 if memory ran out. */
static int se_merge_fits(const se_merge *m) {
    se_counter counter = {0};
    se_table *to, *from;
    int fits = 1;
    for (ptrdiff_t at = -1; fits > 0 && se_next(m, &at, &to, &from);) {
        if (m->sign > 0 && se_target(m, at / 2)->binned <= SE_MOST - m->added[at / 2].binned) continue;
        fits = se_settle(to, &counter) && se_settle(from, &counter) ? se_fits(to, from, m->sign) : -1;
    }
    se_drop_counter(&counter);
    return fits;
}

/* Whether the labels may include the counts of the added ones. -1 if memory ran out. */
static int se_merge_included(const se_merge *m) {
    int fits = 1;
    int64_t *leaving = (int64_t *)calloc((size_t)m->known, sizeof(int64_t));
    if (!leaving) return -1;
    for (ptrdiff_t column = 0; column < m->width; column++) {
        leaving[se_target(m, column) - m->labels] += se_mentioned(m->added + column);
        for (int i = 0; i < 3; i++) fits &= se_target(m, column)->side[i] >= m->added[column].side[i];
    }
    if (fits) fits = se_merge_fits(m);
    for (ptrdiff_t column = 0; column < m->known && fits > 0; column++)
        fits = se_mentioned(m->labels + column) - leaving[column] <= m->left;
    free(leaving);
    return fits;
}

/* Make room for all added scores. 0 if memory ran out. */
static int se_merge_room(const se_merge *m) {
    se_counter counter = {0};
    se_table *to, *from;
    ptrdiff_t at = -1;
    int enough = 1;
    while (enough && se_next(m, &at, &to, &from)) {
        if (to != from) se_relieve(to, &counter);
        enough = to == from ? se_settle(to, &counter) : se_admit(to, from);
    }
    for (ptrdiff_t owed = -1, last = at - !enough; se_next(m, &owed, &to, &from) && owed <= last;)
        if (to != from) to->owed -= from->waiting; /* the room stays, also where columns are joined */
    se_drop_counter(&counter);
    return enough;
}

/* Prepare to add all counts (sign 1) or to take them back (sign -1): 1; 0 if that is impossible; -1 if memory ran out. */
static ptrdiff_t se_merge_prepare(const se_merge *m) {
    if (m->sign < 0) return se_merge_included(m);
    const int fits = m->left > SE_MOST ? se_merge_fits(m) : 1;
    return fits <= 0 || se_merge_room(m) ? fits : -1;
}

/* Commit a prepared merge. 0 if the room was used up since, and memory ran out. */
static int se_merge_labels(const se_merge *m) {
    se_table *to, *from;
    for (ptrdiff_t at = -1; se_next(m, &at, &to, &from);)
        if (!se_unite(to, from, m->sign)) return 0;
    for (ptrdiff_t column = 0; column < m->width; column++) {
        se_target(m, column)->binned += m->sign * m->added[column].binned;
        for (int i = 0; i < 3; i++) se_target(m, column)->side[i] += m->sign * m->added[column].side[i];
    }
    return 1;
}

#endif
