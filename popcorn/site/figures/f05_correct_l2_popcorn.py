"""Figure 5: correct rate by tier on L2 popcorn."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import MODES, Attempt, standings
from popcorn.site.figures.figure import Figure, Rows, agents, modes, shares


def rows(attempts: Sequence[Attempt]) -> Rows:
    """How the planned problems of L2 popcorn ended, for each model and tier."""
    some = [one for one in agents(attempts, levels=(2,)) if one.variant == "popcorn"]
    return [
        {"model": one.model, "tier": one.tier, "mode": mode, "problems": count, "share": count / one.planned, "order": MODES.index(mode)}
        for one in standings(some) for mode, count in one.modes.items() if count
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """Stacked shares, a panel a tier."""
    import altair as alt

    return alt.Chart(alt.Data(values=table)).mark_bar(height={"band": 0.7}, stroke="white", strokeWidth=0.75).encode(
        alt.Y("model:N", title=None, axis=alt.Axis(labelLimit=220)),
        shares("share", "share of planned problems"),
        modes(table),
        alt.Row("tier:N", title=None, sort=["single", "default", "all"]),
        order="order:Q",
        tooltip=["model:N", "tier:N", "mode:N", "problems:Q", alt.Tooltip("share:Q", format=".1%")],
    ).properties(width=680, height=alt.Step(24)).resolve_scale(y="independent")  # fmt: skip


FIGURE = Figure(
    number=5,
    name="correct_l2_popcorn",
    title="Correct rate by tier, L2 popcorn",
    caption="Shares of all planned problems. What is missing or was lost to the machine is shown, not left out.",
    fills="the sweeps l12_single, l12_default and l12_all on L2 popcorn",
    rows=rows,
    plot=plot,
    of="planned problems, over all models and tiers",
)
