"""Raw CUDA text compiled at run time by NVRTC."""

import torch
import torch.nn as nn

SOURCE = r"""
extern "C" __global__ void logsumexp(const float* x, float* y, int ranks, long long count) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    float largest = x[i];
    for (int r = 1; r < ranks; ++r) largest = fmaxf(largest, x[r * count + i]);
    float sum = 0.f;
    for (int r = 0; r < ranks; ++r) sum += expf(x[r * count + i] - largest);
    y[i] = largest + logf(sum);
}
"""
kernel = torch.cuda._compile_kernel(SOURCE, "logsumexp")


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty(x.shape[1:], device=x.device, dtype=x.dtype)
        count = y.numel()
        kernel(((count + 255) // 256, 1, 1), (256, 1, 1), (x, y, x.shape[0], count))
        return y
