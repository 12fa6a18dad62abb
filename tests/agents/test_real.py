"""The offline models on the real evaluator: real kernels, really judged. Small budgets; no speed is compared here."""

import asyncio

import pytest

from popcorn.agents.budget import Budget
from popcorn.agents.models import find_model
from popcorn.agents.place import Place
from popcorn.agents.providers.pointwise import EXPRESSIONS
from popcorn.agents.providers.scripted import KERNELS, kernels_for
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import find_tier
from popcorn.agents.tools.registry import find_tool
from popcorn.agents.workbench import Settings, Workbench
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.toolchain.native import build_native
from popcorn.worker.local import LocalEngine
from tests.agents.judge import row_of
from tests.agents.server import ModelServer, Reply

CHEAP = Settings("c", budget_s=0.2, timeout_s=5.0, trials=5, compile_baseline=False, control=False)
PROBLEMS = {"popcorn/L1/29", "original/L1/36", "original/L1/23", "original/L1/89"}
HANGING = """#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* inputs, int n_inputs, popcorn_tensor* outputs, int n_outputs, const double* scalars,
                    int n_scalars, void* stream) {
    volatile int on = 1;
    while (on) { }
    return 0;
}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def place(bench, store) -> Place:
    return Place(LocalEngine(bench, lambda request, there: evaluate(request, there, store), width=16), "cpu")


@pytest.fixture(scope="module")
def untimed(bench, store) -> Place:
    """Judges without the clock: for what is no question of time."""

    def judge(request, there):
        return evaluate(request.model_copy(update={"timing": False}), there, store)

    return Place(LocalEngine(bench, judge, width=16), "cpu")


def test_the_default_tier_ends_correct(untimed, store, tmp_path):
    work = run_agents(find_problem("popcorn/L1/29"), find_model("scripted/brisk"), find_tier("default"), CHEAP, untimed, folder=tmp_path)
    (run,) = asyncio.run(work)
    assert (run.outcome, run.ended_by, run.submitted_by, len(run.turns)) == ("correct", "submit", "model", 6), run.reason
    assert store.get(run.record_id).subject.source == run.candidate == kernels_for("popcorn/L1/29", "c")[1]
    assert {call.tool for turn in run.turns for call in turn.calls} == set(find_tier("default").tools)


@pytest.mark.parametrize(("tier", "turns"), [("single", 1), ("all", 6)])
def test_a_scripted_model_ends_correct_and_timed(place, store, tmp_path, tier, turns):
    chosen = find_tier(tier)
    work = run_agents(find_problem("popcorn/L1/29"), find_model("scripted/brisk"), chosen, CHEAP, place, folder=tmp_path)
    (run,) = asyncio.run(work)
    assert (run.outcome, run.ended_by, run.submitted_by, len(run.turns)) == ("correct", "submit", "model", turns), run.reason
    record = store.get(run.record_id)
    assert (
        record.subject.source == run.candidate
        and run.candidate in kernels_for("popcorn/L1/29", "c")[:2] + kernels_for("popcorn/L1/29", "c")[-1:]
    )
    assert run.speedup == record.measurement.timing.speedup.value and run.cost_usd == 0 and run.tokens.total > 0
    for turn in run.turns:
        assert turn.reasoning and all(call.result for call in turn.calls) and all(call.error is None for call in turn.calls)
    if tier == "all":
        profiles = [call for turn in run.turns for call in turn.calls if call.tool == "profile_kernel"]
        assert [call.ok for call in profiles] == [True, True], [call.result for call in profiles]
        assert "since the last profile" in profiles[1].result and "roofline: floor" in profiles[1].result


def test_a_kernel_that_hangs_is_a_timeout_and_the_run_goes_on(place, tmp_path):
    script = [Reply(calls=[("run_correctness", {"kernel_code": HANGING})]), Reply(text="I give up.")]
    with ModelServer(script) as server:
        hasty = Settings(**{**vars(CHEAP), "timeout_s": 1.0})
        budget = Budget(turns=2, tool_calls=5)
        work = run_agents(
            find_problem("original/L1/36"), row_of(server.url), find_tier("default"), hasty, place, budget=budget, folder=tmp_path
        )
        (run,) = asyncio.run(work)
    assert run.turns[0].calls[0].data["outcome"] == "timeout" and not run.turns[0].calls[0].ok
    assert (run.outcome, run.ended_by, run.submitted_by) == ("timeout", "turns", "harness")


def test_the_eager_baseline_is_judged_like_any_kernel(untimed, tmp_path):
    work = run_agents(find_problem("popcorn/L1/29"), find_model("baseline/eager"), find_tier("single"), CHEAP, untimed, folder=tmp_path)
    (run,) = asyncio.run(work)
    assert (run.outcome, run.language) == ("correct", "torch") and "class ModelNew(Model)" in run.candidate


def test_a_replay_says_the_same_and_is_judged_anew(untimed, tmp_path):
    first = asyncio.run(
        run_agents(
            find_problem("original/L1/89"), find_model("scripted/steady"), find_tier("single"), CHEAP, untimed, folder=tmp_path / "a"
        )
    )[0]
    model = find_model(f"replay/{tmp_path / 'a' / first.id}")
    (again,) = asyncio.run(run_agents(find_problem("original/L1/89"), model, find_tier("single"), CHEAP, untimed, folder=tmp_path / "b"))
    assert again.candidate == first.candidate and again.outcome == first.outcome == "correct" and again.record_id != first.record_id
    assert again.turns[0].text == first.turns[0].text and again.turns[0].reasoning == first.turns[0].reasoning


def test_there_are_three_kernels_for_at_least_four_problems_in_c_and_cuda():
    assert {folder.name for folder in KERNELS.iterdir()} == {problem.replace("/", "_") for problem in PROBLEMS}
    for problem in PROBLEMS:
        assert len(kernels_for(problem, "c")) == len(kernels_for(problem, "cuda")) == 3 == len(set(kernels_for(problem, "cpp")))


def test_a_problem_of_one_expression_has_kernels_that_follow_from_it(place, bench):
    assert {len(kernels_for(problem, "cuda")) for problem in EXPRESSIONS} == {2}
    assert kernels_for("original/L1/22", "c") != kernels_for("original/L1/26", "c") and kernels_for("original/L1/22", "triton") == []
    for problem in ("original/L1/27", "original/L1/88"):
        work = Workbench(place, find_problem(problem), CHEAP)
        answer = asyncio.run(work.use(find_tool("run_correctness"), kernels_for(problem, "c")[0]))
        assert answer.ok, answer.text


@pytest.mark.parametrize("problem", sorted(PROBLEMS))
def test_the_last_kernel_of_every_problem_is_right_and_the_others_build(place, bench, problem):
    *earlier, last = kernels_for(problem, "c")
    assert all(build_native(kernel, "c", bench.builds).ok for kernel in earlier)
    work = Workbench(place, find_problem(problem), CHEAP)
    answer = asyncio.run(work.use(find_tool("run_correctness"), last))
    assert answer.ok, answer.text
