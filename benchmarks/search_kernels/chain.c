#include <stdlib.h>

#include "popcorn_kernel.h"
// popcorn: tune TILE = 16, 32, 64, 128
#define TILE 16

static void product(const float* a, const float* b, float* c, int64_t n, int64_t k, int64_t m) {
    // popcorn: begin product
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++) sum += a[i * k + l] * b[l * m + j];
            c[i * m + j] = sum;
        }
    // popcorn: end product
}

int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void* stream) {
    const int64_t n = in[0].shape[0], k = in[0].shape[1], m = in[1].shape[1], p = in[2].shape[1];
    const float *a = in[0].data, *b = in[1].data, *c = in[2].data;
    float* result = out[0].data;
    // popcorn: begin chain
    float* first = malloc(n * m * sizeof(float));
    product(a, b, first, n, k, m);
    product(first, c, result, n, m, p);
    // popcorn: end chain
    free(first);
    return 0;
}
