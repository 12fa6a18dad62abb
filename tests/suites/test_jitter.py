"""Sizes: what a Dim refuses, and that draws stay inside its range, aligned, repeatable and sometimes awkward."""

import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.errors import BadProblem
from popcorn.suites.jitter import Dim, awkward_sizes, draw_dims


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    align = draw(st.sampled_from([1, 2, 8, 16, 64]))
    low, middle, high = sorted(draw(st.integers(1, 4000)) for _ in range(3))
    cpu = draw(st.integers(1, 500)) * align
    if draw(st.booleans()):
        return Dim(middle * align, align=align, cpu=cpu)
    return Dim(middle * align, low=low * align, high=high * align, align=align, cpu=cpu)


@given(dims(), st.integers(), st.booleans(), st.sampled_from(["full", "cpu"]))
def test_draws_stay_inside_the_range_and_keep_the_alignment(dim: Dim, seed: int, jitter: bool, size: str) -> None:
    at = dim.at(size)  # type: ignore[arg-type]
    drawn = draw_dims({"X": at}, seed, jitter)["X"]
    assert type(drawn) is int
    assert at.low <= drawn <= at.high and drawn % at.align == 0
    assert draw_dims({"X": at}, seed, jitter)["X"] == drawn
    assert jitter or drawn == at


@given(dims())
def test_the_cpu_size_keeps_align_and_never_leaves_its_own_range(dim: Dim) -> None:
    small = dim.at("cpu")
    assert small == dim.cpu and small.align == dim.align and small.low <= small <= small.high
    assert small.at("cpu") == small


@given(dims())
def test_a_dim_survives_pickling_and_reads_as_a_number(dim: Dim) -> None:
    again = pickle.loads(pickle.dumps(dim))
    assert vars(again) == vars(dim) and again == dim
    assert f"{dim}" == str(int(dim)) and eval(repr(dim)) == dim


def test_one_draw_in_three_is_awkward_and_few_are_wide() -> None:
    dim = Dim(4096, low=2048, high=8192)
    drawn = Counter(draw_dims({"X": dim}, seed, True)["X"] for seed in range(2000))
    awkward = sum(count for size, count in drawn.items() if size in awkward_sizes(dim))
    wide = sum(count for size, count in drawn.items() if abs(size - 4096) > 410)
    assert 500 < awkward < 720
    assert 100 < wide < 240
    assert drawn[4093] and drawn[4099] and drawn[4097], "the nearest primes and one step away"


def test_alignment_forbids_odd_sizes_but_not_awkward_multiples() -> None:
    assert awkward_sizes(Dim(4096, align=64)) == [4096 - 192, 4096 - 64, 4096 + 64, 4096 + 192]
    assert awkward_sizes(Dim(64, fixed=True)) == []


def test_other_seeds_and_other_names_give_other_sizes() -> None:
    plan = {"A": Dim(4096), "B": Dim(4096)}
    drawn = [draw_dims(plan, seed, True) for seed in range(50)]
    assert len({one["A"] for one in drawn}) > 20
    assert any(one["A"] != one["B"] for one in drawn)


def test_draws_are_the_same_on_every_machine_and_version() -> None:
    assert draw_dims({"B": Dim(8192, low=6963, high=9420, align=8), "R": Dim(4, low=2, high=8)}, 0, True) == {"B": 8512, "R": 5}


def test_valid_refuses_combinations_and_the_nominal_one_must_pass() -> None:
    plan = {"S": Dim(100, low=50, high=150), "T": Dim(90, low=50, high=150)}
    for seed in range(40):
        drawn = draw_dims(plan, seed, True, lambda S, T: T <= S)
        assert drawn["T"] <= drawn["S"]
    assert draw_dims(plan, 1, True, lambda S, T: (S, T) == (100, 90)) == {"S": 100, "T": 90}
    with pytest.raises(BadProblem, match="nominal sizes"):
        draw_dims(plan, 1, True, lambda S, T: False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"size": 100, "low": 110}, "outside its own range"),
        ({"size": 100, "high": 90}, "outside its own range"),
        ({"size": 100, "align": 8}, "multiple of align"),
        ({"size": 64, "align": 8, "cpu": 12}, "multiple of align"),
        ({"size": 8, "low": 4, "fixed": True}, "fixed and has a range"),
        ({"size": 0}, "at least 1"),
        ({"size": 8, "align": 0}, "at least 1"),
        ({"size": 8, "low": 0}, "low of at least 1"),
    ],
)
def test_contradictions_are_refused(arguments: dict[str, int], reason: str) -> None:
    with pytest.raises(BadProblem, match=reason):
        Dim(arguments.pop("size"), **arguments)  # type: ignore[arg-type]
