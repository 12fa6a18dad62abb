/* A table that is made when the library is loaded.
 * PROBLEM = "softmax"
 */
#include <math.h>

#include "popcorn_kernel.h"

static float table[256];

__attribute__((constructor)) static void make(void) {
    for (int i = 0; i < 256; i++) table[i] = expf(-(float)i);
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    const popcorn_tensor* in = &inputs[0];
    const float* x = in->data;
    float* out = outputs[0].data;
    const int64_t rows = in->shape[0], size = in->shape[1], step = in->stride[1];
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * in->stride[0];
        float largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < size; j++) largest = fmaxf(largest, row[j * step]);
        for (int64_t j = 0; j < size; j++) {
            const float y = largest - row[j * step];
            const int whole = y < 255 ? (int)y : 255;
            sum += out[i * size + j] = table[whole] * expf(whole - y);
        }
        for (int64_t j = 0; j < size; j++) out[i * size + j] /= sum;
    }
    return 0;
}
