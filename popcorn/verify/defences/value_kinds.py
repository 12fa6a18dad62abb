"""Trials draw values of several kinds: normal, uniform, large, small, equal rows, sparse, structured.

Catches: answers that hold on the average of many normal numbers (29), lower precision that ordinary values forgive (31), missing tails (32).
Does not catch: kinds of values that are not among them.
"""

BY = "construction"
ENFORCED_IN = "popcorn.verify.inputs, popcorn.worker.judging"
