"""Run compilers: behind a fence (fenced.py), a deadline that ends the whole process group, capped output, a bare environment."""

import contextlib
import functools
import importlib.util
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from popcorn.devices.host import SYCL_FIX, find_sycl
from popcorn.errors import MissingTool

MAX_OUTPUT_BYTES = 256 * 1024
MAX_FILE_BYTES = 4 << 30
_LEAST_MEMORY_BYTES = 4 << 30
_PACKAGE = Path(__file__).resolve().parents[1]
_KEPT_VARIABLES = ("PATH", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "HOME", "ONEAPI_ROOT", "CMPLR_ROOT")


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    """Exit status; negative for a signal."""
    output: str
    """stdout and stderr together, the first 256 KiB."""
    seconds: float
    """Wall time."""
    timed_out: bool = False
    """True when the deadline ended it."""
    stopped: bool = False
    """True when it was ended because a command beside it had failed."""


def run_command(command: Sequence[str], folder: Path, timeout_s: float, stop: threading.Event | None = None) -> Ran:
    """Run `command` in `folder`, the only one that it may write. At the deadline, or when `stop` is set, its whole process group is killed."""
    start = time.monotonic()
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # compilers leave their temporary files in the build's own folder, which is removed whatever happens
    environment |= {"LC_ALL": "C", "TMPDIR": str(folder), "CCACHE_DISABLE": "1"}
    process = subprocess.Popen(
        [*_fence(folder), *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    timed_out = stopped = False
    try:
        output, ended = _drain(process, start + timeout_s, stop)
        stopped = not ended and stop is not None and stop.is_set()
        timed_out = not ended and not stopped
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    return Ran(process.returncode, output.decode("utf-8", "replace"), time.monotonic() - start, timed_out, stopped)


def _fence(folder: Path) -> list[str]:
    """The start of a command that runs behind the fence."""
    job = {
        "root": str(_PACKAGE.parent), "readable": [str(path) for path in _installations(*(os.environ.get(name) for name in _KEPT_VARIABLES))], "writable": [str(folder.resolve())],
        "memory_bytes": max(_LEAST_MEMORY_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2), "file_bytes": MAX_FILE_BYTES,
    }  # fmt: skip
    return [sys.executable, "-I", "-S", str(_PACKAGE / "toolchain" / "fenced.py"), json.dumps(job)]


@functools.lru_cache(maxsize=4)
def _installations(*_variables: str | None) -> tuple[Path, ...]:
    """Folders of headers, libraries and compilers that may lie outside the system's: Python's, torch's, the toolkit's, our own headers. They are
    found again when the environment says otherwise."""
    found = [Path(sysconfig.get_path("include", scheme="posix_prefix")), Path(sys.base_prefix), Path(sys.prefix)]  # conda keeps all in one
    found += [_PACKAGE / "toolchain" / "include", _PACKAGE / "__init__.py", _PACKAGE / "devices"]
    torch = importlib.util.find_spec("torch")
    for place in torch.submodule_search_locations or () if torch is not None else ():
        found += [Path(place) / "include", Path(place) / "lib", Path(place).parent / "nvidia", Path(place).parent / "triton"]
    found += [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH", "ONEAPI_ROOT", "CMPLR_ROOT") if os.environ.get(name)]
    for kind in ("c", "cpp", "cuda", "sycl"):
        with contextlib.suppress(MissingTool):
            path = Path(find_compiler(kind))
            found += [path, path.resolve()]
            if path.resolve().parent.name == "bin":
                found.append(path.resolve().parent.parent)  # an installation of its own, such as conda's
    return tuple(dict.fromkeys(path.resolve() for path in found))


def run_together(commands: Sequence[Sequence[str]], folder: Path, timeout_s: float) -> list[Ran]:
    """Run commands at the same time, under one deadline. The first that fails stops the others."""
    stop = threading.Event()
    results: list[Ran | None] = [None] * len(commands)

    def one(index: int) -> None:
        results[index] = run_command(commands[index], folder, timeout_s, stop)
        if results[index].code != 0:  # type: ignore[union-attr]
            stop.set()

    threads = [threading.Thread(target=one, args=(index,), daemon=True) for index in range(len(commands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [ran if ran is not None else Ran(-1, "the command could not be started", 0.0) for ran in results]


def _drain(process: subprocess.Popen[bytes], deadline: float, stop: threading.Event | None) -> tuple[bytes, bool]:
    """Read until the command has ended (True), or the deadline or `stop` came first (False). Output beyond the cap is dropped."""
    assert process.stdout is not None
    kept = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
                return bytes(kept), process.poll() is not None
            if not selector.select(min(0.1, max(0.0, deadline - time.monotonic()))):
                if process.poll() is not None:
                    return bytes(kept), True
                continue
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                break
            if len(kept) < MAX_OUTPUT_BYTES:
                kept += piece[: MAX_OUTPUT_BYTES - len(kept)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.01, deadline - time.monotonic()))
    return bytes(kept), process.returncode is not None


def find_compiler(kind: str) -> str:
    """Path of the compiler for `c`, `cpp`, `cuda` or `sycl`. Raises MissingTool with the command that installs it."""
    if kind == "sycl":
        if (sycl := find_sycl()) is None:
            raise MissingTool(f"no SYCL compiler was found; {SYCL_FIX}.")
        return sycl
    if kind == "cuda":
        for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")):
            if home and (path := Path(home) / "bin" / "nvcc").is_file():
                return str(path)
        fallback = Path("/usr/local/cuda/bin/nvcc")
        found = shutil.which("nvcc") or (str(fallback) if fallback.is_file() else None)
        if found is None:
            raise MissingTool("nvcc was not found; CUDA sources need it: install the CUDA toolkit and put its bin folder on PATH.")
        return found
    variable, names = ("CC", ("gcc", "cc", "clang")) if kind == "c" else ("CXX", ("g++", "c++", "clang++"))
    for name in (os.environ.get(variable), *names):
        if name and (path_or_none := shutil.which(name)):
            return path_or_none
    raise MissingTool(f"no {'C' if kind == 'c' else 'C++'} compiler was found: apt-get install g++ (or set {variable}).")


def compiler_identity(path: str) -> str:
    """First lines of `compiler --version`, part of every content key."""
    stat = Path(path).stat()
    return _identity(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=16)
def _identity(path: str, mtime_ns: int, size: int) -> str:
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return "\n".join(answer.stdout.splitlines()[:6])


@functools.lru_cache(maxsize=1)
def cuda_home() -> Path:
    """The toolkit's folder: nvcc may be a link or a wrapper script, so ask it."""
    nvcc = find_compiler("cuda")
    answer = subprocess.run([nvcc, "--dryrun", "-c", "-x", "cu", "/dev/null"], capture_output=True, text=True, timeout=60, check=False)
    for line in (answer.stdout + answer.stderr).splitlines():
        if line.startswith("#$ TOP="):
            return Path(line.removeprefix("#$ TOP=")).resolve()
    return Path(nvcc).resolve().parent.parent


@functools.lru_cache(maxsize=1)
def host_processor() -> str:
    """What `-march=native` depends on: a shared cache must not hand one machine's code to another."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return os.uname().machine
    return "\n".join(sorted({line for line in lines if line.startswith(("flags", "model name", "Features", "CPU part"))}))
