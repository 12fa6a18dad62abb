/* It reads one element beyond the end of every row.
 * PROBLEM = "softmax"
 * CATALOGUE = (53,)
 * OUTCOMES = {"wrong_values", "not_deterministic", "nonfinite", "crash"}
 */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    const popcorn_tensor* in = &inputs[0];
    const float* x = in->data;
    float* out = outputs[0].data;
    for (int64_t i = 0; i < in->shape[0]; i++) {
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j <= in->shape[1]; j++) largest = fmaxf(largest, x[i * in->stride[0] + j * in->stride[1]]);
        for (int64_t j = 0; j <= in->shape[1]; j++) sum += expf(x[i * in->stride[0] + j * in->stride[1]] - largest);
        for (int64_t j = 0; j < in->shape[1]; j++) out[i * in->shape[1] + j] = expf(x[i * in->stride[0] + j * in->stride[1]] - largest) / sum;
    }
    return 0;
}
