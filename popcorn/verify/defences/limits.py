"""Each command has a deadline; memory, files and output are capped; the whole tree of a child dies with it.

Catches: hangs, output floods, memory hogs, fork bombs, survivors (57), slow cases dropped by failing (52): a timeout is an outcome of its own.
Does not catch: a candidate that is merely slow.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.nursery, popcorn.worker.zygote, popcorn.worker.sandbox"
