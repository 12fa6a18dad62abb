"""The planned figures, one file each: which rows, how they are drawn, what they say. Found by their file's number."""

import functools
import importlib
import pkgutil

from popcorn.site.figures.figure import Figure


@functools.cache
def every_figure() -> tuple[Figure, ...]:
    """In order of their numbers."""
    names = [one.name for one in pkgutil.iter_modules(__path__) if one.name.startswith("f") and one.name[1:3].isdigit()]
    return tuple(importlib.import_module(f"{__name__}.{name}").FIGURE for name in sorted(names))
