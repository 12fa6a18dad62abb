"""One rank of a job of several processes: `python -m popcorn.worker.rank_process FOLDER RANK`. Needs torch.

FOLDER/job.json says what to do: `truth` (a trusted group makes inputs, the float64 truth and the reference's answer) or `candidate` (a group that
has inputs and weights' seed, and nothing else). Tensors cross as safetensors, which hold numbers and no code. The answer is one JSON file a rank.
"""

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import torch
from torch import distributed as dist


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
        dist.init_process_group(backend, init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=job["world"])
        _really_together(job["world"], device)
        answer = {"ok": _truth(job, folder, rank, device) if job["do"] == "truth" else _candidate(job, folder, rank, device)}
    except Exception as error:  # the parent words it
        answer = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:500]}", "details": traceback.format_exc()[-3000:]}
    (folder / f"answer-{rank}.json").write_text(json.dumps(answer))
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
    group, alone, times = dist.group.WORLD, None, []
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
                times = _timed(lambda model=model, inputs=inputs: model(*inputs, group), job["calls"], device)
                alone = _without_talking(model, inputs, rank)
        tensors = {f"input{index}": x.contiguous() for index, x in enumerate(inputs)}
        save_file(tensors, folder / "given" / f"{trial}-{rank}.safetensors")
        kept = {"truth": truth.contiguous(), "reference": reference.contiguous()} | ({} if alone is None else {"alone": alone.contiguous()})
        save_file(kept, folder / "truth" / f"{trial}-{rank}.safetensors")
        plan = {"count": len(inputs), "init_args": [int(x) if isinstance(x, int) else x for x in arguments], "seed": seed, "dims": dims}
        (folder / "given" / f"{trial}.json").write_text(json.dumps(plan))
        alone = None
    return {"times": times}


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
    dist.barrier()  # no rank's inputs are on disk any more when the candidate's text runs: it must communicate
    namespace: dict[str, Any] = {"__name__": "candidate"}
    exec(compile((folder / "candidate.py").read_text(), "candidate.py", "exec"), namespace)
    made, group, times = namespace.get("ModelNew"), dist.group.WORLD, []
    if not isinstance(made, type):
        raise TypeError("the candidate defines no class ModelNew")
    for trial in range(job["trials"]):
        plan, given = plans[trial], sets[trial]
        inputs = [given[f"input{index}"].to(device) for index in range(plan["count"])]
        before = [x.clone() for x in inputs]
        model = _built(made, plan["init_args"], plan["seed"], device)
        with torch.no_grad():
            got = model(*inputs, group)
            if not isinstance(got, torch.Tensor):
                raise TypeError(f"forward returned {type(got).__name__}; expected a tensor")
            save_file({"got": got.contiguous()}, folder / "got" / f"{trial}-{rank}.safetensors")
            if not all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True)):
                raise ValueError("the inputs were changed; write to a fresh tensor")
            if trial == 0:
                times = _timed(lambda model=model, inputs=inputs: model(*inputs, group), job["calls"], device)
    return {"times": times}


def _built(made: type, arguments: list[Any], seed: int, device: torch.device) -> Any:
    torch.manual_seed(seed)  # the same weights on every rank
    model = made(*arguments)
    return model.to(device) if isinstance(model, torch.nn.Module) else model


def _timed(act: Any, calls: int, device: torch.device) -> list[float]:
    """Seconds of each call, from a barrier to the slowest rank's end; two calls before do not count."""
    times = []
    for index in range(calls + 2 if calls else 0):
        dist.barrier()
        if device.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        act()
        if device.type == "cuda":
            torch.cuda.synchronize()
        took = torch.tensor([time.perf_counter() - started], device=device)
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        if index >= 2:
            times.append(float(took))
    return times


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
