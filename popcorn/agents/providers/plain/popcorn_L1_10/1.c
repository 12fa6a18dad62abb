/* One edge after the other; no row is gathered. */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 4 || n_outputs != 1 || inputs[0].dtype != POPCORN_INT64 || inputs[2].dtype != POPCORN_FLOAT32) return 1;
    const int64_t* row = (const int64_t*)inputs[0].data;
    const int64_t* col = (const int64_t*)inputs[1].data;
    const float* q = (const float*)inputs[2].data;
    const float* k = (const float*)inputs[3].data;
    float* out = (float*)outputs[0].data;
    const int64_t edges = inputs[0].shape[0], size = inputs[2].shape[1];
    const float scale = 1.0f / sqrtf((float)size);
    for (int64_t e = 0; e < edges; e++) {
        float sum = 0;
        for (int64_t f = 0; f < size; f++) sum += q[row[e] * size + f] * k[col[e] * size + f];
        out[e] = sum * scale;
    }
    return 0;
}
