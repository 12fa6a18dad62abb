"""Judges and times one library against another in this process: fresh inputs, two shapes, poisoned outputs, turns. For benchmarks/search.py.

run.py PROBLEM SEED CANDIDATE.so REFERENCE.so        prints {"correct": …, "speedup": …, "low": …, "high": …}
"""

import ctypes
import json
import sys
import time

import numpy as np

SHAPES = {"chain": [(192, 96, 192, 32), (61, 37, 150, 19)], "softmax": [(64, 1024), (37, 517)], "stencil": [(256, 256), (131, 77)]}
ROUNDS, WINDOW_S = 8, 0.004


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
    ]  # fmt: skip


def describe(arrays):
    made, kept = (Tensor * len(arrays))(), []
    for slot, one in zip(made, arrays, strict=True):
        row = ctypes.c_int64 * one.ndim
        shape, stride = row(*one.shape), row(*[s // one.itemsize for s in one.strides])
        slot.data, slot.dtype, slot.ndim, slot.shape, slot.stride = one.ctypes.data, 6, one.ndim, shape, stride
        kept.append((shape, stride))
    return made, kept


def inputs(problem, shape, rng):
    draw = lambda *s: rng.standard_normal(s, dtype=np.float32)  # noqa: E731
    if problem == "chain":
        n, k, m, p = shape
        return [draw(n, k), draw(k, m), draw(m, p)]
    return [draw(*shape), draw(shape[1])] if problem == "softmax" else [draw(*shape)]


def truth(problem, given):
    x = [one.astype(np.float64) for one in given]
    if problem == "chain":
        return x[0] @ x[1] @ x[2]
    if problem == "softmax":
        z = x[0] * 0.5 + x[1]
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    y = x[0]
    for _ in range(2):
        y = 0.5 * y + 0.125 * (np.roll(y, 1, 0) + np.roll(y, -1, 0) + np.roll(y, 1, 1) + np.roll(y, -1, 1))
    return y


def main(problem, seed, candidate, reference):
    rng = np.random.default_rng(int(seed))
    libraries = [ctypes.CDLL(path) for path in (candidate, reference)]
    for shape in SHAPES[problem]:
        given = inputs(problem, shape, rng)
        wanted = truth(problem, given)
        made = np.full(wanted.shape, np.nan, np.float32)
        ins, outs = describe(given), describe([made])
        code = libraries[0].popcorn_forward(ins[0], len(given), outs[0], 1, None, 0, None)
        scale = np.sqrt((wanted**2).mean())
        if code or not np.isfinite(made).all() or np.abs(made - wanted).max() > 2e-5 * max(scale, np.abs(wanted).max()):
            print(json.dumps({"correct": False}))
            return
    given = inputs(problem, SHAPES[problem][0], rng)
    made = np.empty(truth(problem, given).shape, np.float32)
    ins, outs = describe(given), describe([made])

    def window(library, calls):
        began = time.perf_counter()
        for _ in range(calls):
            library.popcorn_forward(ins[0], len(given), outs[0], 1, None, 0, None)
        return (time.perf_counter() - began) / calls

    calls = [max(1, int(WINDOW_S / max(min(window(one, 2), window(one, 2)), 1e-7))) for one in libraries]
    ratios = []
    for turn in range(ROUNDS):
        order = (0, 1) if turn % 2 else (1, 0)
        taken = {side: window(libraries[side], calls[side]) for side in order}
        ratios.append(taken[1] / taken[0])
    logs = np.log(ratios)
    middle, half = float(np.median(logs)), float(1.25 * 1.96 * logs.std(ddof=1) / np.sqrt(ROUNDS))
    print(
        json.dumps(
            {"correct": True, "speedup": float(np.exp(middle)), "low": float(np.exp(middle - half)), "high": float(np.exp(middle + half))}
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
