"""Our tools as Inspect calls them, and which run they belong to. Needs Inspect."""

from collections.abc import Iterable

from inspect_ai.tool import Tool, ToolDef, ToolParams
from inspect_ai.util import JSONSchema, store

from popcorn.agents.recorder import Recorder, one_open
from popcorn.agents.tools import answer
from popcorn.agents.tools.registry import find_tool

STORE_KEY = "popcorn_run"
OPEN: dict[str, Recorder] = {}
"""Run id → recorder, of the samples that are under way in this process."""


def current() -> Recorder:
    """The run of the sample that is being worked on. Raises BadAgent outside one."""
    return one_open(OPEN, store().get(STORE_KEY))


def make_tools(names: Iterable[str]) -> list[Tool]:
    """Tools of these names; each answers for the run of the sample that calls it."""
    return [_make(find_tool(name)) for name in names]


def _make(tool: answer.Tool) -> Tool:
    async def with_kernel(kernel_code: str) -> str:
        recorder = current()
        recorder.answer = await recorder.workbench.use(tool, kernel_code)
        recorder.asked.append((tool.name, recorder.answer))
        return recorder.answer.text

    async def without() -> str:
        recorder = current()
        recorder.answer = await recorder.workbench.use(tool)
        recorder.asked.append((tool.name, recorder.answer))
        return recorder.answer.text

    kernel = {"kernel_code": JSONSchema(type="string", description="The kernel's whole source.")}
    parameters = ToolParams(properties=kernel, required=["kernel_code"]) if tool.takes_kernel else ToolParams()
    made = ToolDef(
        with_kernel if tool.takes_kernel else without, name=tool.name, description=tool.summary, parameters=parameters, max_output=0
    )
    return made.as_tool()
