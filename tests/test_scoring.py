"""Scores: the front is the front, denominators are fixed, failures are stated both ways."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.schema.verdict import OUTCOMES
from popcorn.scoring import (
    MODES,
    Attempt,
    dominates,
    failure_modes,
    fast_p,
    geometric_mean,
    mean_pass_at_k,
    mode_of,
    optimal,
    pareto_front,
    pass_at_k,
    standings,
)  # fmt: skip

SIGNALS = st.tuples(*[st.one_of(st.none(), st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.floats(1e-9, 1e6))] * 3)


def attempt(problem="popcorn/L1/1", mode="correct", speedup=2.0, **changes):
    given = {"model": "m", "tier": "default", "variant": "popcorn", "level": 1, "problem": problem, "mode": mode}
    return Attempt(**{**given, "speedup": speedup if mode == "correct" else None, **changes})


@given(st.lists(SIGNALS, max_size=30))
def test_a_point_is_on_the_front_exactly_when_no_other_dominates_it(points):
    assert pareto_front(points) == [not any(dominates(other, point) for other in points) for point in points]


@given(SIGNALS, SIGNALS, SIGNALS)
def test_domination_is_a_strict_order(a, b, c):
    assert not dominates(a, a)
    assert not (dominates(a, b) and dominates(b, a))
    assert dominates(a, c) or not (dominates(a, b) and dominates(b, c))


def test_an_unknown_signal_is_worse_than_a_known_one_and_equal_to_another():
    assert dominates((1.0, 0.1), (1.0, None)) and not dominates((1.0, None), (1.0, 0.1))
    assert not dominates((None, 1.0), (None, 1.0)) and pareto_front([(None, 1.0), (None, 1.0)]) == [True, True]


def test_energy_counts_on_levels_three_and_four_alone():
    assert attempt(level=2, sol=0.5, energy_ratio=0.5).signals == (2.0, 0.5)
    assert attempt(level=3, sol=0.5, energy_ratio=0.5).signals == (2.0, 0.5, 2.0)
    assert attempt(level=4).signals == (2.0, None, None)


def test_failures_are_stated_both_ways():
    both = geometric_mean([2.0, 8.0], 4)
    assert (both.correct_only, both.failures_as_1, both.failures_as_0) == (pytest.approx(4.0), pytest.approx(2.0), 0.0)
    assert geometric_mean([2.0, 8.0], 2).failures_as_0 == pytest.approx(4.0)
    none = geometric_mean([], 3)
    assert (none.correct_only, none.failures_as_1, none.failures_as_0) == (None, 1.0, 0.0)
    assert geometric_mean([], 0).failures_as_1 is None
    with pytest.raises(ValueError, match="positive"):
        geometric_mean([0.0], 1)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_pass_at_k_is_the_chance_that_a_draw_of_k_holds_a_correct_one(n, c, k):
    c = min(c, n)
    value = pass_at_k(n, c, k)
    if k > n:
        assert value is None
    else:
        failing = math.prod((n - c - i) / (n - i) for i in range(k))
        assert value == pytest.approx(1 - max(0.0, failing))


def test_pass_at_k_counts_missing_problems_as_failed_and_not_our_own_faults():
    some = [attempt(repeat=i, mode=mode) for i, mode in enumerate(["correct", "wrong", "infrastructure"])]
    assert mean_pass_at_k(some, planned=2, k=1) == pytest.approx(0.25)
    assert mean_pass_at_k(some, planned=2, k=2) == pytest.approx(0.5)
    assert mean_pass_at_k(some, planned=2, k=3) is None


def test_a_standing_tells_pass_at_its_fewest_repeats_and_nothing_with_one():
    twice = [attempt(repeat=i, mode=mode) for i, mode in enumerate(["correct", "wrong"])]
    thrice = [attempt("popcorn/L1/2", repeat=i, mode=mode) for i, mode in enumerate(["wrong", "wrong", "correct"])]
    (row,) = standings([*twice, *thrice])
    assert (row.repeats, row.pass_at_repeats) == (2, pytest.approx((1 + 2 / 3) / 2))
    (once,) = standings([attempt()])
    assert (once.repeats, once.pass_at_repeats) == (1, None)


def test_a_kernel_is_faster_than_a_baseline_by_its_whole_interval():
    told = [attempt(str(index), speedup=1.001, speedup_low=low) for index, low in enumerate((0.998, 1.0004, None))]
    assert fast_p(told, 3) == pytest.approx(2 / 3), "where the interval is not known the figure has to do"


def test_no_rate_grows_because_something_failed_to_run():
    some = [attempt(f"popcorn/L1/{i}", mode) for i, mode in enumerate(("correct", "wrong", "cheat", "timeout", "infrastructure"))]
    counts = failure_modes(some, planned=7)
    assert {mode: count for mode, count in counts.items() if count} == {
        "correct": 1, "wrong": 1, "cheat": 1, "timeout": 1, "infrastructure": 1, "missing": 2,
    }  # fmt: skip
    assert sum(counts.values()) == 7
    assert fast_p(some, 7) == pytest.approx(1 / 7) and fast_p(some, 7, 2.0) == 0.0 and fast_p([], 0) is None
    (row,) = standings(some, {("popcorn", 1): 7})
    assert (row.planned, row.correct_rate, row.speedup.timed) == (7, pytest.approx(1 / 7), 1)


def test_the_best_of_several_attempts_counts_once():
    counts = failure_modes([attempt(mode="error"), attempt(mode="correct"), attempt(mode="wrong")], 1)
    assert counts["correct"] == 1 and sum(counts.values()) == 1


@pytest.mark.parametrize("outcome", [*OUTCOMES, None])
def test_every_outcome_has_a_mode(outcome):
    assert mode_of(outcome) in MODES
    assert mode_of(outcome, "condemned") != "correct"


def test_models_rank_by_the_size_of_their_pareto_optimal_subset():
    some = [
        attempt("popcorn/L1/1", model="wide", speedup=2.0, sol=0.9),
        attempt("popcorn/L1/2", model="wide", speedup=3.0, sol=0.5),
        attempt("popcorn/L1/1", model="fast", speedup=9.0, sol=0.1),
        attempt("popcorn/L1/2", model="slow", speedup=1.0, sol=0.1),
        attempt("popcorn/L1/2", model="cheat", mode="cheat", speedup=None),
    ]
    assert optimal(some) == [True, True, True, False, False]
    ranks = {row.model: (row.rank, row.pareto, row.pareto_problems) for row in standings(some)}
    assert ranks == {"wide": (1, 2, 2), "fast": (2, 1, 1), "slow": (3, 0, 0), "cheat": (3, 0, 0)}
    assert {row.planned for row in standings(some)} == {2}


def test_sums_of_tokens_and_money_are_unknown_when_nobody_tells():
    row = standings([attempt(), attempt("popcorn/L1/2", tokens=5, cost_usd=0.5)])[0]
    assert (row.tokens, row.cost_usd, row.gpu_s) == (5, 0.5, None)
