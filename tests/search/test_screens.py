"""Screens before a judge: doubles, contracts, fair play; and verifiers with a record of their own."""

import pytest

from popcorn.search.ledger import Ledger
from popcorn.search.normal import normal
from popcorn.search.program import Judged, Proposal
from popcorn.search.screens import fair, fresh, parses
from popcorn.search.speaking import ScriptedSpeaker
from popcorn.search.verifiers import AUDIT, WARMUP, Verifiers, read
from tests.search.made import KERNEL, program, right, run, text


@pytest.mark.parametrize(
    "changed",
    [KERNEL + "\n", "// a word\n" + KERNEL, KERNEL.replace("    ", "\t"), KERNEL.replace("return 0", "return /* zero */ 0"), KERNEL.replace("{}", "{ }")],
)  # fmt: skip
def test_a_double_in_other_clothes_is_no_new_program(changed):
    assert fresh(Proposal(source=changed), [normal(KERNEL)]) is not None


@pytest.mark.parametrize(
    "changed",
    [
        KERNEL.replace("TILE 16", "TILE 32"),
        KERNEL.replace("i < 4", "i < 5"),
        KERNEL + "#pragma omp simd\n",
        KERNEL.replace('"pop', '"/*x*/pop'),
    ],
)
def test_a_program_that_differs_is_new(changed):
    assert fresh(Proposal(source=changed), [normal(KERNEL)]) is None


def test_python_doubles_are_compared_by_their_tree():
    assert normal("x = 1  # one\n") == normal("x    = 1\n") != normal("x = 2\n") and normal("s = '# no comment'") != normal("s = ''")


def test_a_text_that_cannot_be_a_candidate_or_meddles_meets_no_judge():
    assert parses(Proposal(source="int main() {}"), []) and parses(Proposal(source="import torch\n"), [])
    assert parses(Proposal(source=KERNEL), []) is None and fair(Proposal(source=KERNEL), []) is None
    assert fair(Proposal(source=KERNEL.replace("return", "kill(1, 9); return")), []) is not None
    assert parses(Proposal(source="class ModelNew:\n    pass\n"), []) is None
    assert "not text" in parses(Proposal(source=KERNEL + "\ud800"), [])


def test_the_last_answer_of_a_verifier_counts_and_silence_counts_for_the_kernel():
    assert read("FINAL VERIFICATION ANSWER: False … no: FINAL VERIFICATION ANSWER: True") is True
    assert read("final verification answer: FALSE") is False and read("I think it is fine") is None


def saying(*answers: bool) -> ScriptedSpeaker:
    return ScriptedSpeaker([f"FINAL VERIFICATION ANSWER: {one}" for one in answers])


def test_a_rejection_is_looked_at_twice_and_needs_two_of_three(tmp_path):
    with Ledger(tmp_path) as ledger:
        changed_mind = saying(False, True, True, False, False)
        one = Verifiers(changed_mind, "reference")
        one.look(1, KERNEL, ledger)
        assert len(changed_mind.asked) == 5 and one.votes == {1: False}, "one of three rejects"
        assert "Read the kernel again" in changed_mind.asked[1][1]
        two = Verifiers(saying(False), "reference")
        two.look(2, KERNEL, ledger)
        assert two.votes == {2: True}


def test_verifiers_earn_their_say_measure_themselves_and_audit(tmp_path):
    with Ledger(tmp_path) as ledger:
        checking = Verifiers(saying(False), "reference")
        wrong = program("a", Judged(outcome="wrong_values", device_s=9.0))
        left_out = []
        for step in range(WARMUP + 10):
            reason = checking.look(step, text(step), ledger)
            if reason is None:
                checking.learn(step, wrong)
            else:
                left_out.append(step)
        assert checking.precision == checking.recall == 1.0 and checking.off is None
        assert min(left_out) >= WARMUP and len(left_out) == 10 - sum((step + 1) % AUDIT == 0 for step in range(WARMUP, WARMUP + 10))


def test_verifiers_that_reject_what_is_right_are_switched_off(tmp_path):
    with Ledger(tmp_path) as ledger:
        checking = Verifiers(saying(False), "reference")
        for step in range(WARMUP):
            assert checking.look(step, text(step), ledger) is None
            checking.learn(step, program("a", right(2.0)))
        assert "0% of its rejections were right" in checking.off
        assert checking.look(99, text(99), ledger) is None and len(checking.speaker.asked) == WARMUP * 6


def test_votes_are_effects_a_resumed_search_asks_nothing_again(tmp_path):
    with Ledger(tmp_path) as ledger:
        Verifiers(saying(True), "r").look(1, KERNEL, ledger)
    again = saying(False)
    with Ledger(tmp_path) as ledger:
        checking = Verifiers(again, "r")
        checking.look(1, KERNEL, ledger)
    assert not again.asked and checking.votes == {1: False}


def test_what_no_judge_saw_is_history_with_its_reason(tmp_path):
    class Broken:
        name = "broken"

        def propose(self, context):
            return Proposal(source="int nothing;", parents=())

    found = run(tmp_path, Broken(), evaluations=3)
    left = [one for one in found.progress.history if one.outcome == "no_kernel"]
    assert len(left) == 11 and all("popcorn_forward" in one.measures[0].reason for one in left) and found.evaluations == 1
