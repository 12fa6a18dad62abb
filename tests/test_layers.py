"""The house rules of docs/architecture.md: imports go down, the parent has no torch, names and sizes of files."""

import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "popcorn"
TEXTS = (
    PACKAGE / "suites" / "original", PACKAGE / "suites" / "popcorn", PACKAGE / "demo" / "candidates",
    PACKAGE / "audit" / "evil", PACKAGE / "audit" / "honest", PACKAGE / "audit" / "problems",
)  # fmt: skip
"""Problems and candidates: texts that are judged, no part of the house."""

BANNED = {"utils", "util", "common", "helpers", "helper", "base", "core", "manager", "misc"}
WRITERS = {"popcorn.evaluate", "popcorn.worker.compiled"}
MARK, LIMIT = 300, 400

MUST_BE_FREE = re.compile(
    r"popcorn\.(schema|devices|records|cli|demo|site)(\.|$)|popcorn\.(errors|units|scoring|evaluate|cases(\..*)?)$"
    r"|popcorn\.measure\.(stats|turns|roofline|steadiness|energy|counters)$|popcorn\.verify\.judge$|popcorn\.toolchain\.build$"
    r"|popcorn\.suites\.(problems|jitter|facts|statement)$"
    r"|popcorn\.worker\.(nursery|session|request|bench|lanes|judging|launch|comparing|counting|compiled|taken|writing|seeds|wire|engine|local|building)$"
)
"""Modules that the parent imports: they may never say that they need torch."""


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if not any(folder in path.parents for folder in TEXTS)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


MODULES = modules()


def part_of(module: str) -> str:
    """The package or single module of the table that a module belongs to; `popcorn` for the top itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 and (".".join(pieces[:2]) in MODULES) else "popcorn"


def imports(name: str) -> Iterator[tuple[str, int]]:
    """(module of ours, line) of every import anywhere in a module, those inside functions included."""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            found = [f"{source}.{alias.name}" if f"{source}.{alias.name}" in MODULES else source for alias in node.names]
        for one in found:
            if one == "popcorn" or one.startswith("popcorn."):
                yield one, node.lineno


def table() -> dict[str, set[str]]:
    """Part → parts that it may import, read from the page."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) [^|]*\| ([^|]*) \|", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(len(rows))), "the rows of the table are numbered from 0"
    allowed: dict[str, set[str]] = {}
    below: set[str] = set()
    for _, cell in rows:
        groups = [[re.findall(r"`(\w+)`", piece) for piece in group.split("→")] for group in cell.split(",")]
        for group in groups:
            before: set[str] = set()
            for names in group:
                for name in names:
                    allowed[name] = below | before | {name}
                before |= set(names)
        below |= {name for group in groups for names in group for name in names}
    return allowed


ALLOWED = table()
ALLOWED["site"] = {"popcorn", "home", "schema", "errors", "units", "devices", "records", "scoring", "site"}
"""Pages are made from tables: the site knows no problem, no worker, no agent."""


def test_the_table_names_every_part_of_the_package_and_no_other():
    assert {part_of(name) for name in MODULES} == set(ALLOWED)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down_only(name):
    wrong = [f"line {line}: {found}" for found, line in imports(name) if part_of(found) not in ALLOWED[part_of(name)]]
    assert not wrong, f"{name} may import {', '.join(sorted(ALLOWED[part_of(name)]))}; it imports {'; '.join(wrong)}"


def says_it_needs_torch(name: str) -> bool:
    """By its docstring."""
    return re.search(r"[Nn]eeds torch\b|process that has torch", ast.get_docstring(ast.parse(MODULES[name].read_text())) or "") is not None


FREE = [name for name in MODULES if not says_it_needs_torch(name)]


def test_what_the_parent_imports_never_says_that_it_needs_torch():
    assert [name for name in MODULES if MUST_BE_FREE.match(name) and name not in FREE] == []


def test_everything_imports_without_torch_but_for_what_says_that_it_needs_it():
    code = f"""
import importlib, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "triton"):
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
failed = []
for name in {FREE!r}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(name + ": " + str(error))
print("; ".join(failed))
sys.exit(bool(failed))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_main_path_and_the_compile_baseline_write_records():
    writers = set()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend"):
                target = node.func.value
                called = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
                if called in ("store", "into") and part_of(name) != "records":
                    writers.add(name)
    assert writers == WRITERS


def test_no_file_is_named_for_nothing_in_particular():
    places = [*PACKAGE.rglob("*"), *(ROOT / "tests").rglob("*")]
    assert [str(path.relative_to(ROOT)) for path in places if path.stem in BANNED and "include" not in path.parts] == []


def test_no_file_is_over_400_lines_and_those_over_300_are_reported():
    ours = [*MODULES.values(), *(ROOT / "tests").rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in ours}
    over = {name: count for name, count in sorted(lengths.items()) if count > MARK}
    if over:
        warnings.warn("over the size mark of 300 lines: " + ", ".join(f"{name} {count}" for name, count in over.items()), stacklevel=1)
    assert {name: count for name, count in over.items() if count > LIMIT} == {}
