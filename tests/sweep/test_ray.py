"""On a real Ray of one machine with two fake GPUs: both work, one is killed mid-job, and nothing is lost but time."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from popcorn.devices.ceilings import Ceilings, save_ceilings
from popcorn.devices.probe import probe
from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.request import Request
from tests.sweep.pretend import open_pretend

ray = pytest.importorskip("ray", reason="pip install 'popcornbench[ray]'")
pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]


def request(number: int) -> Request:
    return Request(problem=find_problem("original/L1/36"), source=f"/* {number} */", language="c", name="kernel.c")


@pytest.fixture(scope="module")
def cluster():
    env = {"env_vars": {"PYTHONPATH": str(ROOT), "PRETEND_S": "0.3"}}
    ray.init(num_gpus=2, num_cpus=8, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20, runtime_env=env)
    yield
    ray.shutdown()


def test_a_sweep_of_agents_is_judged_on_the_cluster_and_recorded_here(cluster, tmp_path, monkeypatch):
    from popcorn.records.runs import read_runs
    from popcorn.sweep.matrix import make_matrix
    from popcorn.sweep.ray_engine import opener
    from popcorn.sweep.submitting import prepare, run_here
    from tests.sweep.test_working import SMALL

    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    folder = prepare(make_matrix({**SMALL, "device": "auto"}, "small"), engine="ray")
    session = run_here(folder, opener(None, folder, inside=open_pretend))
    assert session.counts["done"] == 4 and {run.outcome for run in read_runs(tmp_path / "cache" / "runs" / "agents")} == {"correct"}
    assert {record.provenance.engine for record in Store(tmp_path / "cache" / "records")} == {"ray"}


def test_ceilings_are_those_of_the_actors_machine_and_not_of_this_one(cluster, tmp_path, monkeypatch):
    from popcorn.sweep.ray_engine import RayPlace, start

    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "here"))
    save_ceilings(Ceilings(bandwidth_bytes_per_s=1.5e12), probe("cpu"), tmp_path / "there" / "ceilings")
    engine = start(None, 1, open_pretend, tmp_path / "there", Store(tmp_path / "here" / "records"))
    place = RayPlace(engine)
    assert place.ceilings() is None
    place.measure_ceilings()
    assert place.ceilings().bandwidth_bytes_per_s == 1.5e12 == place.machine().bandwidth_bytes_per_s
    assert not (tmp_path / "here" / "ceilings").exists(), "nothing was measured where the driver runs"
    engine.close()


def test_an_actor_that_is_killed_mid_job_loses_nothing_but_time(cluster, tmp_path, monkeypatch):
    from popcorn.sweep.ray_engine import start

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PRETEND_S", "0.3")
    store = Store(tmp_path / "here" / "records")
    engine = start(None, 2, open_pretend, tmp_path / "there", store)
    first = ray.get(engine.actors[0].process.remote())
    threading.Timer(1.0, lambda: os.kill(first, signal.SIGKILL)).start()
    began = time.monotonic()
    futures = [engine.submit(request(number)) for number in range(20)]
    records = [future.result(120) for future in futures]
    assert len({record.id for record in records}) == 20 == len(store)
    assert {record.provenance.engine for record in records} == {"ray"}
    assert engine.moved >= 1, "the kill met an actor at work"
    judged = [line.split() for line in (tmp_path / "there" / "evaluations.log").read_text().splitlines()]
    assert {line[2] for line in judged} == {"gpu0", "gpu1"}
    assert len({line[0] for line in judged}) == 20 == len(judged), "what had ended was not repeated"
    assert time.monotonic() - began < 60
    engine.close()
