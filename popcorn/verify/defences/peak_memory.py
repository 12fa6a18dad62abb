"""The reported peak of memory holds at least the outputs.

Catches: a forged peak below what the result itself takes.
Does not catch: a forged peak above it: memory is measured in the candidate's process.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.counting"


def find(peak_bytes: int | None, expected_output_bytes: int, aliases: bool) -> Finding | None:
    """Peak as reported, and the bytes of outputs as the oracle knows them."""
    if peak_bytes is None or aliases or peak_bytes >= expected_output_bytes:
        return None
    return Finding("cheated", f"a peak of {peak_bytes} bytes is reported, and the outputs alone take {expected_output_bytes}")
