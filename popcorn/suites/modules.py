"""A problem's text as a module of its own, and its failures as sentences. Needs torch; only for a trusted process without candidates."""

import functools
import inspect
import linecache
import re
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

from popcorn.errors import BadProblem
from popcorn.suites.problems import Problem


def execute(problem: Problem, given: Mapping[str, object] | None = None) -> types.ModuleType:
    """Run a problem's text once in a fresh namespace that also holds `given`, and return it as a module named after its hash.

    The text recorded in `problem` is run, not what the file holds now; inspect.getsource shows the same text.
    Raises BadProblem naming the line when the text fails.
    """
    module = types.ModuleType(f"popcorn_problem_{problem.hash}_{re.sub(r'[^0-9a-zA-Z]', '_', problem.name)}")
    module.__file__ = problem.path
    module.__dict__.update(given or {})
    linecache.cache[problem.path] = (len(problem.source), None, problem.source.splitlines(keepends=True), problem.path)
    # inspect finds a class's file through sys.modules
    sys.modules[module.__name__] = module
    call(problem, "import", lambda: exec(compile(problem.source, problem.path, "exec"), module.__dict__))
    return module


def call(problem: Problem, what: str, act: Callable[[], Any]) -> Any:
    """act(), with any failure of the problem's own code as a BadProblem that names the step and the line. Lack of memory passes through."""
    try:
        return act()
    except (BadProblem, MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:  # a script that parses a command's arguments exits
        raise BadProblem(f"{problem.id}: {what} failed{_line(error, problem.path)}: {reason_of(error)}") from error


def call_with_sizes(function: Callable[..., Any], sizes: Mapping[str, Any]) -> Any:
    """function, given those of `sizes` that it names as parameters."""
    return function(**{name: sizes[name] for name in _parameters(function) if name in sizes})


@functools.lru_cache(64)
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def reason_of(error: Exception | SystemExit, precision: str = "float32") -> str:
    """What went wrong in a problem's text, run at a precision, and what to do."""
    if isinstance(error, SystemExit):
        return f"it exits ({error.code}); put what a script does under `if __name__ == '__main__':`"
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:300] or _line_of(error)}"
    if isinstance(error, NameError) and error.name:
        return f"the name `{error.name}` is never defined; define it in the file"
    if isinstance(error, ModuleNotFoundError):
        return f"it imports `{error.name}`, which is not installed; install it or choose another problem"
    if isinstance(error, RuntimeError) and (insists := _types_named(text, precision)):
        return f"{text}; it insists on {insists} inside: choose that with --precision, or let it compute in the type of its inputs"
    if isinstance(error, RuntimeError) and "does not require grad" in text:
        return f"{text}; it is called without gradients: let its forward compute what needs them under torch.enable_grad()"
    if not torch.cuda.is_available() and re.search(r"cuda|nvidia|gpu", text, re.IGNORECASE):
        return f"it asks for a GPU and this machine has none ({text}); run it where a GPU is, or let it take the device of its inputs"
    return f"{text}; the reference must run before a kernel can be judged by it"


def _types_named(text: str, precision: str) -> str:
    """Element types, other than the one that was chosen, by which torch says that two do not go together."""
    if not re.search(r"same dtype|scalar type|dtype .* does not match", text):
        return ""
    named = {
        "float32": r"\b([Ff]loat|float32)\b",
        "float16": r"\b(Half|float16)\b",
        "bfloat16": r"\bb(float16)\b|\bBFloat16\b",
        "float64": r"\b(double|Double|float64)\b",
    }
    return " or ".join(name for name, words in named.items() if name != precision and re.search(words, text))


def _line_of(error: Exception | SystemExit) -> str:
    """The line of code that failed, for an error without a word: an assertion, as a rule."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return f"`{(last[0].line or '')[:200]}`" if last else "without a word"


def _line(error: BaseException, path: str) -> str:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f" (line {line})"
