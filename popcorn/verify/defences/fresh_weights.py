"""Weights are drawn anew for every trial and every launch.

Catches: results folded with the weights of the first model (20, 37).
Does not catch: weights prepared once per model, in the constructor or the first call: that is allowed, and a user would do it too.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.session, popcorn.worker.oracle"
