/* The norm of a row into a buffer, then the projection, a dot product for every key and value. */
#include <math.h>
#include <stdlib.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 4 || n_outputs != 2 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* latent = (const float*)inputs[0].data;
    const float* rope = (const float*)inputs[1].data;
    const float* weight = (const float*)inputs[2].data;
    const float* up = (const float*)inputs[3].data; /* (heads, keys then values, of head_size each) by latent */
    float* keys = (float*)outputs[0].data;
    float* values = (float*)outputs[1].data;
    const int64_t batch = inputs[0].shape[0], time = inputs[0].shape[1], size = inputs[0].shape[2], turned = inputs[1].shape[2];
    const int64_t heads = outputs[1].shape[1], width = outputs[1].shape[3];
    float* normed = (float*)malloc((size_t)size * sizeof(float));
    if (!normed) return 2;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t t = 0; t < time; t++) {
            const float* row = latent + (n * time + t) * size;
            float squares = 0;
            for (int64_t i = 0; i < size; i++) squares += row[i] * row[i];
            const float scale = 1.0f / sqrtf(squares / (float)size + 1e-6f);
            for (int64_t i = 0; i < size; i++) normed[i] = row[i] * scale * weight[i];
            for (int64_t h = 0; h < heads; h++) {
                float* key = keys + ((n * heads + h) * time + t) * (width + turned);
                float* value = values + ((n * heads + h) * time + t) * width;
                for (int64_t j = 0; j < width; j++) {
                    const float* for_key = up + (h * 2 * width + j) * size;
                    const float* for_value = for_key + width * size;
                    float a = 0, b = 0;
                    for (int64_t i = 0; i < size; i++) a += normed[i] * for_key[i];
                    for (int64_t i = 0; i < size; i++) b += normed[i] * for_value[i];
                    key[j] = a;
                    value[j] = b;
                }
                for (int64_t j = 0; j < turned; j++) key[width + j] = rope[(n * time + t) * turned + j];
            }
        }
    free(normed);
    return 0;
}
