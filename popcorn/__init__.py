"""Popcorn: is this kernel right, and how good is it, on this machine?"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "capture":
        import importlib

        # named, not imported: the nouns below this package know no op
        return importlib.import_module("popcorn.ops.capturing").capture
    raise AttributeError(f"module 'popcorn' has no attribute {name!r}")
