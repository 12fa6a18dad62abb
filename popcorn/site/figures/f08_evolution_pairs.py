"""Figure 8: evolution on problems of the same numbers of the original and the popcorn variant, levels 1 and 2."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt
from popcorn.site.figures.f07_evolution_against_best import best_of
from popcorn.site.figures.figure import TIMES, Figure, Rows, one_line, searches

PROBLEMS = (1, 2, 10)


def rows(attempts: Sequence[Attempt]) -> Rows:
    """Problems 1, 2 and 10 of levels 1 and 2, by variant."""
    found = []
    for one in best_of([one for one in searches(attempts) if one.level in (1, 2)]).values():
        number = int(one.problem.rsplit("/", 1)[1])
        if number in PROBLEMS:
            found.append({"problem": f"L{one.level}/{number}", "variant": one.variant, "speedup": one.speedup, "model": one.model})
    return sorted(found, key=lambda row: (row["problem"], row["variant"]))


def plot(table: Rows) -> Any:
    """Paired bars."""
    import altair as alt

    bars = alt.Chart().mark_bar().encode(
        alt.X("variant:N", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=False)),
        alt.Y("speedup:Q", title="speedup over eager", axis=alt.Axis(labelExpr=TIMES, tickCount=6)),
        alt.Color("variant:N", title=None, legend=None),
        tooltip=["problem:N", "variant:N", alt.Tooltip("speedup:Q", format=".3g"), "model:N"],
    )  # fmt: skip
    return (
        alt.layer(bars, one_line(alt.Y), data=alt.Data(values=table))
        .properties(width=130, height=220)
        .facet(column=alt.Column("problem:N", title=None))
    )


FIGURE = Figure(
    number=8,
    name="evolution_pairs",
    title="Evolution: original against popcorn",
    caption="Problems 1, 2 and 10 of levels 1 and 2, which both variants have. Pairs share a number, not a computation: original/L1/1 is a matrix "
    "product, popcorn/L1/1 a depthwise convolution. What tells is a lead of the original over all pairs: fixed sizes and well known texts help there.",
    fills="the sweeps ae_focus_popcorn and ae_focus_original on problems 1, 2 and 10",
    rows=rows,
    plot=plot,
)
