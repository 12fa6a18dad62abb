"""Proposers: mutators, replay, an endpoint, models."""

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from popcorn.search.ledger import Ledger
from popcorn.search.loop import search
from popcorn.search.metaprompts import FIRST, PromptPool, read_sections
from popcorn.search.pipeline import translate
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged
from popcorn.search.progress import Progress
from popcorn.search.proposers.endpoint import Endpoint
from popcorn.search.proposers.llm import LlmProposer
from popcorn.search.proposers.mutate import Mutators, alternatives, exchange_loops, general, set_macro, toggle_pragma
from popcorn.search.proposers.replay import Replay
from popcorn.search.speaking import ModelSpeaker, Said, ScriptedSpeaker
from tests.agents.judge import row_of
from tests.agents.server import Fault, ModelServer, Reply
from tests.search.made import KERNEL, HashJudge, Numbers, context, program, right, run, text

KERNELS = Path(__file__).parents[2] / "popcorn" / "agents" / "providers" / "kernels"


def test_mutators_change_real_kernels_in_many_ways_and_the_same_seed_the_same_way():
    source = (KERNELS / "original_L1_23" / "3.c").read_text()
    mutators = Mutators(general(), steps=3)
    parent = program("a", right(1.0))
    object.__setattr__(parent.proposal, "source", source)
    made = {mutators.propose(context(parent, seed=seed)).source for seed in range(30)}
    assert len(made) > 15 and source not in made
    assert mutators.propose(context(parent, seed=3)) == mutators.propose(context(parent, seed=3))


def test_single_mutators_do_what_they_say():
    rng = random.Random(1)
    assert "#pragma" in toggle_pragma(KERNEL, rng)
    assert any(f"TILE {value}" in set_macro(KERNEL, rng) for value in (8, 32))
    nest = "void f() {\n    for (int i = 0; i < 4; i++)\n        for (int j = 0; j < 9; j++) g(i, j);\n}\n"
    assert exchange_loops(nest, rng).index("j < 9") < exchange_loops(nest, rng).index("i < 4")
    part = "// popcorn: begin loops\nold\n// popcorn: end loops\n"
    assert alternatives("loops", ["new"])(part, rng) == part.replace("old", "new") and alternatives("other", ["new"])(part, rng) is None


def test_a_replay_says_again_what_a_search_proposed(tmp_path):
    first = run(tmp_path / "a")
    again = run(tmp_path / "b", Replay.of(tmp_path / "a"), HashJudge())
    assert [one.source for one in again.progress.history] == [one.source for one in first.progress.history]
    assert run(tmp_path / "c", Replay([text(5)]), evaluations=9).evaluations == 2


@pytest.fixture
def service():
    """An endpoint that answers from a list; (url, what it was asked)."""
    answers: list[bytes] = []
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = answers.pop(0)
            self.send_response(500 if body == b"500" else 200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", answers, asked
    server.shutdown()
    server.server_close()


def test_an_endpoint_proposes_and_nothing_that_it_does_ends_a_search(service):
    url, answers, asked = service
    answers += [
        json.dumps({"source": KERNEL, "cost_usd": 0.5}).encode(),
        b"500",
        b"no json",
        b'{"source": 7}',
        b"[]",
        b'{"source": "x", "cost_usd": "lots"}',
    ]
    endpoint = Endpoint(url, "the problem", "c")
    made = [endpoint.propose(context(program("a", right(2.0)))) for _ in range(6)]
    assert made[0].source == KERNEL and made[0].cost_usd == 0.5 and made[0].parents == ("a",)
    assert [bool(one.reason) for one in made[1:5]] == [True] * 4 and made[5].cost_usd is None
    assert asked[0]["parent"]["outcome"] == "correct" and asked[0]["problem"] == "the problem"


GOOD = f"```c\n{text(42)}```"
EDIT = "<<<<<<< SEARCH\n    return 0;\n=======\n    return 7;\n>>>>>>> REPLACE"


def asking(*answers: str) -> tuple[LlmProposer, ScriptedSpeaker]:
    speaker = ScriptedSpeaker(list(answers))
    return LlmProposer({"script": speaker}, "the task", "c"), speaker


def test_a_model_answers_by_whole_texts_and_by_edits():
    parent = program("a", right(2.0, told="time 3 ms"))
    proposer, speaker = asking(GOOD)
    made = proposer.propose(context(parent, target=(1, 2, 0), notes="TILE=8: 2×"))
    assert made.source == text(42) and made.operator == "rewrite" and made.model == "script" and made.tokens == 10
    question = speaker.asked[0][1]
    assert all(word in question for word in ("the task", "time 3 ms", "TILE=8: 2×", "wide vector loads", "independent partial results"))
    edited = asking(EDIT)[0].propose(context(parent))
    assert edited.source == text(7) and edited.operator == "edit"


@pytest.mark.parametrize(
    "bad, why",
    [
        ("I would rather not.", "neither"),
        (EDIT.replace("return 0", "return 99"), "exactly once"),
        (EDIT.replace("return 7", "return 0"), "change nothing"),
    ],
)
def test_an_answer_that_cannot_be_used_goes_back_once_with_the_reason(bad, why):
    proposer, speaker = asking(bad, GOOD)
    assert proposer.propose(context(program("a", right(2.0)))).source == text(42)
    assert why in speaker.asked[1][1]
    given_up = asking(bad)[0].propose(context(program("a", right(2.0))))
    assert given_up.source == "" and why in given_up.reason


def test_a_failing_parent_is_shown_with_its_failure_to_be_mended():
    proposer, speaker = asking(GOOD)
    broken = program("a", Judged(outcome="compile_error", reason="line 3: expected ;", told="kernel.c:3: error"))
    assert proposer.propose(context(broken, repair=True)).operator == "repair"
    assert "The kernel to mend" in speaker.asked[0][1] and "kernel.c:3: error" in speaker.asked[0][1]


def test_a_block_that_must_stay_stays_whatever_a_model_answers():
    marked = "int head;\n// [EVOLVE_START]\n" + text(0) + "// [EVOLVE_END]\n"
    parent = program("a", right(1.0))
    object.__setattr__(parent.proposal, "source", marked)
    refused = asking(GOOD)[0].propose(context(parent))
    assert refused.source == "" and "EVOLVE" in refused.reason


def test_a_model_behind_an_openai_compatible_endpoint_evolves_kernels(tmp_path, monkeypatch):
    """SE 52, 5: local endpoints are first class. Costs and tokens are counted; a fault of the provider is asked again by the client."""
    monkeypatch.setenv("SERVED_API_KEY", "none")
    with ModelServer([Reply(text=GOOD, faults=[Fault(status=500)])]) as server:
        speaker = ModelSpeaker(row_of(server.url))
        proposer = LlmProposer({"served": speaker}, "the task", "c")
        found = run(tmp_path, proposer, evaluations=2, attempts=2)
    asked = [one for one in found.progress.history if one.proposal.model == "served"]
    assert found.evaluations == 2 and asked[0].proposal.source == text(42)
    assert asked[0].proposal.tokens == 120 and asked[0].proposal.cost_usd == pytest.approx((60 * 1000 + 40 * 100 + 20 * 1000) / 1e6)
    assert found.cost_usd == pytest.approx(sum(one.proposal.cost_usd for one in asked))


def test_a_model_that_cannot_be_reached_is_a_proposal_without_a_text(tmp_path):
    class Gone:
        name = "gone"

        def ask(self, system, question):
            return Said("", error="ConnectError: refused")

    found = run(tmp_path, LlmProposer({"gone": Gone()}, "the task", "c"), evaluations=3, attempts=1)
    assert found.evaluations == 1 and found.ended == "attempts" and "refused" in found.progress.history[-1].measures[0].reason


def test_a_bandit_asks_the_better_model_more(tmp_path):
    good, bad = ScriptedSpeaker(["x"], "good"), ScriptedSpeaker(["nothing"], "bad")
    counter = iter(range(100, 1000))
    good.ask = lambda system, question: Said(f"```c\n{text(next(counter))}```", 1, 0.0)  # type: ignore[method-assign]
    plan = SearchPlan(problem="x", seeds=(text(0),), evaluations=30, finals=0)
    state = Progress(plan, ("bad", "good"))
    with Ledger(tmp_path) as ledger:
        search(plan, LlmProposer({"good": good, "bad": bad}, "t", "c"), HashJudge(), ledger, progress=state)
    used = [one.proposal.model for one in state.history]
    assert used.count("good") > 2 * used.count("bad") > 0


def test_prompts_evolve_are_credited_by_mean_improvement_and_the_seed_keeps_its_share(tmp_path):
    writer = ScriptedSpeaker(["It lacks detail.\n[strategies]\nTile first.\n[unknown]\nnothing\n"])
    pool = PromptPool(writer, every=4)
    plan = SearchPlan(problem="x", seeds=(text(0),), evaluations=30, finals=0)

    class Guided(Numbers):
        def propose(self, given):
            return super().propose(given).model_copy(update={"prompt": given.prompt.id})

    state = Progress(plan, (), pool)
    with Ledger(tmp_path) as ledger:
        search(plan, Guided(), HashJudge(), ledger, progress=state)
    assert len(pool.versions) == 2 and pool.versions[1].parent == pool.versions[0].id
    assert pool.versions[1].sections == {**FIRST, "strategies": "Tile first.\n[unknown]\nnothing"}
    assert len(pool.credits[pool.versions[0].id].gains) >= 4 and all(-1 <= gain <= 1 for one in pool.credits.values() for gain in one.gains)
    assert sum(len(one.gains) for one in pool.credits.values()) == len([one for one in state.history if one.proposal.prompt]), (
        "one record for each child"
    )


def test_a_prompt_that_was_lucky_once_does_not_lead():
    pool = PromptPool()
    from popcorn.search.metaprompts import version

    for name, gains in (("lucky", [1.0]), ("steady", [0.5] * 12)):
        made = version({**FIRST, "pitfalls": name})
        pool.versions.append(made)
        pool.credits[made.id] = type(pool.credits[pool.versions[0].id])(gains, best=99.0 if name == "lucky" else 2.0)
    pool.credits[pool.versions[1].id].gains.append(-0.2)
    chosen = [pool.choose(random.Random(seed)).sections["pitfalls"] for seed in range(200)]
    assert chosen.count("steady") > 90 and chosen.count(FIRST["pitfalls"]) >= 40
    assert read_sections("prose alone") == {} and len(version({**FIRST, "analysis": "x" * 9999}).sections["analysis"]) == 2500


def test_translating_tells_each_failure_and_stops_at_the_first_right_kernel(tmp_path):
    speaker = ScriptedSpeaker(["```python\ndef f(x): return x\n```", "prose", f"```c\n{text(1)}```", f"```c\n{text(2)}```"])

    class Judge:
        def judge(self, source):
            return right(1.0) if source == text(2) else Judged(outcome="wrong_values", reason="out[0] is 7")

    with Ledger(tmp_path) as ledger:
        made = translate("task", "class Model: ...", "c", speaker, Judge(), ledger)
        again = translate("task", "class Model: ...", "c", ScriptedSpeaker(["never asked"]), HashJudge(), ledger)
    assert made.source == text(2) and made.attempts == 3 and made.judged.outcome == "correct" and again == made
    assert "def f(x)" in speaker.asked[1][1] and "no fenced kernel" in speaker.asked[2][1] and "out[0] is 7" in speaker.asked[3][1]
