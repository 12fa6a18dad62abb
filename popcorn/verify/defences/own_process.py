"""Candidate, reference and oracle are three processes; the answer is never in the candidate's.

Catches: searches of frames, the heap or freed memory for the reference's output (11, 12, 23), shared globals of the reference (43), a slowed
baseline (44), patched checkers and comparisons (7, 8, 9, 10).
Does not catch: what both sides must share, the device and its caches.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.zygote, popcorn.worker.child"
