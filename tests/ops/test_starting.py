"""`popcorn ops --new NAME`: an op that is right from its first minute."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from popcorn.cases import Plan
from popcorn.errors import PopcornError
from popcorn.ops import registry
from popcorn.ops.starting import start_op

NAME = "begun_by_a_test"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library that holds the new op alone, importable as the one that ships."""
    package = importlib.import_module("popcorn.ops.library")
    monkeypatch.setattr(package, "__path__", [str(tmp_path), *package.__path__])
    monkeypatch.setattr(registry, "LIBRARY", tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(f"popcorn.ops.library.{NAME}")]:
        del sys.modules[name]


def test_a_new_op_is_right_forward_and_backward_at_once(library: Path) -> None:
    files = start_op(NAME, library)
    assert [file.name for file in files] == ["__init__.py", "reference.py", "impl_popcorn.py", f"{NAME}.cpp"]
    op = registry.find_op(NAME)
    assert set(op.implementations) == {"torch", "inductor", "popcorn"} and isinstance(op.plan, Plan)
    x, weight, cotangent = (
        torch.randn(5, 33, dtype=torch.float64),
        torch.randn(33, dtype=torch.float64),
        torch.randn(5, 33, dtype=torch.float64),
    )
    answers = []
    for name in ("torch", "popcorn"):
        leaves = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
        out = op[name](*leaves)
        answers.append([out, *torch.autograd.grad(out, leaves, cotangent)])
    for mine, theirs in zip(*answers, strict=True):
        torch.testing.assert_close(mine, theirs)
    with pytest.raises(PopcornError, match="already"):
        start_op(NAME, library)


@pytest.mark.parametrize("name", ["Scaled", "2x", "class", "a b", "../x", "x", ""])
def test_a_name_that_is_none_is_refused(library: Path, name: str) -> None:
    with pytest.raises(PopcornError, match="such as scaled_relu2"):
        start_op(name, library)
    assert list(library.iterdir()) == []


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PopcornError, match="there is an op softmax already"):
        start_op("softmax", tmp_path)


def test_a_slip_in_an_import_is_no_missing_package(library: Path) -> None:
    file = start_op(NAME, library)[2]
    text = file.read_text()
    file.write_text(text.replace("import native", "import nativ"))
    with pytest.raises(ImportError, match="nativ"):
        _ = registry.find_op(NAME).implementations


def test_a_package_that_is_not_there_is_named(library: Path) -> None:
    file = start_op(NAME, library)[2]
    file.write_text("import nowhere_at_all.deep\n" + file.read_text())
    op = registry.find_op(NAME)
    answer = op.implementations["popcorn"].accepts(registry.Call({"R": 1, "D": 1}, "float32", "cpu"))
    assert not answer and "pip install nowhere_at_all" in str(answer)
