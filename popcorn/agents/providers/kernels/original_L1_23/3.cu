/* Three reads of the row are one too many, and another: the row stays in registers, sixteen bytes a load. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

constexpr int THREADS = 1024;
constexpr int KEPT = 4; /* float4 a thread: rows of up to 16384 elements */

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

__global__ void __launch_bounds__(THREADS) softmax(const float4* x, float4* out, int vectors) {
    const float4* row = x + (int64_t)blockIdx.x * vectors;
    float4 kept[KEPT];
    float largest = -INFINITY, sum = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const int j = k * THREADS + threadIdx.x;
        if (j < vectors) {
            kept[k] = __ldcs(row + j);
            largest = fmaxf(largest, fmaxf(fmaxf(kept[k].x, kept[k].y), fmaxf(kept[k].z, kept[k].w)));
        }
    }
    largest = block_reduce(largest, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        if (k * THREADS + threadIdx.x < vectors) {
            kept[k] = make_float4(__expf(kept[k].x - largest), __expf(kept[k].y - largest), __expf(kept[k].z - largest), __expf(kept[k].w - largest));
            sum += (kept[k].x + kept[k].y) + (kept[k].z + kept[k].w);
        }
    }
    const float scale = 1.0f / block_reduce(sum, [](float a, float b) { return a + b; });
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const int j = k * THREADS + threadIdx.x;
        if (j < vectors)
            __stcs(out + (int64_t)blockIdx.x * vectors + j, make_float4(kept[k].x * scale, kept[k].y * scale, kept[k].z * scale, kept[k].w * scale));
    }
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    if (rows == 0 || size == 0) return 0;
    if (size % 4 || size / 4 > KEPT * THREADS) return 2; /* the statement fixes the size at 16384 */
    softmax<<<(unsigned)rows, THREADS, 0, (cudaStream_t)stream>>>((const float4*)x, (float4*)out, (int)(size / 4));
    return (int)cudaGetLastError();
}
