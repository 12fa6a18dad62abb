"""disassemble_kernel: the machine code, summed up: registers, spills, tensor cores, the mix of instructions."""

from typing import Any

from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench


async def run(workbench: Workbench, source: str) -> Answer:
    """Builds (or finds the build), then reads the library: SASS where cuobjdump is here, PTX and ptxas's report where not, a CPU's own code."""
    import asyncio

    from popcorn.toolchain.assembly import Unreadable, read_cuda_source, read_library

    built = await workbench.build(source)
    lane: dict[str, Any] = {"queue_s": built.lane.queue_s, "run_s": built.lane.run_s}
    if built.refused is not None:
        text = f"disassemble_kernel FAILED ({built.refused.outcome}): {built.refused.reason}"
        return Answer(text=text, ok=False, outcome=built.refused.outcome, **lane)
    machine = workbench.place.machine()
    native = not workbench.name_of(source).endswith(".py")
    try:
        if machine.kind == "cuda" and native:
            parts = await asyncio.to_thread(read_cuda_source, source, machine.compute_capability or "9.0")
        elif built.libraries:
            parts = [part for path in built.libraries for part in await asyncio.to_thread(read_library, path, machine.kind == "cuda")]
        else:
            raise Unreadable(
                f"a {workbench.language} kernel is compiled when it first runs, so there is no library to read; use profile_kernel."
            )
    except Unreadable as failed:
        return Answer(text=f"disassemble_kernel FAILED: {failed}", ok=False, error="unavailable", **lane)
    parts = sorted(parts, key=lambda part: -part.instructions)[:6]
    return Answer(text="\n".join(part.text() for part in parts), data={"functions": [part.data() for part in parts]}, **lane)


TOOL = Tool(
    "disassemble_kernel",
    "The machine code of the kernel, summed up: registers, spills, shared memory, tensor-core or vector use, the mix of instructions.",
    run,
)
