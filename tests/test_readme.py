"""README.md is true: its tree is the real tree, its two commands exist, its card is the card of today's code."""

import re
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
UNLISTED = {".gitignore", "popcorn/py.typed"}
OPEN = {"benchmarks", "docs"}
"""Folders outside the package whose files have a line each; every package of ours has, too. Other folders are one line."""

ONE_LINE = {"popcorn/verify/defences"}
"""Packages whose files are all of one kind: one line says it."""

ELSEWHERE = {"gpu", "evil", "honest", "golden", "problems"}
"""Folders of tests that mirror no package."""


@cache
def tracked() -> tuple[PurePosixPath, ...]:
    """Files that git tracks; skips the test where there is no checkout to ask."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        pytest.skip("not a git checkout: nothing says which files belong to the project")
    return tuple(PurePosixPath(name) for name in asked.stdout.split("\0") if name and (ROOT / name).exists())


def real_tree() -> set[str]:
    """What needs a line: folders end in a slash."""
    files = tracked()
    packages = {str(path.parent) for path in files if path.name == "__init__.py" and path.parts[0] == "popcorn"} - ONE_LINE
    wanted = set()
    for path in files:
        parts = path.parts
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            wanted.add(here if depth == len(parts) else f"{here}/")
            if here not in packages | OPEN:
                break
    return {name for name in wanted if not name.endswith("__init__.py")} - UNLISTED


def listed() -> list[tuple[str, str]]:
    """(path, remark) of every line of the tree in README.md."""
    block = re.search(r"## The tree\n\n<details>.*?\n\n```text\n(.*?)```", README, re.DOTALL)
    assert block is not None
    folders: list[str] = []
    found = []
    for line in block[1].splitlines():
        match = re.fullmatch(r"((?:  )*)(\S+)\s+(\S.*)", line)
        assert match is not None, f"{line!r} is not `name  remark`"
        depth = len(match[1]) // 2
        folders[depth:] = [match[2].rstrip("/")]
        found.append(("/".join(folders) + ("/" if match[2].endswith("/") else ""), match[3]))
    return found


def test_every_part_of_the_project_has_a_line_in_the_tree():
    assert sorted(real_tree() - {path for path, _ in listed()}) == [], "add a line, with a remark, to the tree in README.md"


def test_nothing_is_listed_that_does_not_exist():
    assert sorted({path for path, _ in listed()} - real_tree()) == []


def test_every_line_of_the_tree_is_there_once_with_a_short_remark():
    paths = [path for path, _ in listed()]
    assert len(paths) == len(set(paths))
    assert [path for path, remark in listed() if len(remark) > 100] == []


def test_tests_mirror_the_package():
    folders = {path.parts[1] for path in tracked() if path.parts[0] == "tests" and len(path.parts) > 2}
    packages = {path.parts[1] for path in tracked() if path.parts[0] == "popcorn" and len(path.parts) > 2}
    assert folders - ELSEWHERE <= packages


def test_setting_up_takes_exactly_the_two_commands():
    block = re.search(r"\n\n((?:    make .*\n)+)", README)
    assert block is not None
    assert re.findall(r"make (\S+)", block[1]) == ["demo", "test"]
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    named = re.search(r"^Makefile +(.+)$", README, re.MULTILINE)
    assert named is not None and set(named[1].split(" · ")) <= set(targets)


def test_every_file_that_the_makefile_runs_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in re.findall(r"python (\S+\.py)", makefile) if not (ROOT / name).is_file()] == []


def test_the_card_is_one_that_this_code_prints():
    """The labels on the page are those of the card, in order; figures are the run's own."""
    from popcorn.cli import card

    block = re.search(r"<!-- card -->\n```text\n(.*?)```", README, re.DOTALL)
    assert block is not None
    code = Path(card.__file__).read_text(encoding="utf-8")
    labels = [line[:14].strip() for line in block[1].splitlines()[2:] if re.match(r"[a-z]", line)]
    known = set(re.findall(r'yield "([a-z ]+)"', code)) | {"candidate", "eager", "torch.compile"}
    assert {"problem", "trials", "precision", "controls", "record", "candidate", "eager"} <= set(labels)
    assert [label for label in labels if not any(label == one or label.startswith(f"{one} ") for one in known)] == []
