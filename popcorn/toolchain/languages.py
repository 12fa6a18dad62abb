"""What a candidate is written in, and whether its text keeps that language's contract. Reads text only: runs and imports nothing."""

import ast
import re
from pathlib import PurePath

from popcorn.errors import BadCandidate
from popcorn.reading import MAX_SOURCE_BYTES
from popcorn.toolchain.diagnostics import CompileFailed, diagnostic

LANGUAGES = ("torch", "triton", "tilelang", "cute", "cuda", "cpp", "c", "sycl")
"""Every language that `build` takes. `cuda` and `cpp` are Python modules (load_inline) or native files (.cu, .cpp); `c` and `sycl` files alone."""

NATIVE_SUFFIXES = {".c": "c", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".cu": "cuda", ".sycl": "sycl"}
SUFFIX = {"c": ".c", "cpp": ".cpp", "cuda": ".cu", "sycl": ".sycl"}
"""What a native file of a language is called. A `.cpp` file that includes SYCL's header is SYCL, too."""
SUBMISSIONS = ("custom_kernel", "solve")
"""Functions that submissions to GPU MODE's leaderboards and to LeetGPU define in place of ModelNew."""

_PYTHON_ORDER = ("cuda", "cute", "tilelang", "triton", "cpp", "torch")
_NEXT_STEP = "use .py (torch, triton, tilelang, cute, cuda, cpp), .c, .cpp, .cu or .sycl"
_SYCL = re.compile(r"^\s*#\s*include\s*[<\"](?:sycl|CL)/sycl\.hpp[>\"]", re.MULTILINE)


def detect_language(path_or_name: str | PurePath, source: str, asked: str | None = None) -> str:
    """The language of a candidate: its extension, then the calls and decorators of its parse tree (strings and comments decide nothing).

    `asked` is what the user said; it may choose among what the text is, not contradict it. A Python text that does not parse has
    the language asked for, else `torch`. Raises BadCandidate: unknown extension, empty, not text, over 2 MB, contradiction.
    """
    name = PurePath(path_or_name).name
    _check_text(name, source)
    if asked is not None and asked not in LANGUAGES:
        raise BadCandidate(f"{asked!r} is not a language; choose one of {', '.join(LANGUAGES)}.")
    suffix = PurePath(name).suffix.lower()
    if suffix in NATIVE_SUFFIXES:
        sycl = NATIVE_SUFFIXES[suffix] == "cpp" and _SYCL.search(re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", source, flags=re.DOTALL))
        found: tuple[str, ...] = ("sycl",) if sycl else (NATIVE_SUFFIXES[suffix],)
    elif suffix == ".py":
        tree = _parse(source)
        unknown = (asked,) if asked is not None and asked not in ("c", "sycl") else ("torch",)
        found = unknown if tree is None else _python_languages(tree)
    else:
        raise BadCandidate(f"{name}: the extension {suffix or '(none)'} is not one of a kernel file; {_NEXT_STEP}.")
    if asked is None:
        return found[0]
    if asked in found:
        return asked
    raise BadCandidate(
        f"{name} is written in {' and '.join(found)}, not in {asked}: leave the language out, or give the file that was meant."
    )


def is_python(path_or_name: str | PurePath, source: str) -> bool:
    """True for a Python module text, False for a native file. A name without a known extension is decided by whether it parses."""
    suffix = PurePath(path_or_name).suffix.lower()
    if suffix == ".py" or suffix in NATIVE_SUFFIXES:
        return suffix == ".py"
    return _parse(source) is not None


def check_contract(source: str, language: str, python: bool | None = None, name: str = "candidate") -> None:
    """Raise CompileFailed when the text cannot be a candidate: a syntax error in Python, no class ModelNew, no popcorn_forward.

    `python` says which of the two forms of `cuda` and `cpp` it is; None decides by whether it parses as Python.
    """
    if language in ("c", "sycl"):
        python = False
    elif language not in ("cuda", "cpp"):
        python = True
    elif python is None:
        python = _parse(source) is not None
    if python:
        _check_python(source, name)
        return
    text = without_comments(source)
    if not re.search(r"\bpopcorn_forward\s*\(", text):
        if "PYBIND11_MODULE" in source:
            raise CompileFailed(
                "it is an extension of torch (PYBIND11_MODULE): give it as a .py whose ModelNew calls load_inline, or define popcorn_forward."
            )
        raise CompileFailed("it does not define popcorn_forward: include popcorn_kernel.h and define the function that it declares.")
    if made_up := re.search(
        r"\bpopcorn_forward\s*\(\s*((?:const\s+)?(?:float|double|half|__half|__nv_bfloat16|(?:torch|at)::Tensor)\b[\s*&]*)", text
    ):
        raise CompileFailed(
            f"its popcorn_forward takes `{made_up[1].strip()}` first, and is called with tables of tensors: write it as popcorn_kernel.h declares it "
            "(docs/toolchain.md)."
        )


def without_comments(source: str) -> str:
    """C, C++ or CUDA text with comments, string and character literals blanked; lines keep their numbers."""

    def blank(match: re.Match[str]) -> str:
        text = match.group(0)
        kept = '""' if text.startswith(('"', "R")) else ("0" if text.startswith("'") else " ")
        return kept + "\n" * text.count("\n")

    return _COMMENTS_AND_LITERALS.sub(blank, source)


_COMMENTS_AND_LITERALS = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r"""|"(?:[^"\\\n]|\\.|\\\n)*"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)


def _check_text(name: str, source: str) -> None:
    if not source.strip():
        raise BadCandidate(f"{name} is empty; write class ModelNew, or popcorn_forward in C, C++ and CUDA: docs/toolchain.md.")
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise BadCandidate(f"{name} has {size:,} bytes; a kernel text may have {MAX_SOURCE_BYTES:,}.")
    strange = sum(1 for character in source if (character < " " and character not in "\t\n\r\f\v") or "\ud800" <= character <= "\udfff")
    if "\0" in source or strange * 100 > len(source) or any("\ud800" <= character <= "\udfff" for character in source):
        raise BadCandidate(f"{name} is not text (UTF-8 was expected); give the kernel's source, not a compiled file.")


def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source.encode())  # as bytes: a mark at the beginning and a `coding` line mean here what they mean to the import
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _check_python(source: str, name: str) -> None:
    try:
        tree = ast.parse(source.encode())
    except SyntaxError as error:
        found = diagnostic(error.filename if error.filename != "<unknown>" else name, error.lineno, f"{type(error).__name__}: {error.msg}")
        fenced = (
            "; code stands between fences (```) here: keep what is between them alone" if re.search(r"^```", source, re.MULTILINE) else ""
        )
        raise CompileFailed(f"line {error.lineno}: {error.msg}{fenced}", (found,)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileFailed(f"Python cannot parse it: {type(error).__name__}: {error}"[:500]) from None
    if not any(_defines(statement, name) for statement in _module_statements(tree) for name in ("ModelNew", *SUBMISSIONS)):
        raise CompileFailed("it does not define the class ModelNew(nn.Module) at the top of the module.")


def _module_statements(tree: ast.Module) -> list[ast.stmt]:
    """Statements that run at import in the module's own scope, those inside if, try and with included."""
    waiting: list[ast.stmt] = list(tree.body)
    found: list[ast.stmt] = []
    while waiting:
        statement = waiting.pop()
        found.append(statement)
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for field in ("body", "orelse", "finalbody"):
                waiting += getattr(statement, field, [])
            waiting += [inner for handler in getattr(statement, "handlers", []) for inner in handler.body]
    return found


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return statement.name == name
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    if isinstance(statement, ast.ImportFrom | ast.Import):
        return any((alias.asname or alias.name) == name for alias in statement.names)
    return False


def _python_languages(tree: ast.Module) -> tuple[str, ...]:
    """Languages that the module uses, strongest claim first; `torch` when there is no other."""
    names = _imported_names(tree)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                found |= _of_use(_dotted(decorator.func if isinstance(decorator, ast.Call) else decorator, names), None)
        elif isinstance(node, ast.Call):
            found |= _of_use(_dotted(node.func, names), node)
    found.discard("")
    return tuple(language for language in _PYTHON_ORDER if language in found) or ("torch",)


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name → full dotted name, over every import of the module."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):  # triton.autotune(...)(f), kernel[grid](...) and the like name nothing new
        return ""
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([names.get(node.id, node.id), *reversed(parts)])


def _of_use(dotted: str, call: ast.Call | None) -> set[str]:
    if dotted.startswith("triton.") and dotted.split(".")[-1] in ("jit", "autotune", "heuristics"):
        return {"triton"}
    if dotted.startswith("tilelang."):
        return {"tilelang"}
    if dotted.startswith(("cutlass.cute.", "cutlass.jit")):
        return {"cute"}
    if dotted in ("torch.cuda._compile_kernel", "torch.cuda.compile_kernel"):
        return {"cuda"}
    if dotted == "torch.utils.cpp_extension.load_inline" and call is not None:
        return {"cuda" if _has_cuda(call) else "cpp"}
    if dotted == "torch.utils.cpp_extension.load" and call is not None:
        texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        return {"cuda" if any(text.endswith((".cu", ".cuh")) for text in texts) else "cpp"}
    return set()


def _has_cuda(call: ast.Call) -> bool:
    """True when a load_inline call gives CUDA sources; a `**settings` is taken to give them."""
    if len(call.args) > 2 or any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    for keyword in call.keywords:
        if keyword.arg is None:
            return True
        value = keyword.value
        empty = (isinstance(value, ast.Constant) and not value.value) or (isinstance(value, ast.List | ast.Tuple) and not value.elts)
        if keyword.arg in ("cuda_sources", "with_cuda") and not empty:
            return True
    return False
