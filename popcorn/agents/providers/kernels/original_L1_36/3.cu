/* The row is read twice: keep it in registers between sum and scaling, sixteen bytes a load. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

constexpr int THREADS = 256;
constexpr int KEPT = 8; /* float4 a thread: rows of up to 8192 elements are read once */

__device__ float block_sum(float value) {
    __shared__ float sums[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0;
    for (int warp = 0; warp < THREADS / 32; warp++) total += sums[warp];
    return total;
}

__global__ void rms_norm_vectors(const float4* x, const float4* weight, float4* out, int64_t row_step, int vectors) {
    const float4* row = x + blockIdx.x * row_step;
    float4* result = out + (int64_t)blockIdx.x * vectors;
    float4 kept[KEPT];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const int j = k * THREADS + threadIdx.x;
        if (j < vectors) {
            kept[k] = row[j];
            sum += kept[k].x * kept[k].x + kept[k].y * kept[k].y + kept[k].z * kept[k].z + kept[k].w * kept[k].w;
        }
    }
    const float scale = rsqrtf(block_sum(sum) / (4.0f * vectors) + 1e-6f);
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const int j = k * THREADS + threadIdx.x;
        if (j < vectors) {
            const float4 w = weight[j];
            result[j] = make_float4(kept[k].x * scale * w.x, kept[k].y * scale * w.y, kept[k].z * scale * w.z, kept[k].w * scale * w.w);
        }
    }
}

__global__ void rms_norm_any(const float* x, const float* weight, float* out, int64_t row_step, int64_t step, int64_t weight_step, int64_t size) {
    const float* row = x + blockIdx.x * row_step;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < size; j += THREADS) sum += row[j * step] * row[j * step];
    const float scale = rsqrtf(block_sum(sum) / size + 1e-6f);
    for (int64_t j = threadIdx.x; j < size; j += THREADS) out[blockIdx.x * size + j] = row[j * step] * scale * weight[j * weight_step];
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    const int64_t row_step = inputs[0].stride[0], step = inputs[0].stride[1], weight_step = inputs[1].stride[0];
    const float* x = (const float*)inputs[0].data;
    const float* weight = (const float*)inputs[1].data;
    float* out = (float*)outputs[0].data;
    if (rows == 0 || size == 0) return 0;
    const bool aligned = (((uintptr_t)x | (uintptr_t)weight | (uintptr_t)out) % 16 == 0) && size % 4 == 0 && row_step % 4 == 0;
    if (aligned && step == 1 && weight_step == 1 && size / 4 <= KEPT * THREADS)
        rms_norm_vectors<<<(unsigned)rows, THREADS, 0, (cudaStream_t)stream>>>((const float4*)x, (const float4*)weight, (float4*)out,
                                                                             row_step / 4, (int)(size / 4));
    else
        rms_norm_any<<<(unsigned)rows, THREADS, 0, (cudaStream_t)stream>>>(x, weight, out, row_step, step, weight_step, size);
    return (int)cudaGetLastError();
}
