/* Dropout in one pass: its mask is made where it is used, from a number and a position. */

#include "registers.h"

typedef uint64_t Words __attribute__((vector_size(64)));
/* Numbers that a register of random bytes is for. */
#define BLOCK 64

/* 64 random bytes, by which block it is: SplitMix64 (Steele et al. 2014) from eight places on. */
INLINE Integers random_block(uint64_t seed, uint64_t block)
{
    Words z = {1, 2, 3, 4, 5, 6, 7, 8};
    z = seed + (z + 8 * block) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (Integers)(z ^ (z >> 31));
}

/* Which of sixteen numbers are kept: those whose byte is at least `dropped`. */
INLINE Integers is_kept(Integers block, int byte, int32_t dropped)
{
    return ((block >> (8 * byte)) & 0xff) >= dropped;
}

/* output = x + y m / (1 - p), where m drops `dropped` numbers of 256; NULL for an x of zeros.

   The same seed gives the same m, so none is kept for the way back. */
KERNEL add_dropped(const float *x, const float *y, int64_t count, uint64_t seed, int64_t dropped,
                   float *output)
{
    float scale = 256.0f / (256 - dropped);
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        Integers block = random_block(seed, begin / BLOCK);
        for (int byte = 0; byte < BLOCK / SIXTEEN; byte++) {
            int64_t i = begin + byte * SIXTEEN, left = count - i;
            if (left <= 0)
                return;
            Integers kept = is_kept(block, byte, dropped);
            if (left >= SIXTEEN) {
                Register sum = choose(kept, load(y + i) * scale, all(0));
                store(output + i, x ? load(x + i) + sum : sum);
            } else
                for (int64_t j = 0; j < left; j++)
                    output[i + j] = (x ? x[i + j] : 0) + (kept[j] ? y[i + j] * scale : 0);
        }
    }
}
