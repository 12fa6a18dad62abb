"""Costs and settings of shipped problems without torch, and the counts that docs/suites.md shows."""

import subprocess
import sys

import pytest

from popcorn.suites.costs import declared_costs, settings
from popcorn.suites.jitter import Dim, draw_dims
from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem, list_problems
from tests.suites.tiny import SAMPLE


@pytest.mark.parametrize("problem_id", SAMPLE)
def test_costs_without_torch_are_those_of_the_loaded_problem(problem_id: str) -> None:
    problem = find_problem(problem_id)
    one = load(problem)
    dims = one.draw_dims(1, True)
    assert declared_costs(problem, dims) == (one.min_bytes(dims, 4), one.flops(dims))


def test_costs_import_no_torch() -> None:
    code = "import sys; from popcorn.suites.costs import *; from popcorn.suites.problems import *; p = find_problem('popcorn/L2/30'); declared_costs(p, {k: int(v) for k, v in facts(p).dims.items()}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_settings_are_the_corners_forward_and_with_gradients() -> None:
    listed = settings(find_problem("popcorn/L1/29"))
    assert [one["name"] for one in listed][::2] == ["timed", "smallest", "largest", "odd"] and {one["gradient"] for one in listed} == {
        "none",
        "grad",
    }
    assert [one["name"] for one in settings(find_problem("original/L1/51"))] == ["timed"]


def test_the_suites_are_as_large_as_they_should_be() -> None:
    for variant, least in (("original", (100, 100, 50, 20)), ("popcorn", (32, 50, 13, 30))):
        for level, count in enumerate(least, 1):
            assert len(list_problems(variant, level)) >= count


def test_a_choice_draws_its_values_alone() -> None:
    dim = Dim(64, among=(16, 64, 128), cpu=64)
    assert {draw_dims({"H": dim}, seed, True)["H"] for seed in range(60)} == {16, 64, 128}
    assert {draw_dims({"H": dim.at("cpu")}, seed, True)["H"] for seed in range(60)} == {16, 64}
