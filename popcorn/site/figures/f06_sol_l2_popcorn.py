"""Figure 6: speed of light by tier on L2 popcorn."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt
from popcorn.site.figures.figure import Figure, Rows, agents, model_dots, shares


def rows(attempts: Sequence[Attempt]) -> Rows:
    """Speed of light of every correct kernel of L2 popcorn."""
    return [
        {"model": one.model, "tier": one.tier, "problem": one.problem, "sol": one.sol, "run": one.run}
        for one in agents(attempts, levels=(2,)) if one.variant == "popcorn" and one.correct and one.sol is not None
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """Boxes over the kernels themselves."""
    import altair as alt

    across = shares("sol", "speed of light")
    up = alt.Y("tier:N", title=None, sort=["single", "default", "all"])
    source = alt.Data(values=table)
    box = alt.Chart().mark_boxplot(size=16, opacity=0.35, outliers=False, color="#8a857a").encode(across, up)
    tips = ["model:N", "tier:N", "problem:N", alt.Tooltip("sol:Q", format=".1%")]
    dots = model_dots(40, 0.7).encode(across, up, tooltip=tips)
    return alt.layer(box, dots, data=source).properties(width=680, height=alt.Step(58))


FIGURE = Figure(
    number=6,
    name="sol_l2_popcorn",
    title="Speed of light by tier, L2 popcorn",
    caption="One dot a correct kernel; boxes are quartiles. Each value is in [0, 1] by construction.",
    fills="the sweeps l12_single, l12_default and l12_all on L2 popcorn",
    rows=rows,
    plot=plot,
)
