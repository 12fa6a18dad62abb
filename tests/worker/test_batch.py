"""The parent's batches beside what a candidate's process claims, on fake processes."""

from types import SimpleNamespace
from typing import Any

import pytest

from popcorn.worker import batch
from popcorn.worker.taken import BASELINE, CANDIDATE


def lengthened(monkeypatch: pytest.MonkeyPatch, mine_s: list[float], theirs_s: list[float], claimed_s: float = 1e-3) -> list[float]:
    """To what a launch was lengthened, where batches of either side take these seconds a call, the reference's windows a millisecond, and nothing else costs anything."""
    times = {CANDIDATE: iter(mine_s), BASELINE: iter(theirs_s)}
    monkeypatch.setattr(batch, "_stays", lambda launch: True)
    monkeypatch.setattr(batch, "_choice", lambda launch: None)
    monkeypatch.setattr(batch, "_sets", lambda launch, choice: 100)
    monkeypatch.setattr(batch, "_prepare", lambda *_: None)
    monkeypatch.setattr(batch, "_batch", lambda launch, side, contents, call=True, cold=True: next(times[side]) if call else 0.0)
    found: list[float] = []
    launch: Any = SimpleNamespace(
        index=0, helped_s=0.0, recorded_s=lambda side: claimed_s if side == CANDIDATE else 1e-3,
        lengthen=lambda side, least_s, slack: found.append(least_s),
        taken=SimpleNamespace(lengthened={}, over_claimed={}, parent_s=None),
    )  # fmt: skip
    batch.check_batch(launch)
    return found


def test_a_claim_of_four_fifths_counts_as_the_parent_found_it_though_one_of_the_references_batches_was_disturbed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The candidate's quickest was held against the reference's latest, so that one slow batch among six excused any claim."""
    assert lengthened(monkeypatch, [1.25e-3] * 6, [1e-3, 1e-3, 1.4e-3, 1e-3, 1e-3, 1e-3]) == [pytest.approx(1.25e-3)]


def test_a_machine_that_is_slow_for_both_lengthens_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lengthened(monkeypatch, [1.25e-3] * 6, [1.3e-3] * 6) == []
    assert lengthened(monkeypatch, [1.9e-3, 1.6e-3, 1.0e-3], [1.3e-3] * 6) == [], "whatever disturbs a batch makes it longer"
