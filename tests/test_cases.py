"""Case plans: pairwise coverage, order, what fits, the frontier, a sample."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from popcorn.cases import NORM, Frontier, Planned, distance, general, pairwise, plan_cases, sample
from popcorn.ops.registry import find_op, list_ops
from popcorn.schema.case import Case

POOLS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True), min_size=2, max_size=5)


@given(POOLS)
def test_every_pair_of_values_of_two_axes_stands_in_some_row(pools):
    rows = pairwise(pools)
    for (a, values_a), (b, values_b) in itertools.combinations(pools.items(), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(values_a, values_b))


@given(POOLS)
def test_rows_of_a_pairwise_plan_are_the_same_every_time_and_never_more_than_all(pools):
    rows = pairwise(pools)
    assert rows == pairwise(pools)
    assert len(rows) <= len(list(itertools.product(*pools.values())))


def test_the_coverage_is_a_small_share_of_the_full_product():
    axes = {**NORM.pools, "precision": ("float32", "bfloat16"), "layout": NORM.layouts, "gradient": ("none", "grad")}
    full = len(list(itertools.product(*axes.values())))
    assert len(pairwise(axes)) < full / 6


def planned(cost=1.0, stratum="coverage", gradient="none", **dims):
    return Planned(Case(dims=dims, gradient=gradient), stratum, cost)


def test_cases_come_smaller_first_without_repeats():
    cases = plan_cases(NORM, find_op("rms_norm").min_bytes)
    assert [one.cost for one in cases] == sorted(one.cost for one in cases)
    assert len({one.case.id for one in cases}) == len(cases)
    assert {one.stratum for one in cases} == {"coverage", "production", "context"}
    assert max(one.case.dims["R"] for one in cases if one.stratum != "context") == 65536
    assert max(one.case.dims["R"] for one in cases) == 1048576


def test_cases_that_cannot_be_judged_in_memory_are_left_out():
    op = find_op("rms_norm")
    cases = plan_cases(NORM, op.min_bytes, memory_bytes=1 << 30)
    assert cases and all(op.min_bytes(one.case.dims, 8) * 6 <= 1 << 30 for one in cases)
    assert len(cases) < len(plan_cases(NORM, op.min_bytes))


def test_the_frontier_prunes_only_what_is_as_large_in_every_size():
    frontier = Frontier()
    frontier.add("popcorn", planned(R=100, D=100))
    assert frontier.beyond("popcorn", planned(R=100, D=200))
    assert not frontier.beyond("popcorn", planned(R=99, D=10_000))
    assert not frontier.beyond("popcorn", planned(R=200, D=200, gradient="grad"))
    assert not frontier.beyond("popcorn", planned(R=200, D=200, stratum="context"))
    assert not frontier.beyond("inductor", planned(R=200, D=200))


def test_what_the_reference_cannot_do_is_tried_by_nobody():
    frontier = Frontier()
    frontier.add("torch", planned(R=100, D=100))
    assert frontier.beyond("popcorn", planned(R=100, D=100))


@given(st.integers(1, 50), st.integers(0, 80))
def test_a_sample_is_deterministic_in_order_and_of_the_size_asked(limit, count):
    cases = [planned(float(i), R=i + 1) for i in range(count)]
    some = sample(cases, limit)
    assert some == sample(cases, limit) and len(some) == min(limit, count)
    assert [one.cost for one in some] == sorted({one.cost for one in some})


def test_every_op_has_a_plan_of_its_own_sizes():
    for name in list_ops():
        op = find_op(name)
        assert op.plan is not None
        assert tuple(op.plan.pools) == op.signature.dims
        assert all(set(curve.fixed) | {curve.axis} == set(op.signature.dims) for curve in op.plan.curves)


def test_a_general_plan_serves_any_sizes():
    cases = plan_cases(general(["A", "B"]), lambda dims, itemsize: dims["A"] * dims["B"] * itemsize)
    assert {tuple(one.case.dims) for one in cases} == {("A", "B")}


def test_distance_counts_doublings():
    assert distance({"R": 8, "D": 4}, {"R": 32, "D": 4}) == 2
    assert distance({"R": 8}, {"D": 8}) == float("inf")
