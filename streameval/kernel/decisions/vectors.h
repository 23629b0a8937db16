/* se_block; three kinds of vectors (words, AVX2, AVX-512), and the loops of dense_loop.h for each; dense.h calls SE_USED. */

#ifndef STREAMEVAL_VECTORS_H
#define STREAMEVAL_VECTORS_H

#include "bits.h"

/* How a block of rows is read, and where it is counted. */
typedef struct {
    ptrdiff_t ahead; /* how many rows ahead memory is prefetched; 0: not at all */
    int far;         /* whether rows are read SE_FAR_DEEP at a time, not SE_DEEP */
    int shared;      /* whether two rows of at most SE_SHARE columns share a vector */
    int bits;        /* of each part of a packed key */
    uint8_t *sums;   /* byte counters of columns, `wide` each for true, predicted, both and masked */
    ptrdiff_t wide;  /* a multiple of 64 */
    uint64_t *keys;  /* packed row keys: how many labels of each row are true, predicted, both and masked */
} se_block;

/* Compare some rows of scores with the bounds of their columns; return whether all are finite. */
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

/* Rows are prefetched at least SE_AHEAD bytes ahead, since processors do not predict steps from row to row well. Measured:
   half the time for rows of 1,000 bytes; 2,048 gains less, 8,192 no more. With AVX-512, rows of at most SE_BROAD columns
   are not prefetched, as processors predict these reads: a fifth less time. For more than SE_FAR cells of longer rows, which
   no cache holds, SE_FAR_DEEP rows at once take a quarter less time (in a cache, a tenth more). */
#define SE_BROAD 320
#define SE_AHEAD 4096
#define SE_FAR (1 << 24)
#define SE_FAR_DEEP 2

/* Ones, then zeros: a mask for the bytes of a row, where a vector reads beyond its end. */
static const uint8_t SE_EDGE[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* Each kind defines the type of a vector, the rows counted at once (SE_DEEP), the vectors of each (SE_STRIP), and the sum of
   the bytes of each 64 bits (SE_SUM). Byte counters never overflow, so whole words are added. */
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

/* Keep a loaded vector in a register: GCC would load it again for each use. */
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

/* Load two rows into one vector. */
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

/* Load the rows of bits that share a vector. */
SE_WITHIN se_512 SE_(rows_at)(const uint8_t *at, const se_bits_of *of, int side, se_512 keep, const int shifts) {
    const __m512i all = (__m512i)SE_(whole)(at), place = _mm512_loadu_si512(of->place[side]);
    const __mmask64 bytes = _mm512_test_epi8_mask((__m512i)keep, (__m512i)keep);
    if (!shifts) return (se_512)_mm512_maskz_permutexvar_epi8(bytes, place, all);
    const __m512i by = _mm512_loadu_si512(of->shift[side]), words = _mm512_permutexvar_epi8(place, all);
    const __m512i next = _mm512_permutexvar_epi8(_mm512_add_epi8(place, _mm512_set1_epi8(SE_WORD)), all);
    return keep & (se_512)_mm512_or_si512(
        _mm512_srlv_epi64(words, by), _mm512_sllv_epi64(next, _mm512_sub_epi64(_mm512_set1_epi64(64), by)));
}

/* Convert the chunk that begins with a row from bytes to bits, in `copy`; `seen` becomes 2 if a byte is not 0 or 1. */
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

/* Add up the 64-bit sums of each row, of two vectors of `together` rows each. */
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

/* Whether this machine has vectors of this many columns; 8 are the portable words. */
static int se_has(int vector) {
#ifdef SE_X86
    if (vector == 64) return se_has_avx512();
    if (vector == 32) return se_has_avx2();
#endif
    return vector == SE_WORD;
}

/* Call a function of the kind of vectors in use. */
#ifdef SE_X86
#define SE_USED(vector, name, ...)                                                                                     \
    ((vector) == 64 ? se_avx512_##name(__VA_ARGS__)                                                                    \
                    : (vector) == 32 ? se_avx2_##name(__VA_ARGS__) : se_words_##name(__VA_ARGS__))
#else
#define SE_USED(vector, name, ...) ((void)(vector), se_words_##name(__VA_ARGS__))
#endif

#endif
