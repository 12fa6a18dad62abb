"""Processes on their way: real ones are ended and started beside other work, and nobody is lost."""

import threading

import pytest

from popcorn.worker.between import Between
from popcorn.worker.refused import Refused
from tests.processes import gone


@pytest.fixture
def between():
    made = Between()
    yield made
    made.close()


def test_settled_means_that_who_was_let_go_is_gone(between, bench):
    children = [bench.nursery.fork() for _ in range(3)]
    between.let_go(*children)
    between.settle()
    assert all(bench.nursery.wait(child.pid, 0) is not None for child in children) and all(gone(child.pid) for child in children)


def test_who_was_brought_is_taken_once_and_by_its_kind(between, bench):
    between.bring("reference", bench.nursery.fork)
    assert between.take("candidate") is None
    child = between.take("reference")
    assert child is not None and between.take("reference") is None
    child.kill()


def test_settle_waits_for_who_is_on_the_way_in_and_leaves_it_to_be_taken(between, bench):
    may_come, here = threading.Event(), []

    def start():
        assert may_come.wait(60)
        here.append(bench.nursery.fork())
        return here[0]

    between.bring("reference", start)
    threading.Timer(0.05, may_come.set).start()
    between.settle()
    assert here and between.take("reference") is here[0]
    here[0].kill()


def test_what_went_wrong_on_the_way_is_raised_where_the_child_is_needed(between):
    def start():
        raise Refused("compile_error", "no ModelNew", "load")

    between.bring("candidate", start)
    between.settle()
    with pytest.raises(Refused, match="no ModelNew"):
        between.take("candidate")
