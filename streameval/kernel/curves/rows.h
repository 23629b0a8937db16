/* Scores of rows and of lists, counted by label; and one example counted or taken back. */

#ifndef STREAMEVAL_ROWS_H
#define STREAMEVAL_ROWS_H

#include "scores.h"
#include "settle.h"

/* -- rows of scores ------------------------------------------------------------------------------------------------------ */

#define SE_DEEP_TILE 128
#define SE_WIDE_TILE 16

/* Of how many cells of a row nothing is appended; they are counted by side. */
static inline int se_unscored(const se_score_rows *in, ptrdiff_t at, int64_t side[3]) {
    if (in->mask && in->mask[at]) side[2]++;
    else if (in->ranked && !in->ranked[at]) side[in->true_[at] & 1]++;
    else return 0;
    return 1;
}

typedef union {
    float *scores;
    uint64_t *keys;
} se_end;

/* Append the scores of a few columns, floats if `single`, which is a constant. */
SE_INLINE int se_append_columns(se_label **labels, const se_score_rows *in, ptrdiff_t column, ptrdiff_t wide,
                                int64_t (*side)[3], const int single) {
    const int some = in->mask || in->ranked, first = single ? SE_FLOATS : 0, last = single ? SE_FLOATS : 1;
    for (ptrdiff_t row = 0; row < in->rows; row += SE_DEEP_TILE) {
        const ptrdiff_t deep = in->rows - row < SE_DEEP_TILE ? in->rows - row : SE_DEEP_TILE;
        se_end end[SE_WIDE_TILE][2][SE_RUNS];
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                /* Most are negative: room for all of a batch at once. */
                const ptrdiff_t ahead = single && !i && in->rows - row < 4096 ? in->rows - row : deep;
                for (int run = first; run <= last; run++) {
                    se_table *t = &labels[j]->table[i];
                    const se_run *to = &t->fresh[run];
                    if (to->room - to->used < (size_t)deep && !se_extend(t, run, (size_t)ahead)) return 0;
                    if (single) end[j][i][run].scores = to->scores + to->used;
                    else end[j][i][run].keys = to->keys + to->used;
                }
            }
        }
        for (ptrdiff_t at = row * in->width + column; at < (row + deep) * in->width; at += in->width) {
            for (ptrdiff_t j = 0; j < wide; j++) {
                if (some && se_unscored(in, at + j, side[j])) continue;
                se_end *to = end[j][in->true_[at + j] & 1];
                if (single) {
                    *to[SE_FLOATS].scores++ = ((const float *)in->scores)[at + j];
                } else {
                    uint64_t x;
                    const uint32_t bin = se_bin(se_bits_of_double((const double *)in->scores + at + j), &x);
                    *to[x & 1].keys++ = se_key(bin, x);
                }
            }
        }
        for (ptrdiff_t j = 0; j < wide; j++) {
            for (int i = 0; i < 2; i++) {
                for (int run = first; run <= last; run++) {
                    se_run *to = &labels[j]->table[i].fresh[run];
                    const se_end stop = end[j][i][run];
                    const size_t used = (size_t)(single ? stop.scores - to->scores : stop.keys - to->keys);
                    labels[j]->binned += (int64_t)(used - to->used);
                    to->used = used;
                }
            }
        }
    }
    return 1;
}

/* Append the scores of all rows. Returns how many, or -1 if memory ran out; some are appended then. */
static int64_t se_append_rows(se_label *labels, const se_score_rows *in) {
    se_counter counter = {0};
    int64_t added = in->rows * in->width;
    for (ptrdiff_t column = 0; column < in->width && in->rows; column += SE_WIDE_TILE) {
        const ptrdiff_t wide = in->width - column < SE_WIDE_TILE ? in->width - column : SE_WIDE_TILE;
        se_label *owner[SE_WIDE_TILE];
        int64_t side[SE_WIDE_TILE][3] = {{0}};
        for (ptrdiff_t j = 0; j < wide; j++) {
            owner[j] = labels + in->columns[column + j];
            for (int i = 0; i < 2; i++) se_relieve(&owner[j]->table[i], &counter);
        }
        se_drop_counter(&counter);
        if (in->single ? !se_append_columns(owner, in, column, wide, side, 1)
                       : !se_append_columns(owner, in, column, wide, side, 0))
            return -1;
        for (ptrdiff_t j = 0; j < wide; j++) {
            owner[j]->side[0] += in->columns[column + j] < in->fixed ? 0 : side[j][0];
            owner[j]->side[1] += side[j][1];
            owner[j]->side[2] += side[j][2];
            added -= side[j][0] + side[j][1] + side[j][2];
        }
    }
    return added;
}

/* -- example by example -------------------------------------------------------------------------------------------------- */

/* What an example has of a label. Kinds: 0 and 1 a score, 2 and 3 no score, each negative and positive; 4 masked. */
typedef struct {
    uint64_t residual;
    int64_t column;
    uint32_t bin;
    int kind;
} se_mention;

/* The mentions of a row, one for each of its columns. */
static ptrdiff_t se_mentions_of_row(const se_score_rows *in, ptrdiff_t row, se_mention *out) {
    for (ptrdiff_t j = 0; j < in->width; j++) {
        const ptrdiff_t at = row * in->width + j;
        const int ranked = !in->ranked || in->ranked[at];
        out[j].column = in->columns[j];
        out[j].kind = in->mask && in->mask[at] ? 4 : (ranked ? 0 : 2) + (in->true_[at] & 1);
        if (out[j].kind < 2)
            out[j].bin = se_bin(in->single ? se_bits_of_float((const float *)in->scores + at)
                                           : se_bits_of_double((const double *)in->scores + at), &out[j].residual);
    }
    return in->width;
}

/* The mentions of one example of lists, of distinct columns. Marks tell what it has mentioned: 4 * turn + (1 true,
   2 done), so that they need no clearing. */
static ptrdiff_t se_mentions_of_lists(
    const se_score_lists *in, ptrdiff_t row, int64_t turn, int64_t *mark, se_mention *out) {
    const int64_t fresh = 4 * turn, *masked = in->columns[SE_MASKED], *true_ = in->columns[SE_TRUE];
    const int64_t *ranked = in->columns[SE_RANKED];
    ptrdiff_t count = 0;
    for (int64_t i = se_start(in, SE_MASKED, row); i < se_start(in, SE_MASKED, row + 1); i++) {
        if (mark[masked[i]] >= fresh) continue;
        mark[masked[i]] = fresh + 2;
        out[count].column = masked[i];
        out[count++].kind = 4;
    }
    for (int64_t i = se_start(in, SE_TRUE, row); i < se_start(in, SE_TRUE, row + 1); i++)
        if (mark[true_[i]] < fresh) mark[true_[i]] = fresh + 1;
    for (int64_t i = se_start(in, SE_RANKED, row); i < se_start(in, SE_RANKED, row + 1); i++) {
        const int64_t seen = mark[ranked[i]];
        if (seen == fresh + 2) continue;
        mark[ranked[i]] = fresh + 2;
        out[count].column = ranked[i];
        out[count].kind = seen == fresh + 1;
        out[count].bin = se_bin(se_bits_of_double(in->scores + i), &out[count].residual);
        count++;
    }
    for (int64_t i = se_start(in, SE_TRUE, row); i < se_start(in, SE_TRUE, row + 1); i++) {
        if (mark[true_[i]] != fresh + 1) continue;
        mark[true_[i]] = fresh + 2;
        out[count].column = true_[i];
        out[count++].kind = 3;
    }
    return count;
}

SE_INLINE se_table *se_table_of(se_label *labels, const se_mention *m) { return &labels[m->column].table[m->kind]; }

/* Where a mention without a score is counted; NULL where that is derived, as negatives of declared labels are. */
SE_INLINE int64_t *se_side_of(se_label *labels, const se_mention *m, int64_t fixed) {
    return m->kind > 2 || m->column >= fixed ? &labels[m->column].side[m->kind - 2] : NULL;
}

/* In how many examples a label is mentioned, where that is not derived. */
static inline int64_t se_mentioned(const se_label *l) { return l->binned + l->side[0] + l->side[1] + l->side[2]; }

/* Make room for mentions, which is owed until they come or do not. 0 if memory ran out; then nothing is owed. */
static int se_make_room(se_label *labels, const se_mention *mentions, ptrdiff_t count) {
    se_counter counter = {0};
    for (const se_mention *m = mentions; m < mentions + count; m++)
        if (m->kind < 2) se_relieve(se_table_of(labels, m), &counter);
    se_drop_counter(&counter);
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        if (m->kind > 1) continue;
        const se_run *run = &se_table_of(labels, m)->fresh[m->residual & 1];
        if (!se_extend(se_table_of(labels, m), m->residual & 1, run->room < 4 ? 4 : run->owed + 1)) return 0;
    }
    for (const se_mention *m = mentions; m < mentions + count; m++)
        if (m->kind < 2) se_table_of(labels, m)->fresh[m->residual & 1].owed++;
    return 1;
}

static void se_leave_room(se_label *labels, const se_mention *mentions, ptrdiff_t count) {
    for (const se_mention *m = mentions; m < mentions + count; m++)
        if (m->kind < 2) se_table_of(labels, m)->fresh[m->residual & 1].owed--;
}

/* Count mentions for which there is room. 0 if it was used up meanwhile, and memory ran out. */
static int se_append_mentions(se_label *labels, const se_mention *mentions, ptrdiff_t count, int64_t fixed) {
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        if (m->kind < 2) {
            se_run *run = &se_table_of(labels, m)->fresh[m->residual & 1];
            if (!se_extend(se_table_of(labels, m), m->residual & 1, 1)) return 0;
            run->keys[run->used++] = se_key(m->bin, m->residual);
            run->owed--;
            labels[m->column].binned++;
        } else if (se_side_of(labels, m, fixed)) {
            ++*se_side_of(labels, m, fixed);
        }
    }
    return 1;
}

/* Whether no bin counts too many scores once mentions are added. -1 if memory ran out. */
static int se_can_count(se_label *labels, const se_mention *mentions, ptrdiff_t count) {
    se_counter counter = {0};
    int fits = 1;
    for (const se_mention *m = mentions; m < mentions + count && fits > 0; m++) {
        if (m->kind > 1 || labels[m->column].binned < SE_MOST) continue;
        fits = se_settle(se_table_of(labels, m), &counter) ? 1 : -1;
        const se_moments *part = fits > 0 ? se_seek(se_table_of(labels, m), m->bin) : NULL;
        if (part && part->head >> 20 == SE_MOST) fits = 0;
    }
    se_drop_counter(&counter);
    return fits;
}

/* Whether an example can be taken back: whether what remains could be counted of `left` examples. -1 if memory ran out.
   The bins of its scores hold all scores then. */
static int se_counted(
    se_label *labels, ptrdiff_t width, const se_mention *mentions, ptrdiff_t count, int64_t fixed, int64_t left) {
    se_counter counter = {0};
    int enough = 1;
    ptrdiff_t in_all = 0; /* labels that every example so far mentions: this one has to mention them as well */
    for (const se_mention *m = mentions; m < mentions + count && enough; m++)
        enough = m->kind > 1 || se_settle(se_table_of(labels, m), &counter);
    se_drop_counter(&counter);
    if (!enough) return -1;
    if (left < 0) return 0;
    for (ptrdiff_t j = 0; j < width; j++) in_all += se_mentioned(labels + j) > left;
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        if (m->kind < 2) {
            const se_moments *part = se_seek(se_table_of(labels, m), m->bin);
            if (!part || se_blank(part)) return 0;
            se_moments rest = *part;
            se_drop(&rest, m->residual);
            if (!se_possible(&rest)) return 0;
        } else if (!se_side_of(labels, m, fixed)) {
            continue;
        } else if (*se_side_of(labels, m, fixed) < 1) {
            return 0;
        }
        in_all -= se_mentioned(labels + m->column) > left;
    }
    return !in_all;
}

/* Take back an example that was counted. */
static void se_take_back(se_label *labels, const se_mention *mentions, ptrdiff_t count, int64_t fixed) {
    for (const se_mention *m = mentions; m < mentions + count; m++) {
        if (m->kind < 2) {
            se_moments *part = se_seek(se_table_of(labels, m), m->bin);
            if (!part) continue;
            se_count_score(se_table_of(labels, m), part, m->residual, -1);
            labels[m->column].binned--;
        } else if (se_side_of(labels, m, fixed)) {
            --*se_side_of(labels, m, fixed);
        }
    }
}

#endif
