"""What the oracle holds: results as they were when they arrived, inputs once and for their question alone, a trial made ahead like any other."""

import json
import math

import pytest
import torch

from popcorn.suites.problems import find_problem
from popcorn.worker.holding import Held, unpacked
from popcorn.worker.mailbox import create, pack
from popcorn.worker.oracle import Oracle
from popcorn.worker.truth import Question

FLOOR = 2e-5


def question(seed: int, **dims: int) -> dict:
    return {"dims": dims, "seed": seed, "init_seed": 1, "forward_seed": 2, "distribution": "normal", "layout": "contiguous"}


@pytest.fixture
def oracle(tmp_path) -> Oracle:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    made = Oracle("cpu", tmp_path)
    problem = find_problem("popcorn/L1/29").model_dump()
    made.nominal = made.do_open({"problem": problem, "size": "cpu", "precision": "float32", "gradient": False})["nominal"] | {
        "B": 4,
        "D": 64,
    }
    return made


def asked(oracle: Oracle, seed: int) -> dict:
    return question(seed, **oracle.nominal)


def answer(oracle: Oracle, seed: int) -> torch.Tensor:
    inputs, _, model = oracle._make(Question(**asked(oracle, seed)))
    return model(*inputs)


def test_a_held_result_is_what_arrived_whatever_is_written_there_later(oracle):
    oracle.do_trial({"question": asked(oracle, 1), "truth": True})
    tree = pack(answer(oracle, 7), oracle.outbox)
    oracle.do_hold({"questions": [asked(oracle, 7)], "trees": [tree]})
    oracle.outbox.flat.fill_(1)
    (judged,) = oracle.do_judge_held({"at": None, "floor": FLOOR, "conditioning": False})["judged"]
    assert judged["unfit"] is None and judged["structure"] is None and judged["outputs"][0]["candidate"]["largest"] < FLOOR
    oracle.do_let_go({})
    assert oracle.do_judge_held({"at": None, "floor": FLOOR, "conditioning": False}) == {"judged": []}


def test_a_wrong_result_among_right_ones_is_found_at_its_place_and_asked_about_alone(oracle):
    oracle.do_trial({"question": asked(oracle, 1), "truth": True})
    trees = [pack(answer(oracle, seed), oracle.outbox) for seed in (7, 7, 9)]
    oracle.do_hold({"questions": [asked(oracle, seed) for seed in (7, 8, 9)], "trees": trees})
    judged = oracle.do_judge_held({"at": None, "floor": FLOOR, "conditioning": False})["judged"]
    assert [item["outputs"][0]["candidate"]["largest"] > FLOOR for item in judged] == [False, True, False]
    (again,) = oracle.do_judge_held({"at": [1], "floor": FLOOR, "conditioning": True})["judged"]
    assert again["outputs"][0]["sensitivity"] is not None and again["outputs"][0]["candidate"]["largest"] > FLOOR


def test_what_is_no_result_is_held_as_the_sentence_that_says_so(tmp_path):
    outbox, held = create(tmp_path, "out", 4096, torch.device("cpu")), Held()
    outside = {"t": {"dtype": "float32", "shape": [5000], "stride": [1], "at": 0}}
    for tree in (outside, {"t": 1}, {"other": "ndarray"}, [], json.loads("{}")):
        held.hold(Question(**question(1)), tree, outbox)
    assert all(isinstance(got, str) and "plain tensors" in got for _, got in held.results)


def test_results_that_claim_the_same_bytes_over_and_over_are_not_copied(tmp_path):
    outbox = create(tmp_path, "out", 1 << 20, torch.device("cpu"))
    whole = {"t": {"dtype": "uint8", "shape": [outbox.size], "stride": [1], "at": 0}}
    assert isinstance(unpacked({"l": [whole]}, outbox, private=True), list)
    assert "lie on each other" in unpacked({"l": [whole] * 1000}, outbox, private=True)


def test_drawn_ahead_or_not_contents_are_the_same_and_are_handed_out_once(oracle):
    fresh = oracle._inputs(Question(**asked(oracle, 5)))
    oracle.do_draw_ahead({"questions": [asked(oracle, 5), asked(oracle, 6)]})
    assert oracle.held.knows(Question(**asked(oracle, 5))) and not oracle.held.knows(Question(**asked(oracle, 4)))
    oracle.do_contents({"questions": [asked(oracle, 5), asked(oracle, 6)], "keep": [1]})
    assert not oracle.held.knows(Question(**asked(oracle, 5))) and oracle.held.knows(Question(**asked(oracle, 6)))
    assert all(torch.equal(a, b) for a, b in zip(oracle._inputs(Question(**asked(oracle, 5))), fresh, strict=True))
    oracle.do_trial({"question": asked(oracle, 1), "truth": False})
    assert not oracle.held.inputs, "a launch keeps nothing of the last one"


def test_a_trial_made_ahead_is_the_trial_and_leaves_the_one_under_way_alone(oracle):
    first = oracle.do_trial({"question": asked(oracle, 1), "truth": True})
    tree = pack(answer(oracle, 1), oracle.outbox)
    oracle.do_trial_ahead({"question": asked(oracle, 2)})
    assert math.isclose(oracle.do_judge({"trees": [tree], "floor": FLOOR})["outputs"][0]["cosine"], 1.0, rel_tol=1e-6)
    second = oracle.do_trial({"question": asked(oracle, 2), "truth": True})
    assert first["unfit"] is None and second["unfit"] is None and oracle._ahead is None
    oracle.outbox.reset()
    tree = pack(answer(oracle, 2), oracle.outbox)
    assert oracle.do_judge({"trees": [tree], "floor": FLOOR})["outputs"][0]["candidate"]["largest"] < FLOOR


def test_a_trial_that_fails_ahead_fails_where_it_is_asked_for(oracle):
    broken = {**asked(oracle, 2), "distribution": "no such"}
    assert oracle.do_trial_ahead({"question": broken}) == {} and oracle._ahead is None
    with pytest.raises(Exception, match="no such"):
        oracle.do_trial({"question": broken, "truth": True})
