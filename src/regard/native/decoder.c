/* A step of a Transformer's decoder in one call.

   For a single sentence the products of a step take microseconds each, and so does the way from
   Python to each of them. What runs here is what `decoding.compact` runs, in the same order, where
   all layers are alike and the activation is ReLU. */

#include "registers.h"
#include "kernels.h"

/* y = x W' + b, a matrix of outputs times inputs.

   One of three is there: packed integers, packed floats, or the floats as they were. */
typedef struct {
    int64_t outputs, inputs;
    const IntegerMatrix *integers;
    const FloatMatrix *floats;
    const float *weight, *bias;
} Product;

/* y = (x - mean) / sqrt(variance + epsilon) * weight + bias. */
typedef struct {
    const float *weight, *bias;
    double epsilon;
} Norm;

/* The products of a layer, and the norms around its three parts.

   project: queries, keys and values of self-attention side by side. */
typedef struct {
    Product project, output, query, memory_output, inner, outer;
    Norm norms[3];
} Block;

/* The rows, `sentences` times `lanes` of them, and what they see.

   past: of each layer keys, then values: sentence, head, `room` places, width.
   stored: how many sentences there are in past and memory.
   blocks: which of them each sentence is; NULL: they are in order.
   places: those of its past that each row sees, `num_seen` of them; NULL: the first.
   keys, values: of each layer's memory: sentence, head, `num_source` places, width.
   lengths: of the sources, without padding; NULL: all are `num_source` long. */
typedef struct {
    int64_t sentences, lanes, stored, num_slots, room, num_seen, num_source, threads;
    float *const *past;
    const int64_t *blocks;
    const int32_t *places;
    const float *const *keys, *const *values;
    const int64_t *lengths;
} Step;

/* Where a step keeps what it has not finished. */
typedef struct {
    float *input, *packed, *found, *hidden, *weights;
    void *integers;
} Space;

static void apply(const Product *product, const Step *step, const Space *space, const float *x,
                  float *output)
{
    int64_t rows = step->sentences * step->lanes;
    if (product->integers)
        multiply_integers(x, rows, product->integers, step->threads, space->integers, output);
    else if (product->floats)
        multiply_floats(x, rows, product->floats, NULL, step->threads, output);
    else
        multiply_rows(x, rows, product->weight, product->bias, product->outputs, product->inputs,
                      step->threads, output);
}

/* x and output may be the same. */
static KERNEL normalise(const Norm *norm, const float *x, int64_t rows, int64_t width, float *output)
{
    for (int64_t r = 0; r < rows; r++, x += width, output += width) {
        float sum = 0, squares = 0;
        Register sums = {0}, all_squares = {0};
        int64_t whole = width / SIXTEEN * SIXTEEN;
        for (int64_t i = 0; i < whole; i += SIXTEEN)
            sums += load(x + i);
        for (int64_t i = whole; i < width; i++)
            sum += x[i];
        float mean = (sum + sum_of(sums)) / width;
        for (int64_t i = 0; i < whole; i += SIXTEEN) {
            Register far = load(x + i) - mean;
            all_squares += far * far;
        }
        for (int64_t i = whole; i < width; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        float scale = 1 / sqrtf((squares + sum_of(all_squares)) / width + (float)norm->epsilon);
        for (int64_t i = 0; i < width; i++)
            output[i] = (x[i] - mean) * scale * norm->weight[i] + norm->bias[i];
    }
}

/* Put the keys and values of this step behind those of the past. */
static void remember(const Step *step, const float *packed, int64_t heads, int64_t width,
                     float *past)
{
    int64_t d_model = heads * width, rows = step->sentences * step->lanes;
    int64_t first = step->num_slots - step->lanes;
    for (int64_t part = 0; part < 2; part++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t h = 0; h < heads; h++) {
                int64_t sentence = row / step->lanes;
                int64_t stored = step->blocks ? step->blocks[sentence] : sentence;
                int64_t block = (part * step->stored + stored) * heads + h;
                int64_t slot = first + row % step->lanes;
                memcpy(past + (block * step->room + slot) * width,
                       packed + row * 3 * d_model + (1 + part) * d_model + h * width,
                       width * sizeof *past);
            }
}

static void attend_to_self(const Block *block, const Step *step, int64_t heads, int64_t layer,
                           const float *x, const Space *space, float *output)
{
    int64_t d_model = block->output.outputs, width = d_model / heads;
    float *past = step->past[layer];
    apply(&block->project, step, space, x, space->packed);
    remember(step, space->packed, heads, width, past);
    attend_rows(space->packed, 3 * d_model, past,
                past + step->stored * heads * step->room * width, step->room, step->blocks,
                step->places, NULL, step->num_seen, step->sentences, step->lanes, heads, width,
                space->weights, space->found);
    apply(&block->output, step, space, space->found, output);
}

static void attend_to_memory(const Block *block, const Step *step, int64_t heads, int64_t layer,
                             const float *x, const Space *space, float *output)
{
    int64_t d_model = block->output.outputs;
    apply(&block->query, step, space, x, space->packed);
    attend_rows(space->packed, d_model, step->keys[layer], step->values[layer],
                step->num_source, step->blocks, NULL, step->lengths, step->num_source, step->sentences,
                step->lanes, heads, d_model / heads, space->weights, space->found);
    apply(&block->memory_output, step, space, space->found, output);
}

static void feed_forward(const Block *block, const Step *step, const float *x,
                         const Space *space, float *output)
{
    int64_t size = step->sentences * step->lanes * block->inner.outputs;
    apply(&block->inner, step, space, x, space->hidden);
    for (int64_t i = 0; i < size; i++)
        space->hidden[i] = space->hidden[i] < 0 ? 0 : space->hidden[i];
    apply(&block->outer, step, space, space->hidden, output);
}

/* x, embedded tokens, become what the last layer leaves.

   A part of a layer is x + part(norm(x)) where norms come first, norm(x + part(x)) elsewhere.
   numbers: space for what is not finished: of every row a part's output, its input, queries with
   keys and values, what attention found, the inner layer; the weights of one query, `longest` of
   them; and each row's widest input as integers, eight bytes more. */
void step_rows(const Block *blocks, int64_t num_blocks, int64_t is_pre, int64_t heads,
               int64_t longest, const Step *step, float *x, float *numbers)
{
    int64_t rows = step->sentences * step->lanes, d_model = blocks->output.outputs;
    int64_t size = rows * d_model;
    float *output = numbers, *packed = numbers + 2 * size;
    Space space = {numbers + size, packed, packed + 3 * size, packed + 4 * size, NULL, NULL};
    space.weights = space.hidden + rows * blocks->inner.outputs;
    space.integers = space.weights + longest;
    for (int64_t layer = 0; layer < num_blocks; layer++) {
        const Block *block = blocks + layer;
        for (int part = 0; part < 3; part++) {
            const float *input = x;
            if (is_pre) {
                normalise(&block->norms[part], x, rows, d_model, space.input);
                input = space.input;
            }
            if (part == 0)
                attend_to_self(block, step, heads, layer, input, &space, output);
            else if (part == 1)
                attend_to_memory(block, step, heads, layer, input, &space, output);
            else
                feed_forward(block, step, input, &space, output);
            for (int64_t i = 0; i < size; i++)
                x[i] += output[i];
            if (!is_pre)
                normalise(&block->norms[part], x, rows, d_model, x);
        }
    }
}
