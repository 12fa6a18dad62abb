"""Figure 1: the Pareto front of speedup and speed of light, one panel a level."""

from popcorn.site.figures.figure import Figure, agents, front_chart, fronts

FIGURE = Figure(
    number=1,
    name="pareto_speedup_sol",
    title="Pareto front of speedup and speed of light",
    caption="Every correct kernel of the default tier; those that no other of the same level and variant beats on both are on the line. Filled: popcorn; hollow and dashed: original.",
    fills="the sweeps l12_default and l34_default",
    rows=lambda attempts: fronts(agents(attempts, "default"), lambda one: one.sol, "sol"),
    plot=lambda rows: front_chart(rows, "sol", "speed of light"),
)
