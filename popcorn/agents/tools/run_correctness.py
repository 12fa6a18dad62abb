"""run_correctness: judge against the reference, without timing."""

from popcorn.agents.told import answer_of, build_lines, precision_lines
from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench


async def run(workbench: Workbench, source: str) -> Answer:
    """Trials of fresh values and sizes against float64 truth."""
    record = await workbench.evaluate(source, timing=False, sizes="open")
    verdict = record.verdict
    if verdict.correct:
        head = f"run_correctness PASSED: {verdict.trials_passed} of {verdict.trials} trials (fresh values, other sizes, hidden seeds)."
    else:
        head = f"run_correctness FAILED ({verdict.outcome}): {verdict.reason}"
    return answer_of(record, [head, *precision_lines(record), *(build_lines(record.build) if not verdict.correct else [])])


TOOL = Tool(
    "run_correctness",
    "Runs the kernel against the reference on hidden inputs and sizes; says where and by how much it is wrong. Not timed.",
    run,
)
