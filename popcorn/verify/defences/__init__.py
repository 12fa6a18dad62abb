"""Defences: one file each, with what it catches and what it does not. registry.py lists them."""
