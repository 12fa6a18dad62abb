import pytest
import torch
import torch.utils.cpp_extension as extension

from popcorn.toolchain import header_tiers, inline_build
from popcorn.toolchain.inline import CompileFailed, build_inline
from tests.toolchain.conftest import needs_nvcc

ADD = """
torch::Tensor add(torch::Tensor a, const torch::Tensor& b, double scale) {
  TORCH_CHECK(a.sizes() == b.sizes(), "shapes differ: ", a.sizes(), " and ", b.sizes());
  auto x = a.contiguous(), y = b.contiguous();
  auto out = torch::empty_like(x);
  const float *p = x.data_ptr<float>(), *q = y.data_ptr<float>();
  float* o = out.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) o[i] = p[i] + scale * q[i];
  return out;
}
"""
MANY = """
#include <torch/extension.h>
std::vector<torch::Tensor> both(torch::Tensor a, int64_t n) { return {a, torch::zeros({n, a.size(-1)}, a.options())}; }
std::tuple<torch::Tensor, double, bool> mixed(at::Tensor a, std::optional<at::Tensor> b, bool flag) {
  return {torch::full({2}, 1.5, a.options().dtype(torch::kFloat64)), double(b.has_value()), !flag};
}
void fill(torch::Tensor a, float value) {
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "fill", [&] {
    scalar_t* p = a.data_ptr<scalar_t>();
    for (int64_t i = 0; i < a.numel(); ++i) p[i] = static_cast<scalar_t>(value);
  });
}
int64_t count(std::vector<at::Tensor> all, int times, std::string name) { return (int64_t(all.size()) + int64_t(name.size())) * times; }
torch::Tensor like(torch::Tensor a) { return torch::empty_like(a); }
torch::Tensor make(torch::Tensor a) { return torch::empty({1LL << 46}, a.options()); }
"""


def _check_add(module):
    a, b = torch.randn(3, 4), torch.randn(4, 3).t()
    assert torch.equal(module.add(a, b, 2.0), a + 2.0 * b)


def test_the_light_tier_binds_functions_of_many_signatures(intercepted):
    functions = ["both", "mixed", "fill", "count", "like", "make"]
    module = extension.load_inline("many", [MANY], functions={name: f"about {name}" for name in functions})
    assert [result.tier for result in intercepted.results] == ["stable"]
    a = torch.randn(3, 4)
    same, zeros = module.both(a, 5)
    assert same is a and torch.equal(zeros, torch.zeros(5, 4))
    full, given, flag = module.mixed(a, None, True)
    assert full.dtype == torch.float64 and full.tolist() == [1.5, 1.5] and (given, flag) == (0.0, False)
    assert module.mixed(a, a, 0)[1:] == (1.0, True)
    assert module.fill(a, 2) is None and torch.equal(a, torch.full((3, 4), 2.0))
    assert module.count((a, a), 3, "four") == 18
    assert module.count.__doc__ == "about count"
    _check_errors(module, a)
    for x in (a.t(), a[:, ::2], a.expand(2, 3, 4), torch.randn(2, 3, 4, 5).permute(0, 2, 3, 1)[..., ::2], torch.randn(1, 4).expand(3, 4)):
        assert module.like(x).stride() == torch.empty_like(x).stride()


def _check_errors(module, a):
    for call in (
        lambda: module.both(None, 1), lambda: module.both(a, 1.5), lambda: module.both(a), lambda: module.count([a], 2**40, "x"),
        lambda: module.count([a, None], 1, "x"), lambda: module.mixed(a, 3, True),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    with pytest.raises(NotImplementedError, match="\"fill\" not implemented for 'Int'"):
        module.fill(torch.zeros(2, dtype=torch.int32), 1)
    with pytest.raises(IndexError):
        module.both(torch.tensor(1.0), 1)
    with pytest.raises(RuntimeError) as caught:
        module.make(a)
    with pytest.raises(RuntimeError) as own:
        torch.empty(1 << 46)
    assert type(caught.value) is type(own.value) and "allocate" in str(caught.value)


def test_functions_may_be_a_list_a_dict_or_a_name(intercepted):
    for functions in (["add"], {"add": "adds"}, "add"):
        _check_add(extension.load_inline(name="m", cpp_sources=ADD, functions=functions))
    assert len(intercepted.cache.log()) == 2  # the list and the name ask for the same module


def test_a_torch_without_the_quick_way_out_is_served_too(intercepted):
    module = extension.load_inline(name="m", cpp_sources=[ADD], functions=["add"], extra_cflags=["-DPOPCORN_NO_WRAP"])
    _check_add(module)


def test_the_same_text_is_built_once(intercepted):
    first, second = (extension.load_inline(name="m", cpp_sources=[ADD], functions=["add"]) for _ in range(2))
    assert first is second
    assert [result.cached for result in intercepted.results] == [False, True]
    (row,) = intercepted.cache.log()
    assert row["tier"] == "stable" and row["language"] == "cpp"


def test_tensors_that_require_gradients_pass_through(intercepted):
    module = extension.load_inline(name="m", cpp_sources=ADD, functions=["add"])
    a = torch.nn.Parameter(torch.randn(2, 2))
    assert torch.equal(module.add(a, a, 1.0), 2 * a)
    with pytest.raises(RuntimeError, match="shapes differ: \\[2, 2\\] and \\[3\\]"):
        module.add(a, torch.ones(3), 1.0)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        module.add(a.double(), a, 1.0)


def test_a_text_that_uses_more_of_torch_gets_the_next_headers(intercepted):
    text = "torch::Tensor f(torch::Tensor a) { return at::relu(a).sum(0) * 2; }\ntorch::Tensor g(torch::Tensor a) { return a.sum(3); }"
    module = extension.load_inline(name="m", cpp_sources=text, functions=["f", "g"])
    a = torch.randn(3, 4)
    torch.testing.assert_close(module.f(a), a.relu().sum(0) * 2)
    (result,) = intercepted.results
    assert result.tier == "per-operator"
    assert [row["tier"] for row in result.facts["tiers"]] == ["stable", "per-operator"]
    assert "relu" in result.facts["tiers"][0]["reason"]
    with pytest.raises(TypeError):
        module.f(None)
    with pytest.raises(IndexError):
        module.g(a)


def test_the_light_build_equals_torch_s_own(intercepted, monkeypatch, tmp_path):
    """The one slow comparison: the same text with several functions, built by torch itself and by us."""
    text = ADD + MANY.replace("#include <torch/extension.h>", "")
    functions = ["add", "both", "mixed", "fill", "count", "like"]
    ours = extension.load_inline(name="same", cpp_sources=[text], functions=functions)
    monkeypatch.undo()
    theirs = extension.load_inline(name="same", cpp_sources=[text], functions=functions, build_directory=str(tmp_path))
    assert intercepted.results[0].tier == "stable" and "intercept" not in extension.load_inline.__qualname__
    a, b = torch.randn(3, 4), torch.randn(4, 3).t()
    calls = [
        ("add", (a, b, 2.0)), ("add", (a, b, True)), ("add", (a, b, torch.tensor(2.0))), ("add", (a, b[:2], 1)),
        ("add", (a, b)), ("add", (a.double(), b, 1)),
        ("add", (a, None, 1)), ("add", ([1.0], b, 1)), ("both", (a, 5)), ("both", (a, 5.0)),
        ("both", (a, True)), ("both", (a, torch.tensor(3))),
        ("both", (a, "3")), ("both", (torch.tensor(1.0), 1)), ("mixed", (a, None, True)), ("mixed", (a, b, 0)), ("mixed", (a, b, None)),
        ("mixed", (a, 3, True)), ("mixed", (a, b, "yes")), ("fill", (torch.empty(3).double(), 1)), ("fill", (torch.zeros(3).int(), 1)),
        ("count", ([a, b], 2, "xy")), ("count", ((a,), 2, "")), ("count", ([], 2**31, "")), ("count", (a, 2, "x")),
        ("count", ([a, 1], 2, "x")),
        ("like", (b,)), ("like", (a.expand(2, 3, 4),)), ("like", (a[:, ::2],)), ("like", (torch.nn.Parameter(a),)),
    ]  # fmt: skip
    for name, arguments in calls:
        assert _seen(getattr(ours, name), arguments) == _seen(getattr(theirs, name), arguments), (name, arguments)


def _seen(function, arguments):
    """What a caller can see of a call: the kind of error (and torch's own words in it), or the result by value, shape, strides and type."""
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), "" if isinstance(error, TypeError) else str(error).split("\n")[0]
    return _described(result, values=function.__name__ != "like")


def _described(value, values):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.stride(), value.requires_grad, value.tolist() if values else None
    return type(value), [_described(item, values) for item in value] if isinstance(value, list | tuple) else value


def test_a_text_with_its_own_module_definition_gets_the_full_tier(intercepted):
    text = "#include <pybind11/pybind11.h>\nint twice(int x) { return 2 * x; }\n"
    text += 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice, pybind11::arg("x") = 4); }\n'
    module = extension.load_inline(name="own", cpp_sources=text, no_implicit_headers=True)
    assert (module.twice(), module.twice(x=5)) == (8, 10)
    assert [row["tier"] for row in intercepted.results[0].facts["tiers"]] == ["full"]


def test_an_error_of_the_candidate_comes_back_with_its_line_at_once(intercepted):
    with pytest.raises(CompileFailed) as caught:
        extension.load_inline(name="m", cpp_sources=ADD.replace("float* o =", "float* oo ="), functions=["add"])
    assert isinstance(caught.value, RuntimeError)
    assert [(item.file, item.line) for item in caught.value.diagnostics if item.severity == "error"] == [("main.cpp", 8)]
    (result,) = intercepted.results
    assert [row["tier"] for row in result.facts["tiers"]] == ["stable"]
    assert intercepted.cache.log() == []


def test_a_function_that_is_declared_and_nowhere_defined_fails_as_an_import(intercepted):
    with pytest.raises(CompileFailed, match=r"cannot be imported.*missing"):
        extension.load_inline(name="m", cpp_sources="torch::Tensor missing(torch::Tensor a);", functions=["missing"])


def test_load_sends_texts_not_paths(cache, monkeypatch, tmp_path):
    from popcorn.toolchain.inline import intercept

    (tmp_path / "k.cpp").write_text('#include "k.h"\n')
    (tmp_path / "k.h").write_text("int f();\n")
    monkeypatch.setattr(extension, "load_inline", extension.load_inline)
    monkeypatch.setattr(extension, "load", extension.load)
    requests = []
    intercept(lambda request: requests.append(request) or {"error": "no", "diagnostics": []})
    with pytest.raises(CompileFailed, match="no"):
        extension.load(name="m", sources=[str(tmp_path / "k.cpp")], extra_include_paths=[str(tmp_path), "/usr/include"])
    assert requests[0]["extra_include_paths"] == [".", "/usr/include"]
    assert requests[0]["files"] == {"k.cpp": '#include "k.h"\n', "k.h": "int f();\n"}
    assert str(tmp_path) not in str(requests[0])
    with pytest.raises(CompileFailed, match="cannot be read"):
        extension.load(name="m", sources=["/nowhere/k.cpp"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "../evil"}, "cannot be built"),
        ({"cpp_sources": 3}, "cannot be built"),
        ({"surprise": 1}, "cannot be built"),
        ({"extra_cflags": ["-fplugin=/tmp/evil.so"]}, "-fplugin"),
        ({"extra_ldflags": ["-Wl,--dynamic-linker=/tmp/x"]}, "not allowed"),
        ({"cpp_sources": ["x" * 2_000_001]}, "2,000,000"),
        ({"files": {"../k.cpp": ""}}, "own folder"),
        ({"cuda_sources": ["x"]}, "GPU"),
    ],
)
def test_a_hostile_request_is_a_compile_error(cache, change, words):
    request = {"name": "m", "cpp_sources": ["int x;"], "functions": {"f": "f"}} | change
    result = build_inline(request, cache)
    assert result.failure == "compile_error" and words in result.reason
    assert cache.log() == []


LOGSUMEXP = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cmath>
__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ out, int R, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float top = -INFINITY, sum = 0.0f;
  for (int r = 0; r < R; ++r) top = fmaxf(top, x[r * n + i]);
  for (int r = 0; r < R; ++r) sum += expf(x[r * n + i] - top);
  out[i] = top + logf(sum);
}
torch::Tensor logsumexp_cuda(torch::Tensor x) {
  int B = x.size(1), D = x.size(2);
  auto out = torch::empty({B, D}, x.options());
  logsumexp_kernel<<<(B * D + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), B * D);
  return out;
}
"""
GUARDED = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_fp16.h>
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
template <typename T> __global__ void twice(const T* x, T* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<T>(static_cast<float>(x[i]) * 2.0f);
}
torch::Tensor twice_cuda(torch::Tensor x) {
  CHECK_CUDA(x);
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "twice", [&] {
    twice<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


def _cuda_request(text, name):
    cpp = f"torch::Tensor {name}(torch::Tensor x);"
    return {
        "name": "m",
        "cpp_sources": [cpp],
        "cuda_sources": [text],
        "functions": {name: name},
        "extra_cuda_cflags": ["-O3", "--use_fast_math"],
    }


@needs_nvcc
@pytest.mark.parametrize(("text", "name"), [(LOGSUMEXP, "logsumexp_cuda"), (GUARDED, "twice_cuda")])
def test_cuda_wrappers_compile_with_the_light_headers(cache, text, name):
    result = build_inline(_cuda_request(text, name), cache, arch="9.0")
    assert result.ok and result.tier == "stable", result.reason
    assert cache.log()[0]["language"] == "cuda"


@needs_nvcc
@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("expf(x", "expff(x", 11),  # a name that nothing declares
        ("sum = 0.0f;", "sum = 0.0f", 10),  # syntax: nvcc points at the next line
        ("top = -INFINITY,", 'top = "low",', 9),  # a type error in device code
        ("x.data_ptr<float>()", "x.data_pt<float>()", 17),  # a method that no tensor has
    ],
)
def test_a_cuda_text_that_is_wrong_in_every_tier_fails_in_the_first(cache, old, new, line):
    result = build_inline(_cuda_request(LOGSUMEXP.replace(old, new, 1), "logsumexp_cuda"), cache, arch="9.0", timeout_s=60)
    assert result.failure == "compile_error"
    assert [row["tier"] for row in result.facts["tiers"]] == ["stable"]
    assert result.diagnostics[0].file == "cuda.cu" and result.diagnostics[0].line == line


def test_no_tier_is_tried_after_the_deadline(cache, monkeypatch):
    monkeypatch.setattr(inline_build.header_tiers, "possible_tiers", lambda *arguments: [header_tiers.FULL])
    result = build_inline({"name": "m", "cpp_sources": [ADD], "functions": {"add": "add"}}, cache, timeout_s=0.4)
    assert result.failure == "timeout" and cache.log() == []
