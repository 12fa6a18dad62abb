/* Calls into the library keep the compiler from vectors: polynomials of our own, a piece of a row at a time so that it stays in the first cache. */
#include <math.h>

#include "popcorn_kernel.h"

#define PIECE 512

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

/* log of a number in [1, 2^30], as exponent and polynomial (Cephes) */
static inline float log_(float x) {
    union { float value; int32_t bits; } split = {x};
    float e = (float)((split.bits >> 23) - 126);
    split.bits = (split.bits & 0x007fffff) | 0x3f000000;
    float m = split.value;
    const float low = m < 0.707106781f ? 1.0f : 0.0f;
    e -= low;
    m = m + low * m - 1.0f;
    const float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return m + (p * m * z - 0.5f * z - 2.12194440e-4f * e) + 0.693359375f * e;
}

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = inputs[0].data;
    const int64_t ranks = inputs[0].shape[0], count = inputs[0].shape[1] * inputs[0].shape[2];
    const int64_t step = inputs[0].stride[0];
    if (inputs[0].stride[2] != 1 || inputs[0].stride[1] != inputs[0].shape[2]) return 2;
#pragma omp parallel for
    for (int64_t start = 0; start < count; start += PIECE) {
        const int64_t size = count - start < PIECE ? count - start : PIECE;
        float largest[PIECE], sum[PIECE];
        float* out = (float*)outputs[0].data + start;
        for (int64_t i = 0; i < size; i++) largest[i] = x[start + i], sum[i] = 0;
        for (int64_t r = 1; r < ranks; r++) {
            const float* row = x + r * step + start;
            for (int64_t i = 0; i < size; i++) largest[i] = row[i] > largest[i] ? row[i] : largest[i];
        }
        for (int64_t r = 0; r < ranks; r++) {
            const float* row = x + r * step + start;
            for (int64_t i = 0; i < size; i++) sum[i] += exp_(row[i] - largest[i]);
        }
        for (int64_t i = 0; i < size; i++) out[i] = largest[i] + log_(sum[i]);
    }
    return 0;
}
