"""What a figure is, and how it becomes SVG, PNG, a page and a table."""

import csv
import io
import json
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from popcorn.scoring import Attempt, pareto_front

Rows = list[dict[str, Any]]

SEARCH_TIERS = frozenset({"search", "evolution"})
"""Tiers under which searches run; all others are agents."""

PALETTE = ("#b4530a", "#2c6e91", "#4e7d4c", "#86569a", "#8c7f1f", "#a5434b", "#566270", "#1f7d72", "#b0568a", "#6b5b3e")
"""Distinct in colour and, mostly, in lightness; the first is the site's accent."""

MODE_COLOURS = {
    "correct": "#35653a", "wrong": "#d27079", "cheat": "#5c1322", "compile_fail": "#e09a4f", "timeout": "#8c7f1f", "error": "#86569a",
    "infrastructure": "#b4bbc2", "missing": "#e4e1d9",
}  # fmt: skip
"""Those that meet in a bar differ in lightness, too: a print in grey tells them apart."""


VARIANTS = ["popcorn", "original", "other"]
TIMES = "format(datum.value, '~g') + '×'"
"""How an axis of ratios says its values: 2×."""
MODE_WORDS = {"compile_fail": "does not compile", "infrastructure": "lost to the machine"}
"""Modes whose names are no words."""


@dataclass(frozen=True)
class Figure:
    """One figure."""

    number: int
    name: str
    """For files: `pareto_speedup_sol`."""
    title: str
    caption: str
    fills: str
    """Which sweep would fill it."""
    rows: Callable[[Sequence[Attempt]], Rows]
    """The table behind it; empty where the store has no data for it."""
    plot: Callable[[Rows], Any]
    """An Altair chart of that table."""
    of: str = "kernels"
    """What is counted: n of them."""

    def spec(self, rows: Rows) -> dict[str, Any]:
        """Vega-Lite, with its data."""
        found: dict[str, Any] = json.loads(self.plot(rows).to_json())
        return found

    def paper(self, rows: Rows) -> dict[str, Any]:
        """The same for a file that stands alone: with its title, its caption and how much is behind it."""
        said = textwrap.wrap(f"{self.caption} n = {sample(rows):,} {self.of}.", 92)
        title = {"text": f"{self.number}. {self.title}", "subtitle": said, "anchor": "start", "frame": "bounds", "offset": 18}
        return {**self.spec(rows), "title": title, "padding": 16}


def sample(rows: Rows) -> int:
    """How much is behind a table: its rows, or what its rows count."""
    counts: list[int] = [row.get("problems") or row.get("planned") or 1 for row in rows]
    return sum(counts)


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """For a file that stands alone: a white ground and the site's type."""
    config = {
        "background": "#ffffff", "font": "Inter, Helvetica, Arial, sans-serif", "view": {"stroke": None}, "range": {"category": list(PALETTE)},
        "axis": {"gridColor": "#eceae4", "domainColor": "#b9b5ab", "tickColor": "#b9b5ab", "labelColor": "#4d4a44", "titleColor": "#4d4a44",
                 "titleFontWeight": "normal", "labelFontSize": 14, "titleFontSize": 15, "labelFlush": False},
        "legend": {"labelColor": "#4d4a44", "titleColor": "#4d4a44", "titleFontWeight": "normal", "labelFontSize": 14, "titleFontSize": 14},
        "title": {"fontSize": 20, "fontWeight": 600, "color": "#1d1c1a", "subtitleFontSize": 14, "subtitleColor": "#625e56", "subtitlePadding": 6},
        "header": {"labelColor": "#1d1c1a", "titleColor": "#4d4a44", "labelFontSize": 15},
    }  # fmt: skip
    given = {name: value for name, value in spec.get("config", {}).items() if name != "view"}
    return {**spec, "config": {**given, **config}}


def to_svg(spec: dict[str, Any]) -> str:
    """The figure as SVG, without a browser."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(themed(spec)))


def to_png(spec: dict[str, Any]) -> bytes:
    """The figure as PNG at twice the size, without a browser."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(themed(spec), scale=2))


def to_csv(rows: Rows) -> str:
    """The table behind it. A cell that a spreadsheet would run as a formula gets a quote before it."""
    if not rows:
        return ""
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_plain(row.get(name)) for name in names])
    return out.getvalue()


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value


# -- what several figures ask ----------------------------------------------------------------------------------------------------------


def agents(attempts: Iterable[Attempt], tier: str | None = None, levels: Iterable[int] = (1, 2, 3, 4)) -> list[Attempt]:
    """Attempts of agents, of one tier or of all, on these levels."""
    wanted = set(levels)
    return [one for one in attempts if not _by_search(one) and tier in (None, one.tier) and one.level in wanted]


def searches(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Attempts of searches."""
    return [one for one in attempts if _by_search(one)]


def _by_search(one: Attempt) -> bool:
    """A search of its own, or the one behind the proxy, which a sweep lists as a model."""
    return one.tier in SEARCH_TIERS or one.model == "evolve" or one.model.startswith("evolve/")


def fronts(attempts: Sequence[Attempt], second: Callable[[Attempt], float | None], name: str) -> Rows:
    """Correct kernels with both signals, and which of them are on the front of their variant and level."""
    groups: dict[tuple[str, int], list[Attempt]] = {}
    for one in attempts:
        if one.correct and one.speedup is not None and second(one) is not None:
            groups.setdefault((one.variant, one.level), []).append(one)
    rows = []
    for (variant, level), some in sorted(groups.items()):
        on = pareto_front([(one.speedup, second(one)) for one in some])
        rows += [
            {"level": f"L{level}", "variant": variant, "model": one.model, "tier": one.tier, "problem": one.problem, "speedup": one.speedup,
             name: second(one), "front": best, "run": one.run}
            for one, best in zip(some, on, strict=True)
        ]  # fmt: skip
    return rows


def modes(rows: Rows) -> Any:
    """Colours of how attempts ended, of those alone that are there, in the order of the bars."""
    import altair as alt

    present = [mode for mode in MODE_COLOURS if any(row["mode"] == mode for row in rows)]
    words = alt.Legend(labelExpr=f"{json.dumps(MODE_WORDS)}[datum.label] || datum.label")
    return alt.Color("mode:N", title=None, legend=words, scale=alt.Scale(domain=present, range=[MODE_COLOURS[mode] for mode in present]))


def shares(field: str, title: str) -> Any:
    """An axis of shares from 0 to 1, in per cent."""
    import altair as alt

    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))


def ratios(channel: Any, field: str, title: str, rows: Rows) -> Any:
    """A logarithmic axis of ratios that always holds 1× and 2×, so that a few near ones do not fill it by themselves."""
    import altair as alt

    values = [row[field] for row in rows]
    scale = alt.Scale(type="log", nice=False, domain=[min(1.0, *values) / 1.25, max(2.0, *values) * 1.25])
    return channel(
        f"{field}:Q",
        title=title,
        scale=scale,
        axis=alt.Axis(labelExpr=TIMES, values=doublings(*scale.domain)),
    )


def doublings(low: float, high: float) -> list[float]:
    """Powers of two between them, at most seven or so, and 1 whenever it lies there: ticks of an axis of ratios."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, math.ceil((last - first) / 6))
    return [2.0**n for n in range(first, last + 1) if n % step == 0]


def one_line(channel: Any) -> Any:
    """The line at 1×: as good as eager."""
    import altair as alt

    return alt.Chart().mark_rule(strokeDash=[4, 4], color="#8a857a").encode(channel(datum=1))


def model_dots(size: int, opacity: float = 1.0) -> Any:
    """Dots that differ by model in shape as well as in colour: a print in grey tells them apart."""
    import altair as alt

    key = alt.Legend(symbolStrokeWidth=0)
    return alt.Chart().mark_point(size=size, opacity=opacity, strokeWidth=0).encode(alt.Fill("model:N", legend=key), alt.Shape("model:N"))


def panels(count: int, most: int = 2) -> int:
    """Width of one panel: `most` beside each other fill a page, fewer are wider."""
    return {1: 640}.get(count, 860 // min(count, most))


def front_chart(rows: Rows, x: str, x_title: str, log_x: bool = False) -> Any:
    """Panels by level: all kernels faint, the front drawn and strong; what is not of variant popcorn hollow, and its front dashed."""
    import altair as alt

    tips = ["model:N", "tier:N", "problem:N", alt.Tooltip("speedup:Q", format=".3g"), alt.Tooltip(f"{x}:Q", format=".3g"), "run:N"]
    across = ratios(alt.X, x, x_title, rows) if log_x else shares(x, x_title)
    up = ratios(alt.Y, "speedup", "speedup over eager", rows)
    filled = alt.condition("datum.variant === 'popcorn'", alt.value(1), alt.value(0))
    points = model_dots(64).mark_point(size=64, strokeWidth=1.5).encode(
        across, up, alt.Stroke("model:N"), fillOpacity=filled, tooltip=tips, opacity=alt.condition("datum.front", alt.value(1), alt.value(0.35)),
    )  # fmt: skip
    dashes = alt.StrokeDash("variant:N", scale=alt.Scale(domain=VARIANTS, range=[[1, 0], [4, 3], [1, 2]]), legend=None)
    line = (
        alt.Chart()
        .mark_line(interpolate="step-before", strokeWidth=1.5, opacity=0.7, color="#8a857a")
        .transform_filter("datum.front")
        .encode(across, up, dashes)
    )
    width = panels(len({row["level"] for row in rows}))
    return (
        alt.layer(points, line, one_line(alt.Y), data=alt.Data(values=rows))
        .properties(width=width, height=250)
        .facet(facet=alt.Facet("level:N", title=None), columns=2, spacing=44)
    )
