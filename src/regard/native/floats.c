/* Products of rows with a matrix that stays, for processors with AVX-512.

   It has 32 registers of sixteen floats; where there are fewer, oneDNN does it. How the matrix is
   packed is in panels.h. */

#include "registers.h"
#include "kernels.h"

#if !HAS_X86
void can_multiply_floats(int64_t *answer) { *answer = 0; }

/* Never called then. */
void multiply_floats(const float *x, int64_t rows, const FloatMatrix *matrix, const float *gate,
                     int64_t threads, float *output)
{
    (void)x, (void)rows, (void)matrix, (void)gate, (void)threads, (void)output;
}
#else
#include "panels.h"

/* Multiplications from which a second thread is worth waking. */
#define WORTH_A_THREAD (1 << 14)

void can_multiply_floats(int64_t *answer) { *answer = __builtin_cpu_supports("avx512f"); }

/* packed[panel, input, output] = weight[output, input]; what fills the last panel up is zero. */
void pack_floats(const float *weight, int64_t outputs, int64_t inputs, float *packed)
{
    for (int64_t first = 0; first < outputs; first += SIXTEEN, packed += SIXTEEN * inputs) {
        int64_t i = 0;
        for (; first + SIXTEEN <= outputs && i + 4 <= inputs; i += 4)
            for (int64_t f = 0; f < SIXTEEN; f += 4) {
                const float *from = weight + (first + f) * inputs + i;
                float *to = packed + i * SIXTEEN + f;
                __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + inputs);
                __m128 c = _mm_loadu_ps(from + 2 * inputs), d = _mm_loadu_ps(from + 3 * inputs);
                _MM_TRANSPOSE4_PS(a, b, c, d);
                _mm_storeu_ps(to, a), _mm_storeu_ps(to + SIXTEEN, b);
                _mm_storeu_ps(to + 2 * SIXTEEN, c), _mm_storeu_ps(to + 3 * SIXTEEN, d);
            }
        for (; i < inputs; i++)
            for (int64_t f = 0; f < SIXTEEN; f++)
                packed[i * SIXTEEN + f] =
                    first + f < outputs ? weight[(first + f) * inputs + i] : 0;
    }
}

/* packed[panel, input, output] = weight[input, output]: the matrix of products with rows that are
   gradients. */
void pack_turned_floats(const float *weight, int64_t outputs, int64_t inputs, float *packed)
{
    copy_columns(weight, outputs, inputs, outputs, packed);
}

static AVX512 void multiply_some(const float *x, int64_t rows, const FloatMatrix *matrix,
                                 int64_t first, int64_t last, const float *gate, float *output)
{
    multiply_part(x, rows, matrix, first, last, 0, gate, output);
}

/* output = x W' + bias.

   gate: what is 0 or less here is 0 in the output; the output itself for ReLU; NULL: all is open. */
void multiply_floats(const float *x, int64_t rows, const FloatMatrix *matrix, const float *gate,
                     int64_t threads, float *output)
{
    int64_t panels = (matrix->outputs + SIXTEEN - 1) / SIXTEEN;
    if (matrix->outputs * matrix->inputs < WORTH_A_THREAD)
        threads = 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        multiply_some(x, rows, matrix, part * panels / threads, (part + 1) * panels / threads,
                      gate, output);
}
#endif
