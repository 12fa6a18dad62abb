/* Each addition waits for the one before: eight rows at a time give the adder eight independent chains. */
#include "popcorn_kernel.h"

#define ROWS 8

static void some_rows(const float* x, float* out, int64_t count, int64_t step, int64_t size) {
    float sums[ROWS] = {0};
    if (count == ROWS)
        for (int64_t j = 0; j < size; j++)
            for (int row = 0; row < ROWS; row++) out[row * size + j] = sums[row] += x[row * step + j];
    else
        for (int64_t row = 0; row < count; row++)
            for (int64_t j = 0; j < size; j++) out[row * size + j] = sums[row] += x[row * step + j];
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i += ROWS)
        some_rows(x + i * inputs[0].stride[0], out + i * size, rows - i < ROWS ? rows - i : ROWS, inputs[0].stride[0], size);
    return 0;
}
