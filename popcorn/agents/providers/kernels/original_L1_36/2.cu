/* Neighbouring threads must read neighbouring elements: one block a row, sums by shuffles. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

constexpr int THREADS = 256;

__global__ void rms_norm(const float* x, const float* weight, float* out, int64_t size) {
    __shared__ float sums[THREADS / 32];
    const float* row = x + blockIdx.x * size;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < size; j += THREADS) sum += row[j] * row[j];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0;
    for (int warp = 0; warp < THREADS / 32; warp++) total += sums[warp];
    const float scale = rsqrtf(total / size + 1e-6f);
    for (int64_t j = threadIdx.x; j < size; j += THREADS) out[blockIdx.x * size + j] = row[j] * scale * weight[j];
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    const float* weight = (const float*)inputs[1].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    if (rows == 0 || size == 0) return 0;
    rms_norm<<<(unsigned)rows, THREADS, 0, (cudaStream_t)stream>>>(x, weight, out, size);
    return (int)cudaGetLastError();
}
