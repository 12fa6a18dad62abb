"""Cheats: quick ones in every run, all of them in `popcorn audit`. GPU ones on a GPU."""

import pytest

from popcorn.audit.battery import Answer, run
from popcorn.audit.samples import Sample, read_samples
from popcorn.records.store import Store
from popcorn.worker.bench import Bench

SLOW = {"hang", "hang_at_import", "fork_bomb"}
SAMPLES = read_samples("evil", gpu=False)
QUICK = [one for one in SAMPLES if not one.timed and not one.no_gain and one.name not in SLOW]
TIMED = [one for one in SAMPLES if one.name in ("patched_block", "late_batch", "phase_by_count", "stolen_cores", "view_when_timed")]


@pytest.mark.parametrize("sample", QUICK + TIMED, ids=lambda one: one.name)
def test_a_cheat_is_caught(sample: Sample, answers: dict[str, Answer]) -> None:
    answer = answers[sample.name]
    assert answer.as_it_must, answer.sentence()
    assert answer.record.measurement.timing is None or (sample.no_gain and answer.record.verdict.correct)


@pytest.mark.gpu
@pytest.mark.parametrize("sample", [one for one in read_samples("evil") if one.gpu], ids=lambda one: one.name)
def test_a_cheat_that_needs_a_gpu_is_caught(sample: Sample, gpu_bench: Bench, store: Store) -> None:
    """The others run there too by `popcorn audit --device cuda`, which is too long for a test."""
    (answer,) = run([sample], gpu_bench, store, "cuda")
    assert answer.as_it_must, answer.sentence()
