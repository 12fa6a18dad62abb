"""Records for tests: one of every outcome, plausible in every field, and hypothesis strategies for any."""

import hashlib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from popcorn.devices.ceilings import Ceilings, save_ceilings
from popcorn.devices.probe import probe
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import (
    Control,
    Counters,
    Energy,
    Interval,
    Kernel,
    KernelCounters,
    Launches,
    Measurement,
    Memory,
    Ranks,
    Roofline,
    Samples,
    Timing,
)  # fmt: skip
from popcorn.schema.record import Build, Lane, Provenance, Record, Subject
from popcorn.schema.verdict import OUTCOMES, Diagnostic, Miss, Precision, Verdict, Violation


def keep_ceilings(cache: Path) -> None:
    """Ceilings of this machine, made up and far too high, for evaluations in processes of their own: measuring them takes seconds for each new cache."""
    save_ceilings(Ceilings(bandwidth_bytes_per_s=1e13, flop_per_s={"float32": 1e15}), probe("cpu"), cache / "ceilings")


SOURCE = 'import torch\n\n\nclass ModelNew(torch.nn.Module):\n    """`"problem":"popcorn/L1/1"` in a string."""\n'


def identity(*parts: object) -> str:
    """16 hex digits."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def make_samples(time_s: float, calls: int = 2) -> Samples:
    """One side, ±1 %."""
    block = tuple(time_s * (1 + 0.001 * i) for i in range(calls))
    return Samples(
        time_s=time_s, low_s=0.99 * time_s, high_s=1.01 * time_s, p10_s=0.98 * time_s, p90_s=1.05 * time_s, mean_s=time_s, std_s=0.01 * time_s,
        warm_time_s=0.9 * time_s, host_time_s=4.2e-6, first_call_s=0.25, blocks_s=((block, block), (block, block)),
    )  # fmt: skip


def make_timing(time_s: float = 9.6e-6, **changes: Any) -> Timing:
    """A candidate 3.14 times faster than eager and 1.25 times than torch.compile."""
    given: dict[str, Any] = {
        "candidate": make_samples(time_s),
        "baseline": make_samples(3.14 * time_s),
        "speedup": Interval(value=3.14, low=3.1, high=3.18),
        "compiled": make_samples(1.25 * time_s),
        "speedup_compiled": Interval(value=1.25, low=1.22, high=1.28),
        "comparison": "faster",
        "method": "cuda events, 3 launches × 8 blocks × 10 windows of 1, turns ABBA, cold",
        "stopped_by": "interval",
        "parent_time_s": 1.1 * time_s,
        "control": Control(
            aa=Interval(value=1.001, low=0.99, high=1.01), planted=Interval(value=1.049, low=1.04, high=1.06), noise=0.01, fit=True
        ),
    }
    return Timing(**{**given, **changes})


def make_measurement(timing: Timing | None = None) -> Measurement:
    """Everything known, as on a GPU with counters."""
    return Measurement(
        timing=timing or make_timing(),
        ranks=Ranks(world=2, backend="nccl", candidate_s=(1e-5, 1.1e-5), reference_s=(2e-5, 2.1e-5), calls=50),
        memory=Memory(peak_bytes=33_554_432, output_bytes=16_777_216, workspace_bytes=16_777_216, baseline_peak_bytes=67_108_864, ratio=0.5),
        launches=Launches(
            kernels=1, copies=0, baseline_kernels=5, fusion_ratio=5.0, device_time_s=9.5e-6, custom_share=1.0,
            breakdown=(Kernel(name="rms_norm_vectors", launches=1, time_s=9.5e-6),), source="cupti",
        ),
        energy=Energy(energy_j=4.1e-3, low_j=4e-3, high_j=4.2e-3, baseline_energy_j=9e-3, ratio=0.456, power_w=612.0, idle_power_w=75.0,
                      burst_s=2.0, source="nvml"),
        roofline=Roofline(
            sol=0.875, sol_source="model", sol_model=0.875, sol_counters=0.9, bound="memory", min_bytes=5e8, flops=1e9, floor_s=8.4e-6,
            bandwidth_bytes_per_s=4.1e12, flop_per_s=2.2e12, arithmetic_intensity=2.0, ridge_flop_per_byte=15.0,
            peak_bandwidth_bytes_per_s=4.6e12, peak_flop_per_s=6e13, ceiling_source="measured",
        ),
        counters=Counters(
            kernels=(KernelCounters(name="rms_norm_vectors", time_s=9.5e-6, occupancy=0.71),), time_s=9.5e-6, dram_utilisation=0.9,
            compute_utilisation=0.22, occupancy=0.71, l2_hit=0.33, stalls={"long_scoreboard": 0.62, "wait": 0.1},
        ),
    )  # fmt: skip


def make_record(outcome: str = "correct", made: str = "2025-11-29T10:00:00.000001+00:00", **changes: Any) -> Record:
    """A record of this outcome; fields of the record may be given whole."""
    correct = outcome == "correct"
    given: dict[str, Any] = {
        "kind": "evaluation",
        "id": identity(outcome, made),
        "subject": Subject(
            problem="original/L1/36", problem_hash="0123456789abcdef", implementation="candidate", candidate_hash=identity(SOURCE),
            language="cuda", name="rms_norm.cu", source=SOURCE, reference="class Model: ...",
        ),
        "case": Case(dims={"B": 16384, "D": 4096}),
        "machine": Machine(device_id="nvidia-h200-sxm", device_name="NVIDIA H200", kind="cuda", device_index=0, torch="2.11.0+cu130", host="ab12"),
        "verdict": make_verdict(outcome),
        "build": Build(build_s=1.07, tier="stable", key="k" * 16),
        "measurement": make_measurement() if correct else Measurement(),
        "provenance": Provenance(
            made=made, harness="0.1.0", seed_commitment="c" * 64, seed="5eed" * 8, build_lane=Lane(queue_s=0.1, run_s=1.2),
            device_lane=Lane(queue_s=0.2, run_s=20.0), wall_s=21.5,
        ),
    }  # fmt: skip
    return Record(**{**given, **changes})


def make_verdict(outcome: str) -> Verdict:
    """The verdict of an outcome, with evidence where there is any."""
    if outcome == "correct":
        precision = Precision(output="out", max_abs_error=1.01e-6, worst=1.9e-6, bound=2e-5, reference_max_abs_error=1.02e-6)
        return Verdict(
            outcome="correct",
            trials=8,
            trials_passed=8,
            timed_outputs_judged=30,
            timed_calls=240,
            precision=(precision,),
            truth_dtype="float64",
        )
    violations = (Violation(defence="clock", evidence="9.7 ms by the parent's clock, 0.28 ms claimed"),) if outcome == "cheated" else ()
    reason = f"trial 2 (uniform values): what {outcome} looks like"
    miss = Miss(off_share=0.5, times_bound=3.0) if outcome == "wrong_values" else None
    return Verdict(outcome=outcome, reason=reason, stage="correctness", trials=2, trials_passed=1, violations=violations, miss=miss)  # type: ignore[arg-type]


def with_diagnostics(count: int) -> Build:
    """A failed build."""
    return Build(
        diagnostics=tuple(Diagnostic(file="rms_norm.cu", line=7 + i, message=f"identifier x{i} is undefined") for i in range(count))
    )


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
NUMBERS = st.floats(min_value=1e-9, max_value=1e6, allow_nan=False)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that the type allows, with hostile names."""
    outcome = draw(st.sampled_from(OUTCOMES))
    made = f"2025-{draw(st.integers(1, 12)):02d}-01T00:00:{draw(st.integers(0, 59)):02d}.{draw(st.integers(0, 999999)):06d}+00:00"
    candidate = draw(st.one_of(st.none(), st.sampled_from(["a" * 16, "b" * 16])))
    subject = Subject(
        problem=draw(st.one_of(st.sampled_from(["popcorn/L1/29", "original/L1/36"]), TEXTS)), problem_hash=draw(st.sampled_from(["p" * 16, "q" * 16])),
        implementation="candidate", candidate_hash=candidate, language="torch", name=draw(st.one_of(st.none(), TEXTS)), source=draw(TEXTS),
    )  # fmt: skip
    timed = outcome == "correct" and draw(st.booleans())
    return make_record(
        outcome,
        made,
        id=identity(draw(st.integers(0, 10**9)), made),
        kind=draw(st.sampled_from(["evaluation", "baseline"])),
        subject=subject,
        machine=Machine(
            device_id=draw(st.sampled_from(["cpu-a", "gpu-b"])), device_name="x", kind="cpu", host=draw(st.sampled_from(["h1", "h2"]))
        ),
        verdict=Verdict(outcome=outcome, reason=draw(st.one_of(st.none(), TEXTS))),
        measurement=Measurement(timing=make_timing(draw(NUMBERS))) if timed else Measurement(),
    )
