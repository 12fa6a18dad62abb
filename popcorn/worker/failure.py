"""Failed: what a child reports instead of a result. Typed where it happens, so that no words in a message decide an outcome."""

import linecache
import re
import traceback
from typing import Any

from popcorn.schema.verdict import Outcome

_FENCED = "; a candidate may read and write in its working folder, in $HOME and in tempfile.gettempdir(), and elsewhere read what is public"
_NAMED = "; memory with a name in /dev/shm is fenced: that of mmap.mmap(-1, n) is shared with forked processes, too"
_ALONE = "; a candidate is one file and imports installed packages alone"
_GPU_FAILED = {46, 100, 101, 214, 220, 721, 802}
"""cudaError: devices unavailable, no device, invalid device, uncorrectable ECC, uncorrectable NVLink, contained, system not ready."""
_NO_GPU = "; it asks for a GPU, and the device chosen is a CPU"


class Failed(Exception):
    """A failure with its outcome; `details` is for people."""

    def __init__(self, outcome: Outcome, reason: str, details: str = ""):
        self.outcome: Outcome = outcome
        self.reason = reason
        self.details = details
        super().__init__(reason)

    def message(self) -> dict[str, Any]:
        """As it crosses the wire."""
        return {"failed": {"outcome": self.outcome, "reason": self.reason[:2000], "details": self.details[:8000]}}


def gpu_failed(error: BaseException | None) -> bool:
    """Whether CUDA says that the GPU itself failed, or is gone: no fault of the code that ran on it."""
    import torch

    return isinstance(error, torch.AcceleratorError) and getattr(error, "error_code", None) in _GPU_FAILED


def failure_of(error: BaseException, candidate_file: str) -> Failed:
    """The outcome of an exception that candidate code raised, by its type alone."""
    import torch

    from popcorn.toolchain.diagnostics import CompileFailed

    if isinstance(error, Failed):
        return error
    outcome: Outcome = "runtime_error"
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        outcome = "out_of_memory"
    elif isinstance(error, (CompileFailed, SyntaxError)) or _raised_by_compiler(error):
        outcome = "compile_error"
    elif isinstance(error, NotImplementedError) and type(error) is NotImplementedError:
        outcome = "rejected"
    return Failed(outcome, _one_line(error, candidate_file), _short_traceback(error))


def _raised_by_compiler(error: BaseException) -> bool:
    """Triton's and TileLang's compilers raise classes of their own packages."""
    module = type(error).__module__
    return module.startswith(("triton.compiler", "tilelang", "tvm"))


def _one_line(error: BaseException, candidate_file: str) -> str:
    # an exception that never passed a line of the candidate may be the harness's own; the outcome stays, since a candidate can forge it
    where, line = " (no line of the candidate is in the traceback)" if candidate_file.endswith(".py") else "", ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == candidate_file:
            line = frame.line or ""
            where = f" (line {frame.lineno} of the candidate: {line.strip()[:120]})"
            break
    try:
        text = " ".join(str(error).split()) or "no message"
    except BaseException:  # candidate code, too
        text = "no message: its text cannot be made"
    also = _FENCED if isinstance(error, PermissionError) else _ALONE if isinstance(error, ImportError) else ""
    also = _NAMED if isinstance(error, RuntimeError) and "shared memory object" in text else also  # a hint alone: the outcome is its type's
    if not also and re.search(r"cuda|nvidia|\bgpu\b|active drivers", text + line, re.IGNORECASE) and not _is_gpu():
        also = _NO_GPU
    return f"{type(error).__name__}: {text[:600]}{where}{also}"


def _is_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _short_traceback(error: BaseException) -> str:
    linecache.checkcache()
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-8))[-8000:]
