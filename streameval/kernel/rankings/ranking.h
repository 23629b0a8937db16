/* The loops of rankings, in C: what each computes is said in numpy.py.

   Nothing here knows of Python. Only true labels need a rank, so nothing is sorted but their scores: for each distinct
   one, the labels above and at it are counted in wide vectors, or, where there are many, by a binary search per label. */

#ifndef STREAMEVAL_RANKING_H
#define STREAMEVAL_RANKING_H

#include "table.h"

SE_INLINE uint64_t sr_pack(uint64_t low, uint64_t high) { return low | high << 32; }

/* -- one example ------------------------------------------------------------------------------------------------------- */

/* The tie groups that hold a true label, best first, and what else is counted of an example. */
typedef struct {
    ptrdiff_t true_, labels, unranked, masked; /* m, l, u, h */
    ptrdiff_t groups;
    int64_t *above, *size, *hits; /* a, g, t of each group */
    int64_t wrong, last, lead;
} sr_example;

typedef struct {
    void *scores, *values;     /* of the labels that take part; of the true ones among them, sorted */
    ptrdiff_t *at, *order;     /* where the true labels stand in `scores`; their order by score */
    ptrdiff_t *group;          /* the group of each entry of `at` */
    int64_t *place;            /* canonical positions of the labels of a list */
    int64_t *tied;             /* the labels of one tie group */
    int64_t *above, *size, *hits;
    void *memory;
} sr_scratch;

static int sr_scratch_init(sr_scratch *s, ptrdiff_t labels, ptrdiff_t trues) {
    size_t n = (size_t)labels + 8, m = (size_t)trues + 8;
    int64_t *memory = (int64_t *)malloc((3 * n + 7 * m) * sizeof(int64_t));
    s->memory = memory;
    if (!memory) return 0;
    s->scores = memory;
    s->place = memory + n;
    s->tied = memory + 2 * n;
    memory += 3 * n;
    s->values = memory;
    s->at = (ptrdiff_t *)(memory + m);
    s->order = (ptrdiff_t *)(memory + 2 * m);
    s->group = (ptrdiff_t *)(memory + 3 * m);
    s->above = memory + 4 * m;
    s->size = memory + 5 * m;
    s->hits = memory + 6 * m;
    return 1;
}

/* Up to here counting in vectors is quicker than a binary search per label: measured, in compared scores per label. */
#ifndef SR_FEW
#define SR_FEW 160
#endif

static int sr_descending(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a < b) - (a > b);
}

/* 0 for the portable loops, 1 for AVX2 (AVX-512 was no quicker). */
static int sr_level(void) {
#ifdef SE_X86
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? 1 : 0;
#else
    return 0;
#endif
}

/* How many of the scores are above each of four values, and how many at least as high. */
#define SR_COUNT_BODY(TYPE, TALLY)                                                                                    \
    TALLY a0 = 0, a1 = 0, a2 = 0, a3 = 0, e0 = 0, e1 = 0, e2 = 0, e3 = 0;                                             \
    const TYPE v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];                                                            \
    for (ptrdiff_t j = 0; j < n; j++) {                                                                               \
        const TYPE s = x[j];                                                                                          \
        a0 += s > v0;                                                                                                 \
        a1 += s > v1;                                                                                                 \
        a2 += s > v2;                                                                                                 \
        a3 += s > v3;                                                                                                 \
        e0 += s >= v0;                                                                                                \
        e1 += s >= v1;                                                                                                \
        e2 += s >= v2;                                                                                                \
        e3 += s >= v3;                                                                                                \
    }                                                                                                                 \
    above[0] = a0, above[1] = a1, above[2] = a2, above[3] = a3;                                                       \
    least[0] = e0, least[1] = e1, least[2] = e2, least[3] = e3;

#define SR_COUNT(NAME, ATTRIBUTE, TYPE, TALLY)                                                                        \
    ATTRIBUTE static void NAME(const TYPE *x, ptrdiff_t n, const TYPE *v, int64_t *above, int64_t *least) {           \
        SR_COUNT_BODY(TYPE, TALLY)                                                                                    \
    }

SR_COUNT(sr_count_plain_float, , float, int32_t)
SR_COUNT(sr_count_plain_double, , double, int64_t)
#ifdef SE_X86
SR_COUNT(sr_count_avx2_float, __attribute__((target("avx2"))), float, int32_t)
SR_COUNT(sr_count_avx2_double, __attribute__((target("avx2"))), double, int64_t)
#define SR_CHOOSE(TYPE, level) ((level) ? sr_count_avx2_##TYPE : sr_count_plain_##TYPE)
#else
#define SR_CHOOSE(TYPE, level) ((void)(level), sr_count_plain_##TYPE)
#endif

/* Find the groups of an example from the scores `x` of its `n` labels and where `r` true ones stand among them.
   `place` says which of two labels with the same score ranks better (NULL: the later); only used where `strict`.
   `sorted`: every score is below the one before. */
#define SR_GROUPS(NAME, TYPE)                                                                                         \
    static void NAME(sr_example *e, sr_scratch *s, const TYPE *x, ptrdiff_t n, ptrdiff_t r, const int64_t *place,     \
                     int strict, int sorted, int level) {                                                             \
        TYPE *v = (TYPE *)s->values;                                                                                  \
        ptrdiff_t *order = s->order, values = 0;                                                                      \
        int64_t *above = s->above, *size = s->size, *hits = s->hits;                                                  \
        e->above = above, e->size = size, e->hits = hits;                                                             \
        e->groups = r;                                                                                                \
        if (sorted) {                                                                                                 \
            for (ptrdiff_t i = 0; i < r; i++) above[i] = s->at[i], size[i] = hits[i] = 1, s->group[i] = i;            \
            return;                                                                                                   \
        }                                                                                                             \
        for (ptrdiff_t i = 0; i < r; i++) order[i] = i, v[i] = x[s->at[i]];                                           \
        ptrdiff_t gap = 1;                                                                                            \
        while (gap < r / 3) gap = 3 * gap + 1;                                                                        \
        for (; gap > 0; gap /= 3) {                                                                                   \
            for (ptrdiff_t i = gap; i < r; i++) {                                                                     \
                const TYPE value = v[i];                                                                              \
                const ptrdiff_t which = order[i];                                                                     \
                ptrdiff_t j = i;                                                                                      \
                for (; j >= gap && v[j - gap] < value; j -= gap) v[j] = v[j - gap], order[j] = order[j - gap];        \
                v[j] = value, order[j] = which;                                                                       \
            }                                                                                                         \
        }                                                                                                             \
        for (ptrdiff_t i = 0; i < r; i++) { /* distinct values, and how many true labels have each */                 \
            if (!values || v[values - 1] != v[i]) v[values] = v[i], hits[values] = 0, values++;                       \
            hits[values - 1]++;                                                                                       \
            s->group[order[i]] = values - 1;                                                                          \
        }                                                                                                             \
        e->groups = values;                                                                                           \
        if (values <= SR_FEW) {                                                                                       \
            for (ptrdiff_t i = values; i & 3; i++) v[i] = v[values - 1];                                              \
            for (ptrdiff_t i = 0; i < values; i += 4) SR_CHOOSE(TYPE, level)(x, n, v + i, above + i, size + i);       \
            for (ptrdiff_t i = 0; i < values; i++) size[i] -= above[i];                                               \
        } else {                                                                                                      \
            memset(above, 0, (size_t)values * sizeof(int64_t));                                                       \
            memset(size, 0, (size_t)values * sizeof(int64_t));                                                        \
            int64_t before = 0;                                                                                       \
            for (ptrdiff_t j = 0; j < n; j++) { /* the best value that the label does not rank behind */              \
                const TYPE score = x[j];                                                                              \
                ptrdiff_t low = 0, length = values;                                                                   \
                while (length > 1) {                                                                                  \
                    const ptrdiff_t half = length / 2;                                                                \
                    low += v[low + half - 1] > score ? half : 0;                                                      \
                    length -= half;                                                                                   \
                }                                                                                                     \
                const int behind = v[low] > score, at = v[low] == score;                                              \
                above[low] += !behind && !at;                                                                         \
                size[low] += at;                                                                                      \
            }                                                                                                         \
            for (ptrdiff_t i = 0; i < values; i++) {                                                                  \
                above[i] += before;                                                                                   \
                before = above[i] + size[i];                                                                          \
            }                                                                                                         \
        }                                                                                                             \
        if (!strict) return;                                                                                          \
        /* Every true label is a group of its own, from the last on so that nothing unread is overwritten. */         \
        e->groups = r;                                                                                                \
        ptrdiff_t to = r;                                                                                             \
        for (ptrdiff_t i = values - 1; i >= 0; i--) {                                                                 \
            const int64_t first = above[i], members = size[i], mine = hits[i];                                        \
            to -= (ptrdiff_t)mine;                                                                                    \
            if (members == 1) {                                                                                       \
                above[to] = first, size[to] = hits[to] = 1;                                                           \
                continue;                                                                                             \
            }                                                                                                         \
            ptrdiff_t seen = 0;                                                                                       \
            for (ptrdiff_t j = n - 1; j >= 0; j--)                                                                    \
                if (x[j] == v[i]) s->tied[seen++] = place ? place[j] : j;                                             \
            if (place) qsort(s->tied, (size_t)seen, sizeof(int64_t), sr_descending);                                  \
            /* The true labels of the group stand in order[to ... to + mine]; in order of their ranks they are */     \
            /* reached in one walk over both. */                                                                      \
            for (ptrdiff_t p = to; p < to + mine; p++) { /* insertion by position, best first */                      \
                const ptrdiff_t which = order[p];                                                                     \
                const int64_t mark = place ? place[s->at[which]] : s->at[which];                                      \
                ptrdiff_t q = p;                                                                                      \
                while (q > to && (place ? place[s->at[order[q - 1]]] : s->at[order[q - 1]]) < mark) {                 \
                    order[q] = order[q - 1];                                                                          \
                    q--;                                                                                              \
                }                                                                                                     \
                order[q] = which;                                                                                     \
            }                                                                                                         \
            ptrdiff_t rank = 0;                                                                                       \
            for (ptrdiff_t p = to; p < to + mine; p++) {                                                              \
                const ptrdiff_t stands = s->at[order[p]];                                                             \
                while (s->tied[rank] != (place ? place[stands] : stands)) rank++;                                     \
                above[p] = first + rank, size[p] = hits[p] = 1;                                                       \
            }                                                                                                         \
        }                                                                                                             \
        for (ptrdiff_t p = 0; p < r; p++) s->group[order[p]] = p;                                                     \
    }

SR_GROUPS(sr_groups_float, float)
SR_GROUPS(sr_groups_double, double)

/* What is counted of a whole example, from its groups. */
SE_INLINE void sr_summary(sr_example *e) {
    int64_t before = 0, ahead = 1;
    e->wrong = e->last = e->lead = 0;
    for (ptrdiff_t i = 0; i < e->groups; i++) {
        const int64_t above = e->above[i], size = e->size[i], hits = e->hits[i];
        ahead &= above == before;
        e->lead = ahead ? before : e->lead; /* all true labels so far stand before every false one */
        before += hits;
        ahead &= size == hits;
        e->lead = ahead ? before : e->lead;
        e->wrong += hits * (above + size - before);
        e->last = above + size;
    }
    if (e->unranked) e->last = 0;
}

/* -- where examples go: into tables, and into arrays if wanted -------------------------------------------------------  */

typedef struct {
    int64_t *data;
    size_t used, room;
} sr_list;

/* Room for `more` further integers. NULL if memory ran out. */
static int64_t *sr_more(sr_list *list, size_t more) {
    if (!list->data || list->used + more > list->room) {
        size_t room = 2 * (list->used + more) + 1024;
        int64_t *data = (int64_t *)realloc(list->data, room * sizeof(int64_t));
        if (!data) return NULL;
        list->data = data;
        list->room = room;
    }
    list->used += more;
    return list->data + list->used - more;
}

typedef struct {
    se_sums *groups, *first, *rows;
    int writes; /* whether arrays are wanted too */
    sr_list by_row, by_group, by_label;
} sr_sink;

#define SR_ROW 9
#define SR_GROUP 5
#define SR_LABEL 4

static int sr_count_example(const sr_example *e, sr_sink *sink) {
    const uint64_t outer = sr_pack((uint64_t)e->true_, (uint64_t)e->labels);
    if (!se_sums_reserve(sink->groups, (size_t)e->groups) || !se_sums_reserve(sink->first, 1) || !se_sums_reserve(sink->rows, 1))
        return 0;
    int64_t before = 0;
    for (ptrdiff_t i = 0; i < e->groups; i++) /* the places are far apart: ask for all before waiting for one */
        se_sums_prefetch(sink->groups, outer, sr_pack((uint64_t)e->above[i], (uint64_t)e->size[i]));
    for (ptrdiff_t i = 0; i < e->groups; i++) {
        int64_t *sums = se_sums_at(sink->groups, outer, sr_pack((uint64_t)e->above[i], (uint64_t)e->size[i]));
        before += e->hits[i];
        sums[0] += e->hits[i];
        sums[1] += e->hits[i] * before;
        sums[2] += e->hits[i] * e->hits[i];
    }
    if (e->groups)
        se_sums_at(sink->first, sr_pack((uint64_t)e->above[0], (uint64_t)e->size[0]), (uint64_t)e->hits[0])[0]++;
    int64_t *row = se_sums_at(sink->rows, outer, sr_pack((uint64_t)e->unranked, (uint64_t)e->masked));
    row[0]++;
    row[1] += e->wrong;
    row[2] += e->last;
    row[3] += e->wrong > 0;
    row[4] += e->groups && (e->above[0] > 0 || e->size[0] > e->hits[0]);
    row[5] += e->lead;
    return 1;
}

static int sr_write_example(const sr_example *e, int64_t row, sr_sink *sink) {
    int64_t *to = sr_more(&sink->by_row, SR_ROW), before = 0;
    if (!to) return 0;
    to[0] = e->true_, to[1] = e->labels, to[2] = e->unranked, to[3] = e->masked;
    to[4] = e->wrong, to[5] = e->last, to[6] = e->wrong > 0;
    to[7] = e->groups && (e->above[0] > 0 || e->size[0] > e->hits[0]);
    to[8] = e->lead;
    to = sr_more(&sink->by_group, SR_GROUP * (size_t)e->groups);
    if (!to) return 0;
    for (ptrdiff_t i = 0; i < e->groups; i++, to += SR_GROUP) {
        before += e->hits[i];
        to[0] = row, to[1] = e->above[i], to[2] = e->size[i], to[3] = e->hits[i], to[4] = before;
    }
    return 1;
}

SE_INLINE int sr_write_label(int64_t row, int64_t column, int64_t above, int64_t size, sr_sink *sink) {
    int64_t *to = sr_more(&sink->by_label, SR_LABEL);
    if (!to) return 0;
    to[0] = row, to[1] = column, to[2] = above, to[3] = size;
    return 1;
}

/* -- dense rows -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *true_, *ranked, *mask; /* the last two may be NULL; rows follow each other without gaps */
    const int64_t *columns;
    ptrdiff_t rows, width;
} sr_matrix;

/* Where the ones of a row are; how many. */
SE_INLINE ptrdiff_t sr_ones(const uint8_t *row, ptrdiff_t width, ptrdiff_t *at) {
    ptrdiff_t count = 0, j = 0;
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; j + 8 <= width; j += 8) {
        uint64_t word;
        memcpy(&word, row + j, 8);
        for (word &= 0x0101010101010101ull; word; word &= word - 1) at[count++] = j + __builtin_ctzll(word) / 8;
    }
#endif
    for (; j < width; j++)
        if (row[j] & 1) at[count++] = j;
    return count;
}

/* Returns 0 if memory ran out. Rows with labels that do not take part are copied without them. */
#define SR_ROWS(NAME, TYPE, GROUPS)                                                                                   \
    static int NAME(const sr_matrix *in, const TYPE *scores, int strict, int level, sr_sink *sink) {                  \
        sr_scratch s;                                                                                                 \
        int fine = sr_scratch_init(&s, in->width, in->width);                                                         \
        const int copies = in->ranked || in->mask;                                                                    \
        for (ptrdiff_t r = 0; fine && r < in->rows; r++) {                                                            \
            const uint8_t *truth = in->true_ + r * in->width;                                                         \
            const uint8_t *ranked = in->ranked ? in->ranked + r * in->width : NULL;                                   \
            const uint8_t *mask = in->mask ? in->mask + r * in->width : NULL;                                         \
            const TYPE *x = scores + r * in->width;                                                                   \
            sr_example e;                                                                                             \
            ptrdiff_t trues = 0;                                                                                      \
            if (copies) {                                                                                             \
                TYPE *to = (TYPE *)s.scores;                                                                          \
                e.true_ = e.labels = e.masked = 0;                                                                    \
                for (ptrdiff_t j = 0; j < in->width; j++) {                                                           \
                    const int known = !mask || !mask[j], scored = known && (!ranked || ranked[j]);                    \
                    e.masked += !known;                                                                               \
                    e.true_ += known && truth[j];                                                                     \
                    if (!scored) continue;                                                                            \
                    if (truth[j]) s.at[trues++] = e.labels;                                                           \
                    to[e.labels++] = x[j];                                                                            \
                }                                                                                                     \
                x = to;                                                                                               \
            } else {                                                                                                  \
                trues = e.true_ = sr_ones(truth, in->width, s.at);                                                    \
                e.labels = in->width;                                                                                 \
                e.masked = 0;                                                                                         \
            }                                                                                                         \
            e.unranked = e.true_ - trues;                                                                             \
            GROUPS(&e, &s, x, e.labels, trues, NULL, strict, 0, level);                                               \
            sr_summary(&e);                                                                                           \
            fine = sr_count_example(&e, sink);                                                                        \
            if (!sink->writes) continue;                                                                              \
            fine = fine && sr_write_example(&e, r, sink);                                                             \
            trues = 0;                                                                                                \
            for (ptrdiff_t j = 0; fine && j < in->width; j++) {                                                       \
                if (!truth[j] || (mask && mask[j])) continue;                                                         \
                const int scored = !ranked || ranked[j];                                                              \
                const ptrdiff_t group = scored ? s.group[trues++] : 0;                                                \
                fine = sr_write_label(r, in->columns[j], scored ? e.above[group] : -1, scored ? e.size[group] : 0, sink); \
            }                                                                                                         \
        }                                                                                                             \
        free(s.memory);                                                                                               \
        return fine;                                                                                                  \
    }

SR_ROWS(sr_rows_float, float, sr_groups_float)
SR_ROWS(sr_rows_double, double, sr_groups_double)

/* -- lists ------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const int64_t *true_offsets, *true_columns;
    const int64_t *ranked_offsets, *ranked_columns;
    const int64_t *mask_offsets, *mask_columns; /* NULL where nothing is masked */
    const double *scores;
    const int64_t *place; /* canonical positions of columns; NULL where ties are shared */
    ptrdiff_t rows, width, fixed;
} sr_lists;

#define SR_TRUE 1
#define SR_MASKED 2
#define SR_RANKED 4

/* What an example has mentioned of a column: 8 * turn + bits, so that marks need no clearing. */
SE_INLINE int64_t sr_mention(int64_t *mark, int64_t fresh, int64_t column, int64_t fixed, int64_t *mentions) {
    if (mark[column] >= fresh) return mark[column] - fresh;
    mark[column] = fresh;
    if (column >= fixed) mentions[column]++;
    return 0;
}

static int sr_outside(const int64_t *offsets, const int64_t *columns, ptrdiff_t rows, ptrdiff_t width, ptrdiff_t *longest) {
    *longest = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        if (offsets[r + 1] - offsets[r] > *longest) *longest = offsets[r + 1] - offsets[r];
    uint64_t most = 0;
    for (int64_t i = rows ? offsets[0] : 0; i < (rows ? offsets[rows] : 0); i++)
        if ((uint64_t)columns[i] > most) most = (uint64_t)columns[i];
    return most >= (uint64_t)width && *longest > 0;
}

/* Returns 1, or 0 if memory ran out, or -2 if a column is out of range (nothing is counted then). `turn` is raised by
   the number of examples. */
static int sr_rank_lists(
    const sr_lists *in, int strict, int level, int64_t *mark, int64_t *turn, int64_t *mentions, sr_sink *sink) {
    ptrdiff_t labels, trues, masked = 0;
    if (sr_outside(in->ranked_offsets, in->ranked_columns, in->rows, in->width, &labels) ||
        sr_outside(in->true_offsets, in->true_columns, in->rows, in->width, &trues) ||
        (in->mask_offsets && sr_outside(in->mask_offsets, in->mask_columns, in->rows, in->width, &masked)))
        return -2;
    sr_scratch s;
    int fine = sr_scratch_init(&s, labels, trues);
    double *x = (double *)s.scores;
    for (ptrdiff_t r = 0; fine && r < in->rows; r++) {
        const int64_t fresh = 8 * ++*turn;
        sr_example e;
        ptrdiff_t hits = 0;
        int sorted = 1;
        e.true_ = e.labels = e.masked = 0;
        for (int64_t i = in->mask_offsets ? in->mask_offsets[r] : 0;
             i < (in->mask_offsets ? in->mask_offsets[r + 1] : 0); i++) {
            const int64_t column = in->mask_columns[i];
            e.masked += !sr_mention(mark, fresh, column, in->fixed, mentions);
            mark[column] = fresh + SR_MASKED;
        }
        for (int64_t i = in->true_offsets[r]; i < in->true_offsets[r + 1]; i++) {
            const int64_t column = in->true_columns[i];
            if (sr_mention(mark, fresh, column, in->fixed, mentions)) continue;
            mark[column] = fresh + SR_TRUE;
            e.true_++;
        }
        for (int64_t i = in->ranked_offsets[r]; i < in->ranked_offsets[r + 1]; i++) {
            const int64_t column = in->ranked_columns[i];
            const int64_t before = sr_mention(mark, fresh, column, in->fixed, mentions);
            const double score = in->scores[i];
            if (before & SR_MASKED) continue;
            if (before & SR_TRUE) {
                if (before & SR_RANKED || hits >= trues) continue; /* never, since columns are distinct */
                mark[column] = fresh + SR_TRUE + SR_RANKED;
                s.at[hits++] = e.labels;
            }
            sorted &= !e.labels || score < x[e.labels - 1];
            if (strict) s.place[e.labels] = in->place[column];
            x[e.labels++] = score;
        }
        e.unranked = e.true_ - hits;
        sr_groups_double(&e, &s, x, e.labels, hits, strict ? s.place : NULL, strict, sorted, level);
        sr_summary(&e);
        fine = sr_count_example(&e, sink);
        if (!sink->writes) continue;
        fine = fine && sr_write_example(&e, r, sink);
        hits = 0;
        for (int64_t i = in->ranked_offsets[r]; fine && i < in->ranked_offsets[r + 1]; i++) {
            const int64_t column = in->ranked_columns[i];
            if (mark[column] != fresh + SR_TRUE + SR_RANKED) continue;
            const ptrdiff_t group = s.group[hits++];
            fine = sr_write_label(r, column, e.above[group], e.size[group], sink);
        }
        for (int64_t i = in->true_offsets[r]; fine && i < in->true_offsets[r + 1]; i++) {
            const int64_t column = in->true_columns[i];
            if (mark[column] != fresh + SR_TRUE) continue;
            mark[column] = fresh + SR_TRUE + SR_RANKED;
            fine = sr_write_label(r, column, -1, 0, sink);
        }
    }
    free(s.memory);
    return fine;
}

/* -- merging ----------------------------------------------------------------------------------------------------------- */

#define SR_DONE 0
#define SR_REFUSED 2
#define SR_FULL 3

/* Whether sums can be those of examples: none is negative, and where there is no example there is nothing. */
SE_INLINE int sr_possible(const int64_t *sums, int count) {
    for (int i = 0; i < count; i++)
        if (sums[i] < 0 || (!sums[0] && sums[i])) return 0;
    if (count == 3) return sums[0] <= sums[1] && sums[0] <= sums[2];
    if (count == 6) return sums[3] <= sums[0] && sums[4] <= sums[0] && sums[3] <= sums[1] && (sums[3] || !sums[1]);
    return 1;
}

/* Whether all of `other` can be added to, or (sign -1) taken from, `table`. */
static int sr_fits(const se_sums *table, const se_sums *other, int sign) {
    int64_t after[8];
    const int64_t *from;
    uint64_t outer, inner;
    for (size_t at = 0; (from = se_sums_next(other, &at, &outer, &inner));) {
        const uint64_t *to = se_sums_find(table, outer, inner) + 2; /* zeros where the key is not */
        for (int i = 0; i < table->sums; i++) {
            const int64_t before = (int64_t)to[i];
            if (sign > 0 && before > INT64_MAX - from[i]) return SR_FULL;
            after[i] = before + sign * from[i];
        }
        if (sign < 0 && !sr_possible(after, table->sums)) return SR_REFUSED;
    }
    return SR_DONE;
}

/* Add what fits, to a table with room for it. The two may be the same. */
static void sr_merge(se_sums *table, const se_sums *other, int sign) {
    const int64_t *from;
    uint64_t outer, inner;
    for (size_t at = 0; (from = se_sums_next(other, &at, &outer, &inner));) {
        int64_t *to = se_sums_at(table, outer, inner);
        for (int i = 0; i < table->sums; i++) to[i] += sign * from[i];
    }
}

#endif
