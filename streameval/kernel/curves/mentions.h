/* se_examples: yields the mentions of examples with scores, one by one. Read by rows.h (bins) and weighing.h (weights). */

#ifndef STREAMEVAL_MENTIONS_H
#define STREAMEVAL_MENTIONS_H

#include "bins.h"
#include "scores.h"

/* The bits of a score as a double. */
SE_INLINE uint64_t se_score_bits(const se_score_rows *in, ptrdiff_t at, const int single) {
    return single ? se_bits_of_float((const float *)in->scores + at)
                  : se_bits_of_double((const double *)in->scores + at);
}

/* Kinds of mentions: 0 and 1 a negative and a positive with a score, 2 and 3 without a score; 4 masked. */

/* The mentions of the first row, except negatives of declared labels without a score, which readers derive. */
static ptrdiff_t se_mentions_of_row(const se_score_rows *in, se_mention *out) {
    ptrdiff_t count = 0;
    for (ptrdiff_t j = 0; j < in->width; j++) {
        const int kind = in->mask && in->mask[j] ? 4 : 2 * (in->ranked && !in->ranked[j]) + (in->true_[j] & 1);
        if (kind != 2 || in->columns[j] >= in->fixed)
            out[count++] = (se_mention){kind < 2 ? se_score_bits(in, j, in->single) : 0, in->columns[j], kind};
    }
    return count;
}

/* The mentions of one example of lists. */
static ptrdiff_t se_mentions_of_lists(
    const se_score_lists *in, ptrdiff_t row, int64_t *mark, int64_t *turn, se_mention *out) {
    const ptrdiff_t count = se_mentions_in(in, row, mark, turn, out);
    for (se_mention *m = out; m < out + count; m++) {
        const int scored = m->kind >> SE_RANKED & 1, masked = m->kind >> SE_MASKED & 1;
        m->score = scored ? se_bits_of_double(in->scores + m->score) : 0;
        m->kind = masked ? 4 : scored ? m->kind & 1 : 3;
    }
    return count;
}

/* Examples as rows or, if `listed`, as lists; their mentions are read one example after the other. */
typedef struct {
    se_score_rows rows;
    se_score_lists lists;
    int64_t *mark, turn; /* see `se_mentions_in` */
    ptrdiff_t count;
    int listed;
    se_mention *mentions; /* of the last example read */
} se_examples;

/* Read the mentions of an example; return how many. */
static ptrdiff_t se_mentions_of(se_examples *in, ptrdiff_t example) {
    if (in->listed) return se_mentions_of_lists(&in->lists, example, in->mark, &in->turn, in->mentions);
    se_score_rows row = in->rows;
    const ptrdiff_t at = example * row.width;
    row.scores = (const char *)row.scores + at * (row.single ? 4 : 8);
    row.true_ += at;
    row.ranked += row.ranked ? at : 0;
    row.mask += row.mask ? at : 0;
    return se_mentions_of_row(&row, in->mentions);
}

#endif
