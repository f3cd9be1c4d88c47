/* Products of rows with a matrix of 8-bit integers, for processors with AVX512-VNNI.

   It multiplies integers four at a time and adds them up; elsewhere PyTorch does it.

   The instruction multiplies unsigned by signed numbers. So the matrix is kept with 128 added to
   each of its integers, and 128 times the sum of a row of x is taken away again from that row's
   sums. All of this is exact.

   The matrix is packed: sixteen outputs stand together in a panel, and in it four inputs of each. */

#include "registers.h"
#include "kernels.h"

#if !HAS_X86
void can_multiply_integers(int64_t *answer) { *answer = 0; }

/* Never called then. */
void multiply_integers(const float *x, int64_t rows, const IntegerMatrix *matrix, int64_t threads,
                       void *space, float *output)
{
    (void)x, (void)rows, (void)matrix, (void)threads, (void)space, (void)output;
}
#else
#include "wide.h"

#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define PANEL 16
#define QUAD 4
#define SHIFT 128
/* Rows and panels whose sums are kept in registers together. */
#define ROWS 6
#define PANELS 4
/* What a row is scaled to, and by at least. */
#define LARGEST 127
#define SMALLEST 1e-30f
/* Multiplications from which a second thread is worth waking. */
#define WORTH_A_THREAD (1 << 16)

void can_multiply_integers(int64_t *answer)
{
    *answer = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

/* packed[panel, quad, output, input] = weight[output, input] + 128; what fills the last panel up
   is zero.

   chosen: which rows of the matrix the outputs are; NULL: all, in order. */
void pack_integers(const int8_t *weight, const int64_t *chosen, int64_t outputs, int64_t inputs,
                   uint8_t *packed)
{
    for (int64_t first = 0; first < outputs; first += PANEL)
        for (int64_t i = 0; i < inputs; i += QUAD)
            for (int64_t f = first; f < first + PANEL; f++, packed += QUAD) {
                uint32_t quad = 0;
                if (f < outputs)
                    memcpy(&quad, weight + (chosen ? chosen[f] : f) * inputs + i, QUAD);
                quad ^= 0x80808080; /* adds 128 to each of the four */
                memcpy(packed, &quad, QUAD);
            }
}

/* Rows of integers, what each is to be multiplied by, and 128 times its sum. */
typedef struct {
    const int8_t *values;
    const float *scale;
    const int32_t *shift;
} Rows;

/* Turn rows into integers, in a space of inputs + 8 bytes a row. */
static Rows to_integers(const float *x, int64_t rows, int64_t inputs, void *space)
{
    float *scale = space;
    int32_t *shift = (int32_t *)(scale + rows);
    int8_t *values = (int8_t *)(shift + rows);
    quantise_rows(x, rows, inputs, LARGEST, SMALLEST, values, scale);
    for (int64_t r = 0; r < rows; r++) {
        int32_t sum = 0;
        for (int64_t i = 0; i < inputs; i++)
            sum += values[r * inputs + i];
        shift[r] = SHIFT * sum;
    }
    return (Rows){values, scale, shift};
}

/* output[f] = (sum[f] - shift) scale[f] row_scale + bias[f] for the outputs of a panel. */
INLINE VNNI void finish(__m512i sum, Rows x, int64_t row, const IntegerMatrix *matrix,
                        int64_t panel, int64_t stride, float *output)
{
    int64_t f = panel * PANEL, left = matrix->outputs - f;
    __mmask16 there = left < PANEL ? (__mmask16)((1 << left) - 1) : (__mmask16)0xffff;
    __m512 scale = _mm512_maskz_loadu_ps(there, matrix->scale + f);
    __m512 bias = matrix->bias ? _mm512_maskz_loadu_ps(there, matrix->bias + f)
                               : _mm512_setzero_ps();
    sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(x.shift[row]));
    __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
    __m512 number = _mm512_fmadd_ps(scaled, _mm512_set1_ps(x.scale[row]), bias);
    _mm512_mask_storeu_ps(output + row * stride + f, there, number);
}

/* sums += the four inputs of each output times the same four numbers of a row. The intrinsic says
   the same, but GCC 12 copies the sums to memory and back around it. */
INLINE VNNI void add_quads(__m512i *sums, __m512i weights, __m512i four)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sums) : "v"(weights), "v"(four));
}

/* Some rows times some panels. */
INLINE VNNI void multiply_tile(Rows x, const IntegerMatrix *matrix, int64_t row, int64_t panel,
                               int rows, int panels, int64_t stride, float *output)
{
    int64_t depth = matrix->inputs;
    const int8_t *values = x.values + row * depth;
    const uint8_t *packed = matrix->packed + panel * PANEL * depth;
    __m512i sums[ROWS][PANELS];
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int p = 0; p < panels; p++)
            sums[r][p] = _mm512_setzero_si512();
    for (int64_t i = 0; i < depth; i += QUAD) {
        __m512i weights[PANELS];
        UNROLLED for (int p = 0; p < panels; p++)
            weights[p] = _mm512_loadu_si512(packed + (p * depth + i) * PANEL);
        UNROLLED for (int r = 0; r < rows; r++) {
            int32_t quad;
            memcpy(&quad, values + r * depth + i, QUAD);
            __m512i four = _mm512_set1_epi32(quad);
            UNROLLED for (int p = 0; p < panels; p++)
                add_quads(&sums[r][p], weights[p], four);
        }
    }
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int p = 0; p < panels; p++)
            finish(sums[r][p], x, row + r, matrix, panel + p, stride, output);
}

/* All rows times some panels, which stay in the cache meanwhile. */
INLINE VNNI void multiply_panels(Rows x, const IntegerMatrix *matrix, int64_t rows,
                                 int64_t first_panel, int panels, int64_t stride, float *output)
{
    int64_t r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        multiply_tile(x, matrix, r, first_panel, ROWS, panels, stride, output);
    for (; r + 4 <= rows; r += 4)
        multiply_tile(x, matrix, r, first_panel, 4, panels, stride, output);
    for (; r + 2 <= rows; r += 2)
        multiply_tile(x, matrix, r, first_panel, 2, panels, stride, output);
    for (; r < rows; r++)
        multiply_tile(x, matrix, r, first_panel, 1, panels, stride, output);
}

/* All rows times the panels from the `first` to before the `last`. */
static VNNI void multiply_part(Rows x, const IntegerMatrix *matrix, int64_t rows, int64_t first,
                               int64_t last, int64_t stride, float *output)
{
    int64_t panel = first;
    for (; panel + PANELS <= last; panel += PANELS)
        multiply_panels(x, matrix, rows, panel, PANELS, stride, output);
    for (; panel < last; panel++)
        multiply_panels(x, matrix, rows, panel, 1, stride, output);
}

static int64_t panels_of(int64_t outputs) { return (outputs + PANEL - 1) / PANEL; }

/* output = x W' + bias, x turned into integers row by row. */
void multiply_integers(const float *x, int64_t rows, const IntegerMatrix *matrix, int64_t threads,
                       void *space, float *output)
{
    int64_t panels = panels_of(matrix->outputs);
    Rows integers = to_integers(x, rows, matrix->inputs, space);
    if (rows * matrix->outputs * matrix->inputs < WORTH_A_THREAD)
        threads = 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t part = 0; part < threads; part++)
        multiply_part(integers, matrix, rows, part * panels / threads,
                      (part + 1) * panels / threads, matrix->outputs, output);
}

/* The rows of each sentence times a matrix of its own: that of sentence b is the one at places[b],
   the first counts[places[b]] of its outputs count, and the others are -infinity.

   matrices: all of them behind one another, `outputs` of each, whole panels. */
void multiply_own_integers(const float *x, int64_t sentences, int64_t lanes,
                           const IntegerMatrix *matrices, const int64_t *places,
                           const int64_t *counts, void *space, float *output)
{
    int64_t outputs = matrices->outputs, inputs = matrices->inputs;
    for (int64_t b = 0; b < sentences; b++) {
        int64_t place = places[b], first = place * outputs;
        IntegerMatrix own = {matrices->packed + first * inputs, matrices->scale + first,
                             matrices->bias ? matrices->bias + first : NULL, counts[place], inputs};
        Rows integers = to_integers(x + b * lanes * inputs, lanes, inputs, space);
        float *out = output + b * lanes * outputs;
        multiply_part(integers, &own, lanes, 0, panels_of(own.outputs), outputs, out);
        for (int64_t r = 0; r < lanes; r++)
            for (int64_t f = own.outputs; f < outputs; f++)
                out[r * outputs + f] = -INFINITY;
    }
}
#endif
