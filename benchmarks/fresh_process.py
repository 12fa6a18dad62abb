"""How long until a fresh, isolated candidate process is ready for its text? Beside a plain `python` that imports torch.

    python benchmarks/fresh_process.py [--device cpu|cuda] [--repeats 20]

Ready means: forked from the zygote, its role taken, its CUDA context made (on a GPU), its sandbox closed, its first answer received.
"""

import argparse
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime

from popcorn.worker.bench import Bench

PLAIN = {"cpu": "import torch; torch.zeros(1)", "cuda": "import torch; torch.zeros(1, device='cuda')"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    with Bench(options.device) as bench:
        bench.nursery.wait_ready()
        shared = bench.new_folder("shared")
        for name in ("in", "out"):
            (shared / name).mkdir()
        times = []
        for _ in range(options.repeats):
            start = time.perf_counter()
            child = bench.start("candidate", bench.new_folder("candidate"), shared, "0" * 16)
            times.append(time.perf_counter() - start)
            child.kill()
        print(f"{bench.machine.id}, torch {bench.machine.torch}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        print(f"fresh isolated process, {options.repeats} times: median {statistics.median(times):.3f} s, slowest {max(times):.3f} s")
        plain = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", PLAIN["cuda" if bench.cuda else "cpu"]], check=True)
            plain.append(time.perf_counter() - start)
        print(f"plain fresh python with torch, 3 times: median {statistics.median(plain):.2f} s")


if __name__ == "__main__":
    main()
