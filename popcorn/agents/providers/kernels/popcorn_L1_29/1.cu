/* First something right: one thread an output, two passes over the ranks. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

__global__ void logsumexp(const float* x, float* out, int64_t ranks, int64_t count) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= count) return;
    float largest = -INFINITY, sum = 0;
    for (int64_t r = 0; r < ranks; r++) largest = fmaxf(largest, x[r * count + i]);
    for (int64_t r = 0; r < ranks; r++) sum += expf(x[r * count + i] - largest);
    out[i] = largest + logf(sum);
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t ranks = inputs[0].shape[0], count = inputs[0].shape[1] * inputs[0].shape[2];
    if (count == 0) return 0;
    logsumexp<<<(unsigned)((count + 127) / 128), 128, 0, (cudaStream_t)stream>>>((const float*)inputs[0].data, (float*)outputs[0].data, ranks, count);
    return (int)cudaGetLastError();
}
