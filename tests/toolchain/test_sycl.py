"""SYCL: how a text is recognised, what its compiler is told, and a build through a stand-in that takes icpx's flags and no others."""

import ctypes
import os
import sys

import pytest

from popcorn.devices.facts import _sycl
from popcorn.errors import BadCandidate, MissingTool
from popcorn.toolchain.build import build
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.languages import detect_language
from popcorn.toolchain.native import _command
from popcorn.toolchain.native_module import NativeModule
from popcorn.toolchain.tools import missing_tool

TWICE = """#include <sycl/sycl.hpp>

#include "popcorn_kernel.h"

extern "C" int popcorn_forward(const popcorn_tensor* inputs, int, popcorn_tensor* outputs, int, const double*, int, void*) {
    static sycl::queue queue{sycl::cpu_selector_v, sycl::property::queue::in_order()};
    const float* x = static_cast<const float*>(inputs[0].data);
    float* out = static_cast<float*>(outputs[0].data);
    queue.parallel_for(sycl::range<1>(inputs[0].shape[0]), [=](sycl::id<1> i) { out[i] = 2.0f * x[i]; }).wait();
    return 0;
}
"""
HEADER = """#pragma once
#include <cstddef>
namespace sycl {
inline constexpr int cpu_selector_v = 0;
namespace property::queue { struct in_order {}; }
template <int> struct range { std::size_t n; explicit range(std::size_t size) : n(size) {} };
template <int> struct id { std::size_t at; operator std::size_t() const { return at; } };
struct event { void wait() {} };
struct queue {
    queue(int, property::queue::in_order) {}
    template <class F> event parallel_for(range<1> size, F body) { for (std::size_t i = 0; i < size.n; i++) body(id<1>{i}); return {}; }
};
}
"""
STAND_IN = """#!{python}
import os, subprocess, sys
if sys.argv[1:] == ["--version"]:
    print("stand-in for icpx 2025.0"); sys.exit()
given = sys.argv[1:]
assert "-fsycl" in given, given
known = ("-fsycl", "-O3", "-std=c++17", "-ferror-limit=50", "-shared", "-fPIC", "-o", "-I")
assert all(one.startswith(known) or one in ("kernel.cpp", "kernel.so") for one in given), given
kept = [one for one in given if not one.startswith(("-fsycl", "-ferror-limit"))]
sys.exit(subprocess.run(["g++", "-I" + os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *kept]).returncode)
"""


@pytest.fixture
def icpx(tmp_path, monkeypatch):
    """A compiler named icpx, first of PATH."""
    folder = tmp_path / "oneapi"
    (folder / "sycl").mkdir(parents=True)
    (folder / "sycl" / "sycl.hpp").write_text(HEADER)
    there = folder / "bin" / "icpx"
    there.parent.mkdir()
    there.write_text(STAND_IN.format(python=sys.executable))
    there.chmod(0o755)
    monkeypatch.delenv("SYCL_CXX", raising=False)
    monkeypatch.setenv("PATH", f"{there.parent}{os.pathsep}{os.environ['PATH']}")
    return there


def test_a_text_is_sycl_by_its_extension_or_by_the_header_that_it_includes():
    assert detect_language("kernel.sycl", TWICE) == detect_language("kernel.cpp", TWICE) == "sycl"
    assert detect_language("kernel.cpp", "// #include <sycl/sycl.hpp>\nint popcorn_forward();") == "cpp"
    assert detect_language("kernel.sycl", TWICE, "sycl") == "sycl"
    with pytest.raises(BadCandidate, match="not in sycl"):
        detect_language("kernel.cu", "int popcorn_forward();", "sycl")


def test_each_compiler_is_told_the_device_in_its_own_words():
    assert _command("/opt/icpx", TWICE, "sycl", None)[1:3] == ["-fsycl", "-O3"]
    assert "-fsycl-targets=nvidia_gpu_sm_90" in _command("/opt/icpx", TWICE, "sycl", "9.0")
    assert "--acpp-targets=omp" in _command("/usr/bin/acpp", TWICE, "sycl", None)
    assert "--acpp-targets=cuda:sm_80" in _command("/usr/bin/acpp", TWICE, "sycl", "8.0")


def test_a_sycl_kernel_is_built_and_called_like_any_other_native_one(icpx, tmp_path):
    import torch

    assert (_sycl().state, _sycl().finding, missing_tool("sycl")) == ("works", str(icpx), None)
    made = build(TWICE, "sycl", "kernel.sycl", BuildCache(tmp_path / "builds"))
    assert made.ok and made.kind == "native", made.reason
    x = torch.randn(1000)
    module = NativeModule(ctypes.CDLL(str(made.path)), [((1000,), torch.float32)], torch.device("cpu"), [], [])
    assert torch.equal(module(x), 2 * x)
    broken = build(TWICE.replace("2.0f * x[i]", "nothing"), "sycl", "kernel.sycl", BuildCache(tmp_path / "builds"))
    assert not broken.ok and "nothing" in (broken.reason or "")


def test_without_a_compiler_the_sentence_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setattr("popcorn.toolchain.command.find_sycl", lambda: None)
    monkeypatch.setattr("popcorn.devices.host.find_sycl", lambda: None)
    with pytest.raises(MissingTool, match=r"icpx.*AdaptiveCpp.*SYCL_CXX"):
        build(TWICE, "sycl", "kernel.sycl", BuildCache(tmp_path))
    fact = _sycl()
    assert fact.state == "absent" and "intel-oneapi-compiler-dpcpp-cpp" in (fact.fix or "")
