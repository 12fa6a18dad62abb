/* It takes every input for contiguous, whatever its strides say.
 * PROBLEM = "norm"
 * CATALOGUE = (35,)
 * OUTCOMES = {"wrong_values"}
 */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    const float *x = inputs[0].data, *weight = inputs[1].data;
    float* out = outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = 96; /* the size it was tested with */
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < size; j++) sum += x[i * size + j] * x[i * size + j];
        for (int64_t j = 0; j < size && i * size + j < rows * inputs[0].shape[1]; j++)
            out[i * size + j] = x[i * size + j] / sqrt(sum / size + 1e-6) * weight[j % inputs[1].shape[0]];
    }
    return 0;
}
