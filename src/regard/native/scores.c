/* What becomes of scores for a vocabulary: softmax, log-softmax, the best continuations. */

#include "registers.h"

/* x becomes log softmax(x), row by row. */
KERNEL log_softmax(float *x, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++, x += width) {
        float most = largest_in(x, width, 0);
        Register sums = {0};
        int64_t i = 0;
        for (; i + SIXTEEN <= width; i += SIXTEEN)
            sums += exponential(load(x + i) - most);
        float sum = sum_of(sums);
        for (; i < width; i++)
            sum += expf(x[i] - most);
        float shift = most + logf(sum);
        for (i = 0; i + SIXTEEN <= width; i += SIXTEEN)
            store(x + i, load(x + i) - shift);
        for (; i < width; i++)
            x[i] -= shift;
    }
}

/* x becomes softmax(x), row by row; log_sums is log Σ exp x of each row. */
KERNEL softmax(float *x, int64_t rows, int64_t width, float *log_sums)
{
    for (int64_t r = 0; r < rows; r++, x += width) {
        float most = largest_in(x, width, 0);
        Register sums = {0};
        int64_t i = 0;
        for (; i + SIXTEEN <= width; i += SIXTEEN) {
            Register powers = exponential(load(x + i) - most);
            store(x + i, powers);
            sums += powers;
        }
        float sum = sum_of(sums);
        for (; i < width; i++)
            sum += x[i] = expf(x[i] - most);
        float scale = 1 / sum;
        for (i = 0; i + SIXTEEN <= width; i += SIXTEEN)
            store(x + i, load(x + i) * scale);
        for (; i < width; i++)
            x[i] *= scale;
        log_sums[r] = most + logf(sum);
    }
}

/* Tokens that are looked at together. */
#define STRETCH 128

/* The `count` largest of scores[b, n] + log_probs[b, n, v] of each sentence b, best first, and
   their places n V + v.

   A stretch of tokens is looked into only if its largest could be among them. Where one is no
   number, neither is the first. */
KERNEL best_continuations(const float *scores, const float *log_probs, int64_t sentences,
                          int64_t lanes, int64_t vocabulary, int64_t count, float *totals,
                          int64_t *places)
{
    for (int64_t b = 0; b < sentences; b++, totals += count, places += count) {
        for (int64_t k = 0; k < count; k++)
            totals[k] = -INFINITY, places[k] = 0;
        int is_broken = 0;
        for (int64_t n = 0; n < lanes; n++, scores++, log_probs += vocabulary)
            for (int64_t first = 0; first < vocabulary; first += STRETCH) {
                int64_t left = vocabulary - first, here = left < STRETCH ? left : STRETCH;
                const float *x = log_probs + first;
                for (int64_t i = 0; i < here; i++)
                    is_broken |= x[i] != x[i];
                if (!(*scores + largest_in(x, here, 0) > totals[count - 1]))
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
