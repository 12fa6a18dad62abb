import subprocess
import sys
import time

import pytest
import torch
from torch import nn

from popcorn.toolchain.build import build
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.native_module import load_native

# out[i][j] = scalar * x[i][j] * w[j], float32, any strides; backward gives x's and w's gradients
SCALE = """#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* s, int n_s, void* stream) {
    if (n_in != 2 || n_out != 1 || n_s != 1 || stream) return 7;
    if (in[0].dtype != POPCORN_FLOAT32 || in[0].ndim != 2) return 8;
    const float *x = (const float*)in[0].data, *w = (const float*)in[1].data;
    float* o = (float*)out[0].data;
    for (int64_t i = 0; i < in[0].shape[0]; ++i)
        for (int64_t j = 0; j < in[0].shape[1]; ++j)
            o[i * out[0].stride[0] + j * out[0].stride[1]] =
                (float)s[0] * x[i * in[0].stride[0] + j * in[0].stride[1]] * w[j * in[1].stride[0]];
    return 0;
}
"""
BACKWARD = """
int popcorn_backward(const popcorn_tensor* in, int n_in, const popcorn_tensor* go, int n_out, popcorn_tensor* g, int n_g,
                     const double* s, int n_s, void* stream) {
    if (n_in != 2 || n_out != 1 || n_g != 2) return 9;
    const float *x = (const float*)in[0].data, *w = (const float*)in[1].data, *d = (const float*)go[0].data;
    float *gx = (float*)g[0].data, *gw = (float*)g[1].data;
    int64_t rows = in[0].shape[0], columns = in[0].shape[1];
    for (int64_t j = 0; j < columns; ++j) gw[j] = 0;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            float value = x[i * in[0].stride[0] + j * in[0].stride[1]];
            gx[i * columns + j] = (float)s[0] * w[j * in[1].stride[0]] * d[i * columns + j];
            gw[j] += (float)s[0] * value * d[i * columns + j];
        }
    return 0;
}
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    cache = BuildCache(tmp_path_factory.mktemp("builds"))
    forward, both = build(SCALE, "c", "k.c", cache), build(SCALE + BACKWARD, "cpp", "k.cpp", cache)
    assert forward.ok and both.ok, (forward.reason, both.reason)
    assert (forward.facts["backward"], both.facts["backward"]) == (False, True)
    return forward.path, both.path


def _module(path, x, w, scalar=3.0):
    return load_native(path, [(tuple(x.shape), torch.float32)], "cpu")([w], [scalar])


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (17, 1), (1, 129), (0, 4)])
def test_odd_shapes(libraries, shape):
    x, w = torch.randn(shape), torch.randn(shape[1])
    assert torch.equal(_module(libraries[0], x, w)(x), 3.0 * x * w)


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
def test_inputs_keep_their_strides(libraries, layout):
    x = {"transposed": torch.randn(5, 3).t(), "sliced": torch.randn(3, 10)[:, ::2], "expanded": torch.randn(3, 1).expand(3, 5)}[layout]
    w = torch.randn(10)[::2]
    assert not x.is_contiguous()
    assert torch.equal(_module(libraries[0], x, w)(x), 3.0 * x * w)


def test_a_layout_that_changes_between_calls_is_seen(libraries):
    module = _module(libraries[0], torch.empty(4, 4), torch.ones(4), 1.0)
    x = torch.randn(4, 4)
    for each in (x, x.t(), torch.randn(4, 8)[:, ::2], x):
        assert torch.equal(module(each), each)


def test_numbers_among_the_inputs_are_scalars_and_lists_are_taken_apart(libraries):
    x, w = torch.randn(3, 5), torch.randn(5)
    made = load_native(libraries[0], [((3, 5), torch.float32)], "cpu")([], [])
    assert torch.equal(made((x, [w, None]), 3, "text"), 3 * x * w)
    assert torch.equal(made((x, [w, None]), 2, "text"), 2 * x * w)


def test_weights_written_in_place_are_seen(libraries):
    w = torch.ones(4)
    module = _module(libraries[0], torch.empty(2, 4), w, 1.0)
    w.fill_(5)
    assert torch.equal(module(torch.ones(2, 4)), torch.full((2, 4), 5.0))


def test_a_nonzero_return_is_a_runtime_error_with_its_number(libraries):
    module = load_native(libraries[0], [((2, 2), torch.float32)], "cpu")([torch.ones(2)], [1.0])
    with pytest.raises(RuntimeError, match="returned 8"):
        module(torch.ones(2, 2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="returned 7"):
        module(torch.ones(2, 2), torch.ones(2))


def test_a_type_without_a_code_is_refused(libraries):
    with pytest.raises(RuntimeError, match="complex64"):
        _module(libraries[0], torch.empty(2, 2), torch.ones(2))(torch.ones(2, 2, dtype=torch.complex64))


def test_backward_gives_the_gradients_of_inputs_and_parameters(libraries):
    x, w = torch.randn(4, 6, requires_grad=True), nn.Parameter(torch.randn(6))
    module = _module(libraries[1], x, w)
    assert [name for name, _ in module.named_parameters()] == ["weight_0"]
    cotangent = torch.randn(6, 4).t()
    module(x).backward(cotangent)
    expected = torch.autograd.grad(3.0 * x * w, [x, w], cotangent)
    torch.testing.assert_close([x.grad, w.grad], list(expected))


def test_without_gradients_wanted_the_backward_is_not_in_the_way(libraries):
    x, w = torch.randn(4, 6), nn.Parameter(torch.randn(6))
    with torch.no_grad():
        assert not _module(libraries[1], x, w)(x).requires_grad


def test_a_file_that_is_no_library_is_a_runtime_error(tmp_path):
    (tmp_path / "k.so").write_text("not a library")
    with pytest.raises(RuntimeError, match="cannot be loaded"):
        load_native(tmp_path / "k.so", [], "cpu")


def test_a_crash_in_the_kernel_kills_its_own_process_alone(libraries, cache):
    text = SCALE.replace("return 8;", "return 8; *(volatile int*)0 = 1;")
    result = build(text, "c", "k.c", cache)
    command = (
        "import sys, torch; from popcorn.toolchain.native_module import load_native; "
        "load_native(sys.argv[1], [((2, 2), torch.float32)], 'cpu')([torch.ones(2)], [1.0])(torch.ones(2, 2))"
    )
    assert subprocess.run([sys.executable, "-c", command, str(result.path)], check=False).returncode < 0


def test_a_call_costs_the_host_few_microseconds(libraries):
    module = _module(libraries[0], torch.empty(1, 1), torch.ones(1), 1.0)
    x = torch.ones(1, 1)
    best = float("inf")
    with torch.no_grad():
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(200):
                module(x)
            best = min(best, (time.perf_counter() - start) / 200)
    assert best < 1e-3, (
        f"{best * 1e6:.1f} µs a call"
    )  # about 8 µs when nothing else runs; packing a call anew would take longer than the mark
