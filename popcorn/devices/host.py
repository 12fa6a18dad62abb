"""The host itself: processor, usable cores, memory, caches, compilers, installed packages. Imports without torch."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from popcorn.errors import UnknownDevice

ROOT = Path("/")


def cpu_name(root: Path = ROOT) -> str:
    """Model name from /proc/cpuinfo, or the architecture where it gives none (many ARM kernels)."""
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", _read(root / "proc/cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else platform.machine() or "unknown"


def cpu_clock_hz(root: Path = ROOT) -> float | None:
    """Clock of the first core now; None where the kernel does not say."""
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)$", _read(root / "proc/cpuinfo") or "", re.MULTILINE)
    return float(found[1]) * 1e6 if found else None


def usable_cores(root: Path = ROOT) -> int:
    """Cores that this process may use at once: its affinity, limited by the CPU quota of its cgroups. At least 1."""
    quota = _cpu_quota(root)
    cores = len(os.sched_getaffinity(0))
    return cores if quota is None else max(1, min(cores, int(quota)))


def measuring_threads(cores: int) -> int:
    """Threads of a CPU measurement: $POPCORN_THREADS, else all cores but one.

    One core is left to the harness and to the rest of the machine: a team of threads waits for its slowest member, so with every core in it
    one foreign process turned 2 ms into 74 ms in the median (2 cores, load 3), while a team of one stayed within 4 %.
    Raises UnknownDevice when the variable is not a number of cores that are there.
    """
    asked = os.environ.get("POPCORN_THREADS")
    if not asked:
        return max(1, cores - 1)
    if not asked.isdecimal() or not 1 <= int(asked) <= cores:
        raise UnknownDevice(
            f"POPCORN_THREADS={asked!r} is not a number from 1 to {cores}, the cores that this process may use; unset it or choose one"
        )
    return int(asked)


def separate_cores(count: int, root: Path = ROOT) -> list[int]:
    """`count` processors that share no core with each other, the last ones first; fewer where there are fewer."""
    chosen: dict[str, int] = {}
    for cpu in sorted(os.sched_getaffinity(0), reverse=True):
        siblings = _read(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        chosen.setdefault(siblings or str(cpu), cpu)
    apart = list(chosen.values()) if len(chosen) >= count else sorted(os.sched_getaffinity(0), reverse=True)
    return sorted(apart[:count])


def memory_bytes(root: Path = ROOT) -> int | None:
    """Memory that this process may use: the machine's, limited by its cgroups."""
    found = re.search(r"^MemTotal:\s*(\d+) kB", _read(root / "proc/meminfo") or "", re.MULTILINE)
    limits = [int(found[1]) * 1024] if found else []
    for text in cgroup_files(root, "memory", "memory.max", "memory.limit_in_bytes"):
        if text.strip().isdecimal():
            limits.append(int(text))
    return min(limits, default=None)


def last_level_cache_bytes(root: Path = ROOT) -> int | None:
    """Size of the largest-level data cache of core 0, from sysfs; None where sysfs does not show it."""
    found: dict[int, int] = {}
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(index / name) for name in ("level", "type", "size"))
        parsed = re.fullmatch(r"(\d+)([KMG]?)", (size or "").strip())
        if level and kind and kind.strip() != "Instruction" and parsed:
            found[int(level)] = int(parsed[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[parsed[2]]
    return found[max(found)] if found else None


def one_last_level_cache(root: Path = ROOT) -> bool:
    """Whether all processors of the machine share one last-level cache, as far as sysfs shows it."""
    shared = {
        (int(level), _read(index / "shared_cpu_list") or "")
        for index in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cache/index*")
        if (level := (_read(index / "level") or "").strip()).isdecimal()
    }
    last = max((level for level, _ in shared), default=0)
    return len({processors for level, processors in shared if level == last}) == 1


def host_hash() -> str:
    """Eight hexadecimal digits that stand for the host's name without publishing it."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def torch_build() -> dict[str, str | None]:
    """`__version__`, `cuda`, `hip` of the installed torch, read from its version file without importing it; empty when absent."""
    spec = importlib.util.find_spec("torch")
    text = _read(Path(spec.origin).with_name("version.py")) if spec and spec.origin else None
    build: dict[str, str | None] = {}
    for name, value in re.findall(r"^(__version__|cuda|hip)\b[^=\n]*=\s*(.+)$", text or "", re.MULTILINE):
        try:
            build[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            continue
    return build


def package_version(name: str) -> str | None:
    """Version of an installed distribution; None when it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def compiler() -> str | None:
    """The C++ compiler that builds would use and its version, `g++ 12.2.0`; None when there is none."""
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        path = shutil.which(name)
        line = _first_line([path, "--version"]) if path else None
        if line:
            version = re.search(r"\d+\.\d+(\.\d+)?", re.sub(r"\(.*?\)", "", line))
            kind = "clang++" if "clang" in line else "g++" if "Free Software" in line or re.match(r"(g\+\+|c\+\+|gcc)", line) else name
            return f"{kind} {version[0]}" if version else line[:80]
    return None


@cache
def nvcc() -> str | None:
    """nvcc's release, `13.0.88`; None when it is absent."""
    path = find_nvcc()
    text = _output([path, "--version"]) if path else None
    found = re.search(r"release [\d.]+, V([\d.]+)", text or "")
    return found[1] if found else None


def find_nvcc() -> str | None:
    """Path of nvcc: CUDA_HOME first, then PATH, then the usual place."""
    homes = [home for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if home]
    candidates = [*(f"{home}/bin/nvcc" for home in homes), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"]
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


SYCL_FIX = (
    "install Intel's oneAPI compiler (icpx: apt-get install intel-oneapi-compiler-dpcpp-cpp from Intel's repository) or AdaptiveCpp (acpp), "
    "or name one in SYCL_CXX"
)


def find_sycl() -> str | None:
    """Path of a SYCL compiler: SYCL_CXX, icpx or acpp of PATH, then oneAPI's usual place. Only SYCL kernels need one."""
    names = (os.environ.get("SYCL_CXX"), "icpx", "acpp")
    places = [*(shutil.which(name) for name in names if name), "/opt/intel/oneapi/compiler/latest/bin/icpx"]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def find_ncu() -> str | None:
    """Path of Nsight Compute: PATH, then the CUDA toolkit, then the newest one under /opt/nvidia."""
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    places = [shutil.which("ncu"), *(f"{home}/bin/ncu" for home in homes if home)]
    places += map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True))
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _first_line(command: list[str]) -> str | None:
    text = _output(command)
    return text.splitlines()[0] if text else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _cpu_quota(root: Path) -> float | None:
    """The tightest CPU quota, in cores, of this process's cgroups (version 2 or 1); None when there is none."""
    quotas = []
    for text in cgroup_files(root, "cpu", "cpu.max", None):
        limit, _, period = text.strip().partition(" ")
        if limit.isdecimal() and period.isdecimal():
            quotas.append(int(limit) / int(period))
    limits = cgroup_files(root, "cpu", None, "cpu.cfs_quota_us")
    periods = cgroup_files(root, "cpu", None, "cpu.cfs_period_us")
    for limit, period in zip(limits, periods, strict=False):
        if limit.strip().isdecimal() and period.strip().isdecimal() and int(period) > 0:
            quotas.append(int(limit) / int(period))
    return min(quotas, default=None)


def cgroup_files(root: Path, controller: str, name_v2: str | None, name_v1: str | None) -> list[str]:
    """Texts of a limit file in this process's cgroup and every one above it. A container shows its own cgroup as the root."""
    texts: list[str] = []
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        version_2 = controllers == ""
        name = name_v2 if version_2 else name_v1
        if name is None or not (version_2 or controller in controllers.split(",")):
            continue
        mount = root / "sys/fs/cgroup" if version_2 else root / "sys/fs/cgroup" / controller
        folders = [mount / path.strip("/"), *(mount / path.strip("/")).parents]
        texts += [text for folder in folders if folder.is_relative_to(mount) and (text := _read(folder / name)) is not None]
    return texts
