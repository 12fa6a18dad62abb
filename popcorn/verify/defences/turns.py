"""Every question carries a random number, and only an answer that repeats it counts.

Catches: answers sent before the question, so that the parent's clock sees no time pass (13, 14).
Does not catch: anything else; a candidate can always answer what was asked.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.nursery, popcorn.worker.child"
