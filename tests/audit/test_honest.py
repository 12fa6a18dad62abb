"""Honest candidates that look suspicious: none may be accused."""

import pytest

from popcorn.audit.battery import Answer, run
from popcorn.audit.samples import Sample, read_samples
from popcorn.records.store import Store
from popcorn.worker.bench import Bench

SAMPLES = read_samples("honest", gpu=False)
TIMED = [
    one for one in SAMPLES if one.name in ("workspace_reused", "c_openmp", "idle_pool", "many_times_slower", "gradient_handed_through")
]


@pytest.mark.parametrize("sample", [one for one in SAMPLES if not one.timed] + TIMED, ids=lambda one: one.name)
def test_an_honest_candidate_is_correct(sample: Sample, answers: dict[str, Answer]) -> None:
    answer = answers[sample.name]
    assert answer.record.verdict.outcome == "correct", answer.sentence()
    assert answer.record.verdict.violations == ()
    assert {"truth", "sandbox", "mutation", "exact_type"} <= set(answer.record.verdict.defences_passed)


@pytest.mark.gpu
@pytest.mark.parametrize("sample", [one for one in SAMPLES if one.timed and one.path.suffix == ".py"], ids=lambda one: one.name)
def test_an_honest_candidate_is_correct_on_a_gpu(sample: Sample, gpu_bench: Bench, store: Store) -> None:
    (answer,) = run([sample], gpu_bench, store, "cuda")
    assert answer.as_it_must, answer.sentence()
