"""SI inside, scaled for people: 9.60 µs, 1.20 ms, 3.35 TB/s. The only place that turns a quantity into text.

Three significant digits; the prefix is chosen after rounding, so 999.6 µs is `1.00 ms` and never `1000 µs`. No exponent notation
between 1 ns and 10⁶ s; what is not zero is never shown as zero.
"""

import math

UNKNOWN = "—"

_SIGNIFICANT = 3
_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_ENERGY = ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"))
_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def _rounded(value: float) -> float:
    """To three significant digits; whole numbers from 1000 on, which no prefix makes shorter."""
    if value == 0 or not math.isfinite(value):
        return value
    exponent = math.floor(math.log10(abs(value)))
    return float(f"{value:.{_SIGNIFICANT - 1}e}") if exponent < _SIGNIFICANT else float(round(value))


def _digits(value: float) -> str:
    """Three significant digits: `0.0123`, `9.60`, `12.0`, `123`, `1,234,567`; an exponent only under 0.001 and from 10¹² on."""
    value = _rounded(value)
    magnitude = abs(value)
    if magnitude == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    if magnitude < 1e-3 or magnitude >= 1e12:
        return f"{value:.{_SIGNIFICANT - 1}e}"
    exponent = math.floor(math.log10(magnitude))
    return f"{value:,.{max(0, _SIGNIFICANT - 1 - exponent)}f}"


def _scaled(value: float, scale: tuple[tuple[float, str], ...], unit: str = "") -> str:
    """The largest prefix under which the rounded value is at least 1; the smallest one below all of them, none for zero."""
    if value == 0:
        return f"0 {next(prefix for factor, prefix in scale if factor == 1.0)}{unit}".rstrip()
    factor, prefix = next((step for step in scale if abs(_rounded(value / step[0])) >= 1), scale[-1])
    return f"{_digits(value / factor)} {prefix}{unit}".rstrip()


def show_time(time_s: float | None) -> str:
    """Seconds as `9.60 µs`; None as a dash."""
    return UNKNOWN if time_s is None else _scaled(time_s, _TIME)


def show_bytes(count: float | None) -> str:
    """Bytes with decimal prefixes (MB = 10^6), as device datasheets count them."""
    return UNKNOWN if count is None else _scaled_whole(count, "B")


def show_rate(per_s: float | None, unit: str) -> str:
    """A rate such as `3.35 TB/s` (unit="B") or `67.0 TFLOP/s` (unit="FLOP")."""
    return UNKNOWN if per_s is None else _scaled(float(per_s), _DECIMAL, f"{unit}/s")


def show_count(count: float | None, unit: str = "") -> str:
    """A count with decimal prefixes: `2.10 GFLOP`; whole numbers under a thousand stay whole."""
    return UNKNOWN if count is None else _scaled_whole(count, unit)


def show_energy(energy_j: float | None) -> str:
    """Joules as `1.20 mJ`."""
    return UNKNOWN if energy_j is None else _scaled(energy_j, _ENERGY)


def show_ratio(ratio: float | None) -> str:
    """A ratio as `5.45×`."""
    return UNKNOWN if ratio is None else f"{_digits(ratio)}×"


def show_percent(share: float | None) -> str:
    """A share in [0, 1] as `92.1 %`."""
    return UNKNOWN if share is None else f"{_digits(share * 100)} %"


def _scaled_whole(count: float, unit: str) -> str:
    """As `_scaled`, but things that come whole are not shown as 64.0."""
    if count == int(count) and abs(count) < 1000:
        return f"{int(count)} {unit}".rstrip()
    return _scaled(float(count), _DECIMAL, unit)


def show_hours(hours: float) -> str:
    """A long time for people, to the minute: `3 h 20 min`, `7 min`; never under a minute."""
    whole, minutes = divmod(max(1, round(60 * hours)), 60)
    return f"{whole} h {minutes} min" if whole else f"{minutes} min"
