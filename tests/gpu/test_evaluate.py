"""The whole battery on a CUDA device: every way to write a kernel, counters, energy, and figures that must agree with each other."""

from pathlib import Path

import pytest

from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import detect_language
from popcorn.worker.bench import Bench
from popcorn.worker.request import Request

pytestmark = pytest.mark.gpu

CANDIDATES = Path(__file__).parent / "candidates"
PROBLEM = "popcorn/L1/29"
ILLEGAL = """
import torch
import torch.nn as nn

kernel = torch.cuda._compile_kernel('extern "C" __global__ void stray(float* y) { y[1ll << 40] = 1.f; }', "stray")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1:], device=x.device)
        kernel((1, 1, 1), (32, 1, 1), (y,))
        torch.cuda.synchronize()
        return y
"""


@pytest.fixture(scope="module")
def bench():
    with Bench("cuda") as ready:
        yield ready


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("records"))


def judged(bench, store, name, source=None, **wishes):
    text = source or (CANDIDATES / name).read_text()
    request = Request(
        problem=find_problem(PROBLEM), source=text, language=detect_language(name, text, None), name=name, device="cuda", budget_s=1.0,
        **{"compile_baseline": False, "counters": False, "energy": False, **wishes},
    )  # fmt: skip
    return evaluate(request, bench, store)


@pytest.mark.parametrize("name", sorted(path.name for path in CANDIDATES.iterdir() if path.is_file()))
def test_every_way_to_write_a_kernel_is_correct_and_the_controls_hold(bench, store, name):
    record = judged(bench, store, name)
    assert record.verdict.correct, record.verdict.reason
    control = record.measurement.timing.control
    assert control.aa.low <= 1 <= control.aa.high
    assert control.planted.low > 1 + control.noise
    assert record.verdict.timed_outputs_judged >= 0.1 * record.verdict.timed_calls
    assert store.get(record.id) == record


def test_figures_of_a_millisecond_agree_with_each_other(bench, store):
    record = judged(bench, store, "logsumexp_torch.py", counters=True, energy=True)
    measured = record.measurement
    time_s = measured.timing.candidate.time_s
    assert 0.5e-3 < time_s < 3e-3
    assert measured.launches.device_time_s == pytest.approx(time_s, rel=0.05)
    assert measured.counters.reason is None and measured.counters.time_s == pytest.approx(time_s, rel=0.05)
    assert measured.energy.energy_j == pytest.approx(measured.energy.power_w * time_s, rel=0.1)
    assert measured.energy.low_j <= measured.energy.energy_j <= measured.energy.high_j
    assert measured.timing.parent_time_s is None or measured.timing.parent_time_s == pytest.approx(time_s, rel=0.5)
    assert sum(measured.counters.kernels[0].stalls.values()) == pytest.approx(1.0, abs=1e-6)
    assert 0 < measured.roofline.sol <= 1 and measured.roofline.sol_source == "counters"


def test_gradients_are_judged_and_timed(bench, store):
    record = judged(bench, store, "logsumexp_torch.py", gradient="grad")
    assert record.verdict.correct, record.verdict.reason
    assert {row.output for row in record.verdict.precision} == {"out['out']", "out['grad']['input[0]']"}


def test_an_illegal_access_costs_one_candidate_and_the_next_is_correct(bench, store):
    bad = judged(bench, store, "stray.py", ILLEGAL)
    assert bad.verdict.outcome in ("runtime_error", "crash"), bad.verdict.reason
    assert judged(bench, store, "logsumexp_torch.py").verdict.correct


def test_the_same_text_builds_once(bench, store):
    first, second = (judged(bench, store, "logsumexp.cu", timing=False) for _ in range(2))
    assert first.verdict.correct and second.verdict.correct
    assert second.build.cached and first.build.key == second.build.key
