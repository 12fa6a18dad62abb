"""Processes: the zygote, the oracle's and the candidate's children, and the lanes they queue in."""
