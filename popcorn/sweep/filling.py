"""Op sweeps: implementations over cases, phase after phase. The references come first; each backend runs in its own environment; shards fold as they go.

A phase's rows are grouped by op, implementation, element type and gradient mode: within a group smaller cases come first, so that one that runs out of
memory or time ends the group before anything larger is paid for. Groups are what workers claim.

    shards/<rank>/records      what this worker measured; folded into the cache's records every minute and at the end
    phases/<name>.json         rows, rows done, or why it was skipped
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn.bench.asking import Settings
from popcorn.bench.fill import Progress, Row, fill, plan_rows
from popcorn.devices.probe import probe
from popcorn.ops.registry import find_op, list_ops
from popcorn.records.appending import write_whole
from popcorn.records.store import Store
from popcorn.records.tables import merge
from popcorn.schema.machine import Machine
from popcorn.sweep.folder import Spec, SweepFolder
from popcorn.sweep.matrix import Matrix
from popcorn.sweep.phases import find_phase, make_environment, why_skipped

if TYPE_CHECKING:
    from popcorn.sweep.session import Session

FOLD_S = 60.0
RESTARTS = 60
"""Times a worker of one phase may die and be started again; each death costs one case, which becomes a crash row."""


def rows_of(matrix: Matrix, phase: str, machine: Machine, progress: Progress | None = None) -> list[Row]:
    """Every row of a phase that its implementations accept on this machine."""
    assert matrix.ops is not None
    names = find_phase(phase).implementations
    ops = [find_op(name) for name in matrix.ops.ops or list_ops()]
    return plan_rows(ops, machine, names, None, matrix.ops.limit, matrix.ops.precisions, matrix.ops.curves_only, progress)


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by what one worker does in one go; the name of a group can be a file's."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[f"{row.op.name}.{row.implementation}.{row.planned.case.precision}.{row.planned.case.gradient}"].append(row)
    return dict(found)


def settings_of(matrix: Matrix) -> Settings:
    """How a row is measured."""
    return Settings(
        device=matrix.device, budget_s=matrix.budget_s, timeout_s=matrix.timeout_s, trials=matrix.trials, control=matrix.control
    )


def done_rows(stores: Sequence[Store], rows: list[Row], machine: Machine, reps: int) -> set[tuple[str, ...]]:
    """Keys that need no more rows in these stores together: only of exactly this device and torch, these texts, this case and gradient mode."""
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for op in {row.op.name for row in rows}:
        for record in (one for store in stores for one in store.find(problem=op, kind="op", condemned=False)):
            subject, there = record.subject, record.machine
            if (there.device_id, there.torch) == (machine.device_id, machine.torch) and record.verdict.outcome != "harness_error":
                found[op, subject.problem_hash, subject.implementation, subject.candidate_hash or "", record.case.id].add(record.id)
    return {key for key, ids in found.items() if len(ids) >= reps}


def plan_ops(matrix: Matrix) -> dict[str, Any]:
    """What an op sweep would do on this machine, with a text for people."""
    assert matrix.ops is not None
    machine = probe(matrix.device)
    registered = {name for op in matrix.ops.ops or list_ops() for name in find_op(op).implementations}
    phases: list[dict[str, Any]] = []
    for name in matrix.ops.phases:
        reason = why_skipped(find_phase(name), registered)
        rows = [] if reason else rows_of(matrix, name, machine)
        hours = len(rows) * matrix.ops.reps * (matrix.budget_s * 4 + 4) / 3600
        phases.append({"phase": name, "rows": len(rows) * matrix.ops.reps, "reason": reason, "expected_hours": hours})
    lines = [f"{one['phase']:20} {one['rows']:>7,} rows  {one['expected_hours']:7.1f} h on one device" + (f"  skipped: {one['reason']}" if one["reason"] else "") for one in phases]  # fmt: skip
    return {"sweep": matrix.name, "device": machine.device_id, "phases": phases, "text": "\n".join(lines)}


def phase_facts(folder: SweepFolder, spec: Spec) -> dict[str, Any]:
    """How far each phase is, as its coordinator last wrote it down."""
    assert spec.matrix.ops is not None
    phases: list[dict[str, Any]] = []
    for name in spec.matrix.ops.phases:
        path = folder.path / "phases" / f"{name}.json"
        phases.append(json.loads(path.read_text()) if path.is_file() else {"phase": name, "jobs": 0, "done": 0, "reason": "not begun"})
    jobs, done = sum(one["jobs"] for one in phases), sum(one["done"] for one in phases)
    waiting = len([one for one in phases if one.get("reason") == "not begun"])
    return {"phases": phases, "jobs": jobs, "done": done, "missing": jobs - done + waiting}


def fill_here(folder: SweepFolder, epoch: str) -> "Session":
    """Every phase on this machine, one after the other: the orchestrator without Slurm. Ctrl-C drains after the case in flight."""
    from popcorn.sweep.session import Session

    spec = folder.spec()
    store = Store(Path(spec.cache) / "records")
    session = Session(folder, spec, [], store, 0, epoch)

    def drain(*_: object) -> None:
        session.stop("drain", "a signal")
        folder.drain()
        print("popcorn: no case begins any more, the one under way ends; `popcorn sweep resume` goes on with it", file=sys.stderr)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, drain)
    session.tell("running")
    for name in phases_to_do(folder, spec):
        if folder.draining():
            session.stop("drain", "asked by `popcorn sweep stop`")
            break
        python = prepare_phase(folder, spec, name)
        if python is not None:
            run_phase(folder, spec, name, python, epoch, 0, 1)
    session.tell("ended")
    return session


def phases_to_do(folder: SweepFolder, spec: Spec) -> list[str]:
    """In order: references first."""
    assert spec.matrix.ops is not None
    order = ["reference", *(name for name in spec.matrix.ops.phases if name != "reference")]
    return [name for name in order if name in spec.matrix.ops.phases]


def prepare_phase(folder: SweepFolder, spec: Spec, name: str) -> Path | None:
    """The Python that runs a phase, or None where it is skipped; the reason is written down."""
    assert spec.matrix.ops is not None
    registered = {one for op in spec.matrix.ops.ops or list_ops() for one in find_op(op).implementations}
    reason = why_skipped(find_phase(name), registered)
    if reason is not None:
        note_phase(folder, name, 0, 0, f"skipped: {reason}")
        folder.log(f"phase {name} is skipped: {reason}")
        return None
    return make_environment(find_phase(name), folder, spec.container_image) if spec.fresh_environments else Path(sys.executable)


def note_phase(folder: SweepFolder, name: str, jobs: int, done: int, reason: str | None = None) -> None:
    """How far a phase is."""
    (folder.path / "phases").mkdir(parents=True, exist_ok=True)
    write_whole(folder.path / "phases" / f"{name}.json", json.dumps({"phase": name, "jobs": jobs, "done": done, "reason": reason}))


def run_phase(folder: SweepFolder, spec: Spec, name: str, python: Path, epoch: str, rank: int, ranks: int) -> int:
    """A worker of one phase as a process of its environment, started again when a case takes it down. Its last exit code."""
    command = [str(python), "-m", "popcorn.sweep.filling", str(folder.path.resolve()), name, epoch, str(rank), str(ranks)]
    for _ in range(RESTARTS):
        code = subprocess.run(command, env={**os.environ, "POPCORN_CACHE_DIR": spec.cache}, check=False).returncode
        if code == 0 or folder.draining():
            return code
        folder.log(f"phase {name}, worker {rank}: died with {code}; it is started again")
    return code


def fill_phase(folder: SweepFolder, name: str, epoch: str, rank: int, ranks: int) -> None:
    """This worker's share of a phase: groups that nobody else claims."""
    spec = folder.spec()
    assert spec.matrix.ops is not None
    machine, cache, reps = probe(spec.matrix.device), Store(Path(spec.cache) / "records"), spec.matrix.ops.reps
    shard = Store(folder.path / "shards" / str(rank) / "records")
    everything = rows_of(spec.matrix, name, machine)
    keys = {row.key for row in everything}
    found = sorted(groups(everything).items())
    start = len(found) * rank // ranks
    told = Telling(folder, rank, machine.device_id, name)
    try:
        for title, rows in found[start:] + found[:start]:
            if folder.draining() or not folder.claim(epoch, f"{name}.{title}", rank):
                continue
            told.now = title
            for _ in range(reps):
                done = done_rows([cache, shard], rows, machine, reps)
                for _ in fill([row for row in rows if row.key not in done], shard, settings_of(spec.matrix), force=True):
                    told.rows += 1
                    if folder.draining():
                        break
                    if time.monotonic() - told.folded > FOLD_S:
                        told.folded = time.monotonic()
                        fold(folder, spec)
            fold(folder, spec)
            note_phase(folder, name, len(keys), len(keys & done_rows([cache], everything, machine, reps)))
        note_phase(folder, name, len(keys), len(keys & done_rows([cache], everything, machine, reps)))
    finally:
        told.close()


class Telling:
    """This worker's status, written again every few seconds whatever it does."""

    def __init__(self, folder: SweepFolder, rank: int, device: str, phase: str):
        self.rows, self.now, self.folded = 0, "", time.monotonic()
        self._facts = (folder, rank, device, phase, time.time())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The worker's last word."""
        self._ended.set()
        self._thread.join()

    def _write(self) -> None:
        folder, rank, device, phase, began = self._facts
        while True:
            over = self._ended.wait(2.0)
            folder.report(
                rank, state="ended" if over else "running", devices=[device], phase=phase, row=self.now, done=self.rows, began=began
            )
            if over:
                return


def fold(folder: SweepFolder, spec: Spec) -> int:
    """Records of all shards into the cache's, by id. Workers take turns."""
    import fcntl

    with (folder.path / "fold.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shards = [Store(path) for path in sorted((folder.path / "shards").glob("*/records"))]
        return merge(shards, Store(Path(spec.cache) / "records"))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: SweepFolder(Path(sys.argv[1])).drain())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fill_phase(SweepFolder(Path(sys.argv[1])), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
