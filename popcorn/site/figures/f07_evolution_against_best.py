"""Figure 7: speedup of evolution against the best of everything else, per problem."""

from collections.abc import Sequence
from typing import Any

from popcorn.scoring import Attempt
from popcorn.site.figures.figure import TIMES, Figure, Rows, agents, doublings, searches


def best_of(attempts: Sequence[Attempt]) -> dict[str, Attempt]:
    """The fastest correct kernel of each problem."""
    found: dict[str, Attempt] = {}
    for one in attempts:
        if one.correct and one.speedup is not None and (one.problem not in found or one.speedup > (found[one.problem].speedup or 0.0)):
            found[one.problem] = one
    return found


def rows(attempts: Sequence[Attempt]) -> Rows:
    """Problems that both solved."""
    evolved, others = best_of(searches(attempts)), best_of(agents(attempts))
    return [
        {"problem": name, "level": f"L{evolved[name].level}", "variant": evolved[name].variant, "evolution": evolved[name].speedup,
         "other": others[name].speedup, "other_model": others[name].model, "ratio": (evolved[name].speedup or 0.0) / (others[name].speedup or 1.0)}
        for name in sorted(evolved.keys() & others.keys())
    ]  # fmt: skip


def plot(table: Rows) -> Any:
    """On the diagonal they are equal."""
    import altair as alt

    values = [row[name] for row in table for name in ("evolution", "other")]
    span = [min(*values, 1.0) * 0.8, max(*values, 2.0) * 1.25]
    scale = alt.Scale(type="log", nice=False, domain=span)
    axis = alt.Axis(labelExpr=TIMES, values=doublings(*span))
    line = (
        alt.Chart(alt.Data(values=[{"x": one} for one in span]))
        .mark_line(strokeDash=[4, 4], color="#8a857a")
        .encode(alt.X("x:Q", scale=scale), alt.Y("x:Q", scale=scale))
    )
    dots = alt.Chart(alt.Data(values=table)).mark_point(filled=True, size=70).encode(
        alt.X("other:Q", title="best speedup of any agent", scale=scale, axis=axis),
        alt.Y("evolution:Q", title="speedup of evolution", scale=scale, axis=axis),
        alt.Color("level:N"), alt.Shape("variant:N"), tooltip=["problem:N", alt.Tooltip("evolution:Q", format=".3g"), alt.Tooltip("other:Q", format=".3g"), "other_model:N"],
    )  # fmt: skip
    return alt.layer(line, dots).properties(width=440, height=440)


FIGURE = Figure(
    number=7,
    name="evolution_against_best",
    title="Evolution against the best of the others",
    caption="One dot a problem that both solved. Above the line evolution is faster.",
    fills="the sweeps ae_focus_popcorn and ae_focus_original beside l12_default and l34_default",
    rows=rows,
    plot=plot,
    of="problems",
)
