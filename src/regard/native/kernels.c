/* Attention of a step, log-softmax, best continuations, floats to integers and back.

   Each of these inner loops of decoding does on one core, in one pass over memory,
   what a few lines of Python beside it do with tensors, and is tested equal to them (tests/native). The compiler makes the vector instructions: one version of every kernel
   for AVX-512, one for AVX2 and one for any processor, chosen when the library is loaded. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define KERNEL __attribute__((target_clones("avx512f", "avx2", "default"))) void
#else
#define KERNEL void
#endif
#define INLINE static inline __attribute__((always_inline))

/* Numbers taken side by side: enough to fill the processor's registers. */
#define ABREAST 64
/* As many as one register of AVX-512 holds. */
#define SIXTEEN 16

typedef float Register __attribute__((vector_size(4 * SIXTEEN)));
typedef float Half __attribute__((vector_size(2 * SIXTEEN)));
typedef float Quarter __attribute__((vector_size(SIXTEEN)));

INLINE Register load(const float *x)
{
    Register loaded;
    memcpy(&loaded, x, sizeof loaded);
    return loaded;
}

INLINE float sum_of(Register x)
{
    union { Register whole; Half halves[2]; } first = {x};
    union { Half whole; Quarter quarters[2]; } second = {first.halves[0] + first.halves[1]};
    Quarter four = second.quarters[0] + second.quarters[1];
    return (four[0] + four[1]) + (four[2] + four[3]);
}

/* e^x for x <= 0, to a unit or two in the last place: 2^n by its bits, 2^f by Taylor's series. */
INLINE float exponential(float x)
{
    float t = (x < -87.0f ? -87.0f : x) * 1.44269504f;
    float whole = rintf(t), f = t - whole;
    float power = 1.0f + f * (6.93147181e-1f + f * (2.40226507e-1f + f * (5.55041087e-2f
                + f * (9.61812911e-3f + f * (1.33335581e-3f + f * 1.54035304e-4f)))));
    int32_t bits = ((int32_t)whole + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return power * scale;
}

INLINE float larger(float a, float b) { return a > b ? a : b; }

/* The largest of some numbers, or of their absolute values. */
INLINE float largest_of(const float *x, int64_t count, int absolute)
{
    float best[ABREAST];
    for (int j = 0; j < ABREAST; j++)
        best[j] = -INFINITY;
    int64_t i = 0;
    for (; i + ABREAST <= count; i += ABREAST)
        for (int j = 0; j < ABREAST; j++)
            best[j] = larger(absolute ? fabsf(x[i + j]) : x[i + j], best[j]);
    for (; i < count; i++)
        best[0] = larger(absolute ? fabsf(x[i]) : x[i], best[0]);
    for (int half = ABREAST / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            best[j] = larger(best[j + half], best[j]);
    return best[0];
}

/* x becomes log softmax(x), row by row. */
KERNEL log_softmax(float *x, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++, x += width) {
        float most = largest_of(x, width, 0), sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += exponential(x[i] - most);
        float shift = most + logf(sum);
        for (int64_t i = 0; i < width; i++)
            x[i] -= shift;
    }
}

/* The `count` largest of scores[b, n] + log_probs[b, n, v] of each sentence b, best first.

   A stretch of tokens is looked into only if its largest could be among them. Where one is no
   number, neither is the first. */
KERNEL best_continuations(const float *scores, const float *log_probs, int64_t sentences,
                          int64_t lanes, int64_t vocabulary, int64_t count, float *totals,
                          int64_t *places)
{
    for (int64_t b = 0; b < sentences; b++, totals += count, places += count) {
        for (int64_t k = 0; k < count; k++)
            totals[k] = -INFINITY, places[k] = 0;
        for (int64_t n = 0; n < lanes; n++, scores++, log_probs += vocabulary) {
            int is_broken = 0;
            for (int64_t first = 0; first < vocabulary; first += 2 * ABREAST) {
                int64_t left = vocabulary - first;
                int64_t here = left < 2 * ABREAST ? left : 2 * ABREAST;
                const float *x = log_probs + first;
                for (int64_t i = 0; i < here; i++)
                    is_broken |= x[i] != x[i];
                if (!(*scores + largest_of(x, here, 0) > totals[count - 1]))
                    continue;
                for (int64_t i = 0; i < here; i++) {
                    float total = *scores + x[i];
                    if (!(total > totals[count - 1]))
                        continue;
                    int64_t k = count - 1;
                    for (; k > 0 && total > totals[k - 1]; k--)
                        totals[k] = totals[k - 1], places[k] = places[k - 1];
                    totals[k] = total;
                    places[k] = n * vocabulary + first + i;
                }
            }
            if (is_broken)
                totals[0] = NAN;
        }
    }
}

/* values[r] = round(x[r] / scale[r]) with scale[r] = max |x[r]| / largest. */
KERNEL quantise_rows(const float *x, int64_t rows, int64_t width, float largest, float smallest,
                     int8_t *values, float *scale)
{
    for (int64_t r = 0; r < rows; r++, x += width, values += width) {
        float step = larger(largest_of(x, width, 1) * (1.0f / largest), smallest);
        scale[r] = step;
        for (int64_t i = 0; i < width; i++)
            values[i] = (int8_t)(int32_t)rintf(x[i] / step);
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

/* One query of one head: the mean of the values at `places`, weighted by softmax(qk / sqrt K).

   Keys and values of a place lie `width` apart; a width of whole registers is the fast one. */
INLINE void attend_one(const float *query, const float *keys, const float *values,
                       const int32_t *places, int64_t count, int width, float *weights,
                       float *output)
{
    float shrink = 1.0f / sqrtf((float)width);
    int whole = width / SIXTEEN * SIXTEEN;
    for (int64_t j = 0; j < count; j++) {
        const float *key = keys + (places ? places[j] : j) * (int64_t)width;
        Register products = {0};
        for (int i = 0; i < whole; i += SIXTEEN)
            products += load(query + i) * load(key + i);
        float product = sum_of(products);
        for (int i = whole; i < width; i++)
            product += query[i] * key[i];
        weights[j] = product * shrink;
    }
    int64_t filled = (count + SIXTEEN - 1) / SIXTEEN * SIXTEEN;
    for (int64_t j = count; j < filled; j++)
        weights[j] = -INFINITY;
    float best[SIXTEEN], sums[SIXTEEN] = {0};
    memcpy(best, weights, sizeof best);
    for (int64_t j = SIXTEEN; j < filled; j += SIXTEEN)
        for (int l = 0; l < SIXTEEN; l++)
            best[l] = larger(weights[j + l], best[l]);
    float most = best[0], sum = 0;
    for (int l = 1; l < SIXTEEN; l++)
        most = larger(best[l], most);
    for (int64_t j = 0; j < filled; j += SIXTEEN)
        for (int l = 0; l < SIXTEEN; l++) {
            weights[j + l] = exponential(weights[j + l] - most);
            sums[l] += weights[j + l];
        }
    for (int l = 0; l < SIXTEEN; l++)
        sum += sums[l];
    for (int i = 0; i < whole; i += SIXTEEN) {
        Register mean = {0};
        for (int64_t j = 0; j < count; j++)
            mean += weights[j] * load(values + (places ? places[j] : j) * (int64_t)width + i);
        mean /= sum;
        memcpy(output + i, &mean, sizeof mean);
    }
    for (int i = whole; i < width; i++) {
        float mean = 0;
        for (int64_t j = 0; j < count; j++)
            mean += weights[j] * values[(places ? places[j] : j) * (int64_t)width + i];
        output[i] = mean / sum;
    }
}

/* The rows of each sentence attend to its keys and values, head by head.

   query and output: a row a hypothesis, heads side by side; query rows lie `stride` apart.
   keys and values: sentence, head, `room` places, width.
   places: those that a row sees, `most` a row; NULL: the first of them.
   lengths: how many a sentence's rows see; NULL: `most`.
   weights: space for `most`, and for 15 more. */
KERNEL attend_rows(const float *query, int64_t stride, const float *keys, const float *values,
                   int64_t room, const int32_t *places, const int64_t *lengths, int64_t most,
                   int64_t sentences, int64_t lanes, int64_t heads, int64_t width,
                   float *weights, float *output)
{
    for (int64_t b = 0; b < sentences; b++)
        for (int64_t h = 0; h < heads; h++) {
            const float *k = keys + (b * heads + h) * room * width;
            const float *v = values + (b * heads + h) * room * width;
            int64_t count = lengths ? lengths[b] : most;
            for (int64_t row = b * lanes; row < (b + 1) * lanes; row++) {
                const float *q = query + row * stride + h * width;
                const int32_t *seen = places ? places + row * most : places;
                float *out = output + (row * heads + h) * width;
                if (width == 2 * SIXTEEN)
                    attend_one(q, k, v, seen, count, 2 * SIXTEEN, weights, out);
                else if (width == 4 * SIXTEEN)
                    attend_one(q, k, v, seen, count, 4 * SIXTEEN, weights, out);
                else
                    attend_one(q, k, v, seen, count, (int)width, weights, out);
            }
        }
}
