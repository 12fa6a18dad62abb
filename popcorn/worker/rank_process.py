"""One rank of a job of several processes: `python -m popcorn.worker.rank_process FOLDER RANK`. Needs torch.

FOLDER/job.json says what to do: `truth` (a trusted group makes inputs, the float64 truth and the reference's answer) or `candidate` (a group that
has inputs and weights' seed, and nothing else). Tensors cross as safetensors, which hold numbers and no code. The answer is one JSON file a rank.

A candidate's rank meets the others and makes its connections first, then closes the fence that every candidate is behind, then runs the text:
on CPUs no socket can be opened any more, and nothing outside its own folder read or written. On GPUs the fence stays open, since NCCL opens
sockets and shared memory as it goes; the answer says so.
"""

import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import distributed as dist

from popcorn.worker.failure import Failed, failure_of
from popcorn.worker.submission import model_maker

ROW_S = 0.4
"""What a row of calls should take."""
ROW_CALLS = (5, 4000)
"""Fewest and most calls of a row."""
SINGLE = 10
"""Calls that each rank times for itself."""
MAX_FILE_BYTES = 8 << 30
NVIDIA = "its ranks were not fenced: NCCL opens sockets and shared memory as it goes"


def main(folder: Path, rank: int) -> None:
    """Join the group, do the job, leave an answer."""
    job = json.loads((folder / "job.json").read_text())
    answer: dict[str, Any]
    try:
        torch.set_num_threads(job["threads"])
        device = torch.device(job["device"], rank) if job["device"] == "cuda" else torch.device("cpu")
        if device.type == "cuda":
            torch.cuda.set_device(device)
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, init_method=f"file://{folder / 'meet' / 'ing'}", rank=rank, world_size=job["world"])
        _really_together(job["world"], device)
        answer = {"ok": _truth(job, folder, rank, device) if job["do"] == "truth" else _candidate(job, folder, rank, device)}
    except Exception as error:  # the parent words it
        failed = failure_of(error, "candidate.py" if job["do"] == "candidate" else "")
        answer = {"failed": failed.reason, "outcome": failed.outcome}
    part = folder / "out" / f"part-{rank}"
    part.write_text(json.dumps(answer))
    part.rename(folder / "out" / f"answer-{rank}.json")
    if dist.is_initialized() and "ok" in answer:
        dist.destroy_process_group()


def _really_together(world: int, device: torch.device) -> None:
    """A group of one would make every collective the identity: refuse it."""
    one = torch.ones(1, device=device)
    dist.all_reduce(one)
    if int(one) != world or world < 2:
        raise RuntimeError(f"the group has {int(one)} processes and {world} were asked for; expected two or more")


def _truth(job: dict[str, Any], folder: Path, rank: int, device: torch.device) -> dict[str, Any]:
    from safetensors.torch import save_file

    from popcorn.suites.loading import load

    loaded = load(job["problem"], job["size"], world=job["world"])
    group, alone, told = dist.group.WORLD, None, {"row": 0, "call_s": 0.0}
    for trial, seed in enumerate(job["seeds"]):
        dims = loaded.draw_dims(seed, trial > 0)
        with device:
            torch.manual_seed(job["input_seeds"][trial] + rank)  # every rank its own inputs; a candidate is not told these seeds
            inputs = loaded.inputs(dims)
        arguments = loaded.init_args(dims)
        model = _built(loaded.Model, arguments, seed, device)
        with torch.no_grad():
            reference = model(*[x.clone() for x in inputs], group)
            truth = model.double()(*[x.double() if x.is_floating_point() else x for x in inputs], group)
            if trial == 0:
                model = _built(loaded.Model, arguments, seed, device)
                told, _ = _timed(partial(model, *inputs, group), job["row"], folder, rank, device)
                alone = _without_talking(model, inputs, rank)
        tensors = {f"input{index}": x.contiguous() for index, x in enumerate(inputs)}
        save_file(tensors, folder / "given" / f"{trial}-{rank}.safetensors")
        kept = {"truth": truth.contiguous(), "reference": reference.contiguous()} | ({} if alone is None else {"alone": alone.contiguous()})
        save_file(kept, folder / "truth" / f"{trial}-{rank}.safetensors")
        plan = {"count": len(inputs), "init_args": [int(x) if isinstance(x, int) else x for x in arguments], "seed": seed, "dims": dims}
        (folder / "given" / f"{trial}.json").write_text(json.dumps(plan))
        alone = None
    return {**told, "missing": []}


def _without_talking(model: torch.nn.Module, inputs: list[Any], rank: int) -> torch.Tensor | None:
    """What a rank would answer by itself, in a group of one; None where the problem cannot run so."""
    lonely = [dist.new_group([one]) for one in range(dist.get_world_size())][rank]
    try:
        return model(*inputs, lonely)
    except (RuntimeError, ValueError, IndexError):
        return None


def _candidate(job: dict[str, Any], folder: Path, rank: int, device: torch.device) -> dict[str, Any]:
    from safetensors.torch import load_file, save_file

    plans, sets = [], []
    for trial in range(job["trials"]):
        plans.append(json.loads((folder / "given" / f"{trial}.json").read_text()))
        mine = folder / "given" / f"{trial}-{rank}.safetensors"
        sets.append({name: x.clone() for name, x in load_file(mine).items()})
        mine.unlink()
    text = (folder / "candidate.py").read_text()
    dist.barrier()  # no rank's inputs are on disk any more when the candidate's text runs: it must communicate
    missing = _close_fence(folder, device)
    namespace: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(text, "candidate.py", "exec"), namespace)
    made, group, told = model_maker(namespace), dist.group.WORLD, {"row": 0, "call_s": 0.0}
    for trial in range(job["trials"]):
        plan, given = plans[trial], sets[trial]
        inputs = [given[f"input{index}"].to(device) for index in range(plan["count"])]
        before = [x.clone() for x in inputs]
        model = _built(made, plan["init_args"], plan["seed"], device)
        with torch.no_grad():
            got = _tensor(model(*inputs, group))
            save_file({"got": got.contiguous()}, folder / "got" / f"{trial}-{rank}.safetensors")
            _unchanged(inputs, before)
            if trial == 0 and job["row"] != 0:
                told, last = _timed(partial(model, *inputs, group), job["row"], folder, rank, device)
                save_file({"got": _tensor(last).contiguous()}, folder / "got" / f"row-{rank}.safetensors")
                _unchanged(inputs, before)
    return {**told, "missing": missing}


def _close_fence(folder: Path, device: torch.device) -> list[str]:
    """The fence of sandbox.py, from here on, for this process and its children."""
    if device.type == "cuda":
        return [NVIDIA]
    import popcorn.suites.jitter  # a text that begins with the reference's asks for it, and may not read where it lies
    import popcorn.toolchain.diagnostics  # noqa: F401 - what words a failure asks for it
    from popcorn.worker import sandbox

    sandbox.limit_resources(None, MAX_FILE_BYTES, 1 << 14)
    writable = [folder / name for name in ("got", "out", "meet", "home")]
    return sandbox.enter(sandbox.public_paths(), [*writable, *sandbox.device_files()])


def _tensor(got: Any) -> torch.Tensor:
    if not isinstance(got, torch.Tensor):
        raise TypeError(f"forward returned {type(got).__name__}; expected a tensor")
    return got


def _unchanged(inputs: list[torch.Tensor], before: list[torch.Tensor]) -> None:
    if not all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True)):
        raise Failed("mutated_inputs", "the inputs were changed; write to a fresh tensor")


def _built(made: Callable[..., Any], arguments: list[Any], seed: int, device: torch.device) -> Any:
    torch.manual_seed(seed)  # the same weights on every rank
    model = made(*arguments)
    return model.to(device) if isinstance(model, torch.nn.Module) else model


def _timed(
    act: Callable[[], Any], calls: int | None, folder: Path, rank: int, device: torch.device, clock: Callable[[], float] = time.perf_counter
) -> tuple[dict[str, Any], Any]:
    """Single calls by this rank's own clock, from a barrier; then a row of `calls` without one, whose begin and end the parent sees.

    calls: None to choose as many as take ROW_S. Returns what the parent is told, and the last call's result.
    """
    times, slowest, last = [], [], None
    for index in range(SINGLE + 2):
        _together(device)
        started = clock()
        last = act()
        _finished(device)
        took = clock() - started
        worst = torch.tensor([took], device=device)
        dist.all_reduce(worst, op=dist.ReduceOp.MAX)
        if index >= 2:
            times.append(took)
            slowest.append(float(worst))
    usual = sorted(slowest)[len(slowest) // 2]  # the same number on every rank
    calls = calls if calls is not None else min(max(ROW_CALLS[0], math.ceil(ROW_S / max(usual, 1e-7))), ROW_CALLS[1])
    _together(device)
    if rank == 0:
        (folder / "out" / "begin").touch()
    for _ in range(calls):
        last = act()
    _finished(device)
    dist.barrier()
    if rank == 0:
        (folder / "out" / "end").touch()
    return {"row": calls, "call_s": sorted(times)[len(times) // 2]}, last


def _together(device: torch.device) -> None:
    dist.barrier()
    _finished(device)


def _finished(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
