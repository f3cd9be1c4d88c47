/* Floats as pairs of bfloat16 numbers, each pair as large as a float. */

#ifndef REGARD_PAIRS_H
#define REGARD_PAIRS_H

#include "wide.h"

#define BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

/* How many pairs so many numbers fill; without a partner, the last one's is zero. */
INLINE int64_t num_pairs(int64_t count) { return (count + 1) / 2; }

/* Rows of pairs of numbers that follow one another in a row. */
static inline BFLOAT16 void pair_rows(const float *x, int64_t rows, int64_t width, float *pairs)
{
    for (int64_t r = 0; r < rows; r++, x += width, pairs += num_pairs(width))
        for (int64_t i = 0; i < width; i += SIXTEEN) {
            __m256bh low = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first_places(width - i), x + i));
            _mm256_mask_storeu_epi16((int16_t *)pairs + i,
                                     first_places(2 * num_pairs(width) - i), (__m256i)low);
        }
}

/* one[j] and next[j] as pairs. */
INLINE BFLOAT16 __m512 paired(__m512 one, __m512 next)
{
    static const int16_t one_of_each[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,
                                            21, 6, 22, 7, 23, 8,  24, 9,  25, 10, 26,
                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(next, one);
    return (__m512)_mm512_permutexvar_epi16(_mm512_loadu_si512(one_of_each), both);
}

/* packed[panel, pair, j] = matrix[k, j] and matrix[k + 1, j]; what fills the last panel up is zero. */
static inline BFLOAT16 void pair_columns(const float *matrix, int64_t stride, int64_t depth,
                                         int64_t width, float *packed)
{
    for (int64_t first = 0; first < width; first += SIXTEEN) {
        __mmask16 there = first_places(width - first);
        const float *row = matrix + first;
        for (int64_t k = 0; k < depth; k += 2, row += 2 * stride, packed += SIXTEEN) {
            __m512 one = _mm512_maskz_loadu_ps(there, row);
            __m512 next = _mm512_maskz_loadu_ps(k + 1 < depth ? there : 0, row + stride);
            _mm512_storeu_ps(packed, paired(one, next));
        }
    }
}

#endif
