"""Campaigns: steps in order, dropped by priority, resumed after kill -9, servers kept alive, and nothing left running."""

import inspect
import os
import signal
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import typer

from popcorn.cli.main import app
from popcorn.cli.search_beside import serve_searches
from popcorn.errors import BadSweep
from popcorn.search.proxy import PREFIX, read_configs
from popcorn.sweep.campaign import Step, detach, folder_of, read_campaign, status, stop, to_drop
from tests.processes import gone

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def write(
    path: Path, steps: list[tuple[str, str]], server: str = "import time; time.sleep(60)", hours: float = 1.0, extra: str = ""
) -> Path:
    rows = ",\n".join(f'{{ name = "{name}", command = ["{sys.executable}", "-c", """{code}"""]{extra} }}' for name, code in steps)
    file = path / "campaign.toml"
    file.write_text(
        f'name = "small"\nhours = {hours}\nsteps = [{rows}]\n[[servers]]\nname = "beside"\ncommand = ["{sys.executable}", "-c", """{server}"""]\n'
    )
    return file


def start(file: Path):
    campaign = read_campaign(file)
    folder = folder_of(campaign.name)
    folder.begin(campaign, file.parent)
    return folder, detach(folder)


def wait_for(what, seconds: float = 30.0):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.1)
    return found


def ended(folder) -> bool:
    return status(folder)["state"] == "ended"


def test_a_killed_campaign_goes_on_where_it_was(tmp_path):
    log = tmp_path / "steps.log"
    note = f"import time; open('{log}', 'a').write('NAME '); time.sleep(0.7)"
    file = write(tmp_path, [(name, note.replace("NAME", name)) for name in ("one", "two", "three")])
    folder, pid = start(file)
    wait_for(lambda: log.exists() and "two" in log.read_text())
    children = psutil.Process(pid).children(recursive=True)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: folder.alive() is None or not psutil.pid_exists(pid))
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    assert status(folder)["state"] == "stopped"
    folder, _ = start(file)
    wait_for(lambda: ended(folder))
    assert log.read_text().split()[0] == "one" and log.read_text().split().count("one") == 1, "what ended is not begun again"
    assert [one["state"] for one in status(folder)["steps"]] == ["done"] * 3


def test_a_server_that_dies_is_started_again_and_ends_with_the_campaign(tmp_path):
    seen = tmp_path / "server.log"
    file = write(tmp_path, [("one", "import time; time.sleep(4)")], server=f"open('{seen}', 'a').write('x')")
    folder, pid = start(file)
    wait_for(lambda: ended(folder))
    assert len(seen.read_text()) >= 2
    assert gone(pid, 60)


def test_stop_drains_the_step_under_way(tmp_path):
    mark = tmp_path / "mark"
    code = f"import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (open('{mark}', 'w').write('drained'), sys.exit(0))); open('{mark}', 'w').write('up'); time.sleep(60)"
    folder, _ = start(write(tmp_path, [("one", code), ("two", "pass")]))
    wait_for(lambda: mark.exists() and mark.read_text() == "up")
    assert stop(folder)
    wait_for(lambda: folder.alive() is None)
    assert mark.read_text() == "drained" and [one["state"] for one in status(folder)["steps"]] == ["waiting", "waiting"]


def test_steps_are_dropped_by_priority_until_the_rest_fits():
    steps = [
        (Step(name=name, drop=drop), hours) for name, drop, hours in (("a", 0, 10), ("b", 2, 9), ("c", 3, 12), ("d", 1, 3), ("e", 4, 6))
    ]
    assert to_drop(steps, 40) == []
    assert to_drop(steps, 34) == ["e"]
    assert to_drop(steps, 23) == ["e", "c"]
    assert to_drop(steps, 0) == ["e", "c", "b", "d"], "what must not be dropped stays"


def test_the_shipped_campaign_has_its_ten_steps_and_its_drop_order():
    campaign = read_campaign(ROOT / "sweeps" / "campaign.toml")
    assert len(campaign.steps) == 10
    order = sorted((step for step in campaign.steps if step.drop), key=lambda step: -step.drop)
    assert [step.name[3:] for step in order] == ["ae_focus_original", "l34_all", "l12_all", "comm"]
    assert 50 <= sum(step.hours or 0 for step in campaign.steps) <= 65
    assert {one.name for one in campaign.servers} == {"proxy", "publisher"}
    for server in campaign.servers:
        program, *words = server.command
        assert program == "popcorn"
        command = typer.main.get_command(app)
        while hasattr(command, "commands") or hasattr(command, "list_commands"):
            command = command.get_command(None, words.pop(0))
        with command.make_context(server.name, words) as context:  # a usage error is raised here
            assert context.params


def test_the_focus_sweeps_ask_the_proxy_where_it_listens_for_a_search_it_knows():
    row = tomllib.loads((ROOT / "sweeps" / "ae_focus_popcorn.toml").read_text())["model"]["evolve"]
    port = inspect.signature(serve_searches).parameters["port"].default
    assert row["endpoint"] == f"http://127.0.0.1:{port}/v1" and "key" not in row
    assert row["provider"].removeprefix("openai-api/evolve/").removeprefix(PREFIX) in read_configs(None)


def test_a_bad_file_is_told_in_one_sentence(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text('name = "x"\nhours = 1.0\nsteps = []\n')
    with pytest.raises(BadSweep, match="steps"):
        read_campaign(file)
