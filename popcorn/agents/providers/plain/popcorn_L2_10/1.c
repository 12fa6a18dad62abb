/* Both projections of all nodes into buffers, then the sum over pairs, a row at a time. */
#include <math.h>
#include <stdlib.h>

#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    (void)scalars, (void)n_scalars, (void)stream;
    if (n_inputs != 6 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    const float* receive = (const float*)inputs[1].data;
    const float* shift = (const float*)inputs[2].data;
    const float* send = (const float*)inputs[3].data;
    const float* last = (const float*)inputs[4].data;
    const float* bias = (const float*)inputs[5].data;
    float* out = (float*)outputs[0].data;
    const int64_t batch = inputs[0].shape[0], nodes = inputs[0].shape[1], width = inputs[0].shape[2];
    float* mine = (float*)malloc((size_t)(2 * nodes * width + width) * sizeof(float));
    if (!mine) return 2;
    float *theirs = mine + nodes * width, *mean = theirs + nodes * width;
    for (int64_t n = 0; n < batch; n++) {
        for (int64_t i = 0; i < nodes; i++)
            for (int64_t c = 0; c < width; c++) {
                const float* row = x + (n * nodes + i) * width;
                float a = shift[c], b = 0;
                for (int64_t d = 0; d < width; d++) a += receive[c * width + d] * row[d];
                for (int64_t d = 0; d < width; d++) b += send[c * width + d] * row[d];
                mine[i * width + c] = a;
                theirs[i * width + c] = b;
            }
        for (int64_t i = 0; i < nodes; i++) {
            for (int64_t c = 0; c < width; c++) mean[c] = 0;
            for (int64_t j = 0; j < nodes; j++)
                for (int64_t c = 0; c < width; c++) {
                    const float both = mine[i * width + c] + theirs[j * width + c];
                    mean[c] += both > 0 ? both : 0;
                }
            for (int64_t c = 0; c < width; c++) {
                float sum = 0;
                for (int64_t d = 0; d < width; d++) sum += last[c * width + d] * mean[d];
                out[(n * nodes + i) * width + c] = sum / (float)nodes + bias[c];
            }
        }
    }
    free(mine);
    return 0;
}
