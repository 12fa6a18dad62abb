"""constraints.txt pins whatever `make environment` installs, and pyproject.toml leaves every Python out that is not supported."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("agents", "gpu", "lint", "models", "search", "service", "site", "slurm", "test")
"""As the Makefile installs."""

BY_TORCH = re.compile(r"nvidia-|triton$|cuda-|cupti-")
"""What a CUDA build of torch brings along and pins itself."""


def pins() -> dict[str, Version]:
    lines = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in lines)}


def direct() -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    return [Requirement(text) for text in [*PROJECT["dependencies"], *(text for extra in EXTRAS for text in optional[extra])]]


def installed() -> set[str]:
    """Names of all that the project's requirements bring, as far as it is installed here."""
    found: set[str] = set()
    waiting = direct()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += [Requirement(text) for text in needs]
    return {name for name in found if name == "nvidia-ml-py" or not BY_TORCH.match(name)} - {"setuptools"}


def test_everything_that_is_installed_is_pinned():
    assert {"torch", "pytest", "mypy"} <= installed()
    assert sorted(installed() - set(pins())) == []


@pytest.mark.parametrize("requirement", direct(), ids=str)
def test_each_pin_is_a_version_that_the_project_allows(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_makefile_and_pyproject_agree_on_the_pythons_and_on_the_extras():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert PROJECT["requires-python"] == ">=3.11,<3.14" and "(3, 11) <= sys.version_info[:2] <= (3, 13)" in makefile
    assert f".[{','.join(EXTRAS)}]" in makefile and "-c constraints.txt" in makefile
