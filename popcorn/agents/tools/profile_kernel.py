"""profile_kernel: a short measurement, where the time goes, and what changed since the last one."""

from popcorn.agents.told import answer_of, changes, measured_lines, roofline_lines, without_samples
from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench

BUDGET_S = 2.0


async def run(workbench: Workbench, source: str) -> Answer:
    """Times, speed of light, launches, stalls: from the record of a short evaluation."""
    short = min(BUDGET_S, workbench.settings.budget_s)
    record = await workbench.evaluate(source, budget_s=short, control=False, compile_baseline=False, energy=False, sizes="open")
    if not record.verdict.correct:
        return answer_of(record, [f"profile_kernel FAILED ({record.verdict.outcome}): {record.verdict.reason}"])
    before = workbench.last_profile
    since = changes(before, record.measurement) if before is not None else []
    lines = ["profile_kernel PASSED (a short measurement; submit_kernel measures longer):"]
    lines += [*measured_lines(record), *roofline_lines(record.measurement)]
    answer = answer_of(record, [*lines, *(["since the last profile:", *since] if since else [])])
    return answer.model_copy(update={"measurement": without_samples(record.measurement)})


TOOL = Tool(
    "profile_kernel",
    "A short measurement against the reference: times, speedup, roofline, launches, and on a GPU hardware counters (occupancy, cache hits, "
    "stalls); what changed since the last profile.",
    run,
)
