"""static_check: what the text shows before it runs. Waits for nobody."""

from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench


async def run(workbench: Workbench, source: str) -> Answer:
    """The contract of the language, then remarks on the parse tree. Advice, but for a broken contract and refusals."""
    from popcorn.toolchain.diagnostics import CompileFailed
    from popcorn.toolchain.languages import check_contract, is_python
    from popcorn.verify.static.check import check_text, refusals

    name = workbench.name_of(source)
    python = is_python(name, source)
    try:
        check_contract(source, workbench.language, python=python, name=name)
    except CompileFailed as failed:
        return Answer(text=f"static_check FAILED: {failed.reason}", ok=False, outcome="compile_error", data={"reason": failed.reason})
    remarks = check_text(source, python)
    refused = refusals(remarks)
    lines = [f"line {one.line}: {one.weight}: {one.what}: {one.why}" for one in remarks[:40]]
    head = "static_check FAILED: it would be refused" if refused else f"static_check PASSED: {len(remarks) or 'no'} remarks"
    data = {"remarks": [one.model_dump() for one in remarks[:100]]}
    return Answer(text="\n".join([head, *lines]), ok=not refused, data=data)


TOOL = Tool(
    "static_check",
    "Checks the text without running it: the language's contract, and places that a judge would look at twice. Answers at once.",
    run,
)
