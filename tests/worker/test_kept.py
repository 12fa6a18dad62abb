"""Kept references: of one problem, never twice in one evaluation, not for ever. The children are real; what they rest from is a GPU's."""

from itertools import pairwise

import pytest

from popcorn.worker.kept import _MOST_USES, Kept, most_kept

ONE, OTHER = ("hash", "full"), ("another", "full")


@pytest.fixture
def child(bench):
    with bench.nursery.fork() as made:
        yield made


@pytest.fixture
def kept(bench):
    made = Kept(2, lambda child: bench.nursery.wait(child.pid, 0) is None)
    made.begin(ONE)
    return made


def test_who_rests_serves_the_next_evaluation_and_no_evaluation_twice(kept, child):
    assert kept.put(ONE, child) and kept.pids() == (child.pid,)
    assert kept.take(ONE, {child}) is None, "this evaluation has met it"
    assert kept.take(ONE, set()) is child and kept.take(ONE, set()) is None


def test_another_problem_gets_none_and_ends_those_of_the_last(kept, child):
    assert kept.put(ONE, child) and kept.take(OTHER, set()) is None
    assert kept.begin(ONE) == [] and kept.begin(OTHER) == [child]
    assert not kept.put(ONE, child), "it comes back late"
    assert kept.pids() == ()


def test_no_more_are_kept_than_may_and_none_for_ever(kept, child):
    uses = [kept.put(ONE, child) and kept.take(ONE, set()) is child for _ in range(_MOST_USES + 1)]
    assert uses.index(False) == _MOST_USES - 1 and uses[-1], "its count begins anew with another process of that number"
    narrow = Kept(0, lambda _: True)
    narrow.begin(ONE)
    assert not narrow.put(ONE, child)


def test_a_candidate_is_never_kept(kept, child):
    child.rests = True
    assert not kept.put(ONE, child) and kept.pids() == ()


def test_one_that_has_ended_is_not_handed_out(kept, child):
    assert kept.put(ONE, child)
    child.kill()
    assert kept.take(ONE, set()) is None


def test_after_the_end_none_is_kept(kept, child):
    kept.close()
    assert not kept.put(ONE, child)


def test_they_take_a_small_share_of_the_device():
    counts = [most_kept(memory) for memory in (None, 0, 24 << 30, 80 << 30, 141 << 30)]
    assert counts[:3] == [0, 0, 1] and counts[-1] >= 7 and all(a <= b for a, b in pairwise(counts))
