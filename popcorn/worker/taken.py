"""What a comparison took, and the nouns that it becomes: pace, samples, controls, timing. Imports no torch; runs in the parent."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from popcorn.measure.stats import compared, interval, medians
from popcorn.measure.steadiness import Steadiness
from popcorn.measure.turns import Turns
from popcorn.schema.measurement import Control, Interval, Samples, Timing
from popcorn.verify.defences.idle import Slowed
from popcorn.worker.session import Session

BASELINE, CANDIDATE, CONTROL, PLANTED, COMPILED = "baseline", "candidate", "control", "planted", "compiled"
PLANT = 1.05
LEAST_PLANTED_S = 3e-6
"""A wait on a GPU is a kernel, and one takes a microsecond or two to come after another: a shorter wait would be as long."""
GPU_LAUNCHES = 3
"""Fresh launches of every side, at the least."""
CHANCE = 0.002
"""A 95 % interval leaves 1 out once in twenty times. Where it does so by less than this the run stands: what the reference differs from itself by is
taken off every claim as it is (`noise`)."""
JUDGED_SHARE = 0.1
"""Of the results of timed calls, at least this share is judged."""
MEMORY = {"cpu": 512 << 20, "cuda": 8 << 30}
"""Bytes that the inputs and outputs of one block or batch may take."""
HELD_BYTES = {"cpu": 256 << 20, "cuda": 2 << 30}
"""Bytes of timed results that wait for their judgement, and on a CPU of inputs that are drawn ahead."""


@dataclass
class Pace:
    """Sizes of one block, from a first look at both sides."""

    per_window: int
    windows: int
    once_s: float
    """One call of the reference."""
    slow_s: float = 0.0
    """One call of the slower side."""

    @property
    def calls(self) -> int:
        return self.per_window * self.windows


@dataclass
class Taken:
    """What the comparison leaves beside the samples."""

    timed_calls: int = 0
    judged: int = 0
    held: int = 0
    """Results that are not judged yet."""
    warm: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    parent_s: float | None = None
    row_s: float | None = None
    """A call of the candidate in a row by the parent's clock, the least of all launches."""
    asking_s: float | None = None
    """What a row of calls costs beside its calls, the least of the launches that asked."""
    busy: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Processor and wall seconds of the candidate's own blocks."""
    idle: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """The same in the blocks of others."""
    accused: set[int] = field(default_factory=set)
    """Launches in which every pair said that the candidate's clock is false."""
    over_claimed: dict[int, float] = field(default_factory=dict)
    """By launch on a CPU, the parent's time of a batch over what the candidate's process claimed."""
    lengthened: dict[int, float] = field(default_factory=dict)
    """By launch, the factor by which its times of the candidate were lengthened."""
    slowed: list[Slowed] = field(default_factory=list)
    """The reference beside the candidate and without it, per launch on a GPU."""
    method: str = ""
    blocks: int = 0
    doubts: list[str] = field(default_factory=list)
    """Why the parent's clock could not confirm a time without accusing anybody."""
    plant: float = PLANT
    planted: list[float] = field(default_factory=list)
    """The slowdown that each block in fact asked for."""
    steadiness: Steadiness = field(default_factory=lambda: Steadiness(None))

    def plant_in(self, once_s: float, cuda: bool) -> float:
        """Seconds to wait after a call that takes `once_s`, noted as the slowdown that it is."""
        wait_s = max((self.plant - 1) * once_s, LEAST_PLANTED_S if cuda else 0.0)
        self.planted.append(1 + wait_s / once_s)
        return wait_s

    def planted_factor(self) -> float:
        """The slowdown that was planted, in the median of the blocks."""
        return float(np.median(self.planted)) if self.planted else self.plant


def timing_of(session: Session, turns: Turns, taken: Taken, first_call_s: float | None, pace: Pace, side: str) -> Timing:
    speedup = turns.ratio(BASELINE, side)
    control = control_of(turns, taken.steadiness, taken.planted_factor())
    if taken.doubts:
        control = control.model_copy(update={"fit": False, "reason": "; ".join(filter(None, [control.reason, taken.doubts[0]]))})
    instrument = "cuda events" if session.bench.cuda else "perf_counter"
    taken.method = f"{instrument}, {turns.rounds} launches × {taken.blocks} blocks × {pace.windows} window{'' if pace.windows == 1 else 's'} of {pace.per_window}, turns ABBA, cold"
    return Timing(
        candidate=samples_of(turns, side, taken, first_call_s),
        baseline=samples_of(turns, BASELINE, taken, None),
        speedup=speedup,
        comparison=compared(speedup, control.noise or 0.0),
        method=taken.method,
        stopped_by=turns.stopped_by,
        parent_time_s=taken.parent_s,
        control=control,
    )


def control_of(turns: Turns, steadiness: Steadiness, plant: float = PLANT) -> Control:
    """The reference against itself, and a slowdown of known size, both taken among the same blocks."""
    if CONTROL not in turns.samples:
        return Control(reason="not taken in this comparison")
    aa, planted = turns.ratio(CONTROL, BASELINE), turns.ratio(PLANTED, BASELINE)
    noise = abs(aa.value - 1)
    reasons = list(steadiness.reasons) if steadiness.fit is False else []
    if not aa.low - CHANCE <= 1 <= aa.high + CHANCE:
        reasons.append(f"the reference against itself gives {aa.value:.4f} [{aa.low:.4f}, {aa.high:.4f}], which excludes 1")
    if planted.low <= 1 + noise:
        reasons.append(
            f"a planted {plant:.3g}× slowdown was not found: {planted.value:.3g} [{planted.low:.3g}, {planted.high:.3g}] may be none"
        )
    elif planted.low > 1 + 2 * (plant - 1) or planted.high < 1 + (plant - 1) / 2:
        reasons.append(f"a planted {plant:.3g}× slowdown was found as another: {planted.value:.4f} [{planted.low:.4f}, {planted.high:.4f}]")
    return Control(aa=aa, planted=planted, plant=plant, noise=noise, fit=not reasons, reason="; ".join(reasons) or None)


def samples_of(turns: Turns, side: str, taken: Taken, first_call_s: float | None) -> Samples:
    raw = turns.samples[side]
    flat = np.array([value for launch in raw for block in launch for value in block])
    centre, low, high = interval([[math.log(v) for v in blocks] for blocks in medians(raw)])
    warm = taken.warm.get(side, [])
    return Samples(
        time_s=math.exp(centre),
        low_s=math.exp(low),
        high_s=math.exp(high),
        p10_s=float(np.quantile(flat, 0.1)),
        p90_s=float(np.quantile(flat, 0.9)),
        mean_s=float(flat.mean()),
        std_s=float(flat.std(ddof=1)) if len(flat) > 1 else None,
        warm_time_s=float(np.median([w["time_s"] for w in warm])) if warm else None,
        host_time_s=float(np.median([w["host_s"] for w in warm])) if warm else None,
        first_call_s=first_call_s,
        blocks_s=tuple(tuple(tuple(block) for block in launch) for launch in raw),
    )


def speedup_over_compiled(timing: Timing, compiled_over_eager: Interval) -> Interval:
    """torch.compile's time over the candidate's, through the eager baseline that both were measured against; errors in quadrature."""
    value = timing.speedup.value * compiled_over_eager.value
    widths = [math.log(i.high / i.low) / 2 for i in (timing.speedup, compiled_over_eager)]
    spread = math.hypot(*widths)
    return Interval(value=value, low=value * math.exp(-spread), high=value * math.exp(spread))
