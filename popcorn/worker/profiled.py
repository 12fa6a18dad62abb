"""One call of a candidate inside the range that Nsight Compute watches: a process of its own, started under ncu by counting.py.

`prepare` (in the parent) saves one input set and the weights; `main` (in the profiled process) closes the same sandbox as any candidate's
child, loads the candidate and calls it: twice to warm up, once inside cudaProfilerStart/Stop. Its result is not used; it was judged before.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popcorn.worker.session import Session


def prepare(session: "Session") -> tuple[Path, dict[str, str]]:
    """Writes what the profiled process needs into a fresh folder; returns it and the environment to run in."""
    from popcorn.worker.session import Session as _Session

    assert isinstance(session, _Session) and session.oracle is not None and session.built is not None
    folder = session.bench.new_folder("profiled")
    question = session.question(session.opened["nominal"], "launch", "profiled")
    trial = session.ask(session.oracle, {"do": "trial", "question": question, "truth": False, "conditioning": False})
    session.ask(session.oracle, {"do": "save_inbox", "path": str(folder / "inbox.bin")})
    suffix = ".py" if session.built.path is None else Path(session.request.name).suffix
    candidate = folder / f"candidate{suffix}"
    candidate.write_text(session.request.source)
    job = {
        "candidate": str(candidate), "language": session.request.language, "library": str(session.built.path) if session.built.path else None,
        "builds": str(session.bench.builds.folder), "precision": session.request.precision, "gradient": session.gradient,
        "question": question, "trial": trial, "arch": session.bench.machine.compute_capability,
    }  # fmt: skip
    (folder / "job.json").write_text(json.dumps(job))
    env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(folder), "TMPDIR": str(folder), "TRITON_CACHE_DIR": str(session.bench.cache / "triton" / session.candidate_hash)}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")) if p)
    if session.bench.machine.device_uuid:
        env["CUDA_VISIBLE_DEVICES"] = session.bench.machine.device_uuid
    return folder, env


def main(folder: Path) -> None:
    """Run as `python -m popcorn.worker.profiled FOLDER` under ncu."""
    import torch

    from popcorn.toolchain.cache import BuildCache
    from popcorn.toolchain.inline import build_inline, intercept
    from popcorn.worker.mailbox import DTYPES, Buffer, tensors_of, unpack
    from popcorn.worker.subject import CandidateFile, import_candidate, load_candidate, set_precision

    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    device = torch.device("cuda:0")
    data = torch.from_file(str(folder / "inbox.bin"), size=(folder / "inbox.bin").stat().st_size, dtype=torch.uint8)
    inbox = Buffer(data.to(device), {"kind": "copy"})
    cache = BuildCache(Path(job["builds"]))
    intercept(lambda request: build_inline(request, cache, job["arch"], 300.0).answer())
    set_precision(job["precision"])
    trial = job["trial"]
    file = CandidateFile(Path(job["candidate"]), job["language"], Path(job["library"]) if job["library"] else None)
    module = import_candidate(file) if file.library is None else None
    specs = [(tuple(shape), DTYPES[dtype]) for shape, dtype in trial["output_specs"]]
    subject = load_candidate(
        module, file, unpack(trial["init_args"], inbox), job["question"]["init_seed"], job["precision"], device, job["gradient"],
        unpack(trial["state"], inbox), trial["parameter_names"] if job["gradient"] else [], specs,
    )  # fmt: skip
    inputs = unpack(trial["set"]["inputs"], inbox)
    for tensor, wanted in zip(tensors_of(inputs), trial["set"]["differentiable"], strict=True):
        tensor.requires_grad_(wanted)
    cotangents = tensors_of(unpack(trial["set"]["cotangents"], inbox))
    for _ in range(2):
        subject.call(inputs, cotangents)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    subject.call(inputs, cotangents)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
