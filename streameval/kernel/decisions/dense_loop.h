/* The loops over dense rows and rows of bits for one kind of vector. vectors.h includes this file once for each kind, after
   defining SE_VECTOR and its operations. SE_DEEP rows are counted at a time, so that byte counters are read and written once
   for all of them. Loops over rows return the union of all bytes. dense.h calls count_block, bit_block, decide. */

/* The packed key of a row (or of each row in a vector) from byte counters, which are at most 31. */
SE_WITHIN SE_VECTOR SE_(pack)(const SE_VECTOR *row, int bits, const int hides) {
    SE_VECTOR key = SE_SUM(row[0]) + (SE_SUM(row[1]) << bits) + (SE_SUM(row[2]) << 2 * bits);
    if (hides) key += SE_SUM(row[3]) << 3 * bits;
    return key;
}

/* Count one vector of cells into the union `seen`, the counters of columns, and the counters of the row. */
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

/* Count a few vectors of each of a few rows, from column j on, and add to `keys`, which are not folded to numbers yet. */
SE_WITHIN SE_VECTOR SE_(strip)(
    const se_rows *in, ptrdiff_t r, int rows, ptrdiff_t j, const int vectors, const int hides, const se_block *to,
    SE_VECTOR *keys) {
    const int bits = to->bits;
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
            if (to->ahead) {
                SE_FETCH_AHEAD(t + v * SE_BYTES, to->ahead * in->true_stride);
                SE_FETCH_AHEAD(p + v * SE_BYTES, to->ahead * in->pred_stride);
                if (hides) SE_FETCH_AHEAD(m + v * SE_BYTES, to->ahead * in->masked_stride);
            }
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

/* Count up to SE_DEEP rows of any length. */
SE_WITHIN SE_VECTOR SE_(rows)(
    const se_rows *in, ptrdiff_t r, int rows, const int hides, const se_block *to) {
    const int deep = to->far ? SE_FAR_DEEP : SE_DEEP;
    SE_VECTOR seen = SE_ZERO, totals[SE_DEEP];
    for (int i = 0; i < SE_DEEP; i++) totals[i] = SE_ZERO;
    for (int i = 0; i < rows; i += deep) {
        const int some = rows - i < deep ? rows - i : deep;
        for (ptrdiff_t j = 0, vectors; j < in->columns; j += vectors * SE_BYTES) {
            const ptrdiff_t left = (in->columns - j + SE_BYTES - 1) / SE_BYTES;
            vectors = left >= 4 && SE_STRIP >= 4 ? 4 : left >= 2 ? 2 : 1;
            if (vectors == 4) seen |= SE_(strip)(in, r + i, some, j, SE_STRIP >= 4 ? 4 : 1, hides, to, totals + i);
            else if (vectors == 2) seen |= SE_(strip)(in, r + i, some, j, 2, hides, to, totals + i);
            else seen |= SE_(strip)(in, r + i, some, j, 1, hides, to, totals + i);
        }
    }
    SE_(fold)(totals, SE_DEEP, to->keys + r);
    return seen;
}

#ifdef SE_SHARES
/* Count short rows, two in a vector; their number is a multiple of SE_DEEP. */
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

/* The number of set bits of each word. */
SE_WITHIN SE_VECTOR SE_(ones)(SE_VECTOR words) {
#ifdef SE_ONES
    return SE_ONES(words);
#endif
    words -= words >> 1 & 0x5555555555555555ull;
    words = (words & 0x3333333333333333ull) + (words >> 2 & 0x3333333333333333ull);
    return SE_SUM((words + (words >> 4)) & 0x0F0F0F0F0F0F0F0Full);
}

/* Add two bits to a digit, for each bit of a vector; returns the carry. */
SE_WITHIN SE_VECTOR SE_(add_bits)(SE_VECTOR *digit, SE_VECTOR a, SE_VECTOR b) {
#ifdef SE_LOGIC
    const SE_VECTOR carried = SE_LOGIC(*digit, a, b, 0xE8); /* where two or three are set */
    *digit = SE_LOGIC(*digit, a, b, 0x96);                  /* where one or three are set */
#else
    const SE_VECTOR either = *digit ^ a, carried = (*digit & a) | (either & b);
    *digit = either ^ b;
#endif
    return carried;
}

/* A vector of the bits from this bit on. */
SE_WITHIN SE_VECTOR SE_(bits_at)(const se_bit_rows *in, ptrdiff_t bit, const int shifts) {
    const uint8_t *at = in->at + bit / 8;
    uint8_t copy[SE_BYTES + SE_WORD] = {0};
    if (SE_RARELY(in->end - at < SE_BYTES + SE_WORD)) at = (const uint8_t *)memcpy(copy, at, (size_t)(in->end - at));
    const SE_VECTOR words = SE_LITTLE(SE_(whole)(at));
    if (!shifts) return words;
    return words >> bit % 8 | SE_LITTLE(SE_(whole)(at + SE_WORD)) << 1 << (63 - bit % 8);
}

/* A mask of the bits that belong to rows, for `together` rows in a vector. */
SE_WITHIN SE_VECTOR SE_(bits_kept)(ptrdiff_t bits, int together) {
    uint8_t keep[SE_BYTES];
    for (int byte = 0; byte < SE_BYTES; byte++) {
        const ptrdiff_t left = bits - 8 * (byte % (SE_BYTES / together));
        keep[byte] = (uint8_t)(left >= 8 ? 255 : left > 0 ? (1 << left) - 1 : 0);
    }
    return SE_LITTLE(SE_(whole)(keep));
}

/* Add vector i of a chunk to the sums of each bit, which are stored as binary digits. At each level a vector waits for the
   second one; then both are added to the digit, and the carry goes to the next level (carry-save adders of Harley and
   Seal). */
SE_WITHIN void SE_(add_vector)(SE_VECTOR *digits, SE_VECTOR *waiting, int i, SE_VECTOR carried) {
    int level = 0;
    for (; i >> level & 1; level++) carried = SE_(add_bits)(&digits[level], waiting[level], carried);
    if (level < 4) waiting[level] = carried;
    else for (; level < 8; level++) carried = SE_(add_bits)(&digits[level], carried, SE_ZERO);
}

/* Count the columns from `column` on of some rows of bits, as many columns as a vector has bits. */
SE_WITHIN int SE_(bit_block_of)(
    const se_bits_of *of, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t column, ptrdiff_t wide, const int together,
    const int shifts, uint32_t *sums, uint64_t *keys) {
    const int bits = of->bits, at_once = SE_BYTES == SE_WIDEST; /* else registers only hold the digits of one part */
    SE_VECTOR digits[3][8], waiting[3][4], keep[2];
    int seen = 1;
    for (int part = 0; part < 3; part++) {
        for (int k = 0; k < 8; k++) digits[part][k] = SE_ZERO;
    }
    for (int side = 0; side < 2; side++) keep[side] = SE_(bits_kept)(of->side[side].stride - column, together);
    for (ptrdiff_t r = 0; r < rows; r += SE_CHUNK * together) {
        SE_VECTOR totals[8], later[3][SE_CHUNK];
#ifdef SE_TOGETHER
        uint8_t copy[2][(SE_CHUNK + 1) * SE_WIDEST];
        const uint8_t *at[2] = {NULL, NULL};
        for (int side = 0; side < 2 && together > 1; side++) {
            const se_bit_rows *from = &of->side[side];
            at[side] = from->bytes ? SE_(packed)(from, start + r, rows - r, together, copy[side], &seen)
                                   : se_chunk(from, start + r, rows - r, together, copy[side]);
        }
        SE_UNROLL_CHUNK
#endif
        for (int i = 0; i < SE_CHUNK; i++) {
            SE_VECTOR in[3] = {SE_ZERO, SE_ZERO};
            for (int side = 0; side < 2; side++) {
                const se_bit_rows *from = &of->side[side];
#ifdef SE_TOGETHER
                if (together > 1) {
                    in[side] = SE_(rows_at)(at[side], of, side, keep[side], shifts);
                    SE_FETCH_AHEAD(at[side], SE_AHEAD);
                    at[side] += together * from->stride / 8;
                    continue;
                }
#endif
                if (r + i < rows && column < from->stride)
                    in[side] = keep[side] & SE_(bits_at)(from, from->first + (start + r + i) * from->stride + column, shifts);
            }
            in[2] = in[0] & in[1];
            totals[i % 8] = SE_(ones)(in[0]) + (SE_(ones)(in[1]) << bits) + (SE_(ones)(in[2]) << 2 * bits);
#ifdef SE_TOGETHER
            if (together > 1) {
                if (i % 2) SE_(fold_two)(totals + i % 8 - 1, together, keys + r + (i - 1) * together);
            } else
#endif
            if (i % 8 == 7) {
                uint64_t folded[8];
                for (int k = 0; k < 8; k += SE_DEEP) SE_(fold)(totals + k, SE_DEEP, folded + k);
                for (int k = 0; k < 8; k++) keys[r + i - 7 + k] += folded[k];
            }
            for (int part = 0; part < 3; part++) {
                if (at_once) SE_(add_vector)(digits[part], waiting[part], i, in[part]);
                else later[part][i] = in[part];
            }
        }
        for (int part = 0; part < 3 && !at_once; part++) {
            SE_UNROLL_CHUNK
            for (int i = 0; i < SE_CHUNK; i++) SE_(add_vector)(digits[part], waiting[part], i, later[part][i]);
        }
    }
    for (int part = 0; part < 3; part++) {
        for (int j = 0; j < 8; j++) { /* bit j of each byte */
            uint32_t *to = sums + part * wide + column + j * SE_BYTES;
            uint8_t lanes[SE_BYTES];
            SE_VECTOR bytes = SE_ZERO;
            for (int k = 0; k < 8; k++) bytes += (digits[part][k] >> j & 0x0101010101010101ull) << k;
            bytes = SE_LITTLE(bytes);
            memcpy(lanes, &bytes, SE_BYTES);
            for (int byte = 0; byte < SE_BYTES; byte++) to[byte] += lanes[byte];
        }
    }
    return seen;
}

/* Count rows of bits, at most SE_LOAD vectors of them, into `sums` (`wide` each for true, predicted and both) and packed
   keys; `keys` has room for SE_CHUNK vectors more. */
SE_TARGET static int SE_(bit_block)(
    const se_bits_of *of, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t wide, uint32_t *sums, uint64_t *keys) {
#ifdef SE_TOGETHER
    if (of->together > 1) {
        if (of->shifts && of->together == 8) return SE_(bit_block_of)(of, start, rows, 0, wide, 8, 1, sums, keys);
        if (of->shifts) return SE_(bit_block_of)(of, start, rows, 0, wide, 4, 1, sums, keys);
        if (of->together == 8) return SE_(bit_block_of)(of, start, rows, 0, wide, 8, 0, sums, keys);
        return SE_(bit_block_of)(of, start, rows, 0, wide, 4, 0, sums, keys);
    }
#endif
    memset(keys, 0, (size_t)(rows + SE_CHUNK) * sizeof *keys);
    for (ptrdiff_t column = 0; column < wide; column += 8 * SE_BYTES) {
        if (of->shifts) SE_(bit_block_of)(of, start, rows, column, wide, 1, 1, sums, keys);
        else SE_(bit_block_of)(of, start, rows, column, wide, 1, 0, sums, keys);
    }
    return 1;
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
#undef SE_TOGETHER
#undef SE_STRIP
#undef SE_ONES
#undef SE_LOGIC
#undef SE_SUM
