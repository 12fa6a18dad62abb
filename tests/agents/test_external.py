"""External agents: over MCP and by a watched folder, in the same tools and the same form of run; runs as tables."""

import asyncio
import threading
import time
from pathlib import Path

import duckdb
import pytest

from popcorn.agents.external import External, watch
from popcorn.agents.journal import Journal
from popcorn.agents.mcp_server import make_server
from popcorn.agents.tables import write_tables
from popcorn.agents.tiers import find_tier
from popcorn.agents.workbench import Workbench
from popcorn.records.runs import read_run, read_runs
from popcorn.suites.problems import find_problem
from tests.agents.judge import SETTINGS, WRONG, place_with, right


@pytest.fixture
def external(tmp_path) -> External:
    return External(Workbench(place_with(), find_problem("original/L1/36"), SETTINGS), "some-agent", tmp_path / "runs")


def test_an_mcp_client_finds_the_tools_and_its_run_is_kept(external, tmp_path):
    from mcp.client import Client

    async def converse() -> list[str]:
        server = make_server(external, find_tier("all").tools, "the statement")
        async with Client(server) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert "the statement" in str((await client.call_tool("get_problem", {})).content)
            await client.call_tool("run_correctness", {"kernel_code": WRONG})
            answer = await client.call_tool("profile_kernel", {"kernel_code": right(2.5)})
            assert "speedup 2.50×" in str(answer.content)
            await client.call_tool("submit_kernel", {"kernel_code": right(2.5)})
            return listed

    listed = asyncio.run(converse())
    assert set(listed) == {"get_problem", *find_tier("all").tools}
    run = read_run(tmp_path / "runs" / external.run.id / "run.json")
    assert (run.model, run.tier, run.outcome, run.speedup, run.ended_by, run.submitted_by) == (
        "some-agent", "external", "correct", 2.5, "submit", "model",
    )  # fmt: skip
    assert [turn.calls[0].tool for turn in run.turns] == ["run_correctness", "profile_kernel", "submit_kernel"]
    assert run.turns[0].llm_s is None and run.cost_usd is None and run.tokens.total is None


def test_every_kernel_that_appears_in_a_folder_is_judged_once(external, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    outside = tmp_path / "outside.c"
    outside.write_text(right(9))
    told: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []

    def wait(count: int) -> None:
        while len(told) < count and time.monotonic() < end:
            time.sleep(0.02)

    def write() -> None:
        (folder / "notes.txt").write_text("no kernel")
        (folder / "linked.c").symlink_to(outside)
        (folder / "huge.c").write_text("x" * 256_001)
        (folder / "latin.c").write_bytes(b"// caf\xe9")
        (folder / "kernel.c").write_text(right(2))
        wait(1)
        (folder / "kernel.c").write_text(right(3))
        wait(2)
        (folder / "kernel.c").touch()
        (folder / "final.c").write_text(right(3))

    end = time.monotonic() + 60
    threading.Thread(target=write).start()
    work = watch(
        external,
        folder,
        lambda path, answer: told.append((path.name, answer.text[:20])),
        lambda: external.run.ended_by is not None or time.monotonic() > end,
        every_s=0.05,
        left_out=lambda path, why: refused.append((path.name, why)),
    )
    asyncio.run(work)
    assert [name for name, _ in refused] == ["huge.c", "latin.c"], "each state of a file is told once"
    assert "256,001 bytes" in refused[0][1] and "byte 6 is none" in refused[1][1]
    assert [name for name, _ in told] == ["kernel.c", "kernel.c", "final.c"]
    assert external.run.ended_by == "submit" and external.run.speedup == 3 and external.run.tool_calls == 3


def test_runs_become_three_tables_with_what_the_transcript_holds(external, tmp_path):
    asyncio.run(external.use("run_correctness", WRONG))
    asyncio.run(external.use("submit_kernel", right(2)))
    assert write_tables(tmp_path / "runs", tmp_path / "tables") == {"runs": 1, "turns": 2, "calls": 2}
    with duckdb.connect() as connection:
        read = {name: f"'{tmp_path / 'tables' / name}.parquet'" for name in ("runs", "turns", "calls")}
        assert connection.execute(f"SELECT model, outcome, speedup, turns, input_tokens FROM {read['runs']}").fetchall() == [
            ("some-agent", "correct", 2.0, 2, None)
        ]
        asked = f"SELECT turn, tool, ok, json_extract_string(arguments, '$.kernel_code') FROM {read['calls']} ORDER BY turn"
        assert connection.execute(asked).fetchall() == [(1, "run_correctness", False, WRONG), (2, "submit_kernel", True, right(2))]
        assert connection.execute(f"SELECT count(*) FROM {read['turns']} WHERE final").fetchone() == (1,)


def test_a_torn_line_of_a_journal_costs_that_line_alone(tmp_path):
    journal = Journal(tmp_path / "run")
    journal.add("open", run={"a": 1})
    journal.add("output", turn=1)
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "call", "turn": 1, "resu')
    again = Journal(tmp_path / "run")
    assert [line["kind"] for line in again.lines] == ["open", "output"]
    again.add("call", turn=1)
    assert [line["kind"] for line in Journal(tmp_path / "run").lines] == ["open", "output", "call"]
    assert read_runs(tmp_path) == [] and isinstance(journal.path, Path)


def test_a_run_asked_in_other_words_is_another_run(monkeypatch):
    from popcorn.agents import prompts, recorder
    from popcorn.agents.budget import Budget

    tier, bench = find_tier("all"), Workbench(place_with(), find_problem("original/L1/36"), SETTINGS)
    asked = lambda: recorder.run_id(bench, "m", tier, Budget.of(tier), 1)  # noqa: E731
    before = asked()
    assert asked() == before
    told = prompts.wording()
    prompts.wording.cache_clear()
    text = (prompts.FOLDER / "no_call.jinja").read_text
    monkeypatch.setattr(prompts.Path, "read_text", lambda path, **rest: "new words" if path.name == "no_call.jinja" else text(**rest))
    assert prompts.wording() != told and asked() != before
    prompts.wording.cache_clear()
