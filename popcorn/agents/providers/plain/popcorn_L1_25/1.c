/* A row that the mask leaves out is never read: half of the bytes, and no product at all. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[1].ndim != 2) return 1;
    if (inputs[0].dtype != POPCORN_FLOAT32 || inputs[1].dtype != POPCORN_INT64) return 1;
    const int64_t ranks = inputs[0].shape[0], rows = inputs[0].shape[1], size = inputs[0].shape[2];
    const int64_t *step = inputs[0].stride, *keep_step = inputs[1].stride;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        float* out = (float*)outputs[0].data + i * size;
        for (int64_t j = 0; j < size; j++) out[j] = 0.0f;
        for (int64_t r = 0; r < ranks; r++) {
            if (!((const int64_t*)inputs[1].data)[r * keep_step[0] + i * keep_step[1]]) continue;
            const float* x = (const float*)inputs[0].data + r * step[0] + i * step[1];
            for (int64_t j = 0; j < size; j++) out[j] += x[j * step[2]];
        }
    }
    return 0;
}
