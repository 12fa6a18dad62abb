"""The loop: budgets, order, what is counted, what is left out."""

import sqlite3
import threading

import pytest

from popcorn.errors import BadSearch
from popcorn.search.ledger import Ledger
from popcorn.search.loop import _pool, search
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged, Proposal
from tests.search.made import HashJudge, Numbers, right, run, text, told


@pytest.mark.parametrize("width", [1, 3, 16])
@pytest.mark.parametrize("strategy", ["map_elites", "greedy", "best_of_n", "islands"])
def test_a_budget_of_evaluations_is_never_exceeded_however_many_run_at_once(tmp_path, strategy, width):
    judge = HashJudge()
    found = run(tmp_path, judge=judge, strategy=strategy, width=width, evaluations=17)
    assert len(judge.asked) == found.evaluations == 17 and found.ended == "evaluations"
    assert judge.most <= width


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("evaluations", [3, 4, 9])
def test_what_is_measured_again_counts_and_takes_nothing_from_what_was_promised(tmp_path, width, evaluations):
    class Vague(HashJudge):
        """Intervals so wide that every challenge is measured again."""

        def judge(self, source: str) -> Judged:
            super().judge(source)
            return right(1.0 + len(self.asked) / 100, half=0.9)

    judge = Vague()
    found = run(tmp_path, judge=judge, strategy="greedy", width=width, evaluations=evaluations, finals=0)
    assert len(judge.asked) == found.evaluations == evaluations


def test_the_same_plan_is_the_same_search_and_another_seed_another(tmp_path):
    first, second, other = (told(run(tmp_path / name, seed=seed, width=3)) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first == second != other


def test_money_ends_a_search_and_what_has_no_price_is_said(tmp_path):
    found = run(tmp_path / "a", cost_usd=0.05)
    assert found.ended == "money" and found.cost_usd == pytest.approx(0.05)

    class Unpriced(Numbers):
        def propose(self, context):
            return super().propose(context).model_copy(update={"cost_usd": None, "model": "m"})

    assert run(tmp_path / "b", Unpriced()).cost_usd is None


def test_seconds_on_the_device_end_a_search(tmp_path):
    found = run(tmp_path, device_s=3.0, evaluations=100)
    assert found.ended == "device_s" and 3.0 <= found.device_s < 5.0


def test_a_proposer_that_repeats_itself_ends_the_search_and_burns_no_evaluations(tmp_path):
    class Same:
        name = "same"

        def propose(self, context):
            return Proposal(source=f"/* {context.step} */ {text(7)}")

    judge = HashJudge()
    found = run(tmp_path, Same(), judge, evaluations=6)
    assert found.ended == "attempts" and found.evaluations == len(judge.asked) == 2
    assert sum(one.outcome == "no_kernel" for one in found.progress.history) == 6 * 4 - 2


def test_a_fault_of_ours_is_no_evaluation_and_no_program_of_the_archive(tmp_path):
    class Failing(HashJudge):
        def judge(self, source):
            return Judged(outcome="harness_error", reason="the disk is full") if len(self.asked) == 3 else super().judge(source)

        # the fourth call fails, and so does every one after it: attempts end the search

    found = run(tmp_path, judge=Failing(), evaluations=5, attempts=2)
    assert found.evaluations == 3 and found.ended == "attempts"
    assert all(one.outcome != "harness_error" for island in found.progress.population.islands for one in island)


def test_an_elite_is_measured_again_before_a_program_that_is_not_clearly_better_takes_its_place(tmp_path):
    answers = {text(1): [right(2.0, 0.3), right(2.6, 0.05)], text(2): [right(2.2, 0.1), right(1.5, 0.05)]}

    class Script:
        def judge(self, source):
            return answers[source].pop(0)

    class Second:
        name = "second"

        def propose(self, context):
            return Proposal(source=text(2), parents=(context.parent.id,))

    found = run(tmp_path, Second(), Script(), seeds=(text(1),), evaluations=4)
    assert found.best.source == text(1) and len(found.best.measures) == 2, "the challenger was lucky once"
    assert found.evaluations == 4


def test_winners_are_measured_again_on_fresh_seeds_and_luck_is_told(tmp_path):
    seen = []

    class Lucky:
        def judge(self, source):
            seen.append(source)
            return right(3.0) if seen.count(source) == 1 else right(2.0)

    found = run(tmp_path, judge=Lucky(), evaluations=1, finals=1)
    assert len(seen) == 2 and found.regressed == pytest.approx(0.405, abs=0.01) and 2.0 < found.speedup < 3.0
    assert found.evaluations == 1, "the last look is outside the budget"


def test_a_ledger_of_another_plan_is_refused_with_what_to_do(tmp_path):
    run(tmp_path, seed=1)
    with pytest.raises(BadSearch, match="--fresh"):
        run(tmp_path, seed=2)


def test_stopping_at_a_target_needs_a_sure_speedup(tmp_path):
    found = run(tmp_path, target=3.0, evaluations=200)
    assert found.ended == "target" and found.best.measures[0].low >= 3.0 * 0.95


def test_effects_are_append_only(tmp_path):
    import sqlite3

    with Ledger(tmp_path) as ledger:
        ledger.once("a", 1, lambda: 2)
        assert ledger.once("a", 1, lambda: 3) == 2
        for statement in ("UPDATE effects SET body = '4'", "DELETE FROM effects"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                ledger._db.execute(statement)


def test_a_judge_that_raises_ends_the_search_and_it_goes_on_later(tmp_path):
    class Breaks(HashJudge):
        def judge(self, source):
            if len(self.asked) == 5:
                raise KeyboardInterrupt
            return super().judge(source)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, judge=Breaks())
    judge = HashJudge()
    found = run(tmp_path, judge=judge)
    assert found.evaluations == 20 and len(judge.asked) == 15, "what was judged is not judged again"


def test_scores_may_be_taken_again_later_as_new_rows(tmp_path):
    """SE 57: a score is not written once and for ever."""
    plan = SearchPlan(problem="x", seeds=(text(0),), evaluations=5, finals=0)
    with Ledger(tmp_path) as ledger:
        found = search(plan, Numbers(), HashJudge(), ledger)
        before = found.best
        more = ledger.once(f"rescored/{before.id}/1", before.source, lambda: right(9.0).model_dump(mode="json"))
        after = found.progress.measured_again(before, Judged.model_validate(more), count=False)
        assert len(after.measures) == len(before.measures) + 1 and found.progress.now(before.id) == after


def test_who_stops_a_search_does_not_wait_for_an_answer_and_what_still_comes_is_not_written(tmp_path):
    ledger, answer = Ledger(tmp_path), threading.Event()
    with pytest.raises(KeyboardInterrupt), _pool(1, ledger) as pool:
        late = pool.submit(ledger.once, "ask/0", None, lambda: answer.wait(60))
        raise KeyboardInterrupt
    answer.set()
    with pytest.raises(sqlite3.ProgrammingError):
        late.result(60)
    assert not Ledger(tmp_path).holds("ask/0")
