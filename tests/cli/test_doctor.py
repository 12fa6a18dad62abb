"""The doctor's table and its facts."""

import functools
import json
import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from popcorn.cli.doctor import doctor
from popcorn.devices import ceilings, facts
from popcorn.devices.facts import gather
from popcorn.devices.probe import probe
from popcorn.errors import UnknownDevice

app = typer.Typer()
app.command()(doctor)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))


def run(*arguments):
    return CliRunner().invoke(app, ["--device", "cpu", *arguments], env={"COLUMNS": "200"})


def test_the_table_fits_80_columns_and_names_every_fix():
    result = run()
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    assert "--measure" in result.output and "→" in result.output
    for name in (
        "device",
        "ceilings",
        "torch",
        "nvcc",
        "C++ compiler",
        "Landlock",
        "seccomp",
        "backends",
        "models",
        "tilelang",
        "cute",
        "energy",
    ):
        assert name in result.output


def test_json_holds_the_machine_and_every_fact():
    result = run("--json")
    shown = json.loads(result.output)
    assert shown["machine"]["kind"] == "cpu"
    assert all(set(fact) == {"name", "state", "finding", "fix"} for fact in shown["facts"])
    assert {fact["state"] for fact in shown["facts"]} <= {"works", "absent", "does not apply"}


def test_measuring_fills_the_ceilings_for_the_next_look(monkeypatch):
    monkeypatch.setattr(ceilings, "measure_in_child", functools.partial(ceilings.measure_in_child, seconds=0.1))
    assert run("--measure").exit_code == 0
    found = next(fact for fact in json.loads(run("--json").output)["facts"] if fact["name"] == "ceilings")
    assert found["state"] == "works" and "B/s" in found["finding"] and "float32" in found["finding"]


def test_an_unknown_device_is_the_users_error():
    result = CliRunner().invoke(app, ["--device", "cuda:77"])
    assert isinstance(result.exception, UnknownDevice) and "cpu" in str(result.exception)


def test_the_doctor_starts_without_torch():
    code = "import sys; from popcorn.cli.doctor import doctor; doctor(device='cpu'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ)


def test_a_broken_compiler_is_found_by_trying_it(tmp_path, monkeypatch):
    fake = tmp_path / "broken++"
    fake.write_text("#!/bin/sh\necho 'g++ (GCC) 12.2.0'\n[ \"$1\" = --version ]\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    facts.host.compiler.cache_clear()
    found = facts._compiler()
    facts.host.compiler.cache_clear()
    assert found.state == "absent" and found.fix


def test_every_fact_that_is_absent_and_mendable_names_a_fix(tmp_path):
    found = {fact.name: fact for fact in gather(probe("cpu"), tmp_path)}
    assert found["device"].state == "works"
    assert all(fact.fix is None for fact in found.values() if fact.state != "absent")
    assert found["hardware counters"].state == "does not apply"


def test_a_gpu_machine_with_a_cpu_torch_is_told_so(tmp_path):
    gpu = probe("cpu").model_copy(update={"kind": "cuda", "device_index": 0, "cuda": None, "device_uuid": "GPU-none"})
    found = {fact.name: fact for fact in gather(gpu, tmp_path)}
    assert found["torch"].state == "absent" and "CUDA" in found["torch"].finding
    assert found["energy"].state == "absent"
