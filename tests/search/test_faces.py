"""Where a search meets the rest: tasks in folders, exports, pages, the proxy, several devices."""

import json
import subprocess
import sys

import pytest

from popcorn.errors import BadSearch
from popcorn.records.runs import read_runs
from popcorn.search.custom import load_task
from popcorn.search.export import export
from popcorn.search.finding import Finding
from popcorn.search.fitness import fitness
from popcorn.search.judging import DevicesJudge, EngineJudge, joined
from popcorn.search.ledger import Ledger
from popcorn.search.loop import search
from popcorn.search.pages import write_search
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged
from popcorn.search.progress import Progress
from popcorn.search.proxy import asked_of, make_app, read_configs
from popcorn.search.starting import Asked, start
from popcorn.search.winners import find_winner
from popcorn.site.searches import read_searches
from popcorn.suites.problems import find_problem, statement
from tests.agents.judge import WordEngine, place_with
from tests.agents.judge import right as words
from tests.search.made import HashJudge, Numbers, program, right, text

PROBLEM = find_problem("original/L1/23")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))


def test_a_task_is_a_folder_and_what_it_lacks_is_said(tmp_path):
    (tmp_path / "problem.py").write_text(
        PROBLEM.source.replace('"""', '"""\n[USER_INSTRUCTIONS_START]\nUse no threads.\n[USER_INSTRUCTIONS_END]\n', 1)
    )
    with pytest.raises(BadSearch, match=r"kernel\.c"):
        load_task(tmp_path)
    (tmp_path / "kernel.c").write_text(text(0))
    with pytest.raises(BadSearch, match="EVOLVE_START"):
        load_task(tmp_path)
    (tmp_path / "kernel.c").write_text(f"// [EVOLVE_START]\n{text(0)}// [EVOLVE_END]\n")
    task = load_task(tmp_path)
    assert task.language == "c" and task.instructions == "Use no threads." and "EVOLVE" in task.seed
    (tmp_path / "task.toml").write_text('langauge = "c"\n')
    with pytest.raises(BadSearch, match="langauge"):
        load_task(tmp_path)


@pytest.mark.parametrize("framework", ["openevolve", "shinkaevolve"])
def test_an_exported_task_judges_by_our_evaluator(tmp_path, framework):
    files = export(PROBLEM, framework, tmp_path, text(0), "c")
    assert "EVOLVE-BLOCK-START" in files[0].read_text()
    for path in files:
        if path.suffix == ".py":
            compile(path.read_text(), str(path), "exec")
    script = """
import sys; sys.path.insert(0, sys.argv[1])
import asking, json
record = lambda outcome, low: {"verdict": {"outcome": outcome, "reason": "r"}, "measurement": {"timing": {"speedup": {"low": low}} if low else None}}
asking.judge = lambda path: (record("correct", 3.0), "")
print(json.dumps([asking.score(record(*one))[:2] for one in (("correct", 3.0), ("correct", 0.1), ("wrong_values", None), ("compile_error", None))]))
if len(sys.argv) > 2:
    import evaluate; evaluate.judge = asking.judge; evaluate.main("p", sys.argv[2]); print(open(sys.argv[2] + "/correct.json").read())
"""
    more = [str(tmp_path / "results")] if framework == "shinkaevolve" else []
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), *more], capture_output=True, text=True, check=True)
    scores = json.loads(done.stdout.splitlines()[0])
    assert scores[0][1] > scores[1][1] > scores[2][1] > scores[3][1] and [one[0] for one in scores] == [True, True, False, False]
    assert not more or json.loads(done.stdout.splitlines()[1]) == {"correct": True, "error": None}
    with pytest.raises(BadSearch, match="--seed-file"):
        export(PROBLEM, framework, tmp_path, None, "c")


def searched(folder, **plan) -> tuple[Finding, Progress]:
    given = SearchPlan(problem="original/L1/23", seeds=(text(0),), **{"evaluations": 12, **plan})
    state = Progress(given)
    with Ledger(folder) as ledger:
        found = search(given, Numbers(), HashJudge(), ledger, progress=state)
        write_search(state, ledger, "numbers", folder.parents[1] / "runs")
    return found, state


def test_pages_read_what_a_search_writes_with_no_key_of_any_model(tmp_path, monkeypatch):
    """SE 25: looking at a search needs no provider."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    found, state = searched(tmp_path / "searches" / "mine")
    warnings: list[str] = []
    (page,) = read_searches(tmp_path / "searches", warnings)
    assert not warnings and page.about["axes"] == ["memory", "compute", "parallelism"] and page.about["method"] == "map_elites"
    judged = [one for one in state.history if one.outcome != "no_kernel"]
    assert [row["id"] for row in page.candidates] == [one.id for one in judged] and page.lineage()[-1] == state.history[0].id
    assert {row["id"] for row in page.candidates if row["elite"]} == {one.id for one in state.population.islands[0]}
    assert all(set(row["cell"]) <= {0, 1, 2, 3} and row["evaluation"] == order for order, row in enumerate(page.candidates, 1))
    (run,) = read_runs(tmp_path / "runs")
    assert run.tier == "search" and run.outcome == "correct" and run.candidate == found.best.source and run.tool_calls == len(judged)


def test_the_winner_of_a_search_of_a_run_and_of_a_file_is_found(tmp_path):
    found, _ = searched(tmp_path / "cache" / "searches" / "mine")
    store = None
    assert find_winner("mine", store).source == found.best.source
    (tmp_path / "k.c").write_text(text(3))
    assert find_winner(str(tmp_path / "k.c"), store).origin["kind"] == "file"


def test_fitness_over_several_devices_is_the_mean_of_theirs_and_the_worst_outcome():
    both = joined({"a": right(4.0, 0.01), "b": right(1.0, 0.01)})
    assert both.outcome == "correct" and both.speedup == pytest.approx(2.0) and set(both.by_device) == {"a", "b"}
    even = joined({"a": right(2.1, 0.01), "b": right(2.1, 0.01)})
    assert fitness(program("even", even)) > fitness(program("uneven", both))
    assert joined({"a": right(9.0), "b": Judged(outcome="crash")}).outcome == "crash"
    plan = SearchPlan(problem=PROBLEM.id, language="c")
    judge = DevicesJudge({name: EngineJudge(WordEngine(), PROBLEM, plan) for name in ("x", "y")})
    assert judge.judge(words(3.0)).by_device["y"].speedup == 3.0


def test_a_search_of_names_runs_on_an_engine_and_goes_on(tmp_path):
    class Faster:
        def __init__(self) -> None:
            self.count = 1

        def ask(self, system, question):
            from popcorn.search.speaking import Said

            self.count += 1
            return Said(f"```c\n{words(self.count)}\nint n{self.count};\n```", 5, 0.0)

    asked = Asked(PROBLEM, SearchPlan(problem="", language="c", seeds=(words(1.0),), evaluations=6, finals=1), "script")
    found, identity = start(asked, place_with(), speakers={"script": Faster()})
    assert found.evaluations == 6 and found.speedup >= 4.0
    again, same = start(asked, place_with(), speakers={"script": Faster()})
    assert same == identity and again.replayed > 10 and again.speedup == found.speedup
    fresh, _ = start(asked, place_with(), speakers={"script": Faster()}, fresh=True)
    assert fresh.replayed == 0


BODY = {
    "model": "evolve/steady", "max_programs": 5, "tools": [{"type": "function", "function": {"name": "submit_kernel"}}],
    "messages": [{"role": "user", "content": f"Write it.\nLanguage: c\n```python\n{statement(PROBLEM, 'cpu')}\n```"}],
}  # fmt: skip


def fake(asked, tell):
    plan = asked.plan.model_copy(update={"seeds": (text(0),)})
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        from pathlib import Path

        with Ledger(Path(folder)) as ledger:
            return search(plan, Numbers(), HashJudge(), ledger, tell=tell), "s1"


@pytest.fixture
def client():
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    return TestClient(make_app(place_with(), read_configs(None), runner=fake), base_url="http://127.0.0.1:8777")


def test_a_request_with_a_problem_is_answered_by_one_submit_kernel_call(client):
    assert {"evolve/steady", "evolve/greedy"} <= {one["id"] for one in client.get("/v1/models").json()["data"]}
    answer = client.post("/v1/chat/completions", json=BODY).json()
    (choice,) = answer["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and call["function"]["name"] == "submit_kernel"
    assert "popcorn_forward" in json.loads(call["function"]["arguments"])["kernel_code"]
    assert answer["popcorn"]["evaluations"] == 5
    plain = client.post("/v1/chat/completions", json={**BODY, "tools": []}).json()["choices"][0]["message"]
    assert "```" in plain["content"] and "tool_calls" not in plain


def test_progress_is_streamed_as_reasoning_before_the_call(client):
    lines = client.post("/v1/chat/completions", json={**BODY, "stream": True}).text.split("\n\n")
    assert lines[-2] == "data: [DONE]"
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in lines[:-2]]
    assert sum("reasoning_content" in one for one in deltas) >= 5 and deltas[-2]["tool_calls"][0]["function"]["name"] == "submit_kernel"


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example"}, 403), ({"Origin": "https://evil.example"}, 403), ({"Content-Type": "text/plain"}, 415), ({"Origin": "null"}, 403)],
)  # fmt: skip
def test_a_page_in_a_browser_cannot_have_a_problem_run(client, headers, status):
    answer = client.post("/v1/chat/completions", content=json.dumps(BODY), headers={"Content-Type": "application/json", **headers})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "change", [{"model": "evolve/none"}, {"messages": 7}, {"messages": [{"role": "user", "content": "hello"}]}, {"model": None}]
)
def test_a_request_that_cannot_be_served_is_told_why(client, change):
    answer = client.post("/v1/chat/completions", json={**BODY, **change})
    assert answer.status_code == 400 and len(answer.json()["error"]["message"]) > 20


def test_the_proxy_knows_our_own_problems_by_their_text_and_by_their_name():
    place = place_with()
    assert asked_of(BODY, read_configs(None), place).problem.id == PROBLEM.id
    named = {**BODY, "messages": [{"role": "user", "content": "Problem: original/L1/36 (rms_norm)\nLanguage: c\n"}]}
    asked = asked_of(named, read_configs(None), place)
    assert asked.problem.id == "original/L1/36" and asked.plan.evaluations == 5 and "rms" in asked.plan.seeds[0].lower() + "rms"


def test_a_config_with_a_field_that_no_plan_has_is_refused(tmp_path):
    path = tmp_path / "configs.toml"
    path.write_text("[mine]\nevalutions = 5\n")
    with pytest.raises(BadSearch, match="evalutions"):
        read_configs(path)


def test_the_proxys_port_is_nobody_elses():
    """AlphaEvolve's proxy and a sweep's report both took 8765."""
    import re
    from pathlib import Path

    root = Path(__file__).parents[2] / "popcorn"
    ports = {
        name: set(re.findall(r"\b8\d{3}\b", (root / name).read_text())) for name in ("cli/search_beside.py", "cli/site.py", "site/live.py")
    }
    assert ports["cli/search_beside.py"] == {"8777"} and not ports["cli/search_beside.py"] & (ports["cli/site.py"] | ports["site/live.py"])
