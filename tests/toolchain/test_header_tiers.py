import pytest

from popcorn.toolchain.header_tiers import FULL, PER_OPERATOR, STABLE, needs_half, possible_tiers, used_operators
from popcorn.toolchain.torch_install import find_torch

PLAIN = "torch::Tensor f(torch::Tensor a) { return a; }"


def _tiers(text, functions=("f",), plain=True, default="float32"):
    return possible_tiers([text], dict.fromkeys(functions, ""), plain, find_torch(), default)


def test_a_plain_text_starts_with_the_lightest_headers():
    assert _tiers(PLAIN) == [STABLE, PER_OPERATOR, FULL]


@pytest.mark.parametrize(
    "text",
    [
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }',
        "py::object f(py::object a) { return a; }",
        "torch::Tensor f() { return torch::tensor({1.0}); }",
        "TORCH_LIBRARY(x, m) {}",
        "auto o = torch::TensorOptions().requires_grad(true);",
        "#if TORCH_VERSION_MAJOR >= 2\nint x;\n#endif",
        "#if __has_include(<torch/all.h>)\n#endif",
        "#ifdef TORCH_CHECK\nint x;\n#endif",
    ],
)
def test_what_only_torch_itself_can_give_goes_straight_to_the_full_headers(text):
    assert _tiers(text + PLAIN) == [FULL]


def test_words_in_comments_and_strings_decide_nothing():
    assert _tiers('// PYBIND11_MODULE py::\nconst char* s = "torch::nn";\n' + PLAIN)[0] == STABLE


def test_an_unknown_header_of_torch_skips_the_look_alike():
    assert _tiers("#include <ATen/native/cuda/Loops.cuh>\n" + PLAIN) == [PER_OPERATOR, FULL]
    assert _tiers("// #include <ATen/native/cuda/Loops.cuh>\n#include <vector>\n" + PLAIN)[0] == STABLE


def test_conditions_on_the_compiler_and_own_macros_are_fine():
    assert _tiers("#define TILE 8\n#if TILE > 4 && defined(__CUDA_ARCH__)\n#endif\n#ifndef MY_H\n#endif\n" + PLAIN)[0] == STABLE


def test_another_default_dtype_or_names_that_are_not_plain_skip_the_look_alike():
    assert _tiers(PLAIN, default="float64") == [PER_OPERATOR, FULL]
    assert _tiers(PLAIN, functions=("ns::f",)) == [FULL]
    assert _tiers(PLAIN, functions=()) == [FULL]
    assert _tiers(PLAIN, plain=False) == [FULL]


def test_sixteen_bit_headers_are_paid_only_when_spoken_of():
    assert needs_half(["__half x;"]) and needs_half(["at::BFloat16"]) and not needs_half([PLAIN])


def test_operators_are_found_by_name():
    assert used_operators(["auto b = at::relu(a).sum(0); c->mm(d); torch::nothing_such(a); v.push_back(1);"], find_torch()) == [
        "mm",
        "relu",
        "sum",
    ]
