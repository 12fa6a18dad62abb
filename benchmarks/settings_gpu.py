"""Other ways of cutting this project's GPU kernels, timed beside the present one, each held to the reference's results first.

    python benchmarks/settings_gpu.py [--ops logsumexp attn] [--warm 8] [--json FILE]

A way is a value of a module's constant. Times as in library_gpu.py, behind dirty lines in L2 and behind clean ones: a kernel that only reads pays for
writing back what others left dirty, and a copy, which leaves as much as it finds, does not. `--warm N` compiles everything in N processes first.
"""

import argparse
import dataclasses
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from library_gpu import BACKWARD, SHAPES, Clock, gradients, inputs_of

from popcorn.ops.registry import find_op

LIBRARY = "popcorn.ops.library"


@dataclasses.dataclass(frozen=True)
class Table:
    """Ways of one pass of one op."""

    op: str
    backward: bool
    constants: str
    """module:name of the constant."""
    ways: list[Any]
    """Values of the constant, or their fields where it is a named tuple; the present one is tried first in any case."""
    rival: str = "torch"
    """The implementation whose results are right here, and, where it is not torch, whose time the share is of; else it is of a copy's."""
    shape: int = 0
    """Which of library_gpu.SHAPES."""


_ATTENTION = "popcorn.ops.attending"
_HALF = 2
"""The shape of attn with heads of 64."""

TABLES = [
    Table("attn", False, f"{_ATTENTION}:FORWARD", [(128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2)], "cudnn"),
    Table("attn", False, f"{_ATTENTION}:FORWARD_NARROW", [(128, 64, 4, 2), (128, 64, 4, 3), (128, 128, 4, 2)], "cudnn", _HALF),
    Table("attn", True, f"{_ATTENTION}:FOR_KEYS", [(128, 64, 8, 2), (64, 32, 4, 2), (64, 32, 4, 3)], "cudnn"),
    Table("attn", True, f"{_ATTENTION}:FOR_QUERIES", [(128, 64, 8, 2), (64, 32, 4, 2), (64, 32, 4, 3), (128, 32, 4, 2)], "cudnn"),
    Table("attn", True, f"{_ATTENTION}:FOR_KEYS", [(128, 64, 8, 2), (128, 64, 4, 2)], "cudnn", _HALF),
    Table("attn", True, f"{_ATTENTION}:FOR_QUERIES", [(128, 64, 8, 2), (128, 64, 4, 2)], "cudnn", _HALF),
    Table("logsumexp", False, f"{LIBRARY}.logsumexp.impl_triton:PER_THREAD", [16, 64, 128]),
    Table("top_k_router", False, f"{LIBRARY}.top_k_router.impl_triton:CHOOSE", [(4096, 8), (1024, 1)]),
    Table("top_k_router", True, f"{LIBRARY}.top_k_router.impl_triton:BACK", [(2048, 4)]),
    Table("top_k_router", False, f"{LIBRARY}.top_k_router.impl_triton:CHOOSE", [(4096, 8), (1024, 1)], shape=1),
    Table("top_k_router", True, f"{LIBRARY}.top_k_router.impl_triton:BACK", [(2048, 4)], shape=1),
    Table("jsd", False, f"{LIBRARY}.jsd.impl_triton:TOGETHER", [16, 32]),
]  # fmt: skip


def trials(tables: list[Table]) -> Iterator[tuple[Table, Any, Any, str]]:
    """Every way: its table, the module, the value, the constant's name."""
    for table in tables:
        where, name = table.constants.split(":")
        module = importlib.import_module(where)
        usual = getattr(module, name)
        make = usual._make if hasattr(usual, "_make") else lambda way: way
        for value in [usual, *[make(way) for way in table.ways]]:
            yield table, module, value, name
            setattr(module, name, usual)


def calls_of(torch: Any, table: Table, cache: dict[Any, Any], judged: bool = True) -> tuple[Callable[[], Any], list[Any]]:
    """(the pass, what it must give)."""
    op, dims = find_op(table.op), SHAPES[table.op][table.shape]
    if cache.get("op") != (table.op, table.shape):
        cache.clear()
        torch.cuda.empty_cache()
        inputs = inputs_of(torch, op, dims, torch.bfloat16)
        cache |= {"op": (table.op, table.shape), "inputs": inputs}
    inputs = cache["inputs"]
    if not judged:
        cache[table.backward] = []
    if table.backward not in cache:
        outputs, back = gradients(torch, op[table.rival], inputs)
        with torch.no_grad():
            made = None if table.backward else op[table.rival](*inputs)
        cache[table.backward] = list(back()) if table.backward else list(made) if isinstance(made, tuple) else [made]
        del outputs, back
    run = op["triton"]
    if table.backward:
        return gradients(torch, run, inputs)[1], cache[True]

    def forward() -> Any:
        with torch.no_grad():
            made = run(*inputs)
        return made if isinstance(made, tuple) else (made,)

    return forward, cache[False]


def wrong(made: Any, right: list[Any]) -> str | None:
    """What is off by more than a twentieth of the largest right value: in half precision the reference itself is off by hundredths."""
    for mine, theirs in zip(made, right, strict=True):
        if not theirs.is_floating_point():
            if (mine != theirs).any():
                return f"WRONG: {(mine != theirs).sum().item()} of {theirs.numel()} differ"
            continue
        scale, error = theirs.abs().max().item(), (mine - theirs).abs().max().item()
        if not error <= 0.05 * scale:
            return f"WRONG by {error:.3g}, scale {scale:.3g}"
    return None


def yardstick(torch: Any, table: Table, clock: Clock, inputs: list[Any]) -> float | None:
    """Seconds that shares are of: of a copy that moves as much, or of the rival; None where neither is known."""
    op, dims = find_op(table.op), SHAPES[table.op][table.shape]
    if table.rival != "torch":
        run = op[table.rival]
        if table.backward:
            return clock.time(gradients(torch, run, inputs)[1])
        with torch.no_grad():
            return clock.time(lambda: run(*inputs))
    if table.backward and table.op not in BACKWARD:
        return None
    moved = BACKWARD[table.op](**dims) * 2 if table.backward else op.min_bytes(dims, 2)
    return moved / clock.copy_rate(moved)


def try_all(torch: Any, tables: list[Table]) -> list[dict[str, Any]]:
    """Prints and gives every way."""
    clocks = {"dirty": Clock(torch, clean=False), "clean": Clock(torch)}
    made, cache, told = [], {}, None  # type: list[dict[str, Any]], dict[Any, Any], Table | None
    for table, module, value, name in trials(tables):
        setattr(module, name, value)
        try:
            call, right = calls_of(torch, table, cache)
            if told is not table:
                print(f"{table.op} {'backward' if table.backward else 'forward'} {name} {SHAPES[table.op][table.shape]}")
                told, whole = table, {which: yardstick(torch, table, clock, cache["inputs"]) for which, clock in clocks.items()}
            fault = wrong(call(), right)
            times = {which: clock.time(call) for which, clock in clocks.items()}
        except Exception as error:  # a way that does not fit is one line of the table
            fault, times = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}", {}
        made.append({"op": table.op, "backward": table.backward, "constant": name, "way": value, "error": fault, **times})
        text = str(tuple(value) if isinstance(value, tuple) else value)
        parts = [f"{s * 1e6:9.1f} {(whole[which] or 0) / s:5.0%} {which}" for which, s in times.items()]
        print(f"  {text:28} {' '.join(parts)} {fault or ''}".rstrip(), flush=True)
    return made


def warm(torch: Any, tables: list[Table], which: int, of: int) -> None:
    """Compiles every `of`-th way by calling it."""
    cache: dict[Any, Any] = {}
    for index, (table, module, value, name) in enumerate(trials(tables)):
        if index % of == which:
            setattr(module, name, value)
            try:
                calls_of(torch, table, cache, judged=False)[0]()
            except Exception:  # told by the process that measures
                continue


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", default=None)
    parser.add_argument("--warm", type=int, default=0)
    parser.add_argument("--warming", type=int, nargs=2, default=None, help="(of a process that compiles) which, of how many")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("settings_gpu.py measures GPU kernels and this machine has no CUDA GPU; run it on one that has")
        return 0
    tables = [table for table in TABLES if not options.ops or table.op in options.ops]
    if options.warming:
        warm(torch, tables, *options.warming)
        return 0
    begun = time.perf_counter()
    if options.warm:
        command = [sys.executable, __file__, "--ops", *dict.fromkeys(table.op for table in tables), "--warming"]
        for one in [subprocess.Popen([*command, str(index), str(options.warm)]) for index in range(options.warm)]:
            one.wait()
        print(f"compiled in {time.perf_counter() - begun:.0f} s", flush=True)
    made = try_all(torch, tables)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1, default=str), encoding="utf-8")
    faults = [row for row in made if row["error"]]
    print(f"{len(made)} ways, {len(faults)} with an error, {time.perf_counter() - begun:.0f} s, {torch.cuda.get_device_name()}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
