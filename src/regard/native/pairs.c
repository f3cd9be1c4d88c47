/* Products of rows with a matrix in bfloat16, for processors with AVX512-BF16.

   It multiplies pairs of numbers and adds both products to a float, in the time of one product of
   floats. Rows come and go as floats. How the matrix is packed is in panels.h. */

#include "kernels.h"

#if !HAS_PAIRS
void can_multiply_pairs(int64_t *answer) { *answer = 0; }
#else
#include "pairs.h"
#include "panels.h"

void can_multiply_pairs(int64_t *answer)
{
    *answer = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512bf16");
}

/* packed[panel, pair, output] = weight[output, input] and weight[output, input + 1].

   space: room for the matrix in pairs. */
void pack_pairs(const float *weight, int64_t outputs, int64_t inputs, float *space, float *packed)
{
    pair_rows(weight, outputs, inputs, space);
    pack_floats(space, outputs, num_pairs(inputs), packed);
}

/* packed[panel, pair, output] = weight[input, output] and weight[input + 1, output]. */
void pack_turned_pairs(const float *weight, int64_t outputs, int64_t inputs, float *packed)
{
    pair_columns(weight, outputs, inputs, outputs, packed);
}

static AVX512 void multiply_some(const float *pairs, int64_t rows, const FloatMatrix *matrix,
                                 int64_t first, int64_t last, const float *gate, float *output)
{
    multiply_part(pairs, rows, matrix, first, last, 1, gate, output);
}

/* output = x W' + bias, as multiply_floats.

   matrix: its inputs are pairs; `inputs` of single numbers is how wide x is.
   space: room for x in pairs. */
void multiply_pairs(const float *x, int64_t rows, int64_t inputs, const FloatMatrix *matrix,
                    const float *gate, int64_t threads, float *space, float *output)
{
    int64_t panels = (matrix->outputs + SIXTEEN - 1) / SIXTEEN;
    pair_rows(x, rows, inputs, space);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        multiply_some(space, rows, matrix, part * panels / threads, (part + 1) * panels / threads,
                      gate, output);
}
#endif
