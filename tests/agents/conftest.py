"""What the tests of agents share."""

import asyncio
from pathlib import Path

import pytest

from popcorn.agents.budget import Budget
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import find_tier
from popcorn.schema.run import Run
from popcorn.suites.problems import find_problem
from tests.agents.judge import SETTINGS, WordEngine, place_with, row_of
from tests.agents.server import ModelServer, Reply


@pytest.fixture(autouse=True)
def key(monkeypatch, tmp_path):
    monkeypatch.setenv("SERVED_API_KEY", "none")
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def serve(tmp_path: Path):
    """Runs one agent against a script of replies, on the engine that judges by a word; the run, the server and the engine."""

    def run(script: list[Reply], tier: str = "default", engine: WordEngine | None = None, **budget) -> tuple[Run, ModelServer, WordEngine]:
        engine = engine or WordEngine()
        chosen = find_tier(tier)
        spend = Budget(**{**vars(Budget.of(chosen)), **budget})
        with ModelServer(script) as server:
            work = run_agents(
                find_problem("original/L1/36"),
                row_of(server.url),
                chosen,
                SETTINGS,
                place_with(engine),
                budget=spend,
                folder=tmp_path / "runs",
            )
            (made,) = asyncio.run(work)
        return made, server, engine

    return run
