"""How many kernels one call launches, and how long they run. Runs in a process that has torch.

On a GPU the count is of device records (CUPTI), kernels alone; copies and fills stand apart, and torch's operators are never counted.
On a CPU it is of the operators that torch dispatches, without views and bare allocations; work done by a native extension outside
torch's dispatcher cannot be counted, and is said to be unknown when there is nothing else.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from popcorn.measure.activity import NAME_LIMIT, NoDeviceRecord, StrayActivity, record_activity
from popcorn.schema.measurement import Kernel, Launches

LONGEST = 10

LIBRARIES = re.compile(
    r"""
    (at|c10|at_cuda_detail|pytorch_flash|pytorch_fmha|cudnn|cublas|cublasLt|cask|cask_cudnn|nccl|cub|thrust|cufft)::
    | (nvjet_|cutlass_\d+_(wmma_)?(tensorop|simt)|xmma_|sm\d+_xmma_|(volta|turing|ampere|hopper|sm\d+)_\w*(gemm|cudnn|conv))
    | (gemv\w*_kernel|gemmk1_kernel|gemmSN_|dot_kernel|reduce_1Block_kernel|splitKreduce_kernel|cublas|cudnn|implicit_convolve)
    | (nccl|vector_fft|regular_fft|fmha_cutlass[FB]_|fmha_v\d|anonymous::softmax_warp_(forward|backward)$)
    | triton_(poi|red|per|tem|for)_fused                              # torch.compile's own
    """,
    re.VERBOSE,
)
"""Starts of kernel names that belong to a vendor library or to torch."""

_CUBLAS = re.compile(r"^void cutlass::Kernel\d?<cutlass_\d+_|>::type internal::gemvx::kernel")
"""cuBLAS kernels whose owner is not in front: its own build of CUTLASS (a user's is cutlass::device_kernel), and its gemv."""

_NO_WORK = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "lift_fresh", "alias", "_unsafe_view"}
_COPIES = {"copy_", "copy", "clone", "_to_copy", "fill_", "fill", "zero_", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like"}


def is_library(name: str) -> bool:
    """True when a kernel's own qualified name shows that a vendor library or torch owns it.

    Template and call arguments do not count: a kernel that takes a `c10::BFloat16*` is still its author's. A kernel may lie about its
    name, to its own harm.
    """
    own = re.split(r"[<( ]", name.removeprefix("void ").replace("(anonymous namespace)", "anonymous"), maxsplit=1)[0]
    return LIBRARIES.match(own) is not None or _CUBLAS.search(name) is not None


def count_launches(call: Callable[[], object], device: str) -> Launches:
    """Device work of one call after a warm-up call. `device` is a torch device; a figure that cannot be had is None with a reason."""
    call()
    if device.partition(":")[0] == "cpu":
        return _dispatched(call)
    try:
        (records,) = record_activity([call], device)
    except (NoDeviceRecord, StrayActivity) as error:
        return Launches(source="cupti", reason=str(error))
    kernels = [(record.name, record.time_s, is_library(record.name)) for record in records if record.kind == "kernel"]
    custom_s = sum(time_s for _, time_s, library in kernels if not library)
    total_s = sum(time_s for _, time_s, _ in kernels)
    return Launches(
        kernels=len(kernels),
        copies=len(records) - len(kernels),
        device_time_s=total_s,
        custom_share=custom_s / total_s if total_s > 0 else None,
        breakdown=_longest(kernels),
        source="cupti",
        reason=None if kernels else "the call launched no kernel",
    )


def _dispatched(call: Callable[[], object]) -> Launches:
    """Operators that torch dispatches in one call on a CPU."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[tuple[str, float, bool]] = []
    copies = 0

    class Watch(TorchDispatchMode):
        """Times each operator as it passes."""

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal copies
            started = time.perf_counter()
            result = function(*args, **(kwargs or {}))
            duration_s = time.perf_counter() - started
            namespace, _, operator = function.name().partition("::")
            operator = operator.partition(".")[0]
            if function.is_view or operator in _NO_WORK:
                return result
            if operator in _COPIES:
                copies += 1
            else:
                seen.append(
                    (f"{namespace}::{operator}"[:NAME_LIMIT], duration_s, namespace in ("aten", "prims", "prim", "mkldnn", "quantized"))
                )
            return result

    with Watch():
        began = time.perf_counter()
        call()
        call_s = time.perf_counter() - began
    if not seen and not copies:
        return Launches(source="dispatch", reason="no operator was dispatched: the work is done outside torch, where it cannot be counted")
    return Launches(
        kernels=len(seen), copies=copies, device_time_s=sum(row[1] for row in seen), call_s=call_s, breakdown=_longest(seen), source="dispatch",
    )  # fmt: skip


def _longest(kernels: Iterable[tuple[str, float, bool]]) -> tuple[Kernel, ...]:
    """Kernels of the same name together, the longest first, at most ten."""
    times: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for name, time_s, library in kernels:
        times[name, library].append(time_s)
    rows = [Kernel(name=name, launches=len(each), time_s=sum(each), library=library) for (name, library), each in times.items()]
    return tuple(sorted(rows, key=lambda row: row.time_s, reverse=True)[:LONGEST])
