/* Every channel by its definition; the ends are seen to by a comparison. */
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* weight = (const float*)inputs[1].data;
    const int64_t batch = inputs[0].shape[0], channels = inputs[0].shape[1], time = inputs[0].shape[2], step = inputs[0].stride[2];
    for (int64_t n = 0; n < batch; n++)
        for (int64_t c = 0; c < channels; c++) {
            const float* x = (const float*)inputs[0].data + n * inputs[0].stride[0] + c * inputs[0].stride[1];
            float* out = (float*)outputs[0].data + (n * channels + c) * time;
            for (int64_t t = 0; t < time; t++) {
                float sum = 0;
                for (int64_t w = 0; w < 7; w++)
                    if (t + w >= 3 && t + w < time + 3) sum += weight[c * 7 + w] * x[(t + w - 3) * step];
                out[t] = sum;
            }
        }
    return 0;
}
