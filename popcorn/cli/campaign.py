"""`popcorn campaign`: run, status, stop."""

import json as json_text
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Sweeps one after the other, detached, under a time budget.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)

Name = Annotated[str | None, typer.Argument(help="A campaign's name; the newest when left out.")]


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="A TOML file such as sweeps/campaign.toml.")],
    here: Annotated[bool, typer.Option("--here", help="In this process instead of a detached one.")] = False,
    retry: Annotated[bool, typer.Option("--again", help="Begin anew: forget which steps ended.")] = False,
) -> None:
    """Start a campaign, or go on with the one of the same name. A lost shell does not end it."""
    from popcorn.sweep.campaign import carry_out, detach, folder_of, read_campaign

    campaign = read_campaign(file)
    folder = folder_of(campaign.name)
    if folder.alive() is None:
        if retry:
            (folder.path / "campaign.json").unlink(missing_ok=True)
        folder.begin(campaign, file.resolve().parent)
    if here:
        carry_out(folder)
        return
    typer.echo(
        f"{campaign.name} runs as process {detach(folder)}; `popcorn campaign status` says where it is, {folder.path / 'campaign.log'} everything"
    )


@app.command("status")
def status_command(
    name: Name = None, json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False
) -> None:
    """Which step it is at, and when it is expected to end."""
    from popcorn.sweep.campaign import folder_of, newest, status

    facts = status(folder_of(name) if name else newest())
    if json:
        print(json_text.dumps(facts))
        return
    for text in lines(facts):
        typer.echo(text)


@app.command("stop")
def stop_command(name: Name = None) -> None:
    """Drain the step under way and end; `campaign run` goes on."""
    from popcorn.sweep.campaign import folder_of, newest, stop

    folder = folder_of(name) if name else newest()
    typer.echo("it drains and ends" if stop(folder) else "it does not run")


def lines(facts: dict[str, Any]) -> list[str]:
    """For people."""
    end = datetime.fromtimestamp(facts["expected_end"]).strftime("%a %H:%M")
    when = (
        ""
        if facts["state"] == "ended"
        else f" · expected to end {end}, in {facts['expected_hours_left']:.1f} h · {facts['budget_hours_left']:.1f} h of {facts['hours']:g} left"
    )
    told = [f"{facts['campaign']} · {facts['state']}{when}"]
    for one in facts["steps"]:
        took = f"{(one['ended'] - one['began']) / 3600:.2f} h" if one.get("ended") and one.get("began") else ""
        told.append(f"  {one['name']:24} {one['state']:8} {took} {one.get('reason', '')}".rstrip())
    return told + [f"  beside it: {name}: {state}" for name, state in facts["servers"].items()]
