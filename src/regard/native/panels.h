/* Rows times packed panels: what products of floats and of pairs of bfloat16 numbers share.

   Both lie in units of four bytes, a float or two bfloat16 numbers that follow one another in a row.
   Sixteen outputs stand together in a panel, unit by unit. Every output is summed from the first
   unit to the last, whatever stands beside it: a row's product does not depend on the rows around
   it, to the last bit. */

#ifndef REGARD_PANELS_H
#define REGARD_PANELS_H

#include "kernels.h"
#include "wide.h"

/* Rows and panels whose sums are kept in registers together. */
#define ROWS 8
#define PANELS 3
/* Units whose part of so many panels stays in the cache. */
#define CACHED 2048
/* Outputs of a row from which those of a tile are far from the core when they are written. */
#define FAR_APART 1024

/* packed[panel, k, j] = matrix[k, j]; what fills the last panel up is zero. */
static inline AVX512 void copy_columns(const float *matrix, int64_t stride, int64_t depth,
                                       int64_t width, float *packed)
{
    for (int64_t first = 0; first < width; first += SIXTEEN) {
        __mmask16 there = first_places(width - first);
        for (int64_t k = 0; k < depth; k++, packed += SIXTEEN)
            _mm512_storeu_ps(packed, _mm512_maskz_loadu_ps(there, matrix + k * stride + first));
    }
}

/* Fetch a tile of outputs when its computation begins, to write it at the end. */
INLINE void fetch_tile(const float *tile, int64_t outputs, int rows, int panels)
{
    if (outputs >= FAR_APART)
        UNROLLED for (int r = 0; r < rows; r++)
            UNROLLED for (int p = 0; p < panels; p++)
                __builtin_prefetch(tile + r * outputs + p * SIXTEEN, 1);
}

/* sums[r, p] += Σ_i x[r, i] packed[p, i] over some units.

   row, unit: how far apart the rows of x lie, and a row's units.
   depth: of a panel. */
INLINE AVX512 void add_products(__m512 sums[ROWS][PANELS], const float *x, int64_t row,
                                int64_t unit, const float *packed, int64_t depth, int64_t units,
                                int rows, int panels, int is_low)
{
    for (int64_t i = 0; i < units; i++) {
        __m512 weights[PANELS];
        UNROLLED for (int p = 0; p < panels; p++)
            weights[p] = _mm512_loadu_ps(packed + (p * depth + i) * SIXTEEN);
        UNROLLED for (int r = 0; r < rows; r++) {
            __m512 number = _mm512_set1_ps(x[r * row + i * unit]);
            UNROLLED for (int p = 0; p < panels; p++)
                sums[r][p] = add_product(sums[r][p], number, weights[p], is_low);
        }
    }
}

/* x where a gate is open, above 0 or no number, and 0 elsewhere. */
INLINE AVX512 __m512 gated(__m512 x, __m512 gate)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
}

/* Some rows times some panels, from one unit to before another; what the units before gave is in
   the output already.

   gate: as of multiply_floats. */
INLINE AVX512 void multiply_tile(const float *x, const FloatMatrix *matrix, int64_t panel,
                                 int64_t from, int64_t to, int rows, int panels, int is_low,
                                 const float *gate, float *output)
{
    int64_t depth = matrix->inputs, outputs = matrix->outputs;
    const float *packed = matrix->packed + panel * SIXTEEN * depth;
    fetch_tile(output + panel * SIXTEEN, outputs, rows, panels);
    __m512 sums[ROWS][PANELS];
    UNROLLED for (int p = 0; p < panels; p++) {
        int64_t f = (panel + p) * SIXTEEN;
        __mmask16 there = first_places(outputs - f);
        UNROLLED for (int r = 0; r < rows; r++)
            sums[r][p] = from ? _mm512_maskz_loadu_ps(there, output + r * outputs + f)
                              : _mm512_setzero_ps();
    }
    add_products(sums, x + from, depth, 1, packed + from * SIXTEEN, depth, to - from, rows, panels,
                 is_low);
    UNROLLED for (int p = 0; p < panels; p++) {
        int64_t f = (panel + p) * SIXTEEN;
        __mmask16 there = first_places(outputs - f);
        __m512 bias = matrix->bias && to == depth ? _mm512_maskz_loadu_ps(there, matrix->bias + f)
                                                  : _mm512_setzero_ps();
        UNROLLED for (int r = 0; r < rows; r++) {
            int64_t place = r * outputs + f;
            __m512 sum = _mm512_add_ps(sums[r][p], bias);
            if (gate && to == depth)
                sum = gated(sum, gate == output ? sum : _mm512_maskz_loadu_ps(there, gate + place));
            _mm512_mask_storeu_ps(output + place, there, sum);
        }
    }
}

/* All rows times some panels, of which as much as the cache holds is used at a time. */
INLINE AVX512 void multiply_panels(const float *x, int64_t rows, const FloatMatrix *matrix,
                                   int64_t panel, int panels, int is_low, const float *gate,
                                   float *output)
{
    int64_t depth = matrix->inputs, outputs = matrix->outputs, from = 0;
    do {
        int64_t to = from + CACHED < depth ? from + CACHED : depth, r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            multiply_tile(x + r * depth, matrix, panel, from, to, ROWS, panels, is_low,
                          gate ? gate + r * outputs : NULL, output + r * outputs);
        for (; r + 4 <= rows; r += 4)
            multiply_tile(x + r * depth, matrix, panel, from, to, 4, panels, is_low,
                          gate ? gate + r * outputs : NULL, output + r * outputs);
        for (; r < rows; r++)
            multiply_tile(x + r * depth, matrix, panel, from, to, 1, panels, is_low,
                          gate ? gate + r * outputs : NULL, output + r * outputs);
        from = to;
    } while (from < depth);
}

/* All rows times the panels from the `first` to before the `last`. */
INLINE AVX512 void multiply_part(const float *x, int64_t rows, const FloatMatrix *matrix,
                                 int64_t first, int64_t last, int is_low, const float *gate,
                                 float *output)
{
    int64_t panel = first;
    for (; panel + PANELS <= last; panel += PANELS)
        multiply_panels(x, rows, matrix, panel, PANELS, is_low, gate, output);
    if (panel + 2 <= last) {
        multiply_panels(x, rows, matrix, panel, 2, is_low, gate, output);
        panel += 2;
    }
    if (panel < last)
        multiply_panels(x, rows, matrix, panel, 1, is_low, gate, output);
}

#endif
