import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.errors import BadCandidate
from popcorn.toolchain.diagnostics import CompileFailed
from popcorn.toolchain.languages import check_contract, detect_language, without_comments

MODEL = "import torch\nfrom torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return x\n"
INLINE = "from torch.utils.cpp_extension import load_inline\n"
C = """#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* a, int b, popcorn_tensor* c, int d, const double* e, int f, void* g) { return 0; }
"""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (MODEL, "torch"),
        ("import triton\n@triton.jit\ndef k(): pass\n" + MODEL, "triton"),
        ("import triton as t\n@t.autotune(configs=[], key=[])\n@t.jit\ndef k(): pass\n" + MODEL, "triton"),
        ("from triton import jit\n@jit\ndef k(): pass\n" + MODEL, "triton"),
        ("import tilelang\n@tilelang.jit(out_idx=[1])\ndef k(): pass\n" + MODEL, "tilelang"),
        ("import cutlass.cute as cute\n@cute.kernel\ndef k(): pass\n" + MODEL, "cute"),
        (INLINE + "m = load_inline('a', cpp_sources='', cuda_sources='x', functions=['f'])\n" + MODEL, "cuda"),
        (INLINE + "m = load_inline('a', 'x', 'y')\n" + MODEL, "cuda"),
        (INLINE + "m = load_inline(name='a', cpp_sources='', functions=['f'])\n" + MODEL, "cpp"),
        (INLINE + "m = load_inline(name='a', cpp_sources='', cuda_sources=None)\n" + MODEL, "cpp"),
        ("import torch.utils.cpp_extension as e\nm = e.load(name='a', sources=['k.cu'])\n" + MODEL, "cuda"),
        ("k = __import__\nimport torch\nk = torch.cuda._compile_kernel('', 'k')\n" + MODEL, "cuda"),
    ],
)
def test_calls_and_decorators_decide_the_language_of_a_python_text(text, language):
    assert detect_language("k.py", text) == language


def test_strings_and_comments_decide_nothing():
    text = '"""@triton.jit load_inline(cuda_sources=1)"""\n# import tilelang\nnote = "import triton; @triton.jit"\n' + MODEL
    assert detect_language("k.py", text) == "torch"


def test_an_import_alone_is_no_kernel():
    assert detect_language("k.py", "import triton\n" + MODEL) == "torch"


@pytest.mark.parametrize(("name", "language"), [("k.c", "c"), ("k.cpp", "cpp"), ("K.CC", "cpp"), ("k.cu", "cuda")])
def test_the_extension_decides_for_native_files(name, language):
    assert detect_language(name, C) == language


def test_asked_may_choose_among_what_the_text_is():
    text = INLINE + "import triton\n@triton.jit\ndef k(): pass\nm = load_inline('a', 'x', 'y')\n" + MODEL
    assert detect_language("k.py", text, "triton") == "triton"
    assert detect_language("k.py", text) == "cuda"


@pytest.mark.parametrize(
    ("name", "text", "asked", "words"),
    [
        ("k.rs", MODEL, None, ".rs"),
        ("k", MODEL, None, "(none)"),
        ("k.py", "  \n", None, "empty"),
        ("k.py", "x = 1\0", None, "not text"),
        ("k.py", "#" * 2_000_001, None, "2,000,000"),
        ("k.py", MODEL, "triton", "not in triton"),
        ("k.c", C, "cuda", "not in cuda"),
        ("k.py", MODEL, "rust", "not a language"),
        ("k.py", "\ud800", None, "not text"),
    ],
)
def test_what_is_no_candidate_is_refused_with_the_next_step(name, text, asked, words):
    with pytest.raises(BadCandidate, match=words.replace("(", r"\(").replace(")", r"\)")):
        detect_language(name, text, asked)


def test_a_syntax_error_carries_its_line():
    with pytest.raises(CompileFailed) as caught:
        check_contract(MODEL + "def broken(:\n", "torch", name="mine.py")
    (item,) = caught.value.diagnostics
    assert (item.file, item.line, item.severity) == ("mine.py", 6, "error")
    assert "line 6" in caught.value.reason


def test_code_between_fences_is_told_from_any_other_syntax_error():
    with pytest.raises(CompileFailed, match="keep what is between them alone"):
        check_contract("Here it is:\n\n```python\nclass ModelNew: pass\n```\n", "torch")


def test_a_byte_order_mark_and_lines_of_windows_are_no_syntax_error():
    check_contract("\ufeffimport torch\r\nclass ModelNew(torch.nn.Module):\r\n\tpass\r\n", "torch", python=True)


def test_a_missing_model_class_is_said():
    with pytest.raises(CompileFailed, match="ModelNew"):
        check_contract("class Model:\n    class ModelNew: pass\n", "torch")
    check_contract("try:\n    import x\n    class ModelNew: pass\nexcept ImportError:\n    raise\n", "torch")
    check_contract("class M: pass\nModelNew = M\n", "torch")


def test_popcorn_forward_in_a_comment_or_string_is_missing():
    for text in (
        "// popcorn_forward(\nint x;",
        '/* popcorn_forward( */ const char* s = "popcorn_forward(";',
        "int popcorn_forwards(void);",
    ):
        with pytest.raises(CompileFailed, match="popcorn_forward"):
            check_contract(text, "c")
    check_contract(C, "c")
    check_contract(C, "cuda", python=False)


def test_a_text_too_deep_for_the_parser_is_a_compile_error():
    with pytest.raises(CompileFailed):
        check_contract("x = " + "(" * 5000 + ")" * 5000, "torch")


def test_comments_go_and_lines_stay():
    text = 'int a; // "x\n/* b\n c */ char q = \'"\'; const char* s = "// no"; int big = 1\'000; int last;\n'
    blanked = without_comments(text)
    assert blanked.count("\n") == text.count("\n")
    assert "last" in blanked and "no" not in blanked and " c " not in blanked


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_any_text_gets_an_answer_or_a_typed_error(text):
    for name in ("k.py", "k.c", "k.cu"):
        try:
            language = detect_language(name, text)
            check_contract(text, language, name=name)
        except (BadCandidate, CompileFailed) as error:
            assert str(error)
    without_comments(text)


def test_the_parent_side_imports_without_torch():
    modules = (
        "popcorn.toolchain, popcorn.toolchain.inline, popcorn.toolchain.nvrtc, popcorn.toolchain.triton_cache, popcorn.toolchain.build"
    )
    command = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0


def test_an_extension_of_torch_is_told_its_two_ways():
    with pytest.raises(CompileFailed, match=r"PYBIND11_MODULE.*load_inline"):
        check_contract("PYBIND11_MODULE(x, m) { }", "cuda", python=False)


@pytest.mark.parametrize("first", ["const float* x", "float *x", "torch::Tensor x", "const at::Tensor& x"])
def test_a_forward_of_ones_own_making_is_told_before_it_crashes(first):
    with pytest.raises(CompileFailed, match=r"is called with tables of tensors: write it as popcorn_kernel\.h declares it"):
        check_contract(f"void popcorn_forward({first}, long n) {{}}", "cpp", python=False)
    check_contract("int popcorn_forward(const popcorn_tensor* inputs, int n) { float* x = 0; return 0; }", "c")
