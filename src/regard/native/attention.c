/* Attention: of a decoding step, and of whole sentences forwards and back. */

#include "registers.h"
#include "kernels.h"

/* So many numbers, filled up to whole registers. */
INLINE int whole_registers(int64_t count)
{
    return (int)((count + SIXTEEN - 1) / SIXTEEN * SIXTEEN);
}

/* scores, whole registers of which the first `count` numbers are there, become softmax(scores). */
INLINE void softmax(float *scores, int64_t count, int64_t padded)
{
    const Integers lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Register best = all(-INFINITY), sums = {0};
    for (int64_t s = 0; s < padded; s += SIXTEEN) {
        Register score = choose(lanes < (int32_t)(count - s), load(scores + s), all(-INFINITY));
        store(scores + s, score);
        best = larger(score, best);
    }
    float most = largest_of(best);
    if (most == -INFINITY)
        most = 0;
    for (int64_t s = 0; s < padded; s += SIXTEEN) {
        Register score = load(scores + s);
        Register power = choose(score == -INFINITY, all(0), exponential(score - most));
        store(scores + s, power);
        sums += power;
    }
    float sum = sum_of(sums);
    float share = sum > 0 ? 1 / sum : 0;
    for (int64_t s = 0; s < padded; s += SIXTEEN)
        store(scores + s, load(scores + s) * share);
}

/* The products of a query with some keys, that lie at `places` from `first` on. */
INLINE void compare(const float *query, const float *keys, const int32_t *places, int64_t first,
                    int group, int width, float shrink, float *scores)
{
    int whole = width / SIXTEEN * SIXTEEN;
    const float *key[GROUP];
    Register products[GROUP] = {{0}};
    for (int g = 0; g < group; g++)
        key[g] = keys + (places ? places[first + g] : first + g) * (int64_t)width;
    for (int i = 0; i < whole; i += SIXTEEN)
        for (int g = 0; g < group; g++)
            products[g] += load(query + i) * load(key[g] + i);
    Quarter sums = sums_of(products);
    if (whole == width && group == GROUP) {
        sums *= shrink;
        memcpy(scores + first, &sums, sizeof sums);
        return;
    }
    for (int g = 0; g < group; g++) {
        float sum = sums[g];
        for (int i = whole; i < width; i++)
            sum += query[i] * key[g][i];
        scores[first + g] = sum * shrink;
    }
}

/* Some registers of the weighted mean of the values at `places`; two values at a time, so that no
   sum waits for the one before it. */
INLINE void mix(const float *weights, const float *values, const int32_t *places, int64_t count,
                int64_t width, int registers, float *output)
{
    Register even[GROUP] = {{0}}, odd[GROUP] = {{0}};
    int64_t j = 0;
    for (; j + 2 <= count; j += 2) {
        const float *value = values + (places ? places[j] : j) * width;
        const float *next = values + (places ? places[j + 1] : j + 1) * width;
        for (int r = 0; r < registers; r++) {
            even[r] += weights[j] * load(value + r * SIXTEEN);
            odd[r] += weights[j + 1] * load(next + r * SIXTEEN);
        }
    }
    if (j < count)
        for (int r = 0; r < registers; r++)
            even[r] += weights[j] * load(values + (places ? places[j] : j) * width + r * SIXTEEN);
    for (int r = 0; r < registers; r++)
        store(output + r * SIXTEEN, even[r] + odd[r]);
}

/* One query of one head: the mean of the values at `places`, weighted by softmax(qk / sqrt K).

   Keys and values of a place lie `width` apart; a width of whole registers is the fast one. */
INLINE void attend_one(const float *query, const float *keys, const float *values,
                       const int32_t *places, int64_t count, int width, float *weights,
                       float *output)
{
    float shrink = 1.0f / sqrtf((float)width);
    int64_t j = 0;
    for (; j + GROUP <= count; j += GROUP)
        compare(query, keys, places, j, GROUP, width, shrink, weights);
    for (; j < count; j++)
        compare(query, keys, places, j, 1, width, shrink, weights);
    softmax(weights, count, whole_registers(count));
    int i = 0;
    for (; i + GROUP * SIXTEEN <= width; i += GROUP * SIXTEEN)
        mix(weights, values + i, places, count, width, GROUP, output + i);
    for (; i + 2 * SIXTEEN <= width; i += 2 * SIXTEEN)
        mix(weights, values + i, places, count, width, 2, output + i);
    for (; i + SIXTEEN <= width; i += SIXTEEN)
        mix(weights, values + i, places, count, width, 1, output + i);
    for (; i < width; i++) {
        float mean = 0;
        for (j = 0; j < count; j++)
            mean += weights[j] * values[(places ? places[j] : j) * (int64_t)width + i];
        output[i] = mean;
    }
}

/* The rows of each sentence attend to its keys and values, head by head.

   query and output: a row a hypothesis, heads side by side; query rows lie `stride` apart.
   keys and values: sentence, head, `room` places, width.
   blocks: whose keys and values are each sentence's; NULL: they are in order.
   places: those that a row sees, `most` a row; NULL: the first of them.
   lengths: how many a sentence's rows see; NULL: `most`.
   weights: space for `most`, and for 15 more. */
KERNEL attend_rows(const float *query, int64_t stride, const float *keys, const float *values,
                   int64_t room, const int64_t *blocks, const int32_t *places,
                   const int64_t *lengths, int64_t most, int64_t sentences, int64_t lanes,
                   int64_t heads, int64_t width, float *weights, float *output)
{
    for (int64_t b = 0; b < sentences; b++)
        for (int64_t h = 0; h < heads; h++) {
            int64_t block = ((blocks ? blocks[b] : b) * heads + h) * room * width;
            const float *k = keys + block, *v = values + block;
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

#define MOST_KEYS 64
/* Of sentences that are read for a translation. */
#define MOST_POSITIONS 256
#define MOST_WIDTH 128
/* Queries whose gradients are found together. */
#define MOST_QUERIES 64

/* x, some rows of `width` numbers, as `width` rows of `padded` numbers, zeros behind the last. */
INLINE void transpose(const float *x, int64_t stride, int64_t rows, int width, int padded,
                      float *transposed)
{
    for (int64_t s = 0; s < padded; s += GROUP)
        for (int i = 0; i < width; i += GROUP) {
            Quarter row[GROUP] = {{0}};
            for (int g = 0; g < GROUP && s + g < rows; g++)
                memcpy(row + g, x + (s + g) * stride + i, sizeof *row);
            transpose_quarters(row);
            for (int g = 0; g < GROUP; g++)
                memcpy(transposed + (i + g) * padded + s, row + g, sizeof *row);
        }
}

/* `work` on `group` of `count` rows from `first` on: four at a time, then two, then one, each a
   number that the compiler knows. */
#define IN_GROUPS(first, count, work)                                                              \
    {                                                                                              \
        int64_t first = 0, end = count;                                                            \
        for (; first + GROUP <= end; first += GROUP) {                                             \
            const int group = GROUP;                                                               \
            work;                                                                                  \
        }                                                                                          \
        if (first + 2 <= end) {                                                                    \
            const int group = 2;                                                                   \
            work;                                                                                  \
            first += 2;                                                                            \
        }                                                                                          \
        if (first < end) {                                                                         \
            const int group = 1;                                                                   \
            work;                                                                                  \
        }                                                                                          \
    }

/* A head of a sentence: where its queries, keys and values lie, and how many there are. */
typedef struct {
    const float *query, *keys, *values;
    int64_t query_stride, stride, output_stride, num_queries, num_keys;
    int is_causal, padded;
} Head;

/* output[g] = Σ_j factors[g, j] x[j] for a few rows, some registers of each; `adds`: to what is there.

   row, column: how far apart the factors of two rows lie, and those of two j. */
INLINE void mix_some(const float *factors, int64_t row, int64_t column, const float *x,
                     int64_t stride, int64_t count, int group, int registers, int adds,
                     float *output, int64_t output_stride)
{
    Register sums[GROUP][2] = {{{0}}};
    for (int g = 0; g < group && adds; g++)
        for (int r = 0; r < registers; r++)
            sums[g][r] = load(output + g * output_stride + r * SIXTEEN);
    for (int64_t j = 0; j < count; j++) {
        Register numbers[2];
        for (int r = 0; r < registers; r++)
            numbers[r] = load(x + j * stride + r * SIXTEEN);
        for (int g = 0; g < group; g++)
            for (int r = 0; r < registers; r++)
                sums[g][r] += factors[g * row + j * column] * numbers[r];
    }
    for (int g = 0; g < group; g++)
        for (int r = 0; r < registers; r++)
            store(output + g * output_stride + r * SIXTEEN, sums[g][r]);
}

/* The same for whole rows. */
INLINE void mix_rows(const float *factors, int64_t row, int64_t column, const float *x,
                     int64_t stride, int64_t count, int group, int width, int adds, float *output,
                     int64_t output_stride)
{
    int i = 0;
    for (; i + 2 * SIXTEEN <= width; i += 2 * SIXTEEN)
        mix_some(factors, row, column, x + i, stride, count, group, 2, adds, output + i,
                 output_stride);
    if (i < width)
        mix_some(factors, row, column, x + i, stride, count, group, 1, adds, output + i,
                 output_stride);
}

/* How many keys some queries from the `first` on may see. */
INLINE int64_t num_seen(const Head *head, int64_t first, int group)
{
    int64_t causal = first + group;
    return head->is_causal && causal < head->num_keys ? causal : head->num_keys;
}

/* Some queries together, from the `first` on, so that what is loaded for one serves all. */
INLINE void attend_group(const Head *head, const float *transposed, const float *bias,
                         int64_t first, int group, int width, float *weights, float *output)
{
    float shrink = 1.0f / sqrtf((float)width);
    int padded = head->padded;
    int64_t most = num_seen(head, first, group);
    int seen = whole_registers(most);
    mix_rows(head->query + first * head->query_stride, head->query_stride, 1, transposed, padded,
             width, group, seen, 0, weights, padded);
    for (int g = 0; g < group; g++) {
        float *scores = weights + g * padded;
        for (int s = 0; s < seen; s += SIXTEEN)
            store(scores + s, load(scores + s) * shrink + load(bias + s));
        softmax(scores, num_seen(head, first + g, 1), seen);
        for (int s = seen; s < padded; s += SIXTEEN)
            store(scores + s, all(0));
    }
    mix_rows(weights, padded, 1, head->values, head->stride, most, group, width, 0, output,
             head->output_stride);
}

/* weights: T rows of `padded` numbers; GROUP rows, where they are not kept. */
INLINE void attend_head(const Head *head, const float *bias, int width, int are_kept,
                        float *weights, float *output)
{
    float transposed[MOST_WIDTH * MOST_POSITIONS];
    transpose(head->keys, head->stride, head->num_keys, width, head->padded, transposed);
    int64_t row = are_kept ? head->padded : 0;
    IN_GROUPS(t, head->num_queries,
              attend_group(head, transposed, bias, t, group, width, weights + t * row,
                           output + t * head->output_stride))
}

/* dS and dQ of some queries from the `first` on. */
INLINE void attend_group_backward(const Head *head, const float *transposed, int64_t first,
                                  int group, int width, const float *weights, const float *output,
                                  float *scores, float *query_gradient)
{
    float shrink = 1.0f / sqrtf((float)width);
    int padded = head->padded;
    int64_t most = num_seen(head, first, group);
    int seen = whole_registers(most);
    mix_rows(output, head->output_stride, 1, transposed, padded, width, group, seen, 0, scores,
             padded);
    for (int g = 0; g < group; g++, weights += padded) {
        float *row = scores + g * padded;
        Register both = {0};
        for (int s = 0; s < seen; s += SIXTEEN)
            both += load(row + s) * load(weights + s);
        float mean = sum_of(both);
        for (int s = 0; s < seen; s += SIXTEEN)
            store(row + s, load(weights + s) * (load(row + s) - mean) * shrink);
        for (int s = seen; s < padded; s += SIXTEEN)
            store(row + s, all(0));
    }
    mix_rows(scores, padded, 1, head->keys, head->stride, most, group, width, 0, query_gradient,
             head->query_stride);
}

/* dK and dV of some keys from the `first` on, of the `count` queries whose dS are there. */
INLINE void attend_keys_backward(const Head *head, const float *query, int64_t count,
                                 int64_t first, int group, int width, int adds, const float *scores,
                                 const float *weights, const float *output, float *key_gradient,
                                 float *value_gradient)
{
    int padded = head->padded;
    mix_rows(scores + first, 1, padded, query, head->query_stride, count, group, width, adds,
             key_gradient + first * head->stride, head->stride);
    mix_rows(weights + first, 1, padded, output, head->output_stride, count, group, width, adds,
             value_gradient + first * head->stride, head->stride);
}

/* The gradients of one head of one sentence, from its weights P and the gradient dO of its output,
   some queries after the other:

       dP = dO V'     dS = P (dP - sum P dP) / sqrt K     dQ = dS K     dK = dS' Q     dV = P' dO */
INLINE void attend_head_backward(const Head *head, int width, const float *weights,
                                 const float *output, float *query_gradient, float *key_gradient,
                                 float *value_gradient)
{
    float transposed[MOST_WIDTH * MOST_KEYS], scores[MOST_QUERIES * MOST_KEYS];
    int padded = head->padded;
    transpose(head->values, head->stride, head->num_keys, width, padded, transposed);
    int64_t begin = 0;
    do {
        int64_t left = head->num_queries - begin, count = left < MOST_QUERIES ? left : MOST_QUERIES;
        const float *p = weights + begin * padded, *out = output + begin * head->output_stride;
        const float *query = head->query + begin * head->query_stride;
        IN_GROUPS(t, count,
                  attend_group_backward(head, transposed, begin + t, group, width, p + t * padded,
                                        out + t * head->output_stride, scores + t * padded,
                                        query_gradient + (begin + t) * head->query_stride))
        IN_GROUPS(s, head->num_keys,
                  attend_keys_backward(head, query, count, s, group, width, begin > 0, scores, p,
                                       out, key_gradient, value_gradient))
        begin += MOST_QUERIES;
    } while (begin < head->num_queries);
}

/* Every position of a sentence attends to its keys, head by head: at most 64 keys, widths of
   whole registers up to 128.

   query: B T rows, `query_stride` apart; keys and values: B S rows, `stride` apart.
   mask: 1 where a key of a sentence is seen, B S; NULL: all are.
   weights: B H T `padded`, S filled up to whole registers; kept for the way back.
   output: B T rows without gaps. */
KERNEL attend_few(const float *query, int64_t query_stride, const float *keys,
                  const float *values, int64_t stride, const uint8_t *mask, int64_t is_causal,
                  int64_t sentences, int64_t heads, int64_t num_queries, int64_t num_keys,
                  int64_t width, float *weights, float *output)
{
    int padded = whole_registers(num_keys);
    for (int64_t b = 0; b < sentences; b++) {
        float bias[MOST_KEYS] = {0};
        for (int64_t s = 0; mask && s < num_keys; s++)
            bias[s] = mask[b * num_keys + s] ? 0 : -INFINITY;
        for (int64_t h = 0; h < heads; h++, weights += num_queries * padded) {
            int64_t at = b * num_queries * query_stride + h * width;
            int64_t place = b * num_keys * stride + h * width;
            Head head = {query + at, keys + place, values + place, query_stride, stride,
                         heads * width, num_queries, num_keys, (int)is_causal, padded};
            float *out = output + (b * num_queries * heads + h) * width;
            if (width == 2 * SIXTEEN)
                attend_head(&head, bias, 2 * SIXTEEN, 1, weights, out);
            else
                attend_head(&head, bias, (int)width, 1, weights, out);
        }
    }
}

/* Every position of a sentence attends to all of them, head by head: `attend_few` for sentences of
   up to 256 positions behind one another, without padding, where nothing is kept for a way back.

   packed: rows of queries, keys and values side by side.
   begins: where each sentence begins, and where the last one ends. */
KERNEL attend_sentences(const float *packed, const int64_t *begins, int64_t sentences,
                        int64_t heads, int64_t width, float *output)
{
    float weights[GROUP * MOST_POSITIONS];
    const float bias[MOST_POSITIONS] = {0};
    int64_t d_model = heads * width, stride = 3 * d_model;
    for (int64_t b = 0; b < sentences; b++) {
        int64_t count = begins[b + 1] - begins[b];
        int padded = whole_registers(count);
        for (int64_t h = 0; h < heads; h++) {
            const float *query = packed + begins[b] * stride + h * width;
            Head head = {query, query + d_model, query + 2 * d_model, stride, stride, d_model,
                         count, count, 0, padded};
            float *out = output + begins[b] * d_model + h * width;
            if (width == 4 * SIXTEEN)
                attend_head(&head, bias, 4 * SIXTEEN, 0, weights, out);
            else if (width == 2 * SIXTEEN)
                attend_head(&head, bias, 2 * SIXTEEN, 0, weights, out);
            else
                attend_head(&head, bias, (int)width, 0, weights, out);
        }
    }
}

/* The gradients of `attend_few`; they lie as query, keys and values do. */
KERNEL attend_few_backward(const float *query, int64_t query_stride, const float *keys,
                           const float *values, int64_t stride, int64_t is_causal,
                           int64_t sentences, int64_t heads, int64_t num_queries,
                           int64_t num_keys, int64_t width, const float *weights,
                           const float *output, float *query_gradient, float *key_gradient,
                           float *value_gradient)
{
    int padded = whole_registers(num_keys);
    for (int64_t b = 0; b < sentences; b++)
        for (int64_t h = 0; h < heads; h++, weights += num_queries * padded) {
            int64_t at = b * num_queries * query_stride + h * width;
            int64_t place = b * num_keys * stride + h * width;
            Head head = {query + at, keys + place, values + place, query_stride, stride,
                         heads * width, num_queries, num_keys, (int)is_causal, padded};
            const float *out = output + (b * num_queries * heads + h) * width;
            if (width == 2 * SIXTEEN)
                attend_head_backward(&head, 2 * SIXTEEN, weights, out, query_gradient + at,
                                     key_gradient + place, value_gradient + place);
            else
                attend_head_backward(&head, (int)width, weights, out, query_gradient + at,
                                     key_gradient + place, value_gradient + place);
        }
}
