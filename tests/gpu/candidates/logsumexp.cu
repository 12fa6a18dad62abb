// Raw CUDA with the plain C interface: one thread an element, the ranks in registers.
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

__global__ void logsumexp(const float* __restrict__ x, float* __restrict__ y, int ranks, long count) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    float largest = -INFINITY;
    for (int r = 0; r < ranks; ++r) largest = fmaxf(largest, x[r * count + i]);
    float sum = 0.f;
    for (int r = 0; r < ranks; ++r) sum += expf(x[r * count + i] - largest);
    y[i] = largest + logf(sum);
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                               int n_scalars, void* stream) {
    const popcorn_tensor x = inputs[0];
    long count = x.shape[1] * x.shape[2];
    logsumexp<<<(count + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float*)x.data, (float*)outputs[0].data, (int)x.shape[0], count);
    return cudaGetLastError();
}
