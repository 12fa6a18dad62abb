"""Campaign: sweeps one after the other under a wall-clock budget, detached from the shell, with servers beside them that are kept alive. Imports no torch.

    campaign.json     the file that was asked for, and what became of each step
    campaign.log      everything that the steps and servers print
    pid               of the one process that carries it out

A step that ended is never begun again; a step that was under way goes on. When the time that is left is shorter than what the plan expects of the rest,
steps are dropped by priority: the highest `drop` first.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from popcorn.errors import BadSweep
from popcorn.home import cache_folder
from popcorn.reading import read_toml, what_is_wrong
from popcorn.records.appending import write_whole
from popcorn.sweep.matrix import Strict, read_matrix

State = Literal["waiting", "running", "done", "failed", "dropped"]
PAUSE_S, MOST_PAUSE_S = 1.0, 60.0
POLL_S = 0.5


class Step(Strict):
    """One sweep, or any command."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")
    sweep: str | None = None
    """A file, beside the campaign's own or in sweeps/."""
    command: tuple[str, ...] = ()
    """Instead of a sweep."""
    hours: float | None = Field(default=None, gt=0)
    """What it is expected to take; the sweep's own plan when left out."""
    drop: int = Field(default=0, ge=0)
    """0 is never dropped; of the others the highest goes first."""


class Server(Strict):
    """A process beside the steps, started again when it ends."""

    name: str
    command: tuple[str, ...] = Field(min_length=1)


class Campaign(Strict):
    """The whole file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")
    hours: float = Field(gt=0)
    """Wall clock in all."""
    submit: tuple[str, ...] = ("--local",)
    """Options of `popcorn sweep submit` for every sweep."""
    steps: tuple[Step, ...] = Field(min_length=1)
    servers: tuple[Server, ...] = ()


def read_campaign(path: Path) -> Campaign:
    """Raises BadSweep."""
    tables = read_toml(path, lambda why: BadSweep(f"{path} cannot be read as a campaign ({why}); see sweeps/campaign.toml."))
    try:
        return Campaign.model_validate(tables)
    except ValidationError as error:
        raise BadSweep(f"{path}: {what_is_wrong(error, Campaign)}; see sweeps/campaign.toml.") from None


class CampaignFolder:
    """A campaign on disk."""

    def __init__(self, path: Path):
        self.path = path

    def begin(self, campaign: Campaign, base: Path) -> None:
        """Keep what is asked; steps that ended under the same name keep their end."""
        self.path.mkdir(parents=True, exist_ok=True)
        old = self.read() if (self.path / "campaign.json").is_file() else {}
        ended = {one["name"]: one for one in old.get("steps", ()) if one["state"] in ("done", "dropped")}
        steps = [ended.get(step.name) or {"name": step.name, "state": "waiting"} for step in campaign.steps]
        began = old.get("began") or time.time()
        self.keep({"campaign": campaign.model_dump(mode="json"), "base": str(base), "began": began, "steps": steps, "servers": {}})

    def read(self) -> dict[str, Any]:
        """As it stands. Raises BadSweep."""
        try:
            found = json.loads((self.path / "campaign.json").read_text())
        except (OSError, ValueError):
            raise BadSweep(f"{self.path} is no campaign; `popcorn campaign run FILE` starts one.") from None
        return found if isinstance(found, dict) else {}

    def keep(self, state: dict[str, Any]) -> None:
        """Write it, whole or not at all."""
        write_whole(self.path / "campaign.json", json.dumps(state, indent=1))

    def alive(self) -> int | None:
        """Id of the process that carries it out."""
        try:
            pid = int((self.path / "pid").read_text())
            ours = b"popcorn.sweep.campaign" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if ours else None


def folder_of(name: str) -> CampaignFolder:
    """Where a campaign of this name lies."""
    return CampaignFolder(cache_folder() / "campaigns" / name)


def newest() -> CampaignFolder:
    """The campaign that was touched last. Raises BadSweep."""
    found = list((cache_folder() / "campaigns").glob("*/campaign.json"))
    if not found:
        raise BadSweep("no campaign was run here yet; `popcorn campaign run sweeps/campaign.toml` starts one.")
    return CampaignFolder(max(found, key=lambda path: path.stat().st_mtime).parent)


def detach(folder: CampaignFolder) -> int:
    """Start the process that carries it out, in a session of its own: a lost shell does not end it. Its id."""
    if (pid := folder.alive()) is not None:
        return pid
    with (folder.path / "campaign.log").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "popcorn.sweep.campaign", str(folder.path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )  # fmt: skip
    write_whole(folder.path / "pid", str(started.pid))
    return started.pid


class Supervisor:
    """Servers beside the steps: started again when they end, more slowly each time they end at once."""

    def __init__(self, servers: list[dict[str, Any]]):
        self._servers = {one["name"]: one["command"] for one in servers}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._began: dict[str, float] = {}
        self._pause: dict[str, float] = {}
        self.starts: dict[str, int] = dict.fromkeys(self._servers, 0)

    def look(self) -> None:
        """Start what is not running and has rested."""
        for name, command in self._servers.items():
            running = self._running.get(name)
            if running is not None and running.poll() is None:
                continue
            lived, pause = time.monotonic() - self._began.get(name, -1e9), self._pause.get(name, 0.0)
            if lived < pause:
                continue
            self._pause[name] = PAUSE_S if lived > MOST_PAUSE_S else min(MOST_PAUSE_S, max(PAUSE_S, 2 * pause))
            self._began[name] = time.monotonic()
            self.starts[name] += 1
            try:
                # the popcorn of this environment, whatever lies on the path of a detached process
                command = [sys.executable, "-m", "popcorn", *command[1:]] if command[0] == "popcorn" else command
                self._running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            except OSError as error:
                print(f"server {name} cannot be started: {error}", flush=True)

    def states(self) -> dict[str, str]:
        """For people."""
        return {name: f"{'running' if (one := self._running.get(name)) is not None and one.poll() is None else 'stopped'}, started {count}×" for name, count in self.starts.items()}  # fmt: skip

    def close(self) -> None:
        """End them, their own children included."""
        for one in self._running.values():
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGTERM)
        for one in self._running.values():
            try:
                one.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(one.pid, signal.SIGKILL)


def expected_hours(step: Step, base: Path) -> float:
    """As the file says, else by the sweep's plan on this machine's devices; 0 where nothing is known."""
    if step.hours is not None:
        return step.hours
    if step.sweep is None:
        return 0.0
    from popcorn.devices.probe import devices
    from popcorn.sweep.done import Done
    from popcorn.sweep.plan import make_plan

    matrix = read_matrix(_file(step, base))
    gpus = max(1, sum(name.startswith("cuda") for name in devices()))
    return make_plan(matrix, Done(cache_folder())).hours(gpus) if matrix.kind == "agents" else 0.0


def to_drop(steps: list[tuple[Step, float]], left_hours: float) -> list[str]:
    """Names of the waiting steps to drop so that the rest fits, the highest `drop` first. Pure."""
    dropped: list[str] = []
    for step, _ in sorted((one for one in steps if one[0].drop), key=lambda one: -one[0].drop):
        if sum(hours for one, hours in steps if one.name not in dropped) <= left_hours:
            break
        dropped.append(step.name)
    return dropped


def carry_out(folder: CampaignFolder) -> None:
    """Every step that is left, in order; servers beside them. SIGTERM stops after telling the step under way to drain."""
    state = folder.read()
    campaign, base = Campaign.model_validate(state["campaign"]), Path(state["base"])
    steps = {step.name: step for step in campaign.steps}
    supervisor = Supervisor([one.model_dump(mode="json") for one in campaign.servers])
    stopping: list[bool] = []
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: stopping.append(True))

    def keep() -> None:
        folder.keep(state | {"servers": supervisor.states()})

    try:
        for entry in state["steps"]:
            if entry["state"] in ("done", "dropped"):
                continue
            _drop(state, steps, base, campaign.hours - (time.time() - state["began"]) / 3600)
            if entry["state"] != "dropped":
                entry |= {"state": "running", "began": time.time(), "expected_hours": expected_hours(steps[entry["name"]], base)}
                keep()
                code = _run(steps[entry["name"]], campaign, base, supervisor, stopping, keep)
                entry |= {"state": "waiting" if stopping else "done" if code == 0 else "failed", "ended": time.time(), "exit_code": code}
            keep()
            if stopping:
                return
    finally:
        supervisor.close()
        (folder.path / "pid").unlink(missing_ok=True)


def _drop(state: dict[str, Any], steps: Mapping[str, Step], base: Path, left_hours: float) -> None:
    """Mark the steps that the rest has no time for."""
    open_ones = {one["name"]: one for one in state["steps"] if one["state"] not in ("done", "dropped")}
    waiting = [(steps[name], expected_hours(steps[name], base)) for name in open_ones]
    expected = sum(hours for _, hours in waiting)
    for name in to_drop(waiting, left_hours):
        told = f"{expected:.1f} h are expected of what is left, and {max(0.0, left_hours):.1f} h are left"
        open_ones[name] |= {"state": "dropped", "reason": told}


def _run(step: Step, campaign: Campaign, base: Path, supervisor: Supervisor, stopping: list[bool], keep: Callable[[], None]) -> int:
    """One step to its end; a stop is passed on once, gently."""
    options = [*campaign.submit, "--json"] if step.sweep else []
    command = (
        [sys.executable, "-m", "popcorn.cli.main", "sweep", "submit", _file(step, base), *options] if step.sweep else list(step.command)
    )
    print(f"== {step.name}: {' '.join(command)}", flush=True)
    try:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{step.name} cannot be started: {error}", flush=True)
        return 127
    told = False
    seen: dict[str, str] = {}
    while running.poll() is None:
        supervisor.look()
        if supervisor.states() != seen:
            seen = supervisor.states()
            keep()
        if stopping and not told:
            told = True
            running.send_signal(signal.SIGTERM)
        time.sleep(POLL_S)
    return running.returncode


def _file(step: Step, base: Path) -> str:
    assert step.sweep is not None
    beside = base / step.sweep
    return str(beside) if beside.is_file() else step.sweep


def status(folder: CampaignFolder) -> dict[str, Any]:
    """Where it is, and when it is expected to end."""
    state = folder.read()
    campaign, base = Campaign.model_validate(state["campaign"]), Path(state["base"])
    by_name = {step.name: step for step in campaign.steps}
    left = 0.0
    for one in state["steps"]:
        if one["state"] in ("waiting", "running"):
            hours = expected_hours(by_name[one["name"]], base)
            left += max(0.0, hours - (time.time() - one["began"]) / 3600) if one["state"] == "running" else hours
    alive = folder.alive()
    over = all(one["state"] in ("done", "dropped", "failed") for one in state["steps"])
    return {
        "campaign": campaign.name, "folder": str(folder.path), "pid": alive, "state": "running" if alive else "ended" if over else "stopped",
        "steps": state["steps"], "servers": state["servers"], "expected_hours_left": left, "expected_end": time.time() + left * 3600,
        "hours": campaign.hours, "budget_hours_left": campaign.hours - (time.time() - state["began"]) / 3600,
    }  # fmt: skip


def stop(folder: CampaignFolder) -> bool:
    """Tell its process to drain and end. False when there is none."""
    pid = folder.alive()
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    return True


if __name__ == "__main__":
    carry_out(CampaignFolder(Path(sys.argv[1])))
