"""Figure 3: speedup against speed of light, all problems, one dot a model and problem."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt
from popcorn.site.figures.figure import Figure, Rows, agents, one_line, panels, ratios, shares


def rows(attempts: Sequence[Attempt]) -> Rows:
    """The best correct kernel of each model and problem."""
    best: dict[tuple[str, str], Attempt] = {}
    fit = [one for one in agents(attempts, "default") if one.correct and one.speedup is not None and one.sol is not None]
    for one in sorted(fit, key=lambda one: one.speedup or 0.0):
        best[one.model, one.problem] = one
    return [
        {
            "level": f"L{one.level}",
            "variant": one.variant,
            "model": one.model,
            "problem": one.problem,
            "speedup": one.speedup,
            "sol": one.sol,
        }
        for one in best.values()
    ]


def plot(table: Rows) -> Any:
    """Coloured by level, a panel a variant."""
    import altair as alt

    points = alt.Chart().mark_circle(size=55, opacity=0.65).encode(
        shares("sol", "speed of light"), ratios(alt.Y, "speedup", "speedup over eager", table), alt.Color("level:N", title="level"),
        tooltip=["model:N", "problem:N", alt.Tooltip("speedup:Q", format=".3g"), alt.Tooltip("sol:Q", format=".3g")],
    )  # fmt: skip
    width = panels(len({row["variant"] for row in table}))
    return (
        alt.layer(points, one_line(alt.Y), data=alt.Data(values=table))
        .properties(width=width, height=280)
        .facet(column=alt.Column("variant:N", title=None), spacing=44)
    )


FIGURE = Figure(
    number=3,
    name="speedup_against_sol",
    title="Speedup against speed of light",
    caption="The best correct kernel of each model on each problem. High and left: the reference was slow. Right: little is left to win.",
    fills="the sweeps l12_default and l34_default",
    rows=rows,
    plot=plot,
)
