/* One row of the product after the other, every row of the second matrix read for each. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[1].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* a = (const float*)inputs[0].data;
    const float* b = (const float*)inputs[1].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[1].shape[0], columns = inputs[1].shape[1];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) out[i * columns + j] = 0;
        for (int64_t k = 0; k < size; k++)
            for (int64_t j = 0; j < columns; j++) out[i * columns + j] += a[i * size + k] * b[k * columns + j];
    }
    return 0;
}
