"""What the zygote imports once, so that no later child does. Runs in the zygote; what is asked for is decided in the parent.

An evaluation has a dozen processes, each fresh: a package whose import takes five seconds would take a minute of it. Only what is known to start no
thread and to touch no GPU at its import is learned, models of transformers and their configs: a fork would be none after that. torch is there already.
"""

import ast
import contextlib
import gc
import importlib
import re

COMPILING = "torch.compile"
LONGEST, MOST = 56, 16
"""Characters of what can be asked for, and how much of one text."""
_KNOWN = re.compile(r"transformers(\.(?!TF|Flax)[A-Z][A-Za-z0-9_]*?(Config|Model|For[A-Z][A-Za-z]*))?", re.ASCII)


def learnable(source: str) -> list[str]:
    """What a problem's text imports of that kind, as `package` and `package.Name`. A text that is no Python names nothing."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, None] = {}
    for statement in statements:
        if isinstance(statement, ast.Import):
            found |= dict.fromkeys(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found |= dict.fromkeys([statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)])
    return [name for name in found if may_be_learned(name)][:MOST]


def may_be_learned(name: str) -> bool:
    """Whether it is on the list."""
    return len(name) <= LONGEST and _KNOWN.fullmatch(name) is not None


def learn(what: str) -> None:
    """Import it, a name of a package too: some load what is behind a name when it is asked for."""
    with contextlib.suppress(Exception, SystemExit):  # where it cannot be had, the child that needs it says so
        if what == COMPILING:
            _learn_compiling()
        elif may_be_learned(what):
            package, _, name = what.partition(".")
            module = importlib.import_module(package)
            if name:
                getattr(module, name)
    freeze()


def freeze() -> None:
    """What there is now stays on shared pages: no garbage collection in a child touches (and so copies) it."""
    gc.collect()
    gc.freeze()


def _learn_compiling() -> None:
    """What torch.compile imports and finds out on its first use, three seconds of it."""
    importlib.import_module("torch._inductor.async_compile")
    importlib.import_module("torch._inductor.compile_fx")
    importlib.import_module("torch._inductor.cpu_vec_isa").pick_vec_isa()
