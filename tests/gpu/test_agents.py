"""On a GPU: the scripted model's CUDA kernels are right, and later ones are faster than the first; its run ends with the last."""

import asyncio

import pytest

pytest.importorskip("inspect_ai", reason="agents need popcornbench[agents]")

from popcorn.agents.models import find_model
from popcorn.agents.place import open_place
from popcorn.agents.providers.scripted import kernels_for
from popcorn.agents.running import run_agents
from popcorn.agents.tiers import find_tier
from popcorn.agents.workbench import Settings
from popcorn.suites.problems import find_problem

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("problem", ["popcorn/L1/29", "original/L1/36", "original/L1/23", "original/L1/89"])
def test_a_scripted_run_improves_from_kernel_to_kernel(tmp_path, monkeypatch, problem):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    place = open_place("cuda")
    try:
        settings = Settings("cuda", budget_s=2.0, compile_baseline=False)
        work = run_agents(find_problem(problem), find_model("scripted/steady"), find_tier("all"), settings, place, folder=tmp_path / "runs")
        (run,) = asyncio.run(work)
    finally:
        place.engine.close()
    profiles = [call for turn in run.turns for call in turn.calls if call.tool == "profile_kernel"]
    speeds = [call.data["speedup"] for call in profiles]
    assert run.outcome == "correct" and len(speeds) == 3, [call.result for call in profiles]
    assert max(speeds[1:]) > speeds[0], speeds
    assert run.candidate in kernels_for(problem, "cuda")[1:]
