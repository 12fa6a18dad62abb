/* One pass; where the mask says so the element comes from rank 0. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[1].ndim != 3) return 1;
    if (inputs[0].dtype != POPCORN_FLOAT32 || inputs[1].dtype != POPCORN_INT64) return 1;
    const int64_t ranks = inputs[0].shape[0], rows = inputs[0].shape[1], size = inputs[0].shape[2];
    const int64_t *step = inputs[0].stride, *take_step = inputs[1].stride;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++)
        for (int64_t r = 0; r < ranks; r++) {
            const float* first = (const float*)inputs[0].data + i * step[1];
            const float* own = first + r * step[0];
            const int64_t* take = (const int64_t*)inputs[1].data + r * take_step[0] + i * take_step[1];
            float* out = (float*)outputs[0].data + (r * rows + i) * size;
            for (int64_t j = 0; j < size; j++) out[j] = take[j * take_step[2]] ? first[j * step[2]] : own[j * step[2]];
        }
    return 0;
}
