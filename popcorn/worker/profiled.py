"""One call of a candidate inside the range that Nsight Compute watches: a process of its own, started under ncu by counting.py.

`prepare` (in the parent) saves one input set and the weights; `main` (in the profiled process) fences files as any candidate's child does,
loads the candidate and calls it: twice to warm up, once inside cudaProfilerStart/Stop. Its result is not used: the candidate was judged before.
Builds were made before too: a load_inline call is answered with what the build lane answered then.
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
    from popcorn.toolchain.triton_cache import private_caches

    assert session.oracle is not None and session.built is not None
    folder = session.new_folder("profiled")
    question = session.question(session.opened["nominal"], "launch", "profiled")
    trial = session.ask(session.oracle, {"do": "trial", "question": question, "truth": False})
    session.ask(session.oracle, {"do": "save_inbox", "path": str(folder / "inbox.bin")})
    suffix = ".py" if session.built.path is None else Path(session.request.name).suffix
    candidate = folder / f"candidate{suffix}"
    candidate.write_text(session.request.source)
    job = {
        "candidate": str(candidate), "language": session.request.language, "library": str(session.built.path) if session.built.path else None,
        "builds": str(session.bench.builds.folder), "precision": session.request.precision, "gradient": session.gradient,
        "init_seed": question["init_seed"], "trial": trial, "copies": session.copies, "answers": session.answers,
        "private": str(session.bench.cache / "private" / session.private),
    }  # fmt: skip
    (folder / "job.json").write_text(json.dumps(job))
    env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(folder), "TMPDIR": str(folder), **private_caches(session.bench.cache / "private", session.private)}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")) if p)
    if session.bench.machine.device_uuid:
        env["CUDA_VISIBLE_DEVICES"] = session.bench.machine.device_uuid
    return folder, env


def main(folder: Path) -> None:
    """Run as `python -m popcorn.worker.profiled FOLDER` under ncu."""
    import torch

    import popcorn.toolchain.native_module  # noqa: F401 - what lies outside the fence later is imported before it closes
    from popcorn.toolchain.inline import intercept
    from popcorn.toolchain.nvrtc import intercept_nvrtc
    from popcorn.worker import sandbox
    from popcorn.worker.mailbox import DTYPES, Buffer, tensors_of, unpack
    from popcorn.worker.subject import CandidateFile, import_candidate, load_candidate, set_precision

    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    device = torch.device("cuda:0")
    data = torch.from_file(str(folder / "inbox.bin"), size=(folder / "inbox.bin").stat().st_size, dtype=torch.uint8)
    inbox = Buffer(data.to(device), {"kind": "copy"})
    torch.cuda.init()
    # ncu talks to this process over a loopback socket, so the network stays open; there is no secret here to send
    sandbox.enter(
        [*sandbox.public_paths(), Path(job["builds"])],
        [folder, Path(job["private"]), Path("/tmp"), *sandbox.device_files()],
        fence_network=False,
    )
    intercept(lambda request: job["answers"][_name(request)])
    intercept_nvrtc(lambda note: None, Path(os.environ["TRITON_CACHE_DIR"]).parent / "nvrtc")
    set_precision(job["precision"])
    trial = job["trial"]
    file = CandidateFile(Path(job["candidate"]), job["language"], Path(job["library"]) if job["library"] else None)
    module = import_candidate(file) if file.library is None else None
    specs = [(tuple(shape), DTYPES[dtype]) for shape, dtype in trial["output_specs"]]
    subject = load_candidate(
        module, file, unpack(trial["init_args"], inbox), job["init_seed"], job["precision"], device, job["gradient"],
        unpack(trial["state"], inbox), trial["parameter_names"] if job["gradient"] else [], specs, job["copies"],
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


def _name(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
