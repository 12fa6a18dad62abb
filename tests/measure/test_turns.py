"""Taking turns on a fake clock: the order, what cancels, and when it stops."""

from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.measure.fake import FakeClock, FakeDevice
from popcorn.measure.turns import Plan, take_turns


@dataclass
class Diary:
    """Everything that was asked of the rounds, in order."""

    clock: FakeClock = field(default_factory=FakeClock)
    times_s: dict[str, float] = field(default_factory=lambda: {"a": 1e-3, "b": 1e-3})
    drift: float = 0.0
    """Share by which everything slows in one second."""
    noise: list[float] = field(default_factory=list)
    entries: list[tuple] = field(default_factory=list)
    open_s: float = 0.0

    @contextmanager
    def open_round(self, index: int):
        self.entries.append(("open", index))
        self.clock.sleep(self.open_s)
        try:
            yield _Round(self)
        finally:
            self.entries.append(("close", index))

    def order(self) -> list[str]:
        return ["".join(e[1] for e in round_ if e[0] == "time") for round_ in self._rounds()]

    def _rounds(self):
        rounds, current = [], []
        for entry in self.entries:
            if entry[0] == "open":
                current = []
                rounds.append(current)
            current.append(entry)
        return rounds


class _Round:
    def __init__(self, diary: Diary):
        self.diary = diary

    def prepare(self, block: int) -> None:
        self.diary.entries.append(("prepare", block))

    def time_block(self, side: str) -> list[float]:
        diary = self.diary
        diary.entries.append(("time", side))
        once = diary.times_s[side] * (1 + diary.drift * diary.clock.now_s)
        if diary.noise:
            once *= diary.noise.pop(0)
        diary.clock.sleep(once)
        return [once]


def take(diary: Diary, plan: Plan, sides=("a", "b"), watched=("a", "b")):
    return take_turns(diary.open_round, list(sides), watched, plan, clock=diary.clock)


def test_sides_alternate_abba_and_the_first_side_is_swapped_between_rounds():
    diary = Diary()
    take(diary, Plan(min_rounds=3, max_rounds=3, blocks=4, target=0))
    assert diary.order() == ["abbaabba", "baabbaab", "abbaabba"]


def test_four_sides_go_there_and_back():
    diary = Diary(times_s=dict.fromkeys("abcd", 1e-3))
    take(diary, Plan(min_rounds=2, max_rounds=2, blocks=2, target=0), sides="abcd")
    assert diary.order() == ["abcddcba", "dcbaabcd"]


def test_every_block_gets_new_contents_once_before_any_side_and_every_round_is_closed():
    diary = Diary()
    take(diary, Plan(min_rounds=2, max_rounds=2, blocks=2, target=0))
    one = [("prepare", 0), ("time", "a"), ("time", "b"), ("prepare", 1), ("time", "b"), ("time", "a")]
    other = [("prepare", 0), ("time", "b"), ("time", "a"), ("prepare", 1), ("time", "a"), ("time", "b")]
    assert diary.entries == [("open", 0), *one, ("close", 0), ("open", 1), *other, ("close", 1)]


def test_samples_lie_by_side_launch_and_block():
    diary = Diary(times_s={"a": 1.0, "b": 3.0})
    turns = take(diary, Plan(min_rounds=2, max_rounds=2, blocks=4, budget_s=1e9, target=0))
    assert turns.samples == {"a": [[[1.0]] * 4] * 2, "b": [[[3.0]] * 4] * 2}
    assert turns.rounds == 2 and turns.ratio("b", "a").value == pytest.approx(3)


@given(st.floats(-0.5, 20.0), st.floats(0.5, 2.0), st.integers(1, 4).map(lambda n: 2 * n))
@settings(max_examples=60, deadline=None)
def test_a_linear_drift_cancels(drift, factor, blocks):
    """Everything becomes up to 20 times slower a second; the ratio found is the one that holds without drift."""
    diary = Diary(times_s={"a": 1e-3, "b": factor * 1e-3}, drift=drift)
    turns = take(diary, Plan(min_rounds=4, max_rounds=4, blocks=blocks, target=0))
    found = turns.ratio("b", "a")
    assert found.value == pytest.approx(factor, rel=0.01)


def test_the_same_drift_in_a_fixed_order_would_not_cancel():
    """That the test above can fail: always a first, then b, shows the drift as a difference."""
    diary = Diary(drift=20.0)
    with diary.open_round(0) as one:
        pairs = [(one.time_block("a")[0], one.time_block("b")[0]) for _ in range(8)]
    assert sorted(b / a for a, b in pairs)[4] > 1.015


def test_it_stops_when_the_interval_is_narrow_enough():
    diary = Diary(noise=[1.03, 0.98] + [1.0] * 1000)
    turns = take(diary, Plan(min_rounds=3, max_rounds=8, blocks=2, budget_s=1e9, target=0.01))
    assert turns.stopped_by == "interval" and 3 < turns.rounds < 8
    found = turns.ratio("a", "b")
    assert (found.high - found.low) / 2 / found.value <= 0.01


def test_it_stops_when_the_budget_is_used_up_and_says_so():
    diary = Diary(open_s=2.0)
    turns = take(diary, Plan(min_rounds=2, max_rounds=8, blocks=2, budget_s=5.0, target=-1))
    assert turns.stopped_by == "budget" and turns.rounds == 3


def test_never_fewer_than_the_smallest_number_of_rounds_even_with_no_budget():
    turns = take(Diary(), Plan(min_rounds=3, blocks=2, budget_s=0.0, target=0.5))
    assert turns.rounds == 3


def test_never_more_than_the_largest_number_of_rounds():
    turns = take(Diary(), Plan(min_rounds=1, max_rounds=4, blocks=2, budget_s=1e9, target=-1))
    assert turns.rounds == 4 and turns.stopped_by == "budget"


def test_a_failure_inside_closes_the_round_and_is_passed_on():
    diary = Diary(times_s={"a": 1e-3})
    with pytest.raises(KeyError):
        take(diary, Plan(blocks=2))
    assert diary.entries[-1] == ("close", 0)


class OnADevice:
    """A round whose sides run on a fake device: a flush, then the call."""

    def __init__(self, device: FakeDevice, times_s: dict[str, float]):
        self.device, self.times_s = device, times_s

    def prepare(self, block: int) -> None:
        self.device.clock.sleep(1e-3)

    def time_block(self, side: str) -> list[float]:
        samples = []
        for _ in range(5):
            self.device.flush()
            start_s, end_s = self.device.launch(self.times_s[side])
            self.device.synchronize()
            samples.append(end_s - start_s)
        return samples


def test_a_device_that_throttles_midway_slows_both_sides_alike():
    clock = FakeClock()
    device = FakeDevice(clock, throttle_at_s=0.04)

    @contextmanager
    def open_round(index: int):
        yield OnADevice(device, {"a": 1e-4, "b": 1.05e-4})

    turns = take_turns(open_round, ["a", "b"], ("b", "a"), Plan(min_rounds=3, max_rounds=3, blocks=8), clock=clock)
    times = [s for launch in turns.samples["a"] for block in launch for s in block]
    assert max(times) / min(times) == pytest.approx(1.5), "it did throttle"
    assert turns.ratio("b", "a").value == pytest.approx(1.05, rel=0.005)
