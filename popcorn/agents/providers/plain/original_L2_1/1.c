/* The window of every output element, weights and all, by its definition. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 4 || n_outputs != 1 || inputs[0].ndim != 4 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    const float* shift = (const float*)inputs[1].data; /* the module's own parameter comes before its convolution's */
    const float* weight = (const float*)inputs[2].data;
    const float* bias = (const float*)inputs[3].data;
    float* out = (float*)outputs[0].data;
    const int64_t batch = inputs[0].shape[0], in = inputs[0].shape[1], height = inputs[0].shape[2], width = inputs[0].shape[3];
    const int64_t channels = inputs[2].shape[0], down = height - 2, across = width - 2;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t c = 0; c < channels; c++) {
            float* plane = out + (n * channels + c) * down * across;
            for (int64_t i = 0; i < down * across; i++) plane[i] = bias[c];
            for (int64_t d = 0; d < in; d++)
                for (int64_t u = 0; u < 3; u++)
                    for (int64_t v = 0; v < 3; v++) {
                        const float w = weight[((c * in + d) * 3 + u) * 3 + v];
                        const float* from = x + ((n * in + d) * height + u) * width + v;
                        for (int64_t i = 0; i < down; i++)
                            for (int64_t j = 0; j < across; j++) plane[i * across + j] += w * from[i * width + j];
                    }
            for (int64_t i = 0; i < down * across; i++) plane[i] = (plane[i] > 0 ? plane[i] : 0) + shift[c];
        }
    return 0;
}
