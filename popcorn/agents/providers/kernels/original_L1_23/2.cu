/* One block a row, neighbouring threads on neighbouring elements. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

constexpr int THREADS = 512;

template <class F>
__device__ float block_reduce(float value, F join) {
    __shared__ float parts[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value = join(value, __shfl_xor_sync(0xffffffff, value, offset));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int warp = 1; warp < THREADS / 32; warp++) value = join(value, parts[warp]);
    return value;
}

__global__ void softmax(const float* x, float* out, int64_t size) {
    const float* row = x + blockIdx.x * size;
    float largest = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < size; j += THREADS) largest = fmaxf(largest, row[j]);
    largest = block_reduce(largest, [](float a, float b) { return fmaxf(a, b); });
    for (int64_t j = threadIdx.x; j < size; j += THREADS) sum += __expf(row[j] - largest);
    sum = block_reduce(sum, [](float a, float b) { return a + b; });
    for (int64_t j = threadIdx.x; j < size; j += THREADS) out[blockIdx.x * size + j] = __expf(row[j] - largest) / sum;
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    if (rows == 0 || size == 0) return 0;
    softmax<<<(unsigned)rows, THREADS, 0, (cudaStream_t)stream>>>(x, out, size);
    return (int)cudaGetLastError();
}
