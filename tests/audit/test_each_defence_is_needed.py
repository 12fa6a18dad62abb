"""Without any one check, a cheat passes that it is there for."""

import pytest

from popcorn.audit.battery import run
from popcorn.audit.samples import read_samples
from popcorn.records.store import Store
from popcorn.verify.defences.registry import switched_off
from popcorn.worker.bench import Bench

NEEDED = {
    "exact_type": ("lazy_tensor",), "truth": ("zeros",), "mutation": ("cheaper_inputs",), "aliasing": ("static_buffer",),
    "flags": ("tf32_flag",), "clock": ("patched_timer",), "idle": ("forked_burner",), "cores": ("stolen_cores",), "peak_memory": ("forged_memory",),
    "structure": ("broadcast_output",), "repeat": ("alternating",),
}  # fmt: skip
SAMPLES = {one.name: one for one in read_samples("evil")}


@pytest.mark.parametrize("defence", list(NEEDED))
def test_without_it_a_cheat_is_not_caught_as_it_must(defence: str, bench: Bench, store: Store) -> None:
    sample = SAMPLES[NEEDED[defence][0]]
    with switched_off(defence):
        (answer,) = run([sample], bench, store, "cpu")
    assert defence not in {violation.defence for violation in answer.record.verdict.violations}
    assert sample.no_gain or not answer.as_it_must, answer.sentence()
    assert answer.record.verdict.outcome != "harness_error"
