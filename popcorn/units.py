"""SI inside, scaled for people: 9.6 µs, 1.2 ms, 3.35 TB/s. The only place that turns a quantity into text."""

UNKNOWN = "—"

_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def _digits(value: float, significant: int = 3) -> str:
    """Three significant digits without an exponent where that stays readable."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 10 ** significant or magnitude < 1e-3:
        return f"{value:.{significant}g}" if magnitude < 1e-3 else f"{value:,.0f}"
    decimals = max(0, significant - 1 - _exponent(magnitude))
    text = f"{value:.{decimals}f}"
    return text


def _exponent(magnitude: float) -> int:
    exponent = 0
    while magnitude >= 10:
        magnitude /= 10
        exponent += 1
    while magnitude < 1:
        magnitude *= 10
        exponent -= 1
    return exponent


def _scaled(value: float, scale: tuple[tuple[float, str], ...], unit: str) -> str:
    magnitude = abs(value)
    for factor, prefix in scale:
        # 0.9995 keeps 999.7 µs from being shown as "1000 µs"
        if magnitude >= factor * 0.9995:
            return f"{_digits(value / factor)} {prefix}{unit}"
    factor, prefix = scale[-1]
    return f"{_digits(value / factor)} {prefix}{unit}"


def show_time(time_s: float | None) -> str:
    """Seconds as `9.60 µs`; None as a dash."""
    return UNKNOWN if time_s is None else _scaled(time_s, _TIME, "")


def show_bytes(count: float | None) -> str:
    """Bytes with decimal prefixes (MB = 10^6), as device datasheets count them."""
    return UNKNOWN if count is None else _scaled(float(count), _DECIMAL, "B")


def show_rate(per_s: float | None, unit: str) -> str:
    """A rate such as `3.35 TB/s` (unit="B") or `67.0 TFLOP/s` (unit="FLOP")."""
    return UNKNOWN if per_s is None else _scaled(per_s, _DECIMAL, f"{unit}/s")


def show_count(count: float | None, unit: str = "") -> str:
    """A count with decimal prefixes: `2.10 GFLOP`."""
    return UNKNOWN if count is None else _scaled(float(count), _DECIMAL, unit).strip()


def show_energy(energy_j: float | None) -> str:
    """Joules as `1.20 mJ`."""
    return UNKNOWN if energy_j is None else _scaled(energy_j, ((1.0, ""), (1e-3, "m"), (1e-6, "µ")), "J")


def show_ratio(ratio: float | None) -> str:
    """A ratio as `5.45×`."""
    return UNKNOWN if ratio is None else f"{_digits(ratio)}×"


def show_percent(share: float | None) -> str:
    """A share in [0, 1] as `92.1 %`."""
    return UNKNOWN if share is None else f"{_digits(share * 100)} %"
