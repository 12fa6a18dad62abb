"""The kernel stops the candidate's whole process group whenever nothing was asked of it.

Catches: threads that fill the output after the call returned, or after the reply (2, 3), work during the reference's turn (44). On a CPU the
results of the parent's batches are read out of the stopped process's memory, so what is not there when the answer arrives never comes: lazy tensors,
protected pages, hooks that fill results when somebody looks (4).
Nobody leaves that group: who asks for a session or a group of its own is told yes, and stays.
Does not catch: a descendant in a session of its own, where the kernel refuses a seccomp filter; `idle` does, as far as its children are not gone when it looks.
"""

BY = "construction"
ENFORCED_IN = "popcorn.worker.nursery, popcorn.worker.presence"
