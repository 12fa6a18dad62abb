"""Figure 10: kernels that communicate between GPUs, apart from the others because they run in a mode of their own."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt
from popcorn.site.figures.figure import Figure, Rows, model_dots, one_line, ratios

TIER = "comm"
"""Runs of the communication sweep have this tier, or one that ends in `-comm`."""


def rows(attempts: Sequence[Attempt]) -> Rows:
    """Correct kernels of the communication sweep."""
    return [
        {"model": one.model, "problem": one.problem, "speedup": one.speedup, "run": one.run}
        for one in attempts if (one.tier == TIER or one.tier.endswith(f"-{TIER}")) and one.correct and one.speedup is not None
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """One row a problem."""
    import altair as alt

    source = alt.Data(values=table)
    tips = ["model:N", "problem:N", alt.Tooltip("speedup:Q", format=".3g"), "run:N"]
    across = ratios(alt.X, "speedup", "speedup over eager", table)
    dots = model_dots(80).encode(across, alt.Y("problem:N", title=None), tooltip=tips)
    return alt.layer(dots, one_line(alt.X), data=source).properties(width=680, height=alt.Step(30))


FIGURE = Figure(
    number=10,
    name="communication",
    title="Communication kernels",
    caption="Problems of several GPUs (collectives, tensor and pipeline parallelism), run one after another with all GPUs.",
    fills="the sweep comm_l2_popcorn, on a machine with several GPUs",
    rows=rows,
    plot=plot,
)
