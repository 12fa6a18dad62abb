"""Popcorn: is this kernel right, and how good is it, on this machine?"""

__version__ = "0.1.0"
