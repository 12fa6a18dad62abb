"""Communication for real: two processes over Gloo; one process is refused, silence does not pass, a group that hangs is ended."""

import pytest

from popcorn.errors import BadProblem
from popcorn.suites.loading import load
from popcorn.suites.problems import facts, find_problem, list_problems
from popcorn.worker.ranks import run_ranks

TALKING = [one.id for one in list_problems() if facts(one).ranks is not None]
MEAN = """
import torch, torch.distributed as dist
class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        mine = x / dist.get_world_size(group)
        dist.all_reduce(mine, group=group)
        return mine
"""


def test_six_problems_talk() -> None:
    assert len(TALKING) == 6


@pytest.mark.parametrize("problem_id", ["popcorn/L2/38"])
def test_a_problem_agrees_with_float64_on_two_ranks_and_needs_them(problem_id: str) -> None:
    answer = run_ranks(find_problem(problem_id), None, 2, "cpu")
    assert (answer.outcome, answer.world, answer.backend) == ("correct", 2, "gloo"), answer.reason
    assert answer.reference_s is not None and answer.mean_error is not None


def test_one_process_is_skipped_with_a_reason_and_never_run() -> None:
    answer = run_ranks(find_problem("popcorn/L2/2"), MEAN, 1, "cpu")
    assert answer.outcome == "skipped" and "would communicate nothing" in answer.reason and answer.world == 0
    with pytest.raises(BadProblem, match=r"never on one; judge it with `popcorn ranks"):
        load(find_problem("popcorn/L2/2"))


def test_a_problem_of_one_process_is_sent_to_eval() -> None:
    with pytest.raises(BadProblem, match="popcorn eval"):
        run_ranks(find_problem("popcorn/L1/29"), None, 2, "cpu")


@pytest.mark.parametrize(
    ("candidate", "outcome", "words"),
    [
        (MEAN, "correct", ""),
        (MEAN.replace("dist.all_reduce(mine, group=group)", "pass"), "wrong_values", "rank"),
        (MEAN.replace("dist.all_reduce(mine, group=group)", "x.zero_()"), "runtime_error", "inputs were changed"),
    ],
)
def test_a_candidate_is_judged_on_every_rank(candidate: str, outcome: str, words: str) -> None:
    answer = run_ranks(find_problem("popcorn/L2/2"), candidate, 2, "cpu")
    assert answer.outcome == outcome and words in answer.reason
    assert (answer.time_s is not None) == (outcome == "correct")


def test_a_rank_that_waits_for_nobody_is_ended() -> None:
    waiting = MEAN.replace("dist.all_reduce(mine, group=group)", "dist.get_rank(group) and dist.recv(mine, 0, group=group)")
    answer = run_ranks(find_problem("popcorn/L2/2"), waiting, 2, "cpu", timeout_s=25)
    assert answer.outcome in ("timeout", "runtime_error") and answer.time_s is None
