"""A provider that fails in the middle: nothing is paid for twice, nothing of it counts as a result of the model."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from popcorn.agents import loop
from popcorn.cli.main import app
from popcorn.records.runs import read_runs
from popcorn.sweep.done import Done
from popcorn.sweep.matrix import make_matrix, read_matrix
from popcorn.sweep.resting import IN_A_ROW
from popcorn.sweep.showing import sweep_facts
from popcorn.sweep.submitting import prepare, run_here
from tests.agents.judge import right
from tests.agents.server import Fault, ModelServer, Reply
from tests.sweep.pretend import PretendEngine, open_pretend

SUBMIT = Reply(calls=[("submit_kernel", {"kernel_code": right(2.5)})])
GARBAGE = Fault(body=b"<html>502 Bad Gateway</html>")

pytestmark = pytest.mark.usefixtures("cache")


def matrix(server: ModelServer, **over):
    price = {"input": 10_000.0, "cached": 10_000.0, "output": 0.0}  # a dollar an answer of the stand-in
    row = {"provider": "openai-api/local/model", "endpoint": server.url, "price": price, **over.pop("row", {})}
    tables = {
        "name": "broken", "problems": ["original/L1/36"], "models": ["mine"], "model": {"mine": row}, "tiers": ["default"], "language": "c", "device": "cpu",
        "trials": 5, **over,
    }  # fmt: skip
    return make_matrix(tables, "broken")


def test_a_run_that_its_provider_broke_off_goes_on_where_it_was_and_costs_once(cache, monkeypatch):
    monkeypatch.setattr("popcorn.agents.loop._PAUSE_S", 0.0)
    with ModelServer([Reply(calls=[("get_gpu_specs", {})]), Reply(calls=SUBMIT.calls, faults=[GARBAGE] * 3)]) as server:
        session = run_here(prepare(matrix(server)), open_pretend)
        assert dict(server.answered) == {0: 1, 1: 1}, "what was paid for is not asked again"
    assert session.counts["done"] == 1 and session.counts["failed"] == 1
    (run,) = read_runs(cache / "runs" / "agents")
    assert run.ended_by == "submit" and len(run.turns) == 2
    kept = json.loads(next((cache / "attempts").glob("*/run.json")).read_text())
    assert kept["ended_by"] == "error" and "JSONDecodeError" in kept["reason"]
    spent = Done(cache).spent("broken")
    assert (spent.dollars, spent.tokens, spent.unpriced) == (pytest.approx(2.0), run.tokens.total, 0)


@asynccontextmanager
async def until_refused(_: float | None) -> AsyncIterator[None]:
    """A wall clock that is over as soon as the provider refused once."""
    asking = asyncio.current_task()

    async def watch() -> None:
        while not loop._refusals():
            await asyncio.sleep(0.02)
        asking.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        raise TimeoutError from None
    finally:
        watching.cancel()


@pytest.mark.parametrize(
    ("fault", "kind", "told"), [(Fault(status=429), "api_error", "refused (429"), (Fault(slow_s=60.0), "done", "no further answer")]
)
def test_refusals_until_the_wall_clock_are_the_provider_s_failure_and_silence_is_a_result_with_a_reason(
    cache, monkeypatch, fault, kind, told
):
    if kind == "api_error":
        monkeypatch.setattr(loop.asyncio, "timeout", until_refused)
    with ModelServer([Reply(faults=[fault] * 99)]) as server:
        run_here(prepare(matrix(server, worker_timeout_s=1.0, retries={"api_error": 0})), open_pretend)
    (line,) = Done(cache).lines()
    assert line["kind"] == kind
    (path,) = cache.glob("attempts/*/run.json" if kind == "api_error" else "runs/agents/*/run.json")
    run = json.loads(path.read_text())
    assert (run["outcome"], run["ended_by"]) == ("no_kernel", "error" if kind == "api_error" else "wall")
    assert told in run["reason"] and run["wall_s"] > 0


def test_an_outage_uses_up_few_retries_and_the_other_models_go_on(cache, monkeypatch):
    monkeypatch.setattr("popcorn.agents.loop._PAUSE_S", 0.0)
    monkeypatch.setattr("popcorn.sweep.resting.MOST_RESTS", 1)
    monkeypatch.setattr("popcorn.sweep.resting.FIRST_S", 0.1)
    with ModelServer([Reply(faults=[GARBAGE] * 999)]) as server:
        found = matrix(server, models=["mine", "baseline/eager"], repeats=9, agents_per_gpu=2)
        session = run_here(prepare(found), open_pretend)
    assert session.counts["done"] == 9 and session.counts["failed"] <= IN_A_ROW + 3, "the jobs of one model are left, and none gave up"
    log = (session.folder.path / "log.txt").read_text()
    assert "it rests" in log and "left to `popcorn sweep resume`" in log
    facts = sweep_facts(session.folder)
    assert (facts["state"], facts["missing"], facts["given_up"]) == ("stopped", 9, 0)


def test_after_a_fault_of_ours_what_the_model_answered_is_judged_again_and_not_asked_again(cache, monkeypatch):
    judge, faults = PretendEngine._judge, []

    def faulty(self, request):
        if len(faults) < 2:  # the submission, and the one more that settles the run
            faults.append(1)
            raise OSError("/dev/shm is full")
        return judge(self, request)

    monkeypatch.setattr(PretendEngine, "_judge", faulty)
    with ModelServer([Reply(text=f"```c\n{right(2.5)}\n```")]) as server:
        session = run_here(prepare(matrix(server, tiers=["single"])), open_pretend)
        assert dict(server.answered) == {0: 1}
    assert (session.counts["done"], session.counts["failed"], session.counts["correct"]) == (1, 1, 1)
    assert Done(cache).spent("broken").dollars == pytest.approx(1.0)


def test_a_machine_on_which_everything_fails_rests_before_all_jobs_gave_up(cache, monkeypatch):
    monkeypatch.setattr("popcorn.sweep.resting.MOST_RESTS", 1)
    monkeypatch.setattr("popcorn.sweep.resting.FIRST_S", 0.1)

    def broken(self, request):
        raise OSError("/dev/shm is full")

    monkeypatch.setattr(PretendEngine, "_judge", broken)
    tables = {
        "name": "broken",
        "problems": ["original/L1/36"],
        "models": ["baseline/eager"],
        "tiers": ["single"],
        "language": "c",
        "device": "cpu",
        "repeats": 9,
    }
    session = run_here(prepare(make_matrix(tables, "broken")), open_pretend)
    assert session.counts["failed"] <= IN_A_ROW + 4 and sweep_facts(session.folder)["given_up"] == 0
    assert any("/dev/shm is full" in line["reason"] for line in Done(cache).lines())
    assert "cpu: faults of the harness broke off" in (session.folder.path / "log.txt").read_text()


def test_of_eight_devices_one_that_fails_at_once_rests_and_the_others_do_its_jobs(cache, monkeypatch):
    judge = PretendEngine._judge

    def dead(self, request):
        if self.device == "cpu3":
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
        return judge(self, request)

    def open_eight(*asked):
        places = open_pretend(*asked)
        for index, place in enumerate(places):
            place.machine()  # known as what it is, before it is called another
            place.device = f"cuda:{index}"
        return places

    monkeypatch.setattr(PretendEngine, "_judge", dead)
    tables = {
        "name": "eight", "levels": [1], "variants": ["original"], "models": ["baseline/eager"], "tiers": ["single"], "device": "cpu", "agents_per_gpu": 1,
        "retries": {"infrastructure": 1},
    }  # fmt: skip
    session = run_here(prepare(make_matrix(tables, "eight"), gpus=8), open_eight)
    facts, log = sweep_facts(session.folder), (session.folder.path / "log.txt").read_text()
    assert (facts["done"], facts["given_up"], session.counts["failed"]) == (facts["jobs"], 0, IN_A_ROW)
    assert "cuda:3: faults of the harness broke off 5 runs in a row" in log and log.count("it rests 60 s") == 1


def test_a_tier_of_one_answer_is_one_answer_whatever_the_turns_of_the_sweep(cache):
    with ModelServer([Reply(text="I cannot."), Reply(text="I cannot.")]) as server:
        run_here(prepare(matrix(server, tiers=["single"], budgets={"turns": 4})), open_pretend)
        assert dict(server.answered) == {0: 1}
    (run,) = read_runs(cache / "runs" / "agents")
    assert (run.outcome, run.ended_by, run.max_turns) == ("no_kernel", "turns", 1)


def test_a_sweep_that_had_no_key_is_at_its_end_and_not_done_and_says_how_to_go_on(cache, monkeypatch):
    def here(folder, *_):
        return run_here(folder, open_pretend)

    monkeypatch.setattr("popcorn.sweep.submitting.run_here", here)
    monkeypatch.setenv("COLUMNS", "80")
    lines = ['tiers = ["single"]', 'device = "cpu"', 'language = "c"', 'problems = ["original/L1/36"]', 'models = ["a", "b"]']
    lines += [
        f'[model.{name}]\nprovider = "openai-api/local/model"\nendpoint = "http://127.0.0.1:9/v1"\nkey = "NO_SUCH_KEY"' for name in "ab"
    ]
    Path("mine.toml").write_text("\n".join(lines))
    assert (
        "NO_SUCH_KEY is not set here: the jobs of a, b would be left out" in CliRunner().invoke(app, ["sweep", "plan", "mine.toml"]).stdout
    )
    told = CliRunner().invoke(app, ["sweep", "submit", "mine.toml", "--local"])
    assert "NO_SUCH_KEY is not set here" in told.stderr
    assert told.exit_code == 1 and "mine · ended · 0 of 2 jobs have a result" in told.stdout
    assert "set NO_SUCH_KEY" in told.stdout and "`popcorn sweep resume --retry` tries them again" in told.stdout
    assert "there is nothing to stop" in CliRunner().invoke(app, ["sweep", "stop"]).stdout


def test_what_a_sweep_says_fits_80_columns(cache, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    Path("mine.toml").write_text(
        'tiers = ["single"]\ndevice = "cpu"\nproblems = ["original/L1/36", "original/L1/23"]\nmodels = ["grok", "deepseek"]\n'
    )
    folder = prepare(read_matrix("mine.toml"))
    Done(cache).add("0" * 16, "done", "mine", problem="original/L1/36", model="grok", tier="single", repeat=1)
    told = [CliRunner().invoke(app, ["sweep", *words]).stdout for words in (["plan", "mine.toml"], ["stop"], ["stop", "--now"])]
    assert "tokens, money: expected of what is missing" in told[0] and "answered before" in told[0] and "deepseek" in told[0]
    assert "`popcorn sweep resume mine` goes on with it" in told[1] and "lets go" in told[2]
    lines = [line for text in told for line in text.replace(str(folder.path), "FOLDER").splitlines()]
    assert max(map(len, lines)) <= 80


def test_a_machine_without_slurm_says_how_to_go_on_there(cache, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "/nowhere")
    Path("mine.toml").write_text('tiers = ["single"]\nlevels = [1]\nmodels = ["baseline/eager"]\n')
    told = CliRunner().invoke(app, ["sweep", "submit", "mine.toml"])
    assert told.exit_code == 69 and "use --local on one machine" in told.stderr and not isinstance(told.exception, RuntimeError)
