"""C, C++, CUDA and SYCL files with the plain C interface → a shared library. Parent side: never loads what it builds, needs no torch."""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

from popcorn.toolchain.cache import BuildCache, content_key
from popcorn.toolchain.command import compiler_identity, find_compiler, host_processor, run_command
from popcorn.toolchain.diagnostics import CompileFailed, first_error, parse_diagnostics
from popcorn.toolchain.result import BuildResult

INCLUDE_FOLDER = Path(__file__).parent / "include"
LIBRARY = "kernel.so"

_SUFFIX = {"c": ".c", "cpp": ".cpp", "cuda": ".cu", "sycl": ".cpp"}
_STANDARD = {"c": "-std=gnu11", "cpp": "-std=c++2a", "cuda": "-std=c++17"}
_CUDA_LIBRARIES = {
    "cublas_v2.h": "cublas",
    "cublas.h": "cublas",
    "cublasLt.h": "cublasLt",
    "cufft.h": "cufft",
    "curand.h": "curand",
    "cusparse.h": "cusparse",
    "cusolverDn.h": "cusolver",
    "cuda.h": "cuda",
}


def device_architecture(arch: str) -> str:
    """`9.0`, `90`, `sm_90` or `90a` → `90a`: the real device alone, with its own instructions from Hopper on."""
    digits = arch.removeprefix("sm_").removeprefix("compute_").replace(".", "").rstrip("af")
    if not digits.isdigit() or not 2 <= len(digits) <= 3:
        raise ValueError(f"{arch!r} is no compute capability; expected something like 9.0")
    return digits + ("a" if int(digits) >= 90 else "")


def generate_code(arch: str) -> str:
    """nvcc's flag for this device alone: `-gencode=arch=compute_90a,code=sm_90a`."""
    number = device_architecture(arch)
    return f"-gencode=arch=compute_{number},code=sm_{number}"


def build_native(source: str, language: str, cache: BuildCache, arch: str | None = None, timeout_s: float = 120.0) -> BuildResult:
    """Compile one native file, or find it in the cache. `arch` (`9.0`) is needed for `cuda`.

    A text that does not compile, or that exports no popcorn_forward, gives a result with `reason` and diagnostics. Raises MissingTool.
    """
    compiler = find_compiler(language)
    command = _command(compiler, source, language, arch)
    parts: dict[str, Any] = {
        "kind": "native",
        "source": source,
        "command": command,
        "compiler": compiler_identity(compiler),
        "host": host_processor() if language != "cuda" else None,
        "header": hashlib.sha256((INCLUDE_FOLDER / "popcorn_kernel.h").read_bytes()).hexdigest(),
    }
    key = content_key(parts)

    def make(folder: Path) -> dict[str, Any]:
        (folder / f"kernel{_SUFFIX[language]}").write_text(source, encoding="utf-8")
        ran = run_command([*command, f"-I{INCLUDE_FOLDER}"], folder, timeout_s)
        diagnostics = parse_diagnostics(ran.output)
        if ran.timed_out:
            raise CompileFailed(f"the compiler was not done after {timeout_s:g} s", diagnostics, timed_out=True)
        if ran.code != 0 and "undefined reference to `popcorn_forward'" in ran.output:
            raise CompileFailed(_NO_FORWARD, diagnostics)
        if ran.code != 0:
            raise CompileFailed(first_error(diagnostics) or f"the compiler failed: {ran.output.strip()[-300:]}", diagnostics)
        if not _exports(folder / LIBRARY, "popcorn_forward"):
            raise CompileFailed(_NO_FORWARD, diagnostics)
        return {"backward": _exports(folder / LIBRARY, "popcorn_backward"), "diagnostics": [item.model_dump() for item in diagnostics]}

    return BuildResult.from_cache(cache, key, make, language=language, kind="native", file=LIBRARY)


_NO_FORWARD = "the library exports no popcorn_forward: define it with the C interface of popcorn_kernel.h."


def _command(compiler: str, source: str, language: str, arch: str | None) -> list[str]:
    file = f"kernel{_SUFFIX[language]}"
    if language == "sycl":
        return [compiler, *_sycl_flags(compiler, arch), "-O3", "-std=c++17", "-ferror-limit=50", "-shared", "-fPIC", file, "-o", LIBRARY]
    if language != "cuda":
        warnings = ["-fmax-errors=50", "-fdiagnostics-color=never"] if "clang" not in compiler else ["-ferror-limit=50"]
        # a name that is defined nowhere is the compiler's to tell, not the loader's
        flags = ["-O3", "-march=native", "-fopenmp", _STANDARD[language], *warnings, "-Wl,--no-undefined"]
        return [compiler, *flags, "-shared", "-fPIC", file, "-o", LIBRARY, *(["-lm"] if language == "c" else [])]
    if arch is None:
        raise ValueError("a .cu file is built for one device: arch is needed, such as 9.0")
    used = set(re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', _without_comments_alone(source), re.MULTILINE))
    libraries = sorted({library for header, library in _CUDA_LIBRARIES.items() if header in used})
    flags = ["-O3", "-std=c++17", generate_code(arch), "--expt-relaxed-constexpr", "-lineinfo"]
    # the runtime is linked statically: it shares the device's primary context, and so the streams, with torch's own
    host = ["-Xcompiler", "-fPIC,-O3,-fopenmp"]
    return [compiler, *flags, *host, "-shared", file, "-o", LIBRARY, *(f"-l{library}" for library in libraries)]


def _sycl_flags(compiler: str, arch: str | None) -> list[str]:
    """The device of a SYCL build: an NVIDIA GPU of this capability, else the host's cores. Names of targets are those of AdaptiveCpp's
    `--acpp-targets` and of oneAPI DPC++'s `-fsycl-targets`; without a target icpx writes SPIR-V for whatever OpenCL device runs it."""
    gpu = None if arch is None else f"sm_{device_architecture(arch).rstrip('a')}"
    if Path(compiler).name in ("acpp", "syclcc"):
        return [f"--acpp-targets={f'cuda:{gpu}' if gpu else 'omp'}"]
    return ["-fsycl", *([f"-fsycl-targets=nvidia_gpu_{gpu}"] if gpu else [])]


def _without_comments_alone(source: str) -> str:
    """The text without comments but with its literals: include lines need their quoted names."""
    return re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", source, flags=re.DOTALL)


def _exports(library: Path, symbol: str) -> bool:
    """True when the library defines the symbol, by its dynamic table: the parent never loads a candidate's library."""
    nm = shutil.which("nm")
    if nm is None:
        return symbol.encode() in library.read_bytes()
    answer = run_command([nm, "-D", "--defined-only", library.name], library.parent, 60.0)
    return any(line.split()[-1:] == [symbol] for line in answer.output.splitlines())
