"""Overhead and rate through measured times: found again where they are there, never negative, never without two works."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.measure.growth import fit_growth

positive = st.floats(1e-9, 1e9)


@given(
    st.floats(1e-7, 1e-2), st.floats(1e-13, 1e-8), st.lists(st.floats(1e3, 1e10), min_size=3, max_size=9, unique_by=lambda w: round(w, -3))
)
def test_what_made_the_times_is_found_again(overhead, rate, works):
    found = fit_growth([(work, overhead + rate * work) for work in works])
    if found is not None:  # None: too near to each other to tell the two apart
        for work in works:
            assert found.at(work) == pytest.approx(overhead + rate * work, rel=1e-3)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=9))
def test_no_term_is_negative_whatever_was_measured(points):
    found = fit_growth(points)
    assert found is None or (found.overhead_s >= 0 and found.per_unit_s >= 0 and found.at(points[0][0]) > 0)


def test_one_work_alone_has_no_growth():
    assert fit_growth([]) is None and fit_growth([(8.0, 1e-6)]) is None and fit_growth([(8.0, 1e-6), (8.0, 2e-6)]) is None


def test_two_works_give_the_line_through_both():
    found = fit_growth([(1e6, 30e-6), (1e8, 1e-3)])
    assert found.at(1e6) == pytest.approx(30e-6) and found.at(1e8) == pytest.approx(1e-3)
