"""Cheats: quick ones in every run, all of them in `popcorn audit`. GPU ones on a GPU."""

import pytest

from popcorn.audit.battery import run
from popcorn.audit.samples import Sample, read_samples
from popcorn.records.store import Store
from popcorn.worker.bench import Bench

SLOW = {"hang", "hang_at_import", "fork_bomb"}
SAMPLES = read_samples("evil", gpu=False)
QUICK = [one for one in SAMPLES if not one.timed and not one.no_gain and one.name not in SLOW]
TIMED = [one for one in SAMPLES if one.name in ("patched_block", "late_batch", "phase_by_count", "forked_burner", "stolen_cores")]


@pytest.mark.parametrize("sample", QUICK + TIMED, ids=lambda one: one.name)
def test_a_cheat_is_caught(sample: Sample, bench: Bench, store: Store) -> None:
    (answer,) = run([sample], bench, store, "cpu")
    assert answer.as_it_must, answer.sentence()
    assert answer.record.measurement.timing is None


@pytest.mark.gpu
@pytest.mark.parametrize("sample", read_samples("evil"), ids=lambda one: one.name)
def test_a_cheat_is_caught_on_a_gpu(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> None:
    with Bench("cuda") as bench:
        (answer,) = run([sample], bench, Store(tmp_path_factory.mktemp("store")), "cuda")
    assert answer.as_it_must, answer.sentence()
