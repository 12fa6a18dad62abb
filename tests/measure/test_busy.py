"""The driver's samples become one share, of the asked time alone."""

import pytest

from popcorn.measure.busy import busy_share, share_of


def test_samples_of_before_and_after_do_not_count():
    samples = [(9.9, 1.0), (10.2, 1.0), (10.5, 0.2), (10.8, 0.4), (11.3, 1.0)]
    assert share_of(samples, 10.0, 11.0) == pytest.approx(0.3)


def test_without_a_sample_or_a_driver_nothing_is_told():
    assert share_of([(9.0, 1.0)], 10.0, 11.0) is None
    assert busy_share(None, 0.0, 1.0) is None
