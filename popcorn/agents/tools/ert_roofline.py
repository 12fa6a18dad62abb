"""ert_roofline: the ceilings measured on this device (an empirical roofline), not the datasheet's."""

from typing import Any

from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench
from popcorn.units import show_rate


async def run(workbench: Workbench, _: str) -> Answer:
    """Known ceilings at once; otherwise they are measured, in the device lane."""
    import asyncio

    lane: dict[str, Any] = {"queue_s": 0.0, "run_s": 0.0}
    if workbench.place.ceilings() is None:
        lane = await asyncio.to_thread(workbench.place.measure_ceilings)
    ceilings = workbench.place.ceilings()
    if ceilings is None or not ceilings.bandwidth_bytes_per_s:
        return Answer(
            text="ert_roofline FAILED: the ceilings of this device could not be measured.", ok=False, error="infrastructure", **lane
        )
    bandwidth = ceilings.bandwidth_bytes_per_s
    lines = [f"measured on this device: memory {show_rate(bandwidth, 'B')} (" + _streams(ceilings.streams) + ")"]
    for precision, rate in sorted(ceilings.flop_per_s.items()):
        lines.append(f"{precision}: {show_rate(rate, 'FLOP')}; compute-bound above {rate / bandwidth:.1f} FLOP per byte")
    return Answer(text="\n".join(lines), data=ceilings.model_dump(exclude_none=True), **lane)


def _streams(streams: dict[str, float]) -> str:
    return ", ".join(f"{name} {show_rate(rate, 'B')}" for name, rate in sorted(streams.items()))


TOOL = Tool(
    "ert_roofline",
    "Measured ceilings of this device: bandwidth, flop rate by precision, and the arithmetic intensity where one limit gives way to the other.",
    run,
    takes_kernel=False,
)
