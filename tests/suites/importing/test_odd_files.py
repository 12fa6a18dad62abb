"""Checkouts as they really lie about: other encodings, arguments by name, results that are handed over, fixtures in place of functions."""

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import torch

from popcorn.errors import BadProblem
from popcorn.suites.foreign import open_foreign
from popcorn.suites.importing.formats import read_folder
from popcorn.suites.importing.rows_of_code import unpack
from popcorn.suites.problems import find_problem
from popcorn.worker.bringing import open_folder
from tests.suites.importing import samples
from tests.suites.importing.samples import write

ACCENT = "# caf\u00e9\n" + samples.SOFTMAX


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xef\xbb\xbf" + ACCENT.encode(), None),
        (("# -*- coding: latin-1 -*-\n" + ACCENT).encode("latin-1"), None),
        (ACCENT.replace("\n", "\r\n").encode(), None),
        (ACCENT.encode("latin-1"), "save it as UTF-8"),
        (ACCENT.encode("utf-16"), "save it as UTF-8"),
        (b"# -*- coding: moon -*-\n" + ACCENT.encode(), "save it as UTF-8"),
    ],
)
def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path: Path, content: bytes, reason: str | None) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "1_a.py").write_bytes(content)
    (one,) = read_folder(tmp_path)[1]
    if reason is None:
        assert one.refused is None and "caf\u00e9" in one.source and "\r" not in one.source and not one.source.startswith("\ufeff")
        assert "caf\u00e9" in find_problem(str(tmp_path / "level1" / "1_a.py")).source
    else:
        assert reason in (one.refused or "")


def test_the_checkouts_own_problems_get_the_short_ids(tmp_path: Path) -> None:
    files = {"changelog/S1/level1/1_old.py": samples.SOFTMAX, "level1/1_New.py": samples.SOFTMAX, "level1/1_New2.py": samples.SOFTMAX}
    _, found = read_folder(write(tmp_path, files))
    assert {one.key: one.where for one in found}["L1/1"] == "level1/1_New.py"


def opened(tmp_path: Path, init: str, returned: str, inputs: str = "[torch.ones(2)]") -> Any:
    text = samples.HEAD + (
        f"class Model(nn.Module):\n    def __init__(self, {init}):\n        super().__init__()\n        self.held = (width, scale)\n"
        f"    def forward(self, x, y=3):\n        return x + y\n\ndef get_inputs():\n    return {inputs}\n\ndef get_init_inputs():\n    return {returned}\n"
    )
    (tmp_path / "a.py").write_text(text)
    return open_foreign(find_problem(str(tmp_path / "a.py")))


@pytest.mark.parametrize(
    ("returned", "made"),
    [
        ('{"scale": 3, "width": 2}', [2, 3]),
        ('[[], {"width": 2}]', [2]),
        ('[[7], {"scale": 9}]', [7, 9]),
        ("[4]", [4]),
        ("[[4], 5]", [[4], 5]),
    ],
)
def test_arguments_by_name_are_put_in_order(tmp_path: Path, returned: str, made: list[Any]) -> None:
    assert opened(tmp_path, "width, scale=1", returned).init_args({}) == made


def test_arguments_by_name_that_have_no_place_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadProblem, match="`scale`"):
        opened(tmp_path, "width, *, scale=1", '{"width": 2, "scale": 3}').init_args({})
    with pytest.raises(BadProblem, match="gives no `width`"):
        opened(tmp_path, "width, scale=1", '{"scale": 3}').init_args({})
    made = opened(tmp_path, "width=1, scale=1", "[]", '{"y": torch.zeros(1), "x": torch.ones(2)}').inputs({})
    assert [t.numel() for t in made] == [2, 1]


def test_a_solution_that_fills_what_it_is_handed_is_a_candidate(tmp_path: Path) -> None:
    definition = samples.DEFINITION | {"outputs": {"y": {"shape": ["rows", "columns"], "dtype": "bfloat16"}}}
    spec = {"entry_point": "main.py::run", "destination_passing_style": True}
    source = {"path": "main.py", "content": "def run(x, index, scale, y):\n    y.copy_(x * scale)"}
    solution = {"name": "fills", "definition": definition["name"], "spec": spec, "sources": [source]}
    other = solution | {"name": "cuda", "sources": [{"path": "k.cu", "content": ""}, source]}
    files = {"d/definition.json": definition, "d/solution_1.json": solution, "d/solution_2.json": other}
    write(tmp_path, {name: json.dumps(value) for name, value in files.items()} | {"d/workload.jsonl": samples.workloads(8)})
    (one,) = read_folder(tmp_path)[1]
    assert set(one.files) == {"fills.py", "cuda.json"}
    namespace: dict[str, Any] = {}
    exec(one.files["fills.py"], namespace)
    x = torch.randn(5, 96)
    assert torch.equal(namespace["ModelNew"]()(x, torch.arange(48), 0.5), x * 0.5)


def test_results_by_name_come_in_the_order_of_the_definition(tmp_path: Path) -> None:
    text = "import torch\ndef run(x, index, scale):\n    return {'z': x.sum(), 'y': x * scale}\n"
    outputs = {"y": {"shape": ["rows", "columns"], "dtype": "float32"}, "z": {"shape": None, "dtype": "float32"}}
    definition = samples.DEFINITION | {"reference": text, "outputs": outputs}
    write(tmp_path, {"definition.json": json.dumps(definition), "workload.jsonl": samples.workloads(8)})
    (one,) = read_folder(tmp_path, "flashinfer")[1]
    namespace: dict[str, Any] = {}
    exec(one.source, namespace)
    first, second = namespace["Model"]()(torch.ones(2, 3), None, 2.0)
    assert first.shape == (2, 3) and second.dim() == 0


def test_a_tests_fixture_serves_as_get_inputs(tmp_path: Path) -> None:
    text = (
        "import pytest\nimport torch\nfrom kernelfoundry import TestBase\nN = 5\n# [REFERENCE_START]\ndef reference(a, b):\n    return a * b\n"
        "# [REFERENCE_END]\nclass TestIt(TestBase):\n    @pytest.fixture\n    def data(self, device):\n"
        "        return torch.ones(N, device=device), torch.ones(N)\n"
    )
    write(tmp_path, {"t/task.py": text, "t/kernel.sycl": "// [EVOLVE_START]\n// [EVOLVE_END]\n"})
    (one,) = read_folder(tmp_path)[1]
    assert one.refused is None and "kernelfoundry" not in one.source and "pytest" not in one.source
    namespace: dict[str, Any] = {}
    exec(one.source, namespace)
    assert torch.equal(namespace["Model"]()(*namespace["get_inputs"]()), torch.ones(5))


def test_one_tensor_that_is_no_list_is_one_input(tmp_path: Path) -> None:
    (made,) = opened(tmp_path, "width=1, scale=1", "[]", "torch.ones(2, 3)").inputs({})
    assert made.shape == (2, 3)


def test_an_empty_folder_and_one_of_broken_files_are_told_as_what_they_are(tmp_path):
    with pytest.raises(BadProblem, match="is empty"):
        read_folder(tmp_path)
    (tmp_path / "bad.py").write_text("import torch\n\ndef get_inputs(:\n")
    with pytest.raises(BadProblem, match=r"bad\.py.*line 3"):
        read_folder(tmp_path)


ROW = {
    "code": "import torch\n\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    return []\n",
    "level": 2,
    "problem_id": 7,
    "name": "7_Relu",
}


def test_a_data_set_of_parquet_files_is_read_as_it_is_downloaded(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").write_text("a card")
    for level in (1, 2):
        made = f"SELECT '{ROW['code']}' AS code, {level} AS level, '7_Relu' AS name, 7 AS problem_id"
        duckdb.execute(f"COPY ({made}) TO '{tmp_path}/data/level_{level}-00000-of-00001.parquet' (FORMAT parquet)")
    with open_folder(str(tmp_path)) as folder:
        assert [(one.key, one.source) for one in read_folder(folder)[1]] == [("L1/7", ROW["code"]), ("L2/7", ROW["code"])]
    (tmp_path / "bad.parquet").write_text("PAR")
    with pytest.raises(BadProblem, match="cannot be read as PARQUET"):
        unpack(tmp_path / "bad.parquet", tmp_path / "into")


@pytest.mark.parametrize(
    "head", ["class Softmax(nn.Module):", "from torch.nn import Softmax as Model\nclass Unused(nn.Module):", "class Model (nn.Module):"]
)
def test_a_model_by_any_statement_is_a_problem(tmp_path, head):
    text = samples.SOFTMAX.replace("class Model(nn.Module):", head).replace("def get_inputs():\n    return", "get_inputs = lambda:")
    (tmp_path / "a.py").write_text(text + ("\nModel = Softmax\n" if "class Softmax" in head else ""))
    assert [(one.key, one.refused) for one in read_folder(tmp_path)[1]] == [("a", None)]


def test_a_file_without_arguments_for_its_model_may_return_none(tmp_path):
    assert opened(tmp_path, "width=1, scale=1", "None").init_args({}) == []


def test_rows_with_code_in_a_column_are_read_as_the_folder_that_they_came_from(tmp_path):
    (tmp_path / "kb.jsonl").write_text(json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "problem_id": 8, "name": "8_../../Gelu"}) + "\n")
    with (tmp_path / "kb.csv").open("w", newline="") as file:
        made = csv.DictWriter(file, list(ROW))
        made.writeheader()
        made.writerow(ROW)
    name, found = read_folder(unpack(tmp_path / "kb.jsonl", tmp_path / "a"))
    assert name == "kernelbench" and [one.key for one in found] == ["L2/7", "L2/8"] and found[0].source == ROW["code"]
    assert all(path.is_relative_to(tmp_path / "a" / "kb") for path in (tmp_path / "a").rglob("*.py"))
    assert [one.key for one in read_folder(unpack(tmp_path / "kb.csv", tmp_path / "b"))[1]] == ["L2/7"]
    (tmp_path / "flat.jsonl").write_text(
        "\n".join(json.dumps({"code": ROW["code"] + f"# {n}\n", "problem_id": 7, "name": "7_Relu"}) for n in (1, 2))
    )
    flat = {path.read_text() for path in unpack(tmp_path / "flat.jsonl", tmp_path / "c").rglob("*.py")}
    assert len(flat) == 2, "levels share their numbers, and no column tells the level"


@pytest.mark.parametrize(
    ("text", "told"),
    [('{"task": "x"}\n', "its columns: task"), ("[1]\n", "JSON object a line"), ("{", "cannot be read as JSONL"), ("", "none")],
)
def test_rows_without_code_say_which_columns_there_are(tmp_path, text, told):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(BadProblem, match=told):
        unpack(tmp_path / "x.jsonl", tmp_path / "into")


def test_no_row_is_lost_and_a_list_of_rows_is_read_too(tmp_path):
    rows = [{**ROW, "problem_id": number, "name": "a"} for number in (0, 1, 1)]
    (tmp_path / "kb.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "kb.json").write_text(json.dumps(rows))
    for name in ("kb.jsonl", "kb.json"):
        found = read_folder(unpack(tmp_path / name, tmp_path / name.replace(".", "_")))[1]
        assert sorted(one.key for one in found) == ["L2/0", "L2/1", "L2/1_a_3"]
    (tmp_path / "kb.json").write_text("{}")
    with pytest.raises(BadProblem, match="no list of rows"):
        unpack(tmp_path / "kb.json", tmp_path / "c")


@pytest.mark.parametrize(
    ("line", "told"), [("from .common import x", "`.common`"), ("import common", "`common`"), ("from pack.a import x", "`pack.a`")]
)
def test_a_problem_of_several_files_says_what_to_do(tmp_path, line, told):
    files = {"Level 1/1_a.py": f"{line}\n{samples.SOFTMAX}", "Level 1/common.py": "x = 1\n", "Level 1/pack/__init__.py": ""}
    found = {one.where: one.refused or "" for one in read_folder(write(tmp_path, files))[1]}
    assert f"imports {told}, another file of its folder" in found["Level 1/1_a.py"]


def test_rows_tell_their_number_by_name_and_their_level_by_group_and_may_be_nested(tmp_path):
    """As data sets for training have them: a name with its number, tables in cells, a question to a model with an example in it."""
    question = f"An example:\n```python\n{samples.SOFTMAX}# the example\n```\nYours:\n```python\n{samples.SOFTMAX}```\nAnswer in CUDA."
    rows = [
        {"group": "level1", "name": "95_Softmax", "prompt": samples.SOFTMAX},
        {"group": "level2", "name": "2_Other", "prompt": question},
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = read_folder(unpack(tmp_path / "train.jsonl", tmp_path / "a"))[1]
    assert {one.key: one.source for one in found} == dict.fromkeys(["L1/95", "L2/2"], samples.SOFTMAX)
    nested = {"prompt": [{"role": "user", "content": "?"}], "extra_info": {"level": 1, "problem_id": 7, "ref_arch_src": samples.SOFTMAX}}
    (tmp_path / "rl.jsonl").write_text(json.dumps(nested))
    assert [one.key for one in read_folder(unpack(tmp_path / "rl.jsonl", tmp_path / "b"))[1]] == ["L1/7"]


def test_what_lies_beside_a_reference_is_no_problem_and_a_folder_of_parts_gives_no_name(tmp_path):
    files = {f"problems/04_softmax/{name}.py": samples.SOFTMAX for name in ("reference", "solution", "sota")}
    files |= {"problems/04_softmax/shapes.py": "SHAPES = [{'batch': 4}]\n", "tasks/softmax_fp32/environment/reference.py": samples.SOFTMAX}
    found = {one.key: one for one in read_folder(write(tmp_path, files))[1]}
    assert set(found) == {"4", "softmax_fp32"} and "shapes.py lists further shapes" in found["4"].remarks[0]


def test_a_file_by_its_path_that_needs_another_says_so_too(tmp_path):
    write(tmp_path, {"1_a.py": f"from layers import square\n{samples.SOFTMAX}", "layers.py": "square = 1\n"})
    with pytest.raises(BadProblem, match=r"imports `layers`, another file of its folder, .*put what it takes from there into it"):
        find_problem(str(tmp_path / "1_a.py"))


NET = samples.SOFTMAX.replace("class Model(", "class Rows(nn.Module):\n    pass\n\nclass SoftmaxNet(").replace(
    "torch.softmax(x", "torch.softmax(Rows and x"
)


def test_the_one_module_that_no_other_uses_is_the_model_whatever_its_name(tmp_path):
    write(tmp_path, {"a/net.py": NET, "b/two.py": NET.replace("Rows and x", "x"), "c/answer.py": NET.replace("SoftmaxNet", "ModelNew")})
    (one,) = read_folder(tmp_path / "a")[1]
    assert one.refused is None and one.source.startswith(NET.rstrip()) and one.source.endswith("Model = SoftmaxNet\n")
    assert find_problem(str(tmp_path / "a" / "net.py")).source == one.source
    for other, reason in (("b/two.py", "defines no `Model`"), ("c/answer.py", "it is a candidate")):
        with pytest.raises(BadProblem, match=reason):
            find_problem(str(tmp_path / other))


def test_rows_by_level_by_name_and_in_conversations_are_found(tmp_path):
    (tmp_path / "levels.json").write_text(json.dumps({"level_1": [{**ROW, "level": 1}], "level_2": [ROW]}))
    (tmp_path / "named.json").write_text(json.dumps({"3_Relu": ROW["code"]}))
    answer = {"role": "assistant", "content": "```python\nclass ModelNew:\n    pass\n```"}
    said = [{"role": "system", "content": "Write."}, {"role": "user", "content": f"Of\n```python\n{ROW['code']}```\n"}, answer]
    (tmp_path / "said.jsonl").write_text(json.dumps({"messages": said}))
    keys = {"levels.json": ["L1/7", "L2/7"], "named.json": ["3"], "said.jsonl": ["1"]}
    for name, expected in keys.items():
        found = read_folder(unpack(tmp_path / name, tmp_path / name.partition(".")[0]))[1]
        assert [one.key for one in found] == expected and found[-1].source == ROW["code"]


def test_a_file_of_rows_that_is_known_says_what_it_is(tmp_path):
    (tmp_path / "TritonBench_T_v1.jsonl").write_text('{"name": "torch.add", "torch_code": "import torch"}')
    with pytest.raises(BadProblem, match="looks like TritonBench"), open_folder(str(tmp_path / "TritonBench_T_v1.jsonl")):
        pass
