"""Where a problem allows, sizes are drawn anew for trials, odd ones among them, and layouts change.

Catches: hard-coded sizes (35), shortcuts for multiples of a block.
Does not catch: anything where a problem fixes its sizes.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.judging, popcorn.suites.jitter"
