"""One call of a candidate inside the range that Nsight Compute watches: a process of its own under ncu.

`Profile` (in the parent) starts it while the candidate waits for the device, and saves one input set and the weights for it when its turn has come;
`main` (in the profiled process) imports, waits for those, fences files as any candidate's child does, loads the candidate and calls it: twice to
warm up, once inside cudaProfilerStart/Stop. Its result is not used: the candidate was judged before.
Builds were made before too: a load_inline call is answered with what the build lane answered then.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popcorn.measure.counters import Watched, collect_counters, watch
from popcorn.schema.measurement import Counters

if TYPE_CHECKING:
    from popcorn.worker.session import Session

_JOB = "job.json"
_LOOK_S = 0.005


class Profile:
    """The profiled process of one evaluation, from its start to its counters."""

    def __init__(self, session: "Session"):
        from popcorn.toolchain.triton_cache import private_caches

        self.session = session
        self.folder = folder = session.new_folder("profiled")
        env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
        env |= {"HOME": str(folder), "TMPDIR": str(folder), **private_caches(session.bench.cache / "private", session.private)}
        env["PYTHONPATH"] = os.pathsep.join(p for p in (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")) if p)
        if session.bench.machine.device_uuid:
            env["CUDA_VISIBLE_DEVICES"] = session.bench.machine.device_uuid
        self.env = env
        self.command = [sys.executable, "-P", "-m", "popcorn.worker.profiled", str(folder), str(os.getpid())]
        self.watched = watch(self.command, env, folder)

    def collect(self) -> Counters:
        """Give it its work, and wait for what ncu saw. In the device lane."""
        session = self.session
        assert session.oracle is not None and session.built is not None
        question = session.question(session.opened["nominal"], "launch", "profiled")
        trial = session.ask(session.oracle, {"do": "trial", "question": question, "truth": False})
        session.ask(session.oracle, {"do": "save_inbox", "path": str(self.folder / "inbox.bin")})
        suffix = ".py" if session.built.path is None else Path(session.request.name).suffix
        candidate = self.folder / f"candidate{suffix}"
        candidate.write_text(session.request.source, encoding="utf-8")
        job = {
            "candidate": str(candidate), "language": session.request.language, "library": str(session.built.path) if session.built.path else None,
            "builds": str(session.bench.builds.folder), "precision": session.request.precision, "gradient": session.gradient,
            "init_seed": question["init_seed"], "trial": trial, "copies": session.copies, "answers": session.answers,
            "private": str(session.bench.cache / "private" / session.private),
        }  # fmt: skip
        (self.folder / "job.part").write_text(json.dumps(job))
        (self.folder / "job.part").rename(self.folder / _JOB)
        return collect_counters(self.command, self.env, session.request.timeout_s, self.folder, self.watched)


@contextmanager
def profile_of(session: "Session") -> "Iterator[None]":
    """Has a process ready for the counters of this candidate, where they are asked for and not too many wait so: another one's starts when its turn has
    come. It ends with the context."""
    request = session.request
    if not (session.bench.cuda and request.counters and request.timing) or "WORLD" in session.nominal:
        yield
        return
    early = session.bench.profiles.acquire(blocking=False)
    if early:
        session.profile = Profile(session)
    try:
        yield
    finally:
        if early:
            session.bench.profiles.release()
        watched = session.profile.watched if session.profile is not None else None
        # one that was waited for is gone, and its number may be another's by now
        if isinstance(watched, Watched) and watched.process.returncode is None:
            watched.kill()


def main(folder: Path, owner: int) -> None:
    """Run as `python -m popcorn.worker.profiled FOLDER PID` under ncu; PID is the process that wants it."""
    import torch

    import popcorn.toolchain.native_module  # noqa: F401 - what lies outside the fence later is imported before it closes
    from popcorn.toolchain.inline import intercept
    from popcorn.toolchain.nvrtc import intercept_nvrtc
    from popcorn.worker import sandbox
    from popcorn.worker.mailbox import DTYPES, Buffer, tensors_of, unpack
    from popcorn.worker.subject import CandidateFile, import_candidate, load_candidate, set_precision

    while not (folder / _JOB).exists():
        if not Path(f"/proc/{owner}").exists():
            return
        time.sleep(_LOOK_S)
    job: dict[str, Any] = json.loads((folder / _JOB).read_text())
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
    main(Path(sys.argv[1]), int(sys.argv[2]))
