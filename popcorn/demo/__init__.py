"""Candidates that ship with Popcorn for `popcorn demo`, honest ones and cheats. Their files are texts to be judged; none is imported."""
