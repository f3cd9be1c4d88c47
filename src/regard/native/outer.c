/* Sums of outer products, the gradient of a matrix, for processors with AVX-512.

       sum[i, j] = Σ_k left[k, i] right[k, j]

   A block of k at a time: of `right` all columns are packed in panels of sixteen, of `left` as many
   as the second cache holds in tiles of ROWS, so that both are read in the order they lie in. They
   are packed as floats, or as pairs of bfloat16 numbers where the processor multiplies these. */

#include "kernels.h"

#if HAS_X86
#include "panels.h"
#if HAS_PAIRS
#include "pairs.h"
#endif

/* Numbers or pairs summed before the sums are put down, and columns of `left` packed at a time. */
#define DEPTH 256
#define COLUMNS 128

/* A tile times some panels, added to the sums of the `rows` and `columns` that are there. */
INLINE AVX512 void add_tile(const float *tile, const float *panel, int64_t depth, int panels,
                            int64_t rows, int64_t columns, int64_t stride, int is_first, int is_low,
                            float *sum)
{
    __m512 sums[ROWS][PANELS];
    UNROLLED for (int r = 0; r < ROWS; r++)
        UNROLLED for (int p = 0; p < panels; p++)
            sums[r][p] = _mm512_setzero_ps();
    /* What they are added to at the end lies far away: it comes while they are made. */
    UNROLLED for (int r = 0; r < ROWS; r++)
        UNROLLED for (int p = 0; p < panels; p++)
            _mm_prefetch((const char *)(sum + r * stride + p * SIXTEEN), _MM_HINT_T0);
    add_products(sums, tile, 1, ROWS, panel, depth, depth, ROWS, panels, is_low);
    UNROLLED for (int p = 0; p < panels; p++) {
        __mmask16 there = first_places(columns - p * SIXTEEN);
        UNROLLED for (int r = 0; r < ROWS; r++)
            if (r < rows) {
                float *place = sum + r * stride + p * SIXTEEN;
                __m512 before = is_first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(there, place);
                _mm512_mask_storeu_ps(place, there, _mm512_add_ps(before, sums[r][p]));
            }
    }
}

/* Packed tiles times some panels. */
INLINE AVX512 void add_panels(const float *tiles, const float *panel, int64_t depth, int panels,
                              int64_t rows, int64_t columns, int64_t stride, int is_first,
                              int is_low, float *sum)
{
    for (int64_t r = 0; r < rows; r += ROWS)
        add_tile(tiles + r * depth, panel, depth, panels, rows - r, columns, stride, is_first,
                 is_low, sum + r * stride);
}

/* Packed tiles times all panels. */
INLINE AVX512 void add_block(const float *tiles, const float *panels, int64_t depth, int64_t rows,
                             int64_t columns, int is_first, int is_low, float *sum)
{
    int64_t c = 0;
    for (; c + PANELS * SIXTEEN <= columns; c += PANELS * SIXTEEN)
        add_panels(tiles, panels + c * depth, depth, PANELS, rows, columns - c, columns, is_first,
                   is_low, sum + c);
    if (c + SIXTEEN < columns) {
        add_panels(tiles, panels + c * depth, depth, 2, rows, columns - c, columns, is_first,
                   is_low, sum + c);
        c += 2 * SIXTEEN;
    }
    if (c < columns)
        add_panels(tiles, panels + c * depth, depth, 1, rows, columns - c, columns, is_first,
                   is_low, sum + c);
}

static AVX512 void add_floats(const float *tiles, const float *panels, int64_t depth, int64_t rows,
                              int64_t columns, int is_first, float *sum)
{
    add_block(tiles, panels, depth, rows, columns, is_first, 0, sum);
}

#if HAS_PAIRS
static AVX512 void add_pairs(const float *tiles, const float *panels, int64_t depth, int64_t rows,
                             int64_t columns, int is_first, float *sum)
{
    add_block(tiles, panels, num_pairs(depth), rows, columns, is_first, 1, sum);
}
#endif

/* How many rows before its use a number is fetched: rows of a wide matrix lie pages apart. */
#define AHEAD 8

/* Sixteen units as the same place of two tiles that follow one another. */
INLINE AVX512 void store_halves(__m512 x, int64_t depth, float *place)
{
    _mm256_storeu_ps(place, _mm512_castps512_ps256(x));
    _mm256_storeu_pd((double *)(place + ROWS * depth),
                     _mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
}

/* tiles[tile, k, j] = matrix[k, j], two tiles of ROWS columns at a time; zeros in the place of
   columns that are not there.

   sum: sum[j] += Σ_k matrix[k, j] on the way; NULL: it is not asked for. */
static AVX512 void copy_tiles(const float *matrix, int64_t stride, int64_t depth, int64_t width,
                              float *sum, float *tiles)
{
    for (int64_t first = 0; first < width; first += SIXTEEN, tiles += SIXTEEN * depth) {
        __mmask16 there = first_places(width - first);
        __m512 total = sum ? _mm512_maskz_loadu_ps(there, sum + first) : _mm512_setzero_ps();
        for (int64_t k = 0; k < depth; k++) {
            const float *row = matrix + k * stride + first;
            _mm_prefetch((const char *)(row + AHEAD * stride), _MM_HINT_T0);
            __m512 x = _mm512_maskz_loadu_ps(there, row);
            total = _mm512_add_ps(total, x);
            store_halves(x, depth, tiles + k * ROWS);
        }
        if (sum)
            _mm512_mask_storeu_ps(sum + first, there, total);
    }
}

#if HAS_PAIRS
/* The same in pairs: tiles[tile, pair, j] = matrix[k, j] and matrix[k + 1, j]. */
static BFLOAT16 void pair_tiles(const float *matrix, int64_t stride, int64_t depth, int64_t width,
                                float *sum, float *tiles)
{
    int64_t pairs = num_pairs(depth);
    for (int64_t first = 0; first < width; first += SIXTEEN, tiles += SIXTEEN * pairs) {
        __mmask16 there = first_places(width - first);
        __m512 total = sum ? _mm512_maskz_loadu_ps(there, sum + first) : _mm512_setzero_ps();
        for (int64_t k = 0; k < depth; k += 2) {
            const float *row = matrix + k * stride + first;
            _mm_prefetch((const char *)(row + AHEAD * stride), _MM_HINT_T0);
            _mm_prefetch((const char *)(row + (AHEAD + 1) * stride), _MM_HINT_T0);
            __m512 one = _mm512_maskz_loadu_ps(there, row);
            __m512 next = _mm512_maskz_loadu_ps(k + 1 < depth ? there : 0, row + stride);
            total = _mm512_add_ps(_mm512_add_ps(total, one), next);
            store_halves(paired(one, next), pairs, tiles + k / 2 * ROWS);
        }
        if (sum)
            _mm512_mask_storeu_ps(sum + first, there, total);
    }
}
#endif

/* The sum over `count` rows of `left` and `right`, instead of or in addition to what is in `sum`.

   is_low: in bfloat16.
   left_sum: the sum of `left` alone is added to this; NULL: it is not asked for.
   space: room for DEPTH rows of `right`, or as many pairs of them, whose width is rounded up to
   sixteen, and for a block of `left` for every thread. */
void sum_outer_products(const float *left, const float *right, int64_t count, int64_t rows,
                        int64_t columns, int64_t adds, int64_t is_low, int64_t threads,
                        float *space, float *left_sum, float *sum)
{
    int64_t width = (columns + SIXTEEN - 1) / SIXTEEN * SIXTEEN;
    float *panels = space, *tiles = space + DEPTH * width;
    void (*pack)(const float *, int64_t, int64_t, int64_t, float *) = copy_columns;
    void (*cut)(const float *, int64_t, int64_t, int64_t, float *, float *) = copy_tiles;
    void (*add)(const float *, const float *, int64_t, int64_t, int64_t, int, float *) = add_floats;
#if HAS_PAIRS
    if (is_low)
        pack = pair_columns, cut = pair_tiles, add = add_pairs;
#endif
    int64_t most = is_low ? 2 * DEPTH : DEPTH, blocks = (rows + COLUMNS - 1) / COLUMNS;
    threads = threads < blocks ? threads : blocks;
    for (int64_t k = 0; k < count; k += most) {
        int64_t depth = count - k < most ? count - k : most;
        pack(right + k * columns, columns, depth, columns, panels);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
        for (int64_t part = 0; part < threads; part++) {
            float *mine = tiles + part * DEPTH * COLUMNS;
            int64_t last = (part + 1) * blocks / threads;
            for (int64_t block = part * blocks / threads; block < last; block++) {
                int64_t r = block * COLUMNS, num = rows - r < COLUMNS ? rows - r : COLUMNS;
                const float *here = left + k * rows + r;
                cut(here, rows, depth, num, left_sum ? left_sum + r : NULL, mine);
                add(mine, panels, depth, num, columns, !adds && k == 0, sum + r * columns);
            }
        }
    }
}
#endif
