import sys
import time

import pytest

from popcorn.errors import MissingTool
from popcorn.toolchain.build import build
from popcorn.toolchain.command import run_command, run_together
from popcorn.toolchain.languages import detect_language
from popcorn.toolchain.native import device_architecture, generate_code
from tests.processes import gone
from tests.toolchain.conftest import needs_nvcc

KERNEL = """#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* s, int n_s, void* stream) {
    return 0;
}
"""
MODULE = "class ModelNew:\n    pass\n"


@pytest.mark.parametrize(("name", "language"), [("k.c", "c"), ("k.cpp", "cpp")])
def test_a_native_text_is_compiled_once(cache, name, language):
    first = build(KERNEL, language, name, cache)
    again = build(KERNEL, language, name, cache)
    assert first.ok and first.kind == "native" and first.path.is_file() and not first.cached and first.seconds > 0
    assert (again.path, again.cached, again.seconds, again.key) == (first.path, True, 0.0, first.key)
    assert [row["key"] for row in cache.log()] == [first.key]
    assert first.record().key == first.key
    assert build(KERNEL + "\n", language, name, cache).key != first.key


def test_a_python_module_is_only_checked(cache):
    result = build(MODULE, "torch", "k.py", cache)
    assert result.ok and (result.kind, result.path, result.key) == ("python", None, None)
    assert cache.log() == []


def test_an_error_names_its_line_and_is_not_remembered(cache):
    for _ in range(2):
        result = build(KERNEL.replace("return 0", "return zero"), "c", "k.c", cache)
        assert result.failure == "compile_error" and not result.ok and result.path is None
        assert result.reason.startswith("kernel.c:3: ") and "zero" in result.reason
        assert result.diagnostics[0].line == 3
        assert result.record().reason == result.reason


def test_a_library_without_the_function_is_a_compile_error(cache):
    text = "#define other(x) x\nextern int popcorn_forward(int);\nint use(void) { return popcorn_forward(1); }\n"
    result = build(text, "c", "k.c", cache)
    assert result.failure == "compile_error" and "exports no popcorn_forward" in result.reason


def test_a_compiler_that_does_not_end_is_a_timeout(cache):
    text = KERNEL + "template <int N> struct A { static const int v = A<N - 1>::v + A<N - 2>::v; };\n" + _slow()
    start = time.monotonic()
    result = build(text, "cpp", "k.cpp", cache, timeout_s=0.5)
    assert result.failure == "timeout" and "0.5 s" in result.reason
    assert time.monotonic() - start < 30


def _slow():
    """A constant expression that takes a compiler minutes."""
    return "constexpr long f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2) + n % 3; }\n" + "".join(
        f"static_assert(f({20 + index % 3} + {index} * 0) > 0);\ntemplate <int> constexpr long g{index}() {{ long s = 0; "
        f"for (int i = 0; i < 200000; ++i) s += i; return s; }}\nconstexpr long v{index} = g{index}<0>();\n"
        for index in range(400)
    )


def test_the_deadline_kills_the_whole_process_group(tmp_path):
    ran = run_command(["sh", "-c", "sleep 60 & echo $!; wait"], tmp_path, 0.3)
    assert ran.timed_out and ran.seconds < 5
    assert gone(int(ran.output))


def test_the_first_failure_stops_the_commands_beside_it(tmp_path):
    slow, bad = run_together([["sleep", "60"], ["sh", "-c", "exit 3"]], tmp_path, 30)
    assert slow.stopped and slow.seconds < 10 and bad.code == 3


def test_a_flood_of_output_is_cut(tmp_path):
    ran = run_command([sys.executable, "-c", "print('x' * 3_000_000)"], tmp_path, 30)
    assert ran.code == 0 and len(ran.output) == 256 * 1024


def test_a_compiler_sees_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hunter2")
    assert "hunter2" not in run_command(["env"], tmp_path, 10).output


def test_a_missing_package_is_said_with_its_command(cache):
    text = "import tilelang\n@tilelang.jit\ndef k(): pass\n" + MODULE
    with pytest.raises(MissingTool, match=r"popcornbench\[tilelang\]"):
        build(text, detect_language("k.py", text), "k.py", cache)


def test_a_cu_file_on_a_cpu_is_refused_with_the_reason(cache):
    result = build(KERNEL, "cuda", "k.cu", cache, device_kind="cpu")
    assert result.failure == "compile_error" and "GPU" in result.reason


@pytest.mark.parametrize("written", ["9.0", "90", "sm_90", "90a", "sm_90a"])
def test_every_way_to_write_hopper_is_one_architecture(written):
    assert generate_code(written) == "-gencode=arch=compute_90a,code=sm_90a"


def test_older_devices_have_no_suffix_and_nonsense_is_refused():
    assert device_architecture("8.0") == "80" and device_architecture("12.0") == "120a"
    with pytest.raises(ValueError, match="hopper"):
        device_architecture("hopper")


@needs_nvcc
def test_a_cu_file_is_compiled_for_this_device_alone(cache):
    text = KERNEL.replace("return 0;", "k<<<1, 1, 0, (cudaStream_t)stream>>>((float*)out[0].data); return (int)cudaGetLastError();")
    text = text.replace("int popcorn_forward", "__global__ void k(float* x) { x[0] = 1.0f; }\nint popcorn_forward")
    result = build(text, "cuda", "k.cu", cache, device_kind="cuda", arch="9.0", timeout_s=60)
    assert result.ok, result.reason
    assert b".nv_fatbin" in result.path.read_bytes()
    assert result.facts["backward"] is False


@needs_nvcc
def test_an_error_in_a_cu_file_has_its_line(cache):
    result = build(KERNEL.replace("return 0", "return zero"), "cuda", "k.cu", cache, device_kind="cuda", arch="9.0")
    assert result.failure == "compile_error" and result.diagnostics[0].line == 3
