"""Suites of other people: a folder in one of their formats becomes problems with ids. Nothing of a file is executed here; no torch."""
