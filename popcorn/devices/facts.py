"""What works on this machine, what does not, and the fix: the facts behind `popcorn doctor`. Imports without torch.

Each fact is found by trying, where trying is cheap: a compiler compiles, a namespace is entered, a counter is read.
"""

import ctypes
import errno
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from popcorn.devices import host, nvml
from popcorn.devices.ceilings import load_ceilings
from popcorn.devices.landlock import landlock_abi
from popcorn.schema.machine import Machine
from popcorn.units import show_bytes, show_rate

State = Literal["works", "absent", "does not apply"]


@dataclass(frozen=True)
class Fact:
    """One thing that a measurement or its isolation rests on."""

    name: str
    state: State
    finding: str
    """What was found, in a few words."""
    fix: str | None = None
    """The command or step that mends it; None when nothing is to be mended, or nothing can be."""


def gather(machine: Machine, cache: Path) -> list[Fact]:
    """All facts about a machine, in the order in which they are shown. `cache` is the folder that holds measured ceilings."""
    checks: list[Callable[[], Fact]] = [
        lambda: _device(machine),
        lambda: _ceilings(machine, cache),
        lambda: _torch(machine),
        _nvml,
        lambda: _counter_permission(machine),
        lambda: _energy(machine),
        _compiler,
        lambda: _tool("nvcc", host.nvcc(), "install the CUDA toolkit, or set CUDA_HOME"),
        _sycl,
        lambda: _package("triton", "pip install triton", needs_gpu=True, machine=machine),
        lambda: _package("tilelang", "pip install 'popcornbench[tilelang]'", needs_gpu=True, machine=machine),
        lambda: _package("nvidia-cutlass-dsl", "pip install 'popcornbench[cute]'", needs_gpu=True, machine=machine, name="cute"),
        _landlock,
        _seccomp,
    ]
    return [check() for check in checks]


def _device(machine: Machine) -> Fact:
    cores = f"{machine.multiprocessors} {'multiprocessors' if machine.kind == 'cuda' else 'cores'}"
    words = [
        machine.device_name,
        cores,
        show_bytes(machine.memory_bytes),
        f"driver {machine.driver}" if machine.kind == "cuda" else f"Linux {machine.driver}",
    ]
    return Fact("device", "works", ", ".join(words))


def _ceilings(machine: Machine, cache: Path) -> Fact:
    device = "cpu" if machine.kind == "cpu" else f"cuda:{machine.device_index}"
    found = load_ceilings(machine, cache / "ceilings")
    if found is None:
        return Fact("ceilings", "absent", "not measured yet", f"popcorn doctor --device {device} --measure")
    rates = [f"{precision} {show_rate(rate, 'FLOP')}" for precision, rate in sorted(found.flop_per_s.items())]
    return Fact("ceilings", "works", ", ".join([show_rate(found.bandwidth_bytes_per_s, "B"), *rates]))


def _torch(machine: Machine) -> Fact:
    if machine.torch is None:
        return Fact("torch", "absent", "not installed", "pip install torch")
    if machine.kind != "cpu" and machine.cuda is None:
        return Fact(
            "torch", "absent", f"{machine.torch} is built without CUDA", "install a CUDA build of torch: see pytorch.org/get-started"
        )
    return Fact("torch", "works", machine.torch + (f", CUDA {machine.cuda}" if machine.cuda else ", for the CPU"))


def _nvml() -> Fact:
    opened = nvml.open_nvml()
    if opened.library is not None:
        lost = nvml.silent()
        finding = f"{len(nvml.visible_handles())} GPU(s) visible" + (f", {lost} more without an answer" if lost else "")
        return Fact("nvml", "works", finding, "nvidia-smi --gpu-reset, or restart the machine" if lost else None)
    has_gpu = Path("/proc/driver/nvidia").exists() or Path("/dev/nvidia0").exists()
    if has_gpu:
        fix = (
            "pip install 'popcornbench[gpu]'"
            if "not installed" in (opened.reason or "")
            else "install the NVIDIA driver's libnvidia-ml.so.1"
        )
        return Fact("nvml", "absent", f"a GPU is here, but {opened.reason}", fix)
    return Fact("nvml", "does not apply", "no NVIDIA driver on this machine")


def _counter_permission(machine: Machine) -> Fact:
    """Whether ncu is here and the driver lets this user read counters (the kernel module's RmProfilingAdminOnly)."""
    if machine.kind != "cuda":
        return Fact("hardware counters", "does not apply", "Nsight Compute counts on NVIDIA GPUs")
    ncu = host.find_ncu()
    if ncu is None:
        return Fact("hardware counters", "absent", "ncu not found", "install Nsight Compute (part of the CUDA toolkit)")
    if "gVisor" in _read(Path("/proc/version")):
        return Fact("hardware counters", "absent", "ncu does not read counters under gVisor", "use a machine with a kernel of its own")
    restricted = "RmProfilingAdminOnly: 1" in _read(Path("/proc/driver/nvidia/params"))
    if restricted and not _may_administer():
        fix = "run as root, give the container CAP_SYS_ADMIN, or load nvidia with NVreg_RestrictProfilingToAdminUsers=0"
        return Fact("hardware counters", "absent", "the driver keeps them for administrators", fix)
    return Fact("hardware counters", "works", ncu)


def _energy(machine: Machine) -> Fact:
    if machine.kind == "cuda":
        library = nvml.open_nvml().library
        handle = nvml.ask(library, "nvmlDeviceGetHandleByUUID", machine.device_uuid) if library else None
        counted = nvml.ask(library, "nvmlDeviceGetTotalEnergyConsumption", handle) if handle is not None else None
        if counted is None:
            return Fact("energy", "absent", "this GPU or driver has no total-energy counter (Volta or newer has)")
        return Fact("energy", "works", "NVML total-energy counter")
    counters = sorted(Path("/sys/class/powercap").glob("*-rapl:*/energy_uj"))
    if not counters:
        return Fact("energy", "absent", "no RAPL counter (a virtual machine, or intel_rapl_msr is not loaded)")
    if not os.access(counters[0], os.R_OK):
        return Fact("energy", "absent", "RAPL is readable by root only", "sudo chmod a+r /sys/class/powercap/*/energy_uj")
    return Fact("energy", "works", f"RAPL, {len(counters)} counter(s)")


def _compiler() -> Fact:
    """The C++ compiler, tried on an empty program."""
    version = host.compiler()
    if version is None:
        return Fact("C++ compiler", "absent", "none found", "apt-get install g++, or set CXX")
    command = [os.environ.get("CXX") or "c++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-"]
    try:
        done = subprocess.run(command, input="#include <vector>\nint main() {}\n", capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Fact("C++ compiler", "absent", f"{version} does not run: {error}"[:120], "apt-get install g++")
    if done.returncode != 0:
        return Fact("C++ compiler", "absent", f"{version} cannot compile with <vector>", "apt-get install g++")
    return Fact("C++ compiler", "works", version)


def _tool(name: str, version: str | None, fix: str) -> Fact:
    return Fact(name, "works", version) if version else Fact(name, "absent", "not found", fix)


def _sycl() -> Fact:
    found = host.find_sycl()
    return Fact("sycl", "works", found) if found else Fact("sycl", "absent", "no icpx, no acpp; only SYCL kernels need one", host.SYCL_FIX)


def _package(package: str, fix: str, needs_gpu: bool, machine: Machine, name: str | None = None) -> Fact:
    version = host.package_version(package)
    if version:
        return Fact(name or package, "works", version)
    if needs_gpu and machine.kind == "cpu":
        return Fact(name or package, "does not apply", "needs a GPU")
    return Fact(name or package, "absent", "not installed", fix)


def _landlock() -> Fact:
    """File-system isolation without privileges."""
    version = landlock_abi()
    if version >= 1:
        network = "files and TCP" if version >= 4 else "files"
        return Fact("Landlock", "works", f"version {version}: {network}")
    if ctypes.get_errno() == errno.EOPNOTSUPP:
        return Fact("Landlock", "absent", "built in but switched off", "add landlock to the kernel's lsm= boot parameter")
    return Fact("Landlock", "absent", "this kernel has none", "use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK")


def _seccomp() -> Fact:
    actions = _read(Path("/proc/sys/kernel/seccomp/actions_avail")).split()
    if "errno" in actions:
        return Fact("seccomp", "works", "filters available")
    return Fact("seccomp", "absent", "this kernel has no seccomp filters", "use a kernel with CONFIG_SECCOMP_FILTER")


def _may_administer() -> bool:
    """True with root or CAP_SYS_ADMIN (bit 21) in the effective set."""
    for line in _read(Path("/proc/self/status")).splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> 21 & 1)
    return os.geteuid() == 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
