/* OpenMP with more threads than cores: no use, and no harm.
 * PROBLEM = "softmax"
 */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    const popcorn_tensor* in = &inputs[0];
    const float* x = in->data;
    float* out = outputs[0].data;
    const int64_t rows = in->shape[0], size = in->shape[1], step = in->stride[1];
#pragma omp parallel for num_threads(4)
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * in->stride[0];
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < size; j++) largest = fmaxf(largest, row[j * step]);
        for (int64_t j = 0; j < size; j++) sum += out[i * size + j] = expf(row[j * step] - largest);
        for (int64_t j = 0; j < size; j++) out[i * size + j] /= sum;
    }
    return 0;
}
