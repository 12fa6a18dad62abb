"""Spares: real children of a real zygote, made ahead; the context that a GPU's would hold is left out here."""

import threading

import pytest

from popcorn.worker.spares import Spares, most_spares
from tests.processes import gone


@pytest.fixture
def made():
    """Spares with a maker of the test's choosing; closed at the end."""
    kept = []

    def make(maker, most=3):
        kept.append(Spares(maker, most))
        kept[-1].resume()
        return kept[-1]

    yield make
    for one in kept:
        one.close()


def until_full(spares, count):
    with spares._changed:
        assert spares._changed.wait_for(lambda: len(spares._ready) == count, 60)


def test_as_many_wait_as_may_and_who_is_taken_is_made_again(bench, made):
    spares = made(bench.nursery.fork, 2)
    until_full(spares, 2)
    waiting = spares.pids()
    child = spares.take()
    assert child.pid == waiting[0]
    until_full(spares, 2)
    assert waiting[1] in spares.pids() and child.pid not in spares.pids()
    for one in (child, spares.take(), spares.take()):
        one.kill()
        assert gone(one.pid)


def test_settled_means_that_none_is_on_the_way_and_none_begins(bench, made):
    may_go, begun = threading.Event(), threading.Semaphore(0)

    def slow():
        begun.release()
        assert may_go.wait(60)
        return bench.nursery.fork()

    spares = made(slow, 5)
    assert begun.acquire(timeout=60) and begun.acquire(timeout=60), "two are made at once"
    threading.Timer(0.05, may_go.set).start()
    spares.settle()
    assert len(spares.pids()) == 2 and not begun.acquire(timeout=0.2)
    spares.resume()
    until_full(spares, 5)
    while (child := spares.take()) and spares.settle() is None:
        child.kill()


def test_who_asks_while_one_is_on_the_way_waits_for_it_and_else_is_told_that_there_is_none(bench, made):
    may_go = threading.Event()

    def slow():
        assert may_go.wait(60)
        return bench.nursery.fork()

    spares = made(slow, 1)
    with spares._changed:
        assert spares._changed.wait_for(lambda: spares._making == 1, 60)
    threading.Timer(0.05, may_go.set).start()
    child = spares.take()
    assert child is not None
    spares.settle()
    for other in (spares.take(), child):
        if other is not None:
            other.kill()
    assert spares.take() is None


def test_a_maker_that_fails_is_not_asked_again_until_somebody_wants_it(made):
    asked = []

    def broken():
        asked.append(1)
        raise OSError("no room on the device")

    spares = made(broken)
    spares.settle()
    tried = len(asked)
    assert spares.take() is None and spares.pids() == ()
    spares.resume()
    with spares._changed:
        assert spares._changed.wait_for(lambda: len(asked) > tried, 60)


def test_those_of_a_zygote_that_is_gone_are_forgotten_and_late_ones_ended(bench, made):
    may_go, children = threading.Event(), []

    def slow():
        assert may_go.wait(60)
        children.append(bench.nursery.fork())
        return children[-1]

    spares = made(slow, 1)
    with spares._changed:
        assert spares._changed.wait_for(lambda: spares._making == 1, 60)
    spares.drop()
    threading.Timer(0.05, may_go.set).start()
    spares.settle()
    assert bench.nursery.wait(children[0].pid, 60) is not None, "it was made for a zygote that is gone"


def test_who_waited_before_the_zygote_learned_more_is_ended(bench, made):
    spares = made(bench.nursery.fork, 2)
    until_full(spares, 2)
    old = spares.pids()
    spares.renew()
    assert all(gone(pid) for pid in old)
    until_full(spares, 2)
    assert not set(old) & set(spares.pids())
    for one in (spares.take(), spares.take()):
        one.kill()


@pytest.mark.parametrize(("memory", "most"), [(None, 0), (8 << 30, 0), (24 << 30, 2), (80 << 30, 8), (141 << 30, 13), (1 << 40, 13)])
def test_they_take_a_small_share_of_the_device(memory, most):
    assert most_spares(memory) == most
