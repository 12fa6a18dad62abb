#include <stdlib.h>

#include "popcorn_kernel.h"
// popcorn: tune TILE = 16, 64, 256
#define TILE 64

// popcorn: begin number
typedef double number;
// popcorn: end number

static void sweep(const float* from, float* to, int64_t h, int64_t w) {
    // popcorn: begin sweep
    for (int64_t j = 0; j < w; j++)
        for (int64_t i = 0; i < h; i++) {
            number left = from[i * w + (j + w - 1) % w], right = from[i * w + (j + 1) % w];
            number up = from[((i + h - 1) % h) * w + j], down = from[((i + 1) % h) * w + j];
            to[i * w + j] = (float)(0.5 * from[i * w + j] + 0.125 * (left + right + up + down));
        }
    // popcorn: end sweep
}

int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* scalars, int n_scalars, void* stream) {
    const int64_t h = in[0].shape[0], w = in[0].shape[1];
    const float* x = in[0].data;
    float* y = out[0].data;
    float* between = malloc(h * w * sizeof(float));
    sweep(x, between, h, w);
    sweep(between, y, h, w);
    free(between);
    return 0;
}
