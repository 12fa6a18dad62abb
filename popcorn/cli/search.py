"""`popcorn search PROBLEM`: evolve kernels; `search list`, `search serve`, `search export` beside it."""

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from popcorn.cli.search_beside import Device, export_search, list_searches, serve_searches
from popcorn.schema.case import Precision
from popcorn.search.plan import StrategyName
from popcorn.suites.problems import find_problem


class RunByDefault(TyperGroup):
    """`search PROBLEM` is `search run PROBLEM`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=RunByDefault, help="Evolve kernels: `search PROBLEM` runs one.", no_args_is_help=True, add_completion=False,
                  rich_markup_mode=None)  # fmt: skip


@app.command("run")
def run_search(
    problem: Annotated[str, typer.Argument(help="Problem id, path of a problem file, or a task's folder.")],
    proposer: Annotated[str, typer.Option(help="mutate, models by commas, replay:FOLDER, or a URL.")] = "mutate",
    strategy: Annotated[StrategyName, typer.Option(help="How parents are chosen.")] = "map_elites",
    seed_file: Annotated[list[Path] | None, typer.Option(help="A kernel to begin with; repeat for several.")] = None,
    evaluations: Annotated[int, typer.Option(min=1, max=100_000, help="Finished evaluations at most.")] = 60,
    dollars: Annotated[float | None, typer.Option(min=0, help="Money at most.")] = None,
    device_seconds: Annotated[float | None, typer.Option(min=0, help="Seconds on the device at most.")] = None,
    target: Annotated[float | None, typer.Option(min=0, help="Stop when the sure speedup reaches this.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    width: Annotated[int, typer.Option(min=1, max=256, help="Programs proposed at once.")] = 4,
    islands: Annotated[int, typer.Option(min=1, max=64, help="Populations, for --strategy islands.")] = 4,
    language: Annotated[str, typer.Option(help="cuda, triton, cpp, c, …; auto: cuda on a GPU, else c.")] = "auto",
    precision: Annotated[Precision, typer.Option(help="Element type.")] = "float32",
    backward: Annotated[bool, typer.Option("--backward", help="Judge and time the gradients, too.")] = False,
    device: Device = "auto",
    budget: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds of taking turns for each.")] = 1.0,
    tune: Annotated[int, typer.Option(min=0, help="Points tried of each template.")] = 0,
    verify: Annotated[bool, typer.Option("--verify", help="Three model reviews before hardware.")] = False,
    meta_prompts: Annotated[bool, typer.Option("--meta-prompts", help="Prompts evolve, too.")] = False,
    models: Annotated[Path | None, typer.Option(help="A TOML file with models of your own.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the search.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew instead of going on.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Evolve kernels of a problem. The same command goes on with a search that was stopped; nothing is paid for twice."""
    from popcorn.agents.place import open_place
    from popcorn.cli.search_view import show_finding, teller
    from popcorn.search.custom import load_task
    from popcorn.search.judging import Effort
    from popcorn.search.plan import SearchPlan
    from popcorn.search.starting import Asked, language_of, read_seeds, start

    task = load_task(Path(problem)) if Path(problem).is_dir() else None
    found = task.problem if task else find_problem(problem)
    place = open_place(device)
    try:
        plan = SearchPlan(
            problem=found.id, language=task.language if task else language_of(language, place), precision=precision,
            gradient="grad" if backward else "none", seeds=((task.seed,) if task else ()) + read_seeds(seed_file or []),
            instructions=task.instructions if task else "", strategy=strategy, evaluations=evaluations, cost_usd=dollars,
            device_s=device_seconds, target=target, seed=seed, width=width, islands=islands, tune=tune,
        )  # fmt: skip
        asked = Asked(found, plan, proposer, models, verify, meta_prompts, Effort(budget_s=budget), name)
        finding, identity = start(asked, place, fresh=fresh, tell=teller(quiet=json))
    finally:
        place.engine.close()
    told = show_finding(finding, identity, quiet=json)
    if json:
        print(json_text.dumps(told))
    raise typer.Exit(0 if finding.best is not None else 1)


app.command("list")(list_searches)
app.command("serve")(serve_searches)
app.command("export")(export_search)
