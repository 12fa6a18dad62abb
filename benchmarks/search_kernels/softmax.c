#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "popcorn_kernel.h"

// popcorn: begin exponential
static inline float exponential(float x) { return (float)exp((double)x); }
// popcorn: end exponential

int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void* stream) {
    const float *x = in[0].data, *bias = in[1].data;
    float* y = out[0].data;
    const int64_t rows = in[0].shape[0], size = in[0].shape[1];
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * size;
        float* result = y + i * size;
        float largest = -INFINITY, sum = 0;
        // popcorn: begin passes
        for (int64_t j = 0; j < size; j++) result[j] = row[j] * 0.5f + bias[j];
        for (int64_t j = 0; j < size; j++) largest = result[j] > largest ? result[j] : largest;
        for (int64_t j = 0; j < size; j++) sum += exponential(result[j] - largest);
        for (int64_t j = 0; j < size; j++) result[j] = exponential(result[j] - largest) / sum;
        // popcorn: end passes
    }
    return 0;
}
