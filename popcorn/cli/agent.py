"""`popcorn agent PROBLEM --model M --tier T`: a model writes a kernel with tools; live view, transcript, result."""

import asyncio
import json as json_text
from importlib.util import find_spec
from typing import Annotated

import typer

from popcorn.errors import MissingTool
from popcorn.schema.case import Precision
from popcorn.suites.problems import find_problem


def agent(
    problem: Annotated[str, typer.Argument(help="Id such as popcorn/L1/29, or the path of a problem file.")],
    model: Annotated[str, typer.Option(help="Row of models.toml, or a name of Inspect such as openai/gpt-5.")] = "scripted/steady",
    tier: Annotated[str, typer.Option(help="single, default, all, or one of your own.")] = "default",
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Independent runs of the same question.")] = 1,
    language: Annotated[str, typer.Option(help="cuda, triton, tilelang, cute, cpp, c, sycl, torch; auto: cuda on a GPU, else c.")] = "auto",
    precision: Annotated[Precision, typer.Option(help="Element type.")] = "float32",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX.")] = "auto",
    budget: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for taking turns with the reference.")] = 10.0,
    turns: Annotated[int | None, typer.Option(min=1, help="Turns at most; else the tier's.")] = None,
    tool_calls: Annotated[int | None, typer.Option(min=0, help="Tool calls at most; else the tier's.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Tokens at most, in and out.")] = None,
    dollars: Annotated[float | None, typer.Option(min=0, help="Money at most.")] = None,
    seconds: Annotated[float | None, typer.Option(min=1, help="Wall clock at most.")] = None,
    models: Annotated[str | None, typer.Option(help="A TOML file with models of your own.")] = None,
    tiers: Annotated[str | None, typer.Option(help="A TOML file with tiers of your own.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew instead of going on with the same command's runs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array of runs, and nothing else.")] = False,
) -> None:
    """Let a model write a kernel with tools, and judge it.

    A run that was stopped goes on when the same command is given again; finished model calls are not paid for twice. The exit code is
    0 when every run ended with a correct kernel, else 1.
    """
    if find_spec("inspect_ai") is None:
        raise MissingTool("popcorn agent needs Inspect: pip install 'popcornbench[agents]'")
    from popcorn.agents.budget import Budget
    from popcorn.agents.models import find_model
    from popcorn.agents.place import open_place, runs_folder
    from popcorn.agents.tables import write_tables
    from popcorn.agents.tiers import find_tier
    from popcorn.agents.workbench import Settings
    from popcorn.cli.agent_view import AgentView, print_runs
    from popcorn.errors import BadAgent

    found, row, chosen = find_problem(problem), find_model(model, models), find_tier(tier, tiers)
    if dollars is not None and row.price is None:
        raise BadAgent(f"the price of {row.name} is not known, so --dollars could not hold; give it one in a row of your own (--models)")
    own = Budget.of(chosen)
    spend = Budget(
        own.turns if turns is None else turns, own.tool_calls if tool_calls is None else tool_calls, own.tokens if tokens is None else tokens, own.cost_usd if dollars is None else dollars, own.wall_s if seconds is None else seconds
    )  # fmt: skip
    from popcorn.agents.running import run_agents  # Inspect takes seconds to come: a mistake is told before

    place = open_place(device)
    try:
        with AgentView(found.id, row.name, chosen.name, quiet=json) as view:
            settings = Settings(language=language, precision=precision, budget_s=budget)
            runs = asyncio.run(
                run_agents(found, row, chosen, settings, place, repeats=repeats, budget=spend, fresh=fresh, observe=view.observe)
            )
    finally:
        place.engine.close()
    write_tables(runs_folder(), runs_folder() / "tables")
    if json:
        print(json_text.dumps([run.model_dump(mode="json") for run in runs]))
    else:
        print_runs(runs, told=view.told)
    raise typer.Exit(0 if all(run.outcome == "correct" for run in runs) else 1)
