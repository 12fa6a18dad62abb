"""Controls from samples: what chance does is told from what a machine does."""

import pytest

from popcorn.measure.steadiness import Steadiness
from popcorn.measure.turns import Turns
from popcorn.verify.defences.idle import Slowed
from popcorn.worker.comparing import shorten_references
from popcorn.worker.taken import BASELINE, CANDIDATE, CONTROL, LEAST_PLANTED_S, PLANTED, Taken, control_of


def taken(aa: float, planted: float, spread: float = 1e-4) -> Turns:
    """Three launches of two blocks; every side's times are those of the baseline times a factor, with a little noise between launches."""
    wobble = (1 - spread, 1.0, 1 + spread)
    factors = {BASELINE: 1.0, CANDIDATE: 0.5, CONTROL: aa, PLANTED: planted}
    return Turns(
        {side: [[[1e-3 * factor * (w if side in (CONTROL, PLANTED) else 1)] * 3] * 2 for w in wobble] for side, factor in factors.items()}
    )


@pytest.mark.parametrize("aa", [1.0, 1.001, 0.999])
def test_an_interval_that_leaves_1_out_by_a_hair_is_chance(aa):
    control = control_of(taken(aa, 1.05), Steadiness(True))
    assert control.fit and control.noise == pytest.approx(abs(aa - 1), abs=1e-6) and control.aa.high - control.aa.low < 1e-3


@pytest.mark.parametrize("aa", [1.01, 0.99, 1.004])
def test_one_that_leaves_it_out_by_more_is_not(aa):
    control = control_of(taken(aa, 1.06), Steadiness(True))
    assert not control.fit and "against itself" in control.reason


def test_a_planted_slowdown_that_is_not_found_or_found_as_another_makes_a_run_unfit():
    assert "was not found" in control_of(taken(1.0, 1.0), Steadiness(True)).reason
    assert "found as another" in control_of(taken(1.0, 1.2), Steadiness(True)).reason
    assert control_of(taken(1.0, 1.05), Steadiness(False, ("the GPU throttles",))).reason == "the GPU throttles"


def test_on_a_gpu_a_wait_is_never_planted_that_is_shorter_than_the_start_of_a_kernel():
    long, short, host = Taken(), Taken(), Taken()
    assert long.plant_in(1e-3, cuda=True) == pytest.approx(5e-5) and long.planted_factor() == pytest.approx(1.05)
    assert short.plant_in(6e-6, cuda=True) == LEAST_PLANTED_S and short.planted_factor() == pytest.approx(1.5)
    assert host.plant_in(6e-6, cuda=False) == pytest.approx(3e-7) and host.planted_factor() == pytest.approx(1.05)


def test_what_was_planted_is_what_must_be_found_and_what_the_record_says():
    control = control_of(taken(1.0, 1.45), Steadiness(True), 1.5)
    assert control.fit and control.plant == 1.5
    assert "planted 1.5× slowdown was found as another" in control_of(taken(1.0, 1.05), Steadiness(True), 1.5).reason


def test_a_reference_that_its_host_slowed_counts_as_it_is_alone_and_no_longer():
    samples = [[[3e-3, 3e-3], [3e-3]], [[0.9e-3], [0.9e-3]], [[2e-3], [2e-3]]]
    slowed = Taken(slowed=[Slowed(launch[0][0], 1e-3, host_s=2e-3) for launch in samples])
    shorten_references({BASELINE: samples, CANDIDATE: (mine := [[[3e-3]]] * 3)}, slowed)
    assert samples == [[[1e-3, 1e-3], [1e-3]], [[0.9e-3], [0.9e-3]], [[1e-3], [1e-3]]] and mine == [[[3e-3]]] * 3


def test_controls_of_a_reference_that_its_host_slowed_say_what_they_said():
    before, turns = control_of(taken(1.0, 1.05), Steadiness(True)), taken(1.0, 1.05)
    launches = len(turns.samples[BASELINE])
    shorten_references(turns.samples, Taken(slowed=[Slowed(1.6, 1.0, host_s=2.0)] * launches))
    after = control_of(turns, Steadiness(True))
    assert before.fit and after.fit and after.aa.value == pytest.approx(before.aa.value) and after.noise == pytest.approx(before.noise)
