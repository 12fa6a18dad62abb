"""Every tool by name: a file of this folder with a TOOL in it."""

import functools
import importlib
import pkgutil

import popcorn.agents.tools as folder
from popcorn.agents.tools.answer import Tool
from popcorn.errors import BadAgent


@functools.cache
def tools() -> dict[str, Tool]:
    """Name → tool, in alphabetical order."""
    modules = [importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__)]
    found = {module.TOOL.name: module.TOOL for module in modules if isinstance(getattr(module, "TOOL", None), Tool)}
    return dict(sorted(found.items()))


def find_tool(name: str) -> Tool:
    """One tool. Raises BadAgent with the names there are."""
    if name not in tools():
        raise BadAgent(f"there is no tool {name[:60]!r}; expected one of {', '.join(tools())}.")
    return tools()[name]
