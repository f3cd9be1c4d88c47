/* Products of rows with a matrix that stays, for processors with AVX-512.

   It has 32 registers of sixteen floats; where there are fewer, oneDNN does it.

   The matrix is packed: sixteen outputs stand together in a panel, input by input. Every output is
   summed from the first input to the last, whatever stands beside it: a row's product does not
   depend on the rows around it, to the last bit. */

#include "registers.h"
#include "kernels.h"

#if !HAS_X86
void can_multiply_floats(int64_t *answer) { *answer = 0; }

/* Never called then. */
void multiply_floats(const float *x, int64_t rows, const FloatMatrix *matrix, int64_t threads,
                     float *output)
{
    (void)x, (void)rows, (void)matrix, (void)threads, (void)output;
}
#else
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f")))
/* Rows and panels whose sums are kept in registers together. */
#define ROWS 8
#define PANELS 3
/* So that they are. */
#define UNROLLED _Pragma("GCC unroll 8")
/* Multiplications from which a second thread is worth waking. */
#define WORTH_A_THREAD (1 << 14)

void can_multiply_floats(int64_t *answer) { *answer = __builtin_cpu_supports("avx512f"); }

/* packed[panel, input, output] = weight[output, input]; what fills the last panel up is zero. */
void pack_floats(const float *weight, int64_t outputs, int64_t inputs, float *packed)
{
    for (int64_t first = 0; first < outputs; first += SIXTEEN)
        for (int64_t i = 0; i < inputs; i++)
            for (int64_t f = first; f < first + SIXTEEN; f++)
                *packed++ = f < outputs ? weight[f * inputs + i] : 0;
}

/* Some rows times some panels. */
INLINE AVX512 void multiply_tile(const float *x, const FloatMatrix *matrix, int64_t panel, int rows,
                                 int panels, float *output)
{
    int64_t depth = matrix->inputs;
    const float *packed = matrix->packed + panel * SIXTEEN * depth;
    __m512 sums[ROWS][PANELS];
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int p = 0; p < panels; p++)
            sums[r][p] = _mm512_setzero_ps();
    for (int64_t i = 0; i < depth; i++) {
        __m512 weights[PANELS];
        UNROLLED for (int p = 0; p < panels; p++)
            weights[p] = _mm512_loadu_ps(packed + (p * depth + i) * SIXTEEN);
        UNROLLED for (int r = 0; r < rows; r++) {
            __m512 number = _mm512_set1_ps(x[r * depth + i]);
            UNROLLED for (int p = 0; p < panels; p++)
                sums[r][p] = _mm512_fmadd_ps(number, weights[p], sums[r][p]);
        }
    }
    UNROLLED for (int p = 0; p < panels; p++) {
        int64_t f = (panel + p) * SIXTEEN, left = matrix->outputs - f;
        __mmask16 there = left < SIXTEEN ? (__mmask16)((1 << left) - 1) : (__mmask16)0xffff;
        __m512 bias = matrix->bias ? _mm512_maskz_loadu_ps(there, matrix->bias + f)
                                   : _mm512_setzero_ps();
        UNROLLED for (int r = 0; r < rows; r++)
            _mm512_mask_storeu_ps(output + r * matrix->outputs + f, there,
                                  _mm512_add_ps(sums[r][p], bias));
    }
}

/* All rows times some panels, which stay in the cache meanwhile. */
INLINE AVX512 void multiply_panels(const float *x, int64_t rows, const FloatMatrix *matrix,
                                   int64_t panel, int panels, float *output)
{
    int64_t depth = matrix->inputs, outputs = matrix->outputs, r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        multiply_tile(x + r * depth, matrix, panel, ROWS, panels, output + r * outputs);
    for (; r + 4 <= rows; r += 4)
        multiply_tile(x + r * depth, matrix, panel, 4, panels, output + r * outputs);
    for (; r < rows; r++)
        multiply_tile(x + r * depth, matrix, panel, 1, panels, output + r * outputs);
}

/* All rows times the panels from the `first` to before the `last`. */
static AVX512 void multiply_part(const float *x, int64_t rows, const FloatMatrix *matrix,
                                 int64_t first, int64_t last, float *output)
{
    int64_t panel = first;
    for (; panel + PANELS <= last; panel += PANELS)
        multiply_panels(x, rows, matrix, panel, PANELS, output);
    for (; panel < last; panel++)
        multiply_panels(x, rows, matrix, panel, 1, output);
}

/* output = x W' + bias. */
void multiply_floats(const float *x, int64_t rows, const FloatMatrix *matrix, int64_t threads,
                     float *output)
{
    int64_t panels = (matrix->outputs + SIXTEEN - 1) / SIXTEEN;
    if (matrix->outputs * matrix->inputs < WORTH_A_THREAD)
        threads = 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        multiply_part(x, rows, matrix, part * panels / threads, (part + 1) * panels / threads,
                      output);
}
#endif
