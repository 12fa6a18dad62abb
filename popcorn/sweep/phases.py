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
from importlib.util import find_spec
from pathlib import Path

from popcorn import __version__
from popcorn.devices.host import torch_build
from popcorn.errors import BadSweep
from popcorn.ops.packages import PACKAGES
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


def _pinned(name: str, extra: str = "") -> str:
    return f"{PACKAGES[name].name}{extra}{PACKAGES[name].bounds}"


PHASES = {
    phase.name: phase
    for phase in (
        Phase("reference", ("torch", "inductor")),
        Phase("popcorn", ("popcorn", "chunked", "triton", "sdpa", "shifted", "scaled")),
        Phase("cudnn", ("cudnn",)),
        Phase("fa3", ("fa3",)),
        Phase("fla", ("fla",), (_pinned("fla"),)),
        Phase("liger", ("liger",), (_pinned("liger"),)),
        Phase("quack", ("quack",), (_pinned("quack"),)),
        Phase("transformer_engine", ("transformer_engine",), (_pinned("transformer_engine", "[pytorch]"),)),
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
    if phase.name == "fa3" and find_spec("flash_attn_interface") is None:
        return f"flash_attn_interface is not installed: {PACKAGES['fa3'].command}"
    return None


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
