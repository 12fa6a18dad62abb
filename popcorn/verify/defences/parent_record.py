"""The parent alone decides and writes records, from typed messages; what a candidate prints is kept and never read by a program.

Catches: forged results on stdout, on descriptors or in files (13, 14, 16), words in messages that steer (58, 59), late writes at exit.
Does not catch: false figures in the few messages that a candidate's process may send: each is bounded by a check of its own.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.wire, popcorn.worker.session, popcorn.evaluate"
