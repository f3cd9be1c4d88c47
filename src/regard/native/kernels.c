/* Attention, log-softmax, best continuations, floats to integers and back.

   Each of these inner loops does on one core, in one pass over memory, what a few lines of Python
   beside it do with tensors, and is tested equal to them (tests/native). They compute with
   registers of sixteen floats; the compiler makes one version of every kernel for AVX-512, one for
   AVX2 and one for any processor, and the right one is chosen when the library is loaded. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define KERNEL __attribute__((target_clones("avx512f", "avx2", "default"))) void
#else
#define KERNEL void
#endif
#define INLINE static inline __attribute__((always_inline))

/* --- Registers -------------------------------------------------------------------------------- */

#define SIXTEEN 16
/* Rows taken together, so that what is loaded for one serves all, and none waits for another. */
#define GROUP 4

typedef float Register __attribute__((vector_size(64)));
typedef float Half __attribute__((vector_size(32)));
typedef float Quarter __attribute__((vector_size(16)));
typedef int32_t Integers __attribute__((vector_size(64)));

INLINE Register load(const float *x)
{
    Register loaded;
    memcpy(&loaded, x, sizeof loaded);
    return loaded;
}

INLINE void store(float *x, Register numbers) { memcpy(x, &numbers, sizeof numbers); }

INLINE Register all(float x) { return x - (Register){0}; }

/* The first `count` of sixteen, and a number in the place of the others. */
INLINE Register load_some(const float *x, int64_t count, float others)
{
    float loaded[SIXTEEN];
    store(loaded, all(others));
    memcpy(loaded, x, count * sizeof *x);
    return load(loaded);
}

/* `yes` where a comparison was true, `no` elsewhere. */
INLINE Register choose(Integers is_true, Register yes, Register no)
{
    return (Register)(((Integers)yes & is_true) | ((Integers)no & ~is_true));
}

INLINE Register larger(Register a, Register b) { return choose(a > b, a, b); }

INLINE float larger_of(float a, float b) { return a > b ? a : b; }

INLINE Register absolute(Register x) { return (Register)((Integers)x & 0x7fffffff); }

INLINE float sum_of(Register x)
{
    union { Register whole; Half halves[2]; } first = {x};
    union { Half whole; Quarter quarters[2]; } second = {first.halves[0] + first.halves[1]};
    Quarter four = second.quarters[0] + second.quarters[1];
    return (four[0] + four[1]) + (four[2] + four[3]);
}

INLINE float largest_of(Register x)
{
    union { Register whole; Half halves[2]; } first = {x};
    union { Half whole; Quarter quarters[2]; } second;
    Half a = first.halves[0], b = first.halves[1];
    __typeof__(a > b) is_a = a > b;
    second.whole = (Half)(((__typeof__(is_a))a & is_a) | ((__typeof__(is_a))b & ~is_a));
    Quarter c = second.quarters[0], d = second.quarters[1];
    return larger_of(larger_of(larger_of(c[0], d[0]), larger_of(c[1], d[1])),
                     larger_of(larger_of(c[2], d[2]), larger_of(c[3], d[3])));
}

/* e^x for x <= 0, to a unit or two in the last place: 2^n by its bits, 2^f by Taylor's series. */
INLINE Register exponential(Register x)
{
    Register t = choose(x < -87.0f, all(-87.0f), x) * 1.44269504f;
    Integers n = __builtin_convertvector(t - 0.5f, Integers);
    Register f = t - __builtin_convertvector(n, Register);
    Register power = 1.0f + f * (6.93147181e-1f + f * (2.40226507e-1f + f * (5.55041087e-2f
                   + f * (9.61812911e-3f + f * (1.33335581e-3f + f * 1.54035304e-4f)))));
    return power * (Register)((n + 127) << 23);
}

/* --- The end of a decoding step --------------------------------------------------------------- */

/* The largest of a row, or of the absolute values. Four registers, for they do not wait for
   each other. */
INLINE float largest_in(const float *x, int64_t count, int of_absolute)
{
    Register best[4] = {all(-INFINITY), all(-INFINITY), all(-INFINITY), all(-INFINITY)};
    int64_t i = 0;
    for (; i + 4 * SIXTEEN <= count; i += 4 * SIXTEEN)
        for (int j = 0; j < 4; j++) {
            Register here = load(x + i + j * SIXTEEN);
            best[j] = larger(of_absolute ? absolute(here) : here, best[j]);
        }
    for (; i < count; i += SIXTEEN) {
        Register here = i + SIXTEEN <= count ? load(x + i)
                                             : load_some(x + i, count - i, of_absolute ? 0 : -INFINITY);
        best[0] = larger(of_absolute ? absolute(here) : here, best[0]);
    }
    return largest_of(larger(larger(best[0], best[1]), larger(best[2], best[3])));
}

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

/* --- Products --------------------------------------------------------------------------------- */

/* output = x W' + bias for one row x: the matrix is read once, from its first number to its last. */
KERNEL multiply_row(const float *x, const float *weight, const float *bias, int64_t outputs,
                    int64_t width, float *output)
{
    for (int64_t f = 0; f < outputs; f++, weight += width) {
        Register sums[GROUP] = {{0}};
        int64_t i = 0;
        for (; i + GROUP * SIXTEEN <= width; i += GROUP * SIXTEEN)
            for (int g = 0; g < GROUP; g++)
                sums[g] += load(x + i + g * SIXTEEN) * load(weight + i + g * SIXTEEN);
        float sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (; i < width; i++)
            sum += x[i] * weight[i];
        output[f] = bias ? sum + bias[f] : sum;
    }
}

/* --- 8-bit integers --------------------------------------------------------------------------- */

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

/* --- Attention -------------------------------------------------------------------------------- */

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
    softmax(weights, count, (count + SIXTEEN - 1) / SIXTEEN * SIXTEEN);
    for (int i = 0; i < whole; i += SIXTEEN) {
        Register mean = {0};
        for (int64_t j = 0; j < count; j++)
            mean += weights[j] * load(values + (places ? places[j] : j) * (int64_t)width + i);
        store(output + i, mean);
    }
    for (int i = whole; i < width; i++) {
        float mean = 0;
        for (int64_t j = 0; j < count; j++)
            mean += weights[j] * values[(places ? places[j] : j) * (int64_t)width + i];
        output[i] = mean;
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

#define MOST_KEYS 64
#define MOST_WIDTH 128

/* x, some rows of `width` numbers, as `width` rows of `padded` numbers, zeros behind the last. */
INLINE void transpose(const float *x, int64_t stride, int64_t rows, int width, int padded,
                      float *transposed)
{
    for (int i = 0; i < width; i++)
        for (int64_t s = 0; s < padded; s++)
            transposed[i * padded + s] = s < rows ? x[s * stride + i] : 0;
}

/* A head of a sentence: where its queries, keys and values lie, and how many there are. */
typedef struct {
    const float *query, *keys, *values;
    int64_t query_stride, stride, output_stride, num_queries, num_keys;
    int is_causal, padded;
} Head;

/* products[g, s] = x[g] y[s] for a few rows x and all rows y, which are given transposed. */
INLINE void multiply(const float *x, int64_t stride, const float *transposed, int group, int padded,
                     int width, float *products)
{
    for (int s = 0; s < padded; s += SIXTEEN) {
        Register sums[GROUP] = {{0}};
        for (int i = 0; i < width; i++) {
            Register y = load(transposed + i * padded + s);
            for (int g = 0; g < group; g++)
                sums[g] += x[g * stride + i] * y;
        }
        for (int g = 0; g < group; g++)
            store(products + g * padded + s, sums[g]);
    }
}

/* Some queries together, from the `first` on, so that what is loaded for one serves all. */
INLINE void attend_group(const Head *head, const float *transposed, const float *bias,
                         int64_t first, int group, int width, float *weights, float *output)
{
    float shrink = 1.0f / sqrtf((float)width);
    int padded = head->padded;
    int64_t most = head->is_causal ? first + group : head->num_keys;
    multiply(head->query + first * head->query_stride, head->query_stride, transposed, group,
             padded, width, weights);
    for (int g = 0; g < group; g++) {
        float *scores = weights + g * padded;
        for (int s = 0; s < padded; s += SIXTEEN)
            store(scores + s, load(scores + s) * shrink + load(bias + s));
        softmax(scores, head->is_causal ? first + g + 1 : head->num_keys, padded);
    }
    for (int i = 0; i < width; i += SIXTEEN) {
        Register means[GROUP] = {{0}};
        for (int64_t s = 0; s < most; s++) {
            Register value = load(head->values + s * head->stride + i);
            for (int g = 0; g < group; g++)
                means[g] += weights[g * padded + s] * value;
        }
        for (int g = 0; g < group; g++)
            store(output + g * head->output_stride + i, means[g]);
    }
}

/* weights: T rows of `padded` numbers. */
INLINE void attend_head(const Head *head, const float *bias, int width, float *weights,
                        float *output)
{
    float transposed[MOST_WIDTH * MOST_KEYS];
    transpose(head->keys, head->stride, head->num_keys, width, head->padded, transposed);
    int64_t t = 0;
    for (; t + GROUP <= head->num_queries; t += GROUP)
        attend_group(head, transposed, bias, t, GROUP, width, weights + t * head->padded,
                     output + t * head->output_stride);
    for (; t < head->num_queries; t++)
        attend_group(head, transposed, bias, t, 1, width, weights + t * head->padded,
                     output + t * head->output_stride);
}

INLINE void attend_group_backward(const Head *head, const float *transposed, int64_t first,
                                  int group, int width, const float *weights, const float *output,
                                  float *query_gradient, float *of_keys, float *of_values)
{
    float scores[GROUP * MOST_KEYS];
    float shrink = 1.0f / sqrtf((float)width);
    int padded = head->padded;
    int64_t most = head->is_causal ? first + group : head->num_keys;
    const float *query = head->query + first * head->query_stride;
    multiply(output, head->output_stride, transposed, group, padded, width, scores);
    for (int g = 0; g < group; g++) {
        Register both = {0};
        for (int s = g * padded; s < (g + 1) * padded; s += SIXTEEN)
            both += load(scores + s) * load(weights + s);
        float mean = sum_of(both);
        for (int s = g * padded; s < (g + 1) * padded; s += SIXTEEN)
            store(scores + s, load(weights + s) * (load(scores + s) - mean) * shrink);
    }
    for (int i = 0; i < width; i += SIXTEEN) {
        Register gradients[GROUP] = {{0}}, queries[GROUP], outputs[GROUP];
        for (int g = 0; g < group; g++) {
            queries[g] = load(query + g * head->query_stride + i);
            outputs[g] = load(output + g * head->output_stride + i);
        }
        for (int64_t s = 0; s < most; s++) {
            Register key = load(head->keys + s * head->stride + i);
            Register of_key = load(of_keys + s * width + i);
            Register of_value = load(of_values + s * width + i);
            for (int g = 0; g < group; g++) {
                gradients[g] += scores[g * padded + s] * key;
                of_key += scores[g * padded + s] * queries[g];
                of_value += weights[g * padded + s] * outputs[g];
            }
            store(of_keys + s * width + i, of_key);
            store(of_values + s * width + i, of_value);
        }
        for (int g = 0; g < group; g++)
            store(query_gradient + g * head->query_stride + i, gradients[g]);
    }
}

/* The gradients of one head of one sentence, from its weights P and the gradient dO of its output:

       dP = dO V'     dS = P (dP - sum P dP) / sqrt K     dQ = dS K     dK = dS' Q     dV = P' dO */
INLINE void attend_head_backward(const Head *head, int width, const float *weights,
                                 const float *output, float *query_gradient, float *key_gradient,
                                 float *value_gradient)
{
    float transposed[MOST_WIDTH * MOST_KEYS];
    float of_keys[MOST_WIDTH * MOST_KEYS], of_values[MOST_WIDTH * MOST_KEYS];
    transpose(head->values, head->stride, head->num_keys, width, head->padded, transposed);
    memset(of_keys, 0, head->num_keys * width * sizeof *of_keys);
    memset(of_values, 0, head->num_keys * width * sizeof *of_values);
    int64_t t = 0;
    for (; t + GROUP <= head->num_queries; t += GROUP)
        attend_group_backward(head, transposed, t, GROUP, width, weights + t * head->padded,
                              output + t * head->output_stride,
                              query_gradient + t * head->query_stride, of_keys, of_values);
    for (; t < head->num_queries; t++)
        attend_group_backward(head, transposed, t, 1, width, weights + t * head->padded,
                              output + t * head->output_stride,
                              query_gradient + t * head->query_stride, of_keys, of_values);
    for (int64_t s = 0; s < head->num_keys; s++) {
        int64_t place = s * head->stride;
        memcpy(key_gradient + place, of_keys + s * width, width * sizeof *of_keys);
        memcpy(value_gradient + place, of_values + s * width, width * sizeof *of_values);
    }
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
    int padded = (int)(num_keys + SIXTEEN - 1) / SIXTEEN * SIXTEEN;
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
                attend_head(&head, bias, 2 * SIXTEEN, weights, out);
            else
                attend_head(&head, bias, (int)width, weights, out);
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
    int padded = (int)(num_keys + SIXTEEN - 1) / SIXTEEN * SIXTEEN;
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
