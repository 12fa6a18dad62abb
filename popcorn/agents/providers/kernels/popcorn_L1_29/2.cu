/* The second pass reads everything again: keep up to eight ranks in registers and read once. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

constexpr int MOST = 8;

__global__ void logsumexp(const float* x, float* out, int ranks, int64_t count) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= count) return;
    float kept[MOST], largest = -INFINITY, sum = 0;
#pragma unroll
    for (int r = 0; r < MOST; r++) {
        if (r < ranks) kept[r] = x[r * count + i], largest = fmaxf(largest, kept[r]);
    }
#pragma unroll
    for (int r = 0; r < MOST; r++) {
        if (r < ranks) sum += __expf(kept[r] - largest);
    }
    out[i] = largest + logf(sum);
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[0].dtype != POPCORN_FLOAT32 || inputs[0].shape[0] > MOST) return 1;
    const int64_t count = inputs[0].shape[1] * inputs[0].shape[2];
    if (count == 0) return 0;
    logsumexp<<<(unsigned)((count + 255) / 256), 256, 0, (cudaStream_t)stream>>>((const float*)inputs[0].data, (float*)outputs[0].data,
                                                                             (int)inputs[0].shape[0], count);
    return (int)cudaGetLastError();
}
