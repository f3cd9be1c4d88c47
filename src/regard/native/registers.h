/* Sixteen floats at a time.

   Kernels compute with registers of sixteen floats. The compiler makes one version of every kernel
   for AVX-512, one for AVX2 and one for any processor, and the right one is chosen when the library
   is loaded. */

#ifndef REGARD_REGISTERS_H
#define REGARD_REGISTERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define KERNEL __attribute__((target_clones("avx512f", "avx2", "default"))) void
#else
#define KERNEL void
#endif
#define INLINE static inline __attribute__((always_inline))

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

INLINE Quarter quarter_of(Register x)
{
    union { Register whole; Half halves[2]; } first = {x};
    union { Half whole; Quarter quarters[2]; } second = {first.halves[0] + first.halves[1]};
    return second.quarters[0] + second.quarters[1];
}

INLINE float sum_of(Register x)
{
    Quarter four = quarter_of(x);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Four numbers out of eight: those of a are 0 to 3, those of b 4 to 7. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t Places __attribute__((vector_size(16)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (Places){__VA_ARGS__})
#endif

/* Four rows of four numbers become its columns. */
INLINE void transpose_quarters(Quarter x[4])
{
    Quarter a = PICK(x[0], x[1], 0, 4, 1, 5), b = PICK(x[2], x[3], 0, 4, 1, 5);
    Quarter c = PICK(x[0], x[1], 2, 6, 3, 7), d = PICK(x[2], x[3], 2, 6, 3, 7);
    x[0] = PICK(a, b, 0, 1, 4, 5), x[1] = PICK(a, b, 2, 3, 6, 7);
    x[2] = PICK(c, d, 0, 1, 4, 5), x[3] = PICK(c, d, 2, 3, 6, 7);
}

/* The sums of four registers. */
INLINE Quarter sums_of(const Register x[GROUP])
{
    Quarter a = quarter_of(x[0]), b = quarter_of(x[1]), c = quarter_of(x[2]), d = quarter_of(x[3]);
    Quarter ab = PICK(a, b, 0, 4, 1, 5) + PICK(a, b, 2, 6, 3, 7);
    Quarter cd = PICK(c, d, 0, 4, 1, 5) + PICK(c, d, 2, 6, 3, 7);
    return PICK(ab, cd, 0, 1, 4, 5) + PICK(ab, cd, 2, 3, 6, 7);
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

#endif
