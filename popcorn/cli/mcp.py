"""`popcorn mcp PROBLEM`: the agents' tools over MCP on stdin and stdout, for Claude Code, Codex and the like."""

from typing import Annotated

import typer

from popcorn.errors import MissingTool
from popcorn.suites.problems import find_problem


def serve_mcp(
    problem: Annotated[str, typer.Argument(help="Id such as popcorn/L1/29, or the path of a problem file.")],
    model: Annotated[str, typer.Option(help="Name under which the agent's run is kept.")] = "external",
    tier: Annotated[str, typer.Option(help="single, default or all: which tools are offered.")] = "all",
    language: Annotated[str, typer.Option(help="cuda, triton, tilelang, cute, cpp, c, sycl, torch; auto: cuda on a GPU, else c.")] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for taking turns with the reference.")] = 10.0,
) -> None:
    """Offer the agents' tools to a coding agent, over MCP.

    It speaks on stdin and stdout. Register it with your agent as the command `popcorn mcp PROBLEM`; see docs/agents.md. The run is kept like any other.
    """
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise MissingTool("popcorn mcp needs the MCP package: pip install 'popcornbench[agents]'") from None
    from popcorn.agents.mcp_server import make_server
    from popcorn.agents.place import runs_folder
    from popcorn.agents.prompts import write_task
    from popcorn.agents.tiers import find_tier
    from popcorn.cli.watch import open_external

    found, chosen = find_problem(problem), find_tier(tier)
    external, place = open_external(found, model, language, device, budget, runs_folder())
    try:
        text = write_task(found, external.workbench.settings, place)
        make_server(external, chosen.tools or ("submit_kernel",), text).run("stdio")
    finally:
        place.engine.close()
