"""The usual form of a generated kernel: CUDA text through load_inline."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ out, int R, long total) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= total) return;
    float largest = -INFINITY;
    for (int r = 0; r < R; ++r) largest = fmaxf(largest, x[r * total + i]);
    float sum = 0.0f;
    for (int r = 0; r < R; ++r) sum += expf(x[r * total + i] - largest);
    out[i] = largest + logf(sum);
}

torch::Tensor logsumexp_cuda(torch::Tensor x) {
    int R = x.size(0);
    auto out = torch::empty({x.size(1), x.size(2)}, x.options());
    long total = out.numel();
    logsumexp_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), R, total);
    return out;
}
"""

module = load_inline(
    name="logsumexp_module",
    cpp_sources=["torch::Tensor logsumexp_cuda(torch::Tensor x);"],
    cuda_sources=[cuda_source],
    functions=["logsumexp_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return module.logsumexp_cuda(x.contiguous())
