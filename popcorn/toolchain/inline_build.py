"""A load_inline request → an extension module, compiled without ninja and without importing torch. Parent side."""

import hashlib
import json
import re
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from popcorn.schema.case import Frozen
from popcorn.schema.verdict import Diagnostic
from popcorn.toolchain import header_tiers
from popcorn.toolchain.cache import BuildCache, content_key
from popcorn.toolchain.command import Ran, compiler_identity, cuda_home, find_compiler, run_command, run_together
from popcorn.toolchain.compiler_flags import checked_flags
from popcorn.toolchain.diagnostics import CompileFailed, first_error, parse_diagnostics
from popcorn.toolchain.native import INCLUDE_FOLDER, generate_code
from popcorn.toolchain.result import BuildResult
from popcorn.toolchain.tier_errors import is_users_own
from popcorn.toolchain.torch_install import TorchInstall, find_torch

MAX_TEXT = 2_000_000

_NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)


class InlineRequest(Frozen):
    """What a candidate asked of load_inline or load, as it crosses from its child. Nothing in it is trusted."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,100}$")
    """Module name."""
    cpp_sources: tuple[str, ...] = ()
    """C++ texts, joined into main.cpp."""
    cuda_sources: tuple[str, ...] = ()
    """CUDA texts, joined into cuda.cu."""
    functions: dict[str, str] | None = None
    """Names to bind, with their docstrings; None when the text defines its own module."""
    files: dict[str, str] | None = None
    """`load`: file name → text, sources and the headers beside them."""
    extra_cflags: tuple[str, ...] = ()
    """Flags for g++."""
    extra_cuda_cflags: tuple[str, ...] = ()
    """Flags for nvcc."""
    extra_ldflags: tuple[str, ...] = ()
    """Flags for the link."""
    extra_include_paths: tuple[str, ...] = ()
    """Further include folders."""
    with_cuda: bool | None = None
    """None: as the sources say."""
    error_handling: bool = True
    """with_pytorch_error_handling."""
    no_implicit_headers: bool = False
    """As load_inline's argument."""
    is_python_module: bool = True
    """False for a plain library that registers operators."""
    default_dtype: str = "float32"
    """torch.get_default_dtype() in the child."""

    @property
    def cuda(self) -> bool:
        """True when CUDA headers and libraries belong to the build."""
        if self.with_cuda is not None:
            return self.with_cuda
        return bool(self.cuda_sources) or any(name.endswith((".cu", ".cuh")) for name in self.files or ())


def build_inline(
    request: dict[str, Any], cache: BuildCache, arch: str | None = None, timeout_s: float = 300.0, torch: TorchInstall | None = None
) -> BuildResult:
    """Build what a child asked for, or find it. `arch` is this device's compute capability, needed when CUDA sources are there.

    The result's `path` is the extension module; `tier` says which headers compiled, `facts["tiers"]` the seconds of each tried.
    Raises MissingTool when a compiler or torch is absent.
    """
    torch = torch or find_torch()
    language = "cuda" if request.get("cuda_sources") else "cpp"
    start = time.monotonic()
    try:
        asked = _validated(request)
        language = "cuda" if asked.cuda else "cpp"
        plan = _Plan(asked, torch, arch)
        key = content_key(plan.key_parts())
    except CompileFailed as failed:
        return BuildResult.failed(language, "extension", failed, seconds=time.monotonic() - start)
    return BuildResult.from_cache(
        cache, key, lambda folder: plan.make(folder, timeout_s), language=language, kind="extension", file=f"{asked.name}.so"
    )


def answer(result: BuildResult) -> dict[str, Any]:
    """The plain-JSON reply for the child: {"path", …} or {"error", "diagnostics"}."""
    if result.ok:
        return {"path": str(result.path), "tier": result.tier, "seconds": result.seconds, "cached": result.cached, "key": result.key}
    return {
        "error": result.reason,
        "diagnostics": [item.model_dump() for item in result.diagnostics],
        "timed_out": result.failure == "timeout",
    }


def _validated(request: dict[str, Any]) -> InlineRequest:
    try:
        asked = InlineRequest.model_validate_json(json.dumps(request))
    except (ValidationError, TypeError, ValueError) as error:
        raise CompileFailed(f"load_inline was called with something that cannot be built: {str(error)[:300]}") from None
    texts = [*asked.cpp_sources, *asked.cuda_sources, *(asked.files or {}).values()]
    if sum(len(text) for text in texts) > MAX_TEXT:
        raise CompileFailed(f"the sources have more than {MAX_TEXT:,} characters.")
    if any("/" in name or name.startswith(".") for name in asked.files or ()):
        raise CompileFailed("load takes source files of the candidate's own folder only.")
    return asked


class _Plan:
    """One request on one machine: its sources and commands in each tier."""

    def __init__(self, request: InlineRequest, torch: TorchInstall, arch: str | None) -> None:
        self.request, self.torch = request, torch
        self.gpp = find_compiler("cpp")
        self.has_cuda_source = bool(request.cuda_sources) or any(name.endswith(".cu") for name in request.files or ())
        self.nvcc = find_compiler("cuda") if self.has_cuda_source else None
        if self.has_cuda_source and arch is None:
            raise CompileFailed("CUDA sources need an NVIDIA GPU, and the device chosen is a CPU.")
        self.generate = [generate_code(arch)] if self.has_cuda_source and arch is not None else []
        self.host_flags = checked_flags(request.extra_cflags, "host")
        self.cuda_flags = checked_flags(request.extra_cuda_cflags, "cuda")
        self.link_flags = checked_flags(request.extra_ldflags, "host")
        self.includes = checked_flags([f"-I{path}" for path in request.extra_include_paths], "host")
        self.texts = {"main.cpp": "\n".join(request.cpp_sources), "cuda.cu": "\n".join(request.cuda_sources)}
        plain = request.files is None and request.error_handling and request.is_python_module
        everything = list(self.texts.values())
        self.tiers = header_tiers.possible_tiers(everything, request.functions, plain, torch, request.default_dtype)
        self.half = header_tiers.needs_half(everything)

    def key_parts(self) -> dict[str, Any]:
        return {
            "kind": "inline",
            "request": self.request.model_dump(),
            "torch": [self.torch.version, str(self.torch.folder)],
            "python": [sys.version, sysconfig.get_config_var("SOABI")],
            "compilers": [compiler_identity(path) for path in (self.gpp, self.nvcc) if path],
            "arch": self.generate,
            "tiers": self.tiers,
            "headers": _headers_hash(),
        }

    def make(self, folder: Path, timeout_s: float) -> dict[str, Any]:
        """Try the tiers in order. Raises CompileFailed with the last tier's errors."""
        deadline = time.monotonic() + timeout_s
        tried: list[dict[str, Any]] = []
        first: CompileFailed | None = None
        for tier in self.tiers:
            start = time.monotonic()
            work = folder / tier
            work.mkdir()
            failure = self._attempt(tier, work, deadline)
            reason = None if failure is None else failure.reason[:300]
            tried.append({"tier": tier, "seconds": round(time.monotonic() - start, 3), "ok": failure is None, "reason": reason})
            if failure is None:
                (work / f"{self.request.name}.so").rename(folder / f"{self.request.name}.so")
                return {"tier": tier, "tiers": tried, "diagnostics": []}
            own = tier == header_tiers.STABLE and is_users_own(failure.diagnostics, self.texts, self.torch, work, self.gpp)
            if failure.timed_out and first is not None:
                raise CompileFailed(f"{failure.reason}; before that: {first.reason}", first.diagnostics, True, {"tiers": tried})
            if own or failure.timed_out or tier == self.tiers[-1]:
                raise CompileFailed(failure.reason, failure.diagnostics, failure.timed_out, {"tiers": tried})
            first = first or failure
        raise AssertionError("the full tier is always tried")

    def _attempt(self, tier: str, folder: Path, deadline: float) -> CompileFailed | None:
        commands = [self._compile(tier, path) for path in self._write(tier, folder)]
        for ran in run_together(commands, folder, max(0.1, deadline - time.monotonic())):
            if ran.code != 0 and not ran.stopped:
                return _failure(ran)
        return self._link(tier, folder, deadline)

    def _link(self, tier: str, folder: Path, deadline: float) -> CompileFailed | None:
        objects = sorted(path.name for path in folder.glob("*.o"))
        command = [self.gpp, *objects, "-shared", *self.link_flags, *self._libraries(tier), "-o", f"{self.request.name}.so"]
        if tier == header_tiers.STABLE:  # the C interface grows with torch: what this torch lacks must not fail at import
            command.append("-Wl,--no-undefined,--warn-unresolved-symbols")
        ran = run_command(command, folder, max(0.1, deadline - time.monotonic()))
        complete = not self.request.cuda or self.torch.has_library("torch_cuda")
        if ran.code == 0 and complete and (missing := re.search(r"undefined reference to [`']?(aoti_\w+)", ran.output)):
            return CompileFailed(f"this torch has no {missing[1]}")
        return _failure(ran) if ran.code != 0 else None

    def _write(self, tier: str, folder: Path) -> list[str]:
        """Write the sources; return the names of those to compile. `#line` keeps the compiler's line numbers those of the candidate."""
        if self.request.files is not None:
            for name, text in self.request.files.items():
                (folder / name).write_text(text)
            return sorted(name for name in self.request.files if name.endswith((".cpp", ".cc", ".cxx", ".c", ".cu")))
        implicit = not self.request.no_implicit_headers
        head = "#include <torch/extension.h>\n" if implicit else ""
        main = f'{head}#line 1 "main.cpp"\n{self.texts["main.cpp"]}\n{self._binding(tier)}'
        (folder / "main.cpp").write_text(main)
        if tier == header_tiers.PER_OPERATOR:
            operators = header_tiers.used_operators(list(self.texts.values()), self.torch)
            (folder / "popcorn_operators.h").write_text("".join(f"#include <ATen/ops/{name}.h>\n" for name in operators))
        if not self.request.cuda_sources:
            return ["main.cpp"]
        head = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n" if implicit else ""
        (folder / "cuda.cu").write_text(f'{head}#line 1 "cuda.cu"\n{self.texts["cuda.cu"]}\n')
        return ["main.cpp", "cuda.cu"]

    def _binding(self, tier: str) -> str:
        functions = self.request.functions
        if functions is None:
            return ""
        if tier == header_tiers.FULL:
            wrap = "torch::wrap_pybind_function({0})" if self.request.error_handling else "{0}"
            rows = "".join(f'm.def("{name}", {wrap.format(name)}, "{doc}");\n' for name, doc in functions.items())
            return f'#line 1 "binding.cpp"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{rows}}}\n'
        methods = "".join(f"POPCORN_METHOD({name})\n" for name in functions)
        rows = "".join(f"  POPCORN_ROW({name}, {json.dumps(doc)}),\n" for name, doc in functions.items())
        return f'#include "popcorn_bind.h"\n#line 1 "binding.cpp"\n{methods}POPCORN_MODULE({self.request.name}, {rows})\n'

    def _compile(self, tier: str, source: str) -> list[str]:
        common = [f"-DTORCH_EXTENSION_NAME={self.request.name}", "-DTORCH_API_INCLUDE_EXTENSION_H", *self._header_folders(tier)]
        common += self.includes
        if source.endswith(".cu"):
            assert self.nvcc is not None
            standard = [] if any("-std=" in flag for flag in self.cuda_flags) else [self.torch.standard]
            flags = [*common, *_NVCC_FLAGS, *self.generate, "-Xcompiler", "-fPIC", *self.cuda_flags, *standard]
            return [self.nvcc, *flags, "-c", source, "-o", f"{source}.o"]
        toolkit = ["-isystem", str(cuda_home() / "include")] if self.request.cuda else []
        flags = [*common, *toolkit, "-fPIC", self.torch.standard, *self.host_flags, "-fdiagnostics-color=never"]
        return [self.gpp, *flags, "-c", source, "-o", f"{source}.o"]

    def _header_folders(self, tier: str) -> list[str]:
        python = sysconfig.get_path("include", scheme="posix_prefix")
        torch = [str(folder) for folder in self.torch.include_folders]
        if tier == header_tiers.STABLE:
            half = ["-DPOPCORN_HALF", "-isystem", torch[0]] if self.half else []
            return [f"-I{INCLUDE_FOLDER / 'stable'}", f"-I{INCLUDE_FOLDER}", *half, "-isystem", python]
        light = (
            [f"-I{INCLUDE_FOLDER / 'per_operator'}", f"-I{INCLUDE_FOLDER}", "-I.", "-DAT_PER_OPERATOR_HEADERS"]
            if tier == header_tiers.PER_OPERATOR
            else []
        )
        return [*light, *(part for folder in (*torch, python) for part in ("-isystem", folder))]

    def _libraries(self, tier: str) -> list[str]:
        cuda = self.request.cuda
        names = ["c10", "c10_cuda" if cuda else "", "torch_cpu", "torch_cuda" if cuda else "", "torch", "torch_python"]
        if tier == header_tiers.STABLE:
            names = ["torch_cpu", "torch_cuda" if cuda else ""]
        libraries = [f"-l{name}" for name in names if name and self.torch.has_library(name)]
        return [f"-L{self.torch.library_folder}", *libraries, *(_runtime() if cuda else [])]


def _failure(ran: Ran) -> CompileFailed:
    diagnostics: tuple[Diagnostic, ...] = parse_diagnostics(ran.output)
    if ran.timed_out:
        return CompileFailed(f"the compiler was not done after {ran.seconds:.0f} s", diagnostics, timed_out=True)
    return CompileFailed(first_error(diagnostics) or f"the compiler failed: {ran.output.strip()[-300:]}", diagnostics)


def _runtime() -> list[str]:
    folders = [cuda_home() / "lib64", cuda_home() / "lib"]
    return [f"-L{next((folder for folder in folders if folder.is_dir()), folders[0])}", "-lcudart"]


def _headers_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(INCLUDE_FOLDER.rglob("*.h")):
        digest.update(str(path.relative_to(INCLUDE_FOLDER)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
