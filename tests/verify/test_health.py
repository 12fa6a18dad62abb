"""Unfit problems are found by the rule that they break; those that ship are fit (a quick few here, all by `popcorn problems check --all`)."""

from pathlib import Path

import pytest

from popcorn.suites.problems import find_problem
from popcorn.worker.bench import Bench
from popcorn.worker.fitness import check_fitness

HEAD = """
import torch
from torch import nn



class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))

    def forward(self, x, y):
        return {formula}


def get_inputs():
    return [torch.randn(32, 64), torch.randn(32, 64)]


def get_init_inputs():
    return [64]
"""
BROKEN = {
    "no trivial answer passes": "torch.softmax(x + y * self.weight, -1).sum(-1, keepdim=True) + 0 * x",
    "weights matter": "x * y + 0 * self.weight",
    "every input matters": "x * self.weight + 0 * y",
    "outputs vary along every axis": "(x * y * self.weight).sum(0, keepdim=True).expand(32, 64).contiguous()",
    "the truth is finite and decides": "torch.log(x * y * self.weight)",
    "the reference is within the tolerance of float64": "(x + 1e5 * y * self.weight) - 1e5 * y * self.weight",
}


NAMED = {
    "returns NoneType, which holds no tensor": HEAD.replace("return {formula}", "x.add_(y * self.weight)"),
    "a second call of the same model": HEAD.replace("return {formula}", "self.last = getattr(self, 'last', 0) + x * y * self.weight\n        return self.last"),
    "weight is the same under every seed": HEAD.replace("torch.randn(n)", "torch.ones(n)").replace("{formula}", "x * y * self.weight"),
    "the inputs are the same under every seed": HEAD.replace("torch.randn(32, 64)", "torch.linspace(0.1, 1, 64).repeat(32, 1)").replace("{formula}", "x * y * self.weight"),
    "returns a UserList; let it return tensors": "from collections import UserList\n" + HEAD.replace("return {formula}", "return UserList([x * y * self.weight])"),
    "returns a sparse tensor": HEAD.replace("{formula}", "(x * y * self.weight).to_sparse()"),
    "the reference fails: AssertionError: `assert x.dtype == torch.float16`": HEAD.replace("return {formula}", "assert x.dtype == torch.float16"),
    "insists on bfloat16 inside: choose that with --precision": HEAD.replace("{formula}", "x.to(torch.bfloat16) @ (y * self.weight).T"),
    "under torch.enable_grad()": HEAD.replace("{formula}", "torch.autograd.grad((x * y * self.weight).sum(), self.weight)[0]"),
}  # fmt: skip
"""What a person must read of a defect."""


@pytest.fixture(scope="module")
def told(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bool]]:
    folder = tmp_path_factory.mktemp("problems")
    problems = [find_problem("original/L1/36"), find_problem("original/L1/95")]
    for number, formula in enumerate(BROKEN.values()):
        path: Path = folder / f"{number}_broken.py"
        path.write_text(HEAD.replace("{formula}", formula))
        problems.append(find_problem(str(path)))
    names = ["original/L1/36", "original/L1/95", *BROKEN]
    return {
        name: {check["rule"]: check["passed"] for check in row["checks"]}
        for name, row in zip(names, examined(problems, bench), strict=True)
    }


@pytest.mark.parametrize("rule", list(BROKEN))
def test_a_broken_problem_is_found_by_its_rule(rule: str, told: dict[str, dict[str, bool]]) -> None:
    assert told[rule][rule] is False


@pytest.mark.parametrize("problem", ["original/L1/36", "original/L1/95"])
def test_a_shipped_problem_is_fit(problem: str, told: dict[str, dict[str, bool]]) -> None:
    assert len(told[problem]) >= 9
    assert all(told[problem].values())


def examined(problems: list, bench: Bench) -> list[dict]:
    return [one.as_row() for one in check_fitness(problems, bench, 2, lambda _: None)]


def test_a_defect_is_named_in_words(bench: Bench, tmp_path: Path) -> None:
    problems = []
    for number, text in enumerate(NAMED.values()):
        (tmp_path / f"{number}_named.py").write_text(text)
        problems.append(find_problem(str(tmp_path / f"{number}_named.py")))
    for words, row in zip(NAMED, examined(problems, bench), strict=True):
        assert not row["fit"] and any(words in check["found"] for check in row["checks"] if not check["passed"]), (words, row["checks"])


def test_a_weight_of_no_effect_is_worth_knowing_where_others_have_one(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "idle.py"
    text = HEAD.replace("        self.weight", "        self.idle = nn.Parameter(torch.randn(n))\n        self.weight")
    path.write_text(text.replace("{formula}", "x * y * self.weight + 0 * self.idle"))
    (row,) = examined([find_problem(str(path))], bench)
    (weights,) = [check for check in row["checks"] if check["rule"] == "weights matter"]
    assert row["fit"] and weights["found"] == "idle is of no effect, so a kernel may do without"
