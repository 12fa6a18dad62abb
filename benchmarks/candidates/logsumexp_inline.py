"""The same kernel in C++ through load_inline."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor logsumexp_cpp(torch::Tensor x) {
    auto out = torch::empty({x.size(1), x.size(2)}, x.options());
    const float* in = x.data_ptr<float>();
    float* y = out.data_ptr<float>();
    const int64_t ranks = x.size(0), count = out.numel();
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) {
        float largest = in[i];
        for (int64_t r = 1; r < ranks; ++r) largest = std::fmax(largest, in[r * count + i]);
        float sum = 0.f;
        for (int64_t r = 0; r < ranks; ++r) sum += std::exp(in[r * count + i] - largest);
        y[i] = largest + std::log(sum);
    }
    return out;
}
"""

module = load_inline(name="logsumexp_cpp_module", cpp_sources=[source], functions=["logsumexp_cpp"], extra_cflags=["-O3", "-fopenmp"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return module.logsumexp_cpp(x.contiguous())
