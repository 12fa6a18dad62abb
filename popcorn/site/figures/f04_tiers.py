"""Figure 4: what tools bring: single, default and all, by model and level."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt, standings
from popcorn.site.figures.figure import TIMES, Figure, Rows, agents, model_dots, one_line

TIERS = ("single", "default", "all")


def rows(attempts: Sequence[Attempt]) -> Rows:
    """Correct rate and speedup of each model, level, variant and tier; empty until there are two tiers to compare."""
    some = [one for one in agents(attempts) if one.tier in TIERS]
    if len({one.tier for one in some}) < 2:
        return []
    return [
        {"level": f"L{one.level}", "variant": one.variant, "model": one.model, "tier": one.tier, "correct_rate": one.correct_rate,
         "speedup_median": one.speedup_median, "speedup_failures_as_1": one.speedup.failures_as_1, "planned": one.planned}
        for one in standings(some)
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """Correct rate above, median speedup below, by tier."""
    import altair as alt

    tier = alt.X("tier:N", sort=list(TIERS), title=None, axis=alt.Axis(labelAngle=0))
    tips = [
        "model:N",
        "tier:N",
        "level:N",
        "variant:N",
        alt.Tooltip("correct_rate:Q", format=".1%"),
        alt.Tooltip("speedup_median:Q", format=".3g"),
    ]
    source = alt.Data(values=table)
    key = alt.Legend(symbolType="stroke", symbolStrokeColor="#8a857a", symbolStrokeWidth=2)
    lines = alt.Chart().mark_line().encode(tier, alt.Stroke("model:N", legend=None), alt.StrokeDash("variant:N", legend=key))
    dots = model_dots(60).encode(tier, tooltip=tips)
    # axes of one extent, so that the panels of both rows stand under each other
    width = min(300, 880 // len({row["level"] for row in table}))
    share = alt.Axis(format="%", tickCount=5, minExtent=56)
    correct = alt.Y("correct_rate:Q", title="correct, of planned", axis=share, scale=alt.Scale(domain=[0, 1]))
    faster = alt.Y("speedup_median:Q", title="median speedup", axis=alt.Axis(labelExpr=TIMES, tickCount=5, minExtent=56))
    rate = alt.layer(lines.encode(correct), dots.encode(correct), data=source)
    speed = alt.layer(lines.encode(faster), dots.encode(faster), one_line(alt.Y), data=source)
    rows_of = ((rate, alt.Header()), (speed, alt.Header(labels=False)))
    return alt.vconcat(
        *(
            part.properties(width=width, height=150).facet(column=alt.Column("level:N", title=None, header=header))
            for part, header in rows_of
        )
    )


FIGURE = Figure(
    number=4,
    name="tiers",
    title="Tiers compared: single, default, all",
    caption="Correct over planned problems, and the median speedup of the correct ones, for each model and level as tools are added.",
    fills="the sweeps l12_single, l12_all, l34_single and l34_all beside the default ones",
    rows=rows,
    plot=plot,
    of="planned problems, over all models and tiers",
)
