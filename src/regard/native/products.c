/* Products of few rows with a matrix, and floats to 8-bit integers and back. */

#include "registers.h"
#include "kernels.h"

/* Multiplications from which a second thread is worth waking. */
#define WORTH_A_THREAD (1 << 14)

/* One output of some rows together: the matrix's row serves them all. Each row has two sums, for
   they do not wait for each other. */
INLINE void multiply_group(const float *x, const float *weight, float bias, int64_t outputs,
                           int64_t width, int group, float *output)
{
    Register sums[GROUP][2] = {{{0}}};
    int64_t i = 0;
    for (; i + 2 * SIXTEEN <= width; i += 2 * SIXTEEN)
        for (int g = 0; g < group; g++)
            for (int j = 0; j < 2; j++)
                sums[g][j] += load(x + g * width + i + j * SIXTEEN) * load(weight + i + j * SIXTEEN);
    for (int g = 0; g < group; g++) {
        float sum = sum_of(sums[g][0] + sums[g][1]);
        for (int64_t k = i; k < width; k++)
            sum += x[g * width + k] * weight[k];
        output[g * outputs] = sum + bias;
    }
}

/* Some of the outputs, from the `first` to before the `last`. */
static KERNEL multiply_part(const float *x, int64_t rows, const float *weight, const float *bias,
                     int64_t outputs, int64_t width, int64_t first, int64_t last, float *output)
{
    for (int64_t f = first; f < last; f++) {
        const float *row = weight + f * width;
        float shift = bias ? bias[f] : 0;
        int64_t r = 0;
        for (; r + GROUP <= rows; r += GROUP)
            multiply_group(x + r * width, row, shift, outputs, width, GROUP,
                           output + r * outputs + f);
        for (; r < rows; r++)
            multiply_group(x + r * width, row, shift, outputs, width, 1, output + r * outputs + f);
    }
}

/* output = x W' + bias for few rows x: the matrix is read once, each thread's part from its first
   number to its last. A row's sums depend neither on the rows beside it nor on the threads. */
void multiply_rows(const float *x, int64_t rows, const float *weight, const float *bias,
                   int64_t outputs, int64_t width, int64_t threads, float *output)
{
    if (outputs * width < WORTH_A_THREAD)
        threads = 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        multiply_part(x, rows, weight, bias, outputs, width, part * outputs / threads,
                      (part + 1) * outputs / threads, output);
}

/* The rows of each sentence times matrix rows that it has to itself: sentence b those of the list at
   places[b], of whose `most` entries the first counts[places[b]] count; the others are -infinity. */
KERNEL multiply_own_rows(const float *x, int64_t sentences, int64_t lanes, const float *weight,
                         const float *bias, const int64_t *own, const int64_t *places,
                         const int64_t *counts, int64_t most, int64_t width, float *output)
{
    for (int64_t b = 0; b < sentences; b++, x += lanes * width, output += lanes * most) {
        const int64_t *list = own + places[b] * most;
        for (int64_t f = 0; f < counts[places[b]]; f++) {
            const float *row = weight + list[f] * width;
            float shift = bias ? bias[list[f]] : 0;
            int64_t r = 0;
            for (; r + GROUP <= lanes; r += GROUP)
                multiply_group(x + r * width, row, shift, most, width, GROUP, output + r * most + f);
            for (; r < lanes; r++)
                multiply_group(x + r * width, row, shift, most, width, 1, output + r * most + f);
        }
        for (int64_t r = 0; r < lanes; r++)
            for (int64_t f = counts[places[b]]; f < most; f++)
                output[r * most + f] = -INFINITY;
    }
}

/* values[r] = round(x[r] / scale[r]) with scale[r] = max |x[r]| / largest; no number, where one of
   a row is none. */
KERNEL quantise_rows(const float *x, int64_t rows, int64_t width, float largest, float smallest,
                     int8_t *values, float *scale)
{
    for (int64_t r = 0; r < rows; r++, x += width, values += width) {
        float step = larger_of(largest_in(x, width, 1) * (1.0f / largest), smallest);
        int is_broken = 0;
        for (int64_t i = 0; i < width; i++) {
            is_broken |= x[i] != x[i];
            values[i] = (int8_t)(int32_t)rintf(x[i] / step);
        }
        scale[r] = is_broken ? NAN : step;
    }
}

/* numbers[r, f] = sums[r, f] * scale[f] * row_scale[r] + bias[f]; both may be the same memory. */
KERNEL dequantise(const int32_t *sums, float *numbers, int64_t rows, int64_t outputs,
                  const float *row_scale, const float *scale, const float *bias)
{
    for (int64_t r = 0; r < rows; r++, sums += outputs, numbers += outputs) {
        float step = row_scale[r];
        if (bias)
#pragma GCC ivdep
            for (int64_t f = 0; f < outputs; f++)
                numbers[f] = (float)sums[f] * scale[f] * step + bias[f];
        else
#pragma GCC ivdep
            for (int64_t f = 0; f < outputs; f++)
                numbers[f] = (float)sums[f] * scale[f] * step;
    }
}
