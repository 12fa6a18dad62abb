"""Machine code summed up: registers, spills, tensor-core or vector use, the mix of instructions. Parent side: reads files, loads nothing.

A CUDA text is compiled once more to a cubin with ptxas's report, and its SASS is read with cuobjdump; where the toolkit lacks cuobjdump, its
PTX stands in (virtual registers and instructions, and that is said). A CPU's library is read with objdump.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.toolchain.command import find_compiler, run_command
from popcorn.toolchain.native import INCLUDE_FOLDER, device_architecture

TIMEOUT_S = 120.0
_MOST_KINDS = 8

_KINDS: tuple[tuple[str, str], ...] = (
    ("tensor core", r"HMMA|IMMA|DMMA|QGMMA|HGMMA|IGMMA|UTCMMA|wgmma|mma\.|wmma|tcgen05"),
    ("asynchronous copy", r"LDGSTS|UBLKCP|UTMA|cp\.async"),
    ("global memory", r"LDG|STG|LD\.E|ST\.E|RED|ATOMG|ld\.global|st\.global|atom\.global|red\."),
    ("shared memory", r"LDS|STS|LDSM|ATOMS|ld\.shared|st\.shared|ldmatrix"),
    ("local memory (spills)", r"LDL|STL|ld\.local|st\.local"),
    ("special function", r"MUFU|ex2|lg2|rsqrt|rcp|sin|cos|sqrt"),
    ("float", r"FADD|FMUL|FFMA|FMNMX|HADD|HFMA|HMUL|DADD|DFMA|DMUL|(?:add|sub|mul|fma|max|min)(?:\.\w+)*\.f(?:16|32|64)"),
    ("barrier", r"BAR|WARPSYNC|bar\.|barrier|mbarrier|SYNCS"),
    ("shuffle", r"SHFL|shfl|redux|REDUX"),
    ("branch", r"BRA|EXIT|RET|CALL|BSSY|BSYNC|bra|ret|call"),
)
_CPU_KINDS: tuple[tuple[str, str], ...] = (
    ("512-bit vector", r"%zmm"),
    ("256-bit vector", r"%ymm"),
    ("128-bit vector", r"(?:ps|pd|dq\w*|ph)\s.*%xmm"),
    ("scalar float", r"(?:ss|sd|sh)\s.*%xmm"),
    ("memory", r"\(%r"),
    ("call", r"^callq?\b"),
    ("branch", r"^j\w+\b"),
)


class Unreadable(Exception):
    """There is no machine code to read here; the text says why."""


@dataclass
class Function:
    """One function, or one device kernel."""

    name: str
    form: str
    """`SASS`, `PTX` or the processor's name for its own code."""
    instructions: int = 0
    mix: Counter[str] = field(default_factory=Counter)
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None

    def text(self) -> str:
        """Two lines for a model."""
        facts = [f"{self.instructions} instructions"]
        facts += [f"{self.registers} registers a thread"] if self.registers is not None else []
        facts += [f"{self.spill_bytes} bytes spilled"] if self.spill_bytes is not None else []
        facts += [f"{self.shared_bytes} bytes of shared memory"] if self.shared_bytes is not None else []
        mix = ", ".join(f"{kind} {count}" for kind, count in self.mix.most_common(_MOST_KINDS)) or "nothing that is counted"
        return f"{self.name} ({self.form}): {' · '.join(facts)}\n  mix: {mix}"

    def data(self) -> dict[str, Any]:
        """The same as JSON."""
        found = {"registers": self.registers, "spill_bytes": self.spill_bytes, "shared_bytes": self.shared_bytes}
        return {"name": self.name, "form": self.form, "instructions": self.instructions, "mix": dict(self.mix), **found}


def read_cuda_source(source: str, arch: str) -> list[Function]:
    """Every kernel of a .cu text, compiled for `arch` (`9.0`). Raises Unreadable."""
    nvcc = find_compiler("cuda")
    number = device_architecture(arch)
    with tempfile.TemporaryDirectory(prefix="popcorn-assembly-") as place:
        folder = Path(place)
        (folder / "kernel.cu").write_text(source, encoding="utf-8")
        flags = ["-O3", "-std=c++17", f"-arch=sm_{number}", "--expt-relaxed-constexpr", f"-I{INCLUDE_FOLDER}", "kernel.cu"]
        cubin = run_command([nvcc, *flags, "-cubin", "-Xptxas", "-v", "-o", "kernel.cubin"], folder, TIMEOUT_S)
        if cubin.code != 0:
            raise Unreadable(f"nvcc failed: {cubin.output.strip()[-300:]}")
        report = read_ptxas_report(cubin.output)
        dump = shutil.which("cuobjdump")
        if dump is not None:
            functions = read_sass(run_command([dump, "-sass", "kernel.cubin"], folder, TIMEOUT_S).output)
        else:
            ptx = run_command([nvcc, *flags, "-ptx", "-o", "kernel.ptx"], folder, TIMEOUT_S)
            if ptx.code != 0:
                raise Unreadable(f"nvcc failed: {ptx.output.strip()[-300:]}")
            functions = read_ptx((folder / "kernel.ptx").read_text(errors="replace"))
    for function in functions:
        for name, value in report.get(function.name, {}).items():
            setattr(function, name, value)
    return functions


def read_library(path: Path, cuda: bool) -> list[Function]:
    """The device kernels, or on a CPU the functions of its own, of a shared library. Raises Unreadable."""
    tool = shutil.which("cuobjdump" if cuda else "objdump")
    if tool is None:
        raise Unreadable(f"{'cuobjdump (CUDA toolkit)' if cuda else 'objdump (binutils)'} is not installed.")
    if cuda:
        ran = run_command([tool, "-sass", str(path)], path.parent, TIMEOUT_S)
        return read_sass(ran.output)
    ran = run_command([tool, "-d", "--no-show-raw-insn", "-j", ".text", str(path)], path.parent, TIMEOUT_S)
    functions = read_objdump(ran.output)
    if not functions:
        raise Unreadable(f"objdump found no function: {ran.output.strip()[-200:]}")
    return functions


def read_ptxas_report(text: str) -> dict[str, dict[str, int]]:
    """Kernel → registers, spill_bytes, shared_bytes, from `-Xptxas -v`."""
    found: dict[str, dict[str, int]] = {}
    name = None
    for line in text.splitlines():
        if match := re.search(r"(?:Compiling entry function|Function properties for) '?([\w$.]+)'?", line):
            name = match[1]
            found.setdefault(name, {})
        elif name is None:
            continue
        if match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            found[name]["spill_bytes"] = int(match[1]) + int(match[2])
        if match := re.search(r"Used (\d+) registers", line):
            found[name]["registers"] = int(match[1])
            shared = re.search(r"(\d+) bytes smem", line)
            found[name]["shared_bytes"] = int(shared[1]) if shared else 0
    return found


def read_sass(text: str) -> list[Function]:
    """Functions of `cuobjdump -sass`."""
    return _read(text.splitlines(), r"\s*Function : (\S+)", r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][\w.]*.*)", "SASS", _KINDS)


def read_ptx(text: str) -> list[Function]:
    """Entry functions of a PTX text; its registers are virtual, so they are not counted here."""
    return _read(text.splitlines(), r"\s*(?:\.\w+ )*\.entry (\w+)", r"\s+(?:@!?%\w+ )?([a-z]\w*(?:[.:]\w+)*[ ;].*)", "PTX", _KINDS)


def read_objdump(text: str) -> list[Function]:
    """Functions of `objdump -d --no-show-raw-insn`, without the linker's own."""
    functions = _read(text.splitlines(), r"[0-9a-f]+ <([^>]+)>:", r"\s+[0-9a-f]+:\s+(\S.*)", "machine code", _CPU_KINDS)
    own = ("_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy", "_start")
    return [function for function in functions if function.name not in own and "@plt" not in function.name]


def _read(lines: Iterable[str], heading: str, line_form: str, form: str, kinds: tuple[tuple[str, str], ...]) -> list[Function]:
    head, body = re.compile(heading), re.compile(line_form)
    patterns = [(kind, re.compile(pattern)) for kind, pattern in kinds]
    functions: list[Function] = []
    for line in lines:
        if match := head.match(line):
            functions.append(Function(match[1][:200], form))
        elif functions and (match := body.match(line)):
            functions[-1].instructions += 1
            instruction = match[1]
            kind = next((kind for kind, pattern in patterns if _is(pattern, instruction, form)), None)
            if kind is not None:
                functions[-1].mix[kind] += 1
    return [function for function in functions if function.instructions]


def _is(pattern: re.Pattern[str], instruction: str, form: str) -> bool:
    """SASS and PTX are told by how the instruction begins, a processor's own by its operands."""
    return bool(pattern.search(instruction) if form == "machine code" else pattern.match(instruction))
