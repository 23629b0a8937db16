/* Dense rows of 0 and 1: what a vector is on each kind of machine, and what is done with what the loops find. */

#ifndef STREAMEVAL_DENSE_H
#define STREAMEVAL_DENSE_H

#include <math.h>

#include "bits.h"
#include "counts.h"

/* Where a block of rows is counted. */
typedef struct {
    ptrdiff_t ahead; /* how many rows the one that is fetched is ahead; 0 if none is */
    int far;         /* whether rows are read SE_FAR_DEEP at a time, not SE_DEEP */
    int shared;      /* whether two rows of at most SE_SHARE columns share a vector */
    int bits;        /* of each part of a packed key */
    uint8_t *sums;   /* byte counters of columns, `wide` each for true, predicted, both and masked */
    ptrdiff_t wide;  /* a multiple of 64 */
    uint64_t *keys;  /* packed: how many labels of a row are true, predicted, both and masked */
} se_block;

/* Compare some rows of scores with the bounds of their columns; whether all are finite. */
#define SE_DECIDE(NAME, TYPE)                                                                                         \
    SE_WITHIN int NAME(                                                                                               \
        const se_scores *scores, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t columns, uint8_t *__restrict to) {        \
        const TYPE *__restrict bounds = (const TYPE *)scores->tiled;                                                  \
        int finite = 1;                                                                                               \
        for (ptrdiff_t r = 0; r < rows; r += scores->tile) {                                                          \
            const char *row = (const char *)scores->at + (start + r) * scores->stride; /* of any alignment */         \
            const ptrdiff_t cells = (rows - r < scores->tile ? rows - r : scores->tile) * columns;                    \
            for (ptrdiff_t j = 0; j < cells; j++) {                                                                   \
                TYPE score;                                                                                           \
                memcpy(&score, row + j * (ptrdiff_t)sizeof score, sizeof score);                                      \
                to[r * columns + j] = score >= bounds[j];                                                             \
                finite &= (score - score) == 0; /* not so for NaN and infinity */                                     \
            }                                                                                                         \
        }                                                                                                             \
        return finite;                                                                                                \
    }

#define SE_SHARE 16

/* Rows at least so many bytes ahead are fetched before they are needed: processors do not foresee steps from row to row
   well. Measured: half the time for rows of 1,000 bytes; 2,048 gains less, 8,192 no more. With AVX-512, rows of at most
   SE_BROAD columns are read as they stand, which processors foresee better: a fifth less time. If more than SE_FAR cells of
   longer rows are read, which no cache holds, fewer rows at once have a quarter less, where it is a tenth more in a cache. */
#define SE_BROAD 320
#define SE_AHEAD 4096
#define SE_FAR (1 << 24)
#define SE_FAR_DEEP 2

/* Ones, then zeros: what masks off the end of a row that is read beyond it. */
static const uint8_t SE_EDGE[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* What follows from what each variant says: of which type a vector is, how many rows are counted at once, how many vectors
   of each, and how to add up the bytes of each 64 bits. Bytes never overflow, so words of them are added. */
#define SE_BYTES ((int)sizeof(SE_VECTOR))
#define SE_ZERO ((SE_VECTOR){0})
#define SE_WITHIN SE_TARGET SE_INLINE
#if defined(SE_X86)
#define SE_UNROLL _Pragma("GCC unroll 4")
#define SE_UNROLL_CHUNK _Pragma("GCC unroll 16")
#define SE_FETCH_AHEAD(at, bytes) _mm_prefetch((const char *)((uintptr_t)(at) + (uintptr_t)(bytes)), _MM_HINT_T1)
#else
#define SE_UNROLL
#define SE_UNROLL_CHUNK
#define SE_FETCH_AHEAD(at, bytes) (void)(bytes)
#endif

/* -- portable: eight columns to a machine word ----------------------------------------------------------------------- */

#define SE_(name) se_words_##name
#define SE_TARGET
#define SE_VECTOR uint64_t
#define SE_DEEP 4
#define SE_STRIP 2
#define SE_SUM(a) (((a) * 0x0101010101010101ull) >> 56)

SE_WITHIN uint64_t SE_(whole)(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, SE_WORD);
    return word;
}

SE_WITHIN uint64_t SE_(begun)(const uint8_t *at, ptrdiff_t bytes, const uint8_t *end) {
    uint64_t word = 0;
    if (end - at >= SE_WORD) return SE_(whole)(at) & SE_(whole)(SE_EDGE + 32 - bytes);
    memcpy(&word, at, (size_t)bytes);
    return word;
}

SE_WITHIN void SE_(fold)(const uint64_t *totals, int vectors, uint64_t *keys) {
    for (int i = 0; i < vectors; i++) keys[i] = totals[i];
}

#include "dense_loop.h"

#ifdef SE_X86

typedef uint64_t se_256 __attribute__((vector_size(32), may_alias)), se_512 __attribute__((vector_size(64), may_alias));

/* Keep what was loaded: GCC would rather read it again wherever it is used. */
#define SE_KEEP(kind, vector) __asm__("" : kind(vector))

/* -- AVX2: thirty-two columns, or two rows of sixteen ---------------------------------------------------------------- */

#define SE_(name) se_avx2_##name
#define SE_TARGET __attribute__((target("avx2")))
#define SE_VECTOR se_256
#define SE_DEEP 4
#define SE_SHARES
#define SE_STRIP 2
#define SE_SUM(a) (se_256)_mm256_sad_epu8((__m256i)(a), _mm256_setzero_si256())

SE_WITHIN se_256 SE_(whole)(const uint8_t *at) {
    __m256i cells = _mm256_loadu_si256((const __m256i *)at);
    SE_KEEP("+x", cells);
    return (se_256)cells;
}

SE_WITHIN se_256 SE_(begun)(const uint8_t *at, ptrdiff_t bytes, const uint8_t *end) {
    if (end - at >= SE_BYTES) return SE_(whole)(at) & SE_(whole)(SE_EDGE + 32 - bytes);
    uint8_t copy[SE_BYTES] = {0};
    memcpy(copy, at, (size_t)bytes);
    return SE_(whole)(copy);
}

/* Add up the 64-bit sums of each row: of four vectors, or of the halves of two. */
SE_WITHIN void SE_(fold)(const se_256 *totals, const int vectors, uint64_t *keys) {
#define SE_PAIR(a, b) \
    (_mm256_unpacklo_epi64((__m256i)(a), (__m256i)(b)) + _mm256_unpackhi_epi64((__m256i)(a), (__m256i)(b)))
    __m256i all = SE_PAIR(totals[0], totals[1]);
    if (vectors == 4) {
        const __m256i more = SE_PAIR(totals[2], totals[3]);
        all = _mm256_permute2x128_si256(all, more, 0x20) + _mm256_permute2x128_si256(all, more, 0x31);
    }
    _mm256_storeu_si256((__m256i *)keys, all);
#undef SE_PAIR
}

/* What two rows have that share a vector. */
SE_WITHIN se_256 SE_(two)(const uint8_t *at, ptrdiff_t stride, se_256 keep) {
    const __m128i low = _mm_loadu_si128((const __m128i *)at), high = _mm_loadu_si128((const __m128i *)(at + stride));
    return keep & (se_256)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* How many rows can be read as SE_SHARE bytes. */
SE_WITHIN ptrdiff_t SE_(readable)(const se_rows *in) {
    ptrdiff_t rows = in->rows;
    while (rows && (in->true_end - (in->true_ + (rows - 1) * in->true_stride) < SE_SHARE ||
                    in->pred_end - (in->pred + (rows - 1) * in->pred_stride) < SE_SHARE ||
                    (in->masked && in->hidden_end - (in->masked + (rows - 1) * in->masked_stride) < SE_SHARE))) {
        rows--;
    }
    return rows;
}

#include "dense_loop.h"

/* -- AVX-512: sixty-four columns --------------------------------------------------------------------------------------- */

#define SE_(name) se_avx512_##name
#define SE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq")))
#define SE_VECTOR se_512
#define SE_DEEP 8
#define SE_TOGETHER
#define SE_STRIP 4
#define SE_ONES(a) (se_512)_mm512_popcnt_epi64((__m512i)(a))
#define SE_LOGIC(a, b, c, table) (se_512)_mm512_ternarylogic_epi64((__m512i)(a), (__m512i)(b), (__m512i)(c), table)
#define SE_SUM(a) (se_512)_mm512_sad_epu8((__m512i)(a), _mm512_setzero_si512())

SE_WITHIN se_512 SE_(whole)(const uint8_t *at) {
    __m512i cells = _mm512_loadu_si512(at);
    SE_KEEP("+v", cells);
    return (se_512)cells;
}

SE_WITHIN se_512 SE_(begun)(const uint8_t *at, ptrdiff_t bytes, const uint8_t *end) {
    (void)end; /* what is masked off is not read */
    return (se_512)_mm512_maskz_loadu_epi8(~0ull >> (SE_BYTES - bytes), at);
}

/* Add up the 64-bit sums of each row, of eight vectors. */
SE_WITHIN void SE_(fold)(const se_512 *totals, const int vectors, uint64_t *keys) {
#define SE_PAIR(a, b) \
    (_mm512_unpacklo_epi64((__m512i)(a), (__m512i)(b)) + _mm512_unpackhi_epi64((__m512i)(a), (__m512i)(b)))
#define SE_FOUR(a, b) (_mm512_shuffle_i64x2(a, b, 0x88) + _mm512_shuffle_i64x2(a, b, 0xDD))
    const __m512i low = SE_FOUR(SE_PAIR(totals[0], totals[1]), SE_PAIR(totals[2], totals[3]));
    const __m512i high = SE_FOUR(SE_PAIR(totals[4], totals[5]), SE_PAIR(totals[6], totals[7]));
    const __m512i all = SE_FOUR(low, high);
    (void)vectors;
    _mm512_storeu_si512(keys, all);
}

/* The rows of a vector. */
SE_WITHIN se_512 SE_(rows_at)(const uint8_t *at, const se_bits_of *of, int side, se_512 keep, const int shifts) {
    const __m512i all = (__m512i)SE_(whole)(at), place = _mm512_loadu_si512(of->place[side]);
    const __mmask64 bytes = _mm512_test_epi8_mask((__m512i)keep, (__m512i)keep);
    if (!shifts) return (se_512)_mm512_maskz_permutexvar_epi8(bytes, place, all);
    const __m512i by = _mm512_loadu_si512(of->shift[side]), words = _mm512_permutexvar_epi8(place, all);
    const __m512i next = _mm512_permutexvar_epi8(_mm512_add_epi8(place, _mm512_set1_epi8(SE_WORD)), all);
    return keep & (se_512)_mm512_or_si512(
        _mm512_srlv_epi64(words, by), _mm512_sllv_epi64(next, _mm512_sub_epi64(_mm512_set1_epi64(64), by)));
}

/* The chunk that begins with a row, if each bit is a byte; `seen` becomes 2 if one is neither 0 nor 1. */
SE_TARGET SE_APART const uint8_t *SE_(packed)(
    const se_bit_rows *in, ptrdiff_t row, ptrdiff_t left, int together, uint8_t *copy, int *seen) {
    const ptrdiff_t most = SE_CHUNK * together, cells = (left < most ? left : most) * in->stride;
    const uint8_t *at = in->at + row * in->stride;
    __m512i all = _mm512_setzero_si512();
    if (left < most) memset(copy, 0, (SE_CHUNK + 1) * SE_WIDEST);
    for (ptrdiff_t j = 0; j < cells; j += SE_BYTES) {
        const __m512i some = (__m512i)(cells - j < SE_BYTES ? SE_(begun)(at + j, cells - j, NULL) : SE_(whole)(at + j));
        const uint64_t bits = _mm512_test_epi8_mask(some, some);
        memcpy(copy + j / 8, &bits, sizeof bits);
        all = _mm512_or_si512(all, some);
    }
    if (_mm512_test_epi8_mask(all, _mm512_set1_epi8(-2))) *seen = 2;
    return copy;
}

/* Add up the sums of each row, of two vectors of so many rows. */
SE_WITHIN void SE_(fold_two)(const se_512 *totals, const int together, uint64_t *keys) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    if (together == 8) memcpy(keys, totals, 2 * SE_BYTES);
    else _mm512_storeu_si512(keys, _mm512_permutexvar_epi64(order, SE_PAIR(totals[0], totals[1])));
}
#undef SE_PAIR
#undef SE_FOUR

#include "dense_loop.h"
#endif

/* -- the variant in use ---------------------------------------------------------------------------------------------- */

/* Vectors of a block: as many as byte counters hold, of one row or two. */
#define SE_ROWS 240
#define SE_KEYS (8 * SE_ROWS)

/* Packed keys hold rows of so many columns; longer ones are counted in parts. */
#define SE_LONG 65472

#define SE_DECIDED 32768

/* Whether this machine has vectors of so many columns; 8 are the portable words. */
static int se_has(int vector) {
#ifdef SE_X86
    if (vector == 64) return se_has_avx512();
    if (vector == 32) return se_has_avx2();
#endif
    return vector == SE_WORD;
}

/* A function of the variant in use. */
#ifdef SE_X86
#define SE_USED(vector, name, ...)                                                                                     \
    ((vector) == 64 ? se_avx512_##name(__VA_ARGS__)                                                                    \
                    : (vector) == 32 ? se_avx2_##name(__VA_ARGS__) : se_words_##name(__VA_ARGS__))
#else
#define SE_USED(vector, name, ...) ((void)(vector), se_words_##name(__VA_ARGS__))
#endif

/* -- how many rows had each key ---------------------------------------------------------------------------------------- */

#define SE_PLACES 8192
#define SE_MORE_PLACES 32768

/* How many bits a part of a packed key has, of so many columns of which none is masked, or `most`. Below 112 columns, rows
   seldom have more labels than the smaller table has places for. */
SE_INLINE int se_key_bits(ptrdiff_t rows, ptrdiff_t columns, int most) {
    if (columns < 16) return columns < 8 ? 3 : 4;
    return columns < 112 || (columns < 256 && rows < SE_MORE_PLACES) ? 8 : columns < 1024 ? 10 : most;
}

/* A table pays once there are as many rows as entries to clear and to read back; a quarter of them if keys are wide. */
static int se_tally_init(se_tally *to, ptrdiff_t rows, int bits, int parts) {
    const int wide = bits == 10 || parts > 3;
    const uint32_t places = parts * bits <= 12 ? 1u << parts * bits : wide ? SE_MORE_PLACES : SE_PLACES;
    free(to->entries);
    *to = (se_tally){bits, parts, places - 1, NULL};
    if (rows < (ptrdiff_t)(places < SE_PLACES ? places : SE_PLACES) || rows > UINT32_MAX || parts * bits > 32) return 1;
    return (to->entries = (uint64_t *)calloc((size_t)to->last + 1, sizeof(uint64_t))) != NULL;
}

/* Move entries, or keys of one row each if there is no table, to the histogram. 0 if memory ran out. */
static int se_tally_move(const se_tally *from, const uint64_t *entries, size_t count, se_sums *h) {
    const int bits = from->bits, hides = from->parts > 3, counted = from->entries != NULL;
    const uint64_t field = ((uint64_t)1 << bits) - 1;
    for (size_t start = 0, end; start < count; start = end) {
        end = count - start < SE_ROWS ? count : start + SE_ROWS;
        if (!se_sums_reserve(h, end - start)) return 0;
        /* Once all places are asked for, as those of many keys are far from the processor. */
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

/* Count rows with these keys, which are overwritten. 0 if memory ran out. */
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

/* Move the table to the histogram, and make room for more keys. 0 if memory ran out. */
static int se_tally_end(se_tally *from, se_sums *h, size_t more) {
    size_t used = 0;
    for (size_t at = 0; from->entries && at <= from->last; at++) {
        from->entries[used] = from->entries[at];
        used += from->entries[used] != 0;
    }
    if (!se_sums_reserve(h, used + more)) return 0;
    se_tally_move(from, from->entries, used, h); /* which does not fail */
    free(from->entries);
    from->entries = NULL;
    return 1;
}

/* Add to the five counts of a column how often it was neither, true, predicted, both and masked. */
SE_INLINE void se_add_marginals(int64_t *cell, int64_t neither, int64_t t, int64_t p, int64_t b, int64_t m) {
    cell[0] += neither;
    cell[1] += t - b;
    cell[2] += p - b;
    cell[3] += b;
    cell[4] += m;
}

/* -- rows of bits ------------------------------------------------------------------------------------------------------ */

/* Count rows of fewer than 2**21 columns, of one order of bits, into `cells` (columns x 5) and `h`, true negatives from
   column `fixed` on. What it returns and leaves in `tally` is what `se_dense` does; a bit behind the columns is like a 2. */
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

/* -- all of it --------------------------------------------------------------------------------------------------------- */

/* Behind the last byte of the rows; with unusual strides, behind the first row, which is always readable. */
static const uint8_t *se_end(const uint8_t *first, ptrdiff_t stride, const se_rows *in) {
    return first + (stride >= in->columns ? (in->rows - 1) * stride : 0) + in->columns;
}

/* Some columns of some rows. */
static se_rows se_cut(const se_rows *in, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t column, ptrdiff_t columns) {
    se_rows part = *in;
    part.rows = in->rows - row < rows ? in->rows - row : rows;
    part.columns = in->columns - column < columns ? in->columns - column : columns;
    if (part.true_) part.true_ += row * in->true_stride + column;
    if (part.pred) part.pred += row * in->pred_stride + column;
    if (part.masked) part.masked += row * in->masked_stride + column;
    return part;
}

/* Rows whose keys do not fit into 64 bits. */
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

/* Move the byte counters to totals. Each column has several, `room` apart, where rows shared a vector. */
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
        /* Keys of some blocks at once, since after them processors no longer foresee the rows. Bytes that are neither 0 nor 1
           make wild keys. */
        if (seen > 1 || (block.keys - to->keys <= SE_KEYS - rows && start + rows < in->rows)) continue;
        if (!se_tally_add(tally, to->keys, block.keys - to->keys, h)) return -1;
        block.keys = to->keys;
    }
    return seen;
}

/* Bounds for several rows that stand close together, since a compiler takes the ends of rows one by one: for 14 columns
   that took three times as long. NULL if memory ran out. */
static void *se_tile(se_scores *scores, ptrdiff_t columns) {
    const ptrdiff_t size = columns * (scores->narrow ? 4 : 8);
    scores->tile = scores->stride == size && columns < 1024 ? 1024 / columns : 1;
    const ptrdiff_t all = scores->tile * size;
    char *bounds = (char *)malloc((size_t)all);
    if (!bounds) return NULL;
    for (ptrdiff_t j = 0; j < columns; j++) {
        const double bound = scores->bounds[scores->by * j];
        float above = (float)bound; /* decides alike: the smallest that is not below */
        if ((double)above < bound) above = nextafterf(above, INFINITY);
        if (scores->narrow) ((float *)bounds)[j] = above;
        else ((double *)bounds)[j] = bound;
    }
    for (ptrdiff_t done = size; done < all; done *= 2)
        memcpy(bounds + done, bounds, (size_t)(all - done < done ? all - done : done));
    scores->tiled = bounds;
    return bounds;
}

/* Whether rows of bytes are made bits, of which eight rows share a vector: that takes about half the time, once the rows
   pay for adding up what each of the eight has. */
static int se_packs(const se_rows *in, const se_scores *scores, int vector) {
    const int plain = !in->masked && !in->true_cells && !in->pred_cells && !scores;
    return plain && vector == SE_WIDEST && in->columns > SE_SHARE && in->columns <= SE_WIDEST && in->rows >= 512 &&
           in->rows <= UINT32_MAX && in->true_stride == in->columns && in->pred_stride == in->columns;
}

/* Count rows into `cells` (columns x 5) and `h`. Returns the union of all bytes, or something above 1 if that is above 1:
   then cells are as before, and so is `h` if it was one block, as 64 rows of 16,384 cells are; or -1 if memory ran out.
   Scores, unless NULL, take the place of `pred`; one that is not finite counts as a 2. True negatives are counted of columns from `fixed` on.
   What is not in `h` yet is in `tally`, for `se_tally_end`: nothing of fewer than 512 rows. */
static int se_dense(
    const se_rows *all, se_scores *scores, int vector, ptrdiff_t fixed, int64_t *cells, se_sums *h, se_tally *tally) {
    const ptrdiff_t columns = all->columns, wide = (columns + 63) / 64 * 64;
    if (all->bits) return se_count_bits(all->bits, all->rows, columns, vector, fixed, cells, h, tally);
    if (se_packs(all, scores, vector)) {
        const se_bit_rows sides[2] = {{all->true_, NULL, 0, columns, 0, 1}, {all->pred, NULL, 0, columns, 0, 1}};
        return se_count_bits(sides, all->rows, columns, vector, fixed, cells, h, tally);
    }
    if (columns <= SE_SHARE && vector == 64) vector = 32; /* rows that share a vector gain nothing from wider ones */
    const int made = (all->true_cells != NULL) + (scores || all->pred_cells); /* of how many sides bytes are made */
    uint64_t keys[SE_KEYS];
    se_rows in = *all;
    if (in.true_cells) in.true_stride = columns;
    if (scores || in.pred_cells) in.pred_stride = columns;
    const ptrdiff_t ahead = vector < 64 || columns > SE_BROAD ? 8 * (1 + SE_AHEAD / (8 * columns)) : 0;
    const int far = vector == 64 && columns > SE_BROAD && !made && in.rows > SE_FAR / columns;
    /* Rows of few labels have keys of few bits, so that each key can have a place of its own. */
    const int shared = vector == 32 && columns <= SE_SHARE && in.true_stride >= columns && in.pred_stride >= columns &&
                       (!in.masked || in.masked_stride >= columns);
    const int bits = !in.masked || columns < 8 ? se_key_bits(in.rows, columns, 16) : columns < 256 ? 8 : 16;
    se_block block = {ahead, far, shared, bits, NULL, wide, keys};
    ptrdiff_t rows = shared ? 2 * SE_ROWS : SE_ROWS;
    /* Bytes that are made are to stay in the first-level cache. */
    const ptrdiff_t most = made ? SE_DECIDED / made / columns : rows;
    if (rows > most) rows = most < 8 ? 8 : most / 8 * 8;
    if (rows > in.rows) rows = in.rows;
    const size_t sums = (size_t)(4 * wide), totals = (size_t)(4 * columns) * sizeof(uint64_t);
    uint8_t *memory = (uint8_t *)calloc(64 + sums + totals, 1), *bytes = NULL;
    int seen = -1;
    void *bounds = scores ? se_tile(scores, columns) : NULL;
    if (bounds || (made && !scores)) bytes = (uint8_t *)malloc((size_t)(2 * rows * columns));
    /* Predictions stand first, then truth. */
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
