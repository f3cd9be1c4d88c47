/* A step of a Transformer's decoder for few rows, in one call.

   For a single sentence the products of a step take microseconds each, and so does the way from
   Python to each of them. What runs here is what `decoding.compact` runs, in the same order. */

#include "registers.h"
#include "kernels.h"

/* y = x W' + b, a matrix of outputs times inputs. */
typedef struct {
    const float *weight, *bias;
    int64_t outputs, inputs;
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
   places: those of its past that each row sees, `num_seen` of them; NULL: the first.
   keys, values: of each layer's memory: sentence, head, `num_source` places, width.
   lengths: of the sources, without padding; NULL: all are `num_source` long. */
typedef struct {
    int64_t sentences, lanes, num_slots, room, num_seen, num_source, threads;
    float *const *past;
    const int32_t *places;
    const float *const *keys, *const *values;
    const int64_t *lengths;
} Sight;

static void multiply(const Product *product, const Sight *sight, const float *x, float *output)
{
    multiply_rows(x, sight->sentences * sight->lanes, product->weight, product->bias,
                  product->outputs, product->inputs, sight->threads, output);
}

KERNEL normalise(const float *x, int64_t rows, int64_t width, const float *weight,
                 const float *bias, float epsilon, float *output)
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
        float share = 1 / sqrtf((squares + sum_of(all_squares)) / width + epsilon);
        for (int64_t i = 0; i < width; i++)
            output[i] = (x[i] - mean) * share * weight[i] + bias[i];
    }
}

static void apply(const Norm *norm, const float *x, int64_t rows, int64_t width, float *output)
{
    normalise(x, rows, width, norm->weight, norm->bias, (float)norm->epsilon, output);
}

/* Put the keys and values of this step behind those of the past. */
static void remember(const Sight *sight, const float *packed, int64_t heads, int64_t width,
                     float *past)
{
    int64_t d_model = heads * width, rows = sight->sentences * sight->lanes;
    int64_t first = sight->num_slots - sight->lanes;
    for (int64_t part = 0; part < 2; part++)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t h = 0; h < heads; h++) {
                int64_t block = (part * sight->sentences + row / sight->lanes) * heads + h;
                int64_t slot = first + row % sight->lanes;
                memcpy(past + (block * sight->room + slot) * width,
                       packed + row * 3 * d_model + (1 + part) * d_model + h * width,
                       width * sizeof *past);
            }
}

/* Where a step keeps what it has not finished. */
typedef struct {
    float *input, *packed, *found, *hidden, *weights;
} Space;

static void attend_to_self(const Block *block, const Sight *sight, int64_t heads, int64_t layer,
                           const float *x, const Space *space, float *output)
{
    int64_t d_model = block->output.outputs, width = d_model / heads;
    float *past = sight->past[layer];
    multiply(&block->project, sight, x, space->packed);
    remember(sight, space->packed, heads, width, past);
    attend_rows(space->packed, 3 * d_model, past,
                past + sight->sentences * heads * sight->room * width, sight->room, sight->places,
                NULL, sight->num_seen, sight->sentences, sight->lanes, heads, width,
                space->weights, space->found);
    multiply(&block->output, sight, space->found, output);
}

static void attend_to_memory(const Block *block, const Sight *sight, int64_t heads, int64_t layer,
                             const float *x, const Space *space, float *output)
{
    int64_t d_model = block->output.outputs;
    multiply(&block->query, sight, x, space->packed);
    attend_rows(space->packed, d_model, sight->keys[layer], sight->values[layer],
                sight->num_source, NULL, sight->lengths, sight->num_source, sight->sentences,
                sight->lanes, heads, d_model / heads, space->weights, space->found);
    multiply(&block->memory_output, sight, space->found, output);
}

static void feed_forward(const Block *block, const Sight *sight, const float *x,
                         const Space *space, float *output)
{
    int64_t size = sight->sentences * sight->lanes * block->inner.outputs;
    multiply(&block->inner, sight, x, space->hidden);
    for (int64_t i = 0; i < size; i++)
        space->hidden[i] = space->hidden[i] < 0 ? 0 : space->hidden[i];
    multiply(&block->outer, sight, space->hidden, output);
}

/* x, embedded tokens, become what the last layer leaves.

   A part of a layer is x + part(norm(x)) where norms come first, norm(x + part(x)) elsewhere.
   numbers: space for six times the width of the model and the inner width of every row, and for
   the weights of one query. */
void step_rows(const Block *blocks, int64_t num_blocks, int64_t is_pre, int64_t heads,
               const Sight *sight, float *x, float *numbers)
{
    int64_t rows = sight->sentences * sight->lanes, d_model = blocks->output.outputs;
    int64_t size = rows * d_model;
    float *output = numbers, *packed = numbers + 2 * size;
    Space space = {numbers + size, packed, packed + 3 * size, packed + 4 * size, NULL};
    space.weights = space.hidden + rows * blocks->inner.outputs;
    for (int64_t layer = 0; layer < num_blocks; layer++) {
        const Block *block = blocks + layer;
        for (int part = 0; part < 3; part++) {
            const float *input = x;
            if (is_pre) {
                apply(&block->norms[part], x, rows, d_model, space.input);
                input = space.input;
            }
            if (part == 0)
                attend_to_self(block, sight, heads, layer, input, &space, output);
            else if (part == 1)
                attend_to_memory(block, sight, heads, layer, input, &space, output);
            else
                feed_forward(block, sight, input, &space, output);
            for (int64_t i = 0; i < size; i++)
                x[i] += output[i];
            if (!is_pre)
                apply(&block->norms[part], x, rows, d_model, x);
        }
    }
}
