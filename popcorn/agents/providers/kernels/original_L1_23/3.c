/* expf and the chain of sums keep the compiler from vectors: a polynomial of our own, sixteen lanes of maxima and sums. */
#include <math.h>

#include "popcorn_kernel.h"

#define LANES 16

/* exp as 2^n times a polynomial (Cephes): unlike the library's function it turns into vectors */
static inline float exp_(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = __builtin_rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { int32_t bits; float value; } power = {((int32_t)n + 127) << 23};
    return p * power.value;
}

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
        float top[LANES], sums[LANES] = {0}, largest, sum = 0;
        int64_t j = 0;
        for (int lane = 0; lane < LANES; lane++) top[lane] = row[0];
        for (; j + LANES <= size; j += LANES)
            for (int lane = 0; lane < LANES; lane++) top[lane] = row[j + lane] > top[lane] ? row[j + lane] : top[lane];
        for (; j < size; j++) top[0] = row[j] > top[0] ? row[j] : top[0];
        largest = top[0];
        for (int lane = 1; lane < LANES; lane++) largest = top[lane] > largest ? top[lane] : largest;
        for (j = 0; j + LANES <= size; j += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                const float e = exp_(row[j + lane] - largest);
                result[j + lane] = e;
                sums[lane] += e;
            }
        for (; j < size; j++) sum += result[j] = exp_(row[j] - largest);
        for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
        const float scale = 1.0f / sum;
        for (j = 0; j < size; j++) result[j] *= scale;
    }
    return 0;
}
