"""On a real Slurm of one node and two fake GPUs: singleton, both GPUs used, drained at the walltime, queued again by itself, resumed after scancel."""

import json
import time
from pathlib import Path

import pytest

from popcorn.errors import BadSweep
from popcorn.sweep.done import Done
from popcorn.sweep.folder import Spec, SweepFolder
from popcorn.sweep.matrix import make_matrix
from popcorn.sweep.slurm import _srun, queue
from tests.sweep.one_node_slurm import OneNode, why_not
from tests.sweep.pretend import open_pretend

pytestmark = pytest.mark.cluster

SMOKE = {
    "problems": ["original/L1/36", "original/L1/23", "original/L1/89", "popcorn/L1/29"], "models": ["scripted/brisk", "baseline/eager"],
    "tiers": ["single", "default"], "language": "c", "device": "cpu", "agents_per_gpu": 1, "trials": 5, "budgets": {"turns": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with OneNode(tmp_path_factory.mktemp("slurm")) as node:
        yield node


def make(path: Path, name: str, **facts) -> SweepFolder:
    folder = SweepFolder(path / name)
    matrix = make_matrix({**SMOKE, "name": name, **facts.pop("matrix", {})}, name)
    folder.keep(Spec(matrix=matrix, cache=str(path / name / "cache"), engine="slurm", nodes=1, gpus_per_node=2, gpus=1, **facts))
    return folder


def wait_for(what, seconds: float, folder: SweepFolder):
    until = time.monotonic() + seconds
    while not (found := what()):
        logs = "\n".join(path.read_text()[-800:] for path in sorted((folder.path / "slurm").glob("*.err")))
        assert time.monotonic() < until, f"{(folder.path / 'log.txt').read_text() if (folder.path / 'log.txt').exists() else ''}\n{logs}"
        time.sleep(0.5)
    return found


def log_of(folder: SweepFolder) -> str:
    path = folder.path / "log.txt"
    return path.read_text() if path.exists() else ""


def test_two_sweeps_take_turns_and_use_both_gpus(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("PRETEND_S", "2.5")
    first, second = make(tmp_path, "first"), make(tmp_path, "second", matrix={"problems": ["original/L1/36"], "tiers": ["single"]})
    ids = [queue(first, open_pretend), queue(second, open_pretend)]
    wait_for(lambda: slurm.states().get(ids[0]) == "RUNNING", 30, first)
    assert slurm.states()[ids[1]] == "PENDING", "a singleton waits for the one before"
    wait_for(lambda: "nothing is missing" in log_of(first), 120, first)
    wait_for(lambda: "nothing is missing" in log_of(second), 90, second)
    lines = (tmp_path / "first" / "cache" / "evaluations.log").read_text().splitlines()
    assert {line.split()[2] for line in lines} == {"gpu0", "gpu1"}
    assert len(Done(tmp_path / "first" / "cache").read().done) == 16


def test_it_drains_before_the_walltime_and_queues_itself(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("PRETEND_S", "8")
    folder = make(tmp_path, "long", minutes=2, drain_s=70)
    queue(folder, open_pretend)
    wait_for(lambda: "queued again as Slurm job" in log_of(folder), 150, folder)
    assert "the walltime comes near" in log_of(folder)
    wait_for(lambda: "nothing is missing" in log_of(folder), 150, folder)
    jobs = [json.loads(line)["job"] for line in (folder.path / "slurm.jsonl").read_text().splitlines()]
    assert len(jobs) >= 2
    ended = [line["job"] for line in Done(folder.path / "cache").lines() if line["kind"] == "done"]
    assert len(ended) == len(set(ended)) == 16, "no job that had ended was done again"


def test_it_resumes_after_scancel(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("PRETEND_S", "1.0")
    folder = make(tmp_path, "cancelled", matrix={"tiers": ["single"]})
    job = queue(folder, open_pretend)
    done = Done(folder.path / "cache")
    wait_for(lambda: len(done.read().done) >= 1, 60, folder)
    slurm.ask("scancel", "--full", job)
    wait_for(lambda: slurm.states().get(job) in ("CANCELLED", None), 60, folder)
    before = len(done.read().done)
    assert before < 8
    folder.undrain()
    queue(folder, open_pretend)
    wait_for(lambda: len(done.read().done) == 8, 90, folder)


def test_a_container_goes_to_every_task_and_more_than_ten_nodes_are_refused(tmp_path):
    folder = make(tmp_path, "image", container_image="nvcr.io#nvidia/pytorch:25.09-py3")
    args = _srun(folder.spec())
    assert "--container-image=nvcr.io#nvidia/pytorch:25.09-py3" in args and "--container-mount-home" in args
    assert "--gpus-per-task=1" in args
    spec = folder.spec()
    together = spec.model_copy(update={"gpus_per_node": 8, "matrix": spec.matrix.model_copy(update={"devices": 8})})
    assert "--gpus-per-task=8" in _srun(together), "a job that communicates is given every GPU of its node"
    folder.keep(folder.spec().model_copy(update={"nodes": 11}))
    with pytest.raises(BadSweep, match="more than the 10"):
        queue(folder)
