"""Tasks of GPU MODE's leaderboards, written by us in their form: what is read, what is refused, and a submission judged as it is."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from popcorn.suites.here import cuda_means_here, devices_here
from popcorn.suites.importing.formats import read_folder
from popcorn.suites.loading import load
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import check_contract, detect_language
from popcorn.worker.subject import CandidateFile, import_candidate
from tests.suites.importing.samples import write

TASK = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
lang: "py"
tests:
  - {"size": 8, "seed": 1}
  - {"size": 4, "seed": 2}
  - {"size": 4, "seed": 3}
benchmarks:
  - {"size": 64, "seed": 4}
"""
REFERENCE = """from __future__ import annotations
from utils import make_match_reference, Quiet
import torch
from task import input_t


def ref_kernel(data: input_t):
    with Quiet():
        a, b, out = data
        out[...] = a + b
        return out


def generate_input(size: int, seed: int):
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    a = torch.randn(size, size, device="cuda", generator=gen)
    return a, torch.ones(size, size).cuda(), torch.empty(size, size).to("cuda")


check_implementation = make_match_reference(ref_kernel)
"""
UTILS = "import contextlib\nQuiet = contextlib.nullcontext\ndef make_match_reference(reference, **floors):\n    return None\n"
FILES = {"pm/add_py/task.yml": TASK, "pm/add_py/reference.py": REFERENCE, "pm/add_py/task.py": "input_t = tuple\n", "pm/utils.py": UTILS}
SUBMISSION = "#!POPCORN leaderboard add\nfrom task import input_t\nimport torch\n\ndef custom_kernel(data: input_t):\n    a, b, out = data\n    torch.add(a, b, out=out)\n    return out\n"


@pytest.fixture
def modules() -> Iterator[None]:
    """What lies beside a file stays importable for a process's life; here it is taken away again."""
    paths, before = list(sys.meta_path), dict(sys.modules)
    yield
    sys.meta_path[:] = paths
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


def test_a_task_is_its_cases_with_fresh_seeds_and_fresh_memory_for_results(tmp_path: Path, modules: None) -> None:
    name, (one,) = read_folder(write(tmp_path / "checkout", FILES))
    assert name == "gpu_mode" and one.key == "add" and one.refused is None, one.refused
    (tmp_path / "add.py").write_text(one.source)
    loaded = load(find_problem(str(tmp_path / "add.py")), "cpu")
    sizes = {dim: value for dim, value in loaded.draw_dims(0, False).items()}
    assert sizes == {"CASE": 2}, "the larger of the two tests that differ in more than their seed"
    (data,) = loaded.inputs(sizes)
    (other,) = loaded.inputs(sizes)
    assert [tuple(t.shape) for t in data] == [(8, 8)] * 3 and not torch.equal(data[0], other[0])
    assert not data[2].any(), "memory for results holds nothing"
    data[2].fill_(7)
    answer = loaded.model(sizes)(data)
    assert torch.equal(answer, data[0] + 1) and bool((data[2] == 7).all()), "the reference leaves its inputs alone"


@pytest.mark.parametrize("written", ["out.copy_(a + b)", "torch.add(a, b, out=out)"])
def test_memory_for_results_is_seen_however_it_is_filled(tmp_path: Path, written: str) -> None:
    changed = {"pm/add_py/reference.py": REFERENCE.replace("out[...] = a + b", written)}
    (one,) = read_folder(write(tmp_path / "checkout", FILES | changed))[1]
    assert "return [[2]]" in one.source


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ("check_implementation = make_match_reference(ref_kernel)", False),
        ("def check_implementation(data, output):\n    return torch.equal(ref_kernel(data), output), ''", False),
        ("def check_implementation(data, output):\n    q, r = output\n    return torch.equal(q @ r, data), ''", True),
    ],
)
def test_a_check_that_takes_other_answers_than_the_references_is_told(tmp_path: Path, check: str, told: bool) -> None:
    text = REFERENCE.replace("check_implementation = make_match_reference(ref_kernel)", check)
    (one,) = read_folder(write(tmp_path / "checkout", FILES | {"pm/add_py/reference.py": text}))[1]
    assert any("is not run" in remark for remark in one.remarks) == told


def test_a_seed_is_as_small_as_the_tasks_own(tmp_path: Path, modules: None) -> None:
    """Some add it to what they draw: beside a billion nothing of that would be left in float32."""
    text = REFERENCE.replace("return a, torch", "a += seed\n    return a, torch")
    (one,) = read_folder(write(tmp_path / "checkout", FILES | {"pm/add_py/reference.py": text}))[1]
    (tmp_path / "add.py").write_text(one.source)
    assert all(load(find_problem(str(tmp_path / "add.py"))).inputs({"CASE": 2})[0][0].unique().numel() > 32 for _ in range(3))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"pm/add_py/task.yml": TASK.replace('"size": 8', '"world_size": 8')}, "several GPUs"),
        ({"pm/add_py/task.yml": "tests: ["}, "is not YAML"),
        ({"pm/add_py/task.yml": TASK.replace('"py"', '"cu"')}, "no truth in float64"),
        ({"pm/add_py/task.yml": "tests:\n  - {seed: [1]}\n"}, "no number or text"),
        ({"pm/add_py/task.yml": TASK.replace("../utils.py", "../lost.py")}, "is not there"),
        ({"pm/add_py/task.yml": TASK.replace("../utils.py", "../../../../../../utils.py")}, "lies outside"),
        ({"pm/add_py/reference.py": "def ref_kernel(data):\n    return data\n"}, "no function `generate_input`"),
        ({"pm/add_py/task.yml": "description: nothing\n"}, "neither tests nor benchmarks"),
    ],
)
def test_a_task_that_cannot_be_taken_says_why(tmp_path: Path, changed: dict[str, str], reason: str) -> None:
    _, (one,) = read_folder(write(tmp_path / "a" / "b", FILES | changed))
    assert reason in (one.refused or ""), one.refused


def test_a_submission_is_a_candidate_word_for_word(tmp_path: Path, modules: None) -> None:
    check_contract(SUBMISSION, detect_language("submission.py", SUBMISSION))
    path = tmp_path / "submission.py"
    path.write_text(SUBMISSION)
    model = import_candidate(CandidateFile(path, "torch", None)).ModelNew([2])
    data = (torch.ones(3), torch.ones(3), torch.full((3,), 9.0))
    assert torch.equal(model(data), torch.full((3,), 2.0)) and bool((data[2] == 9).all())


def test_cuda_means_the_cpu_only_within_and_only_without_a_gpu() -> None:
    given = ["cuda", {"device": torch.device("cuda:1")}, ("cuda_core", 4)]
    if torch.cuda.is_available():
        with cuda_means_here():
            assert torch.ones(1, device="cuda").is_cuda and devices_here(given) == given
        return
    assert devices_here(given) == ["cpu", {"device": torch.device("cpu")}, ("cuda_core", 4)]
    with cuda_means_here():
        made = [
            torch.ones(1, device="cuda:0"),
            torch.ones(1).cuda(),
            torch.ones(1).to(torch.device("cuda")),
            torch.nn.Linear(1, 1).cuda().weight,
        ]
        drawn = torch.randn(2, generator=torch.Generator(device="cuda").manual_seed(1), device="cuda")
    assert {one.device.type for one in [*made, drawn]} == {"cpu"}
    assert torch.equal(drawn, torch.randn(2, generator=torch.Generator().manual_seed(1)))
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1, device="cuda")
