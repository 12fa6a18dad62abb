"""Foreign files that seed generators of their own: every trial has values of its own, and the same ones again."""

from pathlib import Path

import pytest
import torch

from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem
from popcorn.worker.subject import seed_all

HEAD = """import random
import numpy as np
import torch
from numpy.random import default_rng
from torch import Generator, manual_seed
own = torch.Generator().manual_seed(1)
old, new, plain = np.random.RandomState(1), np.random.default_rng(1), random.Random(1)


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def get_inputs():
"""
WAYS = {
    "torch": "torch.manual_seed(42)\n    return [torch.randn(4)]",
    "torch by name": "manual_seed(42)\n    return [torch.randn(4)]",
    "a generator": "return [torch.randn(4, generator=torch.Generator().manual_seed(0))]",
    "a generator that nobody seeds": "return [torch.randn(4, generator=torch.Generator())]",
    "a generator of the module": "return [torch.randn(4, generator=own)]",
    "numpy": "np.random.seed(0)\n    return [torch.from_numpy(np.random.randn(4))]",
    "a generator of numpy": "return [torch.from_numpy(np.random.default_rng(7).standard_normal(4))]",
    "one by name that is left to chance": "return [torch.from_numpy(default_rng().standard_normal(4))]",
    "old numpy": "return [torch.from_numpy(np.random.RandomState(3).randn(4))]",
    "numpy's of the module": "return [torch.from_numpy(old.randn(4) + new.standard_normal(4))]",
    "python": "random.seed(0)\n    return [torch.tensor([random.random() + random.Random(0).random()])]",
    "python by its argument's name": "random.seed(a=3)\n    return [torch.tensor([random.random()])]",
    "a bit generator of numpy": "return [torch.from_numpy(np.random.Generator(np.random.PCG64(42)).standard_normal(4))]",
    "a generator that was imported by name": "return [torch.randn(4, generator=Generator().manual_seed(0))]",
    "python's of the module": "return [torch.tensor([plain.random()])]",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_file_seeds_itself_is_fresh_in_every_trial_and_the_same_in_the_same(tmp_path: Path, way: str) -> None:
    (tmp_path / "problem.py").write_text(HEAD + f"    {WAYS[way]}\n\n\ndef get_init_inputs():\n    return []\n")
    loaded = load(find_problem(str(tmp_path / "problem.py")), "cpu")

    def made(seed: int) -> torch.Tensor:
        seed_all(seed)
        return loaded.inputs({})[0]

    first, another = made(1), made(2)
    assert torch.equal(made(1), first) and not torch.equal(another, first)
    seed_all(5)
    before = torch.randn(1)
    seed_all(5)
    assert torch.equal(torch.randn(1), before) and torch.Generator.__module__ != "popcorn.suites.own_seeds"


def test_who_seeds_alike_twice_has_the_same_values_twice(tmp_path: Path) -> None:
    text = "torch.manual_seed(0)\n    x = torch.randn(4)\n    torch.manual_seed(0)\n    return [x, torch.randn(4)]"
    (tmp_path / "problem.py").write_text(HEAD + f"    {text}\n\n\ndef get_init_inputs():\n    return []\n")
    loaded = load(find_problem(str(tmp_path / "problem.py")), "cpu")
    seed_all(1)
    assert torch.equal(*loaded.inputs({}))
