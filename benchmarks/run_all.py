"""Every benchmark of this folder, one after the other, with its default settings: `make bench`; those that need a GPU: `make gpu-bench`."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
GPU: dict[str, list[str]] = {
    "fresh_process.py": ["--device", "cuda"],
    "turnaround.py": ["--device", "cuda", "--counters"],
    "timer.py": ["--device", "cuda", "--problem", "original/L1/36"],
    "timer_and_ncu.py": [],
    "steps.py": ["--device", "cuda"],
    "kernels_gpu.py": [],
    "host_gpu.py": [],
    "settings_gpu.py": ["--warm", "8"],
    "library_gpu.py": [],
}
"""Scripts that say something of a GPU, with their settings there."""
BOTH = {"fresh_process.py", "turnaround.py", "timer.py", "steps.py"}
"""Those of them that say something of a CPU, too."""
BY_HAND = {"ship.py": "takes a folder and a time", "two_gpus.py": "needs two GPUs of one host"}


def scripts(gpu: bool) -> dict[str, list[str]]:
    """Names and arguments of what runs here."""
    if gpu:
        return GPU
    all_of_them = sorted(path.name for path in FOLDER.glob("*.py") if path.name != Path(__file__).name)
    return {name: [] for name in all_of_them if name not in BY_HAND and (name not in GPU or name in BOTH)}


def main() -> int:
    """Exit code 1 when any of them fails; the rest still run."""
    failed = []
    for name, arguments in scripts("--gpu" in sys.argv).items():
        print(f"\n=== {name} {' '.join(arguments)}", flush=True)
        if subprocess.run([sys.executable, FOLDER / name, *arguments], check=False).returncode != 0:
            failed.append(name)
    for name, why in BY_HAND.items():
        print(f"\nnot run: {name} ({why}; --help)")
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
