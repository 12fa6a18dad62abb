"""What only a GPU can show: builds that were compiled here are loaded and run. `make gpu-check` runs these."""

import pytest
import torch

from popcorn.toolchain.build import build
from popcorn.toolchain.inline import answer, build_inline, intercept
from popcorn.toolchain.native_module import load_native
from popcorn.toolchain.nvrtc import intercept_nvrtc
from tests.toolchain.test_inline import GUARDED, LOGSUMEXP

pytestmark = pytest.mark.gpu

CU = """#include "popcorn_kernel.h"
#include <cuda_runtime.h>
__global__ void scale(const float* x, float* y, int64_t n, float s) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = s * x[i];
}
extern "C" int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* s, int n_s, void* stream) {
    int64_t n = 1;
    for (int i = 0; i < out[0].ndim; ++i) n *= out[0].shape[i];
    scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, n, (float)s[0]);
    return (int)cudaGetLastError();
}
"""


@pytest.fixture
def arch() -> str:
    if not torch.cuda.is_available():
        pytest.skip("no NVIDIA GPU here")
    return "{}.{}".format(*torch.cuda.get_device_capability())


@pytest.fixture
def load_inline(cache, arch, monkeypatch):
    import torch.utils.cpp_extension as extension

    monkeypatch.setattr(extension, "load_inline", extension.load_inline)
    monkeypatch.setattr(extension, "load", extension.load)
    results = []

    def ask(request):
        results.append(build_inline(request, cache, arch=arch, timeout_s=300))
        return answer(results[-1])

    intercept(ask)
    return lambda *arguments, **settings: (extension.load_inline(*arguments, **settings), results[-1])


def test_a_cuda_load_inline_runs_from_the_light_headers(load_inline):
    declared = "torch::Tensor logsumexp_cuda(torch::Tensor x);"
    module, result = load_inline("lse", declared, LOGSUMEXP, functions=["logsumexp_cuda"])
    assert result.tier == "stable", result.facts
    print(f"build {result.seconds:.2f} s: {result.facts['tiers']}")
    x = torch.randn(4, 10, 32, device="cuda")
    torch.testing.assert_close(module.logsumexp_cuda(x), torch.logsumexp(x, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_streams_guards_and_sixteen_bit_types_work(load_inline, dtype):
    declared = "torch::Tensor twice_cuda(torch::Tensor x);"
    module, result = load_inline("twice", declared, GUARDED, functions=["twice_cuda"])
    assert result.tier == "stable", result.facts
    x = torch.randn(1000, device="cuda", dtype=dtype)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = module.twice_cuda(x)
    stream.synchronize()
    assert torch.equal(y, x * 2)
    with pytest.raises(RuntimeError, match="must be a CUDA tensor"):
        module.twice_cuda(x.cpu())


def test_too_large_an_allocation_is_torch_s_own_out_of_memory(load_inline):
    text = "torch::Tensor f(torch::Tensor a) { return torch::empty({1LL << 45}, a.options()); }"
    module, result = load_inline("big", text, functions=["f"])
    assert result.tier == "stable"
    with pytest.raises(torch.OutOfMemoryError):
        module.f(torch.empty(1, device="cuda"))


def test_a_cuda_load_inline_runs_from_the_per_operator_headers(load_inline):
    declared = "torch::Tensor logsumexp_cuda(torch::Tensor x);"
    text = LOGSUMEXP.replace("return out;", "return out.view({-1}).mul(2);")
    module, result = load_inline("lse2", declared, text, functions=["logsumexp_cuda"])
    assert result.tier == "per-operator", result.facts
    print(f"build {result.seconds:.2f} s: {result.facts['tiers']}")
    x = torch.randn(4, 10, 32, device="cuda")
    torch.testing.assert_close(module.logsumexp_cuda(x), torch.logsumexp(x, 0).view(-1) * 2)


def test_a_cu_file_runs_on_the_current_stream(cache, arch):
    result = build(CU, "cuda", "k.cu", cache, device_kind="cuda", arch=arch)
    assert result.ok, result.reason
    module = load_native(result.path, [((3, 5), torch.float32)], "cuda")([], [2.0])
    x = torch.randn(3, 5, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = module(x)
    stream.synchronize()
    assert torch.equal(y, x * 2)


def test_an_nvrtc_kernel_is_compiled_once_and_runs(arch, tmp_path, monkeypatch):
    import torch.cuda._utils as utils

    monkeypatch.setattr(utils, "_nvrtc_compile", utils._nvrtc_compile)
    notes = []
    intercept_nvrtc(notes.append, tmp_path)
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i];"
    text = f'extern "C" __global__ void twice(const float* x, float* y, int n) {{ {body} }}'
    x = torch.randn(100, device="cuda")
    for _ in range(2):
        y = torch.empty_like(x)
        torch.cuda._compile_kernel(text, "twice")(grid=(1, 1, 1), block=(128, 1, 1), args=[x, y, 100])
        assert torch.equal(y, x * 2)
    assert [row["cached"] for row in notes] == [False, True]
