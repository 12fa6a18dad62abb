/* A row of edges at a time: the largest, the sum, the quotient. */
#include <math.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].dtype != POPCORN_INT64 || inputs[1].dtype != POPCORN_FLOAT32) return 1;
    const int64_t* first = (const int64_t*)inputs[0].data;
    const float* scores = (const float*)inputs[1].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0] - 1;
    for (int64_t i = 0; i < rows; i++) {
        float largest = -INFINITY, sum = 0;
        for (int64_t e = first[i]; e < first[i + 1]; e++) largest = fmaxf(largest, scores[e]);
        for (int64_t e = first[i]; e < first[i + 1]; e++) {
            out[e] = expf(scores[e] - largest);
            sum += out[e];
        }
        for (int64_t e = first[i]; e < first[i + 1]; e++) out[e] /= sum;
    }
    return 0;
}
