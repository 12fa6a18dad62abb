"""The plain Inspect task: found by name through the entry point, in a process of its own, with our agent or with another package's."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from popcorn.records.runs import read_runs

ROOT = Path(__file__).parents[2]


def installed(folder: Path) -> Path:
    """What pip would leave of our entry points, as pyproject.toml has them."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
    info = folder / "popcornbench_points-0.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: popcornbench-points\nVersion: 0.0.0\n")
    (info / "entry_points.txt").write_text("[inspect_ai]\n" + "".join(f"{name} = {value}\n" for name, value in points.items()))
    return folder


SITE = """
import popcorn.agents.task as task
from tests.agents.judge import place_with
task.open_place = lambda device: place_with()
"""
"""The engine that judges by a word in place of the real one: what is tested here is Inspect's side."""


def inspect_eval(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = f"{SITE}\nimport sys; sys.argv = ['inspect', *sys.argv[1:]]\nfrom inspect_ai._cli.main import main; main()"
    env = {
        **os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{installed(tmp_path / 'site')}", "POPCORN_CACHE_DIR": str(tmp_path / "cache"), "NO_COLOR": "1",
    }  # fmt: skip
    command = [
        sys.executable,
        "-c",
        start,
        "eval",
        *arguments,
        "--display",
        "none",
        "--log-dir",
        str(tmp_path / "logs"),
        "--log-format",
        "json",
    ]
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)


def log_of(tmp_path: Path) -> dict:
    (path,) = (tmp_path / "logs").glob("*.json")
    return json.loads(path.read_text())


def test_inspect_finds_the_task_the_agent_and_the_models_by_name(tmp_path):
    done = inspect_eval(
        tmp_path, "popcorn/kernels", "-T", "level=1", "-T", "variant=original", "-T", "tier=single", "--model", "scripted/steady", "--limit", "2",
        "--epochs", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    log = log_of(tmp_path)
    assert log["status"] == "success" and log["eval"]["task"].endswith("kernels") and len(log["samples"]) == 4
    runs = read_runs(tmp_path / "cache" / "runs" / "agents")
    assert len(runs) == 4 and {run.repeat for run in runs} == {1, 2} and all(run.tier == "single" for run in runs)
    scores = [next(iter(sample["scores"].values())) for sample in log["samples"]]
    assert all(set(score["value"]) == {"correct", "speedup"} and score["metadata"]["outcome"] for score in scores)


FOREIGN = """
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.solver import solver
from tests.agents.judge import right

@solver
def another():
    async def solve(state, generate):
        from inspect_ai.model import get_model, execute_tools
        outputs = [
            ModelOutput.for_tool_call("mockllm", "run_correctness", {"kernel_code": right(2.0)}),
            ModelOutput.for_tool_call("mockllm", "profile_kernel", {"kernel_code": right(2.0)}),
        ]
        for output in outputs:
            output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        model = get_model("mockllm/model", custom_outputs=outputs)
        for _ in range(2):
            output = await model.generate(state.messages, tools=state.tools)
            state.messages.append(output.message)
            state.messages += (await execute_tools(state.messages, state.tools)).messages
        return state
    return solve
"""


def test_another_packages_agent_is_judged_in_the_same_form(tmp_path):
    (tmp_path / "another.py").write_text(FOREIGN)
    done = inspect_eval(
        tmp_path,
        "popcorn/kernels",
        "-T",
        "problem=original/L1/36",
        "-T",
        "tier=all",
        "--solver",
        "another.py@another",
        "--model",
        "scripted/steady",
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-2000:]
    assert log_of(tmp_path)["status"] == "success"
    (run,) = read_runs(tmp_path / "cache" / "runs" / "agents")
    assert (run.outcome, run.submitted_by, len(run.turns), run.tool_calls) == ("correct", "harness", 2, 2)
    assert [call.tool for turn in run.turns for call in turn.calls] == ["run_correctness", "profile_kernel"]
    assert run.turns[1].calls[0].data["speedup"]


def test_what_judges_kernels_never_imports_inspect():
    code = (
        "import sys, popcorn.evaluate, popcorn.worker.local, popcorn.worker.zygote, popcorn.cli.main, popcorn.agents.workbench, popcorn.agents.external\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('inspect_ai', 'openai', 'mcp')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    needs = [
        path for path in (ROOT / "popcorn").rglob("*.py") if re.search(r"^\s*(?:from|import) (?:inspect_ai|mcp)\b", path.read_text(), re.M)
    ]
    assert {path.relative_to(ROOT / "popcorn").parts[0] for path in needs} <= {"agents", "cli", "search", "sweep"}
