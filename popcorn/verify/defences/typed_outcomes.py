"""An outcome follows from the type of what happened, never from words; a candidate can never claim that the fault is Popcorn's.

Catches: exceptions whose text asks for another try or for being left out (58), a self-declared harness error, a vanished result (38, 52).
Does not catch: nothing is left to it.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.failure, popcorn.worker.session"
