import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.toolchain.command import find_compiler
from popcorn.toolchain.diagnostics import MAX_ITEMS, MAX_MESSAGE, first_error, parse_diagnostics
from tests.toolchain.conftest import needs_nvcc


def _said(command, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    answer = subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    return parse_diagnostics(answer.stdout + answer.stderr)


def test_gcc_errors_and_warnings_have_their_lines(tmp_path):
    text = "int f(void) {\n  int unused = 1;\n  return missing;\n}\nint g(void) {\n  return 1\n}\n"
    found = _said([find_compiler("c"), "-Wall", "-c"], tmp_path, "bad.c", text)
    errors = [(item.file, item.line) for item in found if item.severity == "error"]
    assert errors == [("bad.c", 3), ("bad.c", 6)]
    assert (2, True) in [(item.line, "unused" in item.message) for item in found if item.severity == "warning"]
    assert first_error(found).startswith("bad.c:3: ") and "missing" in first_error(found)


def test_a_missing_header_is_an_error_with_its_line(tmp_path):
    found = _said([find_compiler("cpp"), "-c"], tmp_path, "bad.cpp", "int a;\n#include <nowhere.h>\n")
    assert (found[0].line, found[0].severity) == (2, "error") and "nowhere.h" in found[0].message


def test_an_undefined_symbol_at_the_link_is_an_error(tmp_path):
    found = _said([find_compiler("c")], tmp_path, "main.c", "int absent(void);\nint main(void) { return absent(); }\n")
    assert any("undefined reference" in item.message and item.severity == "error" for item in found)


def test_what_the_assembler_refuses_is_an_error_with_its_line(tmp_path):
    found = _said([find_compiler("c"), "-c"], tmp_path, "bad.c", 'int a;\nvoid f(void) { __asm__("no_such_thing %eax"); }\n')
    assert [(item.file, item.line, item.severity) for item in found if "no_such_thing" in item.message] == [("bad.c", 2, "error")]
    assert first_error(parse_diagnostics("cc1.s:6: Error: file not found: x\ncc1.s:7: Warning: odd")) == "cc1.s:6: file not found: x"
    assert [item.severity for item in parse_diagnostics("cc1.s:7: Warning: odd")] == ["warning"]


@needs_nvcc
def test_nvcc_errors_have_their_lines(tmp_path):
    text = "__global__ void k(float* x) {\n  int unused;\n  x[0] = missing;\n  x[1] = 2.0f\n}\n"
    found = _said([find_compiler("cuda"), "-c"], tmp_path, "bad.cu", text)
    assert [(item.file, item.line) for item in found if item.severity == "error"] == [("bad.cu", 3), ("bad.cu", 5)]


def test_a_python_traceback_gives_its_last_frame(tmp_path):
    text = "def f():\n    return 1 / 0\n\n\nf()\n"
    (found,) = _said([sys.executable], tmp_path, "mine.py", text)
    assert (found.file, found.line, found.message) == ("mine.py", 2, "ZeroDivisionError: division by zero")


def test_a_triton_error_gives_its_line():
    text = "triton.compiler.errors.CompilationError: at 12:14:\n    x = tl.load(p)\n        ^\nNameError('q is not defined')\n"
    assert parse_diagnostics(text)[0].line == 12


def test_ptxas_lines_are_read():
    text = "ptxas /tmp/k.ptx, line 40; error   : Unknown symbol 'q'\nptxas fatal   : Ptx assembly aborted due to errors\n"
    assert [(item.file, item.line) for item in parse_diagnostics(text)] == [("k.ptx", 40), (None, None)]


def test_a_flood_is_capped_and_errors_survive():
    flood = "".join(f"a.c:{line}:1: warning: w{line} {'x' * 2000}\n" for line in range(1, 200)) + "a.c:900:1: error: the one\n"
    found = parse_diagnostics(flood)
    assert len(found) == MAX_ITEMS
    assert found[-1].message == "the one"
    assert max(len(item.message) for item in found) <= MAX_MESSAGE


_LINE = st.one_of(
    st.text(max_size=80),
    st.builds("{}:{}:{}: {}: {}".format, st.text(max_size=8), st.integers(), st.integers(), st.sampled_from(["error", "note"]), st.text()),
    st.builds("{}({}): error: {}".format, st.text(max_size=8), st.integers(0, 10**12), st.text(max_size=30)),
    st.builds('  File "{}", line {}'.format, st.text(max_size=8), st.integers(0, 10**12)),
)


@given(st.lists(_LINE, max_size=30))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_it_raise(lines):
    found = parse_diagnostics("\n".join(lines))
    assert len(found) <= MAX_ITEMS
    assert all(len(item.message) <= MAX_MESSAGE and "\n" not in item.message for item in found)


def test_a_hostile_line_costs_no_time():
    assert len(parse_diagnostics(("a" * 100_000 + ":") * 9)) <= 1
