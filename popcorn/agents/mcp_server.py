"""The agents' tools as an MCP server, so that an external coding agent is judged by the same evaluator and lands in the same table."""

from typing import TYPE_CHECKING

from popcorn.agents.external import External
from popcorn.agents.tools.answer import Tool
from popcorn.agents.tools.registry import find_tool

if TYPE_CHECKING:
    from mcp.server import MCPServer


def make_server(external: External, names: tuple[str, ...], instructions: str) -> "MCPServer":
    """A server of these tools, and `get_problem` for the statement. Texts only: what a tool found is in the run's record."""
    from mcp.server import MCPServer

    server: MCPServer = MCPServer("popcorn", instructions=instructions)

    async def get_problem() -> str:
        return instructions

    server.add_tool(
        get_problem, name="get_problem", description="The problem: the reference, the language's contract, how kernels are judged."
    )
    for name in names:
        _add(server, external, find_tool(name))
    return server


def _add(server: "MCPServer", external: External, tool: Tool) -> None:
    async def with_kernel(kernel_code: str) -> str:
        return (await external.use(tool.name, kernel_code)).text

    async def without() -> str:
        return (await external.use(tool.name)).text

    server.add_tool(with_kernel if tool.takes_kernel else without, name=tool.name, description=tool.summary, structured_output=False)
