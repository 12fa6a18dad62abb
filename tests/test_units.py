"""Quantities as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.units import show_bytes, show_count, show_energy, show_hours, show_percent, show_rate, show_ratio, show_time

FACTORS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@pytest.mark.parametrize(
    ("time_s", "shown"),
    [
        (9.6e-6, "9.60 µs"),
        (1.2e-3, "1.20 ms"),
        (0.9997e-3, "1.00 ms"),
        (999.6e-6, "1.00 ms"),
        (999.4e-6, "999 µs"),
        (0.99951, "1.00 s"),
        (9.994e-6, "9.99 µs"),
        (9.996e-6, "10.0 µs"),
        (0, "0 s"),
        (0.0, "0 s"),
        (-1.5e-3, "-1.50 ms"),
        (-999.7e-6, "-1.00 ms"),
        (1e-9, "1.00 ns"),
        (5e-10, "0.500 ns"),
        (1e-13, "1.00e-04 ns"),
        (59.96, "60.0 s"),
        (3600, "3,600 s"),
        (86400.4, "86,400 s"),
        (1e6, "1,000,000 s"),
        (None, "—"),
    ],
)
def test_times(time_s, shown):
    assert show_time(time_s) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (show_bytes(0), "0 B"),
        (show_bytes(64), "64 B"),
        (show_bytes(999), "999 B"),
        (show_bytes(1000), "1.00 kB"),
        (show_bytes(141e9), "141 GB"),
        (show_bytes(999_600), "1.00 MB"),
        (show_bytes(None), "—"),
        (show_rate(3.35e12, "B"), "3.35 TB/s"),
        (show_rate(989.5e12, "FLOP"), "990 TFLOP/s"),
        (show_rate(67e12, "FLOP"), "67.0 TFLOP/s"),
        (show_rate(0.0, "B"), "0 B/s"),
        (show_count(2.1e9, "FLOP"), "2.10 GFLOP"),
        (show_count(3), "3"),
        (show_count(12_345), "12.3 k"),
        (show_energy(1.2e-3), "1.20 mJ"),
        (show_energy(0.9999), "1.00 J"),
        (show_energy(2500), "2.50 kJ"),
        (show_energy(0), "0 J"),
        (show_ratio(5.449), "5.45×"),
        (show_ratio(0.9996), "1.00×"),
        (show_ratio(12345.6), "12,346×"),
        (show_percent(0.9214), "92.1 %"),
        (show_percent(1.0), "100 %"),
        (show_percent(0.99999), "100 %"),
        (show_percent(0.0001), "0.0100 %"),
        (show_percent(None), "—"),
        (show_ratio(None), "—"),
        (show_energy(None), "—"),
        (show_rate(None, "B"), "—"),
        (show_count(None), "—"),
    ],
)
def test_other_quantities(text, shown):
    assert text == shown


times = st.floats(1e-9, 1e6)


def value_of(shown):
    number, unit = shown.split(" ")
    return float(number.replace(",", "")) * FACTORS[unit]


@given(times)
def test_a_time_is_readable_and_within_its_rounding(time_s):
    shown = show_time(time_s)
    assert re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)? (s|ms|µs|ns)", shown), "no exponent, never a bare number"
    assert value_of(shown) == pytest.approx(time_s, rel=5.1e-3)
    digits = shown.split(" ")[0].replace(".", "").lstrip("0")
    assert len(digits) == 3 or (shown.endswith(" s") and time_s >= 999)


@given(st.floats(1e-12, 1e-2))
def test_a_time_that_is_not_zero_is_never_shown_as_zero(time_s):
    number, unit = show_time(time_s).split(" ")
    assert float(number) > 0 and not (unit == "ms" and float(number) < 1)


@given(times, times)
def test_a_longer_time_never_reads_shorter(one, other):
    shorter, longer = sorted((one, other))
    assert value_of(show_time(shorter)) <= value_of(show_time(longer)) * (1 + 1e-12)


@given(times)
def test_a_negative_time_is_the_positive_one_with_a_sign(time_s):
    assert show_time(-time_s) == "-" + show_time(time_s)


@given(st.floats(-1e30, 1e30))
def test_no_number_breaks_any_of_them(value):
    for text in (
        show_time(value),
        show_bytes(value),
        show_rate(value, "B"),
        show_count(value),
        show_energy(value),
        show_ratio(value),
        show_percent(value),
    ):
        assert text and len(text) < 24
        assert value == 0 or re.search(r"[1-9]", text)


@given(st.floats(1, 1e17))
def test_counts_stay_short(count):
    assert len(show_count(count).split(" ")[0].replace(",", "")) <= 6


@pytest.mark.parametrize(
    ("hours", "shown"), [(0, "1 min"), (0.1, "6 min"), (0.999, "1 h 0 min"), (3.3333, "3 h 20 min"), (65, "65 h 0 min")]
)
def test_long_times(hours, shown):
    assert show_hours(hours) == shown
