"""An actor of Ray's whose device fails at once is the idle one, and must not draw all requests. No cluster: what an actor is given, and what comes back."""

from popcorn.records.store import Store
from popcorn.sweep.ray_engine import RayEngine, _fault_in
from tests.made_records import make_record


def test_a_device_that_fails_at_once_rests_and_the_others_are_asked(tmp_path):
    engine = RayEngine([object()] * 4, Store(tmp_path))
    given = [0] * 4
    for _ in range(100):
        index, job = engine._take()
        given[index] += 1
        if index == 0:
            engine._give_back(index, job, "no CUDA device")
        elif sum(given) % 3 == 0:  # the others are slower: some of theirs are still under way
            engine._give_back(index, job, None)
    assert given[0] == 5 and min(given[1:]) > 20


def test_an_actor_that_died_of_a_request_does_not_get_it_again_while_there_are_others(tmp_path):
    engine = RayEngine([object()] * 2, Store(tmp_path))
    given = [engine._take({0})[0] for _ in range(10)]  # the dead one is the idle one
    assert given == [1] * 10 and engine._take({0, 1})[0] == 0


def test_where_all_rest_requests_still_go_somewhere(tmp_path):
    engine = RayEngine([object()] * 2, Store(tmp_path))
    for _ in range(20):
        index, job = engine._take()
        engine._give_back(index, job, "the disk is full")
    assert engine._take()[0] in (0, 1)


def test_a_fault_of_ours_is_told_from_a_result():
    assert _fault_in(make_record("wrong_values")) is None and _fault_in(make_record("correct")) is None
    assert _fault_in(make_record("harness_error")) is not None
