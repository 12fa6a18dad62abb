/* First something right: one thread a row. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

__global__ void cumsum(const float* x, float* out, int64_t rows, int64_t size) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int64_t j = 0; j < size; j++) out[i * size + j] = sum += x[i * size + j];
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 1 || n_outputs != 1 || inputs[0].ndim != 2 || inputs[0].dtype != POPCORN_FLOAT32) return 1;
    const float* x = (const float*)inputs[0].data;
    float* out = (float*)outputs[0].data;
    const int64_t rows = inputs[0].shape[0], size = inputs[0].shape[1];
    if (rows == 0 || size == 0) return 0;
    cumsum<<<(unsigned)((rows + 63) / 64), 64, 0, (cudaStream_t)stream>>>(x, out, rows, size);
    return (int)cudaGetLastError();
}
