"""Runs of agents as they go, and when they ended: tables within 100 columns. Text of models is shown as plain text only."""

import os
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from popcorn.cli.plain import plain
from popcorn.cli.printing import WIDTH, print_within
from popcorn.schema.run import Run, Turn
from popcorn.units import UNKNOWN, show_ratio

if TYPE_CHECKING:
    from popcorn.agents.recorder import Recorder

_LATEST = 6


class AgentView:
    """A live table, one row a run, and the latest turns below. Without a terminal: a line a turn on stderr; quiet: nothing."""

    def __init__(self, problem: str, model: str, tier: str, quiet: bool = False):
        self.title = f"{plain(problem, 60)} · {plain(model, 40)} · {plain(tier, 20)}"
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, emoji=False)
        self.recorders: dict[str, Recorder] = {}
        self.doing: dict[str, str] = {}
        self.latest: list[Text] = []
        self.told: set[tuple[str, int]] = set()
        """Run and index of each turn that stands on stderr for good."""
        self.began = time.monotonic()
        self._live = Live(get_renderable=self._draw, console=self.console, refresh_per_second=4, transient=True)

    def observe(self, what: str, recorder: "Recorder") -> None:
        """Told by the recorder of every step."""
        identity = recorder.run.id
        self.recorders[identity], self.doing[identity] = recorder, what
        if what == "turn" and recorder.run.turns:
            line = Text(f"#{recorder.run.repeat} " + turn_line(recorder.run.turns[-1]))
            self.latest = [*self.latest, line][-_LATEST:]
            if not self.quiet and not self.console.is_terminal:
                self.console.print(line, width=WIDTH, soft_wrap=True)
                if os.path.sameopenfile(1, 2):  # else whoever reads stdout alone would never see it
                    self.told.add((identity, recorder.run.turns[-1].index))

    def __enter__(self) -> "AgentView":
        if not self.quiet and self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _draw(self) -> Group:
        table = _table("run", "turn", "now", "best", "tokens", "cost", "left")
        for identity, recorder in sorted(self.recorders.items(), key=lambda item: item[1].run.repeat):
            best = recorder.workbench.best
            cells = [
                f"#{recorder.run.repeat}", f"{recorder.spent.turns}/{recorder.budget.turns}", plain(self.doing[identity], 30),
                show_ratio(best.speedup) if best and best.speedup else "correct" if best else UNKNOWN, f"{recorder.spent.tokens:,}",
                _cost(recorder.run), left(recorder),
            ]  # fmt: skip
            table.add_row(*(Text(cell) for cell in cells))
        return Group(Text(f"{self.title} · {time.monotonic() - self.began:.0f} s", style="bold"), table, *self.latest)


def left(recorder: "Recorder") -> str:
    """What is left of each budget, in a few words."""
    budget, spent = recorder.budget, recorder.spent
    words = [f"{max(0, budget.tool_calls - spent.tool_calls)} calls"]
    words += [f"{max(0, budget.tokens - spent.tokens):,} tokens"] if budget.tokens else []
    words += [f"${max(0.0, budget.cost_usd - spent.cost_usd):.2f}"] if budget.cost_usd else []
    words += [f"{max(0.0, budget.wall_s - spent.wall_s):.0f} s"] if budget.wall_s else []
    return ", ".join(words)


def turn_line(turn: Turn) -> str:
    """One turn: times, tokens, calls and how they went."""
    tokens = turn.tokens
    calls = ", ".join(
        f"{plain(call.tool, 30)} {'ok' if call.ok else plain(call.error or call.data.get('outcome') or 'failed', 30)}"
        for call in turn.calls
    )
    queue = f" ({turn.queue_s:.1f} s queued)" if turn.queue_s else ""
    return (
        f"turn {turn.index:02d} {turn.wall_s or 0:.1f}s · {turn.llm_s or 0:.1f}s LLM · {turn.tool_s or 0:.1f}s tools{queue} · in={tokens.input or 0:,} "
        f"out={tokens.output or 0:,} · {calls or 'text only'}{' · FINAL' if turn.final else ''}"
    )


def print_runs(runs: list[Run], console: Console | None = None, told: Collection[tuple[str, int]] = ()) -> None:
    """Every run with its turns, those left out that were told as they came, then the table of repeats with their spread."""
    console = console or Console(highlight=False, emoji=False)
    width = min(console.width, WIDTH)
    for run in runs:
        console.print(Text(f"\nrun {run.id} · repeat {run.repeat}", style="bold"))
        for turn in run.turns:
            if (run.id, turn.index) not in told:
                print_within(Padding(Text(turn_line(turn)), (0, 0, 0, 2)), console)
        if run.submitted_by == "harness":
            console.print(Text(f"  ended by {run.ended_by}: the best correct kernel so far was submitted by the harness"), width=width)
        if run.reason:
            console.print(Text(f"  {plain(run.reason, 300)}"), width=width)
    table = _table("run", "outcome", "speedup", "turns", "calls", "tokens", "cost", "wall", "ended by")
    for run in runs:
        cells = [
            f"#{run.repeat}", run.outcome or UNKNOWN, f"{show_ratio(run.speedup)}{' unfit' if unfit(run) else ''}", f"{len(run.turns)}/{run.max_turns}", str(run.tool_calls),
            f"{run.tokens.total or 0:,}", _cost(run), f"{run.wall_s or 0:.0f} s", run.ended_by or UNKNOWN,
        ]  # fmt: skip
        table.add_row(*(Text(plain(cell, 40)) for cell in cells))
    console.print()
    print_within(table, console)
    if any(unfit(run) for run in runs):
        console.print(
            Text("unfit: the controls of that evaluation failed, so its speedup claims nothing; run it again on a quiet machine"),
            width=width,
        )
    for run in runs:
        if run.record_id is not None:
            console.print(Text(f"#{run.repeat}  record {run.record_id} · again: popcorn rerun {run.record_id}"), width=width)
    if len(runs) > 1:
        console.print(Text(spread(runs)), width=width)


def unfit(run: Run) -> bool:
    """Whether the controls of the evaluation that counts failed, as its own tool call says."""
    told = [
        call.data for turn in run.turns for call in turn.calls if run.record_id is not None and call.data.get("record_id") == run.record_id
    ]
    return any(data.get("fit") is False for data in told)


def spread(runs: list[Run]) -> str:
    """How the repeats differ: correct ones, and the least, middle and greatest speedup among them."""
    speeds = sorted(run.speedup for run in runs if run.outcome == "correct" and run.speedup is not None)
    said = f"{sum(run.outcome == 'correct' for run in runs)} of {len(runs)} correct"
    if not speeds:
        return said
    return f"{said} · speedup {show_ratio(speeds[0])} to {show_ratio(speeds[-1])}, median {show_ratio(speeds[len(speeds) // 2])}"


def _cost(run: Run) -> str:
    return UNKNOWN if run.cost_usd is None and run.turns else f"${run.cost_usd or 0.0:.3f}"


def _table(*headings: str) -> Any:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
