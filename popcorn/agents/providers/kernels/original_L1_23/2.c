/* Each exponential once, in float, kept in the output; threads over the rows. */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * inputs[0].stride[0];
        float* result = out + i * size;
        float largest = row[0], sum = 0;
        for (int64_t j = 1; j < size; j++) largest = row[j] > largest ? row[j] : largest;
        for (int64_t j = 0; j < size; j++) sum += result[j] = expf(row[j] - largest);
        for (int64_t j = 0; j < size; j++) result[j] *= 1.0f / sum;
    }
    return 0;
}
