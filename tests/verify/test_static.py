"""The static check reads the syntax tree: comments and strings neither hide nor trigger anything."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.audit.samples import read_samples
from popcorn.verify.static.check import check_text, refusals
from popcorn.verify.static.remark import RULES


def rules(source: str, is_python: bool = True) -> list[str]:
    return [one.rule for one in check_text(source, is_python)]


def test_comments_and_strings_trigger_nothing() -> None:
    assert rules('# os.kill(1, 9)\n"""torch.matmul, exec, threading.Thread"""\nx = "sys._getframe() # exec(1)"\n') == []
    assert rules('/* kill(1, 9); */ // system("ls")\nconst char* s = "cublasSgemm(); pthread_create();";\n', False) == []


def test_comments_and_strings_hide_nothing() -> None:
    assert "library" in rules("import torch\ny = n // 2; s = '#'; z = torch.matmul(a, b)\n")
    assert "other-processes" in rules('void f() { const char* a = "/*"; kill(1, 9); const char* b = "*/"; }', False)


@pytest.mark.parametrize(
    "text,rule",
    [
        ("import time\ntime.perf_counter = lambda: 0\n", "clock"),
        ("import time as t\nt.perf_counter_ns = f\n", "clock"),
        ("from torch import nn\nnn.functional.softmax = f\n", "patching"),
        ("from popcorn.worker import side\n", "harness"),
        ("import os as o\no.kill(1, 9)\n", "other-processes"),
        ("import sys\nsys._getframe(1).f_locals\n", "caller"),
        ("import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", "settings"),
        ("import torch\nclass L(torch.Tensor):\n    pass\n", "lazy"),
        ("try:\n    f()\nexcept Exception:\n    g()\n", "swallowed"),
        ("def f(", "syntax"),
    ],
)
def test_what_is_worth_a_look_is_found(text: str, rule: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize(
    "text",
    ["\ufeffimport popcorn.worker.side\n", "# coding: utf-7\n# +AAo-import popcorn.worker.side\n", "# coding: unicode_escape\n# \\nimport popcorn.worker.side\n"],
    ids=["byte order mark", "utf-7", "escapes"],
)  # fmt: skip
def test_nothing_hides_in_another_encoding(text: str) -> None:
    compile(text.encode(), "candidate.py", "exec")  # it is an import to Python
    assert "harness" in rules(text)


def test_a_copy_of_the_problem_s_file_may_import_its_sizes_and_no_more() -> None:
    assert "harness" not in rules("from popcorn.suites.jitter import Dim\n")
    assert "harness" in rules("from popcorn.suites.jitter import Dim, draw\n") and "harness" in rules("import popcorn.suites.jitter\n")


def test_cuda_in_a_string_of_load_inline_is_read_with_its_line() -> None:
    text = 'SOURCE = """\n#include <cublas_v2.h>\nvoid f(float* a) { cublasSgemm(a); }\n"""\n'
    (found,) = check_text(text, True)
    assert (found.rule, found.line) == ("library", 3)


def test_no_honest_sample_is_refused() -> None:
    refused = {one.name for one in read_samples("honest") if refusals(check_text(one.source, one.path.suffix == ".py"))}
    assert refused == set()


def test_every_rule_says_why() -> None:
    assert all(len(why) > 10 for _, why in RULES.values())


@settings(max_examples=60, deadline=None)
@given(st.text(), st.booleans())
def test_no_text_breaks_it(text: str, is_python: bool) -> None:
    check_text(text, is_python)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["import os\n", "x.y = 1\n", "def f(", "):", "os.kill(", "'", '"""', "{", "}", ";", "\\", "\x00", "kill(1);", "/*"])
    )
)
def test_broken_code_does_not_break_it(parts: list[str]) -> None:
    check_text("".join(parts), True)
    check_text("".join(parts), False)
