"""Two records of the same question side by side: recorded, now, and whether the intervals overlap."""

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from popcorn.cli.facts_of import precision, ratio_between, seconds_between
from popcorn.cli.plain import plain
from popcorn.cli.printing import print_within
from popcorn.schema.measurement import Interval, Samples, Timing
from popcorn.schema.record import Record
from popcorn.units import UNKNOWN, show_bytes, show_percent


def print_both(old: Record, new: Record, console: Console | None = None) -> None:
    """A table of key figures: recorded, now, and whether the intervals overlap; below it, whole, why either did not pass."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "recorded", "now", ""):
        table.add_column(heading, overflow="fold")
    for row in compare(old, new):
        table.add_row(*(Text(cell) for cell in row))
    print_within(table, console)
    for when, one in (("recorded", old), ("now", new)):
        if one.verdict.reason:
            print_within(Text(f"\n{when}: {plain(one.verdict.reason, 2000)}"), console)


def compare(old: Record, new: Record) -> Iterator[tuple[str, str, str, str]]:
    """Rows of label, recorded, now, remark."""

    def plainly(label: str, of: Callable[[Record], object], compared: bool = False) -> tuple[str, str, str, str]:
        remark = ("the same" if of(old) == of(new) else "DIFFERENT") if compared else ""
        return label, plain(of(old), 160), plain(of(new), 160), remark

    def timed(label: str, of: Callable[[Timing], Interval | None], show: Callable[[Interval], str]) -> tuple[str, str, str, str]:
        ends = [of(one.measurement.timing) if one.measurement.timing else None for one in (old, new)]
        said = [UNKNOWN if end is None else show(end) for end in ends]
        return label, said[0], said[1], overlap(*ends)

    yield plainly("record", lambda r: r.id)
    yield plainly("made", lambda r: r.provenance.made[:19].replace("T", " "))
    yield plainly("outcome", lambda r: r.verdict.outcome, compared=True)
    yield plainly("case", lambda r: r.case.id, compared=True)
    yield plainly("device", lambda r: r.machine.id, compared=True)
    yield plainly("precision", lambda r: precision(r.verdict.precision))
    yield timed("time", lambda t: _interval(t.candidate), seconds_between)
    yield timed("eager", lambda t: _interval(t.baseline), seconds_between)
    yield timed("speedup", lambda t: t.speedup, ratio_between)
    yield timed("over compile", lambda t: t.speedup_compiled, ratio_between)
    yield plainly("fit to claim", lambda r: _fit(r.measurement.timing))
    yield plainly("memory", lambda r: show_bytes(r.measurement.memory.peak_bytes))
    yield plainly("speed of light", lambda r: show_percent(r.measurement.roofline.sol))


def _fit(timing: Timing | None) -> str:
    """Whether the machine's own controls passed."""
    if timing is None:
        return UNKNOWN
    told = {True: "yes", False: "no: the machine was too noisy", None: "no controls were taken"}
    return told[timing.control.fit]


def overlap(old: Interval | None, new: Interval | None) -> str:
    """Whether two 95 % intervals share a value."""
    if old is None or new is None:
        return ""
    return "intervals overlap" if old.low <= new.high and new.low <= old.high else "intervals DO NOT overlap"


def _interval(samples: Samples) -> Interval:
    return Interval(value=samples.time_s, low=samples.low_s, high=samples.high_s)
