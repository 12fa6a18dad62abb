"""Figure 2: the Pareto front of speedup and energy saved, levels 3 and 4, where a call is long enough for the counter."""

from popcorn.scoring import Attempt
from popcorn.site.figures.figure import Figure, agents, front_chart, fronts


def saved(one: Attempt) -> float | None:
    """Energy of eager over energy of the kernel: higher is better."""
    return 1 / one.energy_ratio if one.energy_ratio else None


FIGURE = Figure(
    number=2,
    name="pareto_speedup_energy",
    title="Pareto front of speedup and energy",
    caption="Energy of eager over energy of the kernel, default tier, levels 3 and 4: on shorter calls the counter's step is larger than what is "
    "measured. Filled: popcorn; hollow and dashed: original.",
    fills="the sweep l34_default, on a GPU whose energy counter can be read",
    rows=lambda attempts: fronts(agents(attempts, "default", (3, 4)), saved, "energy_saved"),
    plot=lambda rows: front_chart(rows, "energy_saved", "eager energy / kernel energy", log_x=True),
)
