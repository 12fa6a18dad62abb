"""Files that list groups of inputs: a trial draws one, and what lies beside them goes along."""

import json
from pathlib import Path

import pytest
import torch

from popcorn.suites.groups import MOST
from popcorn.suites.importing.formats import read_folder
from popcorn.suites.loading import load
from popcorn.suites.problems import Problem, find_problem, hash_source

MODEL = "import json\nimport os\nimport torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x, k):\n        return torch.diagonal(x, k) * 2\n\n"
LISTED = (
    MODEL
    + "def get_inputs_dyn_list():\n    return [[torch.randn(3, 4), 1], [torch.randn(5, 5), -2]]\n\ndef get_init_inputs():\n    return []\n"
)
OPENED = MODEL + (
    "def get_input_groups():\n    with open(os.path.join(os.path.dirname(__file__), {name})) as f:\n"
    "        cases = [json.loads(line) for line in f if line.strip()]\n"
    "    return [[torch.randn(one['shape']), one['k']] for one in cases]\n"
)
LOADED = MODEL.replace("import json\n", '"""Diagonals."""\nfrom __future__ import annotations\nimport json\n', 1) + (
    "CASES = [json.loads(line) for line in open('8_Diag.json')]\n\n"
    "def get_input_groups():\n    return [[torch.randn(one['shape']), one['k']] for one in CASES]\n"
)
CASES = "".join(json.dumps({"shape": shape, "k": k}) + "\n" for shape, k in (([3, 4], 1), ([5, 5], -2)))
OWN = "os.path.splitext(os.path.basename(__file__))[0] + '.json'"


def drawn(problem: Problem) -> list[tuple[list[int], int]]:
    loaded = load(problem)
    groups = [loaded.inputs({"GROUP": number}) for number in (1, 32, 33, 64)]
    assert isinstance(loaded.model({})(*groups[0]), torch.Tensor)
    return [(list(x.shape), k) for x, k in groups]


@pytest.mark.parametrize("text", [LISTED, LOADED, OPENED.replace("{name}", "'8_Diag.json'"), OPENED.replace("{name}", OWN)])
def test_a_trial_draws_one_of_the_groups_wherever_the_text_lies(tmp_path: Path, text: str) -> None:
    (tmp_path / "level1").mkdir()
    path = tmp_path / "level1" / "8_Diag.py"
    path.write_text(text)
    path.with_suffix(".json").write_text(CASES)
    expected = [([3, 4], 1), ([3, 4], 1), ([5, 5], -2), ([5, 5], -2)]
    assert drawn(find_problem(str(path))) == expected
    (one,) = read_folder(tmp_path)[1]
    path.with_suffix(".json").unlink()  # on the shelf the text has another name, and nothing beside it
    shelved = Problem(id="s/L1/8", name="diag", path="/shelf/8.py", source=one.source, hash=hash_source(one.source), origin="file")
    assert one.key == "L1/8" and drawn(shelved) == expected


def test_a_flat_folder_of_such_files_is_found(tmp_path: Path) -> None:
    (tmp_path / "leaky_relu.py").write_text(LISTED)
    assert [one.key for one in read_folder(tmp_path)[1]] == ["leaky_relu"]


def test_a_file_with_get_inputs_of_its_own_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(LISTED + "\ndef get_inputs():\n    return get_inputs_dyn_list()[0]\n")
    assert "GROUP" not in find_problem(str(tmp_path / "a.py")).source


def test_of_many_groups_the_first_and_the_last_are_reached_and_every_one_of_a_few_dozen(tmp_path: Path) -> None:
    for count in (1, 5, 40, 64, 300):
        path = tmp_path / f"many_{count}.py"
        path.write_text(MODEL + f"def get_input_groups():\n    return [[torch.zeros(1, 1), k] for k in range({count})]\n")
        drawn_ = [load(find_problem(str(path))).inputs({"GROUP": number})[1] for number in range(1, MOST + 1)]
        assert len(set(drawn_)) == min(count, MOST) and drawn_[0] == 0 and drawn_[-1] >= count - 1 - count // MOST


def test_a_line_of_the_file_stays_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "8_Diag.py"
    path.write_text(LOADED)
    path.with_suffix(".json").write_text(CASES)
    assert [
        line.endswith(old) for line, old in zip(find_problem(str(path)).source.split("\n"), LOADED.rstrip().split("\n"), strict=False)
    ].count(False) == 0
