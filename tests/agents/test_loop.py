"""Whatever a model does, the run ends with the right outcome and a readable transcript."""

import json

import pytest

from tests.agents.judge import WRONG, WordEngine, right
from tests.agents.server import Fault, Reply


def call(name: str, kernel: str | None = None) -> tuple[str, dict]:
    return name, {} if kernel is None else {"kernel_code": kernel}


SUBMIT = Reply(calls=[call("submit_kernel", right(2.5))], reasoning="It is right.")


def test_a_run_goes_from_facts_to_a_submission_and_keeps_everything(serve):
    script = [
        Reply(calls=[call("get_gpu_specs"), call("static_check", right(2.5))], reasoning="What is this device?"),
        Reply(calls=[call("compile_kernel", right(2.5))]),
        Reply(calls=[call("run_correctness", right(2.5))], text="Now judge it."),
        SUBMIT,
    ]
    run, server, _ = serve(script)
    assert (run.outcome, run.speedup, run.ended_by, run.submitted_by) == ("correct", 2.5, "submit", "model")
    assert run.candidate == right(2.5) and run.record_id and run.tool_calls == 5 and not run.truncated
    assert [turn.index for turn in run.turns] == [1, 2, 3, 4] and [turn.final for turn in run.turns] == [False, False, False, True]
    assert run.turns[0].reasoning == "What is this device?" and run.turns[2].text == "Now judge it."
    assert [c.tool for c in run.turns[0].calls] == ["get_gpu_specs", "static_check"] and all(c.ok for turn in run.turns for c in turn.calls)
    assert (
        run.tokens.input == 400
        and run.tokens.cached == 160
        and run.tokens.output == 80
        and run.tokens.reasoning == 20
        and run.tokens.total == 480
    )
    assert run.cost_usd == pytest.approx(4 * (60 * 1000 + 40 * 100 + 20 * 1000) / 1e6)
    assert all(turn.llm_s > 0 and turn.wall_s >= turn.llm_s + turn.tool_s - 1e-9 for turn in run.turns)
    assert dict(server.answered) == {0: 1, 1: 1, 2: 1, 3: 1}


def test_the_prompt_has_ranges_and_language_and_hides_what_is_hidden(serve):
    run, server, _ = serve([SUBMIT])
    assert "Language: c" in run.prompt and "float32" in run.prompt and "class Model" in run.prompt and run.reference in run.prompt
    for hidden in ("min_bytes", "flops", "Dim(", "cpu="):
        assert hidden not in run.prompt
    sent = "\n".join(str(message["content"]) for message in server.asked[0]["messages"])
    assert run.reference.strip() in sent
    assert {tool["function"]["name"] for tool in server.asked[0]["tools"]} == {
        "get_gpu_specs", "static_check", "compile_kernel", "run_correctness", "submit_kernel",
    }  # fmt: skip


def test_text_alone_is_answered_with_a_nudge_and_the_run_still_ends(serve):
    run, server, _ = serve([Reply(text="I think about it."), Reply(text="Still thinking."), SUBMIT])
    assert run.outcome == "correct" and len(run.turns) == 3 and run.turns[0].calls == ()
    assert "no tool call" in server.asked[1]["messages"][-1]["content"]


def test_a_model_that_never_writes_a_kernel_ends_by_its_turns_with_no_kernel(serve):
    run, _, engine = serve([Reply(text="Hm.")], turns=3, tool_calls=9)
    assert (run.outcome, run.ended_by, run.record_id, run.submitted_by, run.speedup) == ("no_kernel", "turns", None, None, None)
    assert len(run.turns) == 3 and engine.requests == []


def test_broken_and_cut_off_arguments_are_told_to_the_model(serve):
    script = [
        Reply(calls=[("compile_kernel", '{"kernel_code": "int popcorn_')], finish="length"),
        Reply(calls=[("compile_kernel", {"code": "int x;"}), ("compile_kernel", '["kernel"]')]),
        SUBMIT,
    ]
    run, server, _ = serve(script)
    assert run.outcome == "correct"
    errors = [(c.ok, c.error) for turn in run.turns[:2] for c in turn.calls]
    assert errors == [(False, "parsing")] * 3
    assert run.turns[0].stop_reason == "max_tokens"
    assert server.asked[1]["messages"][-1]["role"] == "tool" and server.asked[1]["messages"][-1]["content"]


def test_an_unknown_tool_is_named_as_such(serve):
    run, _, _ = serve([Reply(calls=[("rm_rf", {"path": "/"})]), SUBMIT])
    assert run.turns[0].calls[0].error == "unknown_tool" and not run.turns[0].calls[0].ok
    assert run.outcome == "correct"


def test_a_kernel_of_two_megabytes_is_refused_and_stored_nowhere(serve, tmp_path):
    run, server, _ = serve([Reply(calls=[call("compile_kernel", "x" * 2_000_000)]), SUBMIT])
    refused = run.turns[0].calls[0]
    assert refused.error == "limit" and "2,000,000 bytes" in refused.result and len(refused.arguments["kernel_code"]) < 3_000
    assert run.outcome == "correct" and len(json.dumps(server.asked[1])) < 20_000
    assert all(path.stat().st_size < 200_000 for path in (tmp_path / "runs").glob("*/*.json*"))


def test_calls_by_the_hundred_and_hostile_names_are_cut(serve):
    run, _, _ = serve([Reply(calls=[("../../etc/" + "a" * 5000, {"b" * 500: 1})] * 300), SUBMIT], tool_calls=500)
    assert len(run.turns[0].calls) == 64 and max(len(c.tool) for c in run.turns[0].calls) == 100
    assert run.outcome == "correct"


def test_a_budget_of_turns_submits_the_best_correct_kernel_and_says_so(serve):
    script = [
        Reply(calls=[call("profile_kernel", right(1.5))]),
        Reply(calls=[call("profile_kernel", right(3.0))]),
        Reply(calls=[call("profile_kernel", right(2.0))]),
        Reply(calls=[call("profile_kernel", WRONG)]),
    ]
    run, server, engine = serve(script, "all", turns=4)
    assert (run.ended_by, run.submitted_by, run.outcome, run.speedup) == ("turns", "harness", "correct", 3.0)
    assert run.candidate == right(3.0) and engine.requests[-1].source == right(3.0) and engine.requests[-1].budget_s == 0.2
    assert "2 turns left" in server.asked[2]["messages"][-1]["content"].lower()
    assert (
        "last turn" in server.asked[3]["messages"][-1]["content"] and server.asked[3]["tool_choice"]["function"]["name"] == "submit_kernel"
    )
    assert run.turns[3].calls[0].error == "limit" and "last turn" in run.turns[3].note


def test_a_budget_of_calls_ends_the_run_and_tells_before(serve):
    script = [Reply(calls=[call("run_correctness", right(2.0)), call("get_gpu_specs"), call("get_gpu_specs"), call("get_gpu_specs")])]
    run, _, _ = serve(script, tool_calls=3)
    assert run.ended_by == "tool_calls" and run.submitted_by == "harness" and run.outcome == "correct"
    assert [c.error for c in run.turns[0].calls] == [None, None, None, "limit"]


@pytest.mark.parametrize(("budget", "ended"), [({"tokens": 200}, "tokens"), ({"cost_usd": 0.1}, "money")])
def test_tokens_and_money_end_a_run(serve, budget, ended):
    run, server, _ = serve([Reply(calls=[call("run_correctness", right(2.0))])], **budget)
    assert run.ended_by == ended and len(run.turns) == 2 and run.outcome == "correct" and run.submitted_by == "harness"
    assert sum(server.answered.values()) == 2


def test_the_wall_clock_ends_a_run_in_the_middle_of_a_slow_answer(serve):
    script = [Reply(calls=[call("run_correctness", right(2.0))]), Reply(text="late", faults=[Fault(slow_s=30)])]
    run, _, _ = serve(script, wall_s=4.0)
    assert run.ended_by == "wall" and run.outcome == "correct" and run.submitted_by == "harness" and len(run.turns) == 1


@pytest.mark.parametrize("queued", [True, False])
def test_what_a_run_waits_for_others_is_no_part_of_its_wall_clock(serve, queued):
    script = [Reply(calls=[call("run_correctness", right(2.0))]), SUBMIT]
    run, _, _ = serve(script, engine=WordEngine(seconds=3.0, queued=queued), wall_s=2.5)
    assert run.wall_s > 3.0 and run.ended_by == ("submit" if queued else "wall")


def test_429_500_malformed_and_slow_answers_are_retried_and_counted(serve):
    faults = [Fault(status=429), Fault(status=500), Fault(body=b"<html>not json</html>"), Fault(slow_s=0.5)]
    run, server, _ = serve([Reply(calls=[call("get_gpu_specs")], faults=faults), SUBMIT])
    assert run.outcome == "correct" and run.turns[0].retries >= 2 and run.turns[1].retries == 0
    assert run.turns[0].llm_s > 0.5 and dict(server.answered) == {0: 1, 1: 1}


def test_a_provider_that_never_answers_ends_the_run_with_its_last_word(serve):
    run, _, _ = serve([Reply(calls=[call("run_correctness", right(2.0))]), Reply(faults=[Fault(body=b"{}")] * 99)])
    assert run.ended_by == "error" and "no usable answer" in run.reason and run.outcome == "correct" and run.submitted_by == "harness"


def test_single_takes_the_kernel_from_the_text(serve):
    run, server, _ = serve([Reply(text=f"Here.\n```c\n{right(2.0)}```\nDone.")], "single")
    assert (run.outcome, run.ended_by, run.submitted_by, run.speedup) == ("correct", "submit", "model", 2.0)
    assert "tools" not in server.asked[0] or not server.asked[0]["tools"]
    assert run.turns[0].final and run.turns[0].calls[0].data["taken_from"] == "text"


def test_single_without_a_kernel_has_no_kernel(serve):
    run, _, _ = serve([Reply(text="I cannot.")], "single")
    assert (run.outcome, run.ended_by) == ("no_kernel", "turns")


def test_a_wrong_submission_is_final_and_wrong(serve):
    run, _, _ = serve([Reply(calls=[call("submit_kernel", WRONG), call("get_gpu_specs")])])
    assert (run.outcome, run.ended_by, run.submitted_by, run.speedup) == ("wrong_values", "submit", "model", None)
    assert run.turns[0].calls[1].error == "limit"


def test_the_same_text_is_asked_of_the_engine_once(serve):
    script = [Reply(calls=[call("run_correctness", right(2.0))] * 3), Reply(calls=[call("run_correctness", right(2.0))]), SUBMIT]
    run, _, engine = serve(script)
    assert len(engine.requests) == 2 and run.turns[1].calls[0].data["cached"] is True


def test_a_fault_of_ours_is_told_as_such_and_not_remembered(serve):
    fault = right(2.0).replace("/*", "/* fault")
    run, _, engine = serve([Reply(calls=[call("run_correctness", fault)] * 2), SUBMIT])
    assert [c.error for c in run.turns[0].calls] == ["infrastructure"] * 2 and len(engine.requests) == 3
    assert "the disk is full" in run.turns[0].calls[0].result and run.outcome == "correct"


def test_a_history_that_overflows_the_window_is_cut_and_said(serve, monkeypatch):
    from inspect_ai.model import Model

    honest, asked = Model.generate, []

    async def generate(self, input, **more):
        output = await honest(self, input, **more)
        asked.append(len(input))
        if len(asked) == 4:
            output.choices[0].stop_reason = "model_length"
        return output

    monkeypatch.setattr(Model, "generate", generate)
    script = [Reply(calls=[call("get_gpu_specs")]), Reply(calls=[call("get_gpu_specs")]), Reply(calls=[call("get_gpu_specs")]), SUBMIT]
    run, _, _ = serve(script)
    assert run.truncated and run.outcome == "correct" and asked[4] < asked[3]
