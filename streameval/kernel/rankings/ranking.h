/* sr_example, sr_sink: rank the labels of examples and count them in tables, as numpy.py defines. compiled.pyx calls this.

   It does not use Python. Only true labels need a rank, so only their scores are sorted: for each distinct score, the labels
   above and at it are counted in vectors or, if there are many distinct scores, by a binary search for each label. */

#ifndef STREAMEVAL_RANKING_H
#define STREAMEVAL_RANKING_H

#include "scores.h"
#include "table.h"

SE_INLINE uint64_t sr_pack(uint64_t low, uint64_t high) { return low | high << 32; }

/* -- one example ------------------------------------------------------------------------------------------------------- */

/* The counts of a whole example: m, l, u, h, and the five last columns of `Records.rows`. */
typedef struct {
    int64_t true_, labels, unranked, masked, wrong, last, errs, missed, lead;
} sr_row;

typedef struct {
    sr_row row;
    ptrdiff_t groups;             /* with a true label */
    int64_t *above, *size, *hits; /* a, g, t of each group, best first */
    void *scores, *values;        /* of the ranked labels; of the true ones among them, sorted */
    ptrdiff_t *at, *order;        /* positions of the true labels in `scores`; their order by score */
    ptrdiff_t *group;             /* the group of each entry of `at` */
    int64_t *place;               /* canonical positions of the labels of a list */
} sr_example;

static int sr_example_init(sr_example *e, ptrdiff_t labels, ptrdiff_t trues) {
    const size_t n = (size_t)labels + 8, m = (size_t)trues + 8;
    int64_t *memory = (int64_t *)malloc((2 * n + 7 * m) * sizeof(int64_t));
    e->scores = memory;
    if (!memory) return 0;
    e->place = memory + n;
    memory += 2 * n;
    e->values = memory;
    e->at = (ptrdiff_t *)(memory + m);
    e->order = (ptrdiff_t *)(memory + 2 * m);
    e->group = (ptrdiff_t *)(memory + 3 * m);
    e->above = memory + 4 * m;
    e->size = memory + 5 * m;
    e->hits = memory + 6 * m;
    return 1;
}

/* Limits, in bytes of true labels' scores, up to which vectors were measured to be faster: SR_FEW for counting the labels
   above a score (else a binary search for each label), SR_SHORT for sorting (else Shell's sort). */
#define SR_FEW 640
#define SR_SHORT 6000

/* Count the scores that are above each of four values, and those that are not below it. */
#define SR_COUNT(NAME, ATTRIBUTE, TYPE, TALLY)                                                                        \
    ATTRIBUTE static void NAME(const TYPE *x, ptrdiff_t n, const TYPE *v, int64_t *above, int64_t *least) {           \
        TALLY a0 = 0, a1 = 0, a2 = 0, a3 = 0, e0 = 0, e1 = 0, e2 = 0, e3 = 0;                                         \
        const TYPE v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];                                                        \
        for (ptrdiff_t j = 0; j < n; j++) {                                                                           \
            const TYPE s = x[j];                                                                                      \
            a0 += s > v0;                                                                                             \
            a1 += s > v1;                                                                                             \
            a2 += s > v2;                                                                                             \
            a3 += s > v3;                                                                                             \
            e0 += s >= v0;                                                                                            \
            e1 += s >= v1;                                                                                            \
            e2 += s >= v2;                                                                                            \
            e3 += s >= v3;                                                                                            \
        }                                                                                                             \
        above[0] = a0, above[1] = a1, above[2] = a2, above[3] = a3;                                                   \
        least[0] = e0, least[1] = e1, least[2] = e2, least[3] = e3;                                                   \
    }

SR_COUNT(sr_count_plain_float, , float, int32_t)
SR_COUNT(sr_count_plain_double, , double, int64_t)
SR_COUNT(sr_count_avx2_float, SE_AVX2, float, int32_t)
SR_COUNT(sr_count_avx2_double, SE_AVX2, double, int64_t)
#define SR_CHOOSE(TYPE, level) ((level) ? sr_count_avx2_##TYPE : sr_count_plain_##TYPE)

/* Whether label a ranks better than label b if both have the same score and ties are strict. */
#define SR_LATER(a, b) (place ? place[a] > place[b] : (a) > (b))

/* Find the groups of an example from the scores `x` of its labels and the positions `at` of its `r` true ones. If `strict`,
   the label with the greater `place` ranks better of two with the same score (NULL: the later label). `sorted`: every score
   is below the one before. */
#define SR_GROUPS(NAME, TYPE)                                                                                         \
    static void NAME(                                                                                                 \
        sr_example *e, const TYPE *x, ptrdiff_t r, const int64_t *place, int strict, int sorted, int level) {         \
        TYPE *v = (TYPE *)e->values;                                                                                  \
        ptrdiff_t *at = e->at, *order = e->order, values = 0;                                                         \
        const ptrdiff_t n = (ptrdiff_t)e->row.labels;                                                                 \
        int64_t *above = e->above, *size = e->size, *hits = e->hits, before = 0;                                      \
        int tied = 0;                                                                                                 \
        e->groups = r;                                                                                                \
        if (sorted) {                                                                                                 \
            for (ptrdiff_t i = 0; i < r; i++) above[i] = at[i], size[i] = hits[i] = 1, e->group[i] = i;               \
            return;                                                                                                   \
        }                                                                                                             \
        for (ptrdiff_t i = 0; i < r; i++) v[i] = x[at[i]], order[i] = i, e->group[i] = 0;                             \
        ptrdiff_t gap = r * (ptrdiff_t)sizeof(TYPE) > SR_SHORT;                                                       \
        if (!gap) { /* its place is the number of scores above it: no branch depends on a score */                     \
            TYPE *plain = (TYPE *)hits;                                                                               \
            memcpy(plain, v, (size_t)r * sizeof(TYPE));                                                               \
            for (ptrdiff_t i = r; i & 3; i++) plain[i] = plain[r - 1];                                                \
            for (ptrdiff_t i = 0; i < r; i += 4) SR_CHOOSE(TYPE, level)(plain, r, plain + i, above + i, size + i);    \
            for (ptrdiff_t i = 0; i < r; i++) {                                                                       \
                const ptrdiff_t to = (ptrdiff_t)above[i] + e->group[above[i]]++;                                      \
                v[to] = plain[i], order[to] = i;                                                                      \
            }                                                                                                         \
        }                                                                                                             \
        while (gap && gap < r / 3) gap = 3 * gap + 1;                                                                 \
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
            e->group[order[i]] = values - 1;                                                                          \
        }                                                                                                             \
        e->groups = values;                                                                                           \
        if (values * (ptrdiff_t)sizeof(TYPE) <= SR_FEW) {                                                             \
            for (ptrdiff_t i = values; i & 3; i++) v[i] = v[values - 1];                                              \
            for (ptrdiff_t i = 0; i < values; i += 4) SR_CHOOSE(TYPE, level)(x, n, v + i, above + i, size + i);       \
            for (ptrdiff_t i = 0; i < values; i++) size[i] -= above[i];                                               \
        } else {                                                                                                      \
            memset(above, 0, (size_t)values * sizeof(int64_t));                                                       \
            memset(size, 0, (size_t)values * sizeof(int64_t));                                                        \
            for (ptrdiff_t j = 0; j < n; j++) { /* the best value that is not above the label's score */              \
                ptrdiff_t low = 0, length = values;                                                                   \
                for (ptrdiff_t half; length > 1; length -= half) {                                                    \
                    half = length / 2;                                                                                \
                    low += v[low + half - 1] > x[j] ? half : 0;                                                       \
                }                                                                                                     \
                above[low] += x[j] > v[low];                                                                          \
                size[low] += x[j] == v[low];                                                                          \
            }                                                                                                         \
            for (ptrdiff_t i = 0; i < values; i++) {                                                                  \
                above[i] += before;                                                                                   \
                before = above[i] + size[i];                                                                          \
            }                                                                                                         \
        }                                                                                                             \
        for (ptrdiff_t i = 0; strict && i < values; i++) tied |= size[i] > 1;                                         \
        if (!tied) return;                                                                                            \
        e->groups = r; /* every true label is a group of its own; sort tied ones by rank */                           \
        for (ptrdiff_t p = 1; p < r; p++) {                                                                           \
            const ptrdiff_t which = order[p];                                                                         \
            ptrdiff_t q = p;                                                                                          \
            for (; q && e->group[order[q - 1]] == e->group[which] && SR_LATER(at[which], at[order[q - 1]]); q--)      \
                order[q] = order[q - 1];                                                                              \
            order[q] = which;                                                                                         \
        }                                                                                                             \
        for (ptrdiff_t p = r - 1; p >= 0; p--) { /* from the last, so that no unread entry is overwritten */          \
            const ptrdiff_t stands = at[order[p]], group = e->group[order[p]];                                        \
            const TYPE score = x[stands];                                                                             \
            int64_t ahead = 0;                                                                                        \
            for (ptrdiff_t j = 0; place && size[group] > 1 && j < n; j++)                                             \
                ahead += x[j] == score && place[j] > place[stands];                                                   \
            for (ptrdiff_t j = stands + 1; !place && j < n; j++) ahead += x[j] == score;                              \
            above[p] = above[group] + ahead, size[p] = hits[p] = 1;                                                   \
            e->group[order[p]] = p;                                                                                   \
        }                                                                                                             \
    }

SR_GROUPS(sr_groups_float, float)
SR_GROUPS(sr_groups_double, double)

SE_INLINE void sr_summary(sr_example *e) {
    int64_t before = 0, ahead = 1;
    sr_row *row = &e->row;
    for (ptrdiff_t i = 0; i < e->groups; i++) {
        const int64_t above = e->above[i], size = e->size[i], hits = e->hits[i];
        ahead &= above == before && size == hits; /* so far all true labels are above every false one */
        before += hits;
        row->lead = ahead ? before : row->lead;
        row->wrong += hits * (above + size - before);
        row->last = above + size;
    }
    if (row->unranked) row->last = 0;
    row->errs = row->wrong > 0;
    row->missed = e->groups && (e->above[0] > 0 || e->size[0] > e->hits[0]);
}

/* -- counting in tables, and writing lists if wanted ------------------------------------------------------------------ */

typedef struct {
    int64_t *data;
    size_t used, room;
} sr_list;

/* Append room for `more` integers, and return its address. NULL if memory ran out. */
static int64_t *sr_more(sr_list *list, size_t more) {
    if (!list->data || list->used + more > list->room) {
        size_t room = 2 * (list->used + more) + 64;
        int64_t *data = (int64_t *)realloc(list->data, room * sizeof(int64_t));
        if (!data) return NULL;
        list->data = data;
        list->room = room;
    }
    list->used += more;
    return list->data + list->used - more;
}

typedef struct {
    se_sums *tables; /* groups, first and rows; NULL: examples only go to the lists */
    int64_t *mentions; /* examples that mention each column; NULL: columns go to the list `mentioned` */
    int writes;        /* 0: lists hold the last example, 1: all examples, 2: their labels, too */
    sr_list by_row, by_group, by_label, mentioned;
} sr_sink;

#define SR_ROW (sizeof(sr_row) / sizeof(int64_t)) /* integers of a row and of a group in lists */
#define SR_GROUP 5

static void sr_drop(sr_sink *sink) {
    free(sink->by_row.data);
    free(sink->by_group.data);
    free(sink->by_label.data);
    free(sink->mentioned.data);
}

/* Whether examples can have these sums: none is negative, and all are 0 if there is no example. */
SE_INLINE int sr_possible(const int64_t *sums, int count) {
    for (int i = 0; i < count; i++)
        if (sums[i] < 0 || (!sums[0] && sums[i])) return 0;
    if (count == 3) return sums[0] <= sums[1] && sums[0] <= sums[2];
    if (count == 6) return sums[3] <= sums[0] && sums[4] <= sums[0] && sums[3] <= sums[1] && (sums[3] || !sums[1]);
    return 1;
}

/* Add sums to those of a key `by` times (-1: subtract); there must be room for the key. If `tries`, change nothing and
   return whether that is possible. */
SE_INLINE int sr_enter(
    se_sums *table, const int count, uint64_t outer, uint64_t inner, const int64_t *sums, int64_t by, const int tries) {
    if (!tries) {
        int64_t *to = se_sums_at(table, outer, inner);
        for (int i = 0; i < count; i++) to[i] += by * sums[i];
        return 1;
    }
    const uint64_t *to = se_sums_find(table, outer, inner) + 2; /* zeros if the key is absent */
    int64_t after[8];
    for (int i = 0; i < count; i++) {
        if (by > 0 && (int64_t)to[i] > INT64_MAX - by * sums[i]) return 0;
        after[i] = (int64_t)to[i] - sums[i];
    }
    return by > 0 || sr_possible(after, count);
}

/* sr_enter for all sums of an example, from its row and its groups in lists. */
SE_INLINE int sr_enter_example(
    se_sums *tables, const int64_t *row, const int64_t *group, ptrdiff_t groups, int64_t by, const int tries) {
    const sr_row *of = (const sr_row *)row;
    const uint64_t outer = sr_pack((uint64_t)of->true_, (uint64_t)of->labels);
    const int64_t best[1] = {1}, all[6] = {1, of->wrong, of->last, of->errs, of->missed, of->lead};
    int fine = 1;
    for (ptrdiff_t i = 0; i < groups; i++) /* the places are far apart: prefetch all of them first */
        se_sums_prefetch(tables, outer, sr_pack((uint64_t)group[SR_GROUP * i + 1], (uint64_t)group[SR_GROUP * i + 2]));
    if (groups)
        fine = sr_enter(tables + 1, 1, sr_pack((uint64_t)group[1], (uint64_t)group[2]), (uint64_t)group[3], best, by, tries);
    for (ptrdiff_t i = 0; fine && i < groups; i++, group += SR_GROUP) {
        const int64_t hits = group[3], sums[3] = {hits, hits * group[4], hits * hits};
        fine = sr_enter(tables, 3, outer, sr_pack((uint64_t)group[1], (uint64_t)group[2]), sums, by, tries);
    }
    return fine && sr_enter(tables + 2, 6, outer, sr_pack((uint64_t)of->unranked, (uint64_t)of->masked), all, by, tries);
}

/* sr_enter_example for all examples of the lists. If `tries`, each is tried as many times as there are examples, since all
   of them may have the same key. */
static int sr_enter_all(se_sums *tables, const sr_sink *read, int64_t by, int tries) {
    const int64_t *row = read->by_row.data, *group = read->by_group.data, *end = group + read->by_group.used;
    const int64_t rows = (int64_t)(read->by_row.used / SR_ROW);
    int fine = 1;
    for (int64_t r = 0; fine && r < rows; r++, row += SR_ROW) {
        const int64_t *start = group;
        while (group < end && group[0] == r) group += SR_GROUP;
        const ptrdiff_t groups = (group - start) / SR_GROUP;
        fine = tries ? sr_enter_example(tables, row, start, groups, by > 0 ? rows : by, 1)
                     : sr_enter_example(tables, row, start, groups, by, 0);
    }
    return fine;
}

/* Make room in all tables for further groups and examples. 0 if memory ran out. */
SE_INLINE int sr_reserve(se_sums *tables, size_t groups, size_t rows) {
    return se_sums_reserve(tables, groups) && se_sums_reserve(tables + 1, rows) && se_sums_reserve(tables + 2, rows);
}

/* Write an example, whose groups were set, to the lists, and count it if there are tables. 0 if memory ran out. */
static int sr_put_example(sr_example *e, int64_t row, sr_sink *sink) {
    sr_summary(e);
    if (!sink->writes) sink->by_row.used = sink->by_group.used = 0;
    int64_t *to = sr_more(&sink->by_row, SR_ROW), before = 0;
    int64_t *const groups = sr_more(&sink->by_group, SR_GROUP * (size_t)e->groups), *group = groups;
    if (!to || !groups) return 0;
    memcpy(to, &e->row, sizeof(sr_row));
    for (ptrdiff_t i = 0; i < e->groups; i++, group += SR_GROUP) {
        before += e->hits[i];
        group[0] = row, group[1] = e->above[i], group[2] = e->size[i], group[3] = e->hits[i], group[4] = before;
    }
    return !sink->tables || (sr_reserve(sink->tables, (size_t)e->groups, 1) &&
                             sr_enter_example(sink->tables, to, groups, e->groups, 1, 0));
}

/* Note that `examples` examples mention a column that is not declared. 0 if memory ran out. */
SE_INLINE int sr_mention(sr_sink *sink, int64_t column, int64_t examples) {
    if (sink->mentions) {
        sink->mentions[column] += examples;
        return 1;
    }
    int64_t *to = sr_more(&sink->mentioned, 1);
    if (to) *to = column;
    return to != NULL;
}

/* Write a true label to a list; `which` is its entry of `at`, -1 if it is not ranked. 0 if memory ran out. */
SE_INLINE int sr_write_label(int64_t row, int64_t column, const sr_example *e, ptrdiff_t which, sr_sink *sink) {
    int64_t *to = sr_more(&sink->by_label, 4);
    if (!to) return 0;
    to[0] = row, to[1] = column, to[2] = -1, to[3] = 0;
    if (which >= 0) to[2] = e->above[e->group[which]], to[3] = e->size[e->group[which]];
    return 1;
}

/* -- dense rows ------------------------------------------------------------------------------------------------------ */

/* Write the positions of the ones of a row; return how many. */
SE_INLINE ptrdiff_t sr_ones(const uint8_t *row, ptrdiff_t width, ptrdiff_t *at) {
    ptrdiff_t count = 0;
    for (ptrdiff_t j = 0; j < width; j += 8)
        for (uint64_t flags = se_flags(row + j, width - j) & SE_FLAGS; flags; flags &= flags - 1)
            at[count++] = j + se_first_flag(flags);
    return count;
}

/* Rank dense rows; rows with masked or unranked labels are copied without these. Returns 0 if memory ran out. */
#define SR_ROWS(NAME, TYPE, GROUPS)                                                                                   \
    static int NAME(const se_score_rows *in, int strict, int level, sr_sink *sink) {                                  \
        sr_example e;                                                                                                 \
        int fine = sr_example_init(&e, in->width, in->width);                                                         \
        for (ptrdiff_t r = 0; fine && r < in->rows; r++) {                                                            \
            const uint8_t *truth = in->true_ + r * in->width;                                                         \
            const uint8_t *ranked = in->ranked ? in->ranked + r * in->width : NULL;                                   \
            const uint8_t *mask = in->mask ? in->mask + r * in->width : NULL;                                         \
            const TYPE *x = (const TYPE *)in->scores + r * in->width;                                                 \
            ptrdiff_t trues = 0, labels = 0, masked = 0, unranked = 0;                                                \
            if (ranked || mask) {                                                                                     \
                TYPE *to = (TYPE *)e.scores;                                                                          \
                for (ptrdiff_t j = 0; j < in->width; j++) {                                                           \
                    const int known = !mask || !mask[j], scored = known && (!ranked || ranked[j]);                    \
                    masked += !known;                                                                                 \
                    unranked += known && !scored && truth[j];                                                         \
                    if (!scored) continue;                                                                            \
                    if (truth[j]) e.at[trues++] = labels;                                                             \
                    to[labels++] = x[j];                                                                              \
                }                                                                                                     \
                x = to;                                                                                               \
            } else {                                                                                                  \
                trues = sr_ones(truth, in->width, e.at);                                                              \
                labels = in->width;                                                                                   \
            }                                                                                                         \
            e.row = (sr_row){trues + unranked, labels, unranked, masked, 0, 0, 0, 0, 0};                              \
            GROUPS(&e, x, trues, NULL, strict, 0, level);                                                             \
            fine = sr_put_example(&e, r, sink);                                                                       \
            trues = 0;                                                                                                \
            for (ptrdiff_t j = 0; fine && sink->writes > 1 && j < in->width; j++)                                     \
                if (truth[j] && !(mask && mask[j]))                                                                   \
                    fine = sr_write_label(r, in->columns[j], &e, !ranked || ranked[j] ? trues++ : -1, sink);          \
        }                                                                                                             \
        free(e.scores);                                                                                               \
        return fine;                                                                                                  \
    }

SR_ROWS(sr_rows_float, float, sr_groups_float)
SR_ROWS(sr_rows_double, double, sr_groups_double)

static int sr_rank_rows(const se_score_rows *in, int strict, int level, sr_sink *sink) {
    for (ptrdiff_t j = 0; j < in->width; j++)
        if (in->columns[j] >= in->fixed && !sr_mention(sink, in->columns[j], in->rows)) return 0;
    return in->single ? sr_rows_float(in, strict, level, sink) : sr_rows_double(in, strict, level, sink);
}

/* -- lists ----------------------------------------------------------------------------------------------------------- */

#define SR_TRUE 1
#define SR_MASKED 2
#define SR_RANKED 4

/* The bits that an example has set for a column. Marks are 8 * turn + bits, so that they need no clearing. */
SE_INLINE int64_t sr_marked(int64_t *mark, int64_t fresh, int64_t column, int64_t fixed, sr_sink *sink, int *fine) {
    if (mark[column] >= fresh) return mark[column] - fresh;
    mark[column] = fresh;
    if (column >= fixed) *fine &= sr_mention(sink, column, 1);
    return 0;
}

/* Rank lists. `turn` is raised by the number of examples. Returns 0 if memory ran out. */
static int sr_rank_lists(
    const se_score_lists *in, int level, int64_t *mark, int64_t *turn, sr_sink *sink) {
    sr_example e;
    int fine = sr_example_init(&e, in->longest[SE_RANKED], in->longest[SE_TRUE]);
    double *x = (double *)e.scores;
    const int64_t *place = in->place;
    for (ptrdiff_t r = 0; fine && r < in->rows; r++) {
        const int64_t fresh = 8 * ++*turn;
        ptrdiff_t hits = 0;
        int sorted = 1;
        e.row = (sr_row){0};
        for (int64_t i = se_start(in, SE_MASKED, r); i < se_start(in, SE_MASKED, r + 1); i++) {
            const int64_t column = in->columns[SE_MASKED][i];
            e.row.masked += !sr_marked(mark, fresh, column, in->fixed, sink, &fine);
            mark[column] = fresh + SR_MASKED;
        }
        for (int64_t i = se_start(in, SE_TRUE, r); i < se_start(in, SE_TRUE, r + 1); i++) {
            const int64_t column = in->columns[SE_TRUE][i];
            if (sr_marked(mark, fresh, column, in->fixed, sink, &fine)) continue;
            mark[column] = fresh + SR_TRUE;
            e.row.true_++;
        }
        for (int64_t i = se_start(in, SE_RANKED, r); i < se_start(in, SE_RANKED, r + 1); i++) {
            const int64_t column = in->columns[SE_RANKED][i];
            const int64_t before = sr_marked(mark, fresh, column, in->fixed, sink, &fine);
            const double score = in->scores[i];
            if (before & (SR_MASKED | SR_RANKED)) continue;
            if (before & SR_TRUE) {
                mark[column] = fresh + SR_TRUE + SR_RANKED;
                e.at[hits++] = (ptrdiff_t)e.row.labels;
            }
            sorted &= !e.row.labels || score < x[e.row.labels - 1];
            if (place) e.place[e.row.labels] = place[column];
            x[e.row.labels++] = score;
        }
        e.row.unranked = e.row.true_ - hits;
        sr_groups_double(&e, x, hits, place ? e.place : NULL, place != NULL, sorted, level);
        fine = fine && sr_put_example(&e, r, sink);
        if (sink->writes < 2) continue;
        hits = 0;
        for (int64_t i = se_start(in, SE_RANKED, r); fine && i < se_start(in, SE_RANKED, r + 1); i++)
            if (mark[in->columns[SE_RANKED][i]] == fresh + SR_TRUE + SR_RANKED)
                fine = sr_write_label(r, in->columns[SE_RANKED][i], &e, hits++, sink);
        for (int64_t i = se_start(in, SE_TRUE, r); fine && i < se_start(in, SE_TRUE, r + 1); i++) {
            const int64_t column = in->columns[SE_TRUE][i];
            if (mark[column] != fresh + SR_TRUE) continue;
            mark[column] = fresh + SR_TRUE + SR_RANKED;
            fine = sr_write_label(r, column, &e, -1, sink);
        }
    }
    free(e.scores);
    return fine;
}

/* Rank lists unless `lists` is NULL, else rows; `strict` is only used for rows. */
static int sr_rank(const se_score_rows *rows, const se_score_lists *lists, int strict, int level, int64_t *mark,
                   int64_t *turn, sr_sink *sink) {
    return lists ? sr_rank_lists(lists, level, mark, turn, sink) : sr_rank_rows(rows, strict, level, sink);
}

/* -- merging ----------------------------------------------------------------------------------------------------------- */

/* Add all sums of `other` to a table, which must have room (by 1), or subtract them (by -1). If `tries`, change nothing and
   return whether that is possible. Both may be the same table. */
static int sr_merge(se_sums *table, const se_sums *other, int by, int tries) {
    const int64_t *from;
    uint64_t outer, inner;
    for (size_t at = 0; (from = se_sums_next(other, &at, &outer, &inner));)
        if (!sr_enter(table, table->sums, outer, inner, from, by, tries)) return 0;
    return 1;
}

#endif
