/* One pass over all ranks for a row: what was summed stays in the first cache. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t ranks = inputs[0].shape[0], rows = inputs[0].shape[1], size = inputs[0].shape[2];
    const int64_t* step = inputs[0].stride;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        float* out = (float*)outputs[0].data + i * size;
        for (int64_t j = 0; j < size; j++) out[j] = 0.0f;
        for (int64_t r = 0; r < ranks; r++) {
            const float* x = (const float*)inputs[0].data + r * step[0] + i * step[1];
            if (step[2] == 1)
                for (int64_t j = 0; j < size; j++) out[j] += x[j];
            else
                for (int64_t j = 0; j < size; j++) out[j] += x[j * step[2]];
        }
        for (int64_t j = 0; j < size; j++) out[j] /= (float)ranks;
    }
    return 0;
}
