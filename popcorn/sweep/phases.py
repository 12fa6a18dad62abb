"""Phases of an op sweep: one backend each, in an environment of its own, or skipped with the reason it cannot work here. Imports no torch.

An environment is a fresh venv over the one that runs the sweep: what the backend needs is installed into it alone, so backends that want different
versions of one package never meet, and torch is not installed nine times. It is kept for later sessions while its key stays the same: backend, packages,
Python, torch, Popcorn's version, container image.
"""

import hashlib
import json
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from popcorn import __version__
from popcorn.devices.host import nvcc, package_version, torch_build
from popcorn.errors import BadSweep
from popcorn.sweep.folder import SweepFolder

INSTALL_S = 3600


@dataclass(frozen=True)
class Phase:
    """One backend."""

    name: str
    implementations: tuple[str, ...]
    """Names of implementations in the library."""
    packages: tuple[str, ...] = ()
    """What pip installs for it."""


PHASES = {
    phase.name: phase
    for phase in (
        Phase("reference", ("torch", "inductor")),
        Phase("popcorn", ("popcorn", "chunked", "triton", "sdpa", "shifted", "scaled")),
        Phase("cudnn", ("cudnn",), ("nvidia-cudnn-frontend",)),
        Phase("fa3", ("fa3",)),
        Phase("fla", ("fla",), ("flash-linear-attention",)),
        Phase("liger", ("liger",), ("liger-kernel>=0.5,<1",)),
        Phase("quack", ("quack",), ("quack-kernels",)),
        Phase("transformer_engine", ("transformer_engine",), ("transformer-engine[pytorch]",)),
        Phase("unsloth", ("unsloth",), ("unsloth",)),
    )
}
"""In the order in which they run: references come first."""


def find_phase(name: str) -> Phase:
    """Raises BadSweep with the names there are."""
    if name not in PHASES:
        raise BadSweep(f"there is no phase {name[:60]!r}; expected some of {', '.join(PHASES)}.")
    return PHASES[name]


def why_skipped(phase: Phase, registered: set[str]) -> str | None:
    """Why this phase cannot work here, or None."""
    if not registered & set(phase.implementations):
        return f"the library has no implementation of {phase.name} for these ops"
    if phase.name == "cudnn" and (found := cuda_runtimes()) and len(found) > 1:
        return f"the frontend cannot load one unambiguous CUDA runtime: {', '.join(found)} are installed"
    if phase.name == "fa3":
        wanted, here = torch_build().get("cuda"), nvcc()
        if wanted is None or here is None or _major(wanted) != _major(here):
            return f"nvcc ({here or 'absent'}) cannot compile against torch's CUDA build ({wanted or 'none'})"
    return None


def cuda_runtimes() -> list[str]:
    """Packages here that bring a CUDA runtime library."""
    names = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu11")
    return [f"{name} {version}" for name in names if (version := package_version(name))]


def environment_key(phase: Phase, image: str | None) -> str:
    """16 hex digits; another key is another environment."""
    facts = [phase.name, phase.packages, sys.version, sys.prefix, torch_build(), __version__, image]
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]


def make_environment(phase: Phase, folder: SweepFolder, image: str | None = None) -> Path:
    """The Python of this phase's environment, made now unless it is there with the same key. Raises BadSweep with pip's last words."""
    place = folder.path.resolve() / "environments" / phase.name
    python, stamp, key = place / "bin" / "python", place / "popcorn.key", environment_key(phase, image)
    if stamp.is_file() and stamp.read_text() == key and python.exists():
        return python
    folder.log(f"phase {phase.name}: making its environment")
    _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(place)], phase)
    packages = next(place.glob("lib/python*/site-packages"))
    lines = [sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"], str(Path(__file__).resolve().parents[2])]
    (packages / "popcorn_below.pth").write_text("\n".join(dict.fromkeys(lines)) + "\n")
    if phase.packages:
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *phase.packages], phase)
    stamp.write_text(key)
    return python


def _run(command: list[str], phase: Phase) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-400:]
        raise BadSweep(f"the environment of phase {phase.name} could not be made: {said}")


def _major(version: str) -> str:
    import re

    found = re.search(r"(\d+)\.\d+", version)
    return found[1] if found else version
