"""Two tracks, recorded with every result: `custom`, where the candidate's own code does the work, and `any`, where a library does. Decided by the
census of one call, never by the text. Free of torch.

The census is taken in the candidate's process: it keeps honest results apart, and is no proof against a forger. On a GPU the counters of
Nsight Compute name the same kernels from outside.
"""

from popcorn.schema.measurement import Launches

HALF = 0.5
"""Share of the time from which the work counts as the candidate's own."""


def with_track(launches: Launches, warm_s: float | None) -> Launches:
    """The launches with track, share and reason. A CPU's operators are held against the call in which they were timed, or `warm_s`,
    the warm time of a call, where that is less: watching costs time, and another moment may have been a busy one."""
    share, of = launches.custom_share, "device time is in kernels that no library owns"
    if share is None and launches.source == "dispatch":
        of = "time is outside torch's operators"
        if launches.kernels is None:
            share = 1.0
        elif spans := [span for span in (launches.call_s, warm_s) if span]:
            library_s = sum(row.time_s or 0.0 for row in launches.breakdown if row.library)
            share = max(0.0, 1.0 - library_s / min(spans))
    if share is None:
        return launches.model_copy(update={"track_reason": launches.reason or "the census says nothing"})
    told = {"custom_share": share, "track": "custom" if share >= HALF else "any", "track_reason": f"{share:.0%} of the {of}"}
    return launches.model_copy(update=told)
