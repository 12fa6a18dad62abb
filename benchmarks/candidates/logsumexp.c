/* Plain C: one pass for the maximum, one for the sum, vectorised over the elements of a tile that stays in the cache. */
#include <math.h>

#include "popcorn_kernel.h"

enum { TILE = 1024 };

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars, int n_scalars,
                    void* stream) {
    const float* x = inputs[0].data;
    float* y = outputs[0].data;
    const long ranks = inputs[0].shape[0], count = inputs[0].shape[1] * inputs[0].shape[2];
#pragma omp parallel for schedule(static)
    for (long start = 0; start < count; start += TILE) {
        const long size = count - start < TILE ? count - start : TILE;
        float largest[TILE], sum[TILE];
        for (long i = 0; i < size; ++i) largest[i] = x[start + i];
        for (long r = 1; r < ranks; ++r)
            for (long i = 0; i < size; ++i) largest[i] = fmaxf(largest[i], x[r * count + start + i]);
        for (long i = 0; i < size; ++i) sum[i] = 0.0f;
        for (long r = 0; r < ranks; ++r)
            for (long i = 0; i < size; ++i) sum[i] += expf(x[r * count + start + i] - largest[i]);
        for (long i = 0; i < size; ++i) y[start + i] = largest[i] + logf(sum[i]);
    }
    return 0;
}
