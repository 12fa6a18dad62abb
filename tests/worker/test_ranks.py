"""Communication for real: two processes over Gloo; one process is refused, silence does not pass, a group that hangs is ended, ranks are fenced."""

from pathlib import Path

import pytest

from popcorn.errors import BadProblem
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.suites.loading import load
from popcorn.suites.problems import facts, find_problem, list_problems
from popcorn.worker.bench import Bench
from popcorn.worker.ranks import examine_ranks, why_not, world_of
from popcorn.worker.request import Request

TALKING = [one.id for one in list_problems() if facts(one).ranks is not None]
MEAN = """
import torch, torch.distributed as dist
class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        mine = x / dist.get_world_size(group)
        dist.all_reduce(mine, group=group)
        return mine
"""
REACH = """
        import socket
        for act in (lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM), lambda: open(PLACE, "w")):
            try:
                act()
            except PermissionError:
                continue
            raise RuntimeError("the fence is open")
        dist.all_reduce(mine, group=group)"""


@pytest.fixture
def asked(bench: Bench, tmp_path: Path):
    def ask(source: str, **more: object) -> Record:
        given = {"problem": find_problem("popcorn/L2/2"), "source": source, "language": "torch", "name": "a.py", "timing": False} | more
        return evaluate(Request.model_validate(given), bench, Store(tmp_path))

    return ask


def test_six_problems_talk() -> None:
    assert len(TALKING) == 6


@pytest.mark.parametrize("problem_id", ["popcorn/L2/38"])
def test_a_problem_agrees_with_float64_on_two_ranks_and_needs_them(problem_id: str) -> None:
    answer = examine_ranks(find_problem(problem_id), 2, "cpu")
    assert (answer.outcome, answer.world, answer.backend) == ("correct", 2, "gloo"), answer.reason
    assert answer.reference_s is not None and answer.mean_error is not None


def test_one_process_is_refused_with_a_reason_and_never_run(asked) -> None:
    problem = find_problem("popcorn/L2/2")
    assert world_of(problem, None, False) == 2 and "needs 64 GPUs" in (why_not(problem, 64, True) or "")
    answer = examine_ranks(problem, 1, "cpu")
    assert answer.outcome == "skipped" and "would communicate nothing" in answer.reason and answer.world == 0
    record = asked(MEAN, world=1)
    assert record.verdict.outcome == "rejected" and "would communicate nothing" in (record.verdict.reason or "")
    with pytest.raises(BadProblem, match="never on one"):
        load(problem)


def test_a_problem_of_one_process_is_sent_to_eval() -> None:
    with pytest.raises(BadProblem, match="popcorn eval"):
        examine_ranks(find_problem("popcorn/L1/29"), 2, "cpu")


def test_a_correct_candidate_is_a_record_with_times_of_every_rank(asked, tmp_path: Path) -> None:
    record = asked(MEAN, timing=True, budget_s=0.5)
    timing, ranks = record.measurement.timing, record.measurement.ranks
    assert record.verdict.correct and timing is not None and ranks is not None, record.verdict.reason
    assert (ranks.world, ranks.backend, len(ranks.candidate_s)) == (2, "gloo", 2) and record.case.dims["WORLD"] == 2
    assert timing.control.aa is not None and "parent's clock" in timing.method and record.verdict.timed_outputs_judged == 2
    assert "sandbox" in record.verdict.defences_passed or record.verdict.notes
    assert Store(tmp_path).ids() == [record.id]


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ("pass", "wrong_values", "rank"),
        ("x.zero_()", "mutated_inputs", "inputs were changed"),
        (REACH.strip(), "correct", ""),
    ],
)
def test_a_candidate_is_judged_on_every_rank_behind_a_fence(asked, tmp_path: Path, change: str, outcome: str, words: str) -> None:
    source = MEAN.replace("dist.all_reduce(mine, group=group)", change.replace("PLACE", repr(str(tmp_path / "pwned"))))
    record = asked(source)
    assert record.verdict.outcome == outcome and words in (record.verdict.reason or ""), record.verdict.reason
    assert record.measurement.timing is None and not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (MEAN.replace("ModelNew", "Model") + "ModelNew = Model()", "compile_error", "defines no class ModelNew"),
        (MEAN + "missing_name", "runtime_error", "NameError: name 'missing_name' is not defined (line 8 of the candidate"),
    ],
)
def test_what_a_rank_cannot_load_is_worded_as_in_one_process(asked, source: str, outcome: str, words: str) -> None:
    record = asked(source)
    assert record.verdict.outcome == outcome and words in (record.verdict.reason or ""), record.verdict.reason


def test_a_rank_that_waits_for_nobody_is_ended(asked) -> None:
    waiting = MEAN.replace("dist.all_reduce(mine, group=group)", "dist.get_rank(group) and dist.recv(mine, 0, group=group)")
    record = asked(waiting, timeout_s=8)
    assert record.verdict.outcome in ("timeout", "runtime_error") and record.measurement.timing is None


def test_gradients_and_other_languages_are_refused(asked) -> None:
    assert "forward and in float32" in (asked(MEAN, gradient="grad").verdict.reason or "")
