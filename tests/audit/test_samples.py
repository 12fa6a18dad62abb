"""The battery itself: enough of it, and complete heads."""

import ast
import importlib
from pathlib import Path

import pytest

from popcorn.audit.battery import needs_build
from popcorn.audit.samples import Sample, read_sample, read_samples
from popcorn.verify.defences.registry import NAMES


def test_there_are_as_many_samples_as_were_promised() -> None:
    assert len(read_samples("evil", gpu=False)) >= 90
    assert len(read_samples("honest", gpu=False)) >= 60


def test_every_cpu_entry_of_the_catalogue_is_tried() -> None:
    tried = {number for one in read_samples("evil") for number in one.catalogue}
    elsewhere = {47, 55}  # a small working set and the best of many runs are matters of measuring, not tricks of a file
    assert set(range(1, 61)) - tried - elsewhere == set()


def test_a_cheat_names_a_defence_that_exists() -> None:
    assert {one.caught_by for one in read_samples("evil")} - {None} <= set(NAMES)


@pytest.mark.parametrize("sample", [one for one in read_samples("evil") if one.path.suffix == ".py"], ids=lambda one: one.name)
def test_what_a_cheat_replaces_in_the_harness_is_there_to_be_replaced(sample: Sample) -> None:
    """A name that is gone would make a cheat of a file that tries nothing."""
    tree, modules = ast.parse(sample.source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("popcorn"):
            module = importlib.import_module(node.module)
            for name in node.names:
                found = getattr(module, name.name, None) or importlib.import_module(f"{node.module}.{name.name}")
                modules[name.asname or name.name] = found
    targets = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for each in node.targets for target in ast.walk(each)]
    for target in targets:
        if isinstance(target, ast.Attribute):
            root, *path = ast.unparse(target).split(".")
            found = modules.get(root)
            for name in path if found is not None else ():
                assert hasattr(found, name), f"{sample.name} replaces {ast.unparse(target)}, which is not there"
                found = getattr(found, name)


def test_what_a_compiler_sees_is_built_before_anything_is_timed() -> None:
    wanting = {one.name for one in read_samples("evil") + read_samples("honest") if needs_build(one)}
    assert {"protected_pages", "worked_beside", "built_when_made", "c_openmp"} <= wanting and "zeros" not in wanting


def test_a_gpu_gets_no_text_that_is_about_a_cpu() -> None:
    honest = {one.name: one for one in read_samples("honest")}
    assert honest["c_openmp"].cpu and honest["online"].cpu and not honest["workspace_reused"].cpu
    assert not any(one.cpu and one.gpu for kind in ("evil", "honest") for one in read_samples(kind))


def test_a_head_without_a_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('"""About."""\nOUTCOMES = {"cheated"}\n')
    with pytest.raises(ValueError, match="PROBLEM"):
        read_sample(path, "evil")
