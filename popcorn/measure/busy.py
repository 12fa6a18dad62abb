"""Share of a time in which a GPU executed anything, by the driver's own account. Runs in the parent; imports without torch.

NVML keeps samples of the last seconds, one every sixth of a second. On an H200 they were within 1 % of the truth, down to a kernel of 2 µs
every 113 µs (docs/log.md).
"""

import time

from popcorn.devices.nvml import open_nvml

_SETTLE_S = 0.3
"""A sample covers the time before it: those of the first moments tell of what was before."""
_LATE_S = 0.25
"""How long after the end the last samples appear."""


def busy_share(uuid: str | None, start_s: float, end_s: float) -> float | None:
    """0 to 1 between two moments of `time.time()`, at least half a second apart; None where the driver tells nothing."""
    nvml = open_nvml()
    if nvml.library is None or uuid is None:
        return None
    time.sleep(max(0.0, end_s + _LATE_S - time.time()))
    try:
        handle = nvml.library.nvmlDeviceGetHandleByUUID(uuid)
        _, samples = nvml.library.nvmlDeviceGetSamples(handle, nvml.library.NVML_GPU_UTILIZATION_SAMPLES, 0)
    except nvml.library.NVMLError:
        return None
    return share_of([(one.timeStamp * 1e-6, one.sampleValue.uiVal / 100) for one in samples], start_s, end_s)


def share_of(samples: list[tuple[float, float]], start_s: float, end_s: float) -> float | None:
    """Mean of the (time, share) samples that tell of this time alone."""
    inside = [share for at_s, share in samples if start_s + _SETTLE_S < at_s < end_s]
    return sum(inside) / len(inside) if inside else None
