/* A plane of the transposed convolution into a buffer, then its largest of four, clamped and summed. */
#include <math.h>
#include <stdlib.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 3 || n_outputs != 1 || inputs[0].ndim != 4 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    const float* weight = (const float*)inputs[1].data; /* (in, channels, 3, 3) */
    const float* bias = (const float*)inputs[2].data;
    float* out = (float*)outputs[0].data;
    const int64_t batch = inputs[0].shape[0], in = inputs[0].shape[1], height = inputs[0].shape[2], width = inputs[0].shape[3];
    const int64_t channels = outputs[0].shape[1], down = 2 * height, across = 2 * width;
    float* plane = (float*)malloc((size_t)(down * across) * sizeof(float));
    if (!plane) return 2;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t i = 0; i < down * across; i++) plane[i] = bias[c];
            for (int64_t d = 0; d < in; d++)
                for (int64_t u = 0; u < 3; u++)
                    for (int64_t v = 0; v < 3; v++) {
                        const float w = weight[((d * channels + c) * 3 + u) * 3 + v];
                        for (int64_t i = u == 0; i < height; i++) /* row 2 i − 1 + u of the plane: there is none above the first */
                            for (int64_t j = v == 0; j < width; j++)
                                plane[(2 * i + u - 1) * across + 2 * j + v - 1] += w * x[((n * in + d) * height + i) * width + j];
                    }
            float sum = 0;
            for (int64_t i = 0; i < height; i++)
                for (int64_t j = 0; j < width; j++) {
                    const float* square = plane + 2 * i * across + 2 * j;
                    const float largest = fmaxf(fmaxf(square[0], square[1]), fmaxf(square[across], square[across + 1]));
                    sum += fminf(fmaxf(largest, -1.0f), 1.0f);
                }
            out[n * channels + c] = tanhf(sum / (float)(height * width));
        }
    free(plane);
    return 0;
}
