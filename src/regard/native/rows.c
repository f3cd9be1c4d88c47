/* Rows of a matrix, by name: what the gradient of an embedding is made of. */

#include "registers.h"

/* total[names[n]] += scale x[n], in the order of n. */
KERNEL add_to_rows(const float *x, const int64_t *names, int64_t rows, int64_t width, float scale,
                   float *total)
{
    for (int64_t n = 0; n < rows; n++) {
        const float *from = x + n * width;
        float *to = total + names[n] * width;
        int64_t i = 0;
        for (; i + SIXTEEN <= width; i += SIXTEEN)
            store(to + i, load(to + i) + scale * load(from + i));
        for (; i < width; i++)
            to[i] += scale * from[i];
    }
}
