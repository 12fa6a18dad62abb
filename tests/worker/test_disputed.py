"""What counts where the parent's clock does not confirm a time."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.verify.defences.clock import IN_MOST, short_by
from popcorn.verify.defences.registry import switched_off
from popcorn.worker import batch
from popcorn.worker.disputed import lengthen_all, settle_dispute
from popcorn.worker.refused import Refused
from popcorn.worker.taken import BASELINE, CANDIDATE, Taken

CALL_S, OVERHEAD_S = 1e-3, 1e-5


def launches(count: int) -> list[list[list[float]]]:
    return [[[CALL_S, CALL_S], [2 * CALL_S]] for _ in range(count)]


@given(st.lists(st.floats(0.3, 2.0), min_size=5, max_size=5), st.dictionaries(st.integers(0, 4), st.floats(1.0, 1.5), max_size=5))
def test_every_launch_counts_at_least_as_long_as_nearly_all_of_them_show(ratios: list[float], lengthened: dict[int, float]) -> None:
    samples, taken = launches(5), Taken()
    taken.over_claimed, taken.lengthened = dict(enumerate(ratios)), lengthened
    lengthen_all(samples, taken)
    short = short_by(ratios)
    assert bool(taken.doubts) == (short > IN_MOST)
    for index, launch in enumerate(samples):
        factor = launch[0][0] / CALL_S
        wanted = max(1.0, short / lengthened.get(index, 1.0)) if short > IN_MOST else 1.0
        assert factor == pytest.approx(wanted) and launch[1][0] == pytest.approx(2 * CALL_S * wanted)


def test_a_clock_that_is_switched_off_lengthens_nothing() -> None:
    samples, taken = launches(3), Taken()
    taken.over_claimed = dict.fromkeys(range(3), 1.3)
    with switched_off("clock"):
        lengthen_all(samples, taken)
    assert samples == launches(3) and not taken.doubts


def asked(monkeypatch: pytest.MonkeyPatch, mine_s: list[float], before: dict[int, float]) -> tuple[int, Taken]:
    """How many batches of a candidate a launch asks for, when these are their times a call."""
    count, taken = 0, Taken()
    taken.over_claimed = dict(before)

    def timed(launch: Any, side: str, contents: Any, call: bool = True, cold: bool = True) -> float:
        nonlocal count
        if side == BASELINE:
            return OVERHEAD_S + CALL_S * call
        count += 1
        return OVERHEAD_S + mine_s[count - 1]

    for name, found in (("_stays", True), ("_choice", None), ("_sets", 20), ("_prepare", None)):
        monkeypatch.setattr(batch, name, lambda *_, found=found: found)
    monkeypatch.setattr(batch, "_batch", timed)
    launch = SimpleNamespace(
        taken=taken, index=len(before), helped_s=0.0, faults={}, recorded_s={CANDIDATE: CALL_S, BASELINE: CALL_S}.__getitem__
    )
    batch.check_batch(launch)  # type: ignore[arg-type]
    return count, taken


def test_a_batch_within_what_is_usual_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, [1.05 * CALL_S], {})[0] == 1


def test_the_quickest_of_three_batches_is_held_against_a_claim_that_may_fall_short(monkeypatch: pytest.MonkeyPatch) -> None:
    count, taken = asked(monkeypatch, [factor * CALL_S for factor in (1.14, 1.12, 1.13)], {0: 1.12})
    assert count == 3 and taken.over_claimed[1] == pytest.approx(1.12, rel=0.01)
    assert asked(monkeypatch, [1.14 * CALL_S, 1.02 * CALL_S], {0: 1.12})[0] == 2


def test_nobody_asks_again_when_two_launches_have_shown_the_claims_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, [1.14 * CALL_S], {0: 1.0, 1: 1.05})[0] == 1


class Asked:
    """A launch whose candidate claims `claimed_s` and takes `mine_s` by the parent's clock, `helped_s` of it for its helpers."""

    def __init__(self, claimed_s: float, mine_s: float, helped_s: float):
        self.taken, self.index, self.block = Taken(), 0, 0
        self.claimed_s, self.mine_s, self.helped_s = claimed_s, mine_s, helped_s
        self.faults: dict[str, float] = {}
        self.least_s: float | None = None
        self.why = ""
        self.hidden = False

    def prepare(self, block: int) -> None:
        self.block = block

    def claim(self, side: str) -> float:
        return self.claimed_s if side == CANDIDATE else CALL_S

    def recorded_s(self, side: str) -> float:
        return self.claim(side)

    def stands(self, side: str) -> bool:
        return self.hidden

    def parent_s(self, side: str) -> float:
        return self.mine_s if side == CANDIDATE else CALL_S

    def lengthen(self, side: str, least_s: float, why: str) -> None:
        self.least_s, self.why = least_s, why

    def settle_twice(self) -> None:
        for self.index in (0, 1):
            settle_dispute(self, self.parent_s)  # type: ignore[arg-type]


def test_a_false_clock_is_refused_when_two_launches_show_it() -> None:
    with pytest.raises(Refused, match="the candidate's process claims"):
        Asked(CALL_S, 3 * CALL_S, 0.0).settle_twice()


def test_helpers_that_take_the_core_make_a_kernel_slow_and_nobody_a_liar() -> None:
    asked = Asked(CALL_S, 3 * CALL_S, 1.9 * CALL_S)
    asked.settle_twice()
    assert asked.least_s == pytest.approx(3 * CALL_S) and "helpers" in asked.why and not asked.taken.accused


def test_helpers_are_no_excuse_for_what_the_first_thread_worked_itself() -> None:
    with pytest.raises(Refused, match="the candidate's process claims"):
        Asked(CALL_S / 20, 2 * CALL_S, CALL_S).settle_twice()


def test_a_busy_machine_is_named_where_nobody_helped() -> None:
    asked = Asked(CALL_S, 1.2 * CALL_S, 0.0)
    asked.settle_twice()
    assert asked.least_s == pytest.approx(1.2 * CALL_S) and "machine" in asked.why


def test_fresh_pages_beyond_the_references_accuse_nobody_and_their_time_counts() -> None:
    asked = Asked(CALL_S, 3 * CALL_S, 0.0)
    asked.faults = {CANDIDATE: 1e3 + 2 * CALL_S / 1.5e-6, BASELINE: 1e3}
    asked.settle_twice()
    assert asked.least_s == pytest.approx(3 * CALL_S) and "memory grows" in asked.why and not asked.taken.accused


def test_fresh_pages_that_the_reference_meets_as_well_are_no_excuse() -> None:
    asked = Asked(CALL_S, 3 * CALL_S, 0.0)
    asked.faults = {CANDIDATE: 1e6, BASELINE: 1e6}
    with pytest.raises(Refused, match="the candidate's process claims"):
        asked.settle_twice()


def test_a_busy_moment_of_the_hosts_lengthens_no_call_whose_device_time_is_hidden_behind_the_hosts() -> None:
    asked = Asked(CALL_S, 1.2 * CALL_S, 0.0)
    asked.hidden = True
    asked.settle_twice()
    assert asked.least_s is None


def test_being_hidden_behind_the_host_is_no_excuse_for_a_false_clock() -> None:
    asked = Asked(CALL_S, 3 * CALL_S, 0.0)
    asked.hidden = True
    with pytest.raises(Refused, match="the candidate's process claims"):
        asked.settle_twice()
