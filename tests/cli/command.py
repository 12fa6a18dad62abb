"""The real command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "popcorn.cli.main"]

CANDIDATE = """\
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (x * x).sum(-1)
"""

PROBLEM = '''\
"""Sum of squares of each row: x (16, N) → (16)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "reduction"
DIFFERENTIABLE = True

N = Dim(4096, low=2048, high=8192, align=8, cpu=4096)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * x).sum(-1)


def get_inputs(N=N):
    return [torch.randn(16, N)]


def get_init_inputs():
    return []
'''


def environment(cache: Path) -> dict[str, str]:
    """Ours, with records under `cache` and 100 columns."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "POPCORN_CACHE_DIR": str(cache), "COLUMNS": "100", "NO_COLOR": "1"}


def popcorn(*arguments: object, cache: Path, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `popcorn` with these arguments."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=environment(cache),
        cwd=cache.parent,
        check=False,
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The command said one plain line on stderr, nothing on stdout, and left with this code."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
    assert done.stderr.startswith("popcorn: ") and done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
