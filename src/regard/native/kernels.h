/* The kernels that call each other. */

#ifndef REGARD_KERNELS_H
#define REGARD_KERNELS_H

#include <stdint.h>

/* Whether there may be instructions of x86 to choose among when the library is loaded. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(REGARD_PORTABLE)
#define HAS_X86 1
#else
#define HAS_X86 0
#endif

/* Whether the compiler also knows those for bfloat16. */
#if HAS_X86 && (__clang_major__ >= 9 || (!defined(__clang__) && __GNUC__ >= 11))
#define HAS_PAIRS 1
#else
#define HAS_PAIRS 0
#endif

/* A matrix packed by `pack_floats` or, its inputs in pairs, by `pack_pairs`; without a bias, that is
   NULL. */
typedef struct {
    const float *packed, *bias;
    int64_t outputs, inputs;
} FloatMatrix;

/* A matrix of 8-bit integers, packed by `pack_integers`, with a scale for every output. */
typedef struct {
    const uint8_t *packed;
    const float *scale, *bias;
    int64_t outputs, inputs;
} IntegerMatrix;

void multiply_rows(const float *x, int64_t rows, const float *weight, const float *bias,
                   int64_t outputs, int64_t width, int64_t threads, float *output);

void pack_floats(const float *weight, int64_t outputs, int64_t inputs, float *packed);

void multiply_floats(const float *x, int64_t rows, const FloatMatrix *matrix, const float *gate,
                     int64_t threads, float *output);

void quantise_rows(const float *x, int64_t rows, int64_t width, float largest, float smallest,
                   int8_t *values, float *scale);

void multiply_integers(const float *x, int64_t rows, const IntegerMatrix *matrix, int64_t threads,
                       void *space, float *output);

void attend_rows(const float *query, int64_t stride, const float *keys, const float *values,
                 int64_t room, const int64_t *blocks, const int32_t *places,
                 const int64_t *lengths, int64_t most, int64_t sentences, int64_t lanes,
                 int64_t heads, int64_t width, float *weights, float *output);

#endif
