"""A model whose provider fails rests, is tried one run at a time, and is left after an hour."""

import pytest

from popcorn.sweep.resting import FIRST_S, IN_A_ROW, LONGEST_S, MOST_RESTS, REFUSED, Resting


def test_a_model_rests_after_failures_in_a_row_and_one_run_finds_out_how_things_stand():
    now, told = [0.0], []
    resting = Resting("the provider", told.append, lambda: now[0])
    for _ in range(IN_A_ROW - 1):
        resting.failed("mine", "a", "500")
        assert not resting.rests("mine")
    resting.failed("mine", "a", "500")
    resting.failed("mine", "a", "500")  # one that was under way
    assert len(told) == 1 and "it rests 60 s" in told[0] and resting.rests("mine") and not resting.rests("yours")
    assert resting.left_s(["mine", "yours"]) == FIRST_S and resting.told() == ["mine (60 s)"]
    now[0] += FIRST_S
    assert not resting.rests("mine")
    resting.begins("mine", "a")
    assert resting.rests("mine"), "one at a time"
    resting.let_go("mine", "b")
    resting.failed("mine", "b", "500")
    assert resting.rests("mine") and len(told) == 1, "one that was under way says nothing new"
    resting.let_go("mine", "a")
    assert not resting.rests("mine"), "that one was cancelled"
    resting.answered("mine")
    resting.begins("mine", "a")
    assert "answers again" in told[-1] and not resting.rests("mine")


def test_rests_grow_and_end_with_the_session():
    now = [0.0]
    resting = Resting("the provider", now=lambda: now[0])
    for _ in range(IN_A_ROW):
        resting.failed("mine", "a", "500")
    rests = []
    while (left_s := resting.left_s(["mine"])) is not None:
        rests.append(left_s)
        now[0] += left_s
        assert not resting.rests("mine")
        resting.begins("mine", "a")
        resting.failed("mine", "a", "500")
    assert rests == [min(LONGEST_S, FIRST_S * 2**index) for index in range(MOST_RESTS)] and 3600 < sum(rests) < 2 * 3600
    assert resting.rests("mine") and resting.told() == ["mine (left for this session)"]


@pytest.mark.parametrize(
    "reason",
    [
        "Error code: 401 - invalid x-api-key",
        "403 Forbidden",
        "AuthenticationError: no such key",
        "NotFoundError: Error code: 404 - the model was withdrawn",
    ],
)
def test_a_model_whose_key_is_refused_or_that_is_gone_is_left_at_once(reason):
    told = []
    resting = Resting("the provider", told.append, lambda: 0.0, for_good=REFUSED)
    for _ in range(IN_A_ROW):
        resting.failed("mine", "a", reason)
    assert resting.rests("mine") and resting.left_s(["mine"]) is None and "sweep resume" in told[-1]


def test_a_device_whose_fault_holds_a_number_like_a_refused_key_s_is_tried_again():
    health = Resting("faults of the harness", now=lambda: 0.0)
    for _ in range(IN_A_ROW):
        health.failed("cuda:3", "a", "OSError: [Errno 28] No space left on device: '/dev/shm/popcorn-404'")
    assert health.rests("cuda:3") and health.left_s(["cuda:3"]) == FIRST_S
