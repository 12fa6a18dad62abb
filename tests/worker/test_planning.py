"""How much is timed: enough for an interval, and no more where the answer is plain."""

from types import SimpleNamespace

import pytest

from popcorn.worker.planning import plan_of
from popcorn.worker.taken import Pace


@pytest.mark.parametrize(
    ("slow_s", "cuda", "rounds"),
    [(1e-3, False, 5), (3.9e-3, False, 5), (4.1e-3, False, 3), (1.0, False, 3), (1e-3, True, 3), (1.0, True, 3)],
)
def test_a_candidate_that_is_hopelessly_slow_gets_three_launches_and_every_other_one_what_its_device_needs(slow_s, cuda, rounds):
    session = SimpleNamespace(bench=SimpleNamespace(cuda=cuda), request=SimpleNamespace(budget_s=2.0))
    plan = plan_of(session, Pace(1, 2, 1e-3, slow_s), 4)
    assert plan.min_rounds == rounds and 2 <= plan.blocks <= 8


def test_calls_that_would_take_twice_the_budget_get_fewer_blocks():
    session = SimpleNamespace(bench=SimpleNamespace(cuda=False), request=SimpleNamespace(budget_s=2.0))
    assert plan_of(session, Pace(1, 2, 1e-3, 1e-3), 4).blocks == 4 and plan_of(session, Pace(1, 2, 0.5, 0.5), 4).blocks == 2
