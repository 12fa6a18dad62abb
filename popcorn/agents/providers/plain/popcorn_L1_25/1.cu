/* One thread an output; a row that the mask leaves out is never read. */
#include <cuda_runtime.h>

#include "popcorn_kernel.h"

struct Steps {
    int64_t rank, row, column, keep_rank, keep_row;
};

__global__ void masked_sum(const float* x, const int64_t* keep, float* out, int64_t ranks, int64_t rows, int64_t size, Steps step) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= rows * size) return;
    const int64_t row = i / size;
    float sum = 0;
    for (int64_t r = 0; r < ranks; r++)
        if (keep[r * step.keep_rank + row * step.keep_row]) sum += x[r * step.rank + row * step.row + i % size * step.column];
    out[i] = sum;
}

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double*, int,
                               void* stream) {
    if (n_inputs != 2 || n_outputs != 1 || inputs[0].ndim != 3 || inputs[1].ndim != 2) return 1;
    if (inputs[0].dtype != POPCORN_FLOAT32 || inputs[1].dtype != POPCORN_INT64) return 1;
    const int64_t ranks = inputs[0].shape[0], rows = inputs[0].shape[1], size = inputs[0].shape[2];
    if (rows * size == 0) return 0;
    const Steps step = {inputs[0].stride[0], inputs[0].stride[1], inputs[0].stride[2], inputs[1].stride[0], inputs[1].stride[1]};
    masked_sum<<<(unsigned)((rows * size + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (const float*)inputs[0].data, (const int64_t*)inputs[1].data, (float*)outputs[0].data, ranks, rows, size, step);
    return (int)cudaGetLastError();
}
