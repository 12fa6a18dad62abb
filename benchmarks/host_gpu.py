"""What a call of this project's GPU kernels costs the host, in µs: parts that every call is made of, then ops with tiny inputs.

    python benchmarks/host_gpu.py [--ops swiglu attn]

Garbage collection is off.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from library_gpu import SHAPES, TINY, candidates, gradients, inputs_of

from popcorn.ops.registry import find_op, list_ops


def least(torch: Any, calls: dict[Any, Callable[[], Any]], rounds: int, together: int = 20) -> dict[Any, float]:
    """µs of each call, the least of rounds that all of them take turns in: on a shared host some tenths of a second are slower by half."""
    times: dict[Any, float] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(together):
                call()
            took = (time.perf_counter() - start) / together * 1e6
            times[name] = min(took, times.get(name, took))
    return times


def parts(torch: Any) -> dict[str, Callable[[], Any]]:
    """What calls are made of."""
    from popcorn.ops import tiles
    from popcorn.ops.library.gelu import impl_triton as gelu
    from popcorn.ops.library.matmul import impl_triton as matmul

    x = torch.randn(8, 256, device="cuda", dtype=torch.bfloat16)
    y, w, device = torch.empty_like(x), torch.randn(256, 256, device="cuda", dtype=torch.bfloat16), x.device
    gelu.run(x), matmul.run(x, w)
    launcher = gelu._launch_forward
    [(key, (launch, before, after))] = list(launcher._compiled.items())[:1]
    numbers, constants = key[2], key[3]
    tensors = (x, y)
    stream, addresses = torch._C._cuda_getCurrentRawStream(0), (x.data_ptr(), y.data_ptr())
    return {
        "empty_like": lambda: torch.empty_like(x),
        "empty_like of int64": lambda: torch.empty_like(x, dtype=torch.int64),
        "new_empty(shape)": lambda: x.new_empty(x.shape),
        "new_empty(shape, dtype)": lambda: x.new_empty(x.shape, dtype=torch.float32),
        "new_empty(())": lambda: x.new_empty(()),
        "torch.empty(shape, dtype, device)": lambda: torch.empty((64,), dtype=torch.float32, device=device),
        "view": lambda: x.view(16, 128),
        "contiguous": lambda: x.contiguous(),
        "Triton's launcher in C": lambda: launch(1, 1, 1, stream, *before, *addresses, *after),
        "Launcher": lambda: launcher(1, tensors, numbers, constants, key[1]),
        "as_spans": lambda: tiles.as_spans((x, y), 256),
        "torch.mm": lambda: torch.mm(x, w),
        "torch.add": lambda: torch.add(x, x),
    }


def calls_of(torch: Any, name: str) -> dict[str, Callable[[], Any]]:
    """An op forward, forward with a graph, and backward, with tiny inputs."""
    op, dims = find_op(name), {d: TINY[d] for d in find_op(name).signature.dims}
    [run] = candidates(torch, op, ["triton"], dims, torch.bfloat16).values()
    inputs = inputs_of(torch, op, dims, torch.bfloat16)
    plain = [t.detach() for t in inputs]
    _, backward = gradients(torch, run, inputs)
    made = {"forward": lambda: run(*plain), "graph": lambda: run(*inputs), "backward": backward}
    for call in made.values():
        call()
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", default=None)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("host_gpu.py measures calls of GPU kernels and this machine has no CUDA GPU; run it on one that has")
        return 0
    gc.disable()
    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    wrong = 0
    for name in options.ops or [n for n in list_ops() if n in SHAPES]:
        try:
            calls |= {(name, which): call for which, call in calls_of(torch, name).items()}
        except Exception as error:  # one op that fails must not end the table
            wrong += 1
            print(f"{name:24} {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
    with torch.no_grad():
        for part, us in least(torch, parts(torch), options.rounds).items():
            print(f"{part:36} {us:7.2f}")
    took = least(torch, calls, options.rounds)
    print("op                        forward   graph backward")
    for name in dict.fromkeys(name for name, _ in calls):
        print(f"{name:24} " + " ".join(f"{took[name, which]:8.1f}" for which in ("forward", "graph", "backward")))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
