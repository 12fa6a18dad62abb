"""The library's measuring: benchmark an op, report a result, compare two functions. Imports without torch.

    for result in rms_norm.benchmark(x, weight):
        report(result)

Every figure is taken by the worker: inputs like those given (sizes, element type, layout; fresh values), the reference in a process of
its own, turns, controls. Records go to the user's store, and dispatch knows them from then on.
"""

import atexit
import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from popcorn.schema.record import Record
from popcorn.units import show_bytes, show_ratio, show_time

if TYPE_CHECKING:
    from popcorn.bench.asking import Settings
    from popcorn.ops.calls import Call
    from popcorn.ops.registry import Op
    from popcorn.records.store import Store
    from popcorn.schema.case import Case
    from popcorn.worker.bench import Bench

log = logging.getLogger("popcorn.bench")


@dataclass(frozen=True)
class Result:
    """One implementation at one case: forward alone and, for an op with gradients, forward and backward together."""

    op: str
    implementation: str
    forward: Record
    training: Record | None = None

    @property
    def result(self) -> dict[str, Any]:
        """Status, gauges and measurements as plain data, by mode: what the records hold."""
        modes = {"forward": self.forward, **({"training": self.training} if self.training else {})}
        return {
            mode: {
                "status": record.verdict.outcome,
                "reason": record.verdict.reason,
                "gauges": [one.model_dump() for one in record.verdict.precision],
                "measurements": record.measurement.model_dump(exclude={"timing": {"candidate": {"blocks_s"}, "baseline": {"blocks_s"}}}),
                "record": record.id,
            }
            for mode, record in modes.items()
        }


def benchmark(
    op: "Op",
    *args: Any,
    implementations: list[str] | None = None,
    gradient: bool | None = None,
    settings: "Settings | None" = None,
    store: "Store | None" = None,
    quiet: bool = False,
    **kwargs: Any,
) -> list[Result]:
    """Judge and measure implementations of an op at arguments like these; one Result for each that accepts the call, as records.

    implementations: names; None means all. gradient: also with gradients; None means where the op has them. Those that refuse the call
    are told on the logger `popcorn.bench`. quiet: say nothing on stderr meanwhile, which may take minutes. Raises Mismatch for arguments that do not fit, BadOp for results that are not as declared.
    """
    from popcorn.bench.asking import Settings
    from popcorn.ops.declaring import check_results
    from popcorn.records.store import default_store

    call = op.call_of(*args, **kwargs)
    check_results(op, args, kwargs)
    return list(
        measure_call(
            op, call, implementations, gradient, settings or Settings(), default_store() if store is None else store, None if quiet else say
        )
    )


def measure_call(
    op: "Op",
    call: "Call",
    names: list[str] | None,
    gradient: bool | None,
    settings: "Settings",
    store: "Store",
    tell: Callable[[str], None] | None = None,
) -> Iterator[Result]:
    """The results of a call's case, one implementation after the other; `tell` hears what is measured now, and how long the rest may take."""
    from popcorn.ops.calls import Rejected

    both = op.differentiable if gradient is None else gradient
    taken = []
    for name, one in op.implementations.items():
        if name not in (names or op.implementations):
            continue
        answer = one.accepts(call)
        if isinstance(answer, Rejected):
            log.info("%s %s: refused, it %s", op.name, name, answer.reason)
            continue
        taken.append(name)
    modes = ("none", "grad") if both else ("none",)
    done, began = 0, time.monotonic()
    for name in taken:
        records = []
        for mode in modes:
            if tell is not None:
                rest = len(taken) * len(modes) - done
                left = f", about {show_time((time.monotonic() - began) / done * rest)} to go" if done else ""
                tell(f"{op.name}: {name}, {'forward' if mode == 'none' else 'forward and backward'} ({done + 1} of {done + rest}{left})")
            records.append(measure(op, name, call.case().model_copy(update={"gradient": mode}), settings, store))
            done += 1
        yield Result(op.name, name, *records)
    op.forget()


def say(sentence: str) -> None:
    """On stderr, at once."""
    print(sentence, file=sys.stderr, flush=True)


def measure(op: "Op", implementation: str, case: "Case", settings: "Settings", store: "Store") -> Record:
    """One record, in the store when this returns; a line about it on the logger."""
    from popcorn.bench.asking import request_for
    from popcorn.evaluate import evaluate

    record = evaluate(request_for(op, implementation, case, settings), shared_bench(settings.device), store)
    log.info("%s", line(record))
    return record


def measure_missing(op: "Op", call: "Call") -> None:
    """What `bench=True` and POPCORN_BENCH=1 do: measure this case for every implementation that accepts it and has no record of it."""
    from popcorn.bench.asking import Settings
    from popcorn.records.store import default_store

    try:
        case = call.case()
    except ValueError:
        return  # an element type that no record holds: the reference carries it out
    store, settings = default_store(), Settings()
    known = {
        (record.subject.implementation, record.subject.candidate_hash)
        for record in store.find(problem=op.name, kind="op")
        if record.case == case and record.subject.problem_hash == op.hash and record.verdict.outcome != "harness_error"
    }
    for name, one in op.implementations.items():
        if (name, _hash(one.source)) not in known and one.accepts(call):
            measure(op, name, case, settings, store)
    op.forget()


def _hash(source: str) -> str:
    from popcorn.worker.writing import candidate_hash

    return candidate_hash(source)


def compare(fast: Any, slow: Any, inputs: dict[str, Any], **options: Any) -> Record:
    """Judge and measure a function against another on the tensors given; see popcorn.bench.comparing.compare."""
    from popcorn.bench import comparing

    return comparing.compare(fast, slow, inputs, **options)


@functools.cache
def shared_bench(device: str) -> "Bench":
    """One bench a process and device: its workers have torch imported and stay warm."""
    from popcorn.worker.bench import Bench

    bench = Bench(device)
    atexit.register(bench.close)
    return bench


def line(record: Record) -> str:
    """`rms_norm popcorn R2048-D1024-fp32: correct, 1.21 ms, 2.76× torch`."""
    timing = record.measurement.timing
    told = f", {show_time(timing.candidate.time_s)}, {show_ratio(timing.speedup.value)} torch" if timing else ""
    reason = f" ({record.verdict.reason})" if record.verdict.reason else ""
    return f"{record.subject.problem} {record.subject.implementation} {record.case.id}: {record.verdict.outcome}{reason[:300]}{told}"


def report(result: Result | Record, title: str | None = None, mine: str | None = None, reference: str = "torch") -> str:
    """Print a result as a few lines, and return them: forward, peak memory, forward and backward together, error and its scale."""
    forward, training = (result.forward, result.training) if isinstance(result, Result) else (result, None)
    name = mine or forward.subject.implementation
    rows = [*_times("forward", forward, name, reference)]
    if training is not None:
        rows += _times("fwd+bwd", training, name, reference)
    rows += _error(forward)
    margin = " " * (len(name) + 2)
    text = "\n".join((f"{name}  " if index == 0 else margin) + row for index, row in enumerate(rows))
    text = f"{title}\n{text}" if title else text
    print(text)
    return text


def _times(mode: str, record: Record, mine: str, reference: str) -> Iterator[str]:
    timing, memory = record.measurement.timing, record.measurement.memory
    if timing is None:
        yield f"{mode:8} {record.verdict.outcome}: {(record.verdict.reason or 'it was not timed')[:300]}"
        return
    doubt = "" if timing.control.fit is not False else "  unfit: the machine was too noisy"
    ends = f"[{show_ratio(timing.speedup.low)}, {show_ratio(timing.speedup.high)}]"
    yield (
        f"{mode:8} {reference} {show_time(timing.baseline.time_s):>8} -> {mine} {show_time(timing.candidate.time_s):>8}"
        f"   ({show_ratio(timing.speedup.value)} {ends}){doubt}"
    )
    if memory.peak_bytes is not None:
        yield f"{'peak':8} {reference} {show_bytes(memory.baseline_peak_bytes):>8} -> {mine} {show_bytes(memory.peak_bytes):>8}"


def _error(record: Record) -> Iterator[str]:
    known = [one for one in record.verdict.precision if one.max_abs_error is not None]
    worst = max(known, key=lambda one: one.max_abs_error or 0.0, default=None)
    if worst is not None:
        scale = "" if worst.scale is None else f" on scale {worst.scale:.3g}"
        yield f"err      {worst.max_abs_error:.2e}{scale} (torch {worst.reference_max_abs_error or 0:.2e})"
