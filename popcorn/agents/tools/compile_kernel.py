"""compile_kernel: build and import, in the build lane; the device lane is not entered."""

from typing import Any

from popcorn.agents.told import build_lines
from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench


async def run(workbench: Workbench, source: str) -> Answer:
    """Compiler messages, or that it built."""
    built = await workbench.build(source)
    lane: dict[str, Any] = {"queue_s": built.lane.queue_s, "run_s": built.lane.run_s}
    data = {"build": built.build.model_dump(exclude_none=True)}
    if built.refused is not None:
        reason = built.refused.reason or "no reason was given"
        text = "\n".join([f"compile_kernel FAILED ({built.refused.outcome}): {reason}", *build_lines(built.build)])
        return Answer(text=text, ok=False, outcome=built.refused.outcome, data=data, **lane)
    how = "from the cache" if built.build.cached else f"in {built.build.build_s or 0.0:.2f} s"
    return Answer(text="\n".join([f"compile_kernel PASSED: built {how}.", *build_lines(built.build)]), data=data, **lane)


TOOL = Tool(
    "compile_kernel",
    "Compiles the kernel and imports it; compiler messages with line numbers. Builds are kept, so later tools do not build it again.",
    run,
)
