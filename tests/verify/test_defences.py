"""Defences as pure functions, and their registry."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.verify.defences import aliasing, clock, cores, exact_type, flags, idle, mutation, peak_memory, speed_of_light
from popcorn.verify.defences.registry import NAMES, every_defence, look, switched_off

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_every_defence_says_what_it_catches_and_what_not() -> None:
    told = every_defence()
    assert len(told) == len(NAMES) >= 20
    assert all(len(one.catches) > 20 and len(one.misses) > 10 and one.rule.endswith(".") for one in told)


@given(ANYTHING)
def test_nothing_that_a_process_may_answer_breaks_a_defence(answer: object) -> None:
    exact_type.find(answer)
    mutation.find(answer)
    aliasing.find(answer, answer, ())
    flags.find(answer)
    flags.remarks(answer)
    clock.find(None, answer, 3)
    clock.find_in_burst(answer, 2.0, 1e-3, 10)


def test_a_claim_of_a_twentieth_is_found_and_an_honest_one_is_not() -> None:
    assert clock.find_in_batch(mine_s=3e-3, claimed_s=1e-4, overhead_s=1e-3, calls=10) is not None
    assert clock.find_in_batch(mine_s=3e-3, claimed_s=2e-3, overhead_s=1e-3, calls=10) is None


@pytest.mark.parametrize("times", [[0.0], [-1.0], [float("nan")], [1e9], ["1"], [True], [], [1e-3] * 4, None, {"0": 1}])
def test_times_that_are_no_times_are_found(times: object) -> None:
    assert clock.find(None, times, 3) is not None


def test_idle_pools_pass_and_burners_do_not() -> None:
    assert idle.find(0.001, 1.0) is None
    assert idle.find(0.9, 1.0) is not None
    assert cores.find(1.0, 1.0, 1) is None
    assert cores.find(2.0, 1.0, 1) is not None


def test_only_settings_that_change_the_comparison_are_unfair() -> None:
    assert flags.find({"cudnn_benchmark": [False, True]}) is None
    assert flags.remarks({"cudnn_benchmark": [False, True]})
    assert flags.find({"num_threads": [1, 2]}) is None


def test_less_memory_than_the_outputs_is_a_forgery() -> None:
    assert peak_memory.find(1, 100, False) is not None
    assert peak_memory.find(100, 100, False) is None
    assert peak_memory.find(1, 100, True) is None


def test_a_view_is_allowed_in_the_very_outputs_that_are_views_in_the_reference() -> None:
    assert aliasing.find(["out[0]"], ["out[0]"], ["out[0]"]) is None
    assert aliasing.find(["out[0]", "out[1]"], [], ["out[0]"]) is not None
    assert aliasing.find([], ["out[1]"], ["out[0]"]) is not None


def test_light_has_a_speed_only_where_data_is_large() -> None:
    assert speed_of_light.find(1e-9, 1e-3, True) is not None
    assert speed_of_light.find(1e-9, 1e-3, False) is None


def test_a_defence_can_be_switched_off_and_is_on_again_after() -> None:
    with switched_off("mutation"):
        assert look("mutation", [0]) is None
    assert look("mutation", [0]) is not None
    with pytest.raises(KeyError), switched_off("nothing"):
        pass


@pytest.mark.parametrize(
    ("mine_s", "claimed_s", "caught"),
    [(8e-6, 8e-6, False), (12e-6, 8e-6, False), (8e-6, 8e-9, True), (8e-6, 2.7e-6, True), (1.4e-3, 1e-3, True), (1.2e-3, 1e-3, False)],
)
def test_a_row_of_calls_holds_a_claim_however_short_the_call(mine_s: float, claimed_s: float, caught: bool) -> None:
    assert (clock.find_in_row(mine_s, claimed_s) is not None) == caught


def test_pairs_on_a_machine_that_comes_and_goes_accuse_nobody() -> None:
    """Either half of a pair takes once or 1.9 times its time, by chance: 20 000 honest candidates, none is accused."""
    generator = random.Random(0)
    slow = [1.0, 1.9]
    for _ in range(20_000):
        ratios = [generator.choice(slow) / generator.choice(slow) * generator.gauss(1.05, 0.05) for _ in range(8)]
        assert clock.find_in_pairs(ratios, 1e-3) is None, ratios


@pytest.mark.parametrize("factor", [1.6, 3.0, 20.0])
def test_pairs_find_a_false_clock_where_it_is_quiet_and_a_gross_one_anywhere(factor: float) -> None:
    generator = random.Random(1)
    spread = [1.0] if factor < 10 else [1.0, 1.9]
    for _ in range(2000):
        ratios = [factor * generator.choice(spread) / generator.choice(spread) * generator.gauss(1.0, 0.03) for _ in range(8)]
        assert clock.find_in_pairs(ratios, 1e-3) is not None, ratios


@given(st.lists(st.floats(0.2, 3.0), max_size=12))
def test_claims_are_lengthened_by_what_nearly_all_launches_show_and_by_no_more(ratios: list[float]) -> None:
    short = clock.short_by(ratios)
    let_off = 2 if len(ratios) >= 5 else 1
    assert len(ratios) < 3 or sum(ratio < short for ratio in ratios) < let_off
    found = clock.find_in_launches(ratios) is not None
    assert found == (len(ratios) >= 3 and sum(ratio <= clock.IN_MOST for ratio in ratios) < let_off)
    assert clock.may_be_short(ratios) or not found  # where nobody asks again, nothing is found


def test_a_lie_of_a_fifth_shows_over_all_launches_and_an_honest_kernel_does_not() -> None:
    """Each launch's ratio is the least of three, of which a machine lengthens every other by up to a fifth, beside a bias of that launch's own."""
    generator = random.Random(3)

    def ratios(lie: float) -> list[float]:
        return [
            generator.gauss(1.0, 0.04) / lie * min(1 + generator.choice([0.0, generator.uniform(0, 0.2)]) for _ in range(3))
            for _ in range(5)
        ]

    honest = [clock.short_by(ratios(1.0)) for _ in range(2000)]
    lies = [clock.short_by(ratios(0.8)) for _ in range(2000)]
    assert sum(short > clock.IN_MOST for short in honest) <= 10 and max(honest) < 1.15
    assert sum(1.25 / short > 1.1 for short in lies) <= 200 and all(short > clock.IN_MOST for short in lies)


def test_a_call_of_a_microsecond_may_take_a_loop_longer_in_a_batch() -> None:
    assert clock.over_claimed(3e-6, 1e-6) <= 1.0 < clock.over_claimed(3.2e-6, 1e-6)
    assert clock.over_claimed(-1e-9, 1e-6) == 0.0


@pytest.mark.parametrize(
    ("share", "calls", "caught"), [(1.0, 10_000, True), (0.05, 10_000, False), (1.0, 200_000, False), (None, 10_000, False)]
)
def test_the_drivers_account_of_a_burst_catches_device_time_hidden_behind_the_hosts(share, calls, caught):
    assert (clock.find_busy(share, 1.2, calls, claimed_s=6e-6) is not None) == caught


def test_a_call_of_one_kernel_hides_no_second_one_behind_the_first():
    short = {"share": 0.216, "seconds": 1.2, "calls": 29_910, "claimed_s": 3.34e-6, "kernels_s": 7.5e-6}
    assert clock.find_busy(**short, kernels=1) is not None and clock.find_busy(**short, kernels=2) is None
    assert clock.find_busy(**short, kernels=2, certain=False) is not None  # nobody gains by the excuse

    honest = {"share": 0.195, "seconds": 1.2, "calls": 27_336, "claimed_s": 10e-6, "kernels_s": 7.4e-6, "kernels": 2}
    assert clock.find_busy(**honest, certain=False) is None
    assert clock.find_busy(0.05, 1.2, 20_000, claimed_s=2e-6, kernels_s=2e-6, kernels=1) is None


@pytest.mark.parametrize(("kernels_s", "caught"), [(15e-6, False), (None, True), (11e-6, True), (1.0, False)])
def test_kernels_that_overlap_in_a_call_and_not_in_a_burst_accuse_nobody(kernels_s, caught):
    busy_s, claimed_s = 16.6e-6, 11.1e-6
    assert (clock.find_busy(busy_s / 80e-6, 1.2, int(1.2 / 80e-6), claimed_s, kernels_s) is not None) == caught


def test_a_census_explains_no_more_than_two_kernels_at_once():
    assert clock.find_busy(1.0, 1.2, 10_000, claimed_s=6e-6, kernels_s=1.0) is not None


@pytest.mark.parametrize(("ratio", "caught"), [(0.98, False), (1.15, False), (1.9, True)])
def test_a_reference_that_is_slow_only_beside_the_candidate_catches_queued_work(ratio, caught):
    assert (idle.find_slowed([idle.Slowed(ratio * 1e-4, 1e-4, host_s=2e-5)] * 3) is not None) == caught


def test_a_reference_that_waits_for_its_host_accuses_nobody_and_is_seen():
    launches = [idle.Slowed(2.3e-6, 1.9e-6, 1e-5), idle.Slowed(2.4e-6, 1.9e-6, 9e-6), idle.Slowed(6e-6, 1.95e-6, 1e-5)]
    assert idle.find_slowed(launches) is None and idle.find_slowed(launches, certain=False) is not None


def test_a_burst_may_go_faster_than_the_host_was_timed_but_makes_no_call_cheaper():
    calls, host_s, device_s = 21904, 91e-6, 32e-6
    assert clock.find_in_burst(calls, 1.2, device_s, 600) is None
    assert clock.find_in_burst(6930, 0.8, 208e-6, 96, clock.WARMER) is None  # cold 208 µs, in a row 115: it copies to the host and waits
    assert clock.find_in_burst(60_000, 0.8, 208e-6, 96, clock.WARMER) is not None
    assert calls > clock.most_calls(1.2, host_s, 600) > 1.2 / host_s


@pytest.mark.parametrize("name", ["function time.perf_counter", "function torch.cuda.Event.elapsed_time", "function torch.allclose"])
def test_a_replaced_clock_or_comparison_is_found(name):
    found = flags.find({name: ["perf_counter at 0x1", "<lambda> at 0x2"]})
    assert found is not None and found.outcome == "cheated" and name.split()[1] in found.evidence
