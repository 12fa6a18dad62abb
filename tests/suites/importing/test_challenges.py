"""Challenges of LeetGPU and Tensara, written by us in their form: what is read, and a submission judged as it is."""

from pathlib import Path

import pytest
import torch

from popcorn.suites.importing.formats import read_folder
from popcorn.suites.loading import Loaded, load
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import check_contract, detect_language
from popcorn.worker.failure import Failed
from popcorn.worker.subject import CandidateFile, import_candidate, seed_all
from tests.suites.importing.samples import write

SCAN = """from __future__ import annotations
import ctypes
import torch
from core.challenge_base import ChallengeBase, RandTensor


class Challenge(ChallengeBase):
    def __init__(self):
        super().__init__(name="Running mean", atol=1e-5, rtol=1e-5, num_gpus=1, access_tier="free")

    def reference_impl(self, x: torch.Tensor, state: torch.Tensor, out: torch.Tensor, n: int):
        assert x.shape == (n,)
        assert (
            x.dtype == torch.float32
        ), "single precision"
        assert x.device.type == "cuda"
        if n: assert x.is_cuda
        state.add_(x.sum())
        out[:] = x.cumsum(0)

    def get_solve_signature(self):
        many = ctypes.POINTER(ctypes.c_float)
        return {"x": (many, "in"), "state": (many, "inout"), "out": (many, "out"), "n": (ctypes.c_int, "in")}

    def _test(self, n):
        return {"n": n, "x": RandTensor((n,), -1.0, 1.0), "out": torch.empty(n, device=self.device), "state": torch.ones(1, device="cuda")}

    def generate_functional_test(self):
        torch.manual_seed(0)
        return [self._test(3), self._test(17)]

    def generate_performance_test(self):
        return self._test(4096)
"""
SORT = """import torch
from problem import Problem


class array_sort(Problem):
    parameters = [{"name": "x", "type": "float", "pointer": True}]

    def __init__(self):
        super().__init__(name="array-sort")

    def reference_solution(self, x, descending):
        with torch.no_grad(), torch.autocast("cuda", enabled=False):
            return torch.sort(x, descending=descending).values

    def generate_test_cases(self, dtype):
        def made(size):
            generator = torch.Generator(device="cuda").manual_seed(Problem.get_seed(str(size)))
            return torch.rand(size, device="cuda", dtype=self.param_dtype("x"), generator=generator), size > 8
        return [{"name": str(size), "create_inputs": lambda size=size: made(size)} for size in (8, 16, 32)]

    def verify_result(self, expected, actual, dtype):
        return True, {}
"""
SUBMISSION = "import torch\n\ndef solve(x, state, out, n):\n    state += x.sum()\n    torch.cumsum(x, 0, out=out)\n"


def opened(tmp_path: Path, files: dict[str, str]) -> tuple[str, str, Loaded]:
    name, (one,) = read_folder(write(tmp_path / "checkout", files))
    assert one.refused is None, one.refused
    (tmp_path / "one.py").write_text(one.source)
    return name, one.key, load(find_problem(str(tmp_path / "one.py")), "cpu")


def test_a_challenge_of_leetgpu_is_a_problem_whose_results_lie_in_its_arguments(tmp_path: Path) -> None:
    name, key, loaded = opened(tmp_path, {"challenges/medium/16_running_mean/challenge.py": SCAN})
    assert (name, key, loaded.dims["CASE"].among) == ("leetgpu", "medium/running_mean", (1, 2, 3, 4, 5, 6, 7, 8))
    seed_all(1)
    given = loaded.inputs({"CASE": 8})
    assert [one.shape if isinstance(one, torch.Tensor) else one for one in given] == [(17,), (1,), (17,), 17]
    assert [len(loaded.inputs({"CASE": case})[0]) for case in (7, 6, 9)] == [3, 17, 4096]
    state, out = loaded.model({"CASE": 8})(*(one.double() if isinstance(one, torch.Tensor) else one for one in given))
    assert torch.equal(out, given[0].double().cumsum(0)) and torch.allclose(state, 1 + given[0].double().sum())
    assert not given[2].any() and bool(given[1] == 1), "the inputs stay as they were"
    seed_all(2)
    assert not torch.equal(loaded.inputs({"CASE": 8})[0], given[0]), "fresh values in every trial, whatever it seeds itself"


def test_a_solve_is_a_candidate_word_for_word(tmp_path: Path) -> None:
    check_contract(SUBMISSION, detect_language("submission.py", SUBMISSION))
    path = tmp_path / "submission.py"
    path.write_text(SUBMISSION)
    made = import_candidate(CandidateFile(path, "torch", None)).ModelNew
    x, state, out = torch.ones(3), torch.ones(1), torch.full((3,), 9.0)
    assert [one.tolist() for one in made([2], [1])(x, state, out, 3)] == [[4], [1, 2, 3]]
    assert state.item() == 1 and out[0] == 9, "what it was handed stays as it was"
    with pytest.raises(Failed, match="define class ModelNew"):
        made(64)


def test_a_problem_of_tensara_is_its_test_cases(tmp_path: Path) -> None:
    name, key, loaded = opened(
        tmp_path, {"problems/array-sort/def.py": SORT, "problems/array-sort/torch.py": "def reference_solution(x): ...\n"}
    )
    assert (name, key) == ("tensara", "array_sort")
    seed_all(1)
    x, descending = loaded.inputs({"CASE": 1})
    assert (len(x), descending) == (8, False) and [len(loaded.inputs({"CASE": case})[0]) for case in (4, 5, 6)] == [8, 16, 32]
    assert torch.equal(loaded.model({})(x, True), x.sort(descending=True).values)
    seed_all(2)
    assert not torch.equal(loaded.inputs({"CASE": 1})[0], x)


def test_a_base_that_is_not_imported_by_name_is_refused(tmp_path: Path) -> None:
    text = SORT.replace("from problem import Problem", "import problem").replace("(Problem)", "(problem.Problem)")
    _, (one,) = read_folder(write(tmp_path, {"problems/a/def.py": text}))
    assert "expected a base that is imported by name" in (one.refused or "")
