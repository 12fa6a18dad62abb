"""Runs a sweep in forked processes that are killed with SIGKILL at random moments, and once more to the end. `python -m tests.sweep.killed CACHE KILLS SEED`

Forked, so that Inspect is imported once. Before each start it notes which answers of models the journals hold; the sweep's own calls are in `calls.log`.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from popcorn.agents.providers.scripted import Scripted
from popcorn.sweep.matrix import read_matrix
from popcorn.sweep.submitting import prepare, run_here
from tests.sweep.pretend import open_pretend

ROOT = Path(__file__).parents[2]


def answered(cache: Path) -> set[tuple[str, int]]:
    """(first words of the conversation's problem and run, turn) of every answer that is on disk."""
    found = set()
    for path in (cache / "runs" / "agents").glob("*/journal.jsonl"):
        for text in path.read_text().splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if line.get("kind") == "output":
                found.add((path.parent.name, line["turn"]))
    return found


def work(cache: Path) -> None:
    original = Scripted.generate

    async def generate(self, input, tools, tool_choice, config):
        from popcorn.agents.inspect_tools import current

        recorder = current()
        with (cache / "calls.log").open("a") as file:
            file.write(f"{os.getpid()} {recorder.run.id} {recorder.spent.turns + 1}\n")
        return await original(self, input, tools, tool_choice, config)

    Scripted.generate = generate  # type: ignore[method-assign]
    folder = prepare(read_matrix(ROOT / "sweeps" / "smoke.toml"))
    run_here(folder, open_pretend)


def start(cache: Path, kill_after_s: float | None) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work(cache)
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    import popcorn.agents.registry
    import popcorn.sweep.batch  # noqa: F401

    cache, kills, chance = Path(os.environ["POPCORN_CACHE_DIR"]), int(sys.argv[1]), random.Random(int(sys.argv[2]))
    cache.mkdir(parents=True, exist_ok=True)
    for number in range(kills + 1):
        before = answered(cache)
        calls = len((cache / "calls.log").read_text().splitlines()) if (cache / "calls.log").exists() else 0
        code = start(cache, chance.uniform(0.3, 2.0) if number < kills else None)
        made = (cache / "calls.log").read_text().splitlines()[calls:] if (cache / "calls.log").exists() else []
        again = [line for line in made if (line.split()[1], int(line.split()[2])) in before]
        print(json.dumps({"code": code, "calls": len(made), "again": again}), flush=True)
