/* What kernels for AVX-512 share. */

#ifndef REGARD_WIDE_H
#define REGARD_WIDE_H

#include <immintrin.h>

#include "registers.h"

#define AVX512 __attribute__((target("avx512f")))
/* Loops over sums that are to stay in registers. */
#define UNROLLED _Pragma("GCC unroll 8")

/* The places of a register that `left` numbers fill, of none on, from the first. */
INLINE __mmask16 first_places(int64_t left)
{
    return left < SIXTEEN ? (__mmask16)((1 << left) - 1) : (__mmask16)0xffff;
}

/* sum + number · weight; of pairs of bfloat16 numbers, the products of both. */
INLINE AVX512 __m512 add_product(__m512 sum, __m512 number, __m512 weight, int is_low)
{
    if (!is_low)
        return _mm512_fmadd_ps(number, weight, sum);
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(number), "v"(weight));
    return sum;
}

#endif
