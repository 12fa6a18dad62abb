"""Custom-task folders (KernelFoundry's way): text between markers inside comments.

`[REFERENCE_START] … [REFERENCE_END]` the reference, `[USER_INSTRUCTIONS_START] …` what the author asks for, `[EVOLVE_START] …` the code to
start from. A reference becomes a problem when it, or the file around it, has `Model` and `get_inputs`, or a function beside `get_inputs`.
"""

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.facts import parse
from popcorn.suites.importing.found import Found, files_below, read_python, read_text, snake

_TEXTS = (".py", ".cpp", ".cu", ".cl", ".sycl", ".cc", ".hpp", ".h", ".txt", ".md")
_ENTRIES = ("reference", "forward", "run", "build_reference")


def looks_like(folder: Path) -> bool:
    """Whether some text holds an EVOLVE marker."""
    return bool(_tasks(folder))


def read(folder: Path) -> list[Found]:
    """One problem for each folder that holds an EVOLVE marker."""
    root = folder.resolve()
    return [_found(task, root) for task in _tasks(folder)]


def block(text: str, name: str) -> str | None:
    """What stands between `[NAME_START]` and `[NAME_END]`, without the marker lines; None when there is no such pair."""
    match = re.search(rf"^[^\n]*\[{name}_START\][^\n]*\n(.*?)^[^\n]*\[{name}_END\]", text, re.MULTILINE | re.DOTALL)
    return None if match is None else match[1]


def _texts(folder: Path) -> dict[Path, str]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in _TEXTS:
            try:
                found[path] = read_python(path) if path.suffix == ".py" else read_text(path)
            except PopcornError:
                continue
    return found


def _tasks(folder: Path) -> list[Path]:
    root = folder.resolve()
    folders = {path.parent for suffix in _TEXTS[:7] for path in files_below(root, suffix)}
    return [one for one in sorted(folders) if any("[EVOLVE_START]" in text for text in _texts(one).values())]


def _found(task: Path, root: Path) -> Found:
    name = snake(task.name)
    about: dict[str, Any] = {"key": name, "name": name, "where": str(task.relative_to(root)) if task != root else task.name}
    try:
        texts = _texts(task)
        wishes = [block(text, "USER_INSTRUCTIONS") for text in texts.values()]
        starts = {path.name: block(text, "EVOLVE") or "" for path, text in texts.items() if "[EVOLVE_START]" in text}
        source = _reference(texts)
        instructions = "\n".join(_uncommented(wish) for wish in wishes if wish)
        head = (
            "".join(f"# {line}\n" for line in ["What the author of the task asks for:", *instructions.splitlines()]) if instructions else ""
        )
        remarks = ["the author's instructions stand at the top of the statement"] if instructions else []
        remarks.append("its pytest tests are not run; Popcorn's own trials judge")
        return Found(
            **about, source=head + source, remarks=tuple(remarks), files={f"start_{n}": text for n, text in starts.items() if text.strip()}
        )
    except PopcornError as error:
        return Found(**about, refused=str(error))


def _reference(texts: dict[Path, str]) -> str:
    for path, text in texts.items():
        inside = block(text, "REFERENCE")
        if inside is None or path.suffix != ".py":
            continue
        for source in (textwrap.dedent(inside), text, _with_fixture(inside, text)):
            try:
                parse(source, path.name)
                return source
            except BadProblem:
                wrapped = _wrapped(source)
                if wrapped:
                    return wrapped
        raise BadProblem(
            f"the reference in {path.name} has neither a class Model nor a function `reference`, with get_inputs or a fixture `data` beside "
            "it; write get_inputs() that returns the inputs of a call"
        )
    raise BadProblem("no Python text holds [REFERENCE_START]; a problem needs a reference in torch")


def _with_fixture(inside: str, text: str) -> str:
    """The reference with the file's imports and constants, and its pytest fixture `data` as get_inputs; empty where it has no such fixture.

    The fixture may be a method, and may ask for `device` alone; what it returns are the inputs of a call.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "data"]
    if not functions or not {one.arg for one in functions[0].args.args} <= {"self", "device"}:
        return ""
    data = functions[0]
    kept = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign) and not _of_tests(node)]
    data.decorator_list, data.returns = [], None
    head = "\n".join(ast.unparse(node) for node in kept)
    given = ", ".join({"self": "None", "device": "torch.get_default_device()"}[one.arg] for one in data.args.args)
    call = f"def get_inputs():\n    made = data({given})\n    return list(made) if isinstance(made, (list, tuple)) else [made]\n"
    return f"import torch\n{head}\n\n{textwrap.dedent(inside)}\n\n{ast.unparse(data)}\n\n\n{call}"


def _of_tests(node: ast.stmt) -> bool:
    names = (
        [one.name for one in node.names]
        if isinstance(node, ast.Import)
        else [node.module or ""]
        if isinstance(node, ast.ImportFrom)
        else []
    )
    return any(name.split(".")[0] in ("pytest", "kernelfoundry", "conftest") for name in names)


def _wrapped(source: str) -> str | None:
    """A text with a function of a known name and get_inputs, as a Model that calls it."""
    try:
        functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    entry = next((name for name in _ENTRIES if name in functions), None)
    if entry is None or "get_inputs" not in functions:
        return None
    return (
        f"{source}\n\nimport torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, *inputs):\n        return {entry}(*inputs)\n"
    )


def _uncommented(text: str) -> str:
    return "\n".join(re.sub(r"^\s*(#|//|\*|\"\"\"|/\*)\s?", "", line).rstrip() for line in text.splitlines()).strip()
