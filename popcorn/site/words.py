"""Values in words: filters of the templates. Numbers go through popcorn.units; unknown is a dash, with its reason where it is known."""

import math
import re
from typing import Any

from popcorn.schema.measurement import Interval, Samples
from popcorn.schema.verdict import Group, group
from popcorn.units import UNKNOWN, show_bytes, show_count, show_energy, show_percent, show_rate, show_ratio, show_time

OUTCOMES: dict[str, str] = {
    "correct": "correct",
    "wrong_shape": "wrong shape",
    "wrong_dtype": "wrong element type",
    "wrong_values": "wrong values",
    "nonfinite": "NaN or infinite",
    "not_deterministic": "not deterministic",
    "mutated_inputs": "changed its inputs",
    "cheated": "cheated",
    "compile_error": "does not compile",
    "runtime_error": "failed while running",
    "out_of_memory": "out of memory",
    "timeout": "timeout",
    "crash": "crashed",
    "rejected": "does not accept this case",
    "invalid_reference": "invalid problem",
    "harness_error": "not judged (our fault)",
}

_MARKS: dict[Group, str] = {"correct": "✓", "wrong": "✕", "compile_fail": "⚠", "timeout": "◷", "error": "!"}


def outcome_word(outcome: str | None) -> str:
    """An outcome for people."""
    return "nothing submitted" if outcome is None else OUTCOMES.get(outcome, outcome)


def outcome_group(outcome: str | None) -> str:
    """The group that colours it."""
    return group(outcome) if outcome in OUTCOMES else "error"  # type: ignore[arg-type]


def outcome_mark(outcome: str | None) -> str:
    """A sign, so that no colour alone carries the meaning."""
    return _MARKS[outcome_group(outcome)]  # type: ignore[index]


def safe(function: Any) -> Any:
    """A dash for NaN and infinity, which tables of others may hold."""

    def shown(value: Any, *rest: Any) -> str:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return UNKNOWN
        return str(function(value, *rest))

    return shown


time = safe(show_time)
ratio = safe(show_ratio)
size = safe(show_bytes)
percent = safe(show_percent)
energy = safe(show_energy)
count = safe(show_count)
rate = safe(show_rate)


def whole(value: Any) -> str:
    """A count in full: `13,114`."""
    return UNKNOWN if value is None else f"{value:,}"


def number(value: Any) -> str:
    """Three significant digits."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def money(value: Any) -> str:
    """US dollars."""
    if value is None:
        return UNKNOWN
    return f"${value:,.2f}" if abs(value) >= 0.1 or value == 0 else f"${value:.3g}"


def date(made: Any) -> str:
    """`2025-11-29 10:00` of an ISO date."""
    return str(made)[:16].replace("T", " ") if made else UNKNOWN


def long_time(seconds: Any) -> str:
    """`14 min 6 s` from a minute on; below, as `popcorn.units` shows it."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 60:
        return show_time(seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def times(interval: Interval | None) -> str:
    """`3.14× [3.10×, 3.18×]`."""
    return UNKNOWN if interval is None else f"{show_ratio(interval.value)} {between(show_ratio(interval.low), show_ratio(interval.high))}"


def sampled(samples: Samples | None) -> str:
    """`9.60 µs [9.50 µs, 9.70 µs]`."""
    return UNKNOWN if samples is None else f"{show_time(samples.time_s)} {between(show_time(samples.low_s), show_time(samples.high_s))}"


STRIP = 8.0
"""A strip goes from 1/8× to 8×; what lies beyond sticks to its end."""


def along(speedup: float | None) -> float:
    """Where a speedup stands on a logarithmic strip, in per cent: 1× is the middle."""
    if speedup is None or not math.isfinite(speedup) or speedup <= 0:
        return 50.0
    return round(50 + 50 * max(-1.0, min(1.0, math.log(speedup, STRIP))), 2)


def clipped(text: str | None, most: int = 160) -> str:
    """The beginning of a sentence that may be long."""
    plain = " ".join((text or "").split())
    if len(plain) <= most:
        return plain
    words = plain[:most].rpartition(" ")[0]  # whole ones, where they are not endless
    return f"{(words if 2 * len(words) > most else plain[: most - 1]).rstrip(',;:')}…"


def name(text: str | None, most: int = 160) -> str:
    """Anybody's name for a heading or a list: what would hide or reorder text is written out, what is too long is cut."""
    from popcorn.site.code import clean

    return clipped(clean(text or ""), most)


def between(low: str, high: str) -> str:
    """An interval, kept on one line."""
    return f"[{low}, {high}]".replace(" ", "\u00a0")


def file_name(text: str) -> str:
    """A file name part of any id: no separators, no leading dot. Different ids may not meet: what was changed gets a digest."""
    import hashlib

    plain = re.sub(r"[^A-Za-z0-9._=+-]", "_", text)[:100].lstrip(".")
    return plain if plain == text and plain else f"{plain or 'x'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


_ID = re.compile(r"(popcorn|original)/L(\d)/(\d+)")


def place_of(problem: str) -> tuple[str, int]:
    """(variant, level) of a problem's id; ("other", 0) outside the suites."""
    match = _ID.match(problem or "")
    return (match[1], int(match[2])) if match else ("other", 0)
