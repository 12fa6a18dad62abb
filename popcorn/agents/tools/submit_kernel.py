"""submit_kernel: the final answer, judged and measured in full."""

from popcorn.agents.told import answer_of, build_lines, measured_lines, precision_lines
from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench


async def run(workbench: Workbench, source: str) -> Answer:
    """The whole evaluation, on values and sizes that no tool showed before; its record is the run's result."""
    record = await workbench.evaluate(source, budget_s=workbench.settings.budget_s, sizes="held_out")
    verdict = record.verdict
    if not verdict.correct:
        head = f"submit_kernel FAILED ({verdict.outcome}): {verdict.reason}"
        return answer_of(record, [head, *precision_lines(record), *build_lines(record.build)])
    head = f"submit_kernel PASSED: {verdict.trials_passed} of {verdict.trials} trials, {verdict.timed_outputs_judged} timed outputs judged."
    return answer_of(record, [head, *measured_lines(record), *precision_lines(record)])


TOOL = Tool("submit_kernel", "Submits the final kernel and ends the run: judged and measured in full. Call it once, with your best.", run)
