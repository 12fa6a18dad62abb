"""Every trial and every timed call has contents of its own, at addresses that say nothing.

Catches: caches by address, identity, shape or content (17, 18), replays (19, 50), answers prepared in advance (37, 49).
Does not catch: the warm time, which by its meaning repeats the same inputs; it ranks nobody.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.oracle"
