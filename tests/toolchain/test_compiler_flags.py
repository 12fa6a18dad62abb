import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.toolchain.compiler_flags import checked_flags
from popcorn.toolchain.diagnostics import CompileFailed


@pytest.mark.parametrize(
    "flags",
    [
        ["-O3"],
        ["-march=native", "-fopenmp"],
        ["-std=c++17"],
        ["-DN=4", "-Wall"],
        ["-I/usr/include/x"],
        ["-lcublas"],
        ["-ffast-math"],
        ["-I", "x"],
    ],
)
def test_ordinary_host_flags_pass(flags):
    assert checked_flags(flags, "host") == flags


def test_ordinary_cuda_flags_pass_and_architectures_are_this_device_s():
    flags = [
        "-O3",
        "--use_fast_math",
        "-lineinfo",
        "-Xptxas",
        "-v",
        "--ptxas-options=-O3",
        "-gencode",
        "arch=compute_80,code=sm_80",
        "-arch=sm_75",
        "-std=c++17",
    ]
    assert checked_flags(flags, "cuda") == ["-O3", "--use_fast_math", "-lineinfo", "-Xptxas", "-v", "--ptxas-options", "-O3", "-std=c++17"]
    assert checked_flags(['-O3 -DGREETING="hello world"', '-DNAME=\\"x\\"'], "host") == ["-O3", "-DGREETING=hello world", '-DNAME="x"']
    assert checked_flags(["-O3 --use_fast_math"], "cuda") == ["-O3", "--use_fast_math"]
    assert checked_flags(["-Xcompiler", "-O3,-fopenmp"], "cuda") == ["-Xcompiler", "-O3", "-Xcompiler", "-fopenmp"]


@pytest.mark.parametrize(
    ("flag", "compiler"),
    [
        ("-fplugin=evil.so", "host"), ("-wrapper sh,-c,id", "host"), ("-specs=evil", "host"), ("@flags", "host"), ("-B/tmp", "host"),
        ("-o/tmp/x", "host"), ("-o /tmp/x", "host"), ("-Wl,-plugin,evil.so", "host"), ("-Wl,-rpath,/x,-plugin,evil.so", "host"), ("-Wp,-MD,/tmp/x", "host"), ("-Wa,--x", "host"),
        ("-include /etc/passwd", "host"), ("-fprofile-use=/tmp/x", "host"), ("-fdump-tree-all=/tmp/x", "host"), ("-MF/tmp/x", "host"),
        ("-save-temps=obj", "host"), ("/etc/passwd", "host"), ("-Xcompiler -fplugin=evil.so", "cuda"), ("-ccbin=/tmp/evil", "cuda"),
        ("--compiler-bindir /tmp/evil", "cuda"), ("-Xcompiler=-fplugin=x", "cuda"), ("--run", "cuda"), ("--options-file x", "cuda"),
        ("--output-directory=/tmp", "cuda"), ("--keep-dir=/tmp", "cuda"), ("-Xlinker -plugin", "cuda"),
    ],
)  # fmt: skip
def test_flags_that_run_or_write_something_are_refused(flag, compiler):
    with pytest.raises(CompileFailed, match="not allowed"):
        checked_flags([flag], compiler)


@given(st.lists(st.text(max_size=20), max_size=5), st.sampled_from(["host", "cuda"]))
@settings(max_examples=200, deadline=None)
def test_nothing_passes_that_is_no_flag(flags, compiler):
    try:
        kept = checked_flags(flags, compiler)
    except CompileFailed:
        return
    assert not kept or kept[0].startswith("-")
