"""Figure 9: failure modes by model and level."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import MODES, Attempt, standings
from popcorn.site.figures.figure import Figure, Rows, agents, modes, panels, shares


def rows(attempts: Sequence[Attempt]) -> Rows:
    """How the planned problems ended, default tier."""
    return [
        {"level": f"L{one.level}", "variant": one.variant, "model": one.model, "mode": mode, "problems": count, "share": count / one.planned,
         "order": MODES.index(mode)}
        for one in standings(agents(attempts, "default")) for mode, count in one.modes.items() if count
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """Stacked shares: levels down, variants across."""
    import altair as alt

    return alt.Chart(alt.Data(values=table)).mark_bar(height={"band": 0.7}, stroke="white", strokeWidth=0.75).encode(
        alt.Y("model:N", title=None, axis=alt.Axis(labelLimit=200)),
        shares("share", "share of planned problems"),
        modes(table),
        alt.Row("level:N", title=None), alt.Column("variant:N", title=None, spacing=44),
        order="order:Q",
        tooltip=["model:N", "level:N", "variant:N", "mode:N", "problems:Q", alt.Tooltip("share:Q", format=".1%")],
    ).properties(width=panels(len({row["variant"] for row in table})) - 70, height=alt.Step(22))  # fmt: skip


FIGURE = Figure(
    number=9,
    name="failure_modes",
    title="How attempts ended",
    caption="Correct, wrong, cheat, compile failure, timeout, error, lost to the machine, missing; of all planned problems, default tier.",
    fills="the sweeps l12_default and l34_default",
    rows=rows,
    plot=plot,
    of="planned problems, over all models",
)
