"""The demo's candidates: which file, against which problem, and what is expected of it. Free of torch."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "candidates"


@dataclass(frozen=True)
class Sample:
    """One candidate of the demo."""

    title: str
    """For people."""
    problem: str
    """Problem id."""
    file: str
    """File name under `candidates/`."""
    honest: bool
    """True: it must be correct. False: it must be caught."""
    why: str
    """What it shows."""
    gpu_file: str | None = None
    """The file in its place on a GPU; None: the same one."""
    backward: bool = False
    """Judged and timed with gradients."""

    def path(self, gpu: bool) -> Path:
        """The candidate's file for this kind of device."""
        return FOLDER / (self.gpu_file if gpu and self.gpu_file else self.file)


SAMPLES = (
    Sample("plain", "original/L1/36", "rms_norm_plain.py", True, "honest PyTorch, one operator after the other"),
    Sample("fused", "original/L1/36", "rms_norm_fused.c", True, "one pass over each row, in plain C or CUDA", gpu_file="rms_norm_fused.cu"),
    Sample(
        "gradient",
        "popcorn/L1/29",
        "logsumexp_gradient.py",
        True,
        "an autograd.Function of its own, judged with its gradients",
        backward=True,
    ),
    Sample(
        "slow clock",
        "original/L1/36",
        "cheat_clock.py",
        False,
        "a cheat: it changes the clock of its process, and claims a 20th of its time",
    ),
    Sample("lazy tensor", "original/L1/23", "cheat_lazy.py", False, "a cheat: it returns a tensor that does the work when it is looked at"),
)
