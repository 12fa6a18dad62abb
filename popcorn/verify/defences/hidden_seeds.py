"""The secret of a run is drawn by the parent after the text is known, committed to by its hash, and never enters the candidate's process.

Catches: inputs made again from a known seed (36), patched generators (10).
Does not catch: guessing 128 bits.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.seeds, popcorn.worker.session"
