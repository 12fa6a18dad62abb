"""Every benchmark of this folder, one after the other, with its default settings: `make bench`; those that need a GPU: `make gpu-bench`."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
GPU: dict[str, list[str]] = {
    "fresh_process.py": ["--device", "cuda"],
    "turnaround.py": ["--device", "cuda", "--counters"],
    "timer.py": ["--device", "cuda", "--problem", "original/L1/36"],
    "steps.py": ["--device", "cuda"],
    "library_gpu.py": [],
}
"""Scripts that say something of a GPU, with their settings there."""
GPU_ONLY = {"library_gpu.py"}


def main() -> int:
    """Exit code 1 when any of them fails; the rest still run."""
    scripts = sorted(path.name for path in FOLDER.glob("*.py") if path.name != Path(__file__).name and path.name not in GPU_ONLY)
    settings = GPU if "--gpu" in sys.argv else {name: [] for name in scripts}
    failed = []
    for name, arguments in settings.items():
        print(f"\n=== {name} {' '.join(arguments)}", flush=True)
        if subprocess.run([sys.executable, FOLDER / name, *arguments], check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
