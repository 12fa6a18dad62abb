"""This project's own GPU kernels alone, one line an op: shares of the bound, and what a call costs the host.

    python benchmarks/kernels_gpu.py [--ops rms_norm rope] [--all-shapes] [--implementation triton] [--json FILE]

Times as in library_gpu.py. The share is of a copy that moves as many bytes; for ops bound by matrix products, of the fastest of the library
kernels that stand beside (cuBLAS by way of torch, cuDNN). A case takes 2 to 5 s, most of it Triton's. Other ways of cutting a kernel: settings_gpu.py.
"""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from library_gpu import RIVALS, SHAPES, TINY, Clock, Row, candidates, host_overhead, measure

from popcorn.ops.registry import find_op, list_ops

HEAD = "op                   sizes                          fwd us  share   bwd us  share  host fwd  graph"


def line(row: Row, rivals: list[Row], host: dict[str, float]) -> str:
    """One op at one case."""
    sizes = " ".join(f"{k}={v}" for k, v in row.dims.items())
    head = f"{row.op:20} {sizes:28.28}"
    if row.forward_s is None:
        return f"{head} {row.error}"

    def part(seconds: float | None, share: float | None, theirs: list[float]) -> str:
        if seconds is None:
            return f"{'-':>8} {'-':>6}"
        found = min(theirs) / seconds if theirs else share
        return f"{seconds * 1e6:8.1f} {f'{found:6.0%}' if found else '     -'}"

    left = part(row.forward_s, row.forward_share, [r.forward_s for r in rivals if r.forward_s])
    right = part(row.backward_s, row.backward_share, [r.backward_s for r in rivals if r.backward_s])
    costs = f"{host.get('forward_s', 0) * 1e6:9.1f} {host.get('with_graph_s', 0) * 1e6:6.1f}" if host else ""
    return f"{head} {left} {right} {costs} {row.error or ''}".rstrip()


def table(torch: Any, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Prints and gives every row."""
    clock, made = Clock(torch), []
    print(HEAD)
    for name in options.ops or [n for n in list_ops() if n in SHAPES]:
        op, mine = find_op(name), options.implementation
        if mine not in op.implementations:
            print(f"{name:20} has no implementation {mine!r}")
            continue
        try:
            [run] = candidates(torch, op, [mine], {d: TINY[d] for d in op.signature.dims}, torch.bfloat16).values()
            host = host_overhead(torch, op, run)
        except Exception as error:  # one op that fails must not end the table
            print(f"{name:20} {type(error).__name__}: {' '.join(str(error).split())[:300]}")
            made.append({"op": name, "error": str(error)})
            continue
        for dims in SHAPES[name][: None if options.all_shapes else 1]:
            for precision in options.precisions:
                dtype = getattr(torch, precision)
                beside = candidates(torch, op, [mine, *RIVALS.get(name, ())], dims, dtype)
                rows = {who: measure(torch, clock, op, who, one, dims, dtype) for who, one in beside.items()}
                if mine in rows:
                    print(line(rows[mine], [r for who, r in rows.items() if who != mine], host), flush=True)
                made += [{**dataclasses.asdict(row), **host} for row in rows.values()]
                torch.cuda.empty_cache()
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", default=None)
    parser.add_argument("--implementation", default="triton")
    parser.add_argument("--precisions", nargs="*", default=["bfloat16"])
    parser.add_argument("--all-shapes", action="store_true")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("kernels_gpu.py measures GPU kernels and this machine has no CUDA GPU; run it on one that has")
        return 0
    begun = time.perf_counter()
    made = table(torch, options)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1, default=str), encoding="utf-8")
    wrong = [row for row in made if row.get("error")]
    print(f"{len(made)} rows, {len(wrong)} with an error, {time.perf_counter() - begun:.0f} s, {torch.cuda.get_device_name()}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
