"""Challenges of LeetGPU (`challenge.py`) and Tensara (`def.py`): a class with a reference and with functions that make its tests.

The class is kept as it is, without the import of its base, which is ours here, and without the assertions of its reference, which forbid
float64 and machines without a GPU. Its own tolerances and `verify_result` are not used: the truth in float64 judges.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.importing.found import Found, files_below, read_python, snake


class Form(NamedTuple):
    """One site's way of writing a challenge."""

    reference: str
    tests: str
    """Methods by which a class shows that it is one."""
    base: str
    """Text that stands in for the module of its base class."""
    connected: str
    """Text that makes it a problem; CHALLENGE is the class's name."""
    remark: str


_OUT = """class RandTensor:
    def __init__(self, shape, low=0.0, high=1.0, dtype=torch.float32):
        self.shape, self.low, self.high, self.dtype = shape, low, high, dtype

    def make(self):
        return torch.empty(self.shape, dtype=self.dtype, device="cuda").uniform_(self.low, self.high)


class OutTensor:
    def __init__(self, shape, dtype=torch.float32):
        self.shape, self.dtype = shape, dtype

    def make(self):
        return torch.zeros(self.shape, dtype=self.dtype, device="cuda")


class BASE:
    def __init__(self, name=None, device="cuda", **told):
        self.device = device
"""
_SOLVED = '''
_challenge = CHALLENGE()
_told = {name: (one[-1] if isinstance(one, tuple) else "in") for name, one in _challenge.get_solve_signature().items()}
CASE = Dim(9, among=(1, 2, 3, 4, 5, 6, 7, 8, 9), cpu=8)


class Model(torch.nn.Module):
    """`out`: places of memory for results, where each call finds zeros; `inout`: places of what a call changes, a copy for each call.
    forward returns what then lies there, and so does a candidate's `solve`, whose arguments these are."""

    def __init__(self, out, inout):
        super().__init__()
        self.out, self.inout = out, inout

    def forward(self, *given):
        given = [
            torch.zeros_like(one) if place in self.out else one.clone() if place in self.inout else one for place, one in enumerate(given)
        ]
        _challenge.reference_impl(**dict(zip(_told, given)))
        results = tuple(given[place] for place in sorted([*self.out, *self.inout]))
        return results[0] if len(results) == 1 else results


def get_inputs(CASE=CASE):
    if CASE == 9:
        test = _challenge.generate_performance_test()
    else:
        tests = _challenge.generate_functional_test()
        test = tests[(CASE - 9) % len(tests)]
    made = [test[name].make() if hasattr(test[name], "make") else test[name] for name in _told]
    return [torch.zeros_like(one) if way == "out" else one for one, way in zip(made, _told.values())]


def get_init_inputs():
    return [[place for place, way in enumerate(_told.values()) if way == wanted] for wanted in ("out", "inout")]
'''
_BASE = """class BASE:
    parameters = None
    _types = {"double": torch.float64, "half": torch.float16, "int": torch.int32, "size_t": torch.int64, "uint64_t": torch.int64}

    def __init__(self, name=None, time_limit=100, **told):
        self.name, self.time_limit = name, time_limit

    def param_dtype(self, key):
        one = self.parameters[key] if isinstance(key, int) else next(one for one in self.parameters if one["name"] == key)
        return self._types.get(one["type"], torch.int32 if one["type"].startswith("uint") else torch.float32)

    @staticmethod
    def get_seed(text):
        return int.from_bytes(hash_of(text.encode()).digest()[:4], "little") & 0x7FFFFFFF
"""
_RETURNED = """
import inspect as _inspect

_challenge = CHALLENGE()
CASE = Dim(6, among=(1, 2, 3, 4, 5, 6), cpu=1)


class Model(torch.nn.Module):
    def forward(self, *given):
        return _challenge.reference_solution(*given)


def get_inputs(CASE=CASE):
    asked = _inspect.signature(_challenge.generate_test_cases).parameters
    tests = _challenge.generate_test_cases(*[torch.float32 for _ in asked])
    made = tests[max(0, len(tests) - 7 + CASE)]["create_inputs"]()
    return list(made) if isinstance(made, (tuple, list)) else [made]


def get_init_inputs():
    return []
"""
FORMS = {
    "leetgpu": Form(
        "reference_impl", "generate_functional_test", _OUT, _SOLVED,
        "its last eight functional tests are trials and the performance test is timed, the last functional one without a GPU; a submission's solve "
        "is judged as it is",
    ),
    "tensara": Form(
        "reference_solution", "generate_test_cases", "from hashlib import md5 as hash_of\n\n\n" + _BASE, _RETURNED,
        "its last six tests are trials and the last is timed, the first of them without a GPU; its verify_result is not run",
    ),
}  # fmt: skip


def looks_like(folder: Path, form: str) -> bool:
    """Whether some file among the first defines such a class."""
    return any(_class_of(tree, FORMS[form]) for _, tree in _trees(folder, FORMS[form], 200))


def read(folder: Path, form: str) -> list[Found]:
    """One problem for each file with such a class."""
    root = folder.resolve()
    return [_found(path, root, tree, FORMS[form]) for path, tree in _trees(folder, FORMS[form]) if _class_of(tree, FORMS[form])]


def reader_of(form: str) -> tuple[Callable[[Path], bool], Callable[[Path], list[Found]]]:
    """`looks_like` and `read` of one form."""
    return functools.partial(looks_like, form=form), functools.partial(read, form=form)


def _trees(folder: Path, form: Form, most: int | None = None) -> Iterator[tuple[Path, ast.Module]]:
    for path in files_below(folder.resolve(), ".py")[:most]:
        try:
            source = read_python(path)
            if f"def {form.reference}" in source:
                yield path, ast.parse(source)
        except (PopcornError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def _class_of(tree: ast.Module, form: Form) -> ast.ClassDef | None:
    wanted = {form.reference, form.tests}
    return next(
        (
            one
            for one in tree.body
            if isinstance(one, ast.ClassDef) and one.bases and wanted <= {m.name for m in one.body if isinstance(m, ast.FunctionDef)}
        ),
        None,
    )


def _found(path: Path, root: Path, tree: ast.Module, form: Form) -> Found:
    inner = [*path.parent.relative_to(root).parts] or [root.name]
    name = snake(inner[-1].partition("_")[2] if inner[-1].partition("_")[0].isdecimal() else inner[-1])
    key = "/".join([*(snake(part) for part in inner[-2:-1] if part in ("easy", "medium", "hard")), name])
    where, found = str(path.relative_to(root)), _class_of(tree, form)
    assert found is not None
    try:
        return Found(key, name, where, _connected(read_python(path), tree, found, form), remarks=(form.remark,))
    except PopcornError as error:
        return Found(key, name, where, refused=str(error))


def _connected(source: str, tree: ast.Module, found: ast.ClassDef, form: Form) -> str:
    base = found.bases[0]
    if not isinstance(base, ast.Name):
        raise BadProblem(f"class {found.name} extends {ast.unparse(base)[:60]!r}; expected a base that is imported by name")
    reference = next(one for one in found.body if isinstance(one, ast.FunctionDef) and one.name == form.reference)
    lines = re.split(r"\r\n?|\n", source)
    homes = [one for one in tree.body if isinstance(one, ast.ImportFrom) and any(name.name == base.id for name in one.names)]
    for home in homes:
        _replace(lines, home, "pass")
    for node in ast.walk(reference):
        if isinstance(node, ast.Assert):
            _replace(lines, node, "pass")
    head, future = form.base.replace("BASE", base.id), [one for one in lines if one.startswith("from __future__ import ")]
    text = "\n".join(one for one in lines if one not in future).strip()
    return (
        "".join(f"{one}\n" for one in future)
        + f"# --- in place of the module that {base.id} comes from\n\nimport torch\n\nfrom popcorn.suites.jitter import Dim\n\n\n{head}\n\n"
        + f"# --- the challenge, without the assertions of its reference\n\n{text}\n\n\n# --- how Popcorn connects it\n"
        + form.connected.replace("CHALLENGE", found.name)
    )


def _replace(lines: list[str], node: ast.stmt, text: str) -> None:
    """A statement by another one, in as many lines; what stands before and behind it on its lines stays."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    before, behind = lines[first].encode()[: node.col_offset].decode(), lines[last - 1].encode()[node.end_col_offset :].decode()
    lines[first:last] = [before + text + behind, *[""] * (last - first - 1)]
