"""A candidate's process sees its own folder and the public files of the system, no network, no other process's memory, signals, limits or priorities.

Catches: editing the harness (42), caches in files and shared memory from run to run (19), reading seeds and answers from disk or from /proc (15,
41), killing or stopping others.
Does not catch: what the kernel cannot give (an old one has no Landlock): then it is not listed among the defences passed, and a note says so.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.sandbox"
