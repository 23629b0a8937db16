/* The loops over dense rows, for one kind of vector: dense.h includes this once for each, after it has said what a
   vector is. Rows are taken SE_DEEP at a time, so that byte counters are read and written once for all of them.

   Returned is the union of all bytes. */

/* How many labels of a row (or of each row in a vector), from bytes that are at most 31. */
SE_WITHIN SE_VECTOR SE_(pack)(const SE_VECTOR *row, int bits, const int hides) {
    SE_VECTOR key = SE_SUM(row[0]) + (SE_SUM(row[1]) << bits) + (SE_SUM(row[2]) << 2 * bits);
    if (hides) key += SE_SUM(row[3]) << 3 * bits;
    return key;
}

/* Count one vector of cells into what is seen, into columns and into rows. */
SE_WITHIN void SE_(count)(
    SE_VECTOR a, SE_VECTOR b, SE_VECTOR m, const int hides, SE_VECTOR *seen, SE_VECTOR *column, SE_VECTOR *row) {
    *seen |= a | b;
    if (hides) {
        *seen |= m;
        a &= ~m;
        b &= ~m;
        column[3] += m;
        row[3] += m;
    }
    column[0] += a;
    column[1] += b;
    column[2] += a & b;
    row[0] += a;
    row[1] += b;
    row[2] += a & b;
}

/* A few vectors of each of a few rows, from column j on; `keys` are vectors still. */
SE_WITHIN SE_VECTOR SE_(strip)(
    const se_rows *in, ptrdiff_t r, int rows, ptrdiff_t j, const int vectors, const int hides, const se_block *to,
    SE_VECTOR *keys) {
    const int bits = to->bits;
    const ptrdiff_t ahead = SE_DEEP * (1 + SE_AHEAD / (SE_DEEP * in->columns));
    const ptrdiff_t last = in->columns - j - (vectors - 1) * SE_BYTES;
    SE_VECTOR seen = SE_ZERO, columns[SE_STRIP][4];
    for (int v = 0; v < vectors; v++) {
        for (int part = 0; part < 4; part++) columns[v][part] = SE_ZERO;
    }
    for (int i = 0; i < rows; i++) {
        const uint8_t *t = in->true_ + (r + i) * in->true_stride + j, *p = in->pred + (r + i) * in->pred_stride + j;
        const uint8_t *m = hides ? in->masked + (r + i) * in->masked_stride + j : NULL;
        SE_VECTOR row[4] = {SE_ZERO, SE_ZERO, SE_ZERO, SE_ZERO};
        SE_UNROLL
        for (int v = 0; v < vectors; v++) {
            SE_FETCH(t + v * SE_BYTES, ahead * in->true_stride);
            SE_FETCH(p + v * SE_BYTES, ahead * in->pred_stride);
            if (hides) SE_FETCH(m + v * SE_BYTES, ahead * in->masked_stride);
            const ptrdiff_t at = v * SE_BYTES, bytes = last < SE_BYTES ? last : SE_BYTES;
            if (v < vectors - 1) {
                SE_(count)(SE_(whole)(t + at), SE_(whole)(p + at), hides ? SE_(whole)(m + at) : SE_ZERO, hides, &seen,
                           columns[v], row);
            } else {
                SE_(count)(SE_(begun)(t + at, bytes, in->true_end), SE_(begun)(p + at, bytes, in->pred_end),
                           hides ? SE_(begun)(m + at, bytes, in->hidden_end) : SE_ZERO, hides, &seen, columns[v], row);
            }
        }
        keys[i] += SE_(pack)(row, bits, hides);
    }
    for (int v = 0; v < vectors; v++) {
        for (int part = 0; part < (hides ? 4 : 3); part++) {
            *(SE_VECTOR *)(to->sums + part * to->wide + j + v * SE_BYTES) += columns[v][part];
        }
    }
    return seen;
}

/* Rows of any length. */
SE_WITHIN SE_VECTOR SE_(rows)(
    const se_rows *in, ptrdiff_t r, int rows, const int hides, const se_block *to) {
    SE_VECTOR seen = SE_ZERO, totals[SE_DEEP];
    for (int i = 0; i < SE_DEEP; i++) totals[i] = SE_ZERO;
    for (ptrdiff_t j = 0, vectors; j < in->columns; j += vectors * SE_BYTES) {
        const ptrdiff_t left = (in->columns - j + SE_BYTES - 1) / SE_BYTES;
        vectors = left >= 4 && SE_STRIP >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (vectors == 4) seen |= SE_(strip)(in, r, rows, j, SE_STRIP >= 4 ? 4 : 1, hides, to, totals);
        else if (vectors == 2) seen |= SE_(strip)(in, r, rows, j, 2, hides, to, totals);
        else seen |= SE_(strip)(in, r, rows, j, 1, hides, to, totals);
    }
    SE_(fold)(totals, SE_DEEP, to->keys + r);
    return seen;
}

#ifdef SE_SHARES
/* Short rows, of which two share a vector; a multiple of SE_DEEP of them. */
SE_WITHIN SE_VECTOR SE_(narrow)(const se_rows *in, ptrdiff_t rows, const int hides, const se_block *to) {
    const int bits = to->bits;
    uint8_t bytes[SE_BYTES] = {0};
    memset(bytes, 255, (size_t)in->columns);
    memset(bytes + SE_SHARE, 255, (size_t)in->columns);
    const SE_VECTOR keep = SE_(whole)(bytes);
    SE_VECTOR seen = SE_ZERO, column[4] = {SE_ZERO, SE_ZERO, SE_ZERO, SE_ZERO}, totals[SE_DEEP / 2];
    for (ptrdiff_t r = 0; r < rows; r += SE_DEEP) {
        SE_UNROLL
        for (int i = 0; i < SE_DEEP / 2; i++) {
            const ptrdiff_t at = r + 2 * i;
            SE_VECTOR row[4] = {SE_ZERO, SE_ZERO, SE_ZERO, SE_ZERO};
            const SE_VECTOR a = SE_(two)(in->true_ + at * in->true_stride, in->true_stride, keep);
            const SE_VECTOR b = SE_(two)(in->pred + at * in->pred_stride, in->pred_stride, keep);
            const SE_VECTOR m =
                hides ? SE_(two)(in->masked + at * in->masked_stride, in->masked_stride, keep) : SE_ZERO;
            SE_(count)(a, b, m, hides, &seen, column, row);
            totals[i] = SE_(pack)(row, bits, hides);
        }
        SE_(fold)(totals, SE_DEEP / 2, to->keys + r);
    }
    for (int part = 0; part < 4; part++) *(SE_VECTOR *)(to->sums + part * to->wide) += column[part];
    return seen;
}
#endif

SE_WITHIN uint8_t SE_(block_of)(const se_rows *in, const int hides, const se_block *to) {
    uint8_t bytes[SE_BYTES], all = 0;
    SE_VECTOR seen = SE_ZERO;
    ptrdiff_t r = 0;
#ifdef SE_SHARES
    if (to->shared) r = SE_(readable)(in) / SE_DEEP * SE_DEEP;
    if (r) seen = SE_(narrow)(in, r, hides, to);
#endif
    for (; r < in->rows; r += SE_DEEP) {
        const int rows = in->rows - r < SE_DEEP ? (int)(in->rows - r) : SE_DEEP;
        seen |= SE_(rows)(in, r, rows, hides, to);
    }
    memcpy(bytes, &seen, SE_BYTES);
    for (int i = 0; i < SE_BYTES; i++) all |= bytes[i];
    return all;
}

SE_TARGET static uint8_t SE_(count_block)(const se_rows *in, const se_block *to) {
    return in->masked ? SE_(block_of)(in, 1, to) : SE_(block_of)(in, 0, to);
}

/* How many bits of each word are set. */
SE_WITHIN SE_VECTOR SE_(ones)(SE_VECTOR words) {
#ifdef SE_ONES
    return SE_ONES(words);
#endif
    words -= words >> 1 & 0x5555555555555555ull;
    words = (words & 0x3333333333333333ull) + (words >> 2 & 0x3333333333333333ull);
    return SE_SUM((words + (words >> 4)) & 0x0F0F0F0F0F0F0F0Full);
}

/* The sum of three bits, of which one is the digit: what is carried. */
SE_WITHIN SE_VECTOR SE_(add_bits)(SE_VECTOR *digit, SE_VECTOR a, SE_VECTOR b) {
    const SE_VECTOR either = *digit ^ a, carried = (*digit & a) | (either & b);
    *digit = either ^ b;
    return carried;
}

/* Of each of 64 columns in how many rows it is, whose labels are the bits of words that both sides have. At most SE_LOAD
   words to a lane; behind them are zeros up to 16 vectors. */
SE_TARGET static void SE_(sum_words)(const uint64_t *words, const uint64_t *second, ptrdiff_t rows, uint32_t *sums) {
    const ptrdiff_t lanes = SE_BYTES / SE_WORD;
    SE_VECTOR digits[8], in[16], twos[8], fours[4], eights[2], carried; /* digits of a number for each bit of a vector */
    for (int k = 0; k < 8; k++) digits[k] = SE_ZERO;
    for (ptrdiff_t row = 0; row < rows; row += 16 * lanes) {
        for (int i = 0; i < 16; i++) {
            SE_VECTOR other;
            memcpy(&in[i], words + row + i * lanes, SE_BYTES);
            memcpy(&other, second + row + i * lanes, SE_BYTES);
            in[i] &= other;
        }
        for (int i = 0; i < 8; i++) twos[i] = SE_(add_bits)(&digits[0], in[2 * i], in[2 * i + 1]);
        for (int i = 0; i < 4; i++) fours[i] = SE_(add_bits)(&digits[1], twos[2 * i], twos[2 * i + 1]);
        for (int i = 0; i < 2; i++) eights[i] = SE_(add_bits)(&digits[2], fours[2 * i], fours[2 * i + 1]);
        carried = SE_(add_bits)(&digits[3], eights[0], eights[1]);
        for (int k = 4; k < 8; k++) carried = SE_(add_bits)(&digits[k], carried, SE_ZERO);
    }
    for (int j = 0; j < 8; j++) { /* columns 8 * b + j are in the bytes b, which are added up as halves of 16 bits */
        const uint64_t low = 0x00FF00FF00FF00FFull;
        SE_VECTOR bytes = SE_ZERO;
        uint64_t lane[SE_BYTES / SE_WORD], even = 0, odd = 0;
        for (int k = 0; k < 8; k++) bytes += (digits[k] >> j & 0x0101010101010101ull) << k;
        memcpy(lane, &bytes, SE_BYTES);
        for (ptrdiff_t i = 0; i < lanes; i++) even += lane[i] & low, odd += lane[i] >> 8 & low;
        for (int b = 0; b < 8; b += 2, even >>= 16, odd >>= 16) {
            sums[8 * b + j] += (uint32_t)(even & 0xFFFF);
            sums[8 * b + 8 + j] += (uint32_t)(odd & 0xFFFF);
        }
    }
}

/* Add to packed keys how many bits of words are set, of those of true labels, of predicted ones, and of both. Behind the
   words are zeros up to one vector. */
SE_TARGET static void SE_(word_keys)(const uint64_t *t, const uint64_t *p, ptrdiff_t rows, int bits, uint64_t *keys) {
    for (ptrdiff_t r = 0; r < rows; r += SE_BYTES / SE_WORD) {
        SE_VECTOR a, b, key;
        memcpy(&a, t + r, SE_BYTES);
        memcpy(&b, p + r, SE_BYTES);
        memcpy(&key, keys + r, SE_BYTES);
        key += SE_(ones)(a) + (SE_(ones)(b) << bits) + (SE_(ones)(a & b) << 2 * bits);
        memcpy(keys + r, &key, SE_BYTES);
    }
}

/* Count a block of rows of bits into `sums` (3 x columns and room for 64 more) and packed keys. What is set behind the columns. */
SE_TARGET static uint64_t SE_(bit_block)(
    const se_bit_rows *true_, const se_bit_rows *pred, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t columns,
    uint32_t *sums, uint64_t *keys) {
    const ptrdiff_t wide = columns + 64, step = se_bit_step(true_, pred);
    uint64_t t[SE_BIT_ROWS(SE_BYTES) + 64], p[SE_BIT_ROWS(SE_BYTES) + 64], behind = 0;
    memset(keys, 0, SE_BIT_ROWS(SE_BYTES) * sizeof *keys);
    memset(t + rows, 0, sizeof t - (size_t)rows * sizeof *t);
    memset(p + rows, 0, sizeof p - (size_t)rows * sizeof *p);
    for (ptrdiff_t column = 0; column < columns; column += step) {
        const se_bit_part of_true = se_part_of_bits(true_, start, column, columns, step);
        const se_bit_part of_pred = se_part_of_bits(pred, start, column, columns, step);
        behind |= SE_READ_BITS(true_, rows, &of_true, t) & of_true.behind;
        behind |= SE_READ_BITS(pred, rows, &of_pred, p) & of_pred.behind;
        SE_(word_keys)(t, p, rows, SE_BIT_FIELD, keys);
        SE_(sum_words)(t, t, rows, sums + column);
        SE_(sum_words)(p, p, rows, sums + wide + column);
        SE_(sum_words)(t, p, rows, sums + 2 * wide + column);
    }
    return behind;
}

SE_NARROW(SE_TARGET, SE_)
SE_DECIDE(SE_(decide_float), float)
SE_DECIDE(SE_(decide_double), double)

SE_TARGET static int SE_(decide)(
    const se_scores *scores, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t columns, uint8_t *to) {
    if (scores->narrow) return SE_(decide_float)(scores, start, rows, columns, to);
    return SE_(decide_double)(scores, start, rows, columns, to);
}

#undef SE_
#undef SE_TARGET
#undef SE_VECTOR
#undef SE_DEEP
#undef SE_SHARES
#undef SE_STRIP
#undef SE_ONES
#undef SE_SUM
